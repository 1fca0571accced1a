"""A lexicon: terms, what they stand for, and what they say of captions."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import InputError, did_you_mean
from stereotrope.lexicon.matching import Matcher, Matches
from stereotrope.lexicon.parts import LISTS, Grouped, Matching, PromptEntry, Term
from stereotrope.tables import UNKNOWN, fingerprint_of

_VERSION = 3
"""Of the matching; part of a lexicon's fingerprint."""
_AT_ONCE = 2_000
"""Captions whose hits of all prompts' terms are in memory at once."""


@dataclass(frozen=True)
class Lexicon:
    """Terms and what they stand for, made by :func:`read_lexicon` or :func:`lexicon_from`.

    prompts: Prompt → its lists. The names are compared case-folded with the factor of a captions frame.
    """

    name: str
    attributes: Mapping[str, Grouped] = field(default_factory=dict)
    prompts: Mapping[str, PromptEntry] = field(default_factory=dict)
    matching: Matching = field(default_factory=Matching)
    version: str | None = None
    source: str | None = None
    licence: str | None = None

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Every term of every group and list, in their order: what the term index of a match means."""
        grouped = [
            Term(name, None, group, term, attribute.exclude)
            for name, attribute in self.attributes.items()
            for group, terms in attribute.groups.items()
            for term in terms
        ]
        listed = [
            Term(name, prompt, element, term, one.exclude)
            for prompt, entry in self.prompts.items()
            for name, one in entry.lists.items()
            for element, terms in one.elements.items()
            for term in terms
        ]
        return (*grouped, *listed)

    def groups_of_terms(self, name: str) -> NDArray[np.int64]:
        """The group of a grouped attribute that each term stands for, -1 where it is of none."""
        groups = {group: place for place, group in enumerate(self.attributes[name].groups)}
        of_term = [groups[t.element] if (t.attribute, t.prompt) == (name, None) else -1 for t in self.terms]
        return np.array(of_term, dtype=np.int64)

    @property
    def lists(self) -> tuple[str, ...]:
        """Lists that any prompt has, in the order of :data:`LISTS`."""
        there = {name for prompt in self.prompts.values() for name in prompt.lists}
        return tuple(name for name in LISTS if name in there)

    @property
    def fingerprint(self) -> str:
        """Short hash of everything that can change a match or a label."""
        attributes = [[n, a.priority, a.decide, a.of, list(a.groups)] for n, a in self.attributes.items()]
        terms = [[e.attribute, e.prompt, e.element, e.term, e.exclude] for e in self.terms]
        how = [self.matching.boundary, self.matching.split_case, self.matching.forms]
        data = json.dumps([attributes, terms], ensure_ascii=False).encode()
        return fingerprint_of("lexicon", _VERSION, {"matching": how}, data)

    @cached_property
    def _matcher(self) -> Matcher:
        return Matcher(self.terms, self.matching)

    def match(self, captions: Sequence[str | None]) -> Matches:
        """Find every term in every caption, in one pass.

        Returns: Hits by caption, term, start and end. Terms of all prompts are looked for in all captions;
            :meth:`frame` and the annotator keep those of a caption's own prompt.
        """
        return self._matcher.match(captions)

    def frame(self, captions: pl.DataFrame, *, prompt: str = "prompt") -> pl.DataFrame:
        """Add what the captions say to a captions frame.

        captions: A row a caption, with the column ``caption`` and, where the lexicon has prompts, the column
            ``prompt`` names.
        Returns: The frame with a String column a grouped attribute (group, ``unknown``, or groups joined by
            `` and ``) and a List(String) column a term list: the elements of which a term was found, each
            once, in the order of the list. Null where the caption is null, or the attribute or list is not of
            its prompt.
        Raises InputError: A column is missing, or stands in the way.
        """
        return Reading(self, captions, prompt).framed


AND = " and "
"""Between the groups of a double mention."""
Mentioned = tuple[int, tuple[int, ...], tuple[int, ...]]
"""A caption, what it has hits of, ascending, and how many of each."""


class Reading:
    """What a lexicon reads in captions, matched once.

    captions: A row a caption: ``caption``, and the column ``prompt`` names where the lexicon has prompts.
    Raises InputError: A column is missing, or stands in the way.
    """

    def __init__(self, lexicon: Lexicon, captions: pl.DataFrame, prompt: str = "prompt") -> None:
        _check_columns(lexicon, captions, prompt)
        self.lexicon, self.captions, self.prompt = lexicon, captions, prompt
        texts = captions["caption"].to_list()
        named = captions[prompt].to_list() if lexicon.prompts else [None] * len(texts)
        self._own = _prompt_numbers(lexicon, named)
        self._said = np.array([text is not None for text in texts], dtype=bool)
        prompts = {name: place for place, name in enumerate(lexicon.prompts)}
        self._of = np.array([-1 if e.prompt is None else prompts[e.prompt] for e in lexicon.terms], np.int64)
        self.matches: Matches = self.matched(lexicon.match, texts)

    def matched(
        self, match: Callable[[Sequence[str | None]], Matches], texts: Sequence[str | None]
    ) -> Matches:
        """Return the hits in the captions, but for those of other prompts' terms.

        Some captions are read at a time: a term that many prompts list has as many hits each.
        """
        parts = []
        for start in range(0, max(len(texts), 1), _AT_ONCE):
            own = self._own[start : start + _AT_ONCE]
            found = match(texts[start : start + _AT_ONCE])
            excluded = None if found.excluded is None else self._of_prompt(found.excluded, own)
            parts.append(replace(self._of_prompt(found, own), excluded=excluded))
        return Matches.joined(parts)

    def _of_prompt(self, found: Matches, own: NDArray[np.int64]) -> Matches:
        of = self._of[found.term]
        return found.only((of < 0) | (of == own[found.caption]))

    @cached_property
    def framed(self) -> pl.DataFrame:
        """The captions with the columns of :meth:`Lexicon.frame`."""
        return self.captions.with_columns(
            *(pl.Series(name, self._groups(name), dtype=pl.String) for name in self.lexicon.attributes),
            *(pl.Series(name, self._elements(name), dtype=pl.List(pl.String)) for name in self.lexicon.lists),
        )

    @cached_property
    def asked(self) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which captions each scope of terms is looked for in, and the scope of each term.

        Scopes, the rows of the first array, are the grouped attributes and then the prompts.
        """
        lexicon = self.lexicon
        rows = [_has(one, lexicon.prompts, self._own) for one in lexicon.attributes.values()]
        rows += [self._own == place for place in range(len(lexicon.prompts))]
        scopes = np.array(rows, dtype=bool).reshape(len(rows), len(self._own)) & self._said
        attributes = {name: place for place, name in enumerate(lexicon.attributes)}
        prompts = {name: len(attributes) + place for place, name in enumerate(lexicon.prompts)}
        of_term = [attributes[e.attribute] if e.prompt is None else prompts[e.prompt] for e in lexicon.terms]
        return scopes, np.array(of_term, dtype=np.int64)

    def counted(self, matches: Matches) -> Matches:
        """Return the hits that are of their caption's prompt."""
        scopes, of_term = self.asked
        return matches.only(scopes[of_term[matches.term], matches.caption])

    def found(self, name: str) -> Iterator[Mentioned]:
        """Yield the captions with a hit of an attribute: which, its groups, and how many hits of each."""
        group = self.lexicon.groups_of_terms(name)[self.matches.term]
        hit = group >= 0
        return _held(self.matches.caption[hit], group[hit])

    def _groups(self, name: str) -> list[str | None]:
        attribute = self.lexicon.attributes[name]
        scopes, _ = self.asked
        asked = scopes[list(self.lexicon.attributes).index(name)].tolist()
        values: list[str | None] = [UNKNOWN if wanted else None for wanted in asked]
        named: dict[tuple[tuple[int, ...], tuple[int, ...]], str] = {}
        for caption, groups, counts in self.found(name):
            if not asked[caption]:
                continue
            key = groups, counts if attribute.decide == "most" else ()
            if key not in named:
                named[key] = _group(attribute, groups, counts)
            values[caption] = named[key]
        return values

    def _elements(self, name: str) -> pl.Series:
        """Return the elements of a list found in each caption, each once, in the order of the list."""
        terms, prompts = self.lexicon.terms, {name: place for place, name in enumerate(self.lexicon.prompts)}
        of_prompt = np.array(
            [-2 if e.prompt is None or e.attribute != name else prompts[e.prompt] for e in terms], np.int64
        )
        having = [place for one, place in prompts.items() if name in self.lexicon.prompts[one].lists]
        listed = self._said & np.isin(self._own, having)
        caption, term = self.matches.caption, self.matches.term
        hit = listed[caption] & (of_prompt[term] == self._own[caption])
        # Most captions hold one of few lists: each different list is made once.
        different: dict[tuple[int, ...], int] = {(): 1}
        which = np.where(listed, 1, 0)
        for number, places, _ in _held(caption[hit], term[hit]):
            which[number] = different.setdefault(places, len(different) + 1)
        lists = [list(dict.fromkeys(terms[place].element for place in places)) for places in different]
        return pl.Series(name, [None, *lists], dtype=pl.List(pl.String)).gather(which)


