"""The default judge: knows what is in the pictures, and errs as often as it was told to."""

import contextlib
import io
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter
from typing import Any

import numpy as np
from PIL import Image

from stereotrope.annotate import ColourAnnotator, Picture, TextAnnotator
from stereotrope.errors import PictureError, UsageError
from stereotrope.tables import CAPTION
from stereotrope.testing.plant import planted_figures, uniform
from stereotrope.testing.schemas import fill_schema, propose, wants_proposals

_UNCLEAR = "unclear"
_SHARES = ("error", "order_bias", "answers_blank", "answers_without_picture", "obeys_text", "free_words")
_FLAT = 2.0
"""Grey levels: a picture that varies less is blank."""

KnownValues = Mapping[str, Mapping[str, str]] | Callable[[str], Mapping[str, str] | None]
"""sha256 of a picture → attribute → value: as a mapping, or as a function that gives None for others."""


@dataclass(frozen=True)
class Question:
    """What a chat request asks.

    text: All its text, the system's and earlier turns' included.
    schema: JSON schema of the answer, None where the request gives none.
    pictures: Bytes of the pictures in the order of the request.
    shas: Their SHA-256 in hexadecimal.
    truths: What is known of each: a function from attribute and values it may have to its value, or None.
    """

    model: str
    text: str
    schema: Mapping[str, Any] | None
    pictures: tuple[bytes, ...]
    shas: tuple[str, ...]
    truths: tuple[Callable[[str, Sequence[str]], str | None], ...]

    def known(self, attribute: str, options: Sequence[str] = ()) -> str | None:
        """Value of an attribute of the first picture; None where there is none or it is not known."""
        return self.truths[0](attribute, options) if self.truths else None

    def unit(self, *purpose: object) -> float:
        """A number in [0, 1) that depends on the model, the pictures and what it is for, on nothing else."""
        return uniform(self.model, *self.shas, *purpose)


@dataclass(frozen=True)
class Reply:
    """An answer: the JSON object, and how sure the judge is of each of its properties, in (0, 1]."""

    content: Mapping[str, Any]
    confidences: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Judge:
    """Answers what a JSON schema asks, from the truth of the picture, with errors of a known size.

    Every share below is met by a number that depends on (seed, model, picture, attribute) alone: the same
    question gets the same answer, in any order. What a picture shows that nobody knows is ``unclear``. A
    caption is a sentence of what is planted, whose words are in ``plant.yaml``.

    error: Share of answers that are wrong: one number, or attribute → number, or attribute → true value →
        answer → share (a confusion; what the shares leave over is the true value). Without a confusion a
        wrong answer is any other value alike.
    order_bias: Share of closed questions answered with the first value offered.
    answers_blank: Share of questions on a blank picture that get a value all the same.
    answers_without_picture: Share of questions without a picture that get a value all the same.
    obeys_text: Share of pictures in whose text the judge believes: what ``painted`` says is answered.
    painted: sha256 → attribute → the value that the text in the picture asks for.
    free_words: Share of open answers in other words: capitals, a hyphen, a plural.
    """

    error: float | Mapping[str, Any] = 0.0
    order_bias: float = 0.0
    answers_blank: float = 0.0
    answers_without_picture: float = 0.0
    obeys_text: float = 0.0
    painted: KnownValues = field(default_factory=dict)
    free_words: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in _SHARES:
            share = getattr(self, name)
            if not isinstance(share, Mapping) and not 0 <= share <= 1:
                raise UsageError(
                    f"judge: {name} must be a share between 0 and 1, found {share!r}; correct it"
                )

    def __call__(self, question: Question) -> Reply:
        """Answer one question; without a schema, with the values of all that is planted."""
        schema = question.schema or {
            "type": "object",
            "properties": {name: {"type": "string"} for name in planted_figures()["attributes"]},
        }
        if wants_proposals(schema):
            return Reply(propose(schema))
        sure: dict[str, float] = {}
        content = fill_schema(schema, lambda name, options: self._answer(question, name, options, sure))
        return Reply(content, sure)

    def _answer(
        self, question: Question, name: str, options: Sequence[str] | None, sure: dict[str, float]
    ) -> str:
        if letters := _letters(question.text, name, options):
            said = self._answer(question, name, [*letters.values()], sure)
            return next(letter for letter, option in letters.items() if option == said)
        values = [value for value in options or () if value != _UNCLEAR]
        value, confidence = self._see(question, name, values)
        if options is not None and value not in options:
            value = _UNCLEAR if _UNCLEAR in options else options[0]
        elif options is None and value != _UNCLEAR and self._share(question, "words", name, self.free_words):
            value = _in_other_words(value, question.unit(self.seed, "how", name))
        sure[name] = confidence
        return value

    def _see(self, question: Question, name: str, values: Sequence[str]) -> tuple[str, float]:
        asked_for = self._asked_for(question, name)
        if asked_for is not None and (not values or asked_for in values):
            return asked_for, 0.9
        truth = question.known(name, values)
        if truth is None and name == CAPTION and not values:
            truth = _caption(question)
        if truth is None:
            eager = self.answers_without_picture
            if question.pictures:
                eager = self.answers_blank if _is_blank(question.pictures[0]) else 0.0
            if self._share(question, "eager", name, eager):
                guesses = values or sorted(planted_figures()["colours"])
                return guesses[int(question.unit(self.seed, "guess", name) * len(guesses))], 0.5
            return _UNCLEAR, 0.95
        if values and self._share(question, "first", name, self.order_bias):
            return values[0], 0.7
        seen = self._misread(question, name, truth, values)
        spread = question.unit(self.seed, "sure", name)
        return seen, 0.85 + 0.15 * spread if seen == truth else 0.5 + 0.3 * spread

    def _misread(self, question: Question, name: str, truth: str, values: Sequence[str]) -> str:
        error = self.error.get(name, 0.0) if isinstance(self.error, Mapping) else self.error
        at = question.unit(self.seed, "error", name)
        if isinstance(error, Mapping):
            for answer, share in error.get(truth, {}).items():
                if answer != truth:
                    if at < share:
                        return str(answer)
                    at -= share
            return truth
        if at >= error:
            return truth
        known = planted_figures()["attributes"].get(name, {}).get("base", {})
        possible = values or (planted_figures()["colours"] if "colour" in name else known)
        others = sorted(set(possible) - {truth})
        return others[int(question.unit(self.seed, "other", name) * len(others))] if others else truth

    def _asked_for(self, question: Question, name: str) -> str | None:
        for sha256 in question.shas:
            asked = look_up(self.painted, sha256)
            if asked and name in asked and self._share(question, "obeys", "", self.obeys_text):
                return asked[name]
        return None

    def _share(self, question: Question, purpose: str, name: str, share: float) -> bool:
        return share > 0 and question.unit(self.seed, purpose, name) < share


