"""What is worth a look: the strongest patterns of a run, in sentences, with the pictures that show them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from types import MappingProxyType
from typing import Any

import polars as pl

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.candidates import checked_candidate
from stereotrope.measure.combined import chosen, moved_most, parted
from stereotrope.measure.differences import ALIKE_WITHIN, Differences, differing
from stereotrope.measure.estimates import read_estimates
from stereotrope.measure.finder import FINDERS, Candidate, RunEvidence
from stereotrope.measure.instrument_warnings import doubted_for_seeds, units_unknown, unproven
from stereotrope.measure.interim import ONLY_LOOK, InterimLook
from stereotrope.measure.pace import paced
from stereotrope.measure.patterns import FindingPattern, patterns_of, says
from stereotrope.measure.places import place_of
from stereotrope.measure.robustness import Robustness, unlike_levels
from stereotrope.measure.sentences import decimals_of, q_text, span
from stereotrope.measure.tidy import as_text, reason_given, require_whole, to_polars
from stereotrope.tables import (
    COMPARISONS,
    FINDINGS,
    IMAGES,
    LABELS,
    N_SUBJECTS,
    NOT_VALUES,
    ROBUSTNESS,
    Column,
    polars_types,
)

_COUNTED = ("numerator", "n", "numerator_reference", "n_reference")
"""Columns of what a finding counts: pictures that show its value, and all; of both sides."""
_MOST_COMMON = 20
"""Descriptions that are told."""
_MOST_NAMED = 6
"""Annotators that one sentence names."""


@dataclass(frozen=True)
class RunFindings:
    """What finders make of a run, its tests run against one another.

    found: Every candidate.
    order: Kind → its place among kinds: the first says best what several say.
    """

    evidence: RunEvidence
    found: Sequence[Candidate]
    order: Mapping[str, int]
    differences: Differences

    @classmethod
    def of(
        cls,
        estimates: Any,
        labels: Any,
        *,
        images: Any | None = None,
        read: Any | None = None,
        frames: Mapping[str, Sequence[Any]] = MappingProxyType({}),
        said: Mapping[str, Any] = MappingProxyType({}),
        failed: Collection[tuple[str, str | None]] = (),
        proven: Collection[tuple[str, str]] = (),
        alpha: float = 0.05,
        margin: float = ALIKE_WITHIN,
        look: InterimLook = ONLY_LOOK,
    ) -> RunFindings:
        """Read a run; for the arguments see :func:`findings`."""
        shares: dict[str, Any] = {"alpha": alpha, "margin": margin}
        for name, given in shares.items():
            if isinstance(given, bool) or not isinstance(given, Real) or not 0 <= float(given) < 1:
                raise UsageError(f"findings: {name} must be a number from 0 to below 1, found {given!r}")
        table = read_estimates(estimates)
        tidy = to_polars(labels, needs=("attribute", "value"))
        to_polars(tidy, needs=("image_id",) if N_SUBJECTS not in tidy.columns else ())
        value = as_text(tidy, "value")
        uncounted = (
            pl.when(value.is_null()).then(pl.lit("missing")).when(value.is_in(list(NOT_VALUES))).then(value)
        )
        tidy = tidy.with_columns(excluded=pl.coalesce(reason_given(tidy), uncounted))
        finders = sorted(FINDERS.values(), key=lambda f: (f.place, f.name))
        evidence = RunEvidence(
            table,
            tidy,
            images=_table(images, IMAGES, what="images"),
            read=_table(read, LABELS),
            frames={name: [to_polars(one, what=name) for one in some] for name, some in frames.items()},
            said=said,
            failed=failed,
            proven=proven,
            compares={measure for finder in finders for measure in finder.compares},
            margin=margin,
        )
        drawn = None if images is None else evidence.images["image_id"]
        found: list[Candidate] = []
        for finder in paced(finders):
            with FINDERS.blamed(finder.name):
                for one in finder.function(evidence):
                    found.append(checked_candidate(one, finder, drawn))
        order = {kind: at for at, kind in enumerate(dict.fromkeys(k for f in finders for k in f.kinds))}
        compared = differing(found, evidence, alpha=alpha, margin=margin, look=look)
        return cls(evidence, found, order, compared)

    @cached_property
    def _parted(self) -> tuple[list[Candidate], list[Candidate]]:
        """What is told, and what is described, each by how clear it is."""
        told, common = parted(self.found, self.differences, self.evidence, self.order)
        clear = [doubted_for_seeds(told, self.evidence), common]
        return _by_clearness(clear[0], self.order), _by_clearness(clear[1], self.order)

    @cached_property
    def patterns(self) -> list[FindingPattern]:
        """What several of the differences that are told say alike."""
        return patterns_of(self._parted[0], self.found, self.differences, self.evidence)

    def listed(self, limit: int = 50) -> list[tuple[str, Candidate]]:
        """What is told, each with the list that it stands in, in their order."""
        told, common = self._parted
        again = {id(c) for pattern in self.patterns for c in pattern.members[1:]}
        warnings = [c for c in self.found if c.warning][:limit]
        left = max(0, limit - len(warnings))
        supported = _behind_others(told, again)[:left]
        described = _behind_others(common, _said_before(common))[: min(_MOST_COMMON, left - len(supported))]
        unsure = unproven(told, self.evidence), units_unknown(told, self.evidence)
        return [
            *(("difference", c) for c in supported),
            *(("common", c) for c in chosen(described, self.evidence)),
            *(("instrument", c) for warned in (warnings, *unsure) for c in warned),
        ]

    def findings(self, limit: int = 50) -> pl.DataFrame:
        """The lists of findings."""
        return self._tables(self.listed(limit))[0]

    def _tables(self, listed: Sequence[tuple[str, Candidate]]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The lists of findings, and the same differences in other ways."""
        otherwise = Robustness(self.evidence)
        differences = {_identity(c): c for name, c in listed if name == "difference"}
        by = {name: otherwise.rows(name, c) for name, c in differences.items()}
        pooled = {
            name: [row for row in some if row["way"] not in differences[name].scope]
            for name, some in by.items()
        }
        unlike = unlike_levels(pooled)
        of = {id(c): pattern for pattern in self.patterns for c in pattern.members}
        rows = [
            _row(name, c, self.evidence, self.differences, unlike) | _of_pattern(of.get(id(c)))
            for name, c in listed
        ]
        if self.differences.places:
            rows.insert(0, _summary(self.differences))
        ranks = [{"rank": rank, **row} for rank, row in enumerate(rows, start=not self.differences.places)]
        every = [row for some in by.values() for row in some]
        schemas = polars_types(FINDINGS), polars_types(ROBUSTNESS)
        return pl.DataFrame(ranks, schema=schemas[0]), pl.DataFrame(every, schema=schemas[1])

    def tables(self, limit: int = 50) -> dict[str, pl.DataFrame]:
        """The tables of a run: ``comparisons``, ``findings`` and ``robustness``."""
        lists, otherwise = self._tables(self.listed(limit))
        return {"comparisons": self.comparisons(), "findings": lists, "robustness": otherwise}

    def comparisons(self) -> pl.DataFrame:
        """Every comparison with its verdict, those with the least p first."""
        told = {place_of(c, self.evidence): _identity(c) for c in self._parted[0]}
        return pl.DataFrame(self.differences.rows(told), schema=polars_types(COMPARISONS))


