"""Text-to-image pipelines through diffusers; the module that imports it when one is loaded."""

from __future__ import annotations

import contextlib
import inspect
import json
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import diffusers
import numpy as np
import torch
import transformers
from diffusers.utils import logging
from numpy.typing import NDArray

from stereotrope.clients._torch import NO_CODE, computing, device_of, loading, require_weights, require_words
from stereotrope.clients.local import PIPELINE, PipelineSettings
from stereotrope.errors import ModelMisconfigured, ModelUnusable, did_you_mean

CHECKER = "safety_checker"
_DENOISERS = ("transformer", "unet")
_STORED = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
_SAFE = {"use_safetensors": True}
"""Weights as numbers alone: other files of weights are pickles, which run code."""
_OWN = {
    **dict.fromkeys(("prompt", "negative_prompt"), "the texts come from the design"),
    "generator": "seeds are numbered from the audit's `seed:`",
    **dict.fromkeys(("num_images_per_prompt", "output_type", "return_dict"), "it is ours to say"),
    **{name: f"write `{key}:`" for name, key in PipelineSettings.keywords.items()},
}
"""Parameters of a call that are no further ones → why."""


class Drawn(NamedTuple):
    """One picture as levels from 0 to 1, shape (height, width, 3), or that the safety checker hid it."""

    pixels: NDArray[np.float32] | None
    is_hidden: bool = False


class Pipeline:
    """A pipeline of diffusers that draws pictures of texts.

    Raises ModelUnusable: It is not there, is no text-to-image pipeline, lacks weights, has none in
        safetensors, needs code of its own, or the device is not there.
    Raises ModelMisconfigured: It takes no such parameter, or is to be offloaded from the CPU.
    """

    def __init__(self, model: str | Path, settings: PipelineSettings, what: str) -> None:
        self._what, self.settings = what, settings
        self.device = device_of(settings.device, what)
        if settings.offload != "none" and self.device == "cpu":
            raise ModelMisconfigured(
                f"{what}: offload: {settings.offload} lets parts of a pipeline wait in main memory while a "
                "GPU computes, and it computes on the CPU here; remove `offload:`"
            )
        here = isinstance(model, Path)
        with _quiet(logging.CRITICAL), loading(what, here=here):
            folder = _fetched(model, settings)
            with loading(f"{what}: {PIPELINE}", here=here):
                kind, parts = _parts_of(folder, what)
            with loading(f"{what}: weights", here=here):
                stored = _stored(folder, settings.variant)
            self.dtype = stored if settings.precision == "auto" else getattr(torch, settings.precision)
            options = {"variant": settings.variant, "dtype": self.dtype, **_SAFE, "local_files_only": True}
            unchecked = not settings.checked and CHECKER in inspect.signature(kind).parameters
            given: dict[str, Any] = {CHECKER: None} if unchecked else {}
            for name, part in parts.items():
                if name in given:
                    continue
                with loading(f"{what}: {name}", here=here):
                    given[name], told = part.from_pretrained(
                        str(folder), subfolder=name, output_loading_info=True, **options
                    )
                require_weights(told["missing_keys"], f"{what}: {name}", "pictures")
            if unchecked:
                given["requires_safety_checker"] = False
            self.pipe = diffusers.DiffusionPipeline.from_pretrained(
                str(folder), **{**options, **given}, **NO_CODE
            )
        self.takes = inspect.signature(self.pipe.__call__).parameters
        self._require_drawing()
        self._require_words()
        self._require_parameters()
        self._prepare()

    def _require_drawing(self) -> None:
        if not {"prompt", "generator", "num_inference_steps", "output_type"} <= self.takes.keys():
            raise ModelUnusable(
                f"{self._what}: is a {type(self.pipe).__name__}, which draws no pictures of texts; name a "
                "text-to-image pipeline such as Stable Diffusion or FLUX"
            )

    def _require_words(self) -> None:
        """Refuse tokenizers without words: a folder that lacks their files loads all the same."""
        for name, part in self.pipe.components.items():
            if name.startswith("tokenizer") and part is not None:
                reader = self.pipe.components.get(name.replace("tokenizer", "text_encoder"))
                of = getattr(getattr(reader, "config", None), "vocab_size", None)
                if isinstance(of, int):
                    require_words(len(part), of, f"{self._what}: {name}")

    def _require_parameters(self) -> None:
        for name in self.settings.parameters:
            if name in _OWN or name not in self.takes:
                known = sorted(set(self.takes) - _OWN.keys())
                hint = did_you_mean(name, known, otherwise=f"it takes {', '.join(known)}")
                raise ModelMisconfigured(
                    f"{self._what}: parameters: {name!r} cannot be given to a {type(self.pipe).__name__}; "
                    f"{_OWN.get(name, hint)}"
                )
        for key, value in self.settings.keyed.items():
            if key not in self.takes and value is not None:
                raise ModelMisconfigured(
                    f"{self._what}: a {type(self.pipe).__name__} takes no {key!r}; remove it"
                )

    def _prepare(self) -> None:
        pipe, settings = self.pipe, self.settings
        pipe.set_progress_bar_config(disable=True)
        if settings.slicing:
            with contextlib.suppress(AttributeError):  # transformers have no attention slices
                pipe.enable_attention_slicing()
            pipe.vae.enable_slicing()
        if settings.tiling:
            pipe.vae.enable_tiling()
        with _quiet(logging.CRITICAL), computing(f"{self._what}: cannot be brought to {self.device}"):
            match settings.offload:
                case "model":
                    pipe.enable_model_cpu_offload(device=self.device)
                case "sequential":
                    pipe.enable_sequential_cpu_offload(device=self.device)
                case _:
                    pipe.to(self.device)

    def refuses_negative(self) -> str | None:
        """Say why a negative prompt would change nothing; None where it counts."""
        kind = type(self.pipe).__name__
        if "negative_prompt" not in self.takes:
            return f"a {kind} takes no negative prompt; leave it out of the prompts"
        named = "true_cfg_scale" if "true_cfg_scale" in self.takes else "guidance_scale"
        given = self.settings.call
        scale = given[named] if named in given else self.takes[named].default
        if scale > 1:
            return None
        key = "parameters: {true_cfg_scale: 4}" if named == "true_cfg_scale" else "guidance: 7"
        return (
            f"a {kind} reads a negative prompt where {named} is above 1, it is {scale:g}; write "
            f"`{key}`, say, or leave it out of the prompts"
        )

    def draw(
        self, texts: Sequence[str], negatives: Sequence[str | None], seeds: Sequence[int]
    ) -> list[Drawn]:
        """Draw a picture of each text; its noise hangs on its own seed alone, on every device."""
        given = self.call(texts, negatives, seeds)
        with _quiet(), computing(f"{self._what}: cannot draw"):
            out = self.pipe(**given, output_type="np")
            pixels = np.asarray(out.images, np.float32)
            hidden = getattr(out, "nsfw_content_detected", None) or [False] * len(texts)
            return [
                Drawn(None, True) if is_hidden else Drawn(one)
                for one, is_hidden in zip(pixels, hidden, strict=True)
            ]

    def call(
        self, texts: Sequence[str], negatives: Sequence[str | None], seeds: Sequence[int]
    ) -> dict[str, Any]:
        """Keywords of a call for these pictures."""
        given: dict[str, Any] = dict(self.settings.call)
        if any(negatives):
            given["negative_prompt"] = [one or "" for one in negatives]
        noise = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        return {**given, "prompt": list(texts), "generator": noise}


