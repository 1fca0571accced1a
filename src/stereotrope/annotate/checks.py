"""What an annotator of another package must keep to; every rule raises what the run tells of the package."""

import contextlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, get_args

import polars as pl

from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.label import Label
from stereotrope.annotate.picture import SubjectKind
from stereotrope.clients import Expectation
from stereotrope.inputs.columns import require_frame
from stereotrope.plugins import require_facts, require_result
from stereotrope.tables import EMBEDDINGS, LABELS, QUALITY_ATTRIBUTES, polars_types

_GIVES: dict[str, Any] = {
    "process": Iterable,
    "sets": Sequence,
    "made": Sequence,
    "key_of": str,
    "payload": Mapping,
}
_GIVES |= dict.fromkeys(("derive", "derive_vectors", "revise", "embed"), pl.DataFrame)
_GIVES |= {"expect": Expectation | None, "mean_cost": float | int | None, "within": Annotator | None}


def checked(one: Annotator, method: str, given: tuple[Any, ...], result: Any) -> Any:
    """Return what a method of an annotator gave, labels out of their lists as ``invalid``.

    Raises TypeError, ValueError: It breaks the contract.
    """
    if method in ("process", "process_batch") and type(one).payload is not Annotator.payload:
        return result  # no labels: its own ``payload`` says what is kept of it
    require_result(_GIVES, method, given, result)
    match method:
        case "make":
            _require_annotator(one)
        case "process":
            return _labels(one, given[0], result)
        case "process_batch":
            pairs = zip(given[0], result, strict=True)
            return [each if isinstance(each, Exception) else _labels(one, at, each) for at, each in pairs]
        case "derive":
            _require_derived(one, given[0], given[1], result)
        case "derive_vectors":
            _require_derived(one, given[0], pl.DataFrame(schema=polars_types(LABELS)), result)
        case "revise":
            _require_revised(one, given[0], result)
        case "embed":
            own = ["subject_kind", "subject_id", "encoder"]
            require_frame(result, polars_types(EMBEDDINGS), filled=[*own, "vector"], unique=own)
        case "mean_cost" if result is not None and not 0 <= result < math.inf:
            raise ValueError(f"mean_cost is at least 0, found {result}")
        case "sets":
            for ids in result:
                if not isinstance(ids, tuple | list) or not ids or not set(ids) <= set(given[0]["image_id"]):
                    raise ValueError(f"a set is a tuple of ids of the images, found {ids!r:.80}")
    return result


def _require_annotator(one: Annotator) -> None:
    require_facts(one, name=str, fingerprint=str, concurrency=int, batch=int, size=int)
    if one.subject not in get_args(SubjectKind) or not isinstance(one.attributes, Mapping):
        raise ValueError(
            f"subject must be one of {', '.join(get_args(SubjectKind))}, and attributes a mapping; found "
            f"{one.subject!r:.40} and {one.attributes!r:.80}"
        )
    lists = (one.needs, one.gives, one.reads, one.several, [*one.wants], [*one.attributes])
    for texts in (*lists, *filter(None, one.attributes.values())):
        if not isinstance(texts, tuple | list) or not all(isinstance(text, str) for text in texts):
            raise TypeError(
                f"needs, gives, reads, several and value lists must be tuples of texts, found {texts!r:.80}"
            )
    for words in ([*one.attributes], *filter(None, one.attributes.values())):
        if len({word for word in words if word.strip()}) < len(words):
            raise ValueError(
                f"names of attributes, and values of one, must differ, and none be empty; found {words!r:.80}"
            )


def _labels(one: Annotator, subject: Any, result: Iterable[Any]) -> list[Label]:
    said = [_label(one, subject, label) for label in result]
    _require_once(one, [(label.attribute, label.region) for label in said])
    return said


