"""Terms as the released definitions use them: from the authors' JSON lists, or from a lexicon in YAML."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stereotrope.errors import InputError
from stereotrope.lexicon import Lexicon, lexicon_from, read_lexicon
from stereotrope.suites.biasbench.prompts import BENCHMARK_PROMPTS, data_of, prompt_texts

_STEMS = ("symmetr", "manipulat")
_FLAT = ("stereotype", "diversity", "hallucination", "reference")

Terms = tuple[str, ...]
GroupTerms = Mapping[str, Terms]

GENDER = "gender"
"""The attribute whose groups the released scripts find by patterns of whole words."""

_AUTHORS_DIGEST = "2cc083eaab22e956bb20479b1768672c1ac86419fa5b78335241aa274a14b56a"
"""SHA-256 of their lists as JSON with sorted keys, notes left out: tells their lists from edited ones.

Of commit 2e9b510 of the authors' repository GyanendraChaubey/T2I-BiasBench-Code.
"""


@dataclass(frozen=True)
class PromptLists:
    """Terms of one prompt; of ``lists`` by name, an element is a list of terms, any of which names it."""

    groups: GroupTerms = field(default_factory=dict)
    rest: str = "unknown"
    patterns: GroupTerms = field(default_factory=dict)
    lists: Mapping[str, tuple[Terms, ...]] = field(default_factory=dict)
    scene: GroupTerms = field(default_factory=dict)
    further: Mapping[str, GroupTerms] = field(default_factory=dict)

    def flat(self, name: str) -> Terms:
        """The terms of a list, whatever they name."""
        return tuple(term for terms in self.lists.get(name, ()) for term in terms)


@dataclass(frozen=True)
class WordLists:
    """Terms of every prompt, as the released definitions use them; ``authors`` if unchanged from theirs.

    ``lexicon`` has the same terms for the paper's formulas, found as whole words by its own matching, but for
    attributes that go by patterns (``patterned``), as the authors' gender does.
    """

    name: str
    prompts: Mapping[str, PromptLists]
    lexicon: Lexicon
    authors: bool = False
    patterned: Terms = ()


def read_wordlists(path: Path | None = None) -> WordLists:
    """Read a lexicon file: the authors' lists as JSON, or a lexicon of ours; the built-in one for None.

    Raises InputError: The file cannot be read, or is neither; the message says what is missing.
    """
    if path is None or path.suffix.lower() != ".json":
        return from_lexicon(read_lexicon(path or "biasbench"))
    try:
        data = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: the lexicon cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: the lexicon is not JSON ({error})") from error
    if not isinstance(data, dict) or "gmr_elements" not in data:
        raise InputError(
            f"{path}: not the authors' lists, which hold gmr_elements; write a lexicon of your own as YAML"
        )
    return _from_authors(data, path.name)


def _from_authors(data: Mapping[str, Any], name: str) -> WordLists:
    """Lists in the shape of the authors' ``constants``: one mapping or list a name, prompts within."""

    def terms(path: str) -> Terms:
        return tuple(_at(data, path, list, name))

    def groups(path: str | None) -> GroupTerms:
        found = _at(data, path, dict, name) if path else ()
        return {str(group): terms(f"{path}.{group}") for group in found}

    genders = {group: terms(f"gender_patterns.{group}") for group in ("female", "male")}
    for pattern in (p for listed in genders.values() for p in listed):
        try:
            re.compile(pattern)
        except re.error as error:
            raise InputError(
                f"{name}: gender_patterns has {pattern!r}, which is no pattern ({error})"
            ) from error
    prompts = {}
    for prompt, at in data_of("authors.yaml").items():
        lists = {
            "keyword": f"gmr_elements.{prompt}",
            "alignment": f"clip_prompt_keywords.{prompt}",
            "implied": f"iemr_elements.{prompt}",
            "hallucination": f"hallucination_terms.{prompt}",
            **{name: at[name] for name in _FLAT if name in at},
        }
        prompts[prompt] = PromptLists(
            groups={t: (t,) for t in terms(at["kinds"])} if "kinds" in at else groups(at.get("groups")),
            rest="other" if "kinds" in at else "unknown",
            patterns=genders if at["attribute"] == GENDER else {},
            lists={name: tuple((term,) for term in terms(path)) for name, path in lists.items()},
            scene={scene: terms(path) for scene, path in at.get("scene", {}).items()},
            further={attribute: groups(path) for attribute, path in at.get("further", {}).items()},
        )
    plain = {k: v for k, v in data.items() if not k.startswith("_")}
    digest = hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
    lexicon = lexicon_from(_authors_mapping(prompts, name))
    return WordLists(name, prompts, lexicon, digest == _AUTHORS_DIGEST, (GENDER,))


