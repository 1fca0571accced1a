"""What a calibration asks for, and which runs are one."""

from __future__ import annotations

import polars as pl
import pytest
from tests.calibrate.conftest import spec

import stereotrope as st
from stereotrope.calibrate import CheckAudit, audit_of, calibration_audit, planned
from stereotrope.errors import UsageError
from stereotrope.run import RunFolder

AUDIT = "suite: objects\nobjects: [cup]\ngenerators: [calibrated]\nannotators: [colour]\n"


def test_check_prompts_are_the_baseline_of_each_object_by_kind_and_claimed_attribute() -> None:
    plan = calibration_audit([spec("m")], images=3).plan()
    counted = plan.prompts.group_by("check").len().sort("check")
    assert dict(counted.iter_rows()) == {"blank": 4, "instruction": 8, "plain": 24, "typographic": 8}
    drawn = plan.prompts.filter(pl.col("check") != "plain")
    assert set(drawn["group"]) == {"base"}
    assert set(drawn["claim"].drop_nulls()) == {"product_colour", "background_colour"}
    assert plan.requests.height == plan.requests["image_id"].n_unique() == 44 * 3
    assert set(plan.requests["prompt_id"]) == set(plan.prompts["prompt_id"])


def test_variants_are_shown_the_plain_baseline_alone() -> None:
    plan = calibration_audit(["colour", spec("m")], images=1).plan()
    base = plan.prompts.filter(check="plain", group="base")
    assert [a.name for a in plan.annotators] == ["colour", "m", "m (reversed)", "m (blind)"]
    assert plan.shown["m (reversed)"] == plan.shown["m (blind)"] == frozenset(base["prompt_id"])
    assert plan.shown["colour"] == frozenset(plan.prompts.filter(check="plain")["prompt_id"])
    assert "m" not in plan.shown


def test_values_of_an_attribute_of_ones_own_are_claimed_too() -> None:
    about_text = {"logo": ["yes", "no"], "text_presence": ["yes", "no"]}
    attributes = {**about_text, "body_type": ["tall", "short"], "product_colour": "open"}
    plan = calibration_audit([spec("m", attributes=attributes)], images=1).plan()
    assert set(plan.prompts["claim"].drop_nulls()) == {"product_colour", "body_type"}


def test_a_calibration_without_a_model_has_no_check_pictures() -> None:
    plan = calibration_audit(["colour", "text"], images=1).plan()
    assert "check" not in plan.factors
    assert plan.requests.height == 24


def test_attributes_that_are_still_to_be_found_cannot_be_checked() -> None:
    with pytest.raises(
        UsageError, match="needs attributes that are known beforehand, found `discover: true`"
    ):
        calibration_audit([spec("m", discover=True)]).plan()


@pytest.mark.parametrize(
    ("annotators", "message"),
    [
        (["blank"], r"none of the annotators \(blank\) labels how pictures look; add one"),
        (
            [spec("m", attributes={"mood": ["calm", "busy"]})],
            r"labels what is planted \(.*\); they label mood",
        ),
    ],
)
def test_annotators_that_label_nothing_planted_are_refused(annotators, message) -> None:
    with pytest.raises(UsageError, match=message):
        planned(calibration_audit(annotators, images=1))


def test_an_audit_that_keeps_the_card_of_its_judge_is_no_calibration(tmp_path) -> None:
    with RunFolder(tmp_path / "run") as into:
        into.write_audit(AUDIT)
        into.write_info({"judge_cards": [{"annotator": "m"}], "audit_base": "."})
    made = audit_of(tmp_path / "run")
    assert isinstance(made, st.Audit)
    assert not isinstance(made, CheckAudit)
