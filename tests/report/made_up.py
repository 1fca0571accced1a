"""A made-up run with what the report reads of one, and the rows it is made of."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from PIL import Image, ImageDraw

from stereotrope.measure import measure_words
from stereotrope.tables import COUNTS, FINDINGS, IMAGES, LABELS, ROBUSTNESS, SUBJECTS, polars_types

_KINDS = {"string": pl.String, "double": pl.Float64, "int64": pl.Int64}
IMAGE_TYPES = {c.name: _KINDS[str(c.type)] for c in IMAGES}
LABEL_TYPES = {c.name: _KINDS[str(c.type)] for c in LABELS}
SPENDING_TYPES = {
    **dict.fromkeys(("provider", "model", "kind"), pl.String),
    **dict.fromkeys(("begun", "ok", "refused", "failed", "unanswered"), pl.Int64),
    **dict.fromkeys(("input_tokens", "output_tokens", "images"), pl.Int64),
    "cost": pl.Float64,
    "unpriced": pl.Int64,
}
FINDING_TYPES = {c.name: _KINDS[str(c.type)] for c in FINDINGS}


@dataclass
class FakeRun:
    """What the report reads of a run."""

    path: Path
    prompts: pl.DataFrame
    images: pl.DataFrame
    labels: pl.DataFrame
    estimates: pl.DataFrame
    findings: pl.DataFrame
    info: dict[str, Any]
    audit: dict[str, Any] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)
    spending: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SPENDING_TYPES))
    terms: pl.DataFrame = field(default_factory=pl.DataFrame)
    comparisons: pl.DataFrame = field(default_factory=pl.DataFrame)
    subjects: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=polars_types(SUBJECTS)))
    robustness: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=polars_types(ROBUSTNESS)))
    counts: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=polars_types(COUNTS)))
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.info.setdefault("words", measure_words())

    @property
    def further(self) -> dict[str, str]:
        terms = {"lexicon_terms": "Terms"} if self.terms.height else {}
        return terms | {name: name for name in self.tables}

    def table(self, name: str) -> pl.DataFrame:
        return self.tables.get(name, self.terms)

    def picture(self, image_id: str) -> bytes:
        return self.pictures[image_id]

    def stamps(self, images: Sequence[str]) -> dict[str, str]:
        return {i: hashlib.sha256(self.pictures[i]).hexdigest() for i in images if i in self.pictures}

    def scan(self, name: str) -> pl.LazyFrame:
        frame: pl.DataFrame = getattr(self, name)
        return frame.lazy()


def draw(product: str, background: str, shape: int) -> bytes:
    """A thing of one colour on a ground of another."""
    picture = Image.new("RGB", (160, 160), background)
    pen = ImageDraw.Draw(picture)
    box = (34 + shape * 3, 50, 126 - shape * 3, 118)
    (pen.ellipse if shape % 2 else pen.rectangle)(box, fill=product, outline="#333333", width=3)
    pen.rectangle((60, 118, 100, 126), fill=product, outline="#333333")
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def short(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def image_row(prompt: str, generator: str, i: int, **more: Any) -> dict[str, Any]:
    return {
        "image_id": short(prompt, generator, i),
        "prompt_id": prompt,
        "generator": generator,
        "seed": i,
        "params": "{}",
        "status": "ok",
        "width": 160,
        "height": 160,
    } | more


def label_row(image: str, attribute: str, value: str | None, annotator: str, **more: Any) -> dict[str, Any]:
    return {
        "subject_kind": "image",
        "subject_id": image,
        "attribute": attribute,
        "value": value,
        "annotator": annotator,
        "status": "ok",
    } | more


def frame(rows: list[Mapping[str, Any]], types: Mapping[str, Any]) -> pl.DataFrame:
    return pl.DataFrame({c: [r.get(c) for r in rows] for c in types}, schema=dict(types))


def finding(
    rank: int,
    kind: str,
    scope: Mapping[str, str],
    attribute: str | None,
    sentence: str,
    images: list[str],
    measure: str = "bds",
) -> dict[str, Any]:
    return {
        "finding_id": short(kind, scope, attribute),
        "kind": kind,
        "rank": rank,
        "scope": json.dumps(scope),
        "attribute": attribute,
        "sentence": sentence,
        "measure": measure,
        "image_ids": json.dumps(images),
    }
