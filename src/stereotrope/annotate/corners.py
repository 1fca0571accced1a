"""Boxes of regions as files have them: four corners in pixels."""

import json
from typing import Any

import polars as pl

from stereotrope.inputs.options import shorten
from stereotrope.inputs.row import Row
from stereotrope.inputs.rows import RowFile

_BOX = "box"
_CORNERS = "[x0, y0, x1, y1]"
_FARTHEST = 10**6
"""Pixels; no picture has a side as long."""


def box_column(found: RowFile, given: str | None) -> str:
    """The column of boxes, the given one or that with the usual name.

    Raises MetadataError: There is none.
    """
    return found.require(_BOX if given is None else given, f"the box of each row, {_CORNERS}")


def box_of(row: Row, column: str) -> str | None:
    """The box of a row as labels have it; None where it is empty.

    Raises MetadataError: It is no four numbers, is turned, or lies within one pixel.
    """
    value: Any = row.values.get(column)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    written = value
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if (
        not isinstance(value, list)
        or len(value) != 4
        or not all(type(number) in (int, float) and abs(number) <= _FARTHEST for number in value)
    ):
        raise row.error(f"{column!r} must be a box {_CORNERS}, found {shorten(written)}; correct it")
    x0, y0, x1, y1 = value
    if not (x0 < x1 and y0 < y1):
        raise row.error(
            f"{column!r} must be a box {_CORNERS} with x0 below x1 and y0 below y1, found "
            f"{shorten(written)}; write corners, not width and height"
        )
    if x1 <= 1 and y1 <= 1:
        raise row.error(
            f"{column!r} must be a box {_CORNERS} in pixels, found {shorten(written)}, which lies within "
            "one; multiply shares by width and height"
        )
    return json.dumps([int(number) if number == int(number) else number for number in value])


def with_boxes(rows: pl.LazyFrame, column: str, *, key: str, no_box: str) -> pl.LazyFrame:
    """Rows with a number that stands for the box in a text, null without one, and whether the text is none.

    A text is none as :func:`box_of` says; boxes that are written differently have the same number.
    """
    text, names = pl.col(column), [f"\0corner {place}" for place in range(4)]
    parts = text.str.strip_prefix("[").str.strip_suffix("]").str.splitn(",", 4).struct.rename_fields(names)
    split = rows.with_columns(parts.alias(key)).unnest(key)
    cut = split.with_columns(pl.col(names).str.strip_chars().cast(pl.Float64, strict=False))
    x0, y0, x1, y1 = map(pl.col, names)
    turned = (x0 >= x1) | (y0 >= y1) | ((x1 <= 1) & (y1 <= 1))
    near = pl.all_horizontal(pl.col(name).abs() <= _FARTHEST for name in names)
    fits = (near & ~turned & text.str.starts_with("[") & text.str.ends_with("]")).fill_null(False)
    told = {key: pl.when(fits).then(pl.struct(names).hash()), no_box: (text != "").fill_null(False) & ~fits}
    return cut.with_columns(**told).drop(names)
