"""What stands out among divergences: values that replace others, that leave no variety, that shift."""

from collections.abc import Iterator, Mapping
from typing import Any

from stereotrope.measure.divergence.homogenisation import homogenised, told
from stereotrope.measure.finder import Candidate, RunEvidence, finder, scope_of
from stereotrope.measure.sentences import Wording, number, q_text, quoted
from stereotrope.tables import warnings_of


@finder("homogenisation", place=10)
def homogenised_groups(evidence: RunEvidence) -> Iterator[Candidate]:
    """CDS that falls while VAC rises, for one generator and mitigation; the smaller change is the effect."""
    for scope, cds, vac in homogenised(evidence.estimates):
        wording = Wording(cds["contrast"], cds["reference"], evidence.pictures.varying)
        yield Candidate(
            "homogenisation",
            scope,
            None,
            min(-cds["value"], vac["value"], 1.0),
            vac["measure"],
            sentence=told((scope, cds, vac), wording),
            images=evidence.pictures.drawn(scope),
            wording=wording,
            value=vac["value"],
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
                kind, category = "dominance_shift", category.split(" → ")[-1]
                effect = pictures.moved(attribute, scope, wording, category)
                _, before = pictures.sides(attribute, scope, wording)
                if before:
                    most = max(sorted(before), key=lambda v: len(before[v]))
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


def _by_chance(row: Mapping[str, Any]) -> str:
    word, unit = ("distance", "nats") if row.get("definition") == "released" else ("divergence", "bits")
    text = f"; the {word} is {number(row['value'])} {unit}"
    if row.get("floor") is not None:
        text += f", where {number(row['floor'])} is expected by chance"
    return f"{text} ({q_text(row.get('q_value'))})"
