"""Further tables of a run: what a plug-in makes of its tables, written, opened and exported like them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from stereotrope.errors import PluginError
from stereotrope.plugins import Registry
from stereotrope.tables import RUN_TABLES, Column


@dataclass(frozen=True)
class TableSources:
    """What a further table is made from: tables of the run, and its annotators after their derivations.

    readings: What was read inside generators while they drew, a mapping a reading.
    kept: From an annotator to each subject that it looks at, with what was kept of that look.
    """

    prompts: pl.DataFrame
    images: pl.DataFrame
    labels: pl.DataFrame
    subjects: pl.DataFrame
    embeddings: pl.DataFrame
    annotators: Sequence[Any]
    readings: Sequence[Mapping[str, Any]] = ()
    kept: Callable[[Any], Sequence[tuple[Any, Mapping[str, Any]]]] = lambda annotator: ()


Filled = tuple[pl.DataFrame, Mapping[str, Any]]
"""Rows of a further table, and what ``run.json`` says beside, by its keys there."""

Fill = Callable[[TableSources], Filled | None]
"""Gives a further table of a run; None where the run has none of it."""


@dataclass(frozen=True)
class FurtherTable:
    """A table that a run has beside those that every run has.

    It is written as ``<name>.parquet``, opened by ``run.table(name)`` and exported under its ``caption``.
    """

    name: str
    columns: tuple[Column, ...]
    caption: str
    fill: Fill


TABLES: Registry[FurtherTable] = Registry(
    "tables", "stereotrope.lexicon", "stereotrope.probe", modules="summary", always=True
)
"""Every further table by its name; packages of others add theirs under the entry point of this group."""


def further_table(columns: Sequence[Column], *, caption: str) -> Callable[[Fill], Fill]:
    """Return the decorator that adds the function that fills a further table, under its name.

    Raises PluginError: The name is none of a file, that of a table of every run, or another has it.
    """

    def registered(fill: Fill) -> Fill:
        if not fill.__name__.isidentifier():
            raise PluginError(
                f"tables: {TABLES.importing} brings {fill.__name__!r}; a table has the name of its function, "
                "of letters, digits and _: rename it"
            )
        if fill.__name__ in RUN_TABLES:
            raise PluginError(
                f"tables: {TABLES.importing} brings {fill.__name__!r}, which is a table of every run; rename "
                "the function"
            )
        TABLES.add(fill.__name__, FurtherTable(fill.__name__, tuple(columns), caption, fill))
        return fill

    return registered