def _caption(question: Question) -> str | None:
    """What is planted in a picture, as a sentence; None where nothing or too little is known of it."""
    told = planted_figures()["captions"]
    fields = [field for _, field, _, _ in Formatter().parse(told["text"]) if field]
    values = {field: question.known(field, told.get(field, ())) for field in fields}
    if None in values.values():
        return None
    sentence = str(told["text"].format_map(values))
    return sentence[0].upper() + sentence[1:]


def look_up(truth: KnownValues, sha256: str) -> Mapping[str, str] | None:
    """Read a mapping or a function from sha256 to attribute → value."""
    return truth(sha256) if callable(truth) else truth.get(sha256)


def _letters(text: str, name: str, options: Sequence[str] | None) -> dict[str, str] | None:
    """Letter → what stands behind it, where a question has its options behind letters."""
    if not options or any(len(option) != 1 for option in options):
        return None
    for line in text.splitlines():
        start = line.find("{")
        if line.startswith(f"- {json.dumps(name, ensure_ascii=False)}") and start >= 0:
            with contextlib.suppress(ValueError):
                found = json.loads(line[start:])
                if list(found) == list(options):
                    return dict(found)
    return None


def _in_other_words(value: str, at: float) -> str:
    ways = [value.capitalize(), value.upper(), f"{value}s", f" {value.replace('_', '-')} ", f"{value}."]
    return ways[int(at * len(ways))]


def _is_blank(data: bytes) -> bool:
    try:
        with Image.open(io.BytesIO(data)) as image:
            grey = np.asarray(image.convert("L").resize((32, 32)), dtype=np.float64)
    except (OSError, ValueError):
        return True
    return bool(grey.std() < _FLAT)


class Reader:
    """Reads pictures of which nothing is known as the offline annotators do: colours by CIELAB, text by OCR.

    It looks at pixels only, so it can err, and sees nothing that these two annotators do not label. What a
    picture was seen to hold is kept by its SHA-256.
    """

    def __init__(self) -> None:
        self._annotators: tuple[ColourAnnotator, TextAnnotator] | None = None
        self._seen: dict[str, Mapping[str, str]] = {}
        self._lock = threading.Lock()

    def values(self, data: bytes, sha256: str) -> Mapping[str, str]:
        """Attribute → value of what is clearly seen; nothing where the bytes are no picture."""
        with self._lock:
            if sha256 not in self._seen:
                self._seen[sha256] = self._look(Picture(sha256, sha256, data))
            return self._seen[sha256]

    def _look(self, picture: Picture) -> dict[str, str]:
        if self._annotators is None:
            self._annotators = ColourAnnotator(), TextAnnotator()
            for annotator in self._annotators:
                annotator.setup()
        try:
            labels = [label for annotator in self._annotators for label in annotator.process(picture)]
        except PictureError:
            return {}
        return {label.attribute: label.value for label in labels if label.value is not None}
