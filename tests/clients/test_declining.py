from __future__ import annotations

import pytest
from hypothesis import given
from tests.clients.odd import anything, derandomized

from stereotrope.clients.error_body import declining_form
from stereotrope.shipped import shipped

_FORMS = shipped("clients", "declines.yaml")


def nested(at: str, value: object) -> object:
    """A body that holds a value at a path."""
    for name in reversed(at.split(".")):
        value = {name.removesuffix("[]"): [value] if name.endswith("[]") else value}
    return value


@pytest.mark.parametrize(
    ("at", "value"), [(form["at"], value) for form in _FORMS for value in form["values"]], ids=str
)
def test_every_value_of_the_table_declines_at_its_path_and_nowhere_else(at, value):
    assert declining_form(nested(at, value)) == f"{at} {value}"
    assert declining_form({"data": nested(at, value)}) is None
    assert declining_form({"code": value}) is None


def test_every_form_of_the_table_has_its_source():
    assert all(form["source"].startswith("https://") for form in _FORMS)


@derandomized
@given(anything)
def test_any_json_has_a_form_or_none(body):
    assert isinstance(declining_form(body), str | None)
