"""Filling the further tables of a run, and writing them."""

import json
from collections.abc import Collection, Mapping
from typing import Any

import polars as pl

from stereotrope.errors import TableError
from stereotrope.further_tables import TABLES, Filled, FurtherTable, TableSources
from stereotrope.report.prose import listing
from stereotrope.run import RunFolder
from stereotrope.run.folder import INFO_KINDS, arrow_table, read_info


def fill_tables(sources: TableSources) -> dict[str, Filled]:
    """Return what there is of each further table; none takes a key of ``run.json`` that others have."""
    filled: dict[str, Filled] = {}
    taken = set(INFO_KINDS)
    for name, table in TABLES.items():
        with TABLES.blamed(name):
            if (one := table.fill(sources)) is not None:
                _require_filled(one, table, taken)
                filled[name] = one
                taken |= one[1].keys()
    return filled


def _require_filled(one: Any, table: FurtherTable, taken: Collection[str]) -> None:
    match one:
        case (pl.DataFrame() as frame, Mapping() as beside):
            json.dumps({"": None, **beside}, sort_keys=True, allow_nan=False)  # as it will be written
        case _:
            raise ValueError("it must give a frame and a mapping, or None")
    if both := sorted(taken & beside.keys()):
        raise ValueError(f"its mapping has {listing(list(map(repr, both)))}, a key of run.json; rename it")
    try:
        arrow_table(table.name, frame, table.columns)
    except TableError as error:
        raise ValueError(error) from error


def write_further_tables(filled: Mapping[str, Filled], into: RunFolder) -> tuple[dict[str, Any], list[str]]:
    """Write them; return what ``run.json`` says of them, and notes.

    A table of an earlier end of the run goes where it is not filled any more. One of a package that is not
    installed stays as it was made, and a note says so.
    """
    for name in TABLES:
        if name in filled:
            into.write_table(name, filled[name][0], TABLES[name].columns)
        else:
            into.remove_table(name)
    written = {name: {"caption": TABLES[name].caption, "from": TABLES.origin(name)} for name in filled}
    before = read_info(into.path).get("tables") or {}
    kept = {
        name: one
        for name, one in before.items()
        if name not in TABLES and (into.path / f"{name}.parquet").is_file()
    }
    notes = [
        f"table {name!r} is made by {one['from']}, which is not installed here; it is as it was made before"
        for name, one in kept.items()
    ]
    return {**written, **kept}, notes