def findings(
    estimates: Any,
    labels: Any,
    *,
    limit: int = 50,
    alpha: float = 0.05,
    margin: float = ALIKE_WITHIN,
    **further: Any,
) -> pl.DataFrame:
    """What is worth a person's look, in lists that are never mixed (column ``list``).

    ``summary``: one row, how many comparisons were tested, how many differ beyond chance, and how large a
    difference would have been found. ``difference``: what tests support, the false discovery rate over the
    whole list at most ``alpha`` (:class:`stereotrope.measure.differences.Differences` says how).
    ``common``: what pictures have in common, described and not tested. ``instrument``: warnings, last and
    never cut off by ``limit``.

    The finders (:data:`stereotrope.measure.finder.FINDERS`) say what enters. Where several patterns are about
    one attribute of one condition, one finding is made; where several annotators label it, too, with the
    counts of each, and one that sees less than half of the shift is said to differ. Differences go by what is
    left of them at the end of their interval that is nearer to 0, which is widened for their having been
    selected; descriptions by the same end of their distance from the reference, or else from all other
    conditions, and their intervals are widened for their having been chosen among all that could have been
    described. Both are means over the annotators, 0 for one without a finding. In a list, behind what is read
    by an instrument that is known to read it rightly, comes what others read, then what says again what
    stands before it of another model, object or other place
    (:func:`stereotrope.measure.patterns.patterns_of`), and last, with the reason, what rests on fewer than
    ten distinct pictures, on an annotator that failed its check, or on text of a model that marks its
    pictures, read by an annotator that does not know marks.

    estimates: Estimates of any measures, in one frame; their null factors do not scope.
    labels: Tidy labels (:func:`stereotrope.measure.tidy_labels`) that they were made from.
    images: The table ``images``, to report byte-for-byte copies; None leaves that out.
    read: The table ``labels``: all that annotators read, for what they say of themselves.
    frames: Frames that measures took, by what these need, such as ``captions``: they lead from a finding to
        its pictures.
    said: What further tables say of the run, as in ``run.json``.
    failed, proven: Annotator and attribute of each check that an annotator failed, or passed, elsewhere; of
        one that failed, attribute None is for all.
    limit: Most findings returned, the summary not counted.
    alpha: False discovery rate of the list of differences, and error rate of “alike”: of one look.
    margin: Difference of shares within which sides are called alike; pictures that hardly vary are told only
        where they show an attribute at most so much more often than is true.
    look: Which look at a run that grows this is, and what those before told, which is told again. Give
        ``alpha`` what :func:`stereotrope.stats.look_alpha` gives this look; a run does so by itself.

    Returns: :data:`stereotrope.tables.FINDINGS`. Values are quoted as data; sentences speak of what
    annotators read in pictures, never of identity or intent.
    """
    require_whole("findings", limit=limit)
    return RunFindings.of(estimates, labels, alpha=alpha, margin=margin, **further).findings(limit)


