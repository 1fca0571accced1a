"""The matching audit: which hits of a lexicon are not what their terms mean."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.lexicon.evidence import GLUED, INSIDE, Evidence, Grouping, place
from stereotrope.lexicon.model import AND, Lexicon, Reading
from stereotrope.lexicon.parts import UNKNOWN
from stereotrope.lexicon.rereading import Rereading

_KINDS = ("", "_inside", "_noun")
"""Endings of the columns that show all hits of a term, those inside longer words, and those before nouns."""
_WORDS = 5
"""Longer words and nouns named for a term, the most frequent first."""


@dataclass(frozen=True)
class MatchingAudit:
    """What a lexicon finds in captions, and what of it to doubt.

    Captions are told by their place in ``captions``. Where something is counted ``by`` a column, that column
    holds a row a level, with the same counts of its captions alone.

    terms: A row a term: ``attribute``, ``prompt`` (of a list, else null), ``element``, ``term``;
        ``n_captions`` it was looked for in, ``n_captions_hit``, ``n_hits``; of these ``n_inside`` a longer
        word, ``n_forms`` of which are forms of the term (``sarees``), ``n_glued`` (set off only by case or a
        digit), ``n_by_form`` (another form of the term: ``skinned``, ``hoverfly``; ``form_words``),
        ``n_noun`` before a garment's, a background's or hair's noun; ``n_doubtful``, hits inside longer words
        that are no form and that no ``*`` asks for, and those before nouns where the term names no thing;
        ``n_double`` captions in which another group of the attribute was found too; ``n_excluded`` by a
        phrase of ``not``; ``n_missed_glued`` glued words that the lexicon's matching does not see,
        ``n_kept_out`` longer words, no term of the element among them, that it leaves alone
        (``kept_out_words``); ``never`` where nothing was found; ``inside_words`` and ``nouns``, the most
        frequent first; up to three captions each in ``examples``, ``examples_inside`` and ``examples_noun``,
        and where the term is in them in ``places``, ``places_inside`` and ``places_noun``; ``by``.
    labels: A row a value of a grouped attribute: ``n`` captions; of these ``n_word`` have a whole word for
        it, glued ones aside, ``n_inside_only`` rest on hits inside longer words alone, ``n_noun_only`` on
        hits before such nouns alone, ``n_doubtful`` on these two alone; of those ``unknown``, ``n_named``
        that the second reading gives a group and ``named``, how often which; ``doubted``, the captions that
        are doubtful or so named; ``inside_words`` and ``nouns`` of these; ``examples`` and ``places``;
        ``by``.
    several: Captions that name several groups of an attribute, whatever its priority: ``attribute``,
        ``groups``, ``n`` of ``n_captions``, ``counted_as`` (value → captions), ``examples``, and in them
        ``places`` of one of the groups and ``places_other`` of another, empty where it is not behind the
        first.
    captions: The captions in Unicode's composed form, to which places refer; empty where there was none.
    second: Name of the lexicon that read the captions a second time.
    """

    terms: pl.DataFrame
    labels: pl.DataFrame
    several: pl.DataFrame
    captions: tuple[str, ...]
    second: str | None


def matching_audit(
    lexicon: Lexicon,
    captions: pl.DataFrame,
    *,
    prompt: str = "prompt",
    second: Lexicon | None = None,
    examples: int = 3,
    by: str | None = None,
) -> MatchingAudit:
    """Audit the matching of a lexicon on captions.

    captions: A row a caption: ``caption``, and the column ``prompt`` names where the lexicon has prompts.
    second: Another lexicon: captions without a group by the first are read again with its attribute of the
        same name.
    by: Column by whose levels everything is counted once more, such as the generator.
    Raises InputError: A column is missing.
    """
    keep = [name for name in ("caption", prompt) if name in captions.columns]
    reading = Reading(lexicon, captions.select(keep), prompt)
    levels = captions[by].to_list() if by is not None else None
    return audit_reading(reading, second=second, examples=examples, by=levels)


def audit_reading(
    reading: Reading,
    *,
    second: Lexicon | None = None,
    examples: int = 3,
    by: Sequence[str | None] | None = None,
) -> MatchingAudit:
    """Audit what a lexicon has read, without matching it again.

    As :func:`matching_audit`; ``by`` holds the level of each caption.
    """
    levels = _Levels(by)
    evidence = Evidence(reading)
    values = _Values(evidence, levels, second, examples)
    return MatchingAudit(
        _terms(evidence, values.doubles, levels, examples),
        pl.DataFrame(values.rows(), schema=_LABELS),
        pl.DataFrame(values.several(), schema=_SEVERAL).sort("n", descending=True, maintain_order=True),
        reading.matches.captions,
        None if second is None else second.name,
    )


class _Levels:
    """The levels of a column that counts are told by; none where there is no such column."""

    def __init__(self, values: Sequence[str | None] | None) -> None:
        said = [str(value) for value in values or ()]
        self.names = list(dict.fromkeys(said))
        places = {name: place for place, name in enumerate(self.names)}
        self._of = np.array([places[value] for value in said], dtype=np.int64)

    def counts(self, captions: NDArray[np.int64]) -> list[int]:
        if not self.names:
            return []
        return [int(n) for n in np.bincount(self._of[captions], minlength=len(self.names))]

    def table(self, rows: NDArray[np.int64], captions: NDArray[np.int64], n: int) -> list[list[int]]:
        """How many of some captions, each in one of ``n`` rows, are of each level."""
        if not self.names:
            return [[] for _ in range(n)]
        size = len(self.names)
        flat = np.bincount(rows * size + self._of[captions], minlength=n * size)
        found: list[list[int]] = flat.reshape(n, size).tolist()
        return found


def _terms(
    evidence: Evidence, doubles: dict[str, NDArray[np.bool_]], levels: _Levels, examples: int
) -> pl.DataFrame:
    hits, terms = evidence.hits, evidence.lexicon.terms
    scopes, of_term = evidence.reading.asked
    doubtful = evidence.doubt_inside | evidence.doubt_noun
    pairs = np.unique(hits.term * max(1, len(hits.captions)) + hits.caption)
    pair_term, pair_caption = np.divmod(pairs, max(1, len(hits.captions)))
    beyond = evidence.beyond
    left = np.flatnonzero(beyond.seam == INSIDE)
    counted = {
        "n_captions": scopes.sum(axis=1)[of_term] if len(terms) else of_term,
        "n_captions_hit": np.bincount(pair_term, minlength=len(terms)),
        "n_hits": evidence.counts(np.ones(len(hits), dtype=bool)),
        "n_inside": evidence.counts(evidence.inside),
        "n_forms": evidence.counts(evidence.form),
        "n_glued": evidence.counts(hits.seam == GLUED),
        "n_by_form": evidence.counts(hits.form),
        "n_noun": evidence.counts(evidence.noun >= 0),
        "n_doubtful": evidence.counts(doubtful),
        "n_double": np.zeros(len(terms), dtype=np.int64),
        "n_excluded": evidence.excluded,
        "n_missed_glued": np.bincount(beyond.term[beyond.seam == GLUED], minlength=len(terms)),
        "n_kept_out": np.bincount(beyond.term[left], minlength=len(terms)),
    }
    by_left = Grouping(beyond.term[left], len(terms))
    by_pair = Grouping(pair_term, len(terms))
    by_level = _terms_by_level(evidence, doubtful, levels)
    rows = []
    for number, entry in enumerate(terms):
        own = evidence.by_term.of(number)
        inside, noun = own[evidence.inside[own] & ~evidence.form[own]], own[evidence.noun[own] >= 0]
        if entry.prompt is None and len(own):
            captions = pair_caption[by_pair.of(number)]
            counted["n_double"][number] = doubles[entry.attribute][captions].sum()
        shown = {
            kind: evidence.places(hits_of_kind, examples)
            for kind, hits_of_kind in zip(_KINDS, (own, inside, noun), strict=True)
        }
        rows.append(
            {
                "attribute": entry.attribute,
                "prompt": entry.prompt,
                "element": entry.element,
                "term": entry.term,
                **{name: int(numbers[number]) for name, numbers in counted.items()},
                "never": len(own) == 0,
                "inside_words": evidence.words(inside, _WORDS),
                "form_words": evidence.words(own[hits.form[own]], _WORDS),
                "kept_out_words": evidence.words_left(left[by_left.of(number)], _WORDS),
                "nouns": evidence.named(noun, _WORDS),
                **{f"examples{kind}": _texts(hits.captions, places) for kind, places in shown.items()},
                **{f"places{kind}": places for kind, places in shown.items()},
                "by": by_level[number],
            }
        )
    texts = ("inside_words", "form_words", "kept_out_words", "nouns", *(f"examples{kind}" for kind in _KINDS))
    schema: dict[str, Any] = {
        **dict.fromkeys(("attribute", "prompt", "element", "term"), pl.String),
        **dict.fromkeys(counted, pl.Int64),
        "never": pl.Boolean,
        **dict.fromkeys(texts, pl.List(pl.String)),
        **dict.fromkeys((f"places{kind}" for kind in _KINDS), _PLACES),
        "by": _levels_type("n_captions", "n_hits", "n_doubtful"),
    }
    return pl.DataFrame(rows, schema=schema)


def _terms_by_level(
    evidence: Evidence, doubtful: NDArray[np.bool_], levels: _Levels
) -> list[list[dict[str, Any]]]:
    hits, n = evidence.hits, len(evidence.lexicon.terms)
    scopes, of_term = evidence.reading.asked
    asked = [levels.counts(np.flatnonzero(scope)) for scope in scopes]
    every = levels.table(hits.term, hits.caption, n)
    doubted = levels.table(hits.term[doubtful], hits.caption[doubtful], n)
    return [
        [
            {"level": name, "n_captions": n, "n_hits": hit, "n_doubtful": doubtful_hits}
            for name, n, hit, doubtful_hits in zip(
                levels.names, asked[scope], every[term], doubted[term], strict=True
            )
        ]
        for term, scope in enumerate(of_term.tolist())
    ]


class _Values:
    def __init__(self, evidence: Evidence, levels: _Levels, second: Lexicon | None, examples: int) -> None:
        self.evidence, self.levels, self.examples = evidence, levels, examples
        self.framed = evidence.reading.framed
        self.texts = evidence.hits.captions
        self._second = Rereading(evidence.reading, second) if second is not None else None
        self._found = {name: list(evidence.reading.found(name)) for name in evidence.lexicon.attributes}
        self.doubles: dict[str, NDArray[np.bool_]] = {}
        for name, found in self._found.items():
            several = np.zeros(len(self.texts), dtype=bool)
            several[[caption for caption, groups, _ in found if len(groups) > 1]] = True
            self.doubles[name] = several

    def rows(self) -> list[dict[str, Any]]:
        return [row for name in self.evidence.lexicon.attributes for row in self._of(name)]

    def _of(self, name: str) -> list[dict[str, Any]]:
        groups = list(self.evidence.lexicon.attributes[name].groups)
        values_given = self.framed[name].to_list()
        joined = sorted(set(values_given) - {None, UNKNOWN} - set(groups))
        values = [*groups, *joined, UNKNOWN]
        numbers = {None: -1, **{value: number for number, value in enumerate(values)}}
        of_caption = np.array([numbers[value] for value in values_given], dtype=np.int64)
        of_value = np.zeros((len(values), len(groups)), dtype=bool)
        for number, value in enumerate([*groups, *joined]):
            named = (value,) if value in groups else value.split(AND)
            of_value[number, [groups.index(group) for group in named if group in groups]] = True
        firm = self.evidence.firm(of_caption, of_value, name)
        own_hits = np.flatnonzero(firm.own)
        by_value = Grouping(of_caption[self.evidence.hits.caption[own_hits]], len(values))
        by_caption = Grouping(of_caption, len(values))
        rows = []
        for number, value in enumerate(values):
            captions = by_caption.of(number)
            if value == UNKNOWN:
                rows.append(self._unknown(name, captions))
                continue
            doubted = captions[firm.doubtful[captions]]
            hits = own_hits[by_value.of(number)]
            hits = hits[firm.doubtful[self.evidence.hits.caption[hits]]]
            places = self.evidence.places(hits, self.examples)
            rows.append(
                {
                    **_row(name, value, captions),
                    "n_inside_only": int(firm.inside_only[captions].sum()),
                    "n_noun_only": int(firm.noun_only[captions].sum()),
                    "n_doubtful": len(doubted),
                    "n_word": int((~firm.no_word[captions]).sum()),
                    "inside_words": self.evidence.words(hits[self.evidence.doubt_inside[hits]], _WORDS),
                    "nouns": self.evidence.named(hits, _WORDS),
                    **self._shown(captions, doubted, None, places),
                }
            )
        return rows

    def _unknown(self, name: str, captions: NDArray[np.int64]) -> dict[str, Any]:
        row = _row(name, UNKNOWN, captions)
        again = self._second.groups(name, captions) if self._second is not None else None
        if again is None:
            return {**row, **self._shown(captions, captions[:0], None, [])}
        named = np.array([caption for caption, _, _ in again], dtype=np.int64)
        places = [where for _, _, where in again[: self.examples]]
        return {
            **row,
            "n_named": len(again),
            "named": _tally(value for _, value, _ in again),
            **self._shown(captions, captions[:0], named, places),
        }

    def _shown(
        self,
        captions: NDArray[np.int64],
        doubted: NDArray[np.int64],
        named: NDArray[np.int64] | None,
        places: list[dict[str, int]],
    ) -> dict[str, Any]:
        by_level = map(self.levels.counts, (captions, doubted, captions[:0] if named is None else named))
        return {
            "doubted": (doubted if named is None else named).tolist(),
            "examples": _texts(self.texts, places),
            "places": places,
            "by": [
                {"level": level, "n": n, "n_doubtful": doubts, "n_named": None if named is None else names}
                for level, n, doubts, names in zip(self.levels.names, *by_level, strict=True)
            ],
        }

    def several(self) -> list[dict[str, Any]]:
        rows = []
        for name, attribute in self.evidence.lexicon.attributes.items():
            values = self.framed[name].to_list()
            groups = list(attribute.groups)
            asked = sum(value is not None for value in values)
            together: dict[tuple[int, ...], list[int]] = {}
            for caption, found, _ in self._found[name]:
                if len(found) > 1 and values[caption] is not None:
                    together.setdefault(found, []).append(caption)
            for found, captions in together.items():
                pairs = [self._two_of(name, caption) for caption in captions[: self.examples]]
                places = [first for first, _ in pairs]
                rows.append(
                    {
                        "attribute": name,
                        "groups": AND.join(groups[group] for group in found),
                        "n": len(captions),
                        "n_captions": asked,
                        "counted_as": _tally(values[caption] for caption in captions),
                        "examples": _texts(self.texts, places),
                        "places": places,
                        "places_other": [second for _, second in pairs],
                    }
                )
        return rows

    def _two_of(self, name: str, caption: int) -> tuple[dict[str, int], dict[str, int]]:
        """The first hit of an attribute in a caption, and the first of another group behind it."""
        hits, terms = self.evidence.hits, self.evidence.lexicon.terms
        low, high = np.searchsorted(hits.caption, [caption, caption + 1])
        own = [
            (place(hits, hit), entry.element)
            for hit in range(int(low), int(high))
            if ((entry := terms[hits.term[hit]]).attribute, entry.prompt) == (name, None)
        ]
        first, group = own[0]
        behind = [where for where, other in own if other != group and where["start"] >= first["end"]]
        return first, behind[0] if behind else first | {"start": first["end"]}


def _texts(captions: Sequence[str], places: Sequence[dict[str, int]]) -> list[str]:
    return [captions[each["caption"]] for each in places]


def _row(name: str, value: str, captions: NDArray[np.int64]) -> dict[str, Any]:
    counts = dict.fromkeys(("n_word", "n_inside_only", "n_noun_only", "n_doubtful"), 0)
    lists: dict[str, list[Any]] = {"named": [], "inside_words": [], "nouns": []}
    return {"attribute": name, "value": value, "n": len(captions), **counts, "n_named": None, **lists}


def _tally(values: Iterable[str]) -> list[dict[str, Any]]:
    return [{"value": value, "n": n} for value, n in Counter(values).most_common()]


_PLACES = pl.List(pl.Struct(dict.fromkeys(("caption", "start", "end"), pl.Int64)))
_TALLY = pl.List(pl.Struct({"value": pl.String, "n": pl.Int64}))


def _levels_type(*counts: str) -> Any:
    return pl.List(pl.Struct({"level": pl.String, **dict.fromkeys(counts, pl.Int64)}))


_LABELS: dict[str, Any] = {
    **dict.fromkeys(("attribute", "value"), pl.String),
    **dict.fromkeys(("n", "n_word", "n_inside_only", "n_noun_only", "n_doubtful", "n_named"), pl.Int64),
    "named": _TALLY,
    **dict.fromkeys(("inside_words", "nouns"), pl.List(pl.String)),
    "doubted": pl.List(pl.Int64),
    "examples": pl.List(pl.String),
    "places": _PLACES,
    "by": _levels_type("n", "n_doubtful", "n_named"),
}
_SEVERAL: dict[str, Any] = {
    **dict.fromkeys(("attribute", "groups"), pl.String),
    **dict.fromkeys(("n", "n_captions"), pl.Int64),
    "counted_as": _TALLY,
    "examples": pl.List(pl.String),
    "places": _PLACES,
    "places_other": _PLACES,
}
