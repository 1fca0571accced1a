"""Value lists by part of the design."""

from __future__ import annotations

import polars as pl
import pytest

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.divergence.value_lists import read_value_lists

WITHIN = ("generator", "object")


@pytest.fixture
def taxonomy() -> pl.DataFrame:
    rows = [
        ("m", "car", "light", "dim"),
        ("m", "car", "light", "bright"),
        ("m", "car", "light", "dim"),
        ("n", "car", "light", "warm"),
        (None, "car", "light", "odd"),
        (None, None, "text", "present"),
        (None, None, "text", "absent"),
    ]
    return pl.DataFrame(rows, schema=["generator", "object", "attribute", "value"], orient="row")


def test_the_most_specific_list_counts(taxonomy: pl.DataFrame) -> None:
    lists = read_value_lists(taxonomy, within=WITHIN, measure="vac")
    assert lists.of("light", {"generator": "m", "object": "car"}) == ("dim", "bright")
    assert lists.of("light", {"generator": "n", "object": "car"}) == ("warm",)
    assert lists.of("light", {"generator": "o", "object": "car"}) == ("odd",)
    assert lists.of("light", {"generator": "m", "object": "cup"}) is None
    assert lists.of("text", {"generator": "m", "object": None}) == ("present", "absent")
    assert lists.of("body", {"generator": "m", "object": "car"}) is None


def test_values_outside_the_list_of_their_part_are_found(taxonomy: pl.DataFrame) -> None:
    lists = read_value_lists(taxonomy, within=WITHIN, measure="vac")
    rows = [
        ("m", "car", "light", "dim", False),
        ("m", "car", "light", "warm", True),
        ("n", "car", "light", "warm", False),
        ("n", "cup", "light", "anything", False),
        (None, "cup", "text", "absent", False),
        (None, "cup", "text", "perhaps", True),
        ("m", "car", "body", "sedan", False),
        ("m", "car", "light", None, True),
    ]
    names = ["generator", "object", "attribute", "value", "expected"]
    tidy = pl.DataFrame(rows, schema=names, orient="row")
    assert lists.outside(tidy).to_list() == tidy["expected"].to_list()


def test_a_mapping_is_for_every_part() -> None:
    lists = read_value_lists({"light": ["dim", "dim", "bright"]}, within=WITHIN, measure="vac")
    assert lists.of("light", {"generator": "m", "object": "car"}) == ("dim", "bright")
    assert read_value_lists(None, within=WITHIN, measure="vac").lists == {}


def test_an_annotator_that_is_not_held_apart_is_passed_over(taxonomy: pl.DataFrame) -> None:
    named = taxonomy.with_columns(annotator=pl.lit("judge"))
    plain, more = (read_value_lists(x, within=WITHIN, measure="vac") for x in (taxonomy, named))
    assert plain == more
    own = read_value_lists(named, within=(*WITHIN, "annotator"), measure="vac")
    levels = {"generator": "m", "object": "car", "annotator": "other"}
    assert own.of("light", levels) is None


def test_what_does_not_fit_is_refused(taxonomy: pl.DataFrame) -> None:
    with pytest.raises(UsageError, match="vac: the taxonomy differs by 'object', which is not in within"):
        read_value_lists(taxonomy, within=("generator",), measure="vac")
    with pytest.raises(TableError, match="taxonomy: no column 'value'"):
        read_value_lists(taxonomy.drop("value"), within=WITHIN, measure="vac")
    with pytest.raises(TableError, match="attribute and value must be there in every row"):
        read_value_lists(taxonomy.with_columns(value=pl.lit(None)), within=WITHIN, measure="vac")
    with pytest.raises(UsageError, match="taxonomy must be a mapping of lists of texts, found 3"):
        read_value_lists(3, within=WITHIN, measure="vac")
    with pytest.raises(UsageError, match="the taxonomy of 'light' must be a list of values, found 2"):
        read_value_lists({"light": 2}, within=WITHIN, measure="vac")
