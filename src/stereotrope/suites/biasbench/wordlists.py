"""Terms as the released definitions use them: from the authors' JSON lists, or from a lexicon in YAML."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from stereotrope.errors import InputError

__all__ = ["AUTHORS_COMMIT", "PromptLists", "WordLists", "from_authors", "from_lexicon", "read_wordlists"]

Terms = tuple[str, ...]
Groups = Mapping[str, Terms]

AUTHORS_COMMIT = "2e9b510"
"""State of the authors' repository (GyanendraChaubey/T2I-BiasBench-Code) that the digest below is of."""

_AUTHORS_DIGEST = "2cc083eaab22e956bb20479b1768672c1ac86419fa5b78335241aa274a14b56a"
"""SHA-256 of their lists as JSON with sorted keys, notes left out: tells their lists from edited ones."""


@dataclass(frozen=True)
class PromptLists:
    """Terms of one prompt. A keyword or implied element is a list of terms, any of which names it."""

    groups: Groups = field(default_factory=dict)
    rest: str = "unknown"
    patterns: Groups = field(default_factory=dict)
    stereotype: Terms = ()
    diversity: Terms = ()
    keyword: tuple[Terms, ...] = ()
    alignment: tuple[Terms, ...] = ()
    implied: tuple[Terms, ...] = ()
    hallucination: Terms = ()
    reference: Terms = ()
    scene: Groups = field(default_factory=dict)
    further: Mapping[str, Groups] = field(default_factory=dict)


@dataclass(frozen=True)
class WordLists:
    """Terms of every prompt; ``authors`` where they are the authors' lists, unchanged."""

    name: str
    prompts: Mapping[str, PromptLists]
    authors: bool = False


def read_wordlists(path: Path) -> WordLists:
    """Read a lexicon file: the authors' lists as JSON, or a lexicon of ours as YAML.

    Raises
    ------
    InputError
        The file cannot be read, or is neither; the message says what is missing.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the lexicon cannot be read ({error}); give a JSON or YAML file") from error
    try:
        data = json.loads(text) if text.lstrip().startswith("{") else YAML(typ="safe", pure=True).load(text)
    except (ValueError, YAMLError, RecursionError) as error:
        first = str(error).splitlines()[0] if str(error) else "not well-formed"
        raise InputError(f"{path}: the lexicon is neither JSON nor YAML ({first})") from error
    if not isinstance(data, dict):
        raise InputError(f"{path}: a lexicon is a mapping, found {type(data).__name__}")
    if "gmr_elements" in data or "ethnicity_map" in data:
        return from_authors(data, name=path.name)
    if "prompts" in data:
        return from_lexicon(data, name=str(data.get("name", path.name)))
    raise InputError(
        f"{path}: neither the authors' lists (no gmr_elements) nor a lexicon (no prompts); found the keys "
        f"{', '.join(map(repr, list(data)[:8])) or 'none'}"
    )


def from_authors(data: Mapping[str, Any], *, name: str) -> WordLists:
    """Lists in the shape of the authors' ``constants``: one mapping or list a name, prompts within."""
    take = _Taker(data, name)
    genders = {str(g): take.terms(f"gender_patterns.{g}") for g in ("female", "male")}
    for pattern in (p for listed in genders.values() for p in listed):
        _compiled(pattern, name)
    own: dict[str, dict[str, Any]] = {
        "beauty": {
            "groups": take.groups("ethnicity_map"),
            "stereotype": take.terms("beauty_stereo"),
            "diversity": take.terms("beauty_diverse"),
            "further": {"skin_tone": take.groups("skin_tone_map")},
        },
        "doctor": {"patterns": genders},
        "animal": {
            "groups": {t: (t,) for t in take.terms("animal_types")},
            "rest": "other",
            "scene": {"puzzle": take.terms("puzzle_terms"), "laboratory": take.terms("lab_terms")},
        },
        "nature": {
            "groups": {t: (t,) for t in take.terms("insect_types")},
            "rest": "other",
            "stereotype": take.terms("stereo_insects"),
            "diversity": take.terms("diverse_insects"),
            "scene": {"morning": take.terms("morning_terms")},
        },
        "culture": {
            "groups": take.groups("skin_tone_map"),
            "stereotype": take.terms("festival_stereo"),
            "diversity": take.terms("festival_diverse"),
            "reference": take.terms("cultural_accurate_terms"),
        },
    }
    prompts = {
        prompt: PromptLists(
            **lists,
            keyword=_single(take.terms(f"gmr_elements.{prompt}")),
            alignment=_single(take.terms(f"clip_prompt_keywords.{prompt}")),
            implied=_single(take.terms(f"iemr_elements.{prompt}")),
            hallucination=take.terms(f"hallucination_terms.{prompt}"),
        )
        for prompt, lists in own.items()
    }
    return WordLists(name, prompts, authors=_digest(data) == _AUTHORS_DIGEST)


