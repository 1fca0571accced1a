"""Phrases worded by a model, in a file that people may edit; what it words badly the rules word.

The protocol is that of L. Girrbach et al., arXiv:2503.23398, appendix C.1.
"""

import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.clients import Problem
from stereotrope.design.factors.contract import completed, require_columns
from stereotrope.design.phrases import FORMS
from stereotrope.errors import UsageError
from stereotrope.escape import is_plain_line
from stereotrope.inputs.asking import Asking, MadeFile, TextAsker, TextQuestion, unquoted
from stereotrope.inputs.options import shorten
from stereotrope.inputs.rows import read_rows
from stereotrope.shipped import shipped

COLUMNS = ("prompt_group", "phrase", "words", "worded")
"""Columns of the file; ``worded`` is by whom: ``model`` or ``rules``, and ``words`` is empty for these."""
BY_MODEL, BY_RULES = "model", "rules"
_WORDING: Mapping[str, Any] = shipped("design", "wording.yaml")
_WORD = re.compile(r"[^\W\d_]+")
_ROOM = 8
"""Words that an answer may have more than its phrase."""
_STEM = 3
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


class WordsFile:
    """A file of words for phrases, and the model that finds them.

    path, written: The file, and as the audit file names it.
    asker: None where people write it.
    """

    remedy = "`stereotrope design AUDIT.yaml` makes it"

    def __init__(self, path: Path, written: str, asker: TextAsker | None = None) -> None:
        self.path, self.written, self.asker = path, written, asker

    def words(self) -> dict[tuple[str, str], str]:
        """Group and phrase → words, of the rows that have some.

        Raises UsageError: The file is not there.
        Raises MetadataError: A column is not there, or a row lacks its group or its phrase.
        """
        if not self.path.is_file():
            raise UsageError(f"no file {shorten(self.written)} beside the audit file; {self.remedy}")
        file = read_rows(self.path, name=self.written)
        for column in COLUMNS[:3]:
            file.require(column, "words for phrases")
        found: dict[tuple[str, str], str] = {}
        for row in file.rows:
            group, phrase, words = (row.text(column) for column in COLUMNS[:3])
            if group is None or phrase is None:
                raise row.error("columns 'prompt_group' and 'phrase' must be filled in; fill them in")
            before = found.setdefault((group, phrase), words) if words is not None else words
            if before != words:
                raise row.error(
                    f"{shorten(phrase)} has the words {shorten(before)} already; leave one of the rows out"
                )
        return found

    def make(self, phrases: pl.DataFrame, kept: pl.DataFrame | None, ask: Asking) -> MadeFile:
        """Word the phrases that have no row; rows that are there stay as they are.

        phrases: ``prompt_group``, ``form`` and ``phrase``; forms that no model words are left out.
        """
        assert self.asker is not None, "nobody to ask"
        require_columns(kept, COLUMNS[:3], self.written)
        before = phrases.head(0) if kept is None else kept
        asked = phrases.filter(pl.col("form").is_in(list(_WORDING["forms"])))
        new = asked.join(before, on=["prompt_group", "phrase"], how="anti", maintain_order="left")
        if not new.height:
            return MadeFile(None, (f"{self.written}: every one of {asked.height:,} phrases has its row",))
        questions = [wording_question(form, phrase) for form, phrase in new.select("form", "phrase").rows()]
        answers = self.asker.ask_all(questions, ask)
        rows, lacking = [], Counter[str]()
        for (group, form, phrase), answer in zip(new.rows(), answers, strict=True):
            words = worded_by(form, answer["content"]["text"]) if answer["status"] == "ok" else None
            lacking.update([] if words else [str(answer["reason"] or answer["status"])])
            rows.append((group, phrase, words, BY_MODEL if words else BY_RULES))
        reasons = "; ".join(f"{n:,} × {reason}" for reason, n in lacking.most_common(3))
        by_rules = f", {lacking.total():,} left to the rules ({reasons})" if lacking else ""
        told = (
            f"{self.written}: {len(rows) - lacking.total():,} phrases worded by {self.asker.name}{by_rules}"
        )
        made = pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")
        return MadeFile(completed(kept, made, COLUMNS[:2]), (told,))


def wording_question(form: str, phrase: str) -> TextQuestion:
    """What a model is asked of a phrase; the answer is asked for as JSON."""
    text = _WORDING["forms"][form]["question"].replace("{phrase}", " ".join(phrase.split()))
    check = partial(wording_problems, form=form, phrase=phrase)
    return TextQuestion(text, _SCHEMA, _WORDING["system"], check, answered=(5, 40))


def wording_problems(content: Mapping[str, Any], *, form: str, phrase: str) -> list[Problem]:
    """What is wrong with an answer: its lines, beginning or length, a gender that it names, another topic."""
    text, begins = _bare(content["text"]), _WORDING["forms"][form]["begins"]
    words = _after(text, begins)
    if not is_plain_line(content["text"]):
        return [Problem(("text",), "must be one line of plain text")]
    if not words:
        rule = f"must begin with {begins!r} and go on" if begins else "must not be empty"
        return [Problem(("text",), f"{rule}, found {text[:80]!r}")]
    if not words[0].isalnum():
        return [Problem(("text",), f"must go on with a letter or a digit, found {words[:80]!r}")]
    found, asked = _WORD.findall(words.lower()), _WORD.findall(phrase.lower())
    problems = []
    if len(found) > len(asked) + _ROOM:
        problems.append(f"must have at most {len(asked) + _ROOM} words, found {len(found)}")
    if gendered := [word for word in found if word in _WORDING["gendered"] and word not in asked]:
        problems.append(f"must name no gender that the phrase does not name, found {gendered[0]!r}")
    stems = {word[: min(_STEM, len(word))] for word in asked}
    if not any(word.startswith(tuple(stems)) for word in found):
        problems.append("must say the same, found no word of the phrase")
    return [Problem(("text",), problem) for problem in problems]


def worded_by(form: str, text: str) -> str:
    """The words of a prompt in an answer; an occupation gets its article by the rules.

    >>> worded_by("activity", "'a person is baking a cake'"), worded_by("job", "carpet installer")
    ('baking a cake', 'a carpet installer')
    """
    words = _after(_bare(text), _WORDING["forms"][form]["begins"])
    return FORMS[form](words) if form == "job" else words


def _bare(text: str) -> str:
    """An answer without quotes around it and a full stop behind it."""
    return unquoted(unquoted(text).rstrip("."))


def _after(text: str, begins: str) -> str:
    found = (
        re.match(rf"{re.escape(begins)}\s+(.*)", text, re.IGNORECASE) if begins else re.match("(.*)", text)
    )
    return found.group(1).strip() if found else ""
