from __future__ import annotations

import pytest

from stereotrope.annotate.attributes import check_attributes
from stereotrope.errors import UsageError


def test_good_attributes_come_back_as_tuples():
    given = {"body_type": ["sedan", "SUV"], "rim_colour": "open", "doors": [2, 4], "brand": None}
    assert check_attributes(given) == {
        "body_type": ("sedan", "SUV"),
        "rim_colour": None,
        "doors": ("2", "4"),
        "brand": None,
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "must name at least one attribute, found none; write"),
        ({f"a{i}": "open" for i in range(61)}, "asks for at most 60 attributes, found 61"),
        ({7: ["a", "b"]}, "name must be a text, found 7; put it in quotes"),
        ({"": ["a", "b"]}, "name must be printable text without outer blanks"),
        ({" x": ["a", "b"]}, "name must be printable text without outer blanks"),
        ({"a\nb": ["a", "b"]}, "name must be printable text without outer blanks"),
        ({"x" * 65: ["a", "b"]}, "a name has at most 64 characters, found 65"),
        ({"people_present": ["yes", "no"]}, "'people_present': this name is taken"),
        ({"all": ["yes", "no"]}, "'all': this name is taken"),
        (
            {"body_type": "open", "Body Type": "open"},
            "'Body Type': reads like 'body_type', which is there too",
        ),
        ({"body": []}, r"'body': must list at least 2 values, found \[\]"),
        (
            {"body": ["sedan"]},
            r"'body': must list at least 2 values, found \['sedan'\]; one value says nothing",
        ),
        ({"body": "sedan"}, "'body': must be a list of values or open, found 'sedan'; write body:"),
        ({"body": {"a": 1}}, "'body': must be a list of values or open, found {'a': 1}"),
        ({"body": [f"v{i}" for i in range(251)]}, "'body': has at most 250 values, found 251"),
        ({"body": ["a", True]}, "'body': a value must be a text, found True; put it in quotes"),
        ({"body": ["a", None]}, "'body': a value must be a text, found None; put it in quotes"),
        ({"body": ["a", ""]}, "'body': a value must be printable text without outer blanks, found ''"),
        ({"body": ["a", "b\x00"]}, "'body': a value must be printable text"),
        ({"body": ["a", "b" * 61]}, "'body': a value has at most 60 characters, found 61"),
        ({"body": ["a", "b", "a"]}, "'body': lists 'a' twice; list it once"),
        (
            {"body": ["Sport-Cars", "sport_car"]},
            "'body': lists 'Sport-Cars' and 'sport_car', which count as one value; keep one",
        ),
        (
            {"body": ["a", "unclear"]},
            "'body': 'unclear' is no value but a status, and 'unclear' is always offered",
        ),
        ({"body": ["a", "Invalid"]}, "'body': 'Invalid' is no value but a status"),
    ],
)
def test_every_mistake_is_named(given, message):
    with pytest.raises(UsageError, match=message):
        check_attributes(given)


def test_open_can_be_forbidden():
    with pytest.raises(UsageError, match="'body': must be a list of values, found 'open'"):
        check_attributes({"body": "open"}, open_allowed=False)
