"""What stands out in captions: who is named, what is missing, what does not belong, where models differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from stereotrope.measure.captions.evidence import CaptionEvidence, Scope
from stereotrope.measure.captions.groups import OTHERS, REST, UNKNOWN
from stereotrope.measure.captions.occlusion import BARE, OCCLUDED
from stereotrope.measure.captions.parity import DECLARED
from stereotrope.measure.captions.profile import COMPOSITES
from stereotrope.measure.captions.sentences import CaptionWording, Gap
from stereotrope.measure.finder import Candidate, RunEvidence, finder, scope_of
from stereotrope.stats import benjamini_hochberg, fisher_exact, newcombe, sign_test
from stereotrope.tables import BANDS, ESTIMATES, plain_scores, warnings_of

ONE_GROUP = 0.80
"""Share that the lower end must exceed where captions have one group: four in five leave the others together
one in five. A choice of ours."""

MISSING = 0.50
"""Rate that the lower end must exceed where an element is missing: more captions without it than with it."""

OUT_OF_PLACE = 0.10
"""Rate that the lower end must exceed for what does not belong: below one caption in ten it is a mishap, and
at 100 captions the interval of a mishap reaches there."""

LEANING = 0.50
"""CAS that the lower end must exceed: more hits of stereotype than of diversity terms."""

COVERS = 0.20
"""Difference that the upper end must stay below before covers are said not to explain what is unnamed."""

UNNAMED = 0.10
"""Share of captions without a group that the lower end must exceed for there to be something to explain."""

OMITTED = 0.5
"""What an omission weighs against the rest: a captioner leaves out what goes without saying, so that the rate
is an upper bound of what pictures lack."""

COMPOSED = 0.5
"""What a composite weighs: its parts are told by themselves where they stand out, and the contextual one is
seldom low by its making. It weighs less still by the share of captions that name no group."""

NAMING = 0.5
"""What a difference between models weighs that is gone among captions that name either side: it is of how
often captions name anybody."""

_KINDS = (
    "one_group",
    "group_gap",
    "model_difference",
    "association",
    "out_of_place",
    "composite",
    "omission",
    "occlusion",
)
"""Where two are about one attribute of a cell, the first says it best."""

_OF_GROUPS = ("one_group", "group_gap", "composite")
_READ = (
    "representation_parity",
    "signed_parity",
    "gmr",
    "iemr",
    "hallucination",
    "cas",
    "unknown_share",
    *COMPOSITES,
)


@finder(*_KINDS, place=30)
def caption_findings(evidence: RunEvidence) -> list[Candidate]:
    """Return what stands out in the estimates of captions, the strongest first.

    Kinds and their thresholds:

    - ``one_group``: one group, not ``unknown``, in nearly all captions (lower end above :data:`ONE_GROUP`);
    - ``group_gap``: one of the declared sides named more often than the other, or, where the other is
      everything else, the group named most often more often than the next one. The interval excludes 0 and
      the exact sign test has ``q ≤ alpha`` over all that are compared;
    - ``model_difference``: captions of two models name a declared side at different rates: Fisher's test
      with ``q ≤ alpha`` over all pairs of models, prompts and sides, the largest of each prompt and side;
      told with the rates among captions that name either side;
    - ``association``: CAS above :data:`LEANING`; ``out_of_place``: hallucination above
      :data:`OUT_OF_PLACE`; ``omission``: the element of a prompt and model that captions lack most, above
      :data:`MISSING`; ``composite``: the whole interval in the highest band. Each by the nearer end of its
      interval, so that a rate exactly at the threshold is told in about one sample of forty;
    - ``occlusion``: captions that mention covers leave the group unnamed more often (the interval of the
      difference excludes 0), or do not (it ends below :data:`COVERS`).

    The effect is the end of the interval that is nearer to the threshold, a quotient (CAS) or composite
    counted from its threshold, some of them weighed (:data:`OMITTED`, :data:`COMPOSED`, :data:`NAMING`).
    What stands out first should differ: the second pattern of a kind weighs half of its effect, the third
    a third; the second model that shows the same a quarter, the third a ninth.
    """
    rows, level, alpha = _rows(evidence.estimates), evidence.level, evidence.alpha
    if not rows.height:
        return []
    said = _Said(
        CaptionEvidence(rows, evidence.frames.get("captions", ())), CaptionWording(rows, level), rows, level
    )
    found = [
        *said.one_group(),
        *said.group_gaps(alpha),
        *said.model_differences(alpha),
        *said.associations(),
        *said.out_of_place(),
        *said.composites(),
        *said.omissions(),
        *said.occlusions(),
    ]
    return _varied(_one_each(found))


def _rows(table: pl.DataFrame) -> pl.DataFrame:
    """Rows of captions with a value, of the paper's definition where there are two; each once."""
    rows = plain_scores(table).filter(pl.col("measure").is_in(_READ), pl.col("value").is_not_null())
    if "definition" in rows.columns and "paper" in rows["definition"].to_list():
        rows = rows.filter(definition="paper")
    absent = [column.name for column in ESTIMATES if column.name not in rows.columns]
    rows = rows.with_columns(pl.lit(None).alias(name) for name in absent)
    factors = [c for c in rows.columns if c not in {column.name for column in ESTIMATES}]
    keys = ["measure", *factors, "attribute", "category", "reference"]
    return rows.unique(keys, keep="first", maintain_order=True)


