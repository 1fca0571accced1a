"""Attributes that pictures of a concept may show, named by a chat model, in a file that people may edit.

The protocol is that of S. Dehdashtian et al., arXiv:2501.00962, appendix A.1.1.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from pydantic import Field

from stereotrope.annotate.attributes import LONGEST_NAME, check_attributes
from stereotrope.clients import Problem
from stereotrope.errors import InputError, UsageError
from stereotrope.escape import is_plain_line
from stereotrope.folding import fold
from stereotrope.inputs.asking import AskedModel, Asking, MadeFile, TextAsker, TextQuestion, unquoted
from stereotrope.inputs.candidates import CandidateOptions, parsed_candidates
from stereotrope.inputs.entries import Context
from stereotrope.inputs.files import read_text
from stereotrope.inputs.options import File, Text, options_of, shorten
from stereotrope.shipped import shipped
from stereotrope.tables import factors_of

_PROPOSING: Mapping[str, Any] = shipped("annotate.embeddings", "proposing.yaml")
_LONGEST = 200
"""Characters of a sentence: CLIP reads 77 tokens."""
_HEAD = """\
# Attributes that pictures may show: sentences of one that does, and of one that does not. Edit,
# add and remove: what stands here stays, and a concept that an attribute names is not asked about again.
candidates:
"""
_TEXT = {"type": "string"}
_ROW: Mapping[str, Any] = {
    "type": "object",
    "properties": {"attribute": _TEXT, "positive": _TEXT, "negative": _TEXT},
    "required": ["attribute", "positive", "negative"],
    "additionalProperties": False,
}
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"candidates": {"type": "array", "items": _ROW}},
    "required": ["candidates"],
    "additionalProperties": False,
}
_PLAIN = re.compile(r"[a-z]\w*", re.ASCII)
_NO_NAMES = frozenset({"true", "false", "null"})
"""What YAML takes for something else than a text."""


class ProposalOptions(AskedModel):
    """A file, the model that names what it lacks, and the factor whose levels are the concepts."""

    file: File
    of: Text = "concept"
    max_tokens: int = Field(4000, ge=1)


class _Named(NamedTuple):
    """An attribute of a concept, as a file is to have it."""

    name: str
    concept: str
    positive: str
    negative: str


class ProposedCandidates:
    """A file of candidates, and the model that names attributes of the concepts that it has none of.

    path, written: The file, and as the audit file names it.
    of: The factor of concepts.
    """

    def __init__(self, path: Path, written: str, of: str, asker: TextAsker) -> None:
        self.path, self.written, self.of, self.asker = path, written, of, asker

    def require(self) -> None:
        """Raise :class:`~stereotrope.errors.UsageError` where the file is not there."""
        if not self.path.is_file():
            raise UsageError(
                f"no file {shorten(self.written)} beside the audit file; `stereotrope design AUDIT.yaml` "
                "makes it"
            )

    def make(self, prompts: pl.DataFrame, ask: Asking) -> MadeFile:
        """Ask for attributes of each concept that no attribute of the file names; what stands there stays."""
        if self.of not in factors_of(prompts.columns):
            have = ", ".join(factors_of(prompts.columns)) or "none"
            raise UsageError(
                f"{self.written}: the prompts have no factor {shorten(self.of)} of concepts; they have "
                f"{have}; name one as `of:`"
            )
        text = None
        if self.path.is_file():
            text = read_text(self.path, what="a file of candidates", absent="write one")
        kept = {} if text is None else parsed_candidates(text, self.written)
        known = {one.concept for one in kept.values()}
        shown = prompts.filter(pl.col(self.of).is_not_null()).unique(
            self.of, keep="first", maintain_order=True
        )
        asked = shown.filter(~pl.col(self.of).is_in(list(known - {None}))).select(self.of, "text").rows()
        if not asked:
            return MadeFile(None, (f"{self.written}: each of {shown.height:,} concepts has attributes",))
        answers = self.asker.ask_all([candidates_question(prompt) for _, prompt in asked], ask)
        new: list[_Named] = []
        notes = []
        for (concept, _), answer in zip(asked, answers, strict=True):
            if answer["status"] != "ok":
                why = answer["reason"] or answer["status"]
                notes.append(f"no attributes of {concept} ({why}); write them, or ask another model")
                continue
            more = list(_named(concept, answer["content"]["candidates"], kept, new))
            new += more
            notes.append(f"{len(more)} attributes of {concept} by {self.asker.name}")
        told = tuple(f"{self.written}: {note}" for note in notes)
        return MadeFile(_appended(text, kept, new, self.written) if new else None, told)


def proposal_of(given: Any, what: str, context: Context) -> ProposedCandidates | None:
    """Return the file that a model makes, where an entry names one: ``{file: candidates.yaml, model: …}``.

    Raises UsageError: The model or an option cannot be used.
    """
    if not isinstance(given, Mapping):
        return None
    example = "{file: candidates.yaml, model: openai:gpt-4o}"
    options = options_of(ProposalOptions, given, what, example=example)
    client = options.client(options.model, context.account)
    asker = TextAsker(client, options.name or client.model, options.version)
    path = context.folder / Path(options.file).expanduser()
    return ProposedCandidates(path, options.file, options.of, asker)


def candidates_question(prompt: str) -> TextQuestion:
    """What a model is asked of the prompt of a concept; the answer is asked for as JSON."""
    parts = (
        _PROPOSING["instruction"],
        _PROPOSING["prompt"].replace("{prompt}", prompt),
        _PROPOSING["answer"],
    )
    fewest = _PROPOSING["fewest"]
    return TextQuestion(
        "\n\n".join(parts), _SCHEMA, None, candidates_problems, answered=(30 * fewest, 90 * fewest)
    )


def candidates_problems(content: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with an answer: how many attributes, a name that does not serve, sentences alike."""
    rows = content["candidates"]
    fewest, most = _PROPOSING["fewest"], _PROPOSING["most"]
    if not fewest <= len(rows) <= most:
        return [Problem(("candidates",), f"must be {fewest} to {most} attributes, found {len(rows)}")]
    problems, names = [], set[str]()
    for at, row in enumerate(rows):
        name, place = _name(row["attribute"]), ("candidates", at)
        if (wrong := _wrong_name(name)) is not None:
            problems.append(Problem((*place, "attribute"), wrong))
        elif fold(name) in names:
            problems.append(
                Problem((*place, "attribute"), f"must be named once, found {row['attribute'][:80]!r} again")
            )
        names.add(fold(name))
        for side in ("positive", "negative"):
            if (wrong := _wrong_sentence(row[side])) is not None:
                problems.append(Problem((*place, side), wrong))
        if fold(row["positive"]) == fold(row["negative"]):
            problems.append(Problem((*place, "negative"), "must differ from the positive sentence"))
    return problems


