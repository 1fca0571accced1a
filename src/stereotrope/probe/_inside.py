"""Reading inside a pipeline of diffusers while it draws; imports torch and diffusers."""

from __future__ import annotations

import functools
import inspect
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image

from stereotrope.clients._pipeline import Drawn, Pipeline
from stereotrope.clients._torch import computing
from stereotrope.errors import ModelMisconfigured
from stereotrope.probe.settings import CONDITIONAL, GUIDED, PREDISPOSITION, SPI, Probe, ProbeReading

_ALIKE = "both sentences give the same prediction (d⁺ = d⁻)"
_STILL = "the prediction is 0"
_NO_NUMBER = "the prediction is not finite"
_KINDS = {
    "SD3Transformer2DModel": ("encoder_hidden_states", "pooled_projections"),
    "FluxTransformer2DModel": ("encoder_hidden_states", "pooled_projections"),
    "UNet2DConditionModel": ("encoder_hidden_states", "text_embeds"),
}
"""Class of what predicts → its inputs that a text makes."""
_QUANTITIES = {"epsilon": "noise", "v_prediction": "v", "flow_prediction": "velocity"}


class _Texts(NamedTuple):
    """What the text encoders of a pipeline make of the sentences of both sides, the positive ones first.

    ``pooled`` where the model takes it.
    """

    tokens: torch.Tensor
    pooled: torch.Tensor | None
    n_positive: int

    def part(self, chosen: slice) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Tokens and pooled vectors of some sentences."""
        return self.tokens[chosen], None if self.pooled is None else self.pooled[chosen]

    @property
    def alike(self) -> bool:
        """Whether both sides are one to the model, but for rounding, of which SPI would be made."""
        positive, negative = range(self.n_positive), range(self.n_positive, len(self.tokens))
        return all(
            any(self._near(one, other) for other in others)
            for own, others in ((positive, negative), (negative, positive))
            for one in own
        )

    def _near(self, one: int, other: int) -> bool:
        parts = (self.tokens, self.pooled)
        return all(_close(part[one], part[other]) for part in parts if part is not None)


class _Call(NamedTuple):
    """One call of what predicts."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    output: torch.Tensor


