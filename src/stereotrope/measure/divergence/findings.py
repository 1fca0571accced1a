"""What stands out among divergences: values that replace others, that leave no variety, that shift."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.measure.divergence.change import CHANGE, EXCESS
from stereotrope.measure.divergence.scores import parts_by
from stereotrope.measure.finder import Candidate, RunEvidence, finder, scope_of
from stereotrope.measure.sentences import Wording, clean, q_text, quoted, span, two_decimals
from stereotrope.tables import ESTIMATE_COLUMNS, warnings_of


@finder("homogenisation", place=10)
def homogenised_groups(evidence: RunEvidence) -> Iterator[Candidate]:
    """CDS that falls while VAC rises, for one generator and mitigation; the smaller change is the effect.

    Both intervals must exclude 0: signs alone are those of one mitigation in four that does nothing. Changes
    of a phrasing are no mitigation.
    """
    table = evidence.estimates
    if "generator" not in table.columns:
        return
    names = [f"{score}{CHANGE}" for score in ("cds", "vac")]
    changes = table.filter(
        pl.col("measure").is_in(names),
        pl.col("value").is_not_null(),
        pl.col("generator").is_not_null(),
        pl.col("contrast").ne_missing("phrasing"),
    )
    factors = [c for c in table.columns if c not in ESTIMATE_COLUMNS]
    for levels, both in parts_by(changes, factors):
        rows = {row["measure"]: row for row in both.iter_rows(named=True)}
        cds, vac = (rows.get(name) for name in names)
        if cds is None or vac is None or not (cds["high"] or 0.0) < 0 < (vac["low"] or 0.0):
            continue
        scope = {name: str(level) for name, level in levels.items() if level is not None}
        wording = Wording(cds["contrast"], cds["reference"], evidence.pictures.varying)
        yield Candidate(
            "homogenisation",
            scope,
            None,
            min(-cds["value"], vac["value"], 1.0),
            vac["measure"],
            sentence=_repeating(scope, cds, vac, wording),
            images=evidence.pictures.requested(scope),
            wording=wording,
            value=vac["value"],
        )


def _repeating(
    scope: Mapping[str, str], cds: Mapping[str, Any], vac: Mapping[str, Any], wording: Wording
) -> str:
    """The finding as a sentence, with both numbers and what they are changes of."""
    lead = wording.lead(scope)
    where = f"{'with' if lead else 'With'} {clean(cds['contrast'])} {quoted(scope[cds['contrast']])}"
    notes = (" beyond its noise floor", ", corrected for few pictures,")
    beyond, corrected = notes if cds["definition"] == EXCESS else ("", "")
    by_cds, by_vac = (f"{two_decimals(r['value'])}{span(r.get('low'), r.get('high'))}" for r in (cds, vac))
    return (
        f"{lead}{where}{wording.rest(scope)} the groups differ less and the pictures of each repeat each "
        f"other more: CDS{beyond} changes by {by_cds} and VAC{corrected} by {by_vac} of its mean with "
        f"{quoted(cds['reference'])} over {cds['n']} pairs; both intervals exclude 0."
    )


@finder("dominance_shift", "deterministic", "divergence", place=11, compares=("bds", "dominance_shift"))
def divergent_values(evidence: RunEvidence) -> Iterator[Candidate]:
    """Most frequent values that change, cells with one value alone, and divergences with ``q ≤ alpha``.

    A cell as deterministic as its reference is left out: it is told of the reference, and the condition
    changed nothing.
    """
    pictures = evidence.pictures
    for row, wording in evidence.compared("bds", "dominance_shift", "dominant_share"):
        scope, attribute, category = scope_of(row), row["attribute"], str(row.get("category") or "")
        kind, tail = "divergence", ""
        match row["measure"]:
            case "bds" if evidence.significant(row):
                effect = row["value"] if row.get("adjusted") is None else row["adjusted"]
                tail = _by_chance(row)
            case "dominance_shift" if row["value"] == 1:
                here, before = pictures.sides(attribute, scope, wording)
                kind, category = "dominance_shift", _most_frequent(here)
                effect = pictures.moved(attribute, scope, wording, category)
                if before:
                    most = _most_frequent(before)
                    tail = f", where {quoted(most)} is in {len(before[most])}"
            case "dominant_share" if "deterministic" in warnings_of(row.get("flags")):
                kind = "deterministic"
                effect = pictures.moved(attribute, scope, wording, category)
                if not effect and wording.reference_scope(scope) is not None:
                    continue
            case _:
                continue
        yield Candidate(
            kind, scope, attribute, effect, row["measure"],
            wording=wording, value=row["value"], category=category or None, tail=tail,
        )  # fmt: skip


def _most_frequent(shown: Mapping[str, Sequence[str]]) -> str:
    return max(sorted(shown), key=lambda value: len(shown[value]), default="")


def _by_chance(row: Mapping[str, Any]) -> str:
    word, unit = ("distance", "nats") if row.get("definition") == "released" else ("divergence", "bits")
    text = f"; the {word} is {two_decimals(row['value'])} {unit}"
    if row.get("floor") is not None:
        text += f", where {two_decimals(row['floor'])} is expected by chance"
    return f"{text} ({q_text(row.get('q_value'))})"
