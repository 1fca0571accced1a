"""Reference distributions: how often something is so elsewhere, such as women's share in an occupation."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.errors import TableError, UsageError, did_you_mean
from stereotrope.inputs.options import shorten
from stereotrope.inputs.row import Row
from stereotrope.inputs.rows import read_rows
from stereotrope.measure.contract import Calls, MeasureCall, MeasureInfo
from stereotrope.measure.setting import MeasureSetting
from stereotrope.measure.tidy import as_number, as_text, to_polars
from stereotrope.plugins import Registry

REFERENCES: Registry[Callable[[pl.Series], pl.DataFrame]] = Registry(
    "references", "stereotrope.suites", modules="reference"
)
"""Every reference distribution that comes with a package, by its name: from scenarios to the shares of these
that it has."""

_TOLD = ("source", "year")


def checked_reference(reference: Any, estimates: Any, *, over: str, column: str) -> pl.DataFrame:
    """A reference distribution for estimates of shares.

    Returns: ``over, _share, _told``, and ``category`` and ``_of``, what the share is of, where it has them.
    Raises TableError: A column is missing, a scenario stands twice, a share lies outside [0, 1], or the
        estimates are of several values and the reference does not say of which.
    """
    frame = to_polars(reference, what="reference", needs=(over, column, *_TOLD))
    keys = [name for name in (over, "category") if name in frame.columns]
    words = pl.concat_str([as_text(frame, name) for name in _TOLD], separator=", ", ignore_nulls=True)
    more = {"_of": pl.col("n").cast(pl.Int64)} if "n" in frame.columns else {}
    share = as_number(frame, column, what="reference")
    table = frame.select(*(as_text(frame, name) for name in keys), _share=share, _told=words, **more)
    if (twice := table.filter(table.select(keys).is_duplicated())).height:
        raise TableError(f"reference: {over} {twice[over][0]!r} stands twice; keep one row each")
    for wrong in table.filter(~pl.col("_share").is_between(0, 1))["_share"]:
        raise TableError(
            f"reference: shares in {column!r} must lie in [0, 1], found {wrong:g}; divide percents by 100"
        )
    rows = to_polars(estimates, what="estimates")
    told = rows["category"].to_list() if "category" in rows.columns else []
    counted = sorted(set(told) - {None})
    if "category" not in keys and len(counted) > 1:
        raise TableError(
            f"reference: it does not say whether its shares are of {' or '.join(map(repr, counted))}, which "
            "are counted; add a column category to it, or keep the estimates of one"
        )
    return table


def call_with_reference(
    info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Calls
) -> MeasureCall:
    """The call of a measure whose argument ``reference`` an audit file gives by name, or as a file.

    Raises UsageError: There is none of that name, or it has none of the scenarios that are asked for.
    """
    named = given.get("reference")
    known = f"a CSV file, or one that comes with stereotrope: {', '.join(REFERENCES)}"
    if not isinstance(named, str):
        found = "none" if named is None else shorten(named)
        raise UsageError(f"needs `reference:`, the shares to compare with, found {found}; name {known}")
    call = info.frame.call(info, given, setting, calls)
    over, column = (given.get(name, info.parameters[name].default) for name in ("over", "column"))
    asked = _asked(over, setting)
    if named in REFERENCES:
        with REFERENCES.blamed(named):
            table = to_polars(REFERENCES[named](asked), what="reference", needs=(over, column, *_TOLD))
    else:
        path = setting.base / named
        if not path.is_file():
            hint = did_you_mean(named, REFERENCES, otherwise=f"name {known}")
            raise UsageError(f"reference: no file {shorten(named)} there; {hint}")
        table = _from_file(path, over, column)
    if asked.len() and not table[over].is_in(asked.implode()).any():
        other = f", but {shorten(table[over][0])}" if table.height else ""
        raise UsageError(
            f"reference: it has no {over} that is asked for, such as {shorten(asked[0])}{other}; write them "
            "alike on both sides"
        )
    return replace(call, tables={"reference": table})


def has_reference(given: Mapping[str, Any], setting: MeasureSetting, calls: Calls) -> bool:
    """Whether what an entry of a suite names has any of the scenarios that an audit asks for."""
    named = given["reference"]
    return (
        named not in REFERENCES
        or not REFERENCES[named](_asked(given.get("over", "scenario"), setting)).is_empty()
    )


def _asked(over: str, setting: MeasureSetting) -> pl.Series:
    """The scenarios of an audit."""
    known = setting.prompts[over] if over in setting.prompts.columns else pl.Series([], dtype=pl.String)
    return known.drop_nulls().unique(maintain_order=True)


def _from_file(path: Path, over: str, column: str) -> pl.DataFrame:
    """A reference distribution from CSV or JSON lines; MetadataError names file and line."""
    read = read_rows(path)
    read.require(over, "what the shares are of, as prompts call it")
    read.require(column, "the share there")
    for name in _TOLD:
        read.require(name, "where the shares are from, and of when")

    def number(row: Row, name: str) -> float | None:
        text = row.text(name)
        try:
            return None if text is None else float(text)
        except ValueError:
            found = shorten(text)
            raise row.error(f"column {name!r} must hold a number, found {found}; correct it") from None

    def share(row: Row) -> float | None:
        found = number(row, column)
        if found is not None and not 0 <= found <= 1:
            raise row.error(
                f"column {column!r} must hold a share in [0, 1], found {found:g}; divide percents by 100"
            )
        return found

    texts = [name for name in (over, *_TOLD, "category") if name in read.columns]
    table: dict[str, Any] = {name: [row.text(name) for row in read.rows] for name in texts}
    table[column] = [share(row) for row in read.rows]
    if "n" in read.columns:
        table["n"] = [number(row, "n") for row in read.rows]
    types = {**dict.fromkeys(texts, pl.String), column: pl.Float64, "n": pl.Float64}
    return pl.DataFrame(table, schema={name: types[name] for name in table})
