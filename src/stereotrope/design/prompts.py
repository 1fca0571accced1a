"""Prompts and their factors: the ``prompts`` table, from a template, a list or a file."""

import itertools
import math
import os
import re
import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.design.phrases import article
from stereotrope.errors import UsageError
from stereotrope.inputs.options import shorten
from stereotrope.inputs.rows import read_rows
from stereotrope.tables import RESERVED, SCOPES, check_factors, prompt_id

WORDLESS = ("none", "plain")
"""Levels with these names add no words to the prompt: ``condition: [plain, "with diversity"]``."""
_EITHER = re.compile(r"\ba/an\s+$")
_NO_FACTORS = ("text", "negative")
MOST_PROMPTS = 200_000
"""Combinations of levels beyond this are a slip, not a design."""


def refuse_too_many(n: int) -> None:
    """Refuse a design of more than :data:`MOST_PROMPTS` prompts before it fills the memory.

    Raises UsageError: There are more.
    """
    if n > MOST_PROMPTS:
        raise UsageError(
            f"the factors combine to {n:,} prompts, at most {MOST_PROMPTS:,} are possible; list fewer levels"
        )


def prompts_frame(rows: Iterable[Mapping[str, str | None]], factors: Sequence[str]) -> pl.DataFrame:
    """Build the ``prompts`` table: ``prompt_id, <factors>, text, negative``, in the order of ``rows``.

    Raises UsageError: Two rows have the same text and different factors: the pictures of one would count for
        both.
    """
    names = check_factors(factors)
    for name in SCOPES.intersection(names):
        raise UsageError(
            f"factor {name!r}: this name is reserved for a column of every run; rename the factor, for "
            f"example 'given_{name}'"
        )
    seen: dict[tuple[str | None, str | None], Mapping[str, str | None]] = {}
    table = []
    for row in rows:
        levels = {name: row.get(name) for name in names}
        text, negative = row.get("text"), row.get("negative")
        before = seen.setdefault((text, negative), levels)
        if text is not None and before != levels:
            raise UsageError(
                f"prompt {text!r} stands for {_describe(before)} and for {_describe(levels)}: one text can "
                "stand for one condition only; change the template so that the texts differ"
            )
        if text is None or before is levels:
            key = prompt_id(text, negative, levels)
            table.append({"prompt_id": key, **levels, "text": text, "negative": negative})
    return pl.DataFrame(table, schema=dict.fromkeys(("prompt_id", *names, "text", "negative"), pl.String))


def _describe(levels: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name}={level}" for name, level in levels.items() if level is not None) or "no factor"


def fields_of(template: str) -> list[str]:
    """Names in braces, in order of appearance.

    Raises UsageError: The braces do not match, or a field is not a plain name.
    """
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise UsageError(
            f"template {template!r}: {error}; write fields as {{name}} and a literal brace as {{{{"
        ) from error
    fields: list[str] = []
    for _, name, spec, conversion in parts:
        if name is None:
            continue
        if not name.isidentifier() or spec or conversion:
            raise UsageError(f"template {template!r}: {{{name}}} is no plain field; write {{name}}")
        if name not in fields:
            fields.append(name)
    return fields


def expand(
    template: str, factors: Mapping[str, Sequence[str] | Mapping[str, str]], *, negative: str | None = None
) -> pl.DataFrame:
    """Every combination of factor levels, written into a template.

    template: Text with fields: ``"A photo of a {occupation}, {condition}"``.
    factors: Levels of each factor: a list of texts, or a mapping level → text where the words in the prompt
        differ from the level's name. The text of a level named ``none`` or ``plain`` is empty; the comma or
        space before an empty field goes with it.
    Returns: The ``prompts`` table, first factor slowest.
    Raises UsageError: A field has no factor, a factor has no field or no level, or two combinations read the
        same.
    """
    fields = fields_of(template)
    for field in fields:
        if field not in factors:
            raise UsageError(
                f"template {template!r}: field {{{field}}} has no list of values; add `{field}: […]`"
            )
    for name, levels in factors.items():
        if name not in fields:
            raise UsageError(
                f"factor {name!r} is not in the template {template!r}; add {{{name}}} or leave it out"
            )
        if not levels:
            raise UsageError(f"factor {name!r} has no value; list at least one")
        if len({" ".join(level.split()) for level in levels}) < len(levels):
            raise UsageError(f"factor {name!r} lists a level twice; list each once")
    texts = {name: wordings(levels, silent=WORDLESS) for name, levels in factors.items()}
    refuse_too_many(math.prod(len(words) for words in texts.values()))
    rows: list[dict[str, str | None]] = []
    for combination in itertools.product(*(words.items() for words in texts.values())):
        pairs = dict(zip(texts, combination, strict=True))
        text = fill(template, {name: words for name, (_, words) in pairs.items()})
        chosen = {name: level for name, (level, _) in pairs.items()}
        rows.append({**chosen, "text": text, "negative": negative})
    return prompts_frame(rows, list(factors))


def wordings(levels: Sequence[str] | Mapping[str, str], *, silent: Collection[str] = ()) -> dict[str, str]:
    """Return level → the words it puts into a prompt: what it maps to, else its name; none for ``silent``."""
    if isinstance(levels, Mapping):
        return {str(level): str(words) for level, words in levels.items()}
    return {str(level): "" if level in silent else str(level) for level in levels}


def fill(template: str, words: Mapping[str, str]) -> str:
    """Write ``words`` into the template; a field left empty takes the separator before it along.

    ``a/an`` before a field is the article that its words need.

    >>> fill("A photo of a/an {concept}", {"concept": "Iranian doctor"})
    'A photo of an Iranian doctor'
    """
    out = ""
    for literal, name, _, _ in string.Formatter().parse(template):
        word = None if name is None else words[name]
        if word and (begins := _EITHER.search(literal)):
            literal = f"{literal[: begins.start()]}{article(word.split()[0])} "
        out += literal.rstrip(" ").removesuffix(",") if word == "" else literal + (word or "")
    return " ".join(out.split())


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
    if not isinstance(prompts, list | tuple):
        raise UsageError(f"must be a list of prompts, a mapping or a file, found {shorten(prompts)}")
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
