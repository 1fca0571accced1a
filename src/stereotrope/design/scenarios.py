"""Prompts of everyday scenarios: groups of phrases, each worded for its template, said of several subjects.

``scenario`` is the prompt of the first subject: the unit whose pictures are counted together.
"""

import unicodedata
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import polars as pl
from pydantic import BeforeValidator, Field

from stereotrope.clients import Account
from stereotrope.design.phrases import FORMS
from stereotrope.design.prompts import fields_of, fill, prompts_frame, refuse_too_many
from stereotrope.design.wording import WordsFile
from stereotrope.errors import UsageError, did_you_mean
from stereotrope.inputs.asking import text_asker
from stereotrope.inputs.options import Item, Options, Text, Texts, options_of, shorten, text, texts
from stereotrope.inputs.rows import read_rows
from stereotrope.plugins import version_of

SCENARIO_FACTORS = ("prompt_group", "scenario", "variation")
"""Factors of these prompts: name of the group, the prompt with the first subject, the subject."""

_EXAMPLE = (
    "{subjects: [a person, someone], groups: {activities: {form: activity, template: "
    '"{subject} who is {phrase}", phrases: [bake a cake]}}}'
)
_WORDING = "wording: {file: words.csv, model: openai:gpt-4o-mini}"
_GROUP = '{form: activity, template: "{subject} who is {phrase}", phrases: [bake a cake]}'


