import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from stereotrope import tables
from stereotrope.errors import TableError

TABLES = (
    tables.PROMPTS,
    tables.IMAGES,
    tables.LABELS,
    tables.SUBJECTS,
    tables.EMBEDDINGS,
    tables.ESTIMATES,
    tables.FINDINGS,
    tables.REFERENCE,
)


@pytest.mark.parametrize("columns", TABLES)
def test_every_column_says_what_it_holds_and_has_a_name_of_its_own(columns):
    assert all(column.doc for column in columns)
    assert len({column.name for column in columns}) == len(columns)


@pytest.mark.parametrize("columns", TABLES)
def test_types_in_memory_are_those_on_disk(columns):
    empty = pl.DataFrame(schema=tables.polars_types(columns))
    assert empty.to_arrow().cast(tables.schema(columns)).schema.equals(tables.schema(columns))


def test_factors_stand_behind_the_first_columns():
    assert tables.schema(tables.PROMPTS, ["object", "group"]).names == [
        "prompt_id", "object", "group", "text", "negative",
    ]  # fmt: skip
    names = tables.schema(tables.ESTIMATES, ["object"]).names
    assert names[:4] == ["measure", "definition", "object", "contrast"]
    assert tables.schema(tables.PROMPTS, ["object"]).field("object").type == pa.string()


def test_factors_are_the_columns_of_prompts_that_are_not_fixed():
    assert tables.factors_of(["prompt_id", "group", "text", "object", "negative"]) == ["group", "object"]


def test_the_prompt_id_depends_on_content_alone():
    one = tables.prompt_id("a car", None, {"object": "car", "group": "base"})
    assert one == tables.prompt_id("a car", None, {"group": "base", "object": "car"})
    assert one != tables.prompt_id("a car", "people", {"object": "car", "group": "base"})
    assert len(one) == 16


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["object", " "], "a factor has no name; give every factor a name"),
        (
            ["value"],
            "factor 'value': this name is reserved for a column of every run; rename the factor, for "
            "example 'given_value'",
        ),
        (["object", "object"], "factor 'object' is given twice; factor names must differ"),
    ],
)
def test_a_name_no_factor_can_have_is_refused(names, message):
    with pytest.raises(TableError, match=message):
        tables.check_factors(names)


def test_what_scopes_an_estimate_may_stand_as_a_factor():
    assert tables.check_factors(["generator", "annotator"]) == ("generator", "annotator")


def test_only_prompts_and_estimates_carry_factors():
    with pytest.raises(TableError, match="only prompts and estimates carry factor columns"):
        tables.schema(tables.IMAGES, ["object"])


def test_a_column_of_one_value_is_held_once_and_reads_the_same():
    rows = {
        "missing": [None, None],
        "alike": ["a", "a"],
        "some": ["a", None],
        "n": [1, 2],
        "vector": [[1.0], [1.0]],
    }
    frame = pl.DataFrame(rows, schema_overrides={"missing": pl.String, "vector": pl.List(pl.Float32)})
    assert_frame_equal(tables.compact(frame), frame)
    assert_frame_equal(tables.compact(frame.clear()), frame.clear())
