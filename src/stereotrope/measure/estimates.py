"""Frames of estimates: made of rows and columns, and read."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.errors import TableError
from stereotrope.measure.tidy import to_polars
from stereotrope.stats import benjamini_hochberg
from stereotrope.tables import ESTIMATE_COLUMNS, ESTIMATES, plain_scores, polars_types

_ESTIMATE_TYPES = polars_types(ESTIMATES)


def excluded_json(reasons: Mapping[str, int]) -> str | None:
    """JSON of ``{reason: count}`` with sorted keys, None when nothing was left out."""
    kept = {reason: int(n) for reason, n in sorted(reasons.items()) if n}
    return json.dumps(kept, ensure_ascii=False) if kept else None


def estimate_frame(rows: Iterable[Mapping[str, Any]], *, factors: Sequence[str]) -> pl.DataFrame:
    """Build a frame of estimates from dictionaries; columns not given are null.

    Columns: ``measure, definition, <factors>, contrast, …`` as in :data:`stereotrope.tables.ESTIMATES`.
    NaN becomes null. ``excluded`` can be counts by reason, ``n_excluded`` is then their sum where it is not
    given; ``flags`` can say of each whether it is raised.

    Raises ValueError: A count is no whole number.
    """
    first, second, *rest = _ESTIMATE_TYPES
    types = {**_ESTIMATE_TYPES, **dict.fromkeys(factors, pl.String)}
    schema = {name: types[name] for name in (first, second, *factors, *rest)}
    materialised = [_stored(row) for row in rows]
    if unknown := {key for row in materialised for key in row} - set(schema):
        known = ", ".join(factors) or "none"
        raise TableError(
            f"estimates: unknown column {', '.join(map(repr, sorted(unknown)))}; name one of a factor among "
            f"`factors`, found: {known}"
        )
    columns = {name: [row.get(name) for row in materialised] for name in schema}
    for name in (name for name, kind in schema.items() if kind.is_integer()):
        if parts := [n for n in columns[name] if isinstance(n, float) and n == n and n % 1]:
            raise ValueError(f"{name} of an estimate must be a whole number, found {parts[0]:g}")
    return pl.DataFrame(columns, schema=schema, strict=False).with_columns(pl.col(pl.Float64).fill_nan(None))


def estimate_columns(told: pl.DataFrame, levels: pl.DataFrame) -> pl.DataFrame:
    """:func:`estimate_frame` of columns: what rows say, as it is stored, and levels of their factors."""
    first, second, *rest = _ESTIMATE_TYPES
    rows = pl.concat([levels, told], how="horizontal")
    given = {name: pl.col(name) if name in told.columns else pl.lit(None) for name in _ESTIMATE_TYPES}
    stored = {name: given[name].cast(kind).alias(name) for name, kind in _ESTIMATE_TYPES.items()}
    factors = [pl.col(name).cast(pl.String) for name in levels.columns]
    made = rows.select(stored[first], stored[second], *factors, *(stored[name] for name in rest))
    return made.with_columns(pl.col(pl.Float64).fill_nan(None))


def read_estimates(data: Any) -> pl.DataFrame:
    """Estimates of any measures in one frame, with every column, each row once.

    A row that is there twice is one still, beside whatever others its ``q_value`` was first made. A column
    without a value may be of any type.

    Raises TableError: A column is missing, numbers are not, or a p is none.
    """
    frame = to_polars(data, what="estimates", needs=("measure", "attribute", "value", "contrast", "p_value"))
    for name, kind in _ESTIMATE_TYPES.items():
        given = frame.schema.get(name)
        if given is None or (kind.is_numeric() and frame[name].null_count() == frame.height):
            frame = frame.with_columns(pl.lit(None, kind).alias(name))
        elif kind.is_numeric() and not given.is_numeric() and given != pl.Boolean:
            raise TableError(
                f"estimates: column {name!r} must hold numbers, found {given}; read it as numbers, e.g. "
                f"frame.with_columns(pl.col({name!r}).cast(pl.{kind}))"
            )
    told = [name for name in frame.columns if name != "q_value"]
    table = plain_scores(frame.unique(told, keep="first", maintain_order=True))
    p = pl.col("p_value")
    if (wrong := table.filter(~p.is_between(0, 1) | p.is_nan())).height:
        of = wrong.row(0, named=True)
        raise TableError(
            f"estimates: p_value must be from 0 to 1, or null for none, found {of['p_value']} of "
            f"{of['measure']!r}, {of['attribute']!r}; correct it"
        )
    return table


def _stored(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row as it is stored: what is left out as JSON, flags as one text."""
    stored: dict[str, Any] = {}
    if isinstance(reasons := row.get("excluded"), Mapping):
        stored = {"n_excluded": row.get("n_excluded", sum(reasons.values()))}
        stored["excluded"] = excluded_json(reasons)
    if isinstance(flags := row.get("flags"), Mapping):
        stored["flags"] = ",".join(flag for flag, raised in flags.items() if raised) or None
    return {**row, **stored}


def with_q_values(estimates: pl.DataFrame, *families: str | pl.Expr) -> pl.DataFrame:
    """Estimates with Benjamini–Hochberg q-values, each combination of ``families`` by itself."""
    q = pl.col("p_value").map_batches(
        lambda p: pl.Series(benjamini_hochberg(p.to_numpy())), return_dtype=pl.Float64
    )
    return estimates.with_columns(q_value=(q.over(families) if families else q).fill_nan(None))


def scored_alone(estimates: pl.DataFrame, over: str, within: Sequence[str]) -> pl.DataFrame:
    """Estimates that tell one factor and those in ``within`` apart, and no further one.

    Raises TableError: There are estimates, and none of these.
    """
    further = [c for c in estimates.columns if c not in (*ESTIMATE_COLUMNS, over, *within)]
    alone = estimates.filter(pl.col(over).is_not_null(), *(pl.col(name).is_null() for name in further))
    if alone.is_empty() and not estimates.is_empty():
        raise TableError(
            f"estimates: no row tells only {over!r} and within={list(within)} apart, found "
            f"{', '.join(map(repr, further)) or 'no level of it'}; name these in within, or compute the "
            f"scores by {[*within, over]}"
        )
    return alone
