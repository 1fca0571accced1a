"""A lexicon: terms, what they stand for, and finding them in captions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from stereotrope.annotate.label import fingerprint_of
from stereotrope.annotate.lexicon.matching import Matcher, Matches
from stereotrope.annotate.lexicon.parts import LISTS, Entry, Grouped, Matching, PromptEntry
from stereotrope.annotate.lexicon.wide import Reading

__all__ = ["Lexicon"]

VERSION = 3
"""Of the matching; part of a lexicon's fingerprint."""


@dataclass(frozen=True)
class Lexicon:
    """Terms and what they stand for, made by :func:`read_lexicon` or :func:`lexicon_from`.

    Attributes
    ----------
    name
        Its name.
    attributes
        Grouped attributes.
    prompts
        Prompt → its lists. The names are compared case-folded with the factor of a captions frame.
    matching
        How terms are found.
    version, source, licence
        Of the data.
    """

    name: str
    attributes: Mapping[str, Grouped] = field(default_factory=dict)
    prompts: Mapping[str, PromptEntry] = field(default_factory=dict)
    matching: Matching = field(default_factory=Matching)
    version: str | None = None
    source: str | None = None
    licence: str | None = None

    @cached_property
    def terms(self) -> tuple[Entry, ...]:
        """Every term of every group and list, in their order: what the term index of a match means."""
        grouped = [
            Entry(name, None, group, term, attribute.exclude)
            for name, attribute in self.attributes.items()
            for group, terms in attribute.groups.items()
            for term in terms
        ]
        listed = [
            Entry(name, prompt, element, term, one.exclude)
            for prompt, entry in self.prompts.items()
            for name, one in entry.lists.items()
            for element, terms in one.elements.items()
            for term in terms
        ]
        return (*grouped, *listed)

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
        return fingerprint_of("lexicon", VERSION, {"matching": how}, data)

    @cached_property
    def _matcher(self) -> Matcher:
        return Matcher(self.terms, self.matching)

    def match(self, captions: Sequence[str | None]) -> Matches:
        """Find every term in every caption, in one pass.

        Parameters
        ----------
        captions
            Texts; None counts as empty.

        Returns
        -------
        Matches
            Hits by caption, term, start and end. Terms of all prompts are looked for in all captions;
            :meth:`frame` and the annotator keep those of a caption's own prompt.
        """
        return self._matcher.match(captions)

    def frame(self, captions: pl.DataFrame, *, prompt: str = "prompt") -> pl.DataFrame:
        """Add what the captions say to a captions frame.

        Parameters
        ----------
        captions
            A row a caption, with the column ``caption`` and, where the lexicon has prompts, the column
            ``prompt`` names.
        prompt
            Column that says which prompt a caption belongs to.

        Returns
        -------
        DataFrame
            The frame with a String column a grouped attribute (group, ``unknown``, or groups joined by
            `` and ``) and a List(String) column a term list: the elements of which a term was found, each
            once, in the order of the list. Null where the caption is null, or the attribute or list is not
            of its prompt.

        Raises
        ------
        InputError
            A column is missing, or stands in the way.
        """
        return Reading(self, captions, prompt).framed
