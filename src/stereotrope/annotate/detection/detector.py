"""What is in a picture, a box each, by a detector on this computer."""

import importlib.util
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import AfterValidator, Field

from stereotrope.annotate.attributes import check_attributes
from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.detection.boxes import Detections, counted_boxes
from stereotrope.annotate.embeddings.vectors import Pixels
from stereotrope.annotate.label import Attributes, Label, number_of
from stereotrope.annotate.picture import DECODING_THREADS, Picture, picture_parts
from stereotrope.annotate.registry import annotator
from stereotrope.clients.local import (
    LOCAL_PACKAGES,
    HubPlace,
    file_digest,
    hub_place,
    model_identity,
    model_place,
    require_local,
)
from stereotrope.errors import PictureError, UsageError
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Name, Options, Text, Texts
from stereotrope.inputs.serving import Device
from stereotrope.tables import fingerprint_of

_PERSON = "person"
_CONFIDENCE = 0.5
_OVERLAP = 0.3
"""Of an ONNX file: authors of small detectors suppress at 0.3; those of transformers give each thing once."""
_BATCH = 8
_LEVELS = (127.0, 128.0)


class _Model(Protocol):
    def detect(self, pictures: Sequence[Pixels]) -> list[Detections]: ...


class Detector(Annotator):
    """Finds people, or other things, and labels each with its box.

    ``person``
        one label a box: the class, its box in ``region``, the model's score in ``confidence``, the surest
        first.
    ``n_people``
        how many boxes the picture has: ``0``, ``1``, ``2`` … A picture without people has this label too.

    model: A folder that ``save_pretrained`` wrote or a name on the Hugging Face hub, of a model of
        ``AutoModelForObjectDetection`` (RT-DETR, D-FINE, YOLOS, DETR); or an ONNX file with one input
        [1, 3, height, width] and two outputs: scores [1, n, 1 + classes], the first column the background,
        and boxes [1, n, 4], corners as shares of width and height.
    name: Name in the ``annotator`` column.
    classes: What counts; of an ONNX file the names of all its classes in their order.
    attribute: Name of the labels of boxes, by default the class, ``object`` where there are several; their
        number is ``n_`` and that name, ``n_people`` for ``person``.
    confidence: Score that a box needs.
    smallest: Shorter side that it needs: pixels, below 1 a share of the picture's shorter side.
    overlap: Intersection over union above which only the surer of two boxes of one class stays; by default
        0.3 for an ONNX file, and none are taken away from what transformers gives.
    levels: Of an ONNX file: a level of its input is (level of sRGB − first) / second.
    batch, device, revision: As of :class:`~stereotrope.annotate.Encoder`.

    All of these but batch and device are in the fingerprint, with the bytes of the files or the name on the
    hub.
    """

    version = 1
    gives = ("regions",)

    def __init__(
        self,
        model: str | Path,
        *,
        name: str = "detect",
        classes: Sequence[str] = (_PERSON,),
        attribute: str | None = None,
        confidence: float = _CONFIDENCE,
        smallest: float = 0.0,
        overlap: float | None = None,
        levels: tuple[float, float] = _LEVELS,
        batch: int = _BATCH,
        device: str = "auto",
        revision: str | None = None,
    ) -> None:
        self.name: str = name
        self.model, self.classes = model, tuple(classes)
        self.confidence, self.smallest, self.levels = confidence, smallest, levels
        self.device, self.revision = device, revision
        self.on_disk = model if isinstance(model, Path) else None
        self._is_onnx = isinstance(model, Path) and model.suffix.lower() == ".onnx"
        self.overlap = _OVERLAP if overlap is None and self._is_onnx else overlap
        self.batch = 1 if self._is_onnx else batch
        self.libraries = ("onnxruntime",) if self._is_onnx else LOCAL_PACKAGES
        thing = attribute or (self.classes[0] if len(self.classes) == 1 else "object")
        self._thing, self._number = thing, number_of(thing)
        try:
            check_attributes(dict.fromkeys((thing, self._number)))
        except UsageError as error:
            raise UsageError(f"annotator {name!r}: attribute: {error}") from None
        self.attributes: Attributes = {thing: self.classes, self._number: None}
        self.several = (thing,)
        self._guard = threading.Lock()
        self._loaded: _Model | None = None

    @property
    def _what(self) -> str:
        return f"detector {str(self.model)!r}"

    @property
    def concurrency(self) -> int:
        """Two pictures at once where each takes one thread."""
        return 2 if self._is_onnx else 1

    def asked(self, levels: object) -> tuple[str, ...]:
        """Every picture has the number; one without people has no box."""
        return (self._number,)

    def recall(self, fingerprint: str) -> None:
        """Take the fingerprint that a run stored of a model that is not here any more."""
        file = self.model if self._is_onnx else Path(self.model) / "config.json"
        if isinstance(self.model, Path) and not Path(file).is_file():
            self.__dict__["fingerprint"] = fingerprint

    @cached_property
    def fingerprint(self) -> str:
        """The model, what counts, and every threshold.

        Raises UsageError: The folder or file is not there.
        """
        said = {
            "classes": list(self.classes),
            "attribute": self._thing,
            "confidence": self.confidence,
            "smallest": self.smallest,
            "overlap": self.overlap,
        }
        if self._is_onnx:
            more = {**said, "levels": list(self.levels)}
            return fingerprint_of("detect:onnx", self.version, more, file_digest(self._file()))
        which, digests = model_identity(self.model, self.revision, self._what)
        return fingerprint_of("detect", self.version, {**said, **which}, *digests)

    @property
    def hub(self) -> HubPlace | None:  # type: ignore[override]
        """Its model, where it is one on the hub."""
        return hub_place(self._file() if self._is_onnx else self.model, self.revision)

    def _file(self) -> Path:
        file = Path(self.model)
        if not file.is_file():
            raise UsageError(f"{self._what}: no file is there; check the path")
        return file

    def require(self) -> None:
        """Refuse what cannot work, before anything is spent; loads nothing.

        Raises UsageError: What reads the model is not installed, or the model is not there.
        """
        if not self._is_onnx:
            require_local(self.model, self._what)
        elif importlib.util.find_spec("onnxruntime") is None:
            raise UsageError(f"{self._what} needs onnxruntime; install it: pip install onnxruntime")
        else:
            self._file()

    def setup(self) -> None:
        """Load the model, once.

        Raises ModelUnusable: It cannot be loaded, or is of a kind that is not understood.
        """
        self._model()

    def _model(self) -> _Model:
        with self._guard:
            if self._loaded is None:
                self.require()
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> _Model:
        if self._is_onnx:
            from stereotrope.annotate.detection._onnx import OnnxDetector  # noqa: PLC0415

            return OnnxDetector(self._file(), self.classes, self.levels, self._what)
        from stereotrope.annotate.detection._transformers import TransformersDetector  # noqa: PLC0415

        return TransformersDetector(
            self.model, self.classes, revision=self.revision, device=self.device, what=self._what
        )

    def process(self, picture: Picture) -> list[Label]:
        """Label one picture.

        Raises PictureError: It cannot be decoded.
        """
        (told,) = self.process_batch([picture])
        if isinstance(told, PictureError):
            raise told
        return told

    def process_batch(self, shown: Sequence[Picture]) -> list[list[Label] | PictureError]:
        """Label pictures together; of one that cannot be decoded the error stands in its place."""
        self.setup()  # first: what cannot be loaded is told before pictures are decoded
        return [told for part in picture_parts(shown) for told in self._looked(part)]

    def _looked(self, shown: Sequence[Picture]) -> list[list[Label] | PictureError]:
        with ThreadPoolExecutor(DECODING_THREADS) as pool:
            decoded = list(pool.map(_pixels, shown))
        whole = [each for each in decoded if not isinstance(each, PictureError)]
        found = iter(self._model().detect(whole) if whole else ())
        return [
            each if isinstance(each, PictureError) else self._labels(next(found), each) for each in decoded
        ]

    def _labels(self, found: Detections, pixels: Pixels) -> list[Label]:
        height, width = pixels.shape[:2]
        boxes = counted_boxes(
            found,
            width,
            height,
            classes=self.classes,
            confidence=self.confidence,
            smallest=self.smallest,
            overlap=self.overlap,
        )
        things = [Label(self._thing, b.name, round(b.score, 4), region=b.region) for b in boxes]
        return [*things, Label(self._number, str(len(boxes)))]


