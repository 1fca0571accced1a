"""Directions of attributes among vectors: given, between sentences, and between pictures of two levels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import TableError, UsageError
from stereotrope.inputs.options import shorten
from stereotrope.measure.embedding_cells import unit_rows
from stereotrope.measure.tidy import as_text, to_polars
from stereotrope.stats import class_direction
from stereotrope.stats.arrays import Floats

_SAME_TEXTS = "both descriptions have the same vector"
SAME_MEANS = "pictures of both have the same mean, or one has none"
_NO_SENTENCE = "a sentence has no vector"
_SAME = 1e-6
"""Distance of two unit vectors in single precision that are one."""


@dataclass(frozen=True)
class Axes:
    """The directions of one encoder and model: their names, a column each, and how they were found."""

    names: Sequence[str]
    columns: Floats
    how: Sequence[str]
    lacking: Sequence[str]
    """Why there is no score along each, where it has no length."""
    aware: Sequence[tuple[Floats, NDArray[np.bool_]]] = ()
    """The pictures of both levels that each was found with, and which show the attribute."""


FindAxes = Callable[[Mapping[str, Any]], Axes]
"""What gives the directions of a cell."""


def axis_levels(name: str, levels: Sequence[str]) -> tuple[str, str]:
    """Return the level with an attribute and the one without; refuse other than two."""
    if isinstance(levels, str) or len(levels) != 2 or levels[0] == levels[1]:
        raise UsageError(
            f"wals: axes: {name!r} must name two levels, the one with the attribute and the one without, "
            f"found {shorten(list(levels))}; write {name}: [man, woman]"
        )
    return levels[0], levels[1]


def given_axes(directions: Any) -> FindAxes:
    """Directions from a frame."""
    frame = to_polars(directions, what="directions", needs=("attribute", "annotator", "vector"))
    if (twice := frame.filter(frame.select("attribute", "annotator").is_duplicated())).height:
        raise TableError(
            f"directions: {twice['attribute'][0]!r} stands twice for one encoder; keep one row each"
        )

    def found(shared: Mapping[str, Any]) -> Axes:
        own = frame.filter(pl.col("annotator").cast(pl.String) == shared["annotator"])
        columns = np.array(own["vector"].to_list(), np.float64).T if own.height else np.zeros((0, 0))
        return Axes(
            own["attribute"].to_list(),
            columns,
            ["direction as given"] * own.height,
            [_SAME_TEXTS] * own.height,
        )

    return found


def sentence_axes(said: pl.DataFrame, sides: Mapping[str, Sequence[Sequence[str]]]) -> FindAxes:
    """Directions between sentences for and against each attribute."""
    columns: dict[str, tuple[Floats, list[str]]] = {}

    def found(shared: Mapping[str, Any]) -> Axes:
        encoder = str(shared["annotator"])
        if encoder not in columns:
            own = said.filter(annotator=encoder)
            known = dict(zip(own["sentence"], unit_rows(own["vector"]), strict=True))
            d = len(own["vector"][0]) if own.height else 1
            told = [_apart(pair, known, d) for pair in sides.values()]
            columns[encoder] = (
                np.array(told).T,
                [_SAME_TEXTS if not np.isnan(one).any() else _NO_SENTENCE for one in told],
            )
        of, lacking = columns[encoder]
        return Axes(list(sides), of, ["direction between sentences"] * len(sides), lacking)

    return found


def _apart(pair: Sequence[Sequence[str]], known: Mapping[str, Floats], d: int) -> Floats:
    """What leads from the sentences against an attribute to those for it; NaN where one has no vector."""
    if not all(sentence in known for side in pair for sentence in side):
        return np.full(d, np.nan)
    means = [np.mean([known[sentence] for sentence in side], axis=0) for side in pair]
    present, absent = (mean / max(float(np.linalg.norm(mean)), np.finfo(float).tiny) for mean in means)
    away = present - absent
    return np.asarray(away if np.linalg.norm(away) > _SAME else np.zeros(d))


def picture_axes(
    aware: pl.DataFrame, between: Mapping[str, tuple[str, str]], over: str, held: Sequence[str]
) -> FindAxes:
    """Directions between the pictures of two levels, of the same encoder and model."""
    known = aware.filter(pl.col("vector").is_not_null()).with_columns(_level=as_text(aware, over))
    if "excluded" in known.columns:
        known = known.filter(pl.col("excluded").is_null())
    done: dict[tuple[Any, ...], Axes] = {}

    def found(shared: Mapping[str, Any]) -> Axes:
        place = ("annotator", *held)
        key = tuple(shared[name] for name in place)
        if key not in done:
            own = known.filter(*(as_text(known, name).eq_missing(pl.lit(shared[name])) for name in place))
            done[key] = _directions(own, between)
        return done[key]

    return found


def _directions(own: pl.DataFrame, between: Mapping[str, tuple[str, str]]) -> Axes:
    columns, how, aware = [], [], []
    d = len(own["vector"][0]) if own.height else 1
    for present, absent in between.values():
        two = own.filter(pl.col("_level").is_in([present, absent]))
        x = unit_rows(two["vector"]) if two.height else np.zeros((0, d))
        aware.append((x, (two["_level"] == present).to_numpy()))
        columns.append(class_direction(*aware[-1]))
        how.append(f"direction between {two.height} pictures of {present!r} and {absent!r}")
    return Axes(list(between), np.array(columns).T, how, [SAME_MEANS] * len(between), aware)
