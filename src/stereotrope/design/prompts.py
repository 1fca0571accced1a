"""Prompts and their factors: the ``prompts`` table."""

import itertools
import math
import string
from collections.abc import Collection, Iterable, Mapping, Sequence

import polars as pl

from stereotrope.errors import UsageError
from stereotrope.tables import SCOPES, check_factors, prompt_id

WORDLESS = ("none", "plain")
"""Levels with these names add no words to the prompt: ``condition: [plain, "with diversity"]``."""


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
        if len(set(levels)) < len(levels):
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
    """Write ``words`` into the template; a field left empty takes the separator before it along."""
    out = ""
    for literal, name, _, _ in string.Formatter().parse(template):
        word = None if name is None else words[name]
        out += literal.rstrip(" ").removesuffix(",") if word == "" else literal + (word or "")
    return " ".join(out.split())
