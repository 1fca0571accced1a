"""Parameters of measures as options of an audit file, those of other packages' functions too."""

import pytest

from stereotrope.errors import PluginError, UsageError
from stereotrope.inputs.options import options_of
from stereotrope.measure.contract import MeasureInfo


def written(labels, threshold, *rest, levels: list[str] | None = None, part: float = 0.5, **more):
    """A measure of somebody who writes few types and takes whatever comes."""


INFO = MeasureInfo(
    "written", written, "", "general", (0.0, 1.0), "", "", "labels", closed={"part": "it is ours"}
)


def read(**given):
    made = options_of(INFO.options, given, "measure 'written'", example="it otherwise")
    return {name: getattr(made, name) for name in given}


def test_a_parameter_without_a_type_takes_anything_and_those_without_a_name_are_none():
    assert list(INFO.parameters) == ["threshold", "levels", "part"]
    assert read(threshold=[1, "a"]) == {"threshold": [1, "a"]}
    with pytest.raises(UsageError, match=r"unknown key 'more'; known keys: threshold, levels, part"):
        read(more=1)


def test_a_number_stands_for_a_list_of_one_text_where_only_that_fits():
    assert read(levels=2020) == {"levels": ["2020"]}
    assert read(levels=["a", 1]) == {"levels": ["a", "1"]}
    with pytest.raises(UsageError, match=r"levels must be a list of texts, found True; put it in quotes"):
        read(levels=True)


def test_a_closed_parameter_is_refused_for_its_reason():
    with pytest.raises(UsageError, match=r"part cannot be given here: it is ours, found 0.2"):
        read(part=0.2)


def test_a_frame_that_nobody_makes_is_told_by_the_name_of_the_measure():
    info = MeasureInfo("written", written, "", "general", (0.0, 1.0), "", "", "lables")
    with pytest.raises(
        PluginError,
        match=r"measure 'written' of the package stereotrope needs 'lables', .*did you mean 'labels'",
    ):
        _ = info.frame
