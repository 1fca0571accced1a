"""Filling and writing the further tables of a run."""

from collections.abc import Mapping
from typing import Any

from stereotrope.further_tables import TABLES, Filled, TableSources
from stereotrope.run import RunFolder
from stereotrope.run.folder import read_info


def fill_tables(sources: TableSources) -> dict[str, Filled]:
    """Return what there is of each further table."""
    filled: dict[str, Filled | None] = {}
    for name, table in TABLES.items():
        with TABLES.blamed(name):
            filled[name] = table.fill(sources)
    return {name: one for name, one in filled.items() if one is not None}


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