def comparisons(
    estimates: Any, labels: Any, *, alpha: float = 0.05, margin: float = ALIKE_WITHIN, **further: Any
) -> pl.DataFrame:
    """Every comparison that finders test, and how it ends; for the arguments see :func:`findings`.

    ``verdict`` is ``differs`` where the list of differences tells it (q ≤ ``alpha`` over all comparisons);
    ``alike`` where the differences of all values lie within ±``margin`` by two one-sided tests, which err in
    at most ``alpha`` of cases (every interval of level 1 − 1.7·alpha lies inside, made of exact limits of
    both sides where values of pictures are compared). Where labels are missing their bounds must lie within
    the margin too, and a mean over ``n`` scenarios, queries or prompts whose differences are averaged must be
    of so many that :math:`1 - (0.85·alpha)^{1/n}` does, by which a kind that is among none of them may move
    it. Over 5 and 8 prompts of which a fifth differ by all there is, shares are called alike in 0.10 to 0.17
    of cases. Else ``not enough``: the pictures do not tell. Only
    what differs in shares or ratios can be alike: of bits, cosines, proportions and changes that must come
    together ``margin`` is null.

    Returns: :data:`stereotrope.tables.COMPARISONS`, the least p first.
    """
    return RunFindings.of(estimates, labels, alpha=alpha, margin=margin, **further).comparisons()


def _by_clearness(candidates: Sequence[Candidate], order: Mapping[str, int]) -> list[Candidate]:
    def place(c: Candidate) -> Any:
        behind = c.doubt is not None, not c.proven, not c.leads
        where = json.dumps(c.scope, sort_keys=True)
        return *behind, -c.effect, c.q or 0.0, order[c.kind], where, c.attribute or ""

    return sorted(candidates, key=place)


def _said_before(described: Sequence[Candidate]) -> set[int]:
    """Descriptions that say what one before them says, of another model or thing."""
    first: dict[str, int] = {}
    said = ((says(c), id(c)) for c in described)
    return {one for what, one in said if what is not None and first.setdefault(what, one) != one}


def _behind_others(ordered: Sequence[Candidate], again: Collection[int]) -> list[Candidate]:
    """A list with what says the same again behind what is new, unproven behind both, doubted behind all."""
    return sorted(ordered, key=lambda c: (c.doubt is not None, not c.proven, id(c) in again))


def _of_pattern(pattern: FindingPattern | None) -> dict[str, Any]:
    if pattern is None:
        return {}
    return {
        "pattern_id": pattern.name,
        "pattern_sentence": pattern.sentence(),
        "pattern_extent": json.dumps(pattern.extent(), ensure_ascii=False),
    }


def _summary(differences: Differences) -> dict[str, Any]:
    """The row that says what was tested."""
    identity = hashlib.sha256(b"summary").hexdigest()[:12]
    sentence = " ".join(filter(None, [differences.sentence(), differences.look.changed]))
    return {"finding_id": identity, "list": "summary", "kind": "summary", "scope": "{}", "sentence": sentence}


def _table(data: Any, columns: Sequence[Column], *, what: str = "labels") -> pl.DataFrame:
    """The frame with each of these columns, null where it has none; without rows where there is no frame."""
    types = polars_types(columns)
    if data is None:
        return pl.DataFrame(schema=types)
    frame = to_polars(data, what=what)
    return frame.with_columns(pl.lit(None, types[c]).alias(c) for c in types if c not in frame.columns)


