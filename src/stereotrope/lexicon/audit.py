"""The matching audit: which hits of a lexicon are not what their terms mean."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.lexicon.evidence import GLUED, INSIDE, Evidence, Grouping, place
from stereotrope.lexicon.model import AND, Lexicon, Mentioned, Reading
from stereotrope.tables import UNKNOWN

_WORDS = 5
"""Longer words and nouns named for a term, the most frequent first."""


@dataclass(frozen=True)
class MatchingAudit:
    """What a lexicon finds in captions, and what of it to doubt.

    Captions are told by their place in ``captions``. Where something is counted ``by`` a column, that column
    holds a row a level, with the same counts of its captions alone.

    terms: A row a term, with the counts of the table ``lexicon_terms`` of a run; ``never`` where nothing was
        found; ``inside_words``, ``form_words``, ``kept_out_words`` and ``nouns``, the most frequent first;
        where the term is, in up to three captions: ``places``, ``places_inside``, ``places_noun``; ``by``.
    labels: A row a value of a grouped attribute: ``n`` captions; of these ``n_word`` have a whole word for
        it, glued ones aside, ``n_inside_only`` rest on hits inside longer words alone, ``n_noun_only`` on
        hits before such nouns alone, ``n_doubtful`` on these two alone; of those ``unknown``, ``n_named``
        that the second reading gives a group and ``named``, how often which; ``doubted``, the captions that
        are doubtful or so named; ``inside_words``, ``nouns`` and ``places`` of these; ``by``.
    several: Captions that name several groups of an attribute, whatever its priority: ``attribute``,
        ``groups``, ``n`` of ``n_captions``, ``counted_as`` (value → captions), ``places`` of one of the
        groups and ``places_other`` of another, empty where it is not behind the first.
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
    levels, evidence = _Levels(by), Evidence(reading)
    values = _Values(evidence, levels, second, examples)
    several = pl.DataFrame([row for name in values.found for row in values.several(name)], schema=_SEVERAL)
    return MatchingAudit(
        _terms(evidence, levels, examples, values.found),
        pl.DataFrame([row for name in values.found for row in values.of(name)], schema=_LABELS),
        several.sort("n", descending=True, maintain_order=True),
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

    def counts(self, rows: NDArray[np.int64], captions: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """How many of some captions, each in one of ``n`` rows, are of each level."""
        if not self.names:
            return np.zeros((n, 0), dtype=np.int64)
        size = len(self.names)
        return np.bincount(rows * size + self._of[captions], minlength=n * size).reshape(n, size)

    def told(self, **counts: NDArray[np.int64]) -> list[list[dict[str, Any]]]:
        """Counts of the same rows by name: in each row what is counted of each level."""
        rows = zip(*(count.tolist() for count in counts.values()), strict=True)
        return [
            [
                {"level": level, **dict(zip(counts, numbers, strict=True))}
                for level, *numbers in zip(self.names, *row, strict=True)
            ]
            for row in rows
        ]


def _terms(
    evidence: Evidence, levels: _Levels, examples: int, found: Mapping[str, Sequence[Mentioned]]
) -> pl.DataFrame:
    hits, terms, beyond = evidence.hits, evidence.lexicon.terms, evidence.beyond
    scopes, of_term = evidence.reading.asked
    n, doubtful = len(terms), evidence.doubt_inside | evidence.doubt_noun
    left = np.flatnonzero(beyond.seam == INSIDE)
    by_left = Grouping(beyond.term[left], n)
    own = [evidence.by_term.of(term) for term in range(n)]
    of_kind = {
        "places": own,
        "places_inside": [which[(evidence.inside & ~evidence.form)[which]] for which in own],
        "places_noun": [which[evidence.noun[which] >= 0] for which in own],
    }
    places = {kind: [evidence.places(one, examples) for one in which] for kind, which in of_kind.items()}
    counted = _counted(evidence, found)
    words = {
        "inside_words": [evidence.words(which, _WORDS) for which in of_kind["places_inside"]],
        "form_words": [evidence.words(which[hits.form[which]], _WORDS) for which in own],
        "kept_out_words": [evidence.words_left(left[by_left.of(term)], _WORDS) for term in range(n)],
        "nouns": [evidence.named(which, _WORDS) for which in of_kind["places_noun"]],
    }
    scope, looked = np.nonzero(scopes)
    by = levels.told(
        n_captions=levels.counts(scope, looked, len(scopes))[of_term],
        n_hits=levels.counts(hits.term, hits.caption, n),
        n_doubtful=levels.counts(hits.term[doubtful], hits.caption[doubtful], n),
    )
    named = ("attribute", "prompt", "element", "term")
    columns = {
        **{name: [getattr(entry, name) for entry in terms] for name in named},
        **{name: count.tolist() for name, count in counted.items()},
        "never": (counted["n_hits"] == 0).tolist(),
        **words,
        **places,
        "by": by,
    }
    # Row by row: lists of records of a column are read far slower.
    return pl.DataFrame(
        [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        schema={
            **dict.fromkeys(named, pl.String),
            **dict.fromkeys(counted, pl.Int64),
            "never": pl.Boolean,
            **dict.fromkeys(words, pl.List(pl.String)),
            **dict.fromkeys(places, _PLACES),
            "by": _levels_type("n_captions", "n_hits", "n_doubtful"),
        },
    )


def _counted(evidence: Evidence, found: Mapping[str, Sequence[Mentioned]]) -> dict[str, NDArray[np.int64]]:
    """What is counted of each term."""
    hits, beyond, n = evidence.hits, evidence.beyond, len(evidence.lexicon.terms)
    scopes, of_term = evidence.reading.asked
    size = max(1, len(hits.captions))
    pair_term, pair_caption = np.divmod(np.unique(hits.term * size + hits.caption), size)
    doubled = np.zeros(scopes.shape, dtype=bool)
    for scope, mentioned in enumerate(found.values()):
        doubled[scope, [caption for caption, groups, _ in mentioned if len(groups) > 1]] = True
    counted = {
        "n_captions_hit": pair_term,
        "n_hits": hits.term,
        "n_inside": hits.term[evidence.inside],
        "n_forms": hits.term[evidence.form],
        "n_glued": hits.term[hits.seam == GLUED],
        "n_by_form": hits.term[hits.form],
        "n_noun": hits.term[evidence.noun >= 0],
        "n_doubtful": hits.term[evidence.doubt_inside | evidence.doubt_noun],
        "n_double": pair_term[doubled[of_term[pair_term], pair_caption]],
        "n_excluded": evidence.excluded,
        "n_missed_glued": beyond.term[beyond.seam == GLUED],
        "n_kept_out": beyond.term[beyond.seam == INSIDE],
    }
    asked = scopes.sum(axis=1)[of_term] if n else of_term
    return {"n_captions": asked, **{k: np.bincount(of, minlength=n) for k, of in counted.items()}}


class _Values:
    """The values that captions are given, and what each rests on."""

    def __init__(self, evidence: Evidence, levels: _Levels, second: Lexicon | None, examples: int) -> None:
        self.evidence, self.levels, self.examples = evidence, levels, examples
        self._second = _Rereading(evidence.reading, second) if second is not None else None
        self.found = {name: list(evidence.reading.found(name)) for name in evidence.lexicon.attributes}

    def of(self, name: str) -> Iterator[dict[str, Any]]:
        """A row a value of an attribute, those without a group the last."""
        evidence, groups = self.evidence, list(self.evidence.lexicon.attributes[name].groups)
        given = evidence.reading.framed[name].to_list()
        values = [*groups, *sorted(set(given) - {None, UNKNOWN} - set(groups))]
        numbers = {None: -1, **{value: number for number, value in enumerate([*values, UNKNOWN])}}
        of_caption = np.array([numbers[value] for value in given], dtype=np.int64)
        named = [{value} if value in groups else set(value.split(AND)) for value in values]
        of_value = np.array([[group in own for group in groups] for own in named], dtype=bool)
        firm = evidence.firm(of_caption, of_value, name)
        own = np.flatnonzero(firm.own)
        own = own[firm.doubtful[evidence.hits.caption[own]]]
        by_value = Grouping(of_caption[evidence.hits.caption[own]], len(values))
        by_caption = Grouping(of_caption, len(values) + 1)
        for number, value in enumerate(values):
            captions, hits = by_caption.of(number), by_value.of(number)
            doubted, hits = captions[firm.doubtful[captions]], own[hits]
            counts = {
                "n_word": int((~firm.no_word[captions]).sum()),
                "n_inside_only": int(firm.inside_only[captions].sum()),
                "n_noun_only": int(firm.noun_only[captions].sum()),
                "n_doubtful": len(doubted),
                "inside_words": evidence.words(hits[evidence.doubt_inside[hits]], _WORDS),
                "nouns": evidence.named(hits, _WORDS),
            }
            places = evidence.places(hits, self.examples)
            yield {**self._row(name, value, captions, doubted, places), **counts}
        yield self._unknown(name, by_caption.of(len(values)))

    def _unknown(self, name: str, captions: NDArray[np.int64]) -> dict[str, Any]:
        again = self._second.groups(name, captions) if self._second is not None else None
        if again is None:
            return self._row(name, UNKNOWN, captions, captions[:0], [])
        named = np.array([caption for caption, _, _ in again], dtype=np.int64)
        places = [where for _, _, where in again[: self.examples]]
        counts = {"n_named": len(again), "named": _tally(value for _, value, _ in again)}
        return {**self._row(name, UNKNOWN, captions, named, places, again=True), **counts}

    def _row(
        self,
        name: str,
        value: str,
        captions: NDArray[np.int64],
        doubted: NDArray[np.int64],
        places: list[dict[str, int]],
        *,
        again: bool = False,
    ) -> dict[str, Any]:
        """A row of ``labels``; ``doubted`` are captions that were given a value ``again``, else doubtful."""
        every, some = (self.levels.counts(np.zeros_like(each), each, 1) for each in (captions, doubted))
        (by,) = self.levels.told(n=every, **{"n_named" if again else "n_doubtful": some})
        return {
            "attribute": name,
            "value": value,
            "n": len(captions),
            **dict.fromkeys(("n_word", "n_inside_only", "n_noun_only", "n_doubtful"), 0),
            "named": [],
            "inside_words": [],
            "nouns": [],
            "doubted": doubted.tolist(),
            "places": places,
            "by": [{"n_doubtful": 0, **level} for level in by],
        }

    def several(self, name: str) -> Iterator[dict[str, Any]]:
        """A row each combination of groups of an attribute that captions name."""
        read = self.evidence.reading.framed[name]
        values, n_read = read.to_list(), read.len() - read.null_count()
        groups = list(self.evidence.lexicon.attributes[name].groups)
        together: dict[tuple[int, ...], list[int]] = {}
        for caption, found, _ in self.found[name]:
            if len(found) > 1 and values[caption] is not None:
                together.setdefault(found, []).append(caption)
        for found, captions in together.items():
            pairs = [self._two_of(name, caption) for caption in captions[: self.examples]]
            places = [first for first, _ in pairs]
            yield {
                "attribute": name,
                "groups": AND.join(groups[group] for group in found),
                "n": len(captions),
                "n_captions": n_read,
                "counted_as": _tally(values[caption] for caption in captions),
                "places": places,
                "places_other": [second for _, second in pairs],
            }

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


class _Rereading:
    """The captions without a group, read again by another lexicon."""

    def __init__(self, reading: Reading, lexicon: Lexicon) -> None:
        shared = [name for name in lexicon.attributes if name in reading.lexicon.attributes]
        wanted = np.zeros(len(reading.captions), dtype=bool)
        for name in shared:
            wanted |= (reading.framed[name] == UNKNOWN).fill_null(value=False).to_numpy()
        self._rows = np.flatnonzero(wanted)
        keep = [name for name in ("caption", reading.prompt) if name in reading.captions.columns]
        again = reading.captions.select(keep)
        if lexicon.prompts and reading.prompt not in keep:
            again = again.with_columns(pl.lit(None, pl.String).alias(reading.prompt))
        self._reading = Reading(lexicon, again[self._rows.tolist()], reading.prompt) if shared else None
        self._shared = set(shared)

    def groups(self, name: str, captions: NDArray[np.int64]) -> list[tuple[int, str, dict[str, int]]] | None:
        """Which captions are given a group, which one, and where it stands; None without the attribute."""
        if self._reading is None or name not in self._shared:
            return None
        values = self._reading.framed[name].to_list()
        own = self._reading.lexicon.groups_of_terms(name) >= 0
        matches = self._reading.matches
        first: dict[int, int] = {}
        for hit in np.flatnonzero(own[matches.term]).tolist():
            first.setdefault(int(matches.caption[hit]), hit)
        rows = np.searchsorted(self._rows, captions)
        found = []
        for caption, row in zip(captions.tolist(), rows.tolist(), strict=True):
            if values[row] not in (None, UNKNOWN):
                found.append((caption, values[row], place(matches, first[row]) | {"caption": caption}))
        return found


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
    "places": _PLACES,
    "by": _levels_type("n", "n_doubtful", "n_named"),
}
_SEVERAL: dict[str, Any] = {
    **dict.fromkeys(("attribute", "groups"), pl.String),
    **dict.fromkeys(("n", "n_captions"), pl.Int64),
    "counted_as": _TALLY,
    "places": _PLACES,
    "places_other": _PLACES,
}