class Inside:
    """Draws as the pipeline draws, and reads what it predicts on the way.

    SPI of an attribute at a step is the cosine of the prediction with the difference of the predictions for
    d⁺ and d⁻ at the same place, of several sentences on a side their mean: the velocity of flow models (SD3,
    FLUX), the predicted noise (or v) of others. It is given for the conditional prediction and, where
    guidance makes another one, for that.

    Raises ModelMisconfigured: The pipeline is of a kind that is not known here.
    """

    def __init__(self, pipeline: Pipeline, probe: Probe, what: str) -> None:
        self._pipeline, self._probe, self._what = pipeline, probe, what
        pipe = pipeline.pipe
        self._model: Any = getattr(pipe, "transformer", None) or getattr(pipe, "unet", None)
        kind, scheduler = type(self._model).__name__, pipe.scheduler
        config = scheduler.config
        flows = "Flow" in type(scheduler).__name__ or bool(config.get("use_flow_sigmas"))
        predicts = "flow_prediction" if flows else config.get("prediction_type")
        if kind not in _KINDS or predicts not in _QUANTITIES:
            raise ModelMisconfigured(
                f"{what}: a {type(pipe).__name__} ({kind}, {type(scheduler).__name__}) cannot be read "
                "inside; known are Stable Diffusion 1, 2, XL, 3 and FLUX; leave out `probe:`"
            )
        self.quantity, self._flows = _QUANTITIES[predicts], flows
        self._packed = kind == "FluxTransformer2DModel"
        self._texts = {
            name: self._encoded([*pair.positive, *pair.negative], len(pair.positive))
            for name, pair in probe.pairs.items()
        }
        self._alike = {name for name, texts in self._texts.items() if texts.alike}

    def _encoded(self, texts: Sequence[str], n_positive: int) -> _Texts:
        """Encode texts as the pipeline encodes prompts, with its own keywords where they are set."""
        pipe, call = self._pipeline.pipe, self._pipeline.settings.call
        takes = inspect.signature(pipe.encode_prompt).parameters
        given: dict[str, Any] = {name: None for name in ("prompt_2", "prompt_3") if name in takes}
        given |= {"prompt": list(texts), "device": pipe._execution_device, "num_images_per_prompt": 1}
        if "do_classifier_free_guidance" in takes:
            given["do_classifier_free_guidance"] = False
        for name in ("max_sequence_length", "clip_skip"):
            if name in takes and (name in call or name in self._pipeline.takes):
                given[name] = call.get(name, self._pipeline.takes[name].default)
        with computing(f"{self._what}: cannot encode sentences"), torch.no_grad():
            found = pipe.encode_prompt(**given)
        pooled = found[1] if self._packed else found[2] if len(found) > 2 else None
        return _Texts(found[0], pooled, n_positive)

    def draw(
        self, texts: Sequence[str], negatives: Sequence[str | None], seeds: Sequence[int]
    ) -> list[tuple[Drawn, list[ProbeReading]]]:
        """Draw pictures, bit for bit those of the pipeline, with what was read in each."""
        record = _Record(len(texts))
        with self._listening(record):
            drawn = self._pipeline.draw(texts, negatives, seeds)
        with computing(f"{self._what}: cannot decode"), torch.no_grad():
            self._preview(record)
            self._pipeline.pipe.maybe_free_model_hooks()
        return list(zip(drawn, record.readings, strict=True))

    @contextmanager
    def _listening(self, record: _Record) -> Iterator[None]:
        scheduler = self._pipeline.pipe.scheduler
        plain, own = scheduler.step, vars(scheduler).get("step")

        @functools.wraps(plain)
        def step(model_output: Any, timestep: Any, sample: Any, *args: Any, **kwargs: Any) -> Any:
            with torch.no_grad():
                self._read(record, model_output, timestep, sample)
            return plain(model_output, timestep, sample, *args, **kwargs)

        handle = self._model.register_forward_hook(record.note, with_kwargs=True)
        scheduler.step = step
        try:
            yield
        finally:
            handle.remove()
            del scheduler.step
            if own is not None:
                scheduler.step = own

    def _read(self, record: _Record, guided: torch.Tensor, timestep: Any, sample: torch.Tensor) -> None:
        step, n = record.step, record.n
        call, calls = record.calls[0], len(record.calls)
        conditional = call.output[-n:]
        predictions = {CONDITIONAL: conditional}
        if calls > 1 or len(call.output) > n:
            predictions[GUIDED] = guided
        told: dict[str, Any] = {"step": step, "timestep": float(timestep), "quantity": self.quantity}
        for attribute, texts in self._texts.items():
            with record.paused():
                both = self._predicted(call, texts, n).double().unflatten(0, (-1, n))
            shifts = both[: texts.n_positive].mean(0) - both[texts.n_positive :].mean(0)
            shifts = shifts * (attribute not in self._alike)
            for at in range(n):
                for name, prediction in predictions.items():
                    read = _cosine(prediction[at].double(), shifts[at])
                    given = {"attribute": attribute, "prediction": name, **read}
                    record.readings[at].append(ProbeReading(SPI, **told, **given))
        if step in self._probe.previews:
            expected = self._expected(guided.float(), sample.float(), timestep, step)
            record.expected.append((told, expected))
        record.calls.clear()
        record.step += 1

    def _predicted(self, call: _Call, texts: _Texts, n: int) -> torch.Tensor:
        """Predictions for each sentence where the model is, n each: two sentences a call."""
        starts = range(0, len(texts.tokens), 2)
        return torch.cat([self._called(call, *texts.part(slice(at, at + 2)), n) for at in starts])

    def _called(self, call: _Call, tokens: torch.Tensor, pooled: torch.Tensor | None, n: int) -> Any:
        rows = len(call.output)

        def repeated(value: Any) -> Any:
            batched = isinstance(value, torch.Tensor) and value.ndim > 0 and len(value) == rows
            return torch.cat([value[-n:]] * len(tokens)) if batched else value

        kept = ("img_ids", "txt_ids", "joint_attention_kwargs", "cross_attention_kwargs")
        kwargs = {name: value if name in kept else repeated(value) for name, value in call.kwargs.items()}
        kwargs["encoder_hidden_states"] = tokens.repeat_interleave(n, 0)
        if pooled is not None:
            pooled = pooled.repeat_interleave(n, 0)
            if "added_cond_kwargs" in kwargs:
                ids = repeated(kwargs["added_cond_kwargs"]["time_ids"])
                kwargs["added_cond_kwargs"] = {"text_embeds": pooled, "time_ids": ids}
            else:
                kwargs["pooled_projections"] = pooled
        found = self._model(*map(repeated, call.args), **kwargs)
        return found[0] if isinstance(found, tuple) else found.sample

    def _expected(
        self, prediction: torch.Tensor, sample: torch.Tensor, timestep: Any, step: int
    ) -> torch.Tensor:
        """Latents of the picture that the model expects: its prediction, followed to the end."""
        scheduler = self._pipeline.pipe.scheduler
        if self._flows:
            return sample - float(scheduler.sigmas[step]) * prediction
        if float(scheduler.init_noise_sigma) > 1:  # noise is added to latents of unit variance
            sigma = float(scheduler.sigmas[step])
            if self.quantity == "noise":
                return sample - sigma * prediction
            return (sample / math.sqrt(sigma**2 + 1) - sigma * prediction) / math.sqrt(sigma**2 + 1)
        left = float(scheduler.alphas_cumprod[int(timestep)])
        if self.quantity == "noise":
            return (sample - math.sqrt(1 - left) * prediction) / math.sqrt(left)
        return math.sqrt(left) * sample - math.sqrt(1 - left) * prediction

    def _preview(self, record: _Record) -> None:
        for told, latents in record.expected:
            for at, pixels in enumerate(self._decoded(latents)):
                out = io.BytesIO()
                if np.isfinite(pixels).all():
                    Image.fromarray((pixels * 255).round().astype(np.uint8)).save(out, "PNG")
                data = out.getvalue() or None
                why = None if data else _NO_NUMBER
                reading = ProbeReading(PREDISPOSITION, **told, undefined=why, data=data)
                record.readings[at].append(reading)

    def _decoded(self, latents: torch.Tensor) -> Any:
        pipe = self._pipeline.pipe
        vae, config = pipe.vae, pipe.vae.config
        if self._packed:
            side = pipe.default_sample_size * pipe.vae_scale_factor
            given = self._pipeline.settings
            height, width = given.height or side, given.width or side
            latents = pipe._unpack_latents(latents, height, width, pipe.vae_scale_factor)
        latents = latents / config.scaling_factor + (config.get("shift_factor") or 0.0)
        single = vae.dtype == torch.float16 and config.get("force_upcast", False)
        if single:
            vae.to(torch.float32)
        latents = latents.to(pipe._execution_device, vae.dtype)  # the VAE itself may wait elsewhere
        pixels = vae.decode(latents, return_dict=False)[0]
        if single:
            vae.to(torch.float16)
        return pipe.image_processor.postprocess(pixels.float(), output_type="np")


