"""Detectors in an ONNX file; the module that imports onnxruntime when one is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from PIL import Image

from stereotrope.annotate.detection.boxes import Detections
from stereotrope.annotate.embeddings.vectors import Pixels
from stereotrope.errors import ModelUnusable

_QUIET = 3
"""Errors only: files that older tools wrote have a warning for every weight."""
_FARTHEST = 4.0
"""Shares of a side, farther than any box about something in the picture lies; pixels are hundreds."""
_LARGEST = 2**26
"""Pixels of an input; a file that asks for more is no detector, and would fill the memory."""
_KINDS = (
    "understood is one input [1, 3, height, width] of fixed size, and two outputs: "
    "scores [1, n, 1 + classes], the first column the background, and boxes [1, n, 4], corners as shares of "
    "width and height"
)


class OnnxDetector:
    """A detector of the one kind that is understood (``_KINDS``).

    path: The file.
    classes: Names of the columns of scores behind the first.
    levels: A level of the input is (level of sRGB − first) / second.
    """

    def __init__(self, path: Path, classes: Sequence[str], levels: tuple[float, float], what: str) -> None:
        self._classes, self._levels, self._what = tuple(classes), levels, what
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _QUIET
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        # What the runtime raises has no base of its own.
        except Exception as error:
            found = " ".join(str(error).split())[:300]
            raise ModelUnusable(
                f"{what}: cannot be loaded ({found}); check that it is a whole ONNX file"
            ) from error
        self._input, self._size = self._taken()
        self._outputs = self._given()
        self.detect([np.full((8, 12, 3), 128, np.uint8)])

    def _taken(self) -> tuple[str, tuple[int, int]]:
        """Name of the input, width and height."""
        inputs = self._session.get_inputs()
        match [(one.type, list(one.shape)) for one in inputs]:
            case [("tensor(float)", [1 | str() | None, 3, int() as height, int() as width])] if (
                0 < height * width <= _LARGEST
            ):
                return str(inputs[0].name), (width, height)
        raise self._strange([f"input {_shape(one)}" for one in inputs])

    def _given(self) -> tuple[str, str]:
        """Names of scores and boxes: by their shape, or by their names where both have four columns."""
        outputs = self._session.get_outputs()
        told = [f"output {_shape(one)}" for one in outputs]
        if len(outputs) != 2 or any(len(one.shape) != 3 for one in outputs):
            raise self._strange(told)
        boxes = [one for one in outputs if one.shape[-1] == 4]
        boxes = [one for one in boxes if "box" in one.name.lower()] if len(boxes) > 1 else boxes
        if len(boxes) != 1:
            raise self._strange(told)
        (scores,) = [one for one in outputs if one is not boxes[0]]
        columns = scores.shape[-1]
        if isinstance(columns, int) and columns != 1 + len(self._classes):
            raise ModelUnusable(
                f"{self._what}: has scores of {columns - 1} classes beside the background, and `classes:` "
                f"names {len(self._classes)} ({', '.join(self._classes)}); name them all in their order"
            )
        return scores.name, boxes[0].name

    def _strange(self, found: Sequence[str]) -> ModelUnusable:
        return ModelUnusable(
            f"{self._what}: is a detector of another kind; {_KINDS}; found {', '.join(found)}; "
            "export it so, or use a folder that transformers reads"
        )

    def detect(self, pictures: Sequence[Pixels]) -> list[Detections]:
        """Find what is in each picture, all boxes with all their scores."""
        return [self._detected(pixels) for pixels in pictures]

    def _detected(self, pixels: Pixels) -> Detections:
        try:
            scores, boxes = self._session.run(self._outputs, {self._input: self._prepared(pixels)})
        except Exception as error:
            found = " ".join(str(error).split())[:300]
            raise ModelUnusable(
                f"{self._what}: cannot look at a picture ({found}); check the file"
            ) from error
        scores, boxes = np.asarray(scores, np.float64)[0, :, 1:], np.asarray(boxes, np.float64)[0]
        if len(scores) != len(boxes) or scores.shape[1] != len(self._classes):
            raise self._strange([f"scores {list(scores.shape)}", f"boxes {list(boxes.shape)}"])
        if not (np.isfinite(boxes).all() and (scores >= 0).all() and (scores <= 1).all()):
            raise self._strange(["scores outside [0, 1], or boxes that are not finite"])
        if boxes.size and np.median(np.abs(boxes)) > _FARTHEST:
            raise self._strange([f"boxes up to {boxes.max():g}, which are no shares"])
        if boxes.size and (boxes[:, 2:] < boxes[:, :2]).any(axis=1).mean() > 0.5:
            raise self._strange(["boxes that mostly end before they begin, as a middle and a size would"])
        height, width = pixels.shape[:2]
        places, columns = np.divmod(np.arange(scores.size), scores.shape[1])
        names = [self._classes[column] for column in columns]
        return Detections((boxes * [width, height, width, height])[places], scores.ravel(), names)

    def _prepared(self, pixels: Pixels) -> NDArray[np.float32]:
        """The picture at the input's size; in single precision, as OpenCV's and not Pillow's rounding."""
        planes = [Image.fromarray(pixels[:, :, at].astype(np.float32)) for at in range(3)]
        sized = np.stack([np.asarray(one.resize(self._size, Image.Resampling.BILINEAR)) for one in planes])
        return np.asarray((sized - self._levels[0]) / self._levels[1], np.float32)[None]


def _shape(one: Any) -> str:
    return f"{one.name} {list(one.shape)} of {one.type}"
