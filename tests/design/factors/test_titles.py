"""Titles that a model gives clusters: what is wrong with one."""

import pytest

from stereotrope.design.factors.titles import title_problems


@pytest.mark.parametrize(
    ("title", "wrong"),
    [
        ("gar\u00addening activities", None),
        ("\u0686\u200c\u0647 activities", None),
        ("home\x1b activities", "must be one line of at most 60 characters"),
        ("home \u202eactivities", "must be one line of at most 60 characters"),
    ],
)
def test_a_title_is_a_plain_line(title, wrong):
    found = [problem.message for problem in title_problems({"title": title}, specifier="activities")]
    assert found == ([wrong] if wrong else [])
