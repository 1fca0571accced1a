"""Text on the product and text on the background, read by OCR."""

import json
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.annotate import foreground, marks
from stereotrope.annotate.label import Attributes, Label, image_labels
from stereotrope.annotate.offline import OfflineAnnotator, offline
from stereotrope.annotate.picture import Picture
from stereotrope.tables import fingerprint_of

READ_SIDE = 512
"""Longer side in pixels at which text is recognised."""
WHOLE_SIDE, PRODUCT_SIDE = 320, 256
"""Longer side for finding text on the whole picture, and on the product cut out of it."""
BOX_THRESHOLD = 0.4
"""Least mean probability of text within a box that is then read."""
LARGE, OBLONG = 0.5, 1.2
"""A box of more than that share of what is looked at is read only if it is so many times as long as high:
two letters are longer, and what is not is a thing taken for a letter."""
MIN_CONFIDENCE = 0.7
"""Least recognition confidence of a reading that counts."""
MIN_CHARACTERS = 2
"""Least letters and digits of a reading that counts: single strokes (a clock's ticks) read as one letter."""
ON_PRODUCT = 0.5
"""Share of a box on the product from which the text is the product's."""

Box = tuple[float, float, float, float]
"""Left, top, right and bottom in shares of the picture."""


@dataclass(frozen=True)
class TextReading:
    """A line of text found: the words, recognition confidence in [0, 1], and where."""

    words: str
    confidence: float
    box: Box

    @property
    def counts(self) -> bool:
        """Whether it is taken for text."""
        characters = sum(c.isalnum() for c in self.words)
        return self.confidence >= MIN_CONFIDENCE and characters >= MIN_CHARACTERS


