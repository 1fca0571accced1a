"""Cells counted from tidy labels: which there are, what each shows, what is left out, and what it claims."""

import json
from collections.abc import Collection, Sequence
from typing import Any

import polars as pl

from stereotrope.measure.cell_table import CellTable
from stereotrope.measure.cells import MUCH_MISSING, NOT_IN_OF, SMALL_N, Cell
from stereotrope.measure.seeds import SharedSeeds
from stereotrope.measure.tidy import as_text, count_alike, read_labels
from stereotrope.measure.units import FEWEST_PROMPTS, SEED_COLUMN
from stereotrope.tables import LIKE_THESE, N_SUBJECTS, QUALITY_ATTRIBUTES, THESE_PROMPTS

_CELL, _PLACE = "cell", "\0place"
"""Columns with the number of a cell, and of its combination of factors, under a name that no factor has."""
_DISCOVERED_FOR = ("generator", "object")
"""Factors whose combinations may have attributes of their own (SODA, section 4: discovery)."""


def read_cells(
    data: Any,
    *,
    by: Sequence[str],
    attributes: Collection[str] | None = None,
    of: Collection[str] | None = None,
    argument: str = "by",
) -> list[Cell]:
    """The cells of :func:`read_cell_table`, each by itself."""
    return read_cell_table(data, by=by, attributes=attributes, of=of, argument=argument).one_by_one()


def read_cell_table(
    data: Any,
    *,
    by: Sequence[str],
    attributes: Collection[str] | None = None,
    of: Collection[str] | None = None,
    argument: str = "by",
) -> CellTable:
    """Count a tidy frame of labels by factors and attribute.

    data: As for :func:`stereotrope.measure.tidy.read_labels`; ``prompt_id`` says which images share a prompt.
    attributes: Keep only these attributes; all but those of a picture's quality when None.
    of: Values the denominator is restricted to; other values are left out with a reason.

    Returns: Sorted by attribute, then by factor levels in the order in which they first appear. A combination
    in which an attribute has no row, though each of its levels has some elsewhere, is a cell without labels:
    missing is said, not skipped. Where ``by`` tells more apart than models and objects, this holds only
    inside a model and object that has the attribute at all: each may have its own.
    """
    design, by_prompt = _counted_labels(data, by=by, attributes=attributes, of=of, argument=argument)
    placed = design.with_row_index(_PLACE)
    if by:
        rows = by_prompt.join(placed, on=list(by), nulls_equal=True, maintain_order="left")
    else:
        rows = by_prompt.with_columns(pl.lit(0, pl.UInt32).alias(_PLACE))
    shared = [SEED_COLUMN] if SEED_COLUMN in rows.columns and SEED_COLUMN not in by else []
    rows = rows.select(_PLACE, "attribute", "value", "excluded", "prompt_id", *shared, "n")
    there = rows.select("attribute", _PLACE).unique()
    lacking = [
        placed.join(missing, on=list(by), nulls_equal=True).select(attribute=pl.lit(name), place=_PLACE)
        for name in (there["attribute"].unique() if by else ())
        if (missing := _unlabelled(design, design[there.filter(attribute=name)[_PLACE]], by)).height
    ]
    there = pl.concat([there, *(one.rename({"place": _PLACE}) for one in lacking)])
    index = there.sort("attribute", _PLACE).with_row_index(_CELL)
    rows = rows.join(index, on=["attribute", _PLACE], maintain_order="left")
    counts = pl.col("excluded").is_null()
    by_seed = rows.filter(counts).select(_CELL, "value", "prompt_id", *shared, k="n")
    seen = by_seed.group_by(_CELL, "value", "prompt_id", maintain_order=True).agg(pl.col("k").sum())
    left = rows.filter(~counts).group_by(_CELL, "excluded").agg(pl.col("n").sum()).sort(_CELL, "excluded")
    told = index.join(_usable(seen), on=_CELL, how="left", maintain_order="left")
    told = told.join(exclusions_of(left, _CELL), on=_CELL, how="left", maintain_order="left")
    told = told.with_columns(pl.col("n", "missing", "n_excluded", "n_prompts").fill_null(0))
    told = told.with_columns(pl.col("dependent", "unknown").fill_null(False))
    seeds = SharedSeeds.of(by_seed, told.height) if shared else None
    if seeds is not None:
        told = told.with_columns(dependent=pl.col("dependent") | pl.Series(seeds.alike > 0))
    drawn = None
    if shared and rows.schema[SEED_COLUMN].is_numeric():
        whole = pl.col(SEED_COLUMN).is_not_null().all().over(_CELL)
        keys = [_CELL, "value", SEED_COLUMN]
        drawn = by_seed.filter(whole).group_by(keys, maintain_order=True).agg(pl.col("k").sum())
    return CellTable(design[index[_PLACE]] if by else design, told.select(_CLAIMED), left, seen, seeds, drawn)