def _label(one: Annotator, subject: Any, label: Any) -> Label:
    if not isinstance(label, Label) or label.attribute not in one.attributes:
        raise TypeError(f"process must give labels of {', '.join(one.attributes)}, found {label!r:.120}")
    if label.region is not None:
        _require_box(label.region, *(subject.size if one.subject == "image" else (0, 0)))
    _require_said([label.value])
    values = one.attributes[label.attribute]
    if label.value is None or values is None or label.value in values:
        return label
    reason = f'answered "{label.value:.100}", which is not among the options'
    return replace(label, value=None, status="invalid", rationale=reason)


def _require_said(values: Iterable[str | None]) -> None:
    """Raise ValueError where a value says nothing: that is None, with a status."""
    if any(value is not None and not value.strip() for value in values):
        raise ValueError("a value must not be empty; give none and the status unclear, or no label")


def _require_box(region: str, width: int, height: int) -> None:
    """Raise ValueError where a text is no box in a picture of this size."""
    with contextlib.suppress(ValueError):  # no JSON
        match json.loads(region):
            case [int() | float() as x0, int() | float() as y0, int() | float() as x1, int() | float() as y1]:
                if 0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height:
                    return
    raise ValueError(
        f"region {region:.80} is no box [x0, y0, x1, y1] in the {width} × {height} pixels of the picture"
    )


def _require_once(one: Annotator, places: Iterable[tuple[Any, ...]]) -> None:
    """Of each attribute a subject has one label: of ``several`` one a region, of what was read any number."""
    seen = set()
    for *place, region in places:
        key = (*place, region if place[0] in one.several else None)
        if key in seen and place[0] not in QUALITY_ATTRIBUTES:
            raise ValueError(
                f"one label an attribute and subject, of those in Annotator.several one a region; found more "
                f"of {place[0]!r}"
            )
        seen.add(key)


def _require_derived(one: Annotator, images: pl.DataFrame, known: pl.DataFrame, told: pl.DataFrame) -> None:
    require_frame(told, polars_types(LABELS))
    ids = pl.concat([known["subject_id"], images["prompt_id"], images["image_id"]])
    own = pl.col("subject_kind").is_in(get_args(SubjectKind)) & pl.col("subject_id").is_in(ids.implode())
    own &= (pl.col("annotator") == one.name) & pl.col("attribute").is_in(list(one.attributes))
    if (odd_rows := told.filter(~own.fill_null(value=False))).height:
        raise ValueError(
            "derive must give labels of subjects of this run and of its own attributes under its name, found "
            f"{odd_rows.row(0)}"
        )
    names = [field.name for field in fields(Label)]
    for row in told.select(names).iter_rows():
        Label(*row)
    _require_said(told["value"].unique())
    for attribute, value in (
        told.select("attribute", "value").drop_nulls("value").unique().sort(pl.all()).iter_rows()
    ):
        if (values := one.attributes[attribute]) is not None and value not in values:
            raise ValueError(f"derive must give values of {attribute!r} of its list, found {value!r:.80}")
    boxes = told.filter(pl.col("region").is_not_null()).join(known, on=["subject_id", "region"], how="anti")
    sizes = {image_id: size for image_id, *size in images.select("image_id", "width", "height").iter_rows()}
    for subject_id, region in boxes.select("subject_id", "region").iter_rows():
        _require_box(region, *(side or 0 for side in sizes.get(subject_id, (0, 0))))
    _require_once(one, told.select("attribute", "subject_id", "region").iter_rows())


def _require_revised(one: Annotator, labels: pl.DataFrame, told: pl.DataFrame) -> None:
    own, fixed = pl.col("annotator") == one.name, pl.exclude("value", "written", "confidence")
    parts = [(frame.select(fixed), frame.filter(~own)) for frame in (labels, told)]
    if labels.schema != told.schema or not all(a.equals(b) for a, b in zip(*parts, strict=True)):
        raise ValueError("revise may change value, written and confidence of its own labels, nothing else")
