"""From what a model answered to labels: strict, one attribute at a time, and never a guess of ours."""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import Any

from stereotrope.annotate.attributes import LONGEST_VALUE, UNCLEAR
from stereotrope.annotate.label import Attributes, Label
from stereotrope.clients import Answer
from stereotrope.escape import plain_line

LONGEST_RATIONALE = 200
"""Characters kept of what was said or went wrong."""


def schema_of(offered: Mapping[str, Sequence[str] | None]) -> dict[str, Any]:
    """JSON schema of the answer: one text for each attribute, one of the options where it has some."""
    return {
        "type": "object",
        "properties": {
            name: {"type": "string"} if options is None else {"type": "string", "enum": list(options)}
            for name, options in offered.items()
        },
        "required": list(offered),
        "additionalProperties": False,
    }


def labels_of(answer: Answer, attributes: Attributes, *, longest: int = LONGEST_VALUE) -> list[Label]:
    """Return one label for each attribute.

    answer: What the model said, after its repair turn.
    attributes: What was asked for.
    longest: Characters that a value may have.

    Each attribute is judged on its own: one of its values is ``ok``, ``unclear`` is that status, anything
    else ``invalid`` with what was said. An open value is stripped and has 1 to ``longest`` characters. Keys
    that nobody asked for are no label. A refusal makes every attribute ``refused``.
    """
    if answer.status == "refused":
        reason = inert(answer.reason or "the model declined to answer")
        return [Label(name, None, status="refused", rationale=reason) for name in attributes]
    if not isinstance(answer.content, Mapping):
        reason = inert(answer.reason or "no answer that can be read")
        return [Label(name, None, status="invalid", rationale=reason) for name in attributes]
    return [_label(answer, name, values, longest) for name, values in attributes.items()]


def by_letter(options: Sequence[str]) -> dict[str, str]:
    """Letter → option, in the order in which they are offered.

    >>> by_letter(["male", "unclear", "female"])
    {'A': 'male', 'B': 'unclear', 'C': 'female'}
    """
    return dict(zip(ascii_uppercase, options, strict=False))


def lettered_labels(answer: Answer, offered: Attributes) -> list[Label]:
    """Return one label for each attribute of a question whose options stood behind letters.

    As of :func:`labels_of`, a letter read as the option that stood behind it. ``rationale`` of a label keeps
    the letter and all that stood behind letters.
    """
    letters = {name: by_letter(options) for name, options in offered.items() if options is not None}
    content = answer.content
    if isinstance(content, Mapping):
        given = {
            name: letters[name].get(said, said) if name in letters and isinstance(said, str) else said
            for name, said in content.items()
        }
        answer = replace(answer, content=given)
    attributes = {
        name: values and tuple(v for v in values if v != UNCLEAR) for name, values in offered.items()
    }
    return [
        replace(label, rationale=_behind(label, letters[label.attribute], content))
        if label.attribute in letters
        else label
        for label in labels_of(answer, attributes)
    ]


def _behind(label: Label, letters: Mapping[str, str], content: Any) -> str:
    offered = ", ".join(f"{letter}: {option}" for letter, option in letters.items())
    if label.status in ("ok", UNCLEAR):
        return f"{content[label.attribute]} of {offered}"
    return f"{label.rationale}; offered {offered}"


def _label(answer: Answer, name: str, values: tuple[str, ...] | None, longest: int) -> Label:
    said = answer.content.get(name)
    reason = _wrong(said, values, longest) if name in answer.content else "left out of the answer"
    if reason is None:
        problems = [problem.message for problem in answer.problems if problem.path[:1] == (name,)]
        # Outer blanks and other spellings of a character break the schema and not the list.
        spelt = values is not None and said not in (*values, UNCLEAR)
        reason = problems[0] if len(problems) > spelt else None
    if reason is not None:
        return Label(name, None, status="invalid", rationale=inert(reason))
    text = _text(said, values)
    if text.casefold() == UNCLEAR:
        return Label(name, None, _confidence(answer, name), status="unclear")
    return Label(name, text, _confidence(answer, name))


def _wrong(said: Any, values: tuple[str, ...] | None, longest: int) -> str | None:
    """Return why what was said is no answer, None where it is one."""
    if not isinstance(said, str):
        return f"answered {json.dumps(said, ensure_ascii=False)}, which is not a text"
    if any("\ud800" <= character <= "\udfff" for character in said):
        return "answered half a surrogate pair, which is no text"
    text = _text(said, values)
    if not text:
        return "answered nothing"
    if values is not None and text not in values and text.casefold() != UNCLEAR:
        return f"answered {json.dumps(text, ensure_ascii=False)}, which is not among the options"
    if len(text) > longest:
        return f"longer than {longest:,} characters: {text}"
    return None


def _confidence(answer: Answer, name: str) -> float | None:
    found = answer.confidences.get(name)
    return None if found is None else min(max(float(found), 0.0), 1.0)


def _text(said: str, values: tuple[str, ...] | None) -> str:
    """Normal form C without outer blanks; an open value as a plain line."""
    if values is not None:
        return unicodedata.normalize("NFC", said).strip()
    return unicodedata.normalize("NFC", plain_line(said))


def inert(text: str, limit: int = LONGEST_RATIONALE) -> str:
    """Return text that does nothing anywhere: plain, on one line, cut to ``limit`` characters."""
    shown = plain_line(text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
