"""What stands out among shares: values and refusals that are more or less frequent than in the reference."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from stereotrope.measure.finder import Candidate, RunEvidence, finder, scope_of
from stereotrope.measure.sentences import Wording


@finder("share_difference", place=20, compares=("share_difference",))
def differing_shares(evidence: RunEvidence) -> Iterator[Candidate]:
    """Differences of shares, each value of an attribute a test."""
    for row, wording in evidence.compared("share_difference"):
        if row["p_value"] is not None:
            size = row["value"], row["low"], row["high"]
            value = row.get("category")
            facts = {"wording": wording, "category": value, "value": row["value"], "interval": size}
            yield Candidate.tested("share_difference", row, **facts)


@finder("refusal", place=21, compares=("refusal_rate_difference",))
def differing_refusals(evidence: RunEvidence) -> Iterator[Candidate]:
    """Differences of refusal rates."""
    for row, wording in evidence.compared("refusal_rate_difference"):
        if row["p_value"] is not None and row["numerator_reference"] is not None:
            scope = scope_of(row)
            yield Candidate.tested(
                "refusal",
                row,
                sentence=partial(_refused, evidence, row, wording),
                images=partial(evidence.pictures.requested, scope, refused=True),
                wording=wording,
                value=row["value"],
                interval=(row["value"], row["low"], row["high"]),
            )


def _refused(evidence: RunEvidence, row: Mapping[str, Any], wording: Wording) -> str:
    scope = scope_of(row)
    seen, before = (row["numerator"], row["n"]), (row["numerator_reference"], row["n_reference"])
    beside = evidence.pictures.agreed(None, wording.reference_scope(scope))
    return wording.refusal(scope, seen, before, beside)
