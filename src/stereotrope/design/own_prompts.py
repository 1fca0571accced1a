"""Prompts that an audit file writes itself: a template with factors, a list, or a CSV file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.design.prompts import expand, prompts_frame
from stereotrope.errors import UsageError
from stereotrope.inputs.options import shorten
from stereotrope.inputs.rows import read_rows
from stereotrope.tables import RESERVED

_NO_FACTORS = ("text", "negative")


def own_prompts(prompts: Any, base: Path) -> pl.DataFrame:
    """Read what stands under ``prompts``; a file's name is relative to ``base``.

    Raises UsageError: An entry has no text, a level is no text, or the prompts do not fit together.
    Raises MetadataError: The file cannot be used; the message names its line.
    """
    if isinstance(prompts, str):
        return _from_file(base / prompts)
    if isinstance(prompts, Mapping) and "file" in prompts and "template" not in prompts:
        return _from_file(base / _name_of(prompts), _columns(prompts))
    if isinstance(prompts, Mapping):
        rest = {str(k): _levels(k, v) for k, v in prompts.items() if k not in ("template", "negative")}
        if not isinstance(prompts.get("template"), str):
            raise UsageError('a mapping of prompts needs `template: "A photo of a {occupation}"`')
        return expand(prompts["template"], rest, negative=_word("negative", prompts.get("negative")))
    rows: list[dict[str, str | None]] = []
    for number, row in enumerate(prompts, start=1):
        if not isinstance(row, Mapping) or not isinstance(row.get("text"), str) or not row["text"].strip():
            raise UsageError(f"entry {number} needs `text:`, for example {{text: a red car, colour: red}}")
        rows.append({str(k): _word(f"{k} of entry {number}", v) for k, v in row.items()})
    names = list(dict.fromkeys(k for row in rows for k in row if k not in _NO_FACTORS))
    return prompts_frame(rows, names)


def _word(name: str, value: Any) -> str | None:
    if isinstance(value, Mapping | list | bool):
        raise UsageError(f"{name} must be a text, found {shorten(value)}; write one text, in quotes")
    return None if value is None else str(value)


def _levels(name: Any, levels: Any) -> list[str] | dict[str, str]:
    if isinstance(levels, Mapping):
        return {str(k): _word(f"level {k!r} of factor {name!r}", v) or "" for k, v in levels.items()}
    if not isinstance(levels, list):
        raise UsageError(
            f"factor {name!r} must be a list of texts, found {shorten(levels)}; write {name}: [one, two]"
        )
    words = [_word(f"every level of factor {name!r}", level) for level in levels]
    if None in words:
        raise UsageError(f"every level of factor {name!r} must be a text, found nothing; fill it in")
    return [word for word in words if word is not None]


def _name_of(prompts: Mapping[str, Any]) -> str:
    for key in prompts:
        if key not in ("file", "factors"):
            raise UsageError(
                f"a file of prompts takes `file` and `factors`, found {shorten(key)}; write "
                "{file: prompts.csv, factors: [occupation]}, or a `template`"
            )
    if not isinstance(prompts["file"], str):
        raise UsageError(f"file must be the name of a file of prompts, found {shorten(prompts['file'])}")
    return prompts["file"]


def _columns(prompts: Mapping[str, Any]) -> dict[str, str] | None:
    """Factor → its column, None where every column is a factor."""
    given = prompts.get("factors")
    if given is None:
        return None
    pairs = given if isinstance(given, Mapping) else {f: f for f in given} if isinstance(given, list) else {}
    if not pairs or not all(isinstance(text, str) for pair in pairs.items() for text in pair):
        raise UsageError(
            f"factors must be a list of columns or a mapping of factor to column, found {shorten(given)}; "
            "write factors: [occupation]"
        )
    return dict(pairs)


def _from_file(path: Path, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    if not os.path.isfile(path):  # a name too long for the system is not there either
        raise UsageError(f"no file {shorten(path.name)} beside the audit file; check the name")
    found = read_rows(path)
    found.require("text", "what is sent to the model")
    pairs = columns or {column: column for column in found.columns if column not in _NO_FACTORS}
    for factor, column in pairs.items():
        found.require(column, f"factor {factor!r}")
        if factor in RESERVED:
            raise UsageError(
                f"{found.file}:{found.header}: factor {factor!r}: this name is reserved for a column of "
                "every run; name the columns that are factors, this one otherwise or not at all, as in "
                f"prompts: {{file: {found.file}, factors: {{given_{factor}: {column}}}}}"
            )
    rows: list[dict[str, str | None]] = []
    for row in found.rows:
        if not (row.raw("text") or "").strip():
            raise row.error("column 'text' must hold the prompt, found nothing; fill it in")
        levels = {name: row.text(column) for name, column in pairs.items()}
        rows.append({**levels, **{name: row.raw(name) for name in _NO_FACTORS}})
    return prompts_frame(rows, list(pairs))