class _Record:
    """What is heard while a batch of n pictures is drawn."""

    def __init__(self, n: int) -> None:
        self.n, self.step, self._listens = n, 0, True
        self.calls: list[_Call] = []
        self.readings: list[list[ProbeReading]] = [[] for _ in range(n)]
        self.expected: list[tuple[dict[str, Any], torch.Tensor]] = []

    def note(self, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], output: Any) -> None:
        """Take a call, but for our own."""
        if self._listens:
            self.calls.append(_Call(args, kwargs, output[0] if isinstance(output, tuple) else output.sample))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hear nothing."""
        self._listens = False
        try:
            yield
        finally:
            self._listens = True


def _close(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two vectors, or lists of them, are as far apart as rounding may put them."""
    within = 4 * torch.finfo(one.dtype).eps * one.abs().max().double()
    return bool((one.double() - other.double()).abs().max() <= within)


def _cosine(prediction: torch.Tensor, shift: torch.Tensor) -> dict[str, Any]:
    """Cosine of both, and how long the shift is beside the prediction; or why there is none."""
    of, by = float(prediction.norm()), float(shift.norm())
    if not math.isfinite(of) or not math.isfinite(by):
        return {"undefined": _NO_NUMBER}
    if of == 0:
        return {"undefined": _STILL}
    if by == 0:
        return {"ratio": 0.0, "undefined": _ALIKE}
    return {"value": float((prediction * shift).sum()) / of / by, "ratio": by / of}
