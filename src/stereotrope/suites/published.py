"""Figures that a suite's paper published, as one tidy frame to set beside one's own."""

import io
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl

from stereotrope.suites.contract import SUITES, suite_named
from stereotrope.suites.reading import load_suite, load_yaml

PUBLISHED = (
    *("table", "measure", "definition", "generator", "concept", "family", "object", "dimension", "group"),
    *("phrasing", "mitigation", "attribute", "category", "aggregate", "annotator", "reference", "value"),
    "source",
)
"""Columns of :func:`published`: text, but for ``value``."""


def published(suite: str) -> pl.DataFrame:
    """Return the figures that the paper of a suite gives, one a row.

    suite: Name of the suite, such as ``objects``.
    Returns: Columns :data:`PUBLISHED`: ``table`` is the paper's number of the table, ``definition`` the one
        the figure follows, ``source`` has its licence. What does not apply is null: ``generator`` of a mean
        over models. Shares and changes are fractions, not per cent.
    Raises UsageError: There is no such suite.

    >>> published("objects").filter(table="11", generator="SDXL", object="car", group="women")["value"].item()
    0.264
    """
    with SUITES.blamed(suite):
        return _figures(suite).clone()


@cache
def _figures(suite: str) -> pl.DataFrame:
    folder = suite_named(suite).folder / "published"
    frames = [pl.DataFrame(schema={c: pl.Float64 if c == "value" else pl.String for c in PUBLISHED})]
    manifest = folder / "tables.yaml"
    if manifest.is_file():
        shared = load_yaml(manifest)
        dimension = {g: d for d, groups in load_suite(suite).get("dimensions", {}).items() for g in groups}
        for table in shared["tables"]:
            text = (folder / table["file"]).read_text("utf-8")
            frames.append(_tidy(text, table, shared, dimension))
    return pl.concat(frames)


def published_for(
    suite: str | None, prompts: pl.DataFrame, generators: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the published figures of an audit's generators, objects and groups, under the audit's names.

    A generator is found by its name, case, spaces and signs aside: ``flux-2-pro`` is the paper's “FLUX 2
    Pro”. None is found by a nickname. Figures that are means over generators are of none of them.
    """
    if suite is None:
        return []
    names = {bare_name(name): name for name in generators}
    figures = published(suite)
    figures = figures.with_columns(
        pl.col("generator").map_elements(lambda name: names.get(bare_name(name)), return_dtype=pl.String)
    ).filter(pl.col("generator").is_not_null())
    for factor in ("concept", "family", "object", "group", "dimension", "phrasing", "mitigation"):
        levels = prompts[factor].drop_nulls().unique().to_list() if factor in prompts.columns else []
        figures = figures.filter(pl.col(factor).is_null() | pl.col(factor).is_in(levels))
    return figures.to_dicts()


def bare_name(name: str) -> str:
    """Letters and digits of a model's name, and nothing before its last slash."""
    return re.sub(r"[^a-z0-9]", "", name.lower().rsplit("/", 1)[-1])


def _tidy(
    text: str, table: Mapping[str, Any], shared: Mapping[str, Any], dimension: Mapping[str, str]
) -> pl.DataFrame:
    wide = pl.read_csv(io.BytesIO(text.encode()), infer_schema=False).drop(table.get("without", []))
    wide = wide.rename(table.get("columns", {}))
    index = [c for c in wide.columns if c in PUBLISHED and c != "value"]
    if "across" in table:
        long = wide.unpivot(index=index, variable_name="across", value_name="value")
        parts = pl.col("across").str.split(" vs. ").list
        long = long.with_columns(parts.get(i).alias(name) for i, name in enumerate(table["across"])).drop(
            "across"
        )
    else:
        long = wide.rename({table["value"]: "value"})
    fixed = {**table.get("fixed", {}), "source": shared["source"].format(table=table["table"])}
    fixed |= {k: str(table[k]) for k in ("table", "measure", "definition") if k in table}
    long = long.with_columns(pl.lit(v).alias(k) for k, v in fixed.items())
    long = long.with_columns(pl.lit(None, pl.String).alias(c) for c in PUBLISHED if c not in long.columns)
    named = [_level(c, shared) for c in PUBLISHED if c not in ("value", "source", "table", "definition")]
    value = pl.col("value").cast(pl.Float64) * table.get("scale", 1)
    long = long.with_columns(*named, value=value.round(6))
    known = pl.col("group").replace_strict(dimension, default=None, return_dtype=pl.String)
    return long.with_columns(dimension=pl.coalesce("dimension", known)).select(PUBLISHED)


def _level(column: str, shared: Mapping[str, Any]) -> pl.Expr:
    """A level as the suite spells it; null where the row is a mean or sum over them."""
    told = pl.col(column)
    names = shared["names"].get("group" if column == "reference" else column, {})
    plain = told.str.to_lowercase() if column in ("object", "attribute") else told
    plain = plain.str.replace_all(" ", "_") if column == "attribute" else plain
    level = pl.when(told.is_in(list(names))).then(told.replace(names)).otherwise(plain)
    return pl.when(told.is_in(shared["total"])).then(None).otherwise(level).alias(column)
