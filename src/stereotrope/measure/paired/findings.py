"""What a mitigation changes of stereotypes, and what that is paid for with: variety, fidelity, refusals."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl

from stereotrope.measure.divergence.change import CHANGE
from stereotrope.measure.finder import Candidate, RunEvidence, finder
from stereotrope.measure.paired.difference import BY_QUERY, MEAN_BY_QUERY
from stereotrope.measure.sentences import clean, decimals_of, quoted, span
from stereotrope.measure.setting import GENERATOR
from stereotrope.measure.words import measure_words
from stereotrope.tables import ALL_ATTRIBUTES, ESTIMATE_COLUMNS, kept_images

_BY_PICTURES = "_difference"
"""Ends the name of the same difference where a measure tests it by pictures."""
_LOSSES = {"fidelity": "specificity_loss", "refusal": "refusal_increase"}
_SAID = {
    "specificity_loss": "the pictures keep less of what was asked for",
    "refusal_increase": "more of what is asked for is refused",
}


@finder("homogenisation", place=12)
def homogenised_queries(evidence: RunEvidence) -> Iterator[Candidate]:
    """Stereotypes that fall while variety falls, query by query, for one generator and mitigation.

    Both must change, and stereotypes beside the control too where there is one: the largest of the p-values
    counts. Where measures test the same two by pictures, these tell it.
    """
    axes, measures = _axes(), set(evidence.estimates["measure"])
    rows = [row for row in _tested(evidence) if row["definition"] in axes]
    controlled = {_what(row): row for row in _tested(evidence, beside_control=True)}
    for one in rows:
        for other in rows:
            (axis, down), (beside, less) = axes[one["definition"]], axes[other["definition"]]
            alike = all(one[name] == other[name] for name in (GENERATOR, one["contrast"]))
            by_pictures = {one["definition"] + CHANGE, other["definition"] + CHANGE} <= measures
            if (axis, beside) != ("stereotype", "variety") or not alike or by_pictures:
                continue
            falls = [row for row in (one, controlled.get(_what(one))) if row is not None]
            so = all(down * row["value"] < 0 for row in falls) and less * other["value"] < 0
            yield _candidate(
                "homogenisation",
                one,
                evidence,
                p=max(row["p_value"] for row in (*falls, other)) if so else 1.0,
                sentence=partial(_homogenised, one, other, evidence),
                sign=-down,
                parts=(one["definition"], other["definition"]),
                size="the fall of the former is",
                leads=True,
            )


@finder("stereotype_change", place=14)
def changed_stereotypes(evidence: RunEvidence) -> Iterator[Candidate]:
    """Stereotypes that fall or rise with a mitigation, query by query, for one generator.

    Beside the control where there is one. A level that keeps pictures chose by them what is drawn again, and
    what is high falls by that alone: without a control it is no test. Where a measure tests the score by
    pictures, that tells it.
    """
    axes, measures = _axes(), set(evidence.estimates["measure"])
    controlled = {_what(row): row for row in _tested(evidence, beside_control=True)}
    controls = {row["reference"] for row in controlled.values()}
    for row in _tested(evidence):
        score, beside = row["definition"], controlled.get(_what(row))
        axis, more = axes.get(score, ("", 1))
        if axis != "stereotype" or score + CHANGE in measures or row[row["contrast"]] in controls:
            continue
        if beside is not None or not _keeps_pictures(row, evidence):
            one = beside or row
            yield _candidate(
                "stereotype_change",
                one,
                evidence,
                p=one["p_value"],
                sentence=partial(_changed, more, one, evidence, controlled=beside is not None),
                sign=1,
                parts=(score,),
                size="the change is",
            )


def _keeps_pictures(row: Mapping[str, Any], evidence: RunEvidence) -> bool:
    """Whether pictures with the mitigation are those without it."""
    scope = {GENERATOR: str(row[GENERATOR]), row["contrast"]: str(row[row["contrast"]])}
    kept = kept_images(evidence.images)
    return bool(kept) and not kept.keys().isdisjoint(evidence.pictures.requested(scope))


@finder("specificity_loss", "refusal_increase", place=13)
def lost_to_mitigations(evidence: RunEvidence) -> Iterator[Candidate]:
    """Fidelity that falls and refusals that rise with a mitigation, for one generator."""
    axes, table = _axes(), evidence.estimates
    paired = _tested(evidence)
    over = {row["contrast"] for row in _paired(evidence).select("contrast").iter_rows(named=True)}
    changed = table.filter(pl.col("contrast").is_in(list(over)), pl.col("p_value").is_not_null())
    by_pictures = set(changed["measure"])
    rows = [
        (row["definition"], row) for row in paired if f"{row['definition']}{_BY_PICTURES}" not in by_pictures
    ]
    factors = [c for c in table.columns if c not in ESTIMATE_COLUMNS]
    for row in changed.filter(pl.col("attribute").eq_missing(ALL_ATTRIBUTES)).iter_rows(named=True):
        scope = {name for name in factors if row[name] is not None}
        if row["measure"].endswith(_BY_PICTURES) and scope == {GENERATOR, row["contrast"]}:
            rows.append((row["measure"].removesuffix(_BY_PICTURES), row))
    for score, row in rows:
        axis, more = axes.get(score, ("", 1))
        if kind := _LOSSES.get(axis):
            worse = more if axis == "refusal" else -more
            yield _candidate(
                kind,
                row,
                evidence,
                p=row["p_value"] if worse * row["value"] > 0 else 1.0,
                sentence=partial(_lost, kind, score, row, evidence),
                sign=worse,
                parts=(score,),
                size="the loss is" if axis == "fidelity" else "the rise is",
            )


def _axes() -> dict[str, tuple[str, int]]:
    """Score → what of a mitigation it measures, and −1 where higher is less of that."""
    every = measure_words()
    return {
        name: (told["axis"], -1 if told.get("axis_scale") == "reversed" else 1)
        for name, told in every.items()
        if "axis" in told
    }


def _paired(evidence: RunEvidence) -> pl.DataFrame:
    return evidence.estimates.filter(pl.col("contrast").is_not_null(), pl.col("measure") == BY_QUERY)


def _what(row: Mapping[str, Any]) -> tuple[Any, ...]:
    names = ("definition", "attribute", "category", GENERATOR, "annotator", row["contrast"])
    return tuple(row.get(name) for name in names)


def _tested(evidence: RunEvidence, *, beside_control: bool = False) -> list[dict[str, Any]]:
    """Comparisons of one generator over all its queries, with the original or with a control."""
    found = _paired(evidence).filter(pl.col("p_value").is_not_null())
    controls = {ref for over in set(found["contrast"]) for ref in {*found["reference"]} & {*found[over]}}
    found = found.filter(pl.col("reference").is_in(sorted(controls)) == beside_control)
    if GENERATOR not in found.columns:
        return []
    kept = (GENERATOR, "annotator")
    rows = []
    for row in found.iter_rows(named=True):
        scope = {c for c in found.columns if c not in ESTIMATE_COLUMNS and row[c] is not None}
        if scope - {"annotator"} == {GENERATOR, row["contrast"]}:
            rows.append(row | {name: row.get(name) for name in kept})
    return rows


def _candidate(
    kind: str, row: Mapping[str, Any], evidence: RunEvidence, *, sign: int, **facts: Any
) -> Candidate:
    """A candidate of one generator and mitigation; its size is the change, positive the way of ``sign``."""
    named = (GENERATOR, row["contrast"], *(["annotator"] if row.get("annotator") else []))
    scope = {name: str(row[name]) for name in named}
    ends = [None if end is None else sign * end for end in (row["low"], row["high"])][::sign]
    cut = [None if end is None else max(-1.0, min(1.0, end)) for end in (sign * row["value"], *ends)]
    return Candidate(
        kind,
        scope,
        None,
        0.0,
        row["measure"],
        images=partial(evidence.pictures.requested, scope),
        value=sign * row["value"],
        interval=(cut[0] or 0.0, cut[1], cut[2]),
        between=(row["contrast"], scope[row["contrast"]], row["reference"]),
        **facts,
    )


def _where(row: Mapping[str, Any], evidence: RunEvidence) -> str:
    several = evidence.estimates[GENERATOR].drop_nulls().n_unique() > 1
    lead = f"{clean(str(row[GENERATOR]))}: with" if several else "With"
    return f"{lead} {clean(row['contrast'])} {quoted(str(row[row['contrast']]))}"


def _told(score: str, row: Mapping[str, Any], evidence: RunEvidence) -> str:
    """A score, its change, and from what to what it goes."""
    short = measure_words().get(score, {}).get("short", score.replace("_", " "))
    by = f" by {quoted(row['annotator'])}" if row.get("annotator") else ""
    sign = "+" if row["value"] > 0 else ""
    change = f"{clean(short)}{by} {sign}{decimals_of(row['value'])}{span(row['low'], row['high'])}"
    if row["measure"] != BY_QUERY:
        counts = (row["numerator_reference"], row["n_reference"], row["numerator"], row["n"])
        return f"{change}, from {counts[0]} of {counts[1]} to {counts[2]} of {counts[3]} pictures"
    same = {name: row[name] for name in ("definition", GENERATOR, "attribute", "category")}
    same |= {"annotator": row["annotator"]} if "annotator" in evidence.estimates.columns else {}
    means = evidence.estimates.filter(
        *(pl.col(name).eq_missing(pl.lit(value, pl.String)) for name, value in same.items()),
        *(pl.col(c).is_null() for c in _others(evidence, row)),
        pl.col("measure") == MEAN_BY_QUERY,
    )
    levels: dict[Any, float] = dict(means.filter(_of(row)).select(row["contrast"], "value").iter_rows())
    ends = [decimals_of(levels[at]) for at in (row["reference"], row[row["contrast"]]) if at in levels]
    known = f", from {ends[0]} to {ends[1]}" if len(ends) == 2 else ""
    return f"{change}{known} over {row['n']} queries"


def _others(evidence: RunEvidence, row: Mapping[str, Any]) -> list[str]:
    named = {GENERATOR, "annotator", row["contrast"]}
    return [c for c in evidence.estimates.columns if c not in ESTIMATE_COLUMNS and c not in named]


def _of(row: Mapping[str, Any]) -> pl.Expr:
    """The means of both sides of one comparison."""
    new, original = str(row[row["contrast"]]), str(row["reference"])
    level, reference = pl.col(row["contrast"]), pl.col("reference")
    return ((level == new) & (reference == original)) | ((level == original) & (reference == new))


def _homogenised(one: Mapping[str, Any], other: Mapping[str, Any], evidence: RunEvidence) -> str:
    first, second = (_told(row["definition"], row, evidence) for row in (one, other))
    return (
        f"{_where(one, evidence)} stereotypes fall and the pictures of each query repeat each other more: "
        f"{first}; {second}."
    )


def _changed(more: int, row: Mapping[str, Any], evidence: RunEvidence, *, controlled: bool) -> str:
    """The change as a sentence; ``controlled`` where it is compared with a control, which is named."""
    way = "rise" if more * row["value"] > 0 else "fall"
    beside = f" beside {quoted(row['reference'])}" if controlled else ""
    return f"{_where(row, evidence)} stereotypes {way}{beside}: {_told(row['definition'], row, evidence)}."


def _lost(kind: str, score: str, row: Mapping[str, Any], evidence: RunEvidence) -> str:
    return f"{_where(row, evidence)} {_SAID[kind]}: {_told(score, row, evidence)}."
