"""What stands out among ratios of scenarios: settings and models that show a value more often than others."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from stereotrope.measure.finder import Candidate, RunEvidence, finder, scope_of
from stereotrope.measure.sentences import clean, quoted
from stereotrope.tables import ALL_ATTRIBUTES, LIKE_THESE


@finder("ratio_difference", place=22)
def differing_ratios(evidence: RunEvidence) -> Iterator[Candidate]:
    """Differences of ratios on average over scenarios, each pair of settings and each set of levels a test.

    That no level deviates from the mean of all is one hypothesis, of which the clearest level is told; of two
    levels it is that they differ, and is left to their change where that is tested. The absolute change is
    left out: its p is of the prompts that were asked, and rejects where wordings differ.
    """
    rows = evidence.estimates.filter(
        pl.col("measure").is_in(["ratio_change", "model_deviation", "variation_effect"]),
        pl.col("p_value").is_not_null(),
        pl.col("attribute").ne_missing(ALL_ATTRIBUTES),
    )
    for row in _each_contrast_once(rows.to_dicts()):
        scope, contrast, reference = scope_of(row), row["contrast"], row["reference"]
        bounds = row["bound_low"], row["bound_high"]
        yield Candidate.tested(
            "ratio_difference",
            row if reference is not None else {**row, contrast: None},
            sentence=partial(_told, row, scope),
            images=partial(_shown, evidence, row, scope),
            category=row["category"],
            value=row["value"],
            interval=(row["value"], row["low"], row["high"]),
            size="the difference is, on average,",
            bounds=None if None in bounds else bounds,
            apart=2.0 if reference is None else 1.0,
            parts=(str(row["category"]), str(row["definition"]), contrast, str(reference)),
            joins=reference is not None,
            toward=scope[contrast] if reference is None else None,
            units=row["n"] if row["holds_for"] == LIKE_THESE else None,
            # What it counts are scenarios.
            labelled=None,
            n=None,
        )


def _each_contrast_once(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rows without deviations of two levels of which the change is tested over the same scenarios."""
    levels: dict[Any, set[str]] = {}
    changes: dict[Any, dict[str, Any]] = {}
    for row in rows:
        scope = scope_of(row)
        about, level = _about(row, scope), scope[row["contrast"]]
        if row["reference"] is None:
            levels.setdefault((row["measure"], about), set()).add(level)
        else:
            changes[about, frozenset((level, row["reference"]))] = row
    for row in rows:
        about = _about(row, scope_of(row))
        change = changes.get((about, frozenset(levels.get((row["measure"], about), ()))))
        if row["reference"] is not None or change is None or not _is_half(row, change):
            yield row


def _is_half(row: Mapping[str, Any], change: Mapping[str, Any]) -> bool:
    twice = 2 * abs(row["value"])
    return row["n"] == change["n"] and math.isclose(abs(change["value"]), twice, abs_tol=1e-9)


def _about(row: Mapping[str, Any], scope: Mapping[str, str]) -> tuple[Any, ...]:
    """What a row of ratios is about, whichever level it is of."""
    others = frozenset((name, level) for name, level in scope.items() if name != row["contrast"])
    return others, row["contrast"], row["attribute"], row["category"], row["definition"]


def _told(row: Mapping[str, Any], scope: Mapping[str, str]) -> str:
    contrast = row["contrast"]
    others = [f"{clean(name)} {quoted(level)}" for name, level in scope.items() if name != contrast]
    where = f" ({', '.join(others)})" if others else ""
    part = f"{quoted(str(row['category']))} is a {'larger' if row['value'] > 0 else 'smaller'} part"
    # Others, such as unclear ones, are no part of a ratio.
    of = f"of the labels of {quoted(row['attribute'].replace('_', ' '))} that count"
    beside = "on average of all" if row["reference"] is None else f"with {quoted(row['reference'])}"
    this = f"{clean(contrast)} {quoted(scope[contrast])}"
    return f"Over {row['n']} scenarios{where}, {part} {of} with {this} than {beside}."


def _shown(evidence: RunEvidence, row: Mapping[str, Any], scope: Mapping[str, str]) -> list[str]:
    return list(evidence.pictures.values(row["attribute"], scope).get(row["category"], ()))
