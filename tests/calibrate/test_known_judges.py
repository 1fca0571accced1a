"""Judges of known faults are reported with these faults, over real HTTP."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from tests.calibrate.conftest import rows_of, verdicts

import stereotrope as st
from stereotrope.calibrate import calibrate

CLOSED = {"text_presence", "background_text_presence"}
COLOURS = {"product_colour", "background_colour"}
EVERY_CHECK = {
    "accuracy", "kappa", "order_flip", "blank_picture", "no_picture", "typographic", "instruction",
    "refused", "invalid", "unclear",
}  # fmt: skip


def of(name: str):
    return pytest.mark.parametrize("card", [name], indirect=True)


@of("none")
def test_a_perfect_judge_is_fit(card) -> None:
    assert card["fit"] is True
    assert set.union(*verdicts(card).values()) == {"pass"}
    assert set(verdicts(card)) == EVERY_CHECK
    assert card["sentence"] == "none is fit for what was checked: all 34 checks keep to their limits."


@of("tenth")
def test_ten_percent_of_planted_error_are_an_accuracy_of_ninety_percent_within_its_interval(card) -> None:
    rows = list(rows_of(card, "accuracy").values())
    assert [row["n"] for row in rows] == [240] * 4
    assert np.mean([row["value"] for row in rows]) == pytest.approx(0.9, abs=0.03)
    assert sum(row["low"] <= 0.9 <= row["high"] for row in rows) >= 3


@of("tenth")
def test_what_lies_at_its_limit_is_undecided(card) -> None:
    assert card["fit"] is None
    assert "insufficient" in verdicts(card)["accuracy"]
    assert "fail" not in set.union(*verdicts(card).values())
    assert card["sentence"].startswith("tenth is neither fit nor unfit by this evidence: accuracy (")


@of("gullible")
def test_a_judge_that_prefers_the_first_option_fails_for_its_flips(card) -> None:
    flips = rows_of(card, "order_flip")
    assert set(flips) == CLOSED
    assert all(row["verdict"] == "fail" and row["low"] <= 0.6 <= row["high"] for row in flips.values())


@of("gullible")
def test_a_judge_that_sees_things_in_nothing_fails_for_that(card) -> None:
    assert verdicts(card)["blank_picture"] == verdicts(card)["no_picture"] == {"fail"}
    assert {row["value"] for row in rows_of(card, "no_picture").values()} == {1.0}
    blank = rows_of(card, "blank_picture")
    assert blank["product_colour"]["value"] == 1.0
    # Half of what it says of text is that there is none, which is so.
    assert all(0.2 < blank[name]["value"] < 0.8 for name in CLOSED)


@of("gullible")
def test_a_judge_that_believes_painted_words_fails_for_that(card) -> None:
    for check in ("typographic", "instruction"):
        moved = rows_of(card, check)
        assert set(moved) == COLOURS
        assert all(row["n"] == 40 and row["verdict"] == "fail" for row in moved.values())
        assert np.mean([row["value"] for row in moved.values()]) == pytest.approx(0.7, abs=0.15)
    assert rows_of(card, "accuracy")["product_colour"]["value"] == 1.0


@of("gullible")
def test_the_sentence_names_each_check_that_failed_by_its_worst_attribute(card) -> None:
    assert card["fit"] is False
    for words in (
        "answers that change with the order",
        "values named without a picture",
        "the worst of 4) 100%",
    ):
        assert words in card["sentence"]


@of("refusing")
def test_a_judge_that_refuses_everything_is_unfit_with_the_reason(card) -> None:
    assert card["fit"] is False
    assert verdicts(card)["refused"] == {"fail"}
    assert verdicts(card)["accuracy"] == {"insufficient"}
    row = rows_of(card, "accuracy")["product_colour"]
    assert (row["n"], row["value"], row["reason"]) == (0, None, "no image with a usable label from both")
    assert card["sentence"].startswith("refusing is unfit: refused (")


def test_every_judge_is_asked_only_about_the_pictures_of_its_checks(checked) -> None:
    found, counts = checked.calibration, checked.counts
    plain, base, blank, painted = 24 * 10, 4 * 10, 4 * 10, 4 * 2 * 2 * 10
    calls = plain + 2 * base + blank + painted
    for name in ("none", "tenth", "gullible"):
        (spent,) = st.open(found.run.path).spending.filter(model=name).to_dicts()
        assert spent["ok"] == calls
        # On a busy machine an answer may come after its time and be asked for once more.
        assert calls <= counts["chat", name, 200] <= calls + spent["failed"]
    assert found.cards[0]["checked_on"].startswith("240 drawn pictures of known truth (40 of them also")


def test_the_cards_stand_in_the_run_and_their_rates_are_estimates(checked) -> None:
    found = checked.calibration
    run = st.open(found.run.path)
    assert run.info["judge_cards"] == json.loads(json.dumps(found.cards))
    rates = run.estimates.filter(measure="injection_rate", annotator="gullible")
    assert set(rates["definition"]) == {"typographic", "instruction"}
    assert found.confusion.filter(annotator="tenth", attribute="product_colour")["n"].sum() == 240
    assert len(found.unfit) == 3
    assert len(found.undecided) == 1


def test_a_calibration_with_checks_is_not_measured_as_an_audit(checked) -> None:
    found = checked.calibration
    with pytest.raises(st.errors.RunError, match=r"is a calibration .* or `stereotrope.calibrate.audit_of"):
        st.Audit.from_run(found.run.path).measure(found.run.path)


def test_offline_instruments_have_cards_without_the_checks_of_models(tmp_path) -> None:
    found = calibrate(["colour"], tmp_path / "run", images=1)
    (card,) = found.cards
    assert set(verdicts(card)) == {"accuracy", "kappa"}
    assert "check" not in found.run.prompts.columns
    assert card["checked_on"] == "24 drawn pictures of known truth"


def test_people_who_labelled_the_pictures_of_a_calibration_have_a_card(tmp_path) -> None:
    known = calibrate(["colour"], tmp_path / "run", images=1).run.reference.filter(attribute="product_colour")
    said = known.select("image_id", product_colour="value")
    said.write_csv(tmp_path / "people.csv")
    people = [{"labels": str(tmp_path / "people.csv"), "name": "people"}]
    (card,) = calibrate(people, tmp_path / "run", images=1).cards
    assert card["checked_on"] == "24 drawn pictures of known truth"
    assert rows_of(card, "accuracy")["product_colour"]["value"] == 1
    said.with_columns(pl.format("other {}", "image_id").alias("image_id")).write_csv(tmp_path / "people.csv")
    with pytest.raises(st.errors.IncompleteError, match=r"none of its rows \(24\) matches a picture"):
        calibrate(people, tmp_path / "run", images=1)
