"""What a mitigation changes of stereotypes, and what that is paid for with: variety, fidelity, refusals."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl

from stereotrope.measure.divergence.change import CHANGE, WORDINGS
from stereotrope.measure.finder import Candidate, RunEvidence, finder, scope_of
from stereotrope.measure.paired.difference import BY_QUERY, MEAN_BY_QUERY
from stereotrope.measure.sentences import clean, from_to, quoted, signed, span
from stereotrope.measure.setting import GENERATOR
from stereotrope.measure.words import measure_words
from stereotrope.tables import ALL_ATTRIBUTES, ESTIMATE_COLUMNS, LIKE_THESE, kept_images

_BY_PICTURES = "_difference"
"""Ends the name of the same difference where a measure tests it by pictures."""
_KINDS = {"stereotype": "stereotype_change", "variety": "variety_change"}
_PRICES = {"fidelity": "fidelity_change", "refusal": "refusal_change"}
_SAID = {
    "stereotype": "stereotypes {}",
    "variety": "the pictures of each query repeat each other {}",
    "fidelity": "the pictures keep {} of what was asked for",
    "refusal": "{} of what is asked for is refused",
}
_WAYS = {"stereotype": ("rise", "fall"), "variety": ("less", "more")}
"""What is said of an axis that goes up, and down."""

_Place = tuple[str | None, ...]
"""A measure by pictures, and whose change it tests: model, factor, level, reference and annotator."""


@finder("homogenisation", place=12)
def homogenised_queries(evidence: RunEvidence) -> Iterator[Candidate]:
    """Stereotypes that fall while variety falls, query by query, for one generator and mitigation.

    Both must change, and stereotypes beside the control too where there is one: the largest of the p-values
    counts. Where measures test the same two by pictures, for that model and mitigation, these tell it.
    """
    axes, by_pictures = _axes(), _by_pictures(evidence)
    rows = [row for row in _tested(evidence) if row["definition"] in axes]
    controlled = {_what(row): row for row in _tested(evidence, beside_control=True)}
    for one in rows:
        for other in rows:
            (axis, down), (beside, less) = axes[one["definition"]], axes[other["definition"]]
            alike = all(one[name] == other[name] for name in (GENERATOR, one["contrast"]))
            if (axis, beside) != ("stereotype", "variety") or not alike:
                continue
            if all(_place(row["definition"] + CHANGE, row) in by_pictures for row in (one, other)):
                continue
            falls = [row for row in (one, controlled.get(_what(one))) if row is not None]
            so = all(down * row["value"] < 0 for row in falls) and less * other["value"] < 0
            yield _candidate(
                "homogenisation",
                one,
                evidence,
                p=max(row["p_value"] for row in (*falls, other)) if so else 1.0,
                sentence=partial(_homogenised, one, other, evidence, so=so),
                apt=so,
                scores=(one["definition"], other["definition"]),
                of_shares=False,
                size="the change of the former is",
                leads=True,
            )


@finder("stereotype_change", "variety_change", place=14)
def changed_stereotypes(evidence: RunEvidence) -> Iterator[Candidate]:
    """Stereotypes, and variety, that fall or rise with a mitigation, query by query, for one generator.

    Beside the control where there is one. A level that keeps pictures chose by them what is drawn again, and
    what is high falls by that alone: without a control it is no test. Where a measure tests the score by
    pictures, for that model and mitigation, that tells it.
    """
    axes, by_pictures = _axes(), _by_pictures(evidence)
    controlled = {_what(row): row for row in _tested(evidence, beside_control=True)}
    controls = {row["reference"] for row in controlled.values()}
    for row in _tested(evidence):
        score, beside = row["definition"], controlled.get(_what(row))
        axis, more = axes.get(score, ("", 1))
        told = _place(score + CHANGE, row) in by_pictures
        if axis not in _KINDS or told or row[row["contrast"]] in controls:
            continue
        if beside is not None or not _keeps_pictures(row, evidence):
            one = beside or row
            yield _candidate(
                _KINDS[axis],
                one,
                evidence,
                p=one["p_value"],
                sentence=partial(_changed, axis, more, one, evidence, controlled=beside is not None),
                scores=(score,),
                size="the change is",
            )


def _keeps_pictures(row: Mapping[str, Any], evidence: RunEvidence) -> bool:
    """Whether pictures with the mitigation are those without it."""
    scope = {GENERATOR: str(row[GENERATOR]), row["contrast"]: str(row[row["contrast"]])}
    kept = kept_images(evidence.images)
    return bool(kept) and not kept.keys().isdisjoint(evidence.pictures.requested(scope))


@finder("fidelity_change", "refusal_change", place=13)
def paid_by_mitigations(evidence: RunEvidence) -> Iterator[Candidate]:
    """Fidelity and refusals that fall or rise with a mitigation, for one generator."""
    axes, tested, by_pictures = _axes(), _tested_by_pictures(evidence), _by_pictures(evidence)
    rows = [
        (row["definition"], row)
        for row in _tested(evidence)
        if _place(row["definition"] + _BY_PICTURES, row) not in by_pictures
    ]
    rows += [
        (str(row["measure"]).removesuffix(_BY_PICTURES), row)
        for row in tested
        if row["measure"].endswith(_BY_PICTURES) and row["attribute"] == ALL_ATTRIBUTES
    ]
    for score, row in rows:
        axis, more = axes.get(score, ("", 1))
        if kind := _PRICES.get(axis):
            yield _candidate(
                kind,
                row,
                evidence,
                p=row["p_value"],
                sentence=partial(_changed, axis, more, row, evidence),
                scores=(score,),
                size="the change is",
            )


def _by_pictures(evidence: RunEvidence) -> set[_Place]:
    return {_place(row["measure"], row) for row in _tested_by_pictures(evidence)}


def _tested_by_pictures(evidence: RunEvidence) -> list[dict[str, Any]]:
    """Rows over all attributes that test a change by pictures, for one generator and mitigation."""
    over = set(_paired(evidence)["contrast"])
    changed = evidence.estimates.filter(
        pl.col("contrast").is_in(list(over)),
        # A change of a phrasing is no mitigation, and no finder tells it by pictures.
        (pl.col("measure").str.ends_with(CHANGE) & (pl.col("contrast") != WORDINGS))
        | pl.col("measure").str.ends_with(_BY_PICTURES),
        pl.col("measure") != BY_QUERY,
        pl.col("p_value").is_not_null(),
        pl.col("attribute").is_null() | pl.col("attribute").eq_missing(ALL_ATTRIBUTES),
    )
    rows = (row for row in changed.iter_rows(named=True) if _of_one_model(row))
    return [row | {"annotator": row.get("annotator")} for row in rows]


def _place(measure: str, row: Mapping[str, Any]) -> _Place:
    contrast = row["contrast"]
    return measure, row[GENERATOR], contrast, row[contrast], row["reference"], row.get("annotator")


def _of_one_model(row: Mapping[str, Any]) -> bool:
    """Whether a row compares levels of one generator over all else."""
    return scope_of(row).keys() - {"annotator"} == {GENERATOR, row["contrast"]}


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
    rows = (row for row in found.iter_rows(named=True) if _of_one_model(row))
    return [row | {"annotator": row.get("annotator")} for row in rows]


def _candidate(kind: str, row: Mapping[str, Any], evidence: RunEvidence, **facts: Any) -> Candidate:
    """A candidate of one generator and mitigation; its size is the change."""
    named = (GENERATOR, row["contrast"], *(["annotator"] if row["annotator"] else []))
    scope = {name: str(row[name]) for name in named}
    of_shares = all(measure_words().get(score, {}).get("axis_unit") == "share" for score in facts["scores"])
    usual = {"of_shares": of_shares, "parts": facts["scores"]}
    of_queries = row["measure"] == BY_QUERY and row["holds_for"] == LIKE_THESE
    return Candidate(
        kind,
        scope,
        None,
        0.0,
        row["measure"],
        images=partial(evidence.pictures.requested, scope),
        value=row["value"],
        interval=(row["value"], row["low"], row["high"]),
        units=row["n"] if of_queries else None,
        between=(row["contrast"], scope[row["contrast"]], row["reference"]),
        **{**usual, **facts},
    )


def _where(row: Mapping[str, Any], evidence: RunEvidence) -> str:
    several = evidence.estimates[GENERATOR].drop_nulls().n_unique() > 1
    lead = f"{clean(str(row[GENERATOR]))}: with" if several else "With"
    return f"{lead} {clean(row['contrast'])} {quoted(str(row[row['contrast']]))}"


def _told(score: str, row: Mapping[str, Any], evidence: RunEvidence) -> str:
    """A score, its change, and from what to what it goes."""
    short = measure_words().get(score, {}).get("short", score.replace("_", " "))
    by = f" by {quoted(row['annotator'])}" if row.get("annotator") else ""
    of = f" of {quoted(row['attribute'].replace('_', ' '))}" if _of_an_attribute(row) else ""
    change = f"{clean(short)}{of}{by} {signed(row['value'])}{span(row['low'], row['high'])}"
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
    before, after = (levels.get(at) for at in (row["reference"], row[row["contrast"]]))
    known = "" if before is None or after is None else from_to(before, after, row["value"])
    return f"{change}{known} over {row['n']} queries"


def _of_an_attribute(row: Mapping[str, Any]) -> bool:
    return row["attribute"] not in (None, ALL_ATTRIBUTES)


def _others(evidence: RunEvidence, row: Mapping[str, Any]) -> list[str]:
    named = {GENERATOR, "annotator", row["contrast"]}
    return [c for c in evidence.estimates.columns if c not in ESTIMATE_COLUMNS and c not in named]


def _of(row: Mapping[str, Any]) -> pl.Expr:
    """The means of both sides of one comparison."""
    new, original = str(row[row["contrast"]]), str(row["reference"])
    level, reference = pl.col(row["contrast"]), pl.col("reference")
    return ((level == new) & (reference == original)) | ((level == original) & (reference == new))


def _homogenised(one: Mapping[str, Any], other: Mapping[str, Any], evidence: RunEvidence, *, so: bool) -> str:
    first, second = (_told(row["definition"], row, evidence) for row in (one, other))
    said = "stereotypes fall and the pictures of each query repeat each other more"
    # What a look before told is told again, whatever has become of it.
    return f"{_where(one, evidence)} {said if so else f'it is not so that {said}'}: {first}; {second}."


def _changed(
    axis: str, more: int, row: Mapping[str, Any], evidence: RunEvidence, *, controlled: bool = False
) -> str:
    """The change as a sentence; ``controlled`` where it is compared with a control, which is named."""
    up, down = _WAYS.get(axis, ("more", "less"))
    said = _SAID[axis].format(up if more * row["value"] > 0 else down)
    beside = f" beside {quoted(row['reference'])}" if controlled else ""
    score = row["definition"] if row["measure"] == BY_QUERY else row["measure"].removesuffix(_BY_PICTURES)
    return f"{_where(row, evidence)} {said}{beside}: {_told(score, row, evidence)}."