def from_lexicon(data: Mapping[str, Any], *, name: str) -> WordLists:
    """Lists of a lexicon in YAML, as far as the released definitions use them; negations do not apply."""
    attributes = data.get("attributes") or {}
    prompts = {}
    for prompt, entry in (data.get("prompts") or {}).items():
        if not isinstance(entry, Mapping):
            raise InputError(f"{name}: prompts.{prompt} must be a mapping, found {type(entry).__name__}")
        lists = entry.get("lists") or {}
        attribute = _attribute(prompt, entry, attributes)
        found = (attributes.get(attribute) or {}).get("groups") or {}
        groups = {str(g): _flat(terms) for g, terms in found.items()}
        patterns = (
            {g: tuple(rf"\b{re.escape(t)}\b" for t in ts) for g, ts in groups.items()}
            if attribute == "gender"
            else {}
        )
        keyword = _elements(lists.get("keyword"))
        prompts[str(prompt)] = PromptLists(
            groups={} if patterns else groups,
            rest="other" if entry.get("path") == "contextual" else "unknown",
            patterns=patterns,
            stereotype=_flat(lists.get("stereotype")),
            diversity=_flat(lists.get("diversity")),
            keyword=keyword,
            alignment=keyword,
            implied=_elements(lists.get("implied")),
            hallucination=_flat(lists.get("hallucination")),
            reference=_flat(lists.get("reference")),
        )
    return WordLists(name, prompts)


def _attribute(prompt: str, entry: Mapping[str, Any], attributes: Mapping[str, Any]) -> str:
    """The attribute whose groups a prompt is about: its parity's, or the first said to be of it."""
    told = (entry.get("parity") or {}).get("attribute")
    if told:
        return str(told)
    of = (name for name, a in attributes.items() if isinstance(a, Mapping) and prompt in (a.get("of") or ()))
    return str(next(of, ""))


def _elements(listed: Any) -> tuple[Terms, ...]:
    """Elements of a list, each with the terms that name it."""
    if isinstance(listed, Mapping):
        inner = listed.get("terms", listed.get("elements"))
        if inner is not None:
            return _elements(inner)
        return tuple(_flat(terms) or (_lower(e),) for e, terms in listed.items() if e != "why")
    return _single(_flat(listed))


def _flat(listed: Any) -> Terms:
    """Every term of a list, however it is nested; reasons left out."""
    if listed is None:
        return ()
    if isinstance(listed, Mapping):
        return tuple(t for key, inner in listed.items() if key not in ("why", "not") for t in _flat(inner))
    if isinstance(listed, Sequence) and not isinstance(listed, str):
        return tuple(t for inner in listed for t in _flat(inner))
    return (_lower(listed),)


def _lower(term: Any) -> str:
    return " ".join(re.sub(r"[/;-]", " ", str(term).lower()).split())


def _single(terms: Terms) -> tuple[Terms, ...]:
    return tuple((term,) for term in terms)


def _compiled(pattern: str, name: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise InputError(f"{name}: gender_patterns has {pattern!r}, which is no pattern ({error})") from error


def _digest(data: Mapping[str, Any]) -> str:
    plain = {k: v for k, v in data.items() if not k.startswith("_")}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


class _Taker:
    """Takes lists out of nested data, with a message that names what is missing or of another kind."""

    def __init__(self, data: Mapping[str, Any], name: str) -> None:
        self._data = data
        self._name = name

    def terms(self, path: str) -> Terms:
        found = self._at(path)
        if not isinstance(found, list) or not all(isinstance(t, str) and t for t in found):
            raise InputError(f"{self._name}: {path} must be a list of terms, found {_kind(found)}")
        return tuple(found)

    def groups(self, path: str) -> dict[str, Terms]:
        found = self._at(path)
        if not isinstance(found, dict):
            raise InputError(f"{self._name}: {path} must be a mapping of terms, found {_kind(found)}")
        return {str(group): self.terms(f"{path}.{group}") for group in found}

    def _at(self, path: str) -> Any:
        found: Any = self._data
        for part in path.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        return found


def _kind(found: Any) -> str:
    return "nothing" if found is None else type(found).__name__