def _name(attribute: str) -> str:
    """The name of an attribute in tables: its words in small letters.

    >>> _name("Wearing a Traditional Chechia (Hat)")
    'wearing_a_traditional_chechia_hat'
    """
    return re.sub(r"[\W_]+", "_", attribute.casefold()).strip("_")


def _wrong_name(name: str) -> str | None:
    if not name[:1].isalpha():
        return f"must begin with a letter, found {name[:80]!r}"
    try:
        check_attributes({name: ["yes", "no"]})
    except UsageError as error:
        return str(error)
    return None


def _wrong_sentence(sentence: str) -> str | None:
    if not is_plain_line(sentence):
        return "must be one line of plain text"
    if not unquoted(sentence)[:1].isalnum():
        return f"must begin with a letter or a digit, found {sentence[:80]!r}"
    if len(sentence) > _LONGEST:
        return f"must have at most {_LONGEST} characters, found {len(sentence)}"
    return None


def _named(
    concept: str,
    rows: Sequence[Mapping[str, str]],
    kept: Mapping[str, CandidateOptions],
    new: Sequence[_Named],
) -> Iterator[_Named]:
    """The attributes that are not there yet; one whose name has other sentences bears its concept too."""
    taken: dict[str, tuple[str, ...]] = {
        fold(name): (*one.positive, *one.negative) for name, one in kept.items()
    }
    taken |= {fold(one.name): (one.positive, one.negative) for one in new}
    for row in rows:
        sides = tuple(unquoted(row[side]) for side in ("positive", "negative"))
        name = _name(row["attribute"])
        if taken.get(fold(name), sides) != sides:
            name = f"{name}_{_name(concept)}"[:LONGEST_NAME]
        if fold(name) not in taken:
            taken[fold(name)] = sides
            yield _Named(name, concept, *sides)


def _appended(
    text: str | None, kept: Mapping[str, CandidateOptions], new: Sequence[_Named], written: str
) -> str:
    """The text of a file with further attributes behind its last line.

    Raises UsageError: They cannot stand there.
    """
    indent = "  " if text is None else next(iter(re.findall(r"^( +)\S", text, re.M)), "  ")
    lines = [line for one in new for line in _lines(one, indent)]
    head = _HEAD if text is None else text if text.endswith("\n") else f"{text}\n"
    whole = head + "\n".join(lines) + "\n"
    try:
        found = parsed_candidates(whole, written)
    except InputError:
        found = {}
    if list(found) != [*kept, *(one.name for one in new)] or any(found[name] != kept[name] for name in kept):
        raise UsageError(
            f"{written}: no attribute can be added behind its last line; write `candidates:` with an "
            "attribute a line below it, all by as many spaces, and nothing behind them"
        )
    return whole


def _lines(one: _Named, indent: str) -> Iterator[str]:
    plain = _PLAIN.fullmatch(one.name) and one.name not in _NO_NAMES
    yield f"{indent}{one.name if plain else _quoted(one.name)}:"
    yield f"{indent}  concept: {_quoted(one.concept)}"
    yield f"{indent}  positive: [{_quoted(one.positive)}]"
    yield f"{indent}  negative: [{_quoted(one.negative)}]"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
