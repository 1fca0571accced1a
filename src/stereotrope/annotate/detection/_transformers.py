"""Detectors through transformers; the module that imports torch when one is loaded."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image

from stereotrope.annotate.detection.boxes import Detections
from stereotrope.annotate.embeddings.vectors import Pixels
from stereotrope.clients._torch import NO_CODE, computing, device_of, loading, require_weights
from stereotrope.errors import ModelUnusable, did_you_mean


class TransformersDetector:
    """A model of ``AutoModelForObjectDetection``: RT-DETR, D-FINE, YOLOS, DETR …

    model, revision, device, classes: As of :class:`~stereotrope.annotate.Detector`.

    Raises ModelUnusable: It is not there, is no detector, lacks weights, does not know a class, needs code of
        its own, cannot look at a grey picture, or the device is not there.
    """

    def __init__(
        self, model: str | Path, classes: Sequence[str], *, revision: str | None, device: str, what: str
    ) -> None:
        self._what, self._device = what, device_of(device, what)
        where = str(model)
        options: dict[str, Any] = {"revision": revision or "main"}
        if isinstance(model, Path):
            options = {"local_files_only": True}
        with loading(what):
            loaded, told = transformers.AutoModelForObjectDetection.from_pretrained(
                where, dtype=torch.float32, output_loading_info=True, **options, **NO_CODE
            )
            # With Pillow, wherever it runs: torchvision resizes to slightly other pixels.
            self._processor = transformers.AutoImageProcessor.from_pretrained(
                where, backend="pil", **options, **NO_CODE
            )
        require_weights(told["missing_keys"], what, "boxes")
        self._names = {int(at): str(name) for at, name in loaded.config.id2label.items()}
        for name in classes:
            if name not in self._names.values():
                known = ", ".join(dict.fromkeys(self._names.values()))
                hint = did_you_mean(name, self._names.values(), otherwise=f"it knows {known:.300}")
                raise ModelUnusable(f"{what}: finds no {name!r}, which `classes:` lists; {hint}")
        self._model = loaded.eval().to(self._device)
        self._takes = inspect.signature(loaded.forward).parameters
        self.detect([np.full((8, 12, 3), 128, np.uint8)])

    def detect(self, pictures: Sequence[Pixels]) -> list[Detections]:
        """Find what is in each picture, all boxes with the score of their class.

        Each is prepared alone, and only those of one size go through the model together: padding to the
        largest of a batch would let what is found hang on other pictures.
        """
        with computing(f"{self._what}: cannot look at pictures"), torch.inference_mode():
            prepared = [self._prepared(pixels) for pixels in pictures]
            found: dict[int, Detections] = {}
            shapes = [one["pixel_values"].shape for one in prepared]
            for shape in dict.fromkeys(shapes):
                ats = [at for at, each in enumerate(shapes) if each == shape]
                given = {
                    name: torch.cat([prepared[at][name] for at in ats]).to(self._device)
                    for name in prepared[ats[0]]
                }
                told = self._processor.post_process_object_detection(
                    self._model(**given),
                    threshold=0.0,
                    target_sizes=[pictures[at].shape[:2] for at in ats],
                )
                found |= {at: self._read(each) for at, each in zip(ats, told, strict=True)}
        return [found[at] for at in range(len(pictures))]

    def _prepared(self, pixels: Pixels) -> dict[str, Any]:
        made = self._processor(images=Image.fromarray(pixels), return_tensors="pt")
        return {name: value for name, value in made.items() if name in self._takes}

    def _read(self, told: dict[str, Any]) -> Detections:
        boxes, scores = (told[name].double().cpu().numpy() for name in ("boxes", "scores"))
        return Detections(boxes, scores, [self._names.get(int(at), "") for at in told["labels"]])
