"""Runs of format 1, read as format 2: what names, flags and prose said of an estimate stands in columns."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.errors import RunFormatError
from stereotrope.tables import ESTIMATES, FINDINGS, RESERVED, SCOPES, polars_types

_TYPES = polars_types(ESTIMATES)
_FINDING_TYPES = polars_types(FINDINGS)
_DELTA = r"_delta(_average|_without_violations)*$"
_AVERAGE = r"_average(_delta|_without_violations)*$"
_SUBSET = r"_(without_violations)(_average|_delta)*$"
_SUFFIXES = r"(_average|_delta|_without_violations)+$"
_COUNTS = r"\bS = (\d+), D = (\d+) (term hits|captions with a hit)"
_GROUPS = r"\bk = (\d+) "
_ELEMENTS = r"\b(\d+) elements declared"
_DOMINANCE = r"^dominance=([\d.]+),reference_dominance=([\d.]+)$"


_ADDED = ("holds_for", "p_least", "by_seed")
"""Columns of estimates that format 2 had not from its beginning: null where a run does not tell them."""


def estimates_of_format_1(table: pl.DataFrame) -> pl.DataFrame:
    """Estimates with the columns that came since they were written; a table that has them is as it is.

    Instruments are null, and so are counts but those of CAS: format 1 does not tell them.
    """
    absent = [name for name in _ADDED if name not in table.columns]
    if "measure" in table.columns and absent:
        added = table.with_columns(pl.lit(None, _TYPES[name]).alias(name) for name in absent)
        names = list(_TYPES)
        factors = [name for name in table.columns if name not in _TYPES]
        there = [name for name in (*names[:2], *factors, *names[2:]) if name in added.columns]
        return estimates_of_format_1(added.select(there))
    new = [name for name in _TYPES if name not in table.columns]
    if "aggregate" not in new or not {"measure", "reference", "flags", "method"} <= set(table.columns):
        return table
    measure, method, flags = pl.col("measure"), pl.col("method"), pl.col("flags")
    over = pl.coalesce(
        method.str.extract(r"^mean over \d+ levels of (.+?); "),
        pl.col("undefined").str.extract(r"^no level of (.+) has a score$"),
        pl.lit("levels"),
    )
    single = flags.str.split(",")
    s, d = (method.str.extract(_COUNTS, group).cast(pl.Int64) for group in (1, 2))
    k = pl.coalesce(method.str.extract(group).cast(pl.Int64) for group in (_GROUPS, _ELEMENTS))
    now, was = (flags.str.extract(_DOMINANCE, group) for group in (1, 2))
    remarks = single.list.eval(pl.element().filter(~pl.element().str.contains("=", literal=True)))
    made = table.with_columns(
        measure=measure.str.replace(_SUFFIXES, ""),
        aggregate=pl.when(measure.str.contains(_AVERAGE)).then(over),
        subset=measure.str.extract(_SUBSET),
        baseline=pl.when(measure.str.contains(_DELTA)).then("reference"),
        sides=pl.Series(map(_sides, table.iter_rows(named=True)), dtype=pl.String),
        band=flags.str.extract(r"(?:^|,)band=([^,]+)"),
        numerator=s,
        denominator=s + d,
        numerator_reference=pl.lit(None, pl.Int64),
        n_categories=k,
        instrument=pl.lit(None, pl.String),
        flags=pl.when(remarks.list.len() > 0).then(remarks.list.join(",")),
        method=pl.when(now.is_not_null())
        .then(pl.concat_str(method, pl.lit("; dominance "), now, pl.lit(", in the reference "), was))
        .otherwise(
            method.str.replace(_COUNTS, "$3")
            .str.replace(_GROUPS, "")
            .str.replace(_ELEMENTS, "elements declared")
        ),
    )
    names = list(_TYPES)
    factors = [name for name in table.columns if name not in _TYPES]
    return made.select(name for name in [*names[:2], *factors, *names[2:]] if name in made.columns)


_OF_LISTS = ("list", "value", "low", "high", "level", "p_value", "q_value")
"""Columns that findings have since there are several lists of them."""

_OF_COUNTS = ("category", "numerator", "n", "numerator_reference", "n_reference")
_OF_PATTERNS = ("pattern_id", "pattern_sentence", "pattern_extent")


def findings_of_now(table: pl.DataFrame) -> pl.DataFrame:
    """Findings with the columns that they have now, null where an older version wrote none.

    Runs that had one list of them did not control its error: they are of none but warnings.
    """
    lists = _OF_LISTS if "list" not in table.columns else ()
    later = ["contrast", "reference", *_OF_COUNTS, *_OF_PATTERNS, *lists]
    added = {name: pl.lit(None, _FINDING_TYPES[name]) for name in later if name not in table.columns}
    if "list" in added and "kind" in table.columns:
        added["list"] = pl.when(pl.col("kind") == "instrument").then(pl.lit("instrument"))
    made = table.with_columns(**added)
    return made.select(name for name in _FINDING_TYPES if name in made.columns) if added else table


def with_own_definitions(table: pl.DataFrame) -> pl.DataFrame:
    """Estimates whose definitions bear the names that they have now; others are returned as they are.

    What said of VAC how many values its images could show divided by no more than those: it was called
    ``paper``, and is ``capped``. A composite of captions without association was called ``cbs`` like that of
    three parts.
    """
    if not {"measure", "definition", "method"} <= set(table.columns):
        return table
    alone = pl.col("method").str.starts_with("mean of PD and 1 − H").fill_null(False)
    named = (pl.col("measure") == "cbs") & pl.col("definition").eq_missing("paper") & alone
    table = table.with_columns(
        measure=pl.when(named).then(pl.lit("cbs_without_association")).otherwise("measure")
    )
    vac = pl.col("measure").str.contains(r"^vac(_chao_shen|_change|_change_wilcoxon)?$")
    capped = pl.col("method").str.contains(r"^H_max: (the mean over attributes|\d+ )").fill_null(False)
    renamed = vac & pl.col("definition").eq_missing("paper") & (vac & capped).any()
    return table.with_columns(definition=pl.when(renamed).then(pl.lit("capped")).otherwise("definition"))


def _sides(row: Mapping[str, str]) -> str | None:
    """Groups on each side of a parity, or of a difference of two, which its category names alone."""
    if "sides=declared" not in (row["flags"] or "").split(","):
        return None
    pair = row["category"].split(" against ")
    sides = pair if len(pair) == 2 else (row["category"], row["reference"])
    return json.dumps([side.split(" + ") for side in sides], ensure_ascii=False)


def info_of_format_1(info: Mapping[str, Any]) -> dict[str, Any]:
    """``run.json`` whose published means are told by ``aggregate``."""
    told = []
    for row in info.get("published") or ():
        measure = str(row.get("measure"))
        mean = {"measure": measure.removesuffix("_average"), "aggregate": "levels"}
        told.append({**row, **mean} if measure.endswith("_average") else row)
    return {**info, **({"published": told} if told else {})}


def refuse_taken_factors(path: Path, info: Mapping[str, Any]) -> None:
    """Refuse a run whose factor has a name that is now one of a column.

    Raises RunFormatError: It is so.
    """
    taken = [name for name in info.get("factors", ()) if name in RESERVED and name not in SCOPES]
    if taken:
        raise RunFormatError(
            f"{path}: has a factor {taken[0]!r}, which format 2 keeps for a column of every run; read "
            f"it with the stereotrope that wrote it ({info.get('stereotrope_version', 'unknown')})"
        )
