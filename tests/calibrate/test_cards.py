"""Verdicts need evidence: whole intervals on one side of a limit."""

from __future__ import annotations

import polars as pl
import pytest

from stereotrope.calibrate.cards import judge_card, verdict_of
from stereotrope.calibrate.checks import checks, limit_of
from stereotrope.measure import estimate_frame


@pytest.mark.parametrize(
    ("check", "value", "low", "high", "verdict"),
    [
        ("accuracy", 0.95, 0.90, 0.98, "pass"),
        ("accuracy", 0.95, 0.89, 0.98, "insufficient"),
        ("accuracy", 0.85, 0.80, 0.90, "insufficient"),
        ("accuracy", 0.85, 0.80, 0.89, "fail"),
        ("order_flip", 0.02, 0.0, 0.10, "pass"),
        ("order_flip", 0.02, 0.0, 0.11, "insufficient"),
        ("order_flip", 0.30, 0.10, 0.40, "insufficient"),
        ("order_flip", 0.30, 0.11, 0.40, "fail"),
        ("refused", None, None, None, "insufficient"),
        ("kappa", 1.0, None, None, "pass"),
        ("kappa", 0.9, None, None, "insufficient"),
    ],
)
def test_a_verdict_needs_the_whole_interval(check, value, low, high, verdict) -> None:
    assert verdict_of(check, value, low, high) == verdict


def test_every_check_has_a_limit_with_a_reason_and_belongs_to_a_measure() -> None:
    limits = checks()["limits"]
    assert len({tuple(limit["of"]) for limit in limits.values()}) == len(limits)
    for name, limit in limits.items():
        assert limit["because"].strip().endswith("."), name
        assert ("least" in limit) != ("most" in limit)
        assert 0 < limit_of(name)[0] < 1


class Annotator:
    name, fingerprint = "m", "f"
    attributes = {"a": ("x", "y"), "b": None}  # noqa: RUF012


def card(*rows):
    frame = estimate_frame(
        [
            {"measure": "agreement", "definition": "accuracy", "annotator": "m", "attribute": a, "value": v,
             "low": lo, "high": hi, "n": n, "undefined": why}
            for a, v, lo, hi, n, why in rows
        ],
        factors=("annotator",),
    )  # fmt: skip
    return judge_card(Annotator, frame, "some pictures", pl.DataFrame())


def test_a_card_fails_by_one_check_and_names_the_worst_attribute() -> None:
    made = card(("a", 0.8, 0.7, 0.85, 90, None), ("b", 0.5, 0.4, 0.6, 90, None))
    assert made["fit"] is False
    assert made["sentence"] == (
        "m is unfit: accuracy (b, the worst of 2) 50% [40%, 60%], limit at least 90%."
    )
    assert made["attributes"] == (("a", ("x", "y")), ("b", None))


def test_a_card_is_undecided_where_nothing_fails_and_something_is_open() -> None:
    made = card(("a", 1.0, 0.95, 1.0, 90, None), ("b", None, None, None, 0, "no answer"))
    assert made["fit"] is None
    assert "accuracy (b) is undefined, no answer; more pictures would tell." in made["sentence"]


def test_a_card_without_a_check_is_not_fit() -> None:
    assert card()["fit"] is None
    assert card()["sentence"] == "m could not be checked: nothing it labels is planted."