def _held(caption: NDArray[np.int64], what: NDArray[np.int64]) -> Iterator[Mentioned]:
    """Yield each caption of some hits, what they are hits of, ascending, and how many of each."""
    size = int(what.max(initial=0)) + 1
    keys, counts = np.unique(caption * size + what, return_counts=True)
    captions, held = np.divmod(keys, size)
    first = np.flatnonzero(np.diff(captions, prepend=-1)).tolist()
    all_held, all_counts = held.tolist(), counts.tolist()
    for start, end in zip(first, [*first[1:], len(keys)], strict=False):
        yield int(captions[start]), tuple(all_held[start:end]), tuple(all_counts[start:end])


def _check_columns(lexicon: Lexicon, captions: pl.DataFrame, prompt: str) -> None:
    for name in ("caption", *([prompt] if lexicon.prompts else [])):
        if name not in captions.columns:
            hint = did_you_mean(name, captions.columns, otherwise=f"there are {', '.join(captions.columns)}")
            raise InputError(f"captions frame: no column {name!r}; {hint}")
    for name in (*lexicon.attributes, *lexicon.lists):
        if name in captions.columns:
            raise InputError(
                f"captions frame: the column {name!r} is there already, and lexicon {lexicon.name!r} makes "
                "it; drop or rename it"
            )


def _prompt_numbers(lexicon: Lexicon, prompts: Sequence[str | None]) -> NDArray[np.int64]:
    """Return each caption's prompt as its place among the lexicon's, -1 where it is none of them."""
    places = {name.casefold(): place for place, name in enumerate(lexicon.prompts)}
    known = {one: places.get(str(one).strip().casefold(), -1) for one in set(prompts)}
    return np.array([known[one] for one in prompts], dtype=np.int64)


def _has(attribute: Grouped, prompts: Mapping[str, object], own: NDArray[np.int64]) -> NDArray[np.bool_]:
    if attribute.of is None:
        return np.ones(len(own), dtype=bool)
    named = {name.casefold() for name in attribute.of}
    return np.isin(own, [place for place, name in enumerate(prompts) if name.casefold() in named])


def _group(attribute: Grouped, places: Sequence[int], counts: Sequence[int]) -> str:
    groups = list(attribute.groups)
    found = [groups[place] for place in places]
    if attribute.decide == "most":
        found = [name for name, n in zip(found, counts, strict=True) if n == max(counts)]
    if len(found) > 1:
        first = [name for name in attribute.priority if name in found][:1]
        found = first or found
    return AND.join(found)