def _pixels(picture: Picture) -> Pixels | PictureError:
    try:
        return picture.pixels()
    except PictureError as error:
        return error


def _levels(value: list[float]) -> list[float]:
    if len(value) != 2 or value[1] == 0:
        raise ValueError("must be two numbers, the second not 0; write [127, 128]")
    return value


class DetectOptions(Options):
    """As of :class:`Detector`; ``detect`` is the model, a path beginning with ``.``, ``/`` or ``~``, or
    ending in ``.onnx``, or a name on the hub.
    """

    detect: Text
    name: Name = "detect"
    classes: Texts = Field([_PERSON], examples=["[person]"])
    attribute: Name | None = None
    confidence: float = Field(_CONFIDENCE, gt=0, lt=1)
    smallest: float = Field(0.0, ge=0)
    overlap: float | None = Field(None, ge=0, le=1)
    levels: Annotated[list[float], AfterValidator(_levels)] | None = Field(None, examples=["[127, 128]"])
    batch: int = Field(_BATCH, ge=1, le=4096)
    device: Device = "auto"
    revision: Text | None = None


@annotator(
    DetectOptions,
    summary="people, faces or other things as regions, and how many, by a detector on this computer",
    example="{detect: PekingU/rtdetr_v2_r18vd, classes: [person]}",
)
def detect(options: DetectOptions, context: Context) -> Detector:
    """Name the model; it is loaded when it first looks."""
    what = f"detector {options.detect!r}"
    is_onnx = options.detect.lower().endswith(".onnx")
    if options.levels is not None and not is_onnx:
        raise UsageError(f"{what}: only an ONNX file has `levels:`; remove it")
    place = f"./{options.detect}" if is_onnx and options.detect[0] not in "./~" else options.detect
    where = model_place(place, context.folder, options.revision, what)
    first, second = options.levels or _LEVELS
    return Detector(where, levels=(first, second), **options.model_dump(exclude={"detect", "levels"}))