def _phrases(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and value < 1:
        raise ValueError("must be at least 1; write how many phrases of the suite are taken")
    if isinstance(value, Mapping) and value and "file" not in value:
        return {text(phrase): text(words) for phrase, words in value.items()}
    if isinstance(value, bool) or not isinstance(value, int | str | list | Mapping) or not value:
        raise ValueError("must be a list of phrases, a mapping phrase: words, a CSV file, or a number")
    return texts(value) if isinstance(value, list) else value


class _Group(Options):
    form: Text | None = None
    template: Text | None = None
    phrases: Annotated[Any, BeforeValidator(_phrases)] = None


def _groups(value: Any) -> Any:
    if isinstance(value, list):
        return {name: {} for name in texts(value)}
    if not isinstance(value, Mapping) or not value:
        raise ValueError("must be a mapping of a group to its phrases, or a list of groups of the suite")
    short = {
        name: isinstance(given, Mapping) and set(given) & set(_Group.model_fields)
        for name, given in value.items()
    }
    return {
        text(name): given if short[name] or given in (None, {}) else {"phrases": given}
        for name, given in value.items()
    }


class _Scenarios(Options):
    subjects: Texts | None = None
    wording: Item | None = None
    groups: Annotated[dict[str, Any] | None, BeforeValidator(_groups)] = Field(None)


class Phrases(NamedTuple):
    """A group: its form, its template, and phrase → words, None where they are to be made."""

    name: str
    form: str
    template: str
    phrases: Mapping[str, str | None]


class ScenarioPrompts(NamedTuple):
    """The prompts, and how the phrases of each group were worded."""

    prompts: pl.DataFrame
    notes: tuple[str, ...]


def is_scenarios(prompts: Any) -> bool:
    """Whether what stands under ``prompts`` is groups of phrases."""
    return (
        isinstance(prompts, Mapping)
        and "template" not in prompts
        and not {"groups", "subjects", "wording"}.isdisjoint(prompts)
    )


def scenario_prompts(
    given: Mapping[str, Any],
    base: Path | str,
    *,
    suite: Mapping[str, Any] | None = None,
    suite_base: Path | str = ".",
) -> ScenarioPrompts:
    """Word the phrases of every group and say them of every subject.

    given: ``subjects`` and ``groups``, each with ``form`` (a name of ``FORMS``),
        ``template`` with ``{subject}`` and ``{phrase}``, and ``phrases``: a list; a mapping of a phrase to
        its words, which are taken as they are; a CSV file with a column ``phrase``, or ``{file, column,
        words}``, ``words`` a column of words that are taken so where it is filled in; or how many of the
        suite's, evenly from its list. A group may be its phrases alone. ``wording`` is a file of words for
        phrases that have none, which a model may have made; the rules word the rest.
    base: Folder that names of files start from.
    suite, suite_base: What a suite says of the same, and its folder: it stands in where ``given`` is silent.
    Returns: Prompts with the factors :data:`SCENARIO_FACTORS`, and a note a group.
    Raises UsageError: A group lacks something, a template a field, or two groups make one prompt.
    Raises MetadataError: A file of phrases cannot be used; the message names its line.
    """
    asked, known, groups = _resolved(given, base, suite, suite_base)
    subjects = asked.subjects or known.subjects or ["a person"]
    wording = wording_of(given, base)
    told = {} if wording is None else wording.words()
    rows: list[dict[str, str | None]] = []
    notes = []
    for name, form, template, phrases in groups:
        refuse_too_many(len(rows) + len(phrases) * len(subjects))
        by: Counter[str] = Counter()
        for phrase, words in phrases.items():
            from_file = told.get((name, phrase)) if words is None else None
            by["given" if words is not None else "rules" if from_file is None else "file"] += 1
            worded = words or from_file or FORMS[form](phrase)
            if not any(unicodedata.category(sign)[0] in "LNS" for sign in worded):  # marks alone say nothing
                raise UsageError(f"group {name!r}: phrase {shorten(phrase)} leaves no words; write another")
            scenario = fill(template, {"subject": subjects[0], "phrase": worded})
            scope = {"prompt_group": name, "scenario": scenario}
            for subject in subjects:
                prompt = fill(template, {"subject": subject, "phrase": worded})
                rows.append({**scope, "variation": subject, "text": prompt})
        notes.append(_note(name, form, by, "" if wording is None else wording.written))
    if not rows:
        raise UsageError(f"there is no group of phrases; write {_EXAMPLE}")
    return ScenarioPrompts(prompts_frame(rows, SCENARIO_FACTORS), tuple(notes))


def phrases_to_word(
    given: Mapping[str, Any],
    base: Path | str,
    *,
    suite: Mapping[str, Any] | None = None,
    suite_base: Path | str = ".",
) -> pl.DataFrame:
    """Return the phrases that have no words of their own: ``prompt_group``, ``form`` and ``phrase``.

    The parameters are those of :func:`scenario_prompts`.
    """
    groups = _resolved(given, base, suite, suite_base)[2]
    rows = [
        (name, form, phrase) for name, form, _, listed in groups for phrase, w in listed.items() if w is None
    ]
    schema = dict.fromkeys(("prompt_group", "form", "phrase"), pl.String)
    return pl.DataFrame(rows, schema=schema, orient="row")


def wording_of(
    given: Mapping[str, Any], base: Path | str, account: Account | None = None
) -> WordsFile | None:
    """Return the file of words that ``wording`` names, with the model that makes it; None where none is.

    Raises UsageError: It names no file, or a model that cannot be asked.
    """
    written = given.get("wording")
    if written is None:
        return None
    model = dict(written) if isinstance(written, Mapping) else {}
    file = model.pop("file", None) if isinstance(written, Mapping) else written
    if not isinstance(file, str) or not file:
        raise UsageError(f"wording must name a file, found {shorten(written)}; write {_WORDING}")
    asker = text_asker(model, "wording", account or Account()) if model else None
    return WordsFile(Path(base) / file, file, asker)


def _resolved(
    given: Mapping[str, Any], base: Path | str, suite: Mapping[str, Any] | None, suite_base: Path | str
) -> tuple[_Scenarios, _Scenarios, list[Phrases]]:
    """What is asked for, what the suite says, and the groups with both."""
    asked = options_of(_Scenarios, given, "scenarios", example=_EXAMPLE)
    known = options_of(_Scenarios, suite or {}, "suite", example=_EXAMPLE)
    standard = known.groups or {}
    groups = []
    for name in asked.groups or standard:
        own, theirs = (
            options_of(_Group, (listed or {}).get(name) or {}, f"group {name!r}", example=_GROUP)
            for listed in (asked.groups, standard)
        )
        if standard and name not in standard and not own.model_fields_set >= {"form", "template", "phrases"}:
            hint = did_you_mean(name, standard, otherwise=f"the suite has {', '.join(standard)}")
            raise UsageError(
                f"group {name!r} needs form, template and phrases, or a name of the suite's; {hint}"
            )
        form, template = own.form or theirs.form or "as_written", own.template or theirs.template
        if template is None:
            raise UsageError(f"group {name!r} needs a template; write it as {_GROUP}")
        if form not in FORMS:
            raise UsageError(f"group {name!r}: there is no form {form!r}; there is: {', '.join(FORMS)}")
        _check_template(name, template)
        listed = _listed(name, own.phrases, theirs.phrases, Path(base), Path(suite_base))
        groups.append(Phrases(name, form, template, listed))
    return asked, known, groups


def _check_template(name: str, template: str) -> None:
    if sorted(fields_of(template)) != ["phrase", "subject"]:
        raise UsageError(
            f"group {name!r}: template {template!r} must hold {{subject}} and {{phrase}} and no other field; "
            'write "{subject} who is {phrase}"'
        )


def _note(name: str, form: str, by: Counter[str], file: str) -> str:
    n, library = by.total(), f", lemminflect {version_of('lemminflect')}"
    ruled = "words as written" if form == "as_written" else f"worded by rules (form {form}{library})"
    ways = {"rules": ruled, "file": f"words of {file}", "given": "words given"}
    parts = [(by[way], said) for way, said in ways.items() if by[way]]
    how = parts[0][1]
    if len(parts) > 1:
        how = ", ".join(f"{k:,} {said.removeprefix('words ')}" for k, said in parts)
    return f"prompts {name}: {n:,} phrase{'s' if n != 1 else ''}, {how}"


def _listed(name: str, own: Any, theirs: Any, base: Path, suite_base: Path) -> dict[str, str | None]:
    """Phrase → its words, None where they are to be made."""
    if own is not None and not isinstance(own, int):
        return _read(name, own, base)
    if theirs is None or isinstance(theirs, int):
        raise UsageError(f"group {name!r} has no phrases; list them: {_GROUP}")
    every = _read(name, theirs, suite_base)
    if own is None:
        return every
    if own > len(every):
        raise UsageError(f"group {name!r}: the suite has {len(every):,} phrases, found {own:,}; lower it")
    chosen = list(every)
    return {phrase: every[phrase] for phrase in (chosen[i * len(chosen) // own] for i in range(own))}


def _read(name: str, phrases: Any, base: Path) -> dict[str, str | None]:
    if isinstance(phrases, list):
        return dict.fromkeys(phrases)
    if isinstance(phrases, Mapping) and "file" not in phrases:
        return dict(phrases)
    given = {"file": phrases} if isinstance(phrases, str) else phrases
    if set(given) - {"file", "column", "words"} or not all(
        isinstance(value, str) for value in given.values()
    ):
        raise UsageError(
            f"group {name!r}: a file of phrases takes file, column and words, found {shorten(dict(given))}; "
            "write phrases: {file: phrases.csv, column: phrase}"
        )
    path, column = base / given["file"], given.get("column", "phrase")
    if not path.is_file():
        raise UsageError(f"group {name!r}: no file {shorten(given['file'])} there; check the name")
    found = read_rows(path)
    found.require(column, f"the phrases of group {name!r}")
    if (words := given.get("words")) is not None:
        found.require(words, f"the words of group {name!r}")
    listed: dict[str, str | None] = {}
    lines: dict[str, int] = {}
    for row in found.rows:
        phrase = row.text(column)
        if phrase is None:
            raise row.error(f"column {column!r} must hold a phrase, found nothing; fill it in")
        said = None if words is None else row.text(words)
        before, line = listed.get(phrase), lines.setdefault(phrase, row.line)
        if said is not None and before is not None and said != before:
            raise row.error(
                f"{shorten(phrase)} stands in line {line} with other words; leave one of the rows out"
            )
        listed[phrase] = before or said
    return listed
