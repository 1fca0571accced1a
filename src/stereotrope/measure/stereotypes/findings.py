"""What stands out: attributes shown more often than is true, and scores that uniform pictures keep low."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import compress
from typing import Any

import numpy as np

from stereotrope.measure.finder import Candidate, RunEvidence, finder, scope_of
from stereotrope.measure.selection import at_level, standing_out
from stereotrope.measure.sentences import clean, decimals_of, quoted, span
from stereotrope.tables import warnings_of


@finder("stereotype", "uniform", place=15)
def stereotypes(evidence: RunEvidence) -> Iterator[Candidate]:
    """Scores, each a one-sided test; and low ones of pictures that hardly vary along the attribute.

    Low is a score where the whole interval says that the attribute is shown more often than is true by no
    more than the audit's margin: a p above 0.05 says nothing of that.
    """
    rows = [row for row, _ in evidence.compared("stereotype_score", "stereotype_difference")]
    away = {_place(row): row for row in rows if row["measure"] == "stereotype_difference"}
    low: dict[Any, Mapping[str, Any]] = {}
    for row in rows:
        if row["measure"] != "stereotype_score" or row["p_value"] is None or _place(row) not in away:
            continue
        scope, beside = scope_of(row), away[_place(row)]
        yield Candidate.tested(
            "stereotype",
            {**row, "n_reference": 0},
            sentence=partial(_shown, scope, row, beside),
            images=partial(_labelled, evidence, scope, row),
            value=beside["value"],
            interval=(beside["value"], beside["low"], beside["high"]),
            category=row["category"],
            parts=(str(row["category"]),),
        )
        if beside["high"] is not None and beside["high"] <= evidence.margin:
            low[_place(row)[:2]] = {**row, "away": beside}
    scored = list(_centred(evidence))
    told = [[row[name] for name in ("value", "high", "floor")] for row in scored]
    value, high, floor = np.array(told, np.float64).reshape(-1, 3).T
    below, level = standing_out(value, high, floor, level=evidence.level, below=True)
    for row in compress(scored, below):
        scope = {name: level for name, level in scope_of(row).items() if name != "annotator"}
        score = low.get((frozenset(scope.items()), row["attribute"]))
        if score is not None:
            size = at_level((row["value"], row["low"], row["high"]), evidence.level, level)
            wide = row | {"low": size[1], "high": size[2]}
            yield Candidate(
                "uniform",
                scope,
                row["attribute"],
                row["floor"] - (size[2] or 0.0),
                "wals",
                partial(_uniform, scope, wide, score),
                partial(evidence.pictures.requested, scope),
                parts=(str(row.get("annotator") or row["instrument"]),),
                interval=size,
                level=level,
            )


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return frozenset(scope_of(row).items()), row["attribute"], row["category"]


def _centred(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    for row in evidence.estimates.iter_rows(named=True):
        if row["measure"] == "wals" and row["definition"] == "centred" and row["value"] is not None:
            yield row


def _labelled(evidence: RunEvidence, scope: Mapping[str, str], row: Mapping[str, Any]) -> list[str]:
    return list(evidence.pictures.values(row["attribute"], scope).get(row["category"], ()))


def _where(scope: Mapping[str, str]) -> tuple[str, str]:
    """The model in front, and everything else behind."""
    others = [f"{clean(name)} {quoted(level)}" for name, level in scope.items() if name != "generator"]
    lead = f"{clean(scope['generator'])}: " if "generator" in scope else ""
    return lead, f" with {', '.join(others)}" if others else ""


def _named(row: Mapping[str, Any]) -> str:
    return quoted(row["attribute"].replace("_", " "))


def _true(row: Mapping[str, Any], away: Mapping[str, Any]) -> float:
    return float(row["numerator"] / row["denominator"] - away["value"])


def _shown(scope: Mapping[str, str], row: Mapping[str, Any], away: Mapping[str, Any]) -> str:
    lead, where = _where(scope)
    start = "in" if lead else "In"
    true = _true(row, away)
    assumed = ", which is assumed," if "assumed" in warnings_of(row["flags"]) else ""
    return (
        f"{lead}{start} {row['numerator']} of {row['denominator']} pictures{where}, "
        f"{_named(row)} is labelled {quoted(row['category'])}; the true share{assumed} is "
        f"{true:.3g}."
    )


def _uniform(scope: Mapping[str, str], row: Mapping[str, Any], score: Mapping[str, Any]) -> str:
    lead, where = _where(scope)
    encoder = row.get("annotator") or row["instrument"] or "the encoder"
    away, true = score["away"], _true(score, score["away"])
    # The end of the interval, and no more than it says.
    most = f"at most {decimals_of(away['high'])} above" if away["high"] > 0 else "not above"
    start = "pictures" if lead else "Pictures"
    return (
        f"{lead}{start}{where} show {_named(row)} in {score['numerator']} of {score['denominator']}, {most} "
        f"the true share of {true:.3g}, and hardly vary along it: WALS by "
        f"{clean(encoder)} is {decimals_of(row['value'])}"
        f"{span(row['low'], row['high'])}, where any direction reads {decimals_of(row['floor'])}. "
        "Uniform pictures keep a score low."
    )