@contextlib.contextmanager
def _quiet(below: int = logging.WARNING) -> Iterator[None]:
    """Keep bars of diffusers, and what it says below a level, off the terminal."""
    shown, told = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity(max(below, told))
    try:
        yield
    finally:
        logging.set_verbosity(told)
        if shown:
            logging.enable_progress_bar()


def _fetched(model: str | Path, settings: PipelineSettings) -> Path:
    """The folder of a pipeline; what the hub has and is not here yet is downloaded."""
    if isinstance(model, Path):
        return model
    chosen = {"revision": settings.revision or "main", "variant": settings.variant}
    return Path(diffusers.DiffusionPipeline.download(model, **chosen, **_SAFE, **NO_CODE))


def _parts_of(folder: Path, what: str) -> tuple[type[Any], dict[str, type[Any]]]:
    """The class of a pipeline, and those of its models; what else belongs to it the pipeline loads."""
    index = json.loads((folder / PIPELINE).read_text(encoding="utf-8"))
    name = index.get("_class_name")
    kind = getattr(diffusers, name, None) if isinstance(name, str) else None
    if not (isinstance(kind, type) and issubclass(kind, diffusers.DiffusionPipeline)):
        raise ModelUnusable(
            f"{what}: its {PIPELINE} names the pipeline {str(name)[:80]!r}, which diffusers "
            f"{diffusers.__version__} has not; code beside a model is not run: take a pipeline of diffusers"
        )
    there = {"transformers": transformers, "diffusers": diffusers}
    models = (transformers.PreTrainedModel, diffusers.ModelMixin)
    found = {}
    for part, value in index.items():
        if isinstance(value, list) and len(value) == 2 and value[0] in there:
            one = getattr(there[value[0]], str(value[1]), None)
            if isinstance(one, type) and issubclass(one, models):
                found[part] = one
    return kind, found


def _stored(folder: Path, variant: str | None) -> torch.dtype:
    """The precision in which most numbers of what draws are stored; single where that is not known."""
    ending = f".{variant}.safetensors" if variant else ".safetensors"
    files = (file for part in _DENOISERS for file in sorted((folder / part).glob(f"*{ending}")))
    for file in files:
        with file.open("rb") as handle:
            (length,) = struct.unpack("<Q", handle.read(8))
            header: Mapping[str, Any] = json.loads(handle.read(min(length, 2**27)))
        kinds = Counter(one["dtype"] for name, one in header.items() if name != "__metadata__")
        return _STORED.get(kinds.most_common(1)[0][0], torch.float32) if kinds else torch.float32
    return torch.float32