def _identity(c: Candidate) -> str:
    """A short name of a finding that stays from one computation to the next."""
    where = json.dumps(c.scope, ensure_ascii=False, sort_keys=True)
    # One of a pair of models may be compared with each of the others.
    other = [c.wording.reference] if c.wording and c.wording.paired else []
    told = json.dumps([c.kind, where, c.attribute, c.measure, *c.parts, *other], ensure_ascii=False)
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def _row(
    name: str,
    candidate: Candidate,
    evidence: RunEvidence,
    differences: Differences,
    unlike: Mapping[str, str],
) -> dict[str, Any]:
    """One row of the table; ``unlike`` says of findings that they are others in levels of a factor."""
    c = candidate
    if c.sentence:
        sentence, images, counts = str(c.sentence), list(c.pictures()), {"category": c.category}
    else:
        sentence, images, counts = _share(c, evidence)
    where = json.dumps(c.scope, ensure_ascii=False, sort_keys=True)
    value, low, high = c.interval or (None, None, None)
    if name == "difference" and value is not None:
        before = ", at an earlier look" if place_of(c, evidence) in differences.kept else ""
        across = low is not None and high is not None and low <= 0 <= high and not before
        wide = "; its interval, widened as it was chosen among all, does not leave out 0" if across else ""
        size = f"{c.size} {decimals_of(value)}{span(low, high)} ({q_text(c.q)}{before}{wide})"
        sentence = f"{sentence.removesuffix('.')}; {size}"
        if (bounds := evidence.bounds(c)) is not None:
            ends = " and ".join(map(decimals_of, bounds))
            sentence += f"; labels are missing, and with these it may be between {ends}"
    if name == "common" and _seems_to_differ(c, counts, evidence, differences):
        sentence = f"{sentence.removesuffix('.')}; whether they differ these pictures cannot say"
    if words := unlike.get(_identity(c)):
        sentence += f"; {words}"
    contrast, reference = c.compared
    shown, left = c.others[:_MOST_NAMED], c.others[_MOST_NAMED:]
    further = [f"{len(left)} more annotators"] if left else []
    return {
        "finding_id": _identity(c),
        "list": name,
        "kind": c.kind,
        "scope": where,
        "contrast": contrast if reference is not None else None,
        "reference": reference if contrast is not None else None,
        "attribute": c.attribute,
        "sentence": "; ".join([sentence.removesuffix("."), *shown, *further, *filter(None, [c.doubt])]) + ".",
        "measure": c.measure,
        **counts,
        "value": value,
        "low": low,
        "high": high,
        "level": None if low is None else c.level,
        "p_value": c.place_p,
        "q_value": c.q,
        "image_ids": json.dumps(images, ensure_ascii=False),
    }


def _seems_to_differ(
    c: Candidate, counts: Mapping[str, Any], evidence: RunEvidence, differences: Differences
) -> bool:
    """Whether a description stands beside another share of its reference, though no test tells them apart."""
    place = place_of(c, evidence)
    if place not in differences.places or differences.verdict(place) != "not enough":
        return False
    k, n, j, m = (counts.get(name) or 0 for name in _COUNTED)
    return min(n, m) > 0 and abs(k / n - j / m) > differences.margin


def _share(candidate: Candidate, evidence: RunEvidence) -> tuple[str, list[str], dict[str, Any]]:
    """How often a value is labelled in a condition and in its reference, in words, pictures and numbers."""
    scope, wording, attribute = candidate.scope, candidate.wording, candidate.attribute
    if wording is None or attribute is None:
        raise TableError(
            f"finding {candidate.kind!r}: without a sentence it needs a wording and an attribute"
        )
    sides = evidence.pictures.sides(attribute, scope, wording)
    here, before = sides
    value = candidate.category or moved_most(here, before)
    seen, seen_before = evidence.counted(candidate, value)
    every = seen[1] == sum(map(len, here.values()))
    # The interval of a difference says what is known of it; descriptions have one of each share.
    level = None if candidate.q is not None else candidate.level
    ends = ("", "") if level is None else evidence.ends(candidate, value, level)
    sentence = wording.share(
        attribute,
        scope,
        value,
        (seen, seen_before),
        ends=ends,
        beside=evidence.pictures.agreed(attribute, wording.reference_scope(scope)),
        tail=candidate.tail,
        what="pictures" if every else "counted pictures",
    )
    # A value that went away is shown by what came instead: every picture of the condition.
    images = here.get(value) or [image for listed in here.values() for image in listed]
    known = (*seen, *(seen_before if seen_before[1] else (None, None)))
    return sentence, images, {"category": value, **dict(zip(_COUNTED, known, strict=True))}
