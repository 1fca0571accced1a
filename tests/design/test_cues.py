import polars as pl
import pytest

from stereotrope import design
from stereotrope.errors import UsageError

TEMPLATES = {
    "baseline": "{object}, one product only, no people",
    "cue": "{object} {phrasing} {group}, one product only, no people",
}
GROUPS = {"gender": ["men", "women"], "ethnicity": {"Asian": "Asian people"}}


def test_prompts_read_as_in_table_1_of_the_paper():
    prompts = design.cued_prompts(["car"], GROUPS, **TEMPLATES)
    assert prompts["text"].to_list() == [
        "car, one product only, no people",
        "car for men, one product only, no people",
        "car for women, one product only, no people",
        "car for Asian people, one product only, no people",
    ]
    assert prompts.row(0, named=True)["group"] == design.BASE
    assert prompts.row(0, named=True)["dimension"] is None
    assert prompts["group"].to_list()[-1] == "Asian"


def test_the_baseline_has_no_phrasing_and_every_mitigation():
    prompts = design.cued_prompts(
        ["cup"],
        {"gender": ["men"]},
        **TEMPLATES,
        phrasings=["for", "targeted at"],
        mitigations={"none": "", "range": "with a wide range of styles"},
    )
    base = prompts.filter(pl.col("group") == "base")
    assert base["phrasing"].to_list() == [None, None]
    assert base["mitigation"].to_list() == ["none", "range"]
    assert "cup targeted at men, one product only, no people, with a wide range of styles" in prompts["text"]
    assert prompts.height == 2 + 4


def test_intersections_and_regions_are_groups_like_any_other():
    prompts = design.cued_prompts(
        ["car"], {"age+gender": ["elderly women"], "region": {"Nigeria": "{object} in Nigeria"}}, **TEMPLATES
    )
    assert prompts["text"].to_list()[1:] == [
        "car for elderly women, one product only, no people",
        "car in Nigeria, one product only, no people",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"objects": []}, "objects is empty"),
        ({"phrasings": []}, "phrasings is empty"),
        ({"baseline": "a thing"}, r"needs the field \{object\}"),
        ({"cue": "{object} {group}"}, r"needs the field \{phrasing\}"),
        ({"dimensions": {"gender": []}}, "dimension 'gender' has no group"),
        ({"dimensions": {"gender": ["base"]}}, "name of the baseline"),
        ({"dimensions": {"a": ["men"], "b": {"x": "men"}}}, "stands for object=car, dimension=a"),
        ({"dimensions": {"a": ["men"], "b": {"men": "boys"}}}, "group 'men' is in dimension 'a' and in 'b'"),
        ({"dimensions": {"a": {"x": "{object} {y}"}}}, r"may hold no field but \{object\}"),
        ({"baseline": "{object} {group}"}, r"baseline template .* may hold \{object\}, found \{group\}"),
        ({"cue": "{object} {phrasing} {group} {age}"}, r"cue template .* found \{age\}; remove it"),
        ({"objects": [str(i) for i in range(100_000)]}, "combine to .* prompts, at most 200,000"),
        (
            {"cue": "{phrasing} {group}: {object}", "dimensions": {"r": {"x": "{object} in x"}}},
            "does not hold",
        ),
    ],
)
def test_a_design_with_a_mistake_says_what_to_do(change, message):
    given = {"objects": ["car"], "dimensions": GROUPS, **TEMPLATES, **change}
    objects, dimensions = given.pop("objects"), given.pop("dimensions")
    with pytest.raises(UsageError, match=message):
        design.cued_prompts(objects, dimensions, **given)
