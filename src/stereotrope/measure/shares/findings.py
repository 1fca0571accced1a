"""What stands out among shares: values and refusals that are more or less frequent than in the reference."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl

from stereotrope.measure.finder import Candidate, RunEvidence, finder, scope_of
from stereotrope.measure.sentences import Wording, clean, quoted
from stereotrope.measure.shares.powered import NO_RANDOM_PART, SAMPLE_UNLIKE


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


@finder("instrument", place=91)
def unlike_samples(evidence: RunEvidence) -> Iterator[Candidate]:
    """Samples that people labelled which are no random part of what an annotator did, once an attribute."""
    flagged = pl.col("flags").str.contains(SAMPLE_UNLIKE, literal=True)
    told: dict[tuple[Any, ...], dict[str, dict[str, str]]] = {}
    for row in evidence.estimates.filter(flagged).iter_rows(named=True):
        scope, why = scope_of(row), row["method"].partition(NO_RANDOM_PART)[2].partition("; p: ")[0]
        told.setdefault((scope.pop("annotator", None), row["attribute"], row["measure"]), {})[why] = scope
    seen = set()
    for (name, attribute, measure), reasons in told.items():
        if (name, attribute) in seen:
            continue
        seen.add((name, attribute))
        (why, scope), more = next(iter(reasons.items())), len(reasons) - 1
        levels = "".join(f", {clean(factor)} {quoted(level)}" for factor, level in scope.items())
        of = f" of those of {quoted(name)}" if name else ""
        further = f"; {more} more of such reasons stand in the table of estimates" if more else ""
        sentence = (
            f"The pictures that people labelled are no random part{of} "
            f"({clean(attribute).replace('_', ' ')}{levels}): {why}{further}. What is put right by them "
            "speaks of such pictures alone; draw those to label by chance from all."
        )
        yield Candidate.warns({"annotator": name} if name else {}, attribute, sentence, measure, "sample")
