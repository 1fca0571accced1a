"""What stands out in captions: who is named, what is missing, what does not belong, where models differ."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, compress
from typing import Any

import numpy as np
import polars as pl

from stereotrope.lexicon.parts import OTHERS, REST
from stereotrope.measure.captions.composite import BARE, OCCLUDED
from stereotrope.measure.captions.difference import OVER_PROMPTS
from stereotrope.measure.captions.evidence import CaptionEvidence, Levels, scope_key
from stereotrope.measure.captions.profile import COMPOSITE_ROWS
from stereotrope.measure.captions.sentences import CaptionWording, Gap, Side
from stereotrope.measure.finder import Candidate, RunEvidence, finder, scope_of
from stereotrope.measure.selection import at_level, standing_out
from stereotrope.measure.sentences import Counted
from stereotrope.stats import fisher_exact, fisher_least, newcombe, sign_test
from stereotrope.tables import BANDS, ESTIMATE_COLUMNS, LIKE_THESE, UNKNOWN, plain_scores, warnings_of

ONE_GROUP_SHARE = 0.80
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

_KINDS = (
    *("one_group", "group_gap", "model_difference", "association", "out_of_place"),
    *("composite", "omission", "occlusion"),
)
"""Where two are about one attribute of a cell, the first says it best."""

_OF_GROUPS = ("one_group", "group_gap", "composite")
_READ = (
    *("representation_parity", "signed_parity", "gmr", "iemr", "hallucination", "cas", "unknown_share"),
    *COMPOSITE_ROWS,
    OVER_PROMPTS,
)


@finder(*_KINDS, place=30)
def caption_findings(evidence: RunEvidence) -> list[Candidate]:
    """Return what stands out in the estimates of captions, the strongest first.

    - ``one_group``: one group, not ``unknown``, in nearly all captions;
    - ``group_gap``, a difference: one of the declared sides named more often than the other, or, where the
      other is everything else, the group named most often more often than the next one, by the exact sign
      test; of captions that share prompts a description, where its interval excludes 0;
    - ``model_difference``, a difference: captions of two models name a declared side at different rates, by
      Fisher's test, of which of each prompt and side the clearest pair is told; and each two models over
      all prompts that both describe (:func:`stereotrope.measure.representation_difference`), which is
      told before single prompts;
    - ``association``, ``out_of_place``, ``omission`` and ``composite`` (the highest band): the whole interval
      above a threshold;
    - ``occlusion``: captions that mention covers leave the group unnamed more often, or do not.

    Intervals of descriptions are widened for their having been chosen among all of their kind
    (:func:`stereotrope.measure.selection.standing_out`): of many rates exactly at a threshold one in forty
    lies above it by chance.

    The effect of descriptions is the end of the interval that is nearer to the threshold, of CAS and
    composites counted from there, some of them weighed. What stands out first should differ: the second
    pattern of a kind weighs half of its effect, the third a third; the second model that shows
    the same a quarter, the third a ninth.
    """
    rows, level = _rows(evidence.estimates), evidence.level
    if not rows.height:
        return []
    said = _Said(
        CaptionEvidence(rows, evidence.frames.get("captions", ())), CaptionWording(rows), rows, level
    )
    described = [
        *said.one_group(),
        *said.terms_held(),
        *said.composites(),
        *said.omissions(),
        *said.occlusions(),
    ]
    tested = [*said.group_gaps(), *said.model_differences(), *said.differences_over_prompts()]
    return [*tested, *_varied(_one_each(described))]


def _rows(table: pl.DataFrame) -> pl.DataFrame:
    """Rows of captions with a value, of the paper's definition where there are two; each once."""
    rows = plain_scores(table).filter(pl.col("measure").is_in(_READ), pl.col("value").is_not_null())
    if "definition" in rows.columns and "paper" in rows["definition"].to_list():
        rows = rows.filter(definition="paper")
    absent = sorted(ESTIMATE_COLUMNS - {*rows.columns})
    rows = rows.with_columns(pl.lit(None).alias(name) for name in absent)
    factors = [c for c in rows.columns if c not in ESTIMATE_COLUMNS]
    keys = ["measure", *factors, "attribute", "category", "reference"]
    return rows.unique(keys, keep="first", maintain_order=True)


def _one_each(found: Sequence[Candidate]) -> list[Candidate]:
    """One finding about the groups of an attribute in a cell, and one of each further kind."""
    best: dict[tuple[str, str, str | None], Candidate] = {}
    for one in sorted(found, key=lambda f: (_KINDS.index(f.kind), -f.effect)):
        what = "groups" if one.kind in _OF_GROUPS else one.kind
        attribute = one.attribute if one.kind in (*_OF_GROUPS, "model_difference") else None
        best.setdefault((scope_key(one.scope), what, attribute), one)
    return list(best.values())


