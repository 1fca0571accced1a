"""What stands out among shares: values and refusals that are more or less frequent than in the reference."""

from collections.abc import Iterator, Mapping
from typing import Any

from stereotrope.measure.finder import Candidate, RunEvidence, finder, scope_of
from stereotrope.measure.sentences import q_text, span, two_decimals


@finder("share_difference", place=20, compares=("share_difference",))
def differing_shares(evidence: RunEvidence) -> Iterator[Candidate]:
    """Differences of shares with ``q ≤ alpha``."""
    for row, wording in evidence.compared("share_difference"):
        if evidence.significant(row):
            yield Candidate(
                "share_difference",
                scope_of(row),
                row["attribute"],
                abs(row["value"]),
                row["measure"],
                wording=wording,
                value=row["value"],
                category=row.get("category"),
                tail=_difference(row),
            )


@finder("refusal", place=21, compares=("refusal_rate_difference",))
def differing_refusals(evidence: RunEvidence) -> Iterator[Candidate]:
    """Differences of refusal rates with ``q ≤ alpha``."""
    for row, wording in evidence.compared("refusal_rate_difference"):
        if evidence.significant(row) and row["numerator_reference"] is not None:
            scope, other = scope_of(row), wording.reference_scope(scope_of(row))
            seen, before = (row["numerator"], row["n"]), (row["numerator_reference"], row["n_reference"])
            beside = evidence.pictures.agreed(None, other)
            sentence = wording.refusal(scope, seen, before, evidence.level, beside, _difference(row))
            images, effect = evidence.pictures.requested(scope, refused=True), abs(row["value"])
            name = row["measure"]
            yield Candidate("refusal", scope, None, effect, name, sentence, images, wording, row["value"])


def _difference(row: Mapping[str, Any]) -> str:
    interval = span(row.get("low"), row.get("high"))
    return f"; the difference is {two_decimals(row['value'])}{interval} ({q_text(row.get('q_value'))})"
