"""Judge cards: what checks say of an instrument, row by row, and whether it may be used."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import polars as pl

from stereotrope.calibrate.checks import checks, in_words, limit_of

Verdict = Literal["pass", "fail", "insufficient"]

CHECK_OF: Mapping[tuple[str, str], str] = {
    ("agreement", "accuracy"): "accuracy",
    ("agreement", "cohen_kappa"): "kappa",
    ("order_flip_rate", "paired"): "order_flip",
    ("unfounded_rate", "blank_picture"): "blank_picture",
    ("unfounded_rate", "no_picture"): "no_picture",
    ("injection_rate", "typographic"): "typographic",
    ("injection_rate", "instruction"): "instruction",
    ("nonanswer_rate", "refused"): "refused",
    ("nonanswer_rate", "invalid"): "invalid",
    ("nonanswer_rate", "unclear"): "unclear",
}
"""Measure and definition of an estimate → the check it belongs to."""

MOST_NAMED = 6
"""Checks that the sentence of a card names; the card has them all."""


@dataclass(frozen=True)
class CardRow:
    """One check of one attribute.

    check: Name in ``checks.yaml``: ``accuracy``, ``kappa``, ``order_flip``, ``blank_picture``,
        ``no_picture``, ``typographic``, ``instruction``, ``refused``, ``invalid`` or ``unclear``.
    value, low, high, n: The estimate with its 95% interval, null where undefined.
    limit: What the value must be at least (accuracy, κ) or at most (all rates).
    verdict: ``pass``, ``fail`` or ``insufficient``.
    reason: Why the value is undefined, else null.
    """

    check: str
    attribute: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    limit: float
    verdict: Verdict
    reason: str | None = None


@dataclass(frozen=True)
class JudgeCard:
    """What a calibration says of one annotator.

    annotator, fingerprint: Which instrument, and the hash of all that can change its labels.
    attributes: Pairs of attribute and value list (null where open), in the order in which they are asked.
    fit: True where every check passes, False where one fails, None where the evidence is insufficient.
    confusion: ``attribute, reference_value, value, n``: what was planted and what was read.
    """

    annotator: str
    fingerprint: str
    attributes: tuple[tuple[str, tuple[str, ...] | None], ...]
    fit: bool | None
    checked_on: str
    rows: tuple[CardRow, ...]
    sentence: str
    confusion: tuple[Mapping[str, Any], ...] = ()

    def plain(self) -> dict[str, Any]:
        """The card as JSON values, for ``run.json``."""
        return asdict(self)


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
) -> JudgeCard:
    """Make the card of an annotator from the estimates that are about it."""
    about = estimates.filter(pl.col("annotator") == annotator.name)
    order = {name: at for at, name in enumerate(checks()["limits"])}
    rows = [
        _row(CHECK_OF[key], row)
        for row in about.iter_rows(named=True)
        if (key := (row["measure"], row["definition"])) in CHECK_OF
    ]
    rows.sort(key=lambda row: order[row.check])
    verdicts = {row.verdict for row in rows}
    fit = False if "fail" in verdicts else None if "insufficient" in verdicts or not rows else True
    return JudgeCard(
        annotator=annotator.name,
        fingerprint=annotator.fingerprint,
        attributes=tuple((name, values) for name, values in annotator.attributes.items()),
        fit=fit,
        checked_on=checked_on,
        rows=tuple(rows),
        sentence=_sentence(annotator.name, fit, rows),
        confusion=tuple(confusion.to_dicts()),
    )


def _row(check: str, row: Mapping[str, Any]) -> CardRow:
    copied = {name: row[name] for name in ("attribute", "value", "low", "high", "n")}
    verdict = verdict_of(check, row["value"], row["low"], row["high"])
    return CardRow(check, **copied, limit=limit_of(check)[0], verdict=verdict, reason=row["undefined"])


def _sentence(name: str, fit: bool | None, rows: Sequence[CardRow]) -> str:
    if fit:
        return f"{name} is fit for what was checked: all {len(rows)} checks keep to their limits."
    failed = [row for row in rows if row.verdict == "fail"]
    if failed:
        return f"{name} is unfit: {_listed(failed)}."
    open_ = [row for row in rows if row.verdict == "insufficient"]
    if not open_:
        return f"{name} could not be checked: nothing it labels is planted."
    return f"{name} is neither fit nor unfit by this evidence: {_listed(open_)}; more pictures would tell."


def _listed(rows: Sequence[CardRow]) -> str:
    worst: dict[str, CardRow] = {}
    n_of = Counter(row.check for row in rows)
    for row in rows:
        if row.check not in worst or _badness(row) > _badness(worst[row.check]):
            worst[row.check] = row
    parts = [_part(row, n_of[check]) for check, row in worst.items()]
    if len(parts) > MOST_NAMED:
        parts[MOST_NAMED:] = [f"and {len(parts) - MOST_NAMED} more checks"]
    return "; ".join(parts)


def _badness(row: CardRow) -> float:
    if row.value is None:
        return float("inf")
    return -row.value if limit_of(row.check)[1] else row.value


def _part(row: CardRow, n_attributes: int) -> str:
    words = checks()["limits"][row.check]["words"]
    worst = (
        f"{in_words(row.attribute)}, the worst of {n_attributes}"
        if n_attributes > 1
        else in_words(row.attribute)
    )
    about = f"{words} ({worst})"
    if row.value is None:
        return f"{about} is undefined, {row.reason}"
    least = limit_of(row.check)[1]
    bound = f"{'at least' if least else 'at most'} {_figure(row.check, row.limit)}"
    ends = (_figure(row.check, end) for end in (row.low, row.high) if end is not None)
    interval = f" [{', '.join(ends)}]" if row.low is not None else ""
    return f"{about} {_figure(row.check, row.value)}{interval}, limit {bound}"


def _figure(check: str, value: float) -> str:
    return f"{value:.2f}".replace("-", "−") if check == "kappa" else f"{100 * value:.0f}%"
