"""What stands out among shares: values and refusals that are more or less frequent than in the reference."""

from collections.abc import Iterator, Mapping
from typing import Any

from stereotrope.measure.finder import Candidate, RunEvidence, finder, scope_of
from stereotrope.measure.sentences import Wording, q_text, span, two_decimals


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
        if evidence.significant(row):
            scope, value = scope_of(row), row["value"]
            seen, images = evidence.pictures.refused(scope)
            other = wording.reference_scope(scope)
            before, _ = evidence.pictures.refused(other)
            beside = evidence.pictures.agreed(None, other)
            if seen[1] and before[1]:
                sentence = wording.refusal(scope, seen, before, evidence.level, beside, _difference(row))
            else:
                sentence = _rates_only(row, scope, wording, beside)
            yield Candidate(
                "refusal", scope, None, abs(value), row["measure"], sentence, images, wording, value
            )


def _difference(row: Mapping[str, Any]) -> str:
    interval = span(row.get("low"), row.get("high"))
    return f"; the difference is {two_decimals(row['value'])}{interval} ({q_text(row.get('q_value'))})"


def _rates_only(
    row: Mapping[str, Any], scope: Mapping[str, str], wording: Wording, beside: Mapping[str, str | None]
) -> str:
    more = "more" if row["value"] > 0 else "less"
    group = wording.condition(scope.get(wording.contrast or ""))
    return (
        f"{wording.lead(scope)}requests {group}{wording.rest(scope)} are refused {more} often than "
        f"{wording.compared(scope, beside)}{_difference(row)}."
    )
