"""The matching audit: which hits of a lexicon are not what their terms mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.annotate.lexicon.matching import Matcher, Matches
from stereotrope.annotate.lexicon.model import Lexicon
from stereotrope.annotate.lexicon.parts import Matching
from stereotrope.annotate.lexicon.surroundings import longer_word, noun_after
from stereotrope.annotate.lexicon.wide import AND, UNKNOWN, add_columns, asked_of, prompt_numbers

__all__ = ["MatchingAudit", "matching_audit"]

_WORDS = 5
"""Longer words and nouns named for a term, the most frequent first."""
_INSIDE, _GLUED = 2, 1


@dataclass(frozen=True)
class MatchingAudit:
    """What a lexicon finds in captions, and what of it to doubt.

    Attributes
    ----------
    terms
        A row a term: ``attribute``, ``prompt`` (of a list, else null), ``element``, ``term``;
        ``n_captions`` it was looked for in, ``n_captions_hit``, ``n_hits``; of these ``n_inside`` a longer
        word, ``n_glued`` (set off only by case or a digit), ``n_noun`` before a garment's, a background's
        or hair's noun; ``n_double`` captions in which another group of the attribute was found too;
        ``n_excluded`` by a phrase of ``not``; ``n_missed_glued`` glued words that the lexicon's matching
        does not see, ``n_kept_out`` longer words that it rightly leaves alone; ``never`` where nothing was
        found; ``inside_words`` and ``nouns``, the most frequent first; up to three captions each in
        ``examples``, ``examples_inside`` and ``examples_noun``.
    labels
        A row a value of a grouped attribute: ``n`` captions; of these ``n_word`` have a whole word for it,
        glued ones aside, ``n_inside_only`` rest on hits inside longer words alone, ``n_noun_only`` on hits
        before such nouns alone, ``n_doubtful`` on these two alone; of those ``unknown``, ``n_named`` that
        the second reading gives a group and ``named``, how often which; ``examples`` of these captions.
    second
        Name of the lexicon that read the captions a second time.
    """

    terms: pl.DataFrame
    labels: pl.DataFrame
    second: str | None


def matching_audit(
    lexicon: Lexicon,
    captions: pl.DataFrame,
    *,
    prompt: str = "prompt",
    second: Lexicon | None = None,
    examples: int = 3,
) -> MatchingAudit:
    """Audit the matching of a lexicon on captions.

    Parameters
    ----------
    lexicon
        The lexicon.
    captions
        A row a caption: ``caption``, and the column ``prompt`` names where the lexicon has prompts.
    prompt
        Column that says which prompt a caption belongs to.
    second
        Another lexicon: captions without a group by the first are read again with its attribute of the
        same name.
    examples
        Captions shown for a term.

    Raises
    ------
    InputError
        A column is missing.
    """
    keep = [name for name in ("caption", prompt) if name in captions.columns]
    framed = add_columns(lexicon, captions.select(keep), prompt=prompt)
    evidence = _Evidence(lexicon, framed, prompt)
    return MatchingAudit(
        evidence.terms(examples),
        evidence.labels(framed, _again(second, framed.select(keep), prompt), examples),
        None if second is None else second.name,
    )


def _again(second: Lexicon | None, captions: pl.DataFrame, prompt: str) -> pl.DataFrame:
    return pl.DataFrame() if second is None else add_columns(second, captions, prompt=prompt)


class _Evidence:
    """The hits that count for a caption of their prompt, and what stands around them."""

    def __init__(self, lexicon: Lexicon, framed: pl.DataFrame, prompt: str) -> None:
        self.lexicon = lexicon
        texts = framed["caption"].to_list()
        own = prompt_numbers(lexicon, framed[prompt].to_list() if lexicon.prompts else [None] * len(texts))
        said = np.array([text is not None for text in texts], dtype=bool)
        self.asked = asked_of(lexicon, own, said)
        self.hits = self._of_prompt(lexicon.match(texts))
        plain = Matcher(lexicon.terms, Matching("substring", split_case=False))
        self.possible = self._of_prompt(plain.match(texts))
        self.nouns = [
            None if seam == _INSIDE else noun_after(self.hits.captions[caption], end)
            for caption, end, seam in zip(
                self.hits.caption.tolist(), self.hits.end.tolist(), self.hits.seam.tolist(), strict=True
            )
        ]
        self.noun = np.array([noun is not None for noun in self.nouns], dtype=bool)
        self.inside = self.hits.seam == _INSIDE
        self.doubles = self._doubles()

    def _of_prompt(self, matches: Matches) -> Matches:
        kept = matches.only(self.asked[matches.caption, matches.term])
        gone = matches.excluded
        if gone is not None:
            gone = gone.only(self.asked[gone.caption, gone.term])
        return Matches(kept.captions, kept.caption, kept.term, kept.start, kept.end, kept.seam, excluded=gone)

    def _doubles(self) -> dict[str, NDArray[np.bool_]]:
        """Attribute → captions in which several of its groups were found."""
        found = {}
        for name, attribute in self.lexicon.attributes.items():
            groups = np.zeros((len(self.hits.captions), len(attribute.groups)), dtype=bool)
            places = {group: at for at, group in enumerate(attribute.groups)}
            for term, entry in enumerate(self.lexicon.terms):
                if entry.attribute == name and entry.prompt is None:
                    groups[self.hits.caption[self._by_term(term)], places[entry.element]] = True
            found[name] = groups.sum(axis=1) > 1
        return found

    def _by_term(self, term: int) -> NDArray[np.int64]:
        return _rows_of(self.hits, term)

    def terms(self, examples: int) -> pl.DataFrame:
        rows = []
        gone = self.hits.excluded
        for number, entry in enumerate(self.lexicon.terms):
            own = self._by_term(number)
            captions = np.unique(self.hits.caption[own])
            inside, noun = own[self.inside[own]], own[self.noun[own]]
            possible = self.possible.seam[_rows_of(self.possible, number)]
            glued = int((self.hits.seam[own] == _GLUED).sum())
            double = self.doubles.get(entry.attribute) if entry.prompt is None else None
            words = Counter(self._word(hit) for hit in inside.tolist())
            nouns = Counter(found[0] for hit in noun.tolist() if (found := self.nouns[hit]))
            rows.append(
                {
                    "attribute": entry.attribute,
                    "prompt": entry.prompt,
                    "element": entry.element,
                    "term": entry.term,
                    "n_captions": int(self.asked[:, number].sum()),
                    "n_captions_hit": len(captions),
                    "n_hits": len(own),
                    "n_inside": len(inside),
                    "n_glued": glued,
                    "n_noun": len(noun),
                    "n_double": 0 if double is None else int(double[captions].sum()),
                    "n_excluded": 0 if gone is None else len(_rows_of(gone, number)),
                    "n_missed_glued": max(0, int((possible == _GLUED).sum()) - glued),
                    "n_kept_out": max(0, int((possible == _INSIDE).sum()) - len(inside)),
                    "never": len(own) == 0,
                    "inside_words": [word for word, _ in words.most_common(_WORDS)],
                    "nouns": [word for word, _ in nouns.most_common(_WORDS)],
                    "examples": self._texts(captions, examples),
                    "examples_inside": self._texts(self.hits.caption[inside], examples),
                    "examples_noun": self._texts(self.hits.caption[noun], examples),
                }
            )
        return pl.DataFrame(rows, schema=_TERMS)

    def _word(self, hit: int) -> str:
        hits = self.hits
        return longer_word(hits.captions[hits.caption[hit]], int(hits.start[hit]), int(hits.end[hit]))

    def _texts(self, captions: NDArray[np.int64], n: int) -> list[str]:
        return [self.hits.captions[one] for one in list(dict.fromkeys(captions.tolist()))[:n]]

    def labels(self, framed: pl.DataFrame, again: pl.DataFrame, examples: int) -> pl.DataFrame:
        rows = []
        for name, attribute in self.lexicon.attributes.items():
            values = np.array(framed[name].to_list(), dtype=object)
            second = again[name].to_list() if name in again.columns else None
            found = set(framed[name].drop_nulls().to_list())
            several = sorted(found - set(attribute.groups) - {UNKNOWN})
            for value in (*attribute.groups, *several, UNKNOWN):
                captions = np.flatnonzero(values == value)
                if value == UNKNOWN:
                    rows.append(self._unknown(name, captions, second, examples))
                else:
                    groups = (value,) if value in attribute.groups else tuple(value.split(AND))
                    rows.append(self._resting(name, value, groups, captions, examples))
        return pl.DataFrame(rows, schema=_LABELS)

    def _resting(
        self, name: str, value: str, groups: Sequence[str], captions: NDArray[np.int64], examples: int
    ) -> dict[str, object]:
        """Count the captions of a value by what its hits rest on."""
        terms = [
            number
            for number, entry in enumerate(self.lexicon.terms)
            if entry.attribute == name and entry.prompt is None and entry.element in groups
        ]
        own = np.isin(self.hits.term, terms)
        size = len(self.hits.captions)
        shaky = [
            np.bincount(self.hits.caption[own & ~doubt], minlength=size)[captions] == 0
            for doubt in (self.inside, self.noun, self.inside | self.noun, self.hits.seam > 0)
        ]
        return {
            **_row(name, value, len(captions)),
            "n_inside_only": int(shaky[0].sum()),
            "n_noun_only": int(shaky[1].sum()),
            "n_doubtful": int(shaky[2].sum()),
            "n_word": int((~shaky[3]).sum()),
            "examples": self._texts(captions[shaky[2]], examples),
        }

    def _unknown(
        self, name: str, captions: NDArray[np.int64], second: Sequence[str | None] | None, examples: int
    ) -> dict[str, object]:
        row = _row(name, UNKNOWN, len(captions))
        if second is None:
            return {**row, "n_named": None}
        named = [(one, said) for one in captions.tolist() if (said := second[one]) not in (None, UNKNOWN)]
        counts = Counter(str(said) for _, said in named)
        return {
            **row,
            "n_named": len(named),
            "named": [{"value": value, "n": n} for value, n in counts.most_common()],
            "examples": self._texts(np.array([one for one, _ in named], dtype=np.int64), examples),
        }


def _row(name: str, value: str, n: int) -> dict[str, object]:
    empty = dict.fromkeys(("n_word", "n_inside_only", "n_noun_only", "n_doubtful"), 0)
    return {"attribute": name, "value": value, "n": n, **empty, "n_named": None, "named": [], "examples": []}


def _rows_of(matches: Matches, term: int) -> NDArray[np.int64]:
    return np.flatnonzero(matches.term == term)


_NAMES = ("attribute", "prompt", "element", "term")
_COUNTS = (
    "n_captions",
    "n_captions_hit",
    "n_hits",
    "n_inside",
    "n_glued",
    "n_noun",
    "n_double",
    "n_excluded",
    "n_missed_glued",
    "n_kept_out",
)
_TEXTS = ("inside_words", "nouns", "examples", "examples_inside", "examples_noun")
_TERMS: dict[str, Any] = {
    **dict.fromkeys(_NAMES, pl.String),
    **dict.fromkeys(_COUNTS, pl.Int64),
    "never": pl.Boolean,
    **dict.fromkeys(_TEXTS, pl.List(pl.String)),
}
_LABELS: dict[str, Any] = {
    "attribute": pl.String,
    "value": pl.String,
    "n": pl.Int64,
    "n_word": pl.Int64,
    "n_inside_only": pl.Int64,
    "n_noun_only": pl.Int64,
    "n_doubtful": pl.Int64,
    "n_named": pl.Int64,
    "named": pl.List(pl.Struct({"value": pl.String, "n": pl.Int64})),
    "examples": pl.List(pl.String),
}
