"""Pictures drawn on this computer: Stable Diffusion, FLUX and other pipelines of diffusers."""

import io
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl
from PIL import Image
from pydantic import Field, field_validator

from stereotrope.clients.local import (
    PIPELINE,
    PIPELINE_PACKAGES,
    HubPlace,
    PipelineSettings,
    Precision,
    hub_place,
    model_identity,
    model_place,
    require_local,
)
from stereotrope.errors import ModelMisconfigured, ModelUnusable
from stereotrope.generate.contract import Generator, ImageRequest, ImageResult, generator
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Name, Options, Text
from stereotrope.inputs.serving import Device
from stereotrope.probe import Probe, ProbeOptions, ProbeReading
from stereotrope.tables import fingerprint_of

if TYPE_CHECKING:
    from stereotrope.clients._pipeline import Drawn, Pipeline
    from stereotrope.probe._inside import Inside

HIDDEN = "the pipeline's safety checker hid the picture"
_PLACES = ("device", "offload", "revision")
"""Settings that leave pictures as they are, but for last digits, or are told with the model."""


class DiffusersGenerator(Generator):
    """A text-to-image pipeline of diffusers on this computer.

    The noise of a picture hangs on its own seed alone, on every device. Pictures are drawn ``batch`` at once,
    and a smaller rest is filled up with pictures that are thrown away: what else a batch holds changes no
    picture; its size, and on some processors a picture's place in it, may change last digits. The size is in
    the fingerprint, and a run that goes on draws the same batches. While one batch is drawn, that before
    it becomes files. What the pipeline's safety checker hides is a refusal.

    model: A folder that ``save_pretrained`` wrote, or a name on the Hugging Face hub.
    name: In the ``generator`` column.
    batch: Pictures drawn at once.
    settings: How it is loaded and called.
    probe: What is read inside while it draws.

    Fingerprint: of a folder the bytes of its files, of a name on the hub that and the revision; with batch
    and settings but ``device`` and ``offload``.
    """

    kind = "diffusers"
    version = 1
    libraries = PIPELINE_PACKAGES
    concurrency = 2

    def __init__(
        self,
        model: str | Path,
        *,
        name: str,
        batch: int = 1,
        settings: PipelineSettings | None = None,
        probe: Probe | None = None,
    ) -> None:
        self.name, self.batch, self.settings = name, batch, settings or PipelineSettings()
        self._place, self.probe, self.device = model, probe, self.settings.device
        self.on_disk = model if isinstance(model, Path) else None
        self._guard, self._turn = threading.Lock(), threading.Lock()
        self._loaded: Pipeline | None = None
        self._inside: Inside | None = None
        if not isinstance(model, Path) and self.settings.revision is None:
            self.note = "no `revision:` is named, so that the hub's newest was drawn with, which may change"

    @property
    def _what(self) -> str:
        return f"generator {self.name!r}: {str(self._place)!r}"

    @cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
        """Short hash of the model, batch and settings.

        Raises UsageError: The folder is not there.
        """
        which, digests = model_identity(self._place, self.settings.revision, self._what, PIPELINE)
        settings = {key: value for key, value in vars(self.settings).items() if key not in _PLACES}
        said = {**which, "batch": self.batch, **settings}
        return fingerprint_of(self.kind, self.version, said, *digests)

    @property
    def hub(self) -> HubPlace | None:  # type: ignore[override]
        """Its model, where it is one on the hub."""
        return hub_place(self._place, self.settings.revision)

    @property
    def probe_fingerprint(self) -> str | None:  # type: ignore[override]
        """Of what is read inside."""
        return None if self.probe is None else self.probe.fingerprint(self.fingerprint)

    @property
    def probe_takes(self) -> str:  # type: ignore[override]
        """Predictions and previews of a picture."""
        return "" if self.probe is None else self.probe.takes(self.settings.steps)

    def require(self) -> None:
        """Refuse what cannot work; loads nothing.

        Raises UsageError: A package is not installed, or the folder holds no pipeline.
        """
        require_local(self._place, self._what, PIPELINE_PACKAGES, PIPELINE)

    def check(self, text: str, negative: str | None = None) -> str | None:
        """Say why no picture can be had for a prompt; None where it can."""
        return None if text.strip() else "a pipeline cannot be asked for an empty prompt; write one"

    def pipeline(self) -> "Pipeline":
        """Return the pipeline, loaded once; what is on the hub and not here is downloaded.

        Raises ModelUnusable: It cannot be loaded.
        """
        with self._guard:
            if self._loaded is None:
                self.require()
                from stereotrope.clients._pipeline import Pipeline  # noqa: PLC0415

                self._loaded = Pipeline(self._place, self.settings, self._what)
            return self._loaded

    def process(self, request: ImageRequest) -> ImageResult:
        """Draw one picture."""
        (result,) = self.process_batch([request])
        return result

    def process_batch(self, requests: Sequence[ImageRequest]) -> list[ImageResult]:
        """Draw pictures together; those with a negative prompt apart from those without."""
        return [self._result(one) for one in self._drawn(requests, self.pipeline().draw)]

    def probed(self, requests: pl.DataFrame) -> pl.DataFrame:
        """The first pictures of each prompt, as many as are to be read."""
        n = None if self.probe is None else self.probe.images_per_prompt
        return requests if n is None else requests.filter(pl.int_range(pl.len()).over("prompt_id") < n)

    def probe_batch(
        self, requests: Sequence[ImageRequest]
    ) -> list[tuple[ImageResult, Sequence[ProbeReading]]]:
        """Draw the same pictures, and read inside.

        Raises ModelMisconfigured: The pipeline is of a kind that cannot be read.
        """
        pipeline = self.pipeline()
        with self._guard:
            if self._inside is None:
                from stereotrope.probe._inside import Inside  # noqa: PLC0415

                self._inside = Inside(pipeline, self.probe or Probe(), self._what)
        return [(self._result(one), readings) for one, readings in self._drawn(requests, self._inside.draw)]

    def _drawn(self, requests: Sequence[ImageRequest], draw: Callable[..., list[Any]]) -> list[Any]:
        """What a function of texts, negative prompts and seeds draws, batch by batch."""
        drawn: dict[str, Any] = {}
        for has_negative in (False, True):
            some = [one for one in requests if (one.negative is not None) == has_negative]
            for start in range(0, len(some), self.batch):
                part = some[start : start + self.batch]
                drawn |= zip((one.image_id for one in part), self._of_batch(part, draw), strict=True)
        return [drawn[request.image_id] for request in requests]

    def _of_batch(self, requests: Sequence[ImageRequest], draw: Callable[..., list[Any]]) -> list[Any]:
        pipeline = self.pipeline()
        if any(one.negative for one in requests) and (reason := pipeline.refuses_negative()):
            raise ModelMisconfigured(f"{self._what}: {reason}")
        filled = [*requests, *[requests[-1]] * (self.batch - len(requests))]
        with self._turn:
            drawn = draw(
                [one.text or "" for one in filled],
                [one.negative for one in filled],
                [one.seed or 0 for one in filled],
            )
        return drawn[: len(requests)]

    def _result(self, drawn: "Drawn") -> ImageResult:
        if drawn.pixels is None:
            return ImageResult(None, "refused", HIDDEN)
        if not np.isfinite(drawn.pixels).all():
            raise ModelUnusable(
                f"{self._what}: draws numbers that are not finite; write `precision: float32`"
            )
        out = io.BytesIO()
        Image.fromarray((drawn.pixels * 255).round().astype(np.uint8)).save(out, "PNG")
        return ImageResult(out.getvalue(), "ok")