def _counted_labels(
    data: Any,
    *,
    by: Sequence[str],
    attributes: Collection[str] | None,
    of: Collection[str] | None,
    argument: str,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Combinations of ``by`` in the order in which they first appear, and how many labels ``n`` are alike in
    ``by``, ``attribute``, ``value``, ``excluded``, ``prompt_id``, and ``seed`` where prompts share some."""
    frame = count_alike(data, factors=by, attributes=attributes, argument=argument)
    if attributes is None and "attribute" in frame.columns:
        frame = frame.filter(~pl.col("attribute").cast(pl.String).is_in(list(QUALITY_ATTRIBUTES)))
    tidy = read_labels(frame, factors=by, attributes=attributes, argument=argument, counted=True, seeds=True)
    design = frame.select(as_text(frame, f).alias(f) for f in by).unique(maintain_order=True)
    if of is not None:
        outside = pl.col("excluded").is_null() & ~pl.col("value").is_in(list(of))
        reason = pl.concat_str(pl.lit(NOT_IN_OF), pl.col("value"))
        tidy = tidy.with_columns(pl.when(outside).then(reason).otherwise("excluded").alias("excluded"))
    told = [
        *by,
        "attribute",
        "value",
        "excluded",
        "prompt_id",
        *({SEED_COLUMN} & set(tidy.columns) - set(by)),
    ]
    return design, tidy.group_by(told, maintain_order=True).agg(n=pl.col(N_SUBJECTS).sum())


def _unlabelled(design: pl.DataFrame, known: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Combinations of a design in which an attribute should have been seen, and was not.

    known: Those in which it was.
    """
    own = [name for name in by if name in _DISCOVERED_FOR]
    left = design.join(known, on=list(by), how="anti", nulls_equal=True, maintain_order="left")
    for names in (*([name] for name in by), *([own] if 0 < len(own) < len(by) else [])):
        left = left.join(known, on=names, how="semi", nulls_equal=True, maintain_order="left")
    return left.select(by)


def flagged(**raised: pl.Expr) -> pl.Expr:
    """The column ``flags`` of columns that say of each flag whether it is raised; null where none is."""
    names = (pl.when(of).then(pl.lit(flag)) for flag, of in raised.items())
    return pl.concat_str(*names, separator=",", ignore_nulls=True).replace("", None)


_PROMPTS = pl.col("n_prompts") >= FEWEST_PROMPTS
_DEPENDENT = _PROMPTS & pl.col("dependent")
_CLAIMED = [
    "attribute",
    "n",
    "missing",
    "n_excluded",
    "excluded",
    "n_prompts",
    "dependent",
    "unknown",
    (pl.col("missing") > MUCH_MISSING * (pl.col("n") + pl.col("missing"))).alias("lacks_much"),
    _DEPENDENT.alias("clustered"),
    pl.when(_PROMPTS).then(pl.lit(LIKE_THESE)).otherwise(pl.lit(THESE_PROMPTS)).alias("holds_for"),
    flagged(clustered=_DEPENDENT, no_prompt_id=pl.col("unknown"), small_n=pl.col("n") < SMALL_N).alias(
        "flags"
    ),
]
"""What a cell claims: see :func:`stereotrope.measure.units.claim_of`."""


def _usable(seen: pl.DataFrame) -> pl.DataFrame:
    """Usable labels of each cell, and over which prompts."""
    by_prompt = seen.group_by(_CELL, "prompt_id").agg(n=pl.col("k").sum())
    known = pl.col("prompt_id").is_not_null()
    return by_prompt.group_by(_CELL).agg(
        pl.col("n").sum(),
        n_prompts=known.sum(),
        dependent=pl.col("n").max() > 1,
        unknown=(~known & (pl.col("n") > 0)).any(),
    )


def exclusions_of(rows: pl.DataFrame, key: str) -> pl.DataFrame:
    """Labels that do not count, and how many for which reason.

    rows: ``key, excluded, n``, each pair of key and reason once, sorted.

    Returns: ``key, missing, n_excluded`` and JSON ``excluded``.
    """
    quoted = {reason: json.dumps(reason, ensure_ascii=False) for reason in rows["excluded"].unique()}
    written = pl.col("excluded").replace_strict(quoted, return_dtype=pl.String)
    kept = pl.col("n") > 0
    return rows.group_by(key, maintain_order=True).agg(
        missing=pl.col("n").filter(~pl.col("excluded").str.starts_with(NOT_IN_OF)).sum(),
        n_excluded=pl.col("n").sum(),
        excluded=pl.when(kept.any()).then(
            pl.format("{{{}}}", pl.format("{}: {}", written, "n").filter(kept).str.join(", "))
        ),
    )
