"""Reading a model's structured answer: JSON, held to a schema, with the reasons where it fails."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stereotrope.clients.error_body import refuse_depth
from stereotrope.clients.redact import hide, redact

_FENCE = re.compile(r"```[A-Za-z]*[ \t]*\r?\n?(.*?)```", re.S)
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.S)
_SPACE = re.compile(r"[ \t\r\n]*")
_MOST_PROBLEMS = 10
"""Of one property that is asked for; one that breaks a rule is never without any."""
_MOST_STRANGE = 40
"""Problems of what nobody asked for."""
_HIGHEST_BYTE = 255
_LEAST_LIKELY = 1e6
"""Less than exp of its negative is a probability of 0; OpenAI writes -9999 for that."""
_MOST_LIKELY = 1.0
"""Rounding may bring a log-probability above 0; what is above 1 is none."""

_FURTHER = "not asked for"

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Problem:
    """One thing wrong with an answer: where in it (names and positions), and what."""

    path: Path
    message: str

    @property
    def is_further(self) -> bool:
        """Whether it is a key that nobody asked for, which says nothing of the others."""
        return self.message == _FURTHER

    def __str__(self) -> str:
        where = ".".join(str(part) for part in self.path)
        return f"{where}: {self.message}" if where else self.message


@dataclass(frozen=True)
class ParsedAnswer:
    """What an answer says: the JSON object, None where there is none, and its problems."""

    content: dict[str, Any] | None
    problems: tuple[Problem, ...]


def read_answer(text: str, schema: Mapping[str, Any], *, cut: bool = False, secret: str = "") -> ParsedAnswer:
    """Read a JSON object and hold it to a JSON schema (draft 2020-12).

    A fence of three backticks around the object is taken off, as is a block of reasoning before it.
    Anything else around it, a name given twice, NaN, infinities and 100 levels of nesting are problems.

    cut: The answer ended at max_tokens.
    secret: The key in use, hidden in whatever the answer holds but the schema's own names and values.
    """
    problems: list[Problem] = [Problem((), "cut at max_tokens")] if cut else []
    found, _ = _unwrapped(text)
    twice: list[str] = []
    try:
        content = json.loads(
            found,
            object_pairs_hook=lambda pairs: _object(pairs, twice),
            parse_constant=_no_number,
            parse_float=_number,
        )
        refuse_depth(content)
    except (ValueError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        problems.append(Problem((), f"not JSON ({redact(why)})" if found.strip() else "empty"))
        return ParsedAnswer(None, tuple(problems))
    if not isinstance(content, dict):
        problems.append(Problem((), f"must be a JSON object, found {_kind(content)}"))
        return ParsedAnswer(None, tuple(problems))
    allowed = frozenset(_texts_of(schema))
    content = _hidden(content, allowed, secret)
    problems += [
        Problem((_hidden(name, allowed, secret),), "given more than once") for name in dict.fromkeys(twice)
    ]
    problems += _first_of_each(_against(content, schema), schema.get("properties", {}))
    return ParsedAnswer(content, tuple(dict.fromkeys(problems)))


def _first_of_each(problems: Iterable[Problem], asked: Mapping[str, Any]) -> Iterable[Problem]:
    counts: Counter[tuple[Path, bool]] = Counter()
    for problem in dict.fromkeys(problems):
        about = problem.path[:1] if problem.path and problem.path[0] in asked else ()
        counts[about, problem.is_further] += 1
        if counts[about, problem.is_further] <= (_MOST_PROBLEMS if about else _MOST_STRANGE):
            yield problem


def confidences_of(text: str, tokens: Sequence[Mapping[str, Any]] | None) -> dict[str, float]:
    """Return, for each top-level property of a JSON answer, the probability of its value's tokens.

    exp(Σ log p) over the tokens that overlap the value (the inside of the quotes of a text), as the
    server gives them: how sure the model is of these words, not how likely they are true.

    text: The answer as it came.
    tokens: Its tokens with ``token``, ``logprob`` and, where given, ``bytes``.
    Returns: Empty where there are no tokens, where they do not add up to the text, or where one has no
        log-probability (no number, or one above 1).
    """
    spans = _token_spans(text, tokens or ())
    if not spans:
        return {}
    found, offset = _unwrapped(text)
    confidences: dict[str, float] = {}
    for name, start, end in _value_spans(found):
        low, high = (
            len(text[: offset + position].encode("utf-8", "surrogatepass")) for position in (start, end)
        )
        inside = [logprob for begin, stop, logprob in spans if begin < high and stop > low]
        if inside:
            confidences[name] = math.exp(min(0.0, math.fsum(inside)))
    return confidences


def _unwrapped(text: str) -> tuple[str, int]:
    """Return the JSON of an answer and where in it that begins."""
    thought = _THOUGHT.match(text)
    offset = thought.end() if thought else 0
    fences = list(_FENCE.finditer(text, offset))
    if len(fences) == 1 and not text[offset:].lstrip().startswith(("{", "[")):
        return fences[0].group(1), fences[0].start(1)
    return text[offset:], offset


def _object(pairs: list[tuple[str, Any]], twice: list[str]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            twice.append(name)
        content.setdefault(name, value)
    return content


def _no_number(constant: str) -> Any:
    raise ValueError(f"{constant} is no number in JSON")


def _number(text: str) -> float:
    found = float(text)
    return found if math.isfinite(found) else _no_number(text)


def _texts_of(schema: Any) -> Iterable[str]:
    if isinstance(schema, str):
        yield schema
    elif isinstance(schema, Mapping):
        yield from schema
        for inner in schema.values():
            yield from _texts_of(inner)
    elif isinstance(schema, list | tuple):
        for inner in schema:
            yield from _texts_of(inner)


def _hidden(content: Any, allowed: frozenset[str], secret: str) -> Any:
    if isinstance(content, str):
        return content if content in allowed else hide(content, secret)
    if isinstance(content, dict):
        return {_hidden(n, allowed, secret): _hidden(v, allowed, secret) for n, v in content.items()}
    if isinstance(content, list):
        return [_hidden(inner, allowed, secret) for inner in content]
    return content


def _against(content: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Problem]:
    import jsonschema  # noqa: PLC0415

    errors = jsonschema.Draft202012Validator(schema).iter_errors(content)
    ordered = sorted(errors, key=lambda error: [str(part) for part in error.path])
    return [problem for error in ordered for problem in _problems(error)]


def _problems(error: Any) -> Iterable[Problem]:
    path: Path = tuple(error.absolute_path)
    found = redact(json.dumps(error.instance, ensure_ascii=False))[:80]
    match error.validator:
        case "required":
            return [Problem((*path, n), "missing") for n in error.validator_value if n not in error.instance]
        case "additionalProperties":
            known = set(error.schema.get("properties", {}))
            return [Problem((*path, redact(n)), _FURTHER) for n in error.instance if n not in known]
        case "enum":
            allowed = ", ".join(json.dumps(value, ensure_ascii=False) for value in error.validator_value)
            return [Problem(path, f"must be one of {allowed}; found {found}")]
        case "type":
            return [Problem(path, f"must be of type {error.validator_value}, found {_kind(error.instance)}")]
        case _:
            rule = f"{error.validator} {json.dumps(error.validator_value)}"
            return [Problem(path, f"breaks the rule {redact(rule)[:120]}; found {found}")]


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", str: "a text", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")


def _token_spans(text: str, tokens: Sequence[Any]) -> list[tuple[int, int, float]]:
    """Return the first byte, the byte after the last, and the log-probability of each token."""
    spans: list[tuple[int, int, float]] = []
    joined = bytearray()
    for entry in tokens:
        if not isinstance(entry, Mapping):
            return []
        piece, logprob = _piece(entry), _logprob(entry)
        if piece is None or logprob is None:
            return []
        spans.append((len(joined), len(joined) + len(piece), logprob))
        joined += piece
    return spans if bytes(joined) == text.encode("utf-8", "surrogatepass") else []


def _piece(entry: Mapping[str, Any]) -> bytes | None:
    raw, token = entry.get("bytes"), entry.get("token")
    if isinstance(raw, list) and raw:
        fits = all(isinstance(byte, int) and 0 <= byte <= _HIGHEST_BYTE for byte in raw)
        return bytes(raw) if fits else None
    return token.encode("utf-8", "surrogatepass") if isinstance(token, str) else None


def _logprob(entry: Mapping[str, Any]) -> float | None:
    found = entry.get("logprob")
    if not isinstance(found, int | float) or isinstance(found, bool) or not found <= _MOST_LIKELY:
        return None
    return float(max(found, -_LEAST_LIKELY))


def _value_spans(text: str) -> Iterable[tuple[str, int, int]]:
    """Yield each top-level property with where its value begins and ends (inside the quotes)."""
    decoder = json.JSONDecoder()
    position = _skip(text, 0)
    if not text.startswith("{", position):
        return
    position = _skip(text, position + 1)
    try:
        while text.startswith('"', position):
            name, position = decoder.raw_decode(text, position)
            position = _skip(text, position)
            start = _skip(text, position + 1)
            value, end = decoder.raw_decode(text, start)
            inner = isinstance(value, str) and value
            yield name, start + bool(inner), end - bool(inner)
            position = _skip(text, end)
            position = _skip(text, position + 1)
    except (ValueError, RecursionError):
        return


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position
