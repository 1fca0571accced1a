"""Files of further factors: what joins the prompts, what is refused, and with which line."""

import pytest

from stereotrope.design import own_prompts
from stereotrope.design.factors import factor_file, join_factors
from stereotrope.errors import MetadataError, UsageError

PROMPTS = own_prompts(
    [
        {"text": "a car", "thing": "car", "tint": "plain"},
        {"text": "a red car", "thing": "car", "tint": "red"},
        {"text": "a cup", "thing": "cup", "tint": "plain"},
    ],
    None,
)


def joined(folder, text, **more):
    (folder / "more.csv").write_text(text, "utf-8")
    return join_factors(PROMPTS, [factor_file({"file": "more.csv", **more}, relative_to=folder)])


def test_columns_that_the_prompts_have_name_them_and_the_others_are_factors(tmp_path):
    made = joined(tmp_path, "thing,place\ncar,street\ncup,table\n")
    assert made.prompts["place"].to_list() == ["street", "street", "table"]
    assert made.prompts.columns == ["prompt_id", "thing", "tint", "place", "text", "negative"]
    assert made.prompts.drop("place").equals(PROMPTS)


def test_several_columns_and_the_text_itself_name_prompts_too(tmp_path):
    several = joined(tmp_path, "tint,thing,no\nplain,car,1\nred,car,2\nplain,cup,3\n")
    assert several.prompts["no"].to_list() == ["1", "2", "3"]
    text = joined(tmp_path, "text,no\n a car ,x\na red car,y\na cup,x\n")
    assert text.prompts["no"].to_list() == ["x", "y", "x"]


def test_only_the_columns_asked_for_are_taken(tmp_path):
    made = joined(tmp_path, "thing,place,note\ncar,street,\ncup,table,see below\n", columns=["place"])
    assert "note" not in made.prompts.columns


def test_hash_counts_and_rows_of_no_prompt_are_told(tmp_path):
    made = joined(tmp_path, "thing,place\ncar,street\ncup,table\nsofa,home\n")
    assert made.files[0]["factors"] == ["place"]
    assert len(made.files[0]["sha256"]) == 64
    assert made.notes[0].startswith("factors more.csv: place (2 values), sha256 ")
    assert made.notes[1] == "factors more.csv: 1 row (line 4) is of no prompt of this audit"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("thing,place\ncar,street\n", r"more.csv:1: no row is of 'cup' \(thing\); write it"),
        (
            "text,place\na car,x\na red carr,x\na cup,y\n",
            r"more.csv:3: no row is of 'a red car' \(text\); is 'a red carr' meant for it\? Else write it",
        ),
        (
            "thing,place\ncar,street\ncup, \n",
            r"more.csv:3: column 'place' must hold the place of 'cup', found",
        ),
        ("thing,place\ncar,a\ncup,b\ncar,c\n", r"more.csv:4: 'car' stands in line 2 already; leave one"),
        (
            "what,place\ncar,a\n",
            r"more.csv:1: a column must be one that the prompts have \(thing, tint, text",
        ),
        ("thing,tint\ncar,plain\n", r"more.csv:1: every column \(thing, tint\) is one that the prompts have"),
        ("thing,generator\ncar,a\ncup,b\n", r"factor 'generator': this name is reserved .* given_generator"),
    ],
)
def test_a_file_that_does_not_fit_is_one_message_with_its_line(tmp_path, text, match):
    with pytest.raises((MetadataError, UsageError), match=match):
        joined(tmp_path, text)


def test_a_factor_that_is_there_already_is_refused(tmp_path):
    with pytest.raises(
        UsageError, match=r"more.csv: factor 'tint' is there already; call the column otherwise"
    ):
        joined(tmp_path, "thing,tint\ncar,a\ncup,b\n", columns=["tint"])
    (tmp_path / "more.csv").write_text("thing,place\ncar,a\ncup,b\n")
    twice = [factor_file("more.csv", relative_to=tmp_path)] * 2
    with pytest.raises(UsageError, match="factor 'place' is there already"):
        join_factors(PROMPTS, twice)


def test_a_file_that_is_not_there_or_lacks_a_column_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"no file 'none.csv' beside the audit file; write it"):
        join_factors(PROMPTS, [factor_file("none.csv", relative_to=tmp_path)])
    with pytest.raises(MetadataError, match=r"more.csv:1: no column 'region' \(a further factor\)"):
        joined(tmp_path, "thing,place\ncar,a\ncup,b\n", columns=["region"])


def test_without_files_the_prompts_are_as_they_were():
    assert join_factors(PROMPTS, []) == (PROMPTS, (), ())


def test_an_unknown_key_of_an_entry_is_refused():
    with pytest.raises(UsageError, match="factors file: unknown key 'column'; did you mean 'columns'"):
        factor_file({"file": "x.csv", "column": "y"})


def test_a_prompt_that_has_none_of_the_columns_has_no_level(tmp_path):
    (tmp_path / "more.csv").write_text("thing,place\ncar,street\ncup,table\n")
    prompts = own_prompts(
        [{"text": "a car", "thing": "car"}, {"text": "nothing"}, {"text": "x", "thing": "cup"}], None
    )
    made = join_factors(prompts, [factor_file("more.csv", relative_to=tmp_path)])
    assert made.prompts["place"].to_list() == ["street", None, "table"]


def test_a_row_of_no_prompt_may_be_empty(tmp_path):
    made = joined(tmp_path, "thing,place\ncar,street\ncup,table\nsofa,\n")
    assert made.prompts["place"].to_list() == ["street", "street", "table"]