def from_lexicon(lexicon: Lexicon) -> WordLists:
    """Lists of a lexicon, as far as the released definitions use them: negations and ``*`` do not apply.

    A prompt of the suite for which the lexicon has no text has the suite's.
    """
    lexicon = _of_the_suite(lexicon)
    prompts = {}
    for prompt, entry in lexicon.prompts.items():
        attribute = attribute_of(prompt, lexicon)
        found = lexicon.attributes[attribute].groups if attribute else {}
        groups = {group: tuple(map(_plain, terms)) for group, terms in found.items()}
        patterns = {g: tuple(rf"\b{re.escape(t)}\b" for t in terms) for g, terms in groups.items()}
        lists = {
            name: tuple(tuple(map(_plain, terms)) for terms in one.elements.values())
            for name, one in entry.lists.items()
            if entry.cas or name not in ("stereotype", "diversity")
        }
        by_patterns = attribute == GENDER
        prompts[prompt] = PromptLists(
            groups={} if by_patterns else groups,
            rest="other" if entry.path == "contextual" else "unknown",
            patterns=patterns if by_patterns else {},
            lists={**lists, "alignment": lists.get("keyword", ())},
        )
    return WordLists(lexicon.name, prompts, lexicon)


def _of_the_suite(lexicon: Lexicon) -> Lexicon:
    """Name the suite's prompts as the suite does, and give them its texts where they have none."""
    texts = prompt_texts()
    prompts = {}
    for name, entry in lexicon.prompts.items():
        own = name.casefold() if name.casefold() in BENCHMARK_PROMPTS else name
        prompts[own] = entry.model_copy(update={"text": entry.text or texts.get(own)})
    return replace(lexicon, prompts=prompts)


def attribute_of(prompt: str, lexicon: Lexicon) -> str | None:
    """Return the attribute whose groups a prompt is about: its parity's, or the first said to be of it."""
    parity = lexicon.prompts[prompt].parity
    if parity is not None:
        return parity.attribute
    named = {name: {one.casefold() for one in a.of or ()} for name, a in lexicon.attributes.items()}
    return next((name for name, of in named.items() if prompt.casefold() in of), None)


def _plain(term: str) -> str:
    """A term as the released matching would have it: letters, without the mark of an open end."""
    return " ".join(re.sub(r"[/;-]", " ", term.lower().replace("*", "")).split())


def _authors_mapping(prompts: Mapping[str, PromptLists], name: str) -> dict[str, Any]:
    """The authors' lists as a lexicon: whole words (equation 3), the first listed group first."""
    order = ("doctor", "beauty", "culture", "animal", "nature")
    authors = data_of("authors.yaml")
    return {
        "name": name,
        "matching": {"boundary": "word", "split_case": False, "forms": False},
        "attributes": {authors[p]["attribute"]: _attribute_mapping(p, prompts[p]) for p in order},
        "prompts": {prompt: _prompt_mapping(prompt, lists) for prompt, lists in prompts.items()},
    }


def _attribute_mapping(prompt: str, lists: PromptLists) -> dict[str, Any]:
    groups = {group: list(dict.fromkeys(terms)) for group, terms in lists.groups.items()}
    groups |= {group: list(dict.fromkeys(_of_patterns(terms))) for group, terms in lists.patterns.items()}
    decide = "most" if lists.patterns else "first"
    return {"of": [prompt], "priority": list(groups), "decide": decide, "groups": groups}


def _prompt_mapping(prompt: str, lists: PromptLists) -> dict[str, Any]:
    terms = {name: list(lists.flat(name)) for name in ("keyword", "implied")}
    # A stem of words that is no word is open at its end.
    terms |= {name: [f"{t}*" if t in _STEMS else t for t in lists.flat(name)] for name in _FLAT}
    parity = {name: sides for name, sides in data_of("authors.yaml")[prompt].items() if name == "parity"}
    return {
        "path": "demographic" if parity else "contextual",
        "text": prompt_texts()[prompt],
        "cas": bool(lists.flat("stereotype")),
        "lists": {name: {"terms": listed} for name, listed in terms.items() if listed},
        **parity,
    }


def _of_patterns(patterns: Terms) -> Iterator[str]:
    """Terms that find what the patterns do, open where there is no boundary, none counting a word twice."""
    first = [pattern for pattern in patterns if pattern.startswith("^")]
    begins = [re.sub(r"\^|\[\\w\]", "", pattern) for pattern in first]
    yield from (f"{word}*" for word in begins)
    for pattern in patterns:
        word = pattern.replace("\\b", "")
        if not pattern.startswith("^") and word not in begins:
            left = "" if pattern.startswith("\\b") else "*"
            right = "" if pattern.endswith("\\b") else "*"
            yield left + word + right


def _at(data: Mapping[str, Any], path: str, kind: type, name: str) -> Any:
    """What stands in nested data, if it is of a kind."""
    found: Any = data
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    whole = kind is dict or (isinstance(found, list) and all(map(_is_text, found)))
    if not isinstance(found, kind) or not whole:
        must = "a list of terms" if kind is list else "a mapping of terms"
        what = "nothing" if found is None else type(found).__name__
        raise InputError(f"{name}: {path} must be {must}, found {what}")
    return found


def _is_text(term: Any) -> bool:
    """Whether a term has characters, all of them whole."""
    return isinstance(term, str) and bool(term) and not any("\ud800" <= sign <= "\udfff" for sign in term)
