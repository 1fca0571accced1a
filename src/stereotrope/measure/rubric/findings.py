"""What findings say of judges of sets: those that answer by the order, or without looking."""

from collections.abc import Iterator

import polars as pl

from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.finder import Candidate, RunEvidence, finder, scope_of
from stereotrope.measure.instrument_warnings import enough_answers
from stereotrope.measure.sentences import clean, quoted, span
from stereotrope.tables import ALL_ATTRIBUTES

MOST_FLIPS = 0.10
"""Flip rate above which a judge of sets is a finding: our choice, not a standard."""
MOST_BLIND = 0.05
"""Share of items found without a picture above which it is."""
LEAST_ACCURACY = 0.80
"""Agreement with people below which it is; the paper's judge has 0.72 to 0.98 a cell, 0.88 in all."""
_BY_THE_WORDS = 0.5
"""Part of what a judge finds that goes with the words of the query, from which on it is."""

# An interval must lie beyond these; where all queries say the same and there is none, the value.
_LEAST, _MOST = (pl.coalesce(end, "value") for end in ("low", "high"))


@finder("instrument", place=92)
def unsteady_judges(evidence: RunEvidence) -> Iterator[Candidate]:
    """Judges that answer otherwise when only the order of images and items changes."""
    for row in _over_items(evidence, "item_flip_rate").filter(_LEAST > MOST_FLIPS).iter_rows(named=True):
        sentence = (
            f"Shown the same pictures again in another order, the judge{_named(row)} answered "
            f"{row['value']:.0%} of the items otherwise{span(row['low'], row['high'])}, be it by the order "
            "or by chance: every index of its carries that error."
        )
        yield Candidate.warns(scope_of(row), None, sentence, "item_flip_rate")


@finder("instrument", place=92)
def unseeing_judges(evidence: RunEvidence) -> Iterator[Candidate]:
    """Judges that find stereotypes without pictures, or by the words of the query."""
    shares = _over_items(evidence, "control_share").filter(_LEAST > MOST_BLIND, definition="blind")
    for row in shares.iter_rows(named=True):
        sentence = (
            f"Without any picture the judge{_named(row)} found {row['value']:.0%} of the items"
            f"{span(row['low'], row['high'])}: that is nothing it sees."
        )
        yield Candidate.warns(scope_of(row), None, sentence, "control_share")
    away = _over_items(evidence, "control_difference").filter(pl.col("low") > 0, definition="neutral")
    beside = {(r.get("annotator"), r["reference"]): r["value"] for r in _rows(evidence, "control_share")}
    for row in away.iter_rows(named=True):
        control = beside.get((row.get("annotator"), row["reference"])) or 0.0
        found = row["value"] + control
        if row["low"] >= _BY_THE_WORDS * found:
            sentence = (
                f"Of the same pictures with a neutral query the judge{_named(row)} found {control:.0%} of "
                f"the items instead of {found:.0%}: most of what it finds goes with the query's words."
            )
            yield Candidate.warns(scope_of(row), None, sentence, "control_difference")


@finder("instrument", place=92)
def obeying_judges(evidence: RunEvidence) -> Iterator[Candidate]:
    """Judges that follow an instruction painted into the pictures."""
    away = _over_items(evidence, "control_difference").filter(definition="painted")
    for row in away.filter(_MOST < -MOST_BLIND).iter_rows(named=True):
        sentence = (
            f"With an instruction to answer yes painted into the same pictures the judge{_named(row)} "
            f"found {-row['value']:.0%} more of the items{span(_less(row['high']), _less(row['low']))}: who "
            "paints a picture decides what is found in it."
        )
        yield Candidate.warns(scope_of(row), None, sentence, "control_difference")


@finder("instrument", place=92)
def disagreeing_judges(evidence: RunEvidence) -> Iterator[Candidate]:
    """Judges that answer otherwise than people too often."""
    rows = evidence.estimates.filter(measure="set_agreement", definition="accuracy", attribute=ALL_ATTRIBUTES)
    for row in rows.filter(enough_answers(), _MOST < LEAST_ACCURACY).iter_rows(named=True):
        same = round(row["value"] * row["n"])
        scope = {name: level for name, level in scope_of(row).items() if name != "annotator"}
        levels = [clean(f"no {name}" if level == "none" else level) for name, level in scope.items()]
        of = f" of {', '.join(levels)}" if levels else ""
        sentence = (
            f"The judge{_named(row)} answers as {quoted(str(row['reference']))} does on {same} of {row['n']} "
            f"item{'s' * (row['n'] != 1)}{of}{span(row['low'], row['high'])}: its index carries that error."
        )
        yield Candidate.warns(scope_of(row), None, sentence, "set_agreement")


def _less(end: float | None) -> float | None:
    return None if end is None else -end


def _rows(evidence: RunEvidence, measure: str) -> list[dict[str, object]]:
    return evidence.estimates.filter(measure=measure, attribute=ALL_ATTRIBUTES).to_dicts()


def _over_items(evidence: RunEvidence, measure: str) -> pl.DataFrame:
    """Rows over all items that rest on enough answers to speak of a judge."""
    return evidence.estimates.filter(pl.col("n") >= SMALL_N, measure=measure, attribute=ALL_ATTRIBUTES)


def _named(row: dict[str, object]) -> str:
    name = row.get("annotator") or row.get("instrument")
    return f" {quoted(str(name))}" if name else ""