class DiffusersOptions(Options):
    """As of :class:`DiffusersGenerator` and its settings."""

    slips: ClassVar[Mapping[str, str]] = {
        "num_inference_steps": "did you mean 'steps'?",
        "guidance_scale": "did you mean 'guidance'?",
        **dict.fromkeys(("dtype", "torch_dtype"), "did you mean 'precision'?"),
        **dict.fromkeys(("size", "resolution"), "write `width:` and `height:`"),
        **dict.fromkeys(("negative", "negative_prompt"), "it belongs to the prompts of the design"),
        "seed": "seeds are numbered from the audit's `seed:`; remove it",
        "true_cfg_scale": "write `parameters: {true_cfg_scale: …}`",
    }

    diffusers: Text
    name: Name | None = None
    batch: int = Field(1, ge=1, le=1024)
    steps: int | None = Field(None, ge=1, le=10_000)
    guidance: float | None = Field(None, ge=0)
    width: int | None = Field(None, ge=16, le=8192)
    height: int | None = Field(None, ge=16, le=8192)
    parameters: dict[Text, Any] | None = None
    precision: Precision = "auto"
    variant: Text | None = None
    revision: Text | None = None
    device: Device = "auto"
    offload: Literal["none", "model", "sequential"] = "none"
    slicing: bool = False
    tiling: bool = False
    safety_checker: bool = True
    probe: ProbeOptions | None = None

    @field_validator("width", "height")
    @classmethod
    def _of_blocks(cls, value: int | None) -> int | None:
        if value is not None and value % 8:
            raise ValueError(f"must be a multiple of 8; write {value - value % 8}")
        return value


@generator(
    DiffusersOptions,
    summary="draws with a pipeline of diffusers on this computer: Stable Diffusion, FLUX …",
    example="{diffusers: stabilityai/stable-diffusion-3.5-medium, steps: 28, guidance: 4.5}",
)
def diffusers(options: DiffusersOptions, context: Context) -> DiffusersGenerator:
    """Name the pipeline; it is loaded when it first draws."""
    name = options.name or Path(options.diffusers).name
    what = f"generator {name!r}"
    place = model_place(options.diffusers, context.folder, options.revision, what)
    own = {"diffusers", "name", "batch", "parameters", "probe", "safety_checker"}
    settings = PipelineSettings(
        **options.model_dump(exclude=own),
        parameters=options.parameters or {},
        checked=options.safety_checker,
    )
    probe = None if options.probe is None else options.probe.probe(context.folder, what)
    made = DiffusersGenerator(place, name=name, batch=options.batch, settings=settings, probe=probe)
    made.require()
    return made
