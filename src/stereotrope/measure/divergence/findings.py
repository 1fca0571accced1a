"""What stands out among divergences: values that replace others, that leave no variety, that shift."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from stereotrope.measure.divergence.change import CHANGE, WORDINGS
from stereotrope.measure.divergence.floors import EXCESS
from stereotrope.measure.divergence.scores import parts_by
from stereotrope.measure.finder import Candidate, RunEvidence, finder, scope_of
from stereotrope.measure.sentences import Wording, clean, decimals_of, quoted, span
from stereotrope.tables import ESTIMATE_COLUMNS, warnings_of

_CHANGES = {f"cds{CHANGE}": "stereotype_change", f"vac{CHANGE}": "variety_change"}
_NOTES = " beyond its noise floor", ", corrected for few pictures,"
"""What is said of a score of CDS, and of VAC, that is no raw one."""


@finder("homogenisation", place=10)
def homogenised_groups(evidence: RunEvidence) -> Iterator[Candidate]:
    """CDS that falls while VAC rises, for one generator and mitigation; the smaller change is the size.

    Both must change: the larger of the two p-values counts. Changes of a phrasing are no mitigation.
    """
    table = evidence.estimates
    if "generator" not in table.columns:
        return
    names = [f"{score}{CHANGE}" for score in ("cds", "vac")]
    changes = table.filter(
        pl.col("measure").is_in(names),
        pl.col("value").is_not_null(),
        pl.col("p_value").is_not_null(),
        pl.col("generator").is_not_null(),
        pl.col("contrast").ne_missing(WORDINGS),
    )
    factors = [c for c in table.columns if c not in ESTIMATE_COLUMNS]
    for levels, both in parts_by(changes, factors):
        rows = {row["measure"]: row for row in both.iter_rows(named=True)}
        cds, vac = (rows.get(name) for name in names)
        if cds is None or vac is None:
            continue
        scope = {name: str(level) for name, level in levels.items() if level is not None}
        wording = Wording(cds["contrast"], cds["reference"], evidence.pictures.varying)
        so = cds["value"] < 0 < vac["value"]
        ends = sorted(
            (end if end is None else min(1.0, end) for end in (_back(cds["high"]), vac["low"])),
            key=lambda end: -1.0 if end is None else end,
        )
        yield Candidate(
            "homogenisation",
            scope,
            None,
            0.0,
            vac["measure"],
            sentence=partial(_repeating, scope, cds, vac, wording, so=so),
            images=partial(evidence.pictures.requested, scope),
            wording=wording,
            value=vac["value"],
            p=max(cds["p_value"], vac["p_value"]) if so else 1.0,
            interval=(min(-cds["value"], vac["value"], 1.0), ends[0], None),
            apt=so,
            size="the smaller of both is",
            leads=True,
        )


@finder("stereotype_change", "variety_change", place=14)
def changed_groups(evidence: RunEvidence) -> Iterator[Candidate]:
    """CDS, and VAC, that fall or rise with a mitigation, for one generator over all its pairs."""
    table = evidence.estimates
    if "generator" not in table.columns:
        return
    changes = table.filter(
        pl.col("value").is_not_null(),
        pl.col("p_value").is_not_null(),
        pl.col("contrast").ne_missing(WORDINGS),
        pl.col("measure").is_in(list(_CHANGES)),
    )
    for row in changes.iter_rows(named=True):
        scope = scope_of(row)
        if scope.keys() - {"annotator"} == {"generator", row["contrast"]}:
            wording = Wording(row["contrast"], row["reference"], evidence.pictures.varying)
            yield Candidate(
                _CHANGES[row["measure"]],
                scope,
                None,
                0.0,
                row["measure"],
                sentence=partial(_differing, scope, row, wording),
                images=partial(evidence.pictures.requested, scope),
                wording=wording,
                value=row["value"],
                p=row["p_value"],
                interval=(row["value"], row["low"], row["high"]),
                size="the change is",
            )


def _with(scope: Mapping[str, str], row: Mapping[str, Any], wording: Wording) -> str:
    """The mitigation, or whatever was changed, and where."""
    lead, contrast = wording.lead(scope), row["contrast"]
    return (
        f"{lead}{'with' if lead else 'With'} {clean(contrast)} {quoted(scope[contrast])}{wording.rest(scope)}"
    )


def _differing(scope: Mapping[str, str], row: Mapping[str, Any], wording: Wording) -> str:
    """The change of CDS or VAC as a sentence."""
    how = "less" if row["value"] < 0 else "more"
    of_cds = row["measure"] == f"cds{CHANGE}"
    notes = _NOTES if row["definition"] == EXCESS else ("", "")
    said = (
        f"the groups differ {how}: CDS{notes[0]}"
        if of_cds
        else f"the pictures of each group repeat each other {how}: VAC{notes[1]}"
    )
    return (
        f"{_with(scope, row, wording)} {said} changes by "
        f"{decimals_of(row['value'])}{span(row['low'], row['high'])} of its mean with "
        f"{quoted(row['reference'])} over {row['n']} pairs."
    )


def _back(end: float | None) -> float | None:
    return None if end is None else -end


def _repeating(
    scope: Mapping[str, str], cds: Mapping[str, Any], vac: Mapping[str, Any], wording: Wording, *, so: bool
) -> str:
    """The finding as a sentence, with both numbers and what they are changes of."""
    beyond, corrected = _NOTES if cds["definition"] == EXCESS else ("", "")
    by_cds, by_vac = (f"{decimals_of(r['value'])}{span(r.get('low'), r.get('high'))}" for r in (cds, vac))
    # What a look before told is told again, whatever has become of it.
    said = "" if so else "it is not so that "
    return (
        f"{_with(scope, cds, wording)} {said}the groups differ less and the pictures of each repeat each "
        f"other more: CDS{beyond} changes by {by_cds} and VAC{corrected} by {by_vac} of its mean with "
        f"{quoted(cds['reference'])} over {cds['n']} pairs."
    )


@finder("dominance_shift", "deterministic", "divergence", place=11, compares=("bds", "dominance_shift"))
def divergent_values(evidence: RunEvidence) -> Iterator[Candidate]:
    """Divergences, which are tested; most frequent values that change, and cells with one value alone.

    A cell as deterministic as its reference is left out: it is told of the reference, and the condition
    changed nothing.
    """
    pictures = evidence.pictures
    for row, wording in evidence.compared("bds", "dominance_shift", "dominant_share"):
        scope, attribute, category = scope_of(row), row["attribute"], str(row.get("category") or "")
        if row["measure"] == "bds":
            if row["p_value"] is not None:
                yield Candidate.tested("divergence", row, wording=wording, tail=_by_chance(row))
            continue
        kind, tail = "deterministic", ""
        if row["measure"] == "dominance_shift":
            if row["value"] != 1:
                continue
            here, before = pictures.sides(attribute, scope, wording)
            kind, category = "dominance_shift", _most_frequent(here)
            if before:
                most = _most_frequent(before)
                tail = f", where {quoted(most)} is in {len(before[most])}"
        elif "deterministic" not in warnings_of(row.get("flags")) or (
            wording.reference_scope(scope) is not None
            and not pictures.moved(attribute, scope, wording, category)
        ):
            continue
        yield Candidate(
            kind, scope, attribute, 0.0, row["measure"],
            wording=wording, value=row["value"], category=category or None, tail=tail,
        )  # fmt: skip


def _most_frequent(shown: Mapping[str, Sequence[str]]) -> str:
    return max(sorted(shown), key=lambda value: len(shown[value]), default="")


def _by_chance(row: Mapping[str, Any]) -> str:
    word, unit = ("distance", "nats") if row.get("definition") == "released" else ("divergence", "bits")
    text = f"; the {word} is {decimals_of(row['value'])} {unit}"
    floor = row.get("floor")
    return text if floor is None else f"{text}, where {decimals_of(floor)} is expected by chance"
