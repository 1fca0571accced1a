"""What ends a pipeline: what a run shows, each by its own name, and nothing else."""

import pytest

from stereotrope.cli.gate import Gate, objections

NOTHING = {
    "comparisons": {"alike": 40},
    "lists": {"common": 3, "summary": 1},
    "findings": [{"list": "common", "sentence": "In 9 of 9 pictures."}],
    "missing": {"items": []},
}


@pytest.mark.parametrize("gate", Gate)
def test_a_run_that_shows_nothing_of_it_passes(gate):
    assert objections(NOTHING, [gate]) == []
    assert objections(NOTHING, []) == []


@pytest.mark.parametrize(
    ("gate", "shown", "told"),
    [
        (
            "differences",
            {
                "comparisons": {"alike": 39, "differs": 1},
                "findings": [{"list": "difference", "sentence": "It is pink."}],
            },
            "1 of 40 comparisons differ; the first: It is pink",
        ),
        (
            "undecided",
            {"comparisons": {"alike": 2, "not enough": 1_200}},
            "1200 of 1202 comparisons are undecided",
        ),
        (
            "warnings",
            {"lists": {"instrument": 2}, "findings": [{"list": "instrument", "sentence": "Nobody checked."}]},
            "2 warnings about the instruments; the first: Nobody checked",
        ),
        ("incomplete", {"missing": {"items": ["painter: 3 of 9 pictures were not made: no key."]}}, "no key"),
    ],
)
def test_each_gate_objects_to_what_it_names_and_to_nothing_else(gate, shown, told):
    (found,) = objections({**NOTHING, **shown}, list(Gate))
    assert told in found
    assert objections({**NOTHING, **shown}, [Gate(gate)]) == [found]


@pytest.mark.parametrize("gate", [Gate.DIFFERENCES, Gate.UNDECIDED])
def test_a_run_that_tested_nothing_does_not_pass_for_one_without_differences(gate):
    (found,) = objections({**NOTHING, "comparisons": {}}, [gate])
    assert found == "no comparison was tested, so that nothing is known to be alike"


@pytest.mark.parametrize("gate", [Gate.DIFFERENCES, Gate.UNDECIDED])
def test_findings_of_an_older_version_are_not_said_to_be_untested(gate):
    older = {"comparisons": {}, "findings": [{"list": None, "sentence": "It is pink (q < 0.001)."}]}
    (found,) = objections({**NOTHING, **older}, [gate])
    assert found.startswith("an older version made the findings, and tested no list of comparisons; run ")