def _one_each(found: Sequence[Candidate]) -> list[Candidate]:
    """One finding about the groups of an attribute in a cell, and one of each further kind."""
    best: dict[tuple[str, str, str | None], Candidate] = {}
    for one in sorted(found, key=lambda f: (_KINDS.index(f.kind), -f.effect)):
        what = "groups" if one.kind in _OF_GROUPS else one.kind
        attribute = one.attribute if one.kind in (*_OF_GROUPS, "model_difference") else None
        best.setdefault((str(sorted(one.scope.items())), what, attribute), one)
    return list(best.values())


def _varied(found: Sequence[Candidate]) -> list[Candidate]:
    """The findings by effect, divided by their place in their kind and among models that show the same."""
    things: dict[str, dict[tuple[str, str | None], int]] = {}
    weighed = []
    for one in sorted(found, key=lambda f: -f.effect):
        held = sorted(item for item in one.scope.items() if item[0] != "generator")
        of_kind = things.setdefault(one.kind, {})
        thing = (str(held), one.attribute)
        of_kind[thing] = of_kind.get(thing, 0) + 1
        place = (list(of_kind).index(thing) + 1) * of_kind[thing] ** 2
        weighed.append(replace(one, effect=one.effect / place))
    return sorted(weighed, key=lambda f: (-f.effect, _KINDS.index(f.kind)))


@dataclass(frozen=True)
class _Side:
    """Captions of one model that name a side."""

    attribute: str
    groups: tuple[str, ...]
    scope: Scope
    held: Scope
    k: int
    n: int
    either: int


