"""Judge cards: what checks say of an instrument, row by row, and whether it may be used."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from stereotrope.calibrate.checks import checks, limit_of

Verdict = Literal["pass", "fail", "insufficient"]
_Row = Mapping[str, Any]

MOST_NAMED = 6
"""Checks that the sentence of a card names; the card has them all."""


def verdict_of(check: str, value: float | None, low: float | None, high: float | None) -> Verdict:
    """What the evidence says of a check.

    ``pass`` where the whole interval keeps to the limit, ``fail`` where the whole interval is beyond it,
    else ``insufficient``. κ = 1 without any error has no bootstrap interval and passes: the accuracy of
    the same pictures, with its Wilson interval, says how much they can show.
    """
    limit, least = limit_of(check)
    if value is None:
        return "insufficient"
    if low is None or high is None:
        return "pass" if check == "kappa" and value >= 1.0 else "insufficient"
    good, bad = (low >= limit, high < limit) if least else (high <= limit, low > limit)
    return "pass" if good else "fail" if bad else "insufficient"


def judge_card(
    annotator: Any, estimates: pl.DataFrame, checked_on: str, confusion: pl.DataFrame
) -> dict[str, Any]:
    """Make the card of an annotator from the estimates that are about it: JSON values, for ``run.json``.

    ``fingerprint`` is of all that can change its labels; ``attributes`` are pairs of attribute and value list
    (null where open), in the order in which they are asked; ``fit`` is true where every check passes, false
    where one fails, null where the evidence is insufficient; ``rows`` hold, of each check and attribute,
    ``value, low, high, n``, the ``limit``, the ``verdict`` and the ``reason`` why the value is undefined;
    ``confusion`` is ``attribute, reference_value, value, n``: what was planted and what was read.
    """
    about = estimates.filter(annotator=annotator.name)
    rows: list[dict[str, Any]] = []
    for check, facts in checks()["limits"].items():
        of, limit = about.filter(measure=facts["of"][0], definition=facts["of"][1]), limit_of(check)[0]
        for row in of.iter_rows(named=True):
            copied = {name: row[name] for name in ("attribute", "value", "low", "high", "n")}
            verdict = verdict_of(check, row["value"], row["low"], row["high"])
            told = {"limit": limit, "verdict": verdict, "reason": row["undefined"]}
            rows.append({"check": check, **copied, **told})
    verdicts = {row["verdict"] for row in rows}
    fit = False if "fail" in verdicts else None if "insufficient" in verdicts or not rows else True
    return {
        "annotator": annotator.name,
        "fingerprint": annotator.fingerprint,
        "attributes": tuple(annotator.attributes.items()),
        "fit": fit,
        "checked_on": checked_on,
        "rows": rows,
        "sentence": _sentence(annotator.name, fit, rows),
        "confusion": confusion.to_dicts(),
    }


def _sentence(name: str, fit: bool | None, rows: Sequence[_Row]) -> str:
    if fit:
        return f"{name} is fit for what was checked: all {len(rows)} checks keep to their limits."
    failed, open_ = ([row for row in rows if row["verdict"] == which] for which in ("fail", "insufficient"))
    if failed:
        return f"{name} is unfit: {_listed(failed)}."
    if not open_:
        return f"{name} could not be checked: nothing it labels is planted."
    return f"{name} is neither fit nor unfit by this evidence: {_listed(open_)}; more pictures would tell."


def _listed(rows: Sequence[_Row]) -> str:
    """The worst attribute of each check."""
    n_of = Counter(row["check"] for row in rows)
    parts = [
        _part(max((row for row in rows if row["check"] == check), key=_badness), n)
        for check, n in n_of.items()
    ]
    if len(parts) > MOST_NAMED:
        parts[MOST_NAMED:] = [f"and {len(parts) - MOST_NAMED} more checks"]
    return "; ".join(parts)


def _badness(row: _Row) -> float:
    if row["value"] is None:
        return float("inf")
    return float(-row["value"] if limit_of(row["check"])[1] else row["value"])


def _part(row: _Row, n_attributes: int) -> str:
    check, worst = row["check"], f", the worst of {n_attributes}" if n_attributes > 1 else ""
    about = f"{checks()['limits'][check]['words']} ({row['attribute'].replace('_', ' ')}{worst})"
    if row["value"] is None:
        return f"{about} is undefined, {row['reason']}"
    bound = f"{'at least' if limit_of(check)[1] else 'at most'} {_figure(check, row['limit'])}"
    ends = (_figure(check, end) for end in (row["low"], row["high"]) if end is not None)
    interval = f" [{', '.join(ends)}]" if row["low"] is not None else ""
    return f"{about} {_figure(check, row['value'])}{interval}, limit {bound}"


def _figure(check: str, value: float) -> str:
    return f"{value:.2f}".replace("-", "−") if check == "kappa" else f"{100 * value:.0f}%"