@offline("text on the product and on the background, by OCR")
class TextAnnotator(OfflineAnnotator):
    """Says whether there is text on the product and on the background.

    The picture is read by PP-OCR (through RapidOCR on one CPU thread): whole, and, where that shows it
    larger, the product cut out, so that small print is found too. A reading belongs to the product when at
    least half of its box lies on it. The words are kept as data, one label a reading with its box:
    ``text_words`` and ``background_text_words``; they are never acted on.

    Text at one place of a model's pictures whatever it was asked for, such as a watermark or a signature,
    says nothing of what the pictures show. It is derived from the readings of all pictures
    (:func:`stereotrope.annotate.marks.find_marks`): ``text_mark``, a label a reading, with how the mark is
    mostly read as ``value`` and where it is as ``rationale``. A picture on which nothing else was read counts
    as one without text.

    ``confidence`` of ``present`` is the best reading's; of ``absent`` it is 1 − the confidence of the
    best reading that did not count, 1 where nothing was read.
    """

    name = "text"
    in_processes = True
    version = 3
    attributes: Attributes = dict.fromkeys(marks.WORDS, ("present", "absent")) | dict.fromkeys(
        [*marks.WORDS.values(), marks.MARK]
    )
    _engines = threading.local()
    """An engine keeps state while it reads, so every thread has its own."""

    @property
    def fingerprint(self) -> str:
        """Name, version, thresholds, segmentation and the version of RapidOCR, which carries its models."""
        parameters = {
            "rapidocr": metadata.version("rapidocr"),
            "sides": [READ_SIDE, WHOLE_SIDE, PRODUCT_SIDE],
            "counts": [BOX_THRESHOLD, LARGE, OBLONG, MIN_CONFIDENCE, MIN_CHARACTERS, ON_PRODUCT],
            "foreground": foreground.foreground_parameters(),
            **marks.mark_parameters(),
        }
        return fingerprint_of(self.name, self.version, parameters)

    def setup(self) -> None:
        """Load the models: both that find text, and the one that reads it."""
        blank = np.full((64, 64, 3), 255, dtype=np.uint8)
        for engine in self._pair():
            engine(blank)

    def process(self, picture: Picture) -> list[Label]:
        """Label text on product and background."""
        pixels = picture.pixels(READ_SIDE)
        whole, close = self._pair()
        readings = list(_readings(whole, whole, pixels, (0.0, 0.0, 1.0, 1.0)))
        on = []
        if readings or _scale(pixels.shape[:2], WHOLE_SIDE) < 1:
            relief = foreground.relief(picture.pixels(foreground.WORK_SIDE))
            product = _product(relief, readings)
            if _is_closer(product, pixels.shape):
                readings += _readings(close, whole, pixels, _bounds(product))
                product = _product(relief, readings)
            shares = (product[_cells(product.shape, reading.box)].mean() for reading in readings)
            on = [bool(share >= ON_PRODUCT) for share in shares]
        sides = (
            [r for r, here in zip(readings, on, strict=True) if here is wanted] for wanted in (True, False)
        )
        said = [list(_labels(*side, picture)) for side in zip(marks.WORDS, sides, strict=True)]
        return [presence for presence, *_ in said] + [word for _, *words in said for word in words]

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return a label for each reading that is a mark, in the order of ``images``."""
        own = labels.filter(pl.col("annotator") == self.name, pl.col("status") == "ok")
        looked = own.filter(pl.col("attribute").is_in(list(marks.WORDS)))["subject_id"].unique()
        readings = own.filter(pl.col("attribute").is_in(list(marks.WORDS.values()))).select(
            image_id="subject_id", words="value", region="region"
        )
        found = marks.find_marks(readings, images.filter(pl.col("image_id").is_in(looked.implode())))
        rows = images.select("image_id").join(found, on="image_id", how="inner", maintain_order="left")
        rows = rows.select(
            "region",
            subject_id="image_id",
            value="mark",
            written=pl.when(pl.col("words") != pl.col("mark")).then("words"),
            rationale="place",
        )
        return image_labels(rows, attribute=marks.MARK, annotator=self.name, derived_from=self.name)

    def revise(self, labels: pl.DataFrame, *told: Any) -> pl.DataFrame:
        """Count no text where all that was read is a mark."""
        return marks.discount_marks(super().revise(labels, *told))

    def _pair(self) -> tuple[Any, Any]:
        if not hasattr(self._engines, "pair"):
            self._engines.pair = (_engine(WHOLE_SIDE), _engine(PRODUCT_SIDE))
        pair: tuple[Any, Any] = self._engines.pair
        return pair


def _engine(side: int) -> Any:
    from rapidocr import RapidOCR  # noqa: PLC0415

    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,
            "Global.text_score": 0.0,
            "Det.limit_side_len": side,
            "Det.limit_type": "max",
            "Det.box_thresh": BOX_THRESHOLD,
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _readings(finder: Any, reader: Any, pixels: NDArray[np.uint8], part: Box) -> Iterator[TextReading]:
    """Read a part of the picture, given in shares; boxes come back in shares of the whole."""
    height, width = pixels.shape[:2]
    left, top, right, bottom = (round(v * s) for v, s in zip(part, (width, height) * 2, strict=True))
    cut = pixels[top : max(bottom, top + 1), left : max(right, left + 1)]
    image = np.ascontiguousarray(cut[..., ::-1])
    boxes = finder(image, use_det=True, use_cls=False, use_rec=False).boxes
    lines = [corners for corners in (() if boxes is None else boxes) if _is_line(corners, cut.shape)]
    if not lines:
        return
    read = reader.recognize_txt(reader.crop_text_regions(image, lines))
    for words, score, corners in zip(read.txts, read.scores, lines, strict=True):
        if words.strip():
            x, y = (np.add(corners, (left, top), dtype=float) / (width, height)).T
            yield TextReading(str(words), float(score), (x.min(), y.min(), x.max(), y.max()))


def _is_line(corners: NDArray[np.float32], shape: tuple[int, ...]) -> bool:
    """Whether a box may hold a line of text: it is oblong, or small beside what is looked at."""
    along, across = (float(np.hypot(*(corners[at] - corners[1]))) for at in (0, 2))
    return along * across <= LARGE * shape[0] * shape[1] or max(along, across) >= OBLONG * min(along, across)


def _product(relief: foreground.Relief, readings: list[TextReading]) -> NDArray[np.bool_]:
    """The product, its gaps included: print between two parts of a thing is on the thing."""
    boxes = [_cells(relief.raised.shape, reading.box) for reading in readings if reading.counts]
    product = foreground.segment(relief, boxes).product
    return foreground.convex_hull(product) if product.any() else product


def _cells(shape: tuple[int, ...], box: Box) -> tuple[slice, slice]:
    height, width = shape
    left, top = min(max(int(box[0] * width), 0), width - 1), min(max(int(box[1] * height), 0), height - 1)
    right, bottom = max(left + 1, round(box[2] * width)), max(top + 1, round(box[3] * height))
    return slice(top, bottom), slice(left, right)


def _scale(shape: Iterable[float], side: int) -> float:
    """How large a picture is when text is sought on it, as a share of what it was; none is made larger."""
    return min(1.0, side / max(shape))


def _is_closer(product: NDArray[np.bool_], shape: tuple[int, ...]) -> bool:
    """Whether the product cut out is looked at larger than on the whole picture."""
    if not product.any():
        return False
    left, top, right, bottom = _bounds(product)
    part = ((bottom - top) * shape[0], (right - left) * shape[1])
    return _scale(part, PRODUCT_SIDE) > _scale(shape[:2], WHOLE_SIDE)


def _bounds(product: NDArray[np.bool_]) -> Box:
    height, width = product.shape
    rows, columns = np.flatnonzero(product.any(axis=1)), np.flatnonzero(product.any(axis=0))
    return columns[0] / width, rows[0] / height, (columns[-1] + 1) / width, (rows[-1] + 1) / height


def _labels(attribute: str, readings: list[TextReading], picture: Picture) -> Iterator[Label]:
    counted = _distinct(r for r in readings if r.counts)
    if not counted:
        doubt = max((r.confidence for r in readings), default=0.0)
        yield Label(attribute, "absent", round(1 - doubt, 4))
        return
    words = " | ".join(r.words for r in counted)
    yield Label(attribute, "present", round(max(r.confidence for r in counted), 4), rationale=words)
    sides = picture.size * 2
    for reading in counted:
        region = json.dumps([round(share * side) for share, side in zip(reading.box, sides, strict=True)])
        yield Label(marks.WORDS[attribute], reading.words, round(reading.confidence, 4), region=region)


def _distinct(readings: Iterable[TextReading]) -> list[TextReading]:
    """Of readings of one place, the most confident, in reading order: what is read twice is said once."""
    kept: list[TextReading] = []
    for reading in sorted(readings, key=lambda r: (-r.confidence, -len(r.words), r.words)):
        if all(_overlap(reading.box, other.box) < 0.5 for other in kept):
            kept.append(reading)
    return sorted(kept, key=lambda r: (r.box[1], r.box[0]))


def _overlap(a: Box, b: Box) -> float:
    """Intersection over the smaller of two boxes."""
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    smaller = min((a[2] - a[0]) * (a[3] - a[1]), (b[2] - b[0]) * (b[3] - b[1]))
    return max(wide, 0.0) * max(high, 0.0) / smaller if smaller > 0 else 0.0