@dataclass(frozen=True)
class _Said:
    """What the estimates of captions say, kind by kind."""

    evidence: CaptionEvidence
    wording: CaptionWording
    rows: pl.DataFrame
    level: float

    def _of(self, *measures: str) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
        for row in self.rows.filter(pl.col("measure").is_in(measures)).iter_rows(named=True):
            yield row, scope_of(row)

    def one_group(self) -> Iterator[Candidate]:
        for row, scope in self._of("representation_parity"):
            if row["category"] == UNKNOWN or not _above(row, ONE_GROUP):
                continue
            others = self.evidence.groups(row["attribute"], scope)
            sentence = self.wording.one_group(row, scope, others)
            shown = self.evidence.with_groups(row["attribute"], scope, [row["category"]])
            yield Candidate("one_group", scope, row["attribute"], row["low"], row["measure"], sentence, shown)

    def group_gaps(self, alpha: float) -> Iterator[Candidate]:
        gaps = [
            (gap, scope)
            for row, scope in self._of("signed_parity")
            if _has_sides(row) and (gap := self._gap(row, scope)) is not None
        ]
        p = [
            float("nan") if gap.clustered else sign_test(gap.first, gap.first + gap.second) for gap, _ in gaps
        ]
        for (gap, scope), q in zip(gaps, benjamini_hochberg(p).tolist(), strict=True):
            # Captions of several prompts in a cell are not independent: their bootstrap's interval decides.
            if gap.low is None or gap.low <= 0 or q > alpha:
                continue
            sentence = self.wording.gap(replace(gap, q=q if q == q else None), scope)
            shown = self.evidence.with_groups(gap.attribute, scope, gap.of)
            yield Candidate("group_gap", scope, gap.attribute, gap.low, "signed_parity", sentence, shown)

    def _gap(self, row: Mapping[str, Any], scope: Scope) -> Gap | None:
        """The two sides of a parity, the one named more often first; None where nobody is named."""
        counts = self.evidence.groups(row["attribute"], scope)
        named = sorted((g for g in counts if g != UNKNOWN), key=lambda g: (-counts[g], g))
        most = row["reference"] == OTHERS and row["value"] > 0
        if row["reference"] in (OTHERS, REST) and not most:
            # That all others together are named more often is no news: the two named most often are told.
            row = self._pair(row, named[:2]) or {}
            if not row:
                return None
        sides = [tuple(str(row[column]).split(" + ")) for column in ("category", "reference")]
        if most:
            sides[1] = tuple(group for group in named if group not in sides[0])
        k = [sum(counts.get(group, 0) for group in side) for side in sides]
        if not sum(k) or not row["n"]:
            return None
        (first, second), value, low, high = k, row["value"], row["low"], row["high"]
        of, against = sides
        if value < 0:
            of, against, first, second, value = against, of, second, first, -value
            low, high = (None, None) if low is None else (-high, -low)
        return Gap(
            row["attribute"],
            of,
            against,
            first,
            second,
            n=row["n"],
            unnamed=counts.get(UNKNOWN, 0),
            value=value,
            together=most,
            low=low,
            high=high,
            clustered=_clustered(row),
        )

    def _pair(self, row: Mapping[str, Any], groups: Sequence[str]) -> dict[str, Any] | None:
        """The signed parity of two groups in the cell of a row."""
        scope, wanted = scope_of(row), set(groups)
        for other, place in self._of("signed_parity"):
            same = other["attribute"] == row["attribute"] and place == scope
            if same and {other["category"], other["reference"]} == wanted:
                return other
        return None

    def model_differences(self, alpha: float) -> Iterator[Candidate]:
        """The largest difference between two models of each prompt and declared side."""
        cells: dict[tuple[str, str, str], list[_Side]] = {}
        for row, scope in self._of("signed_parity"):
            if _has_sides(row) and "generator" in scope and not _clustered(row):
                held = {name: level for name, level in scope.items() if name != "generator"}
                place = (str(sorted(held.items())), row["attribute"], row["category"])
                cells.setdefault(place, []).append(self._side(row, scope, held))
        pairs = [(place, a, b) for place, cell in cells.items() for a, b in combinations(cell, 2)]
        if not pairs:
            return
        tables = np.array([(a.k, a.n, b.k, b.n) for _, a, b in pairs]).T
        q = benjamini_hochberg(fisher_exact(*tables)).tolist()
        ends = np.array(newcombe(*tables, level=self.level)).T.tolist()
        largest: dict[tuple[str, str, str], tuple[float, Candidate]] = {}
        for (place, a, b), (low, high), own in zip(pairs, ends, q, strict=True):
            if own > alpha or low <= 0 <= high:
                continue
            more, less, nearer, farther = (a, b, low, high) if low > 0 else (b, a, -high, -low)
            size = more.k / more.n - less.k / less.n
            if place not in largest or size > largest[place][0]:
                told = self._difference(more, less, (nearer, farther), own, len(pairs))
                largest[place] = (size, told)
        yield from (finding for _, finding in largest.values())

    def _side(self, row: Mapping[str, Any], scope: Scope, held: Scope) -> _Side:
        """The captions of a cell that name the first of two sides, and those that name either."""
        counts = self.evidence.groups(row["attribute"], scope)
        groups = tuple(str(row["category"]).split(" + "))
        if row["reference"] in (OTHERS, REST):
            either = sum(n for group, n in counts.items() if group != UNKNOWN)
        else:
            either = sum(counts.get(group, 0) for group in (*groups, *str(row["reference"]).split(" + ")))
        k = sum(counts.get(group, 0) for group in groups)
        return _Side(row["attribute"], groups, scope, held, k, row["n"], either)

    def _difference(
        self, more: _Side, less: _Side, ends: tuple[float, float], q: float, of: int
    ) -> Candidate:
        remains = False
        if more.either and less.either:
            low, _ = newcombe(more.k, more.either, less.k, less.either, level=self.level)
            remains = bool(low > 0)
        sentence = self.wording.difference(
            more.attribute,
            more.groups,
            more.held,
            [(side.scope["generator"], (side.k, side.n), side.either) for side in (more, less)],
            ends,
            q,
            of,
        )
        shown = self.evidence.with_groups(more.attribute, more.scope, more.groups)
        effect = ends[0] * (1.0 if remains else NAMING)
        return Candidate(
            "model_difference", more.held, more.attribute, effect, "representation_parity", sentence, shown
        )

    def associations(self) -> Iterator[Candidate]:
        for row, scope in self._of("cas"):
            if _above(row, LEANING):
                terms = self.evidence.most_frequent("stereotype", scope)
                shown = self.evidence.holding("stereotype", scope)
                effect = (row["low"] - LEANING) / (1.0 - LEANING)
                sentence = self.wording.association(row, scope, terms)
                yield Candidate("association", scope, "stereotype", effect, "cas", sentence, shown)

    def out_of_place(self) -> Iterator[Candidate]:
        for row, scope in self._of("hallucination"):
            if _above(row, OUT_OF_PLACE):
                terms = self.evidence.most_frequent("hallucination", scope)
                shown = self.evidence.holding("hallucination", scope)
                sentence = self.wording.out_of_place(row, scope, terms)
                yield Candidate(
                    "out_of_place", scope, "hallucination", row["low"], "hallucination", sentence, shown
                )

    def composites(self) -> Iterator[Candidate]:
        edge = BANDS[-2].most
        for row, scope in self._of(*COMPOSITES):
            if not _above(row, edge):
                continue
            groups = self.evidence.groups(row["attribute"], scope)
            sentence = self.wording.composite(row, scope, groups, edge)
            most = max(groups, key=lambda g: (groups[g], g), default=None)
            shown = self.evidence.with_groups(row["attribute"], scope, [most]) if most else []
            effect = COMPOSED * (row["low"] - edge) / (1.0 - edge)
            effect *= 1.0 - groups.get(UNKNOWN, 0) / max(1, sum(groups.values()))
            yield Candidate("composite", scope, row["attribute"], effect, row["measure"], sentence, shown)

    def omissions(self) -> Iterator[Candidate]:
        for row, scope in self._of("gmr", "iemr"):
            if row["category"] is not None and _above(row, MISSING):
                name = "keyword" if row["measure"] == "gmr" else "implied"
                shown = self.evidence.lacking(name, scope, row["category"])
                sentence = self.wording.omission(row, scope)
                yield Candidate(
                    "omission", scope, name, OMITTED * row["low"], row["measure"], sentence, shown
                )

    def occlusions(self) -> Iterator[Candidate]:
        cells: dict[tuple[str, str], dict[str | None, tuple[dict[str, Any], dict[str, str]]]] = {}
        for row, scope in self._of("unknown_share"):
            place = (str(sorted(scope.items())), row["attribute"])
            cells.setdefault(place, {})[row["category"]] = (row, scope)
        for cell in cells.values():
            if not {None, OCCLUDED, BARE} <= set(cell):
                continue
            (whole, scope), (hidden, _), (bare, _) = cell[None], cell[OCCLUDED], cell[BARE]
            if not _above(whole, UNNAMED) or _clustered(whole):
                continue
            k = [round(row["value"] * row["n"]) for row in (hidden, bare)]
            low, high = (float(x) for x in newcombe(k[0], hidden["n"], k[1], bare["n"], level=self.level))
            explains = low > 0
            if not explains and high >= COVERS:
                continue
            counted = ((k[0], hidden["n"]), (k[1], bare["n"]))
            sentence = self.wording.occlusion(whole["attribute"], scope, counted, (low, high))
            shown = self.evidence.unnamed(whole["attribute"], "ppe", scope, covered=explains)
            effect = low if explains else 0.0
            yield Candidate("occlusion", scope, whole["attribute"], effect, "unknown_share", sentence, shown)


def _above(row: Mapping[str, Any], edge: float) -> bool:
    return row["low"] is not None and bool(row["low"] > edge)


def _clustered(row: Mapping[str, Any]) -> bool:
    return "clustered" in warnings_of(row.get("flags"))


def _has_sides(row: Mapping[str, Any]) -> bool:
    return bool(row["sides"] == DECLARED and row["n"] > 0)