def _varied(found: Sequence[Candidate]) -> list[Candidate]:
    """The findings by effect, divided by their place in their kind and among models that show the same."""
    things: dict[str, Counter[tuple[str, str | None]]] = {}
    weighed = []
    for one in sorted(found, key=lambda f: -f.effect):
        of_kind = things.setdefault(one.kind, Counter())
        thing = (scope_key(_without_model(one.scope)), one.attribute)
        of_kind[thing] += 1
        rank = (list(of_kind).index(thing) + 1) * of_kind[thing] ** 2
        weighed.append(replace(one, effect=one.effect / rank))
    return sorted(weighed, key=lambda f: (-f.effect, _KINDS.index(f.kind)))


def _without_model(scope: Levels) -> Levels:
    return {name: level for name, level in scope.items() if name != "generator"}


@dataclass(frozen=True)
class _Said:
    """What the estimates of captions say, kind by kind."""

    evidence: CaptionEvidence
    wording: CaptionWording
    rows: pl.DataFrame
    level: float

    def _of(self, *measures: str) -> Iterator[tuple[dict[str, Any], Levels]]:
        """Rows of measures with their cell."""
        for row in self.rows.filter(pl.col("measure").is_in(measures)).iter_rows(named=True):
            yield row, scope_of(row)

    def _above(self, edge: float, *measures: str) -> Iterator[tuple[dict[str, Any], Levels, dict[str, Any]]]:
        """Rows whose widened interval lies above an edge, with it, their cell, and it as a candidate's."""
        rows = self.rows.filter(pl.col("measure").is_in(measures))
        value, low = (rows[name].to_numpy() for name in ("value", "low"))
        told, level = standing_out(value, low, edge, level=self.level)
        for row in rows.filter(told).iter_rows(named=True):
            size = at_level((row["value"], row["low"], row["high"]), self.level, level)
            facts = {"interval": size, "level": level}
            yield row | {"low": size[1], "high": size[2]}, scope_of(row), facts

    def _naming(self, attribute: str, scope: Levels, groups: Iterable[str]) -> list[str]:
        """Pictures whose caption has one of the groups."""
        return self.evidence.pictures(attribute, scope, pl.col(attribute).is_in(list(groups)))

    def one_group(self) -> Iterator[Candidate]:
        for row, scope, size in self._above(ONE_GROUP_SHARE, "representation_parity"):
            attribute, group = row["attribute"], row["category"]
            if group != UNKNOWN:
                sentence = self.wording.one_group(row, scope, self.evidence.groups(attribute, scope))
                shown = self._naming(attribute, scope, [group])
                yield Candidate(
                    "one_group", scope, attribute, row["low"], row["measure"], sentence, shown, **size
                )

    def group_gaps(self) -> Iterator[Candidate]:
        """Differences of two sides: of captions that share prompts described, for want of a test."""
        rows = [(row, scope) for row, scope in self._of("signed_parity") if _has_sides(row)]
        gaps = [(gap, row, scope) for row, scope in rows if (gap := self._gap(row, scope)) is not None]
        described = [one for one in gaps if one[0].clustered]
        value = np.array([gap.value for gap, *_ in described], np.float64)
        low = np.array([gap.low for gap, *_ in described], np.float64)
        told, level = standing_out(value, low, 0.0, level=self.level, least=-1.0)
        yield from (self._group_gap(*one) for one in gaps if not one[0].clustered)
        for gap, row, scope in compress(described, told):
            _, near, far = at_level((gap.value, gap.low, gap.high), self.level, level, least=-1.0)
            yield replace(self._group_gap(replace(gap, low=near, high=far), row, scope), level=level)

    def _group_gap(self, gap: Gap, row: Mapping[str, Any], scope: Levels) -> Candidate:
        named = gap.first[1] + gap.second[1]
        return Candidate(
            "group_gap",
            scope,
            gap.attribute,
            gap.low or 0.0,
            "signed_parity",
            partial(self.wording.gap, gap, scope),
            partial(self._naming, gap.attribute, scope, gap.first[0]),
            parts=(str(row["category"]), str(row["reference"])),
            value=gap.value,
            of_shares=True,
            turned=True,
            toward=", ".join(gap.first[0]),
            interval=(gap.value, gap.low, gap.high),
            p=None if gap.clustered else sign_test(gap.first[1], named),
            p_least=math.nan if gap.clustered else min(1.0, 2.0 ** (1 - named)),
        )

    def _gap(self, row: Mapping[str, Any], scope: Levels) -> Gap | None:
        """The two sides of a parity, the one named more often first; None where nobody is named."""
        counts = self.evidence.groups(row["attribute"], scope)
        named = sorted((g for g in counts if g != UNKNOWN), key=lambda g: (-counts[g], g))
        most = row["reference"] == OTHERS and row["value"] > 0
        if row["reference"] in (OTHERS, REST) and not most:
            # That all others together are named more often is no news: the two named most often are told.
            row = self._pair(row, named[:2]) or {}
            if not row:
                return None
        sides = _sides(row)
        if most:
            sides[1] = tuple(group for group in named if group not in sides[0])
        k = [sum(counts.get(group, 0) for group in side) for side in sides]
        if not sum(k) or not row["n"]:
            return None
        value, low, high = row["value"], row["low"], row["high"]
        first, second = zip(sides, k, strict=True)
        if value < 0:
            first, second, value = second, first, -value
            low, high = (None, None) if low is None else (-high, -low)
        unnamed = counts.get(UNKNOWN, 0)
        return Gap(
            row["attribute"], first, second, row["n"], unnamed, value, low, high, most, _clustered(row)
        )

    def _pair(self, row: Mapping[str, Any], groups: Sequence[str]) -> dict[str, Any] | None:
        """The signed parity of two groups in the cell of a row."""
        wanted = (scope_of(row), row["attribute"], set(groups))
        for other, scope in self._of("signed_parity"):
            if (scope, other["attribute"], {other["category"], other["reference"]}) == wanted:
                return other
        return None

    def model_differences(self) -> Iterator[Candidate]:
        """Every two models that are compared in a prompt and declared side."""
        cells: dict[tuple[str, str, str], list[Side]] = {}
        for row, scope in self._of("signed_parity"):
            if _has_sides(row) and "generator" in scope and not _clustered(row):
                key = (scope_key(_without_model(scope)), row["attribute"], row["category"])
                cells.setdefault(key, []).append(self._side(row, scope))
        pairs = [(a, b) for cell in cells.values() for a, b in combinations(cell, 2)]
        if not pairs:
            return
        tables = np.array([(a.k, a.n, b.k, b.n) for a, b in pairs]).T
        ends = np.array(newcombe(*tables, level=self.level)).T.tolist()
        tests = fisher_exact(*tables), fisher_least(*tables)
        for (a, b), (low, high), *p in zip(pairs, ends, *tests, strict=True):
            more, less, near, far = (a, b, low, high) if a.k * b.n >= b.k * a.n else (b, a, -high, -low)
            size = more.k / more.n - less.k / less.n
            yield self._difference(more, less, (size, near, far), (float(p[0]), float(p[1])))

    def _side(self, row: Mapping[str, Any], scope: Levels) -> Side:
        """The captions of a cell that name the first of two sides, and those that name either."""
        counts = self.evidence.groups(row["attribute"], scope)
        groups, against = _sides(row)
        if row["reference"] in (OTHERS, REST):
            either = sum(n for group, n in counts.items() if group != UNKNOWN)
        else:
            either = sum(counts.get(group, 0) for group in (*groups, *against))
        k = sum(counts.get(group, 0) for group in groups)
        return Side(row["attribute"], groups, scope, k, row["n"], either)

    def _difference(
        self, more: Side, less: Side, interval: tuple[float, float, float], p: tuple[float, float]
    ) -> Candidate:
        attribute = more.attribute
        return Candidate(
            "model_difference",
            _without_model(more.scope),
            attribute,
            interval[0],
            "representation_parity",
            partial(self.wording.difference, more, less),
            partial(self._naming, attribute, more.scope, more.groups),
            parts=tuple(sorted({*more.groups, *less.groups})),
            between=("generator", more.scope["generator"], less.scope["generator"]),
            of_shares=True,
            turned=True,
            value=interval[0],
            interval=interval,
            p=p[0],
            p_least=p[1],
        )

    def differences_over_prompts(self) -> Iterator[Candidate]:
        """Every two models over all prompts that both describe, a place of its own."""
        for row, scope in self._of(OVER_PROMPTS):
            if row["n"] < 2 or row["p_value"] is None:
                continue
            attribute, models = row["attribute"], (scope[row["contrast"]], row["reference"])
            value, low, high = row["value"], row["low"], row["high"]
            if value < 0:
                models, value = models[::-1], -value
                low, high = (None, None) if low is None else (-high, -low)
            (groups,) = json.loads(row["sides"])
            yield Candidate(
                "model_difference",
                _without_model(scope),
                attribute,
                value,
                row["measure"],
                partial(self.wording.difference_over_prompts, row, scope, models, groups),
                partial(self._naming, attribute, {**scope, row["contrast"]: models[0]}, groups),
                category=row["category"],
                parts=(row["category"], *sorted(models)),
                between=(row["contrast"], *models),
                of_shares=True,
                turned=True,
                leads=True,
                value=value,
                interval=(value, low, high),
                units=row["n"] if row["holds_for"] == LIKE_THESE else None,
                size="the mean difference is",
                p=row["p_value"],
                p_least=row["p_least"],
            )

    def terms_held(self) -> Iterator[Candidate]:
        """Hits of stereotype terms, and terms that the prompt does not call for."""
        for measure, kind, name, edge, worded in (
            ("cas", "association", "stereotype", LEANING, self.wording.association),
            ("hallucination", "out_of_place", "hallucination", OUT_OF_PLACE, self.wording.out_of_place),
        ):
            for row, scope, size in self._above(edge, measure):
                effect = (row["low"] - edge) / (1.0 - edge) if measure == "cas" else row["low"]
                sentence = worded(row, scope, self.evidence.most_frequent(name, scope))
                shown = self.evidence.pictures(name, scope, pl.col(name).list.len() > 0)
                yield Candidate(kind, scope, name, effect, measure, sentence, shown, **size)

    def composites(self) -> Iterator[Candidate]:
        edge = BANDS[-2].most
        for row, scope, size in self._above(edge, *COMPOSITE_ROWS):
            attribute, groups = row["attribute"], self.evidence.groups(row["attribute"], scope)
            sentence = self.wording.composite(row, scope, groups, edge)
            most = max(groups, key=lambda g: (groups[g], g), default=None)
            shown = self._naming(attribute, scope, [most]) if most else []
            effect = COMPOSED * (row["low"] - edge) / (1.0 - edge)
            effect *= 1.0 - groups.get(UNKNOWN, 0) / max(1, sum(groups.values()))
            yield Candidate("composite", scope, attribute, effect, row["measure"], sentence, shown, **size)

    def omissions(self) -> Iterator[Candidate]:
        for row, scope, size in self._above(MISSING, "gmr", "iemr"):
            if row["category"] is not None:
                name = "keyword" if row["measure"] == "gmr" else "implied"
                lacking = ~pl.col(name).list.contains(row["category"])
                shown = self.evidence.pictures(name, scope, lacking)
                effect, sentence = OMITTED * row["low"], self.wording.omission(row, scope)
                yield Candidate("omission", scope, name, effect, row["measure"], sentence, shown, **size)

    def occlusions(self) -> Iterator[Candidate]:
        cells: dict[tuple[str, str], dict[str | None, dict[str, Any]]] = {}
        for row, scope in self._of("unknown_share"):
            cells.setdefault((scope_key(scope), row["attribute"]), {})[row["category"]] = row
        whole = [cell for cell in cells.values() if {None, OCCLUDED, BARE} <= set(cell)]
        asked = [
            (cell[None], [_counts(cell[of]) for of in (OCCLUDED, BARE)])
            for cell in whole
            if (cell[None]["low"] or 0.0) > UNNAMED and not _clustered(cell[None])
        ]
        if not asked:
            return
        (k, n), (j, m) = np.array([counts for _, counts in asked]).transpose(1, 2, 0)
        value, ends = k / n - j / m, newcombe(k, n, j, m, level=self.level)
        explained = np.zeros(len(asked), bool)
        for end, edge, explains in ((ends[0], 0.0, True), (ends[1], COVERS, False)):
            told, level = standing_out(value, end, edge, level=self.level, below=not explains, least=-1.0)
            wide = np.array([value, *newcombe(k, n, j, m, level=level)]).T.tolist()
            for at in np.flatnonzero(told & ~explained):
                yield self._occlusion(*asked[at], wide[at], level, explains)
            explained |= told

    def _occlusion(
        self,
        whole: Mapping[str, Any],
        counted: Sequence[Counted],
        size: Sequence[float],
        level: float,
        explains: bool,
    ) -> Candidate:
        value, low, high = size
        scope, attribute = scope_of(whole), whole["attribute"]
        covered = pl.col("ppe").list.len() > 0
        unnamed = (pl.col(attribute) == UNKNOWN) & (covered if explains else ~covered)
        return Candidate(
            "occlusion",
            scope,
            attribute,
            max(low, 0.0) if explains else 0.0,
            "unknown_share",
            self.wording.occlusion(attribute, scope, counted, (low, high), explains),
            self.evidence.pictures(attribute, scope, unnamed),
            # A difference about 0 would be left out of what stands out.
            interval=(value, low, high) if explains else None,
            level=level,
        )


def _counts(row: Mapping[str, Any]) -> Counted:
    return round(row["value"] * row["n"]), row["n"]


def _clustered(row: Mapping[str, Any]) -> bool:
    return "clustered" in warnings_of(row.get("flags"))


def _has_sides(row: Mapping[str, Any]) -> bool:
    return bool(row["sides"] is not None and row["n"] > 0)


def _sides(row: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The groups on each side of a parity; of one whose sides nobody chose, one on each."""
    chosen = [[row["category"]], [row["reference"]]] if row["sides"] is None else json.loads(row["sides"])
    return list(map(tuple, chosen))
