"""An audit takes a check of its judge only where it is a check of that very judge."""

from __future__ import annotations

import json

import pytest

from stereotrope import annotate
from stereotrope.audit.judge_check import judge_check_of
from stereotrope.errors import RunError, UsageError
from stereotrope.run import RunFolder


def judge(**options):
    return annotate.create(
        {"questions": "openai:m", "base_url": "http://127.0.0.1:1/v1", "key": None, **options}
    )


def run_with(folder, *checked):
    cards = [
        {
            "annotator": made.name,
            "fingerprint": made.fingerprint,
            "attributes": [[name, values] for name, values in made.attributes.items()],
            "fit": True,
            "rows": [],
            "confusion": [
                {"attribute": name, "reference_value": "present", "value": "absent", "n": 3}
                for name in made.attributes
            ],
        }
        for made in checked
    ]
    with RunFolder(folder) as into:
        into.write_info({"judge_cards": json.loads(json.dumps(cards))})
    return folder


def test_the_check_of_the_same_judge_is_found_under_any_name_and_for_some_attributes(tmp_path):
    folder = run_with(tmp_path / "run", annotate.create("colour"), judge())
    found = judge_check_of(folder, judge(name="mine", attributes={"text_presence": ["present", "absent"]}))
    assert found.card["annotator"] == "m"
    assert found.confusion.rows() == [("text_presence", "present", "absent", 3)]
    assert judge_check_of(folder, judge(base_url="http://127.0.0.1:2/v1")).card["annotator"] == "m"
    assert judge_check_of(folder, annotate.create("colour")).card["annotator"] == "colour"


@pytest.mark.parametrize(
    "options",
    [{"temperature": 1.0}, {"questions": "openai:n"}, {"attributes": {"text_presence": ["yes", "no"]}}],
)
def test_a_judge_asked_otherwise_is_refused(tmp_path, options):
    folder = run_with(tmp_path / "run", judge())
    with pytest.raises(UsageError, match=r"is no check of annotator .* as it is asked here \(checked: m\)"):
        judge_check_of(folder, judge(**options))


def test_a_run_that_is_no_calibration_is_refused(tmp_path):
    with RunFolder(tmp_path / "run") as into:
        into.write_info({})
    with pytest.raises(UsageError, match="is no calibration; make one with `stereotrope calibrate"):
        judge_check_of(tmp_path / "run", judge())
    with pytest.raises(RunError, match="there is no such folder"):
        judge_check_of(tmp_path / "nothing", judge())
