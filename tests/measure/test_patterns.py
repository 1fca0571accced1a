"""Differences that say the same elsewhere are one pattern, and none of them is dropped."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from tests.measure.made_audits import Made, made_labels

from stereotrope.measure import bds, deterministic_share, findings, share_difference
from stereotrope.measure.combined import parted
from stereotrope.measure.differences import differing
from stereotrope.measure.finder import Candidate
from stereotrope.measure.findings import RunFindings
from stereotrope.measure.patterns import FindingPattern, patterns_of

GREY, PINK = {"grey": 38, "pink": 2}, {"grey": 4, "pink": 36}


def told(labels: pl.DataFrame, *within: str, **options) -> pl.DataFrame:
    table = share_difference(labels, within=within or ("generator", "object"))
    return findings(table, labels, **options).filter(list="difference")


def extents(found: pl.DataFrame) -> list[dict]:
    """The extent of each pattern, once."""
    return [
        json.loads(one)
        for one in found.unique("pattern_id", maintain_order=True)["pattern_extent"].drop_nulls()
    ]


def models(make_labels, **sides: tuple[dict, dict]) -> pl.DataFrame:
    """A cup by several models: what each shows in the baseline and for women."""
    counts = {}
    for model, (base, women) in sides.items():
        counts |= {(model, "cup", "base"): base, (model, "cup", "women"): women}
    return make_labels(counts)


def test_what_three_of_four_models_show_is_one_pattern_and_the_other_way_is_counted(make_labels) -> None:
    labels = models(make_labels, a=(GREY, PINK), b=(GREY, PINK), c=(GREY, {"pink": 40}), d=(PINK, GREY))
    found = told(labels)
    assert found.height == 4
    first, *again = found.filter(pl.col("pattern_id").is_not_null()).to_dicts()
    assert first["sentence"].startswith("c: in 40 of 40")
    assert first["rank"] == 1
    assert [row["pattern_id"] for row in again] == [first["pattern_id"]] * 2
    assert first["pattern_sentence"] == (
        "The same in 3 of 4 models: c, a and b; told the other way in 1 (d)."
    )
    assert extents(found) == [{"varies": ["generator"], "n_same": 3, "n_tested": 4, "n_opposite": 1}]
    (alone,) = found.filter(pl.col("pattern_id").is_null()).to_dicts()
    assert json.loads(alone["scope"])["generator"] == "d"
    assert alone["rank"] == 2, "what is new stands before what says the same again"


def test_of_a_value_that_fell_where_another_is_named_the_other_way_is_told(make_labels) -> None:
    """Of d the value that is named is red, and pink is beyond 0 on the other side; of e it is not."""
    falls = {"red": 38, "pink": 2}
    even = {"grey": 37, "pink": 3}, falls
    labels = models(make_labels, a=(GREY, PINK), b=(GREY, PINK), d=(PINK, falls), e=even)
    found = told(labels)
    pink = found.filter(pl.col("sentence").str.contains("is “pink”"))
    assert found.height == 2 * pink.height == 4
    assert extents(pink)[0] == {"varies": ["generator"], "n_same": 2, "n_tested": 4, "n_opposite": 1}


def test_a_difference_that_nothing_repeats_is_no_pattern(make_labels) -> None:
    labels = models(make_labels, a=(GREY, PINK), b=(GREY, GREY))
    found = told(labels)
    assert found.height == 1
    assert found.select("pattern_id", "pattern_sentence", "pattern_extent").row(0) == (None, None, None)


@pytest.mark.parametrize("what", ["attribute", "value", "level", "factors"])
def test_what_differs_in_what_is_said_is_another_pattern(make_labels, what: str) -> None:
    one = models(make_labels, a=(GREY, PINK), b=(GREY, PINK))
    two = models(make_labels, c=(GREY, PINK), d=(GREY, PINK)).with_columns(pl.col("image_id") + "'")
    if what == "attribute":
        two = two.with_columns(attribute=pl.lit("shade"))
    if what == "value":
        two = two.with_columns(pl.col("value").replace("pink", "red"))
    if what == "level":
        two = two.with_columns(pl.col("group").replace("women", "men"))
    if what == "factors":
        two = two.with_columns(object=pl.lit(None, pl.String))
    within = [("generator", "object")] * 2 if what != "factors" else [("generator", "object"), ("generator",)]
    tables = [share_difference(labels, within=by) for labels, by in zip((one, two), within, strict=True)]
    labels = pl.concat([one, two])
    found = findings(pl.concat(tables, how="diagonal"), labels).filter(list="difference")
    assert found.height == 4
    assert found["pattern_id"].n_unique() == 2
    assert found["pattern_id"].null_count() == 0
    assert [one["n_same"] for one in extents(found)] == [2, 2]


def test_whoever_labels_a_place_it_is_one_pattern(make_labels) -> None:
    labels = models(make_labels, a=(GREY, PINK), b=(GREY, PINK), c=(GREY, PINK))
    judge = labels.with_columns(annotator=pl.lit("judge"))
    other = judge.filter(generator="c").with_columns(annotator=pl.lit("other"))
    within = ("generator", "object", "annotator")
    both = told(pl.concat([judge, other]), *within)
    assert both.height == 3
    assert extents(both) == [{"varies": ["generator"], "n_same": 3, "n_tested": 3, "n_opposite": 0}]
    apart = told(pl.concat([judge.filter(pl.col("generator") != "c"), other]), *within)
    assert extents(apart) == extents(both)
    sample = other.filter(pl.int_range(pl.len()).over("group") < 10).with_columns(annotator=pl.lit("people"))
    assert extents(told(pl.concat([judge, sample]), *within))[0]["n_same"] == 3


def test_over_several_factors_it_says_which_levels_and_of_which_alone(make_labels) -> None:
    cells = {}
    for model in "ab":
        for thing in ("cup", "car", "sofa"):
            pink = model == "a" or thing == "cup"
            cells |= {(model, thing, "base"): GREY, (model, thing, "women"): PINK if pink else GREY}
    (sentence,) = told(make_labels(cells))["pattern_sentence"].unique()
    assert sentence == (
        "The same in 4 of 6 combinations of model and object (2 of 2 models: a and b; 3 of 3 objects: car, "
        "cup and sofa); none is told the other way."
    )
    alone = {key: GREY if key == ("b", "cup", "women") else seen for key, seen in cells.items()}
    (sentence,) = told(make_labels(alone))["pattern_sentence"].unique()
    assert sentence == (
        "The same in 3 of 3 objects: car, cup and sofa; of 2 models in a alone; none is told the other way."
    )


def test_where_it_is_told_the_other_way_the_levels_are_named(make_labels) -> None:
    cells = {}
    for model in "abc":
        for thing in ("cup", "car", "clock"):
            sides = (PINK, GREY) if thing == "clock" else (GREY, PINK)
            cells |= {
                (model, thing, group): side for group, side in zip(("base", "women"), sides, strict=True)
            }
    found = told(make_labels(cells))
    pink, clock = found["pattern_sentence"].unique(maintain_order=True)
    assert pink == (
        "The same in 6 of 9 combinations of model and object (3 of 3 models: a, b and c; 2 of 3 objects: car "
        "and cup); told the other way in 3 combinations (clock)."
    )
    assert clock == (
        "The same in 3 of 3 models: a, b and c; of 3 objects in clock alone; told the other way in 6 "
        "combinations (car and cup)."
    )


def test_a_factor_that_follows_from_another_is_not_named(make_labels) -> None:
    factors = ("room", "scenario", "group")
    things = {"cook": "in", "nurse": "in", "pilot": "out"}
    cells = {(room, job, g): s for job, room in things.items() for g, s in (("base", GREY), ("women", PINK))}
    found = told(make_labels(cells, factors=factors), "room", "scenario")
    (sentence,) = found["pattern_sentence"].unique()
    assert sentence == "The same in 3 of 3 scenarios: “cook”, “nurse” and “pilot”."


def test_an_audit_with_one_planted_in_all_objects_and_one_in_one(make_labels) -> None:
    rng = np.random.default_rng(4)
    cells = {}
    for thing in ("cup", "car", "sofa", "lamp", "bag"):
        for group in ("base", "women", "men"):
            pink = int(rng.binomial(40, 0.85 if group == "women" else 0.1))
            cells["m", thing, group] = {"pink": pink, "grey": 40 - pink}
    whole = make_labels(cells)
    size = whole.with_columns(
        attribute=pl.lit("size"),
        value=pl.when(object="lamp", group="men").then(pl.lit("large")).otherwise(pl.lit("small")),
    )
    labels = pl.concat([whole, size])
    table = pl.concat([bds(labels, n_permutations=499), share_difference(labels)], how="diagonal")
    found = findings(table, labels).filter(list="difference")
    assert found.height == 6
    heads = found.filter(pl.col("pattern_id").is_null() | pl.col("pattern_id").is_first_distinct())
    assert heads["rank"].to_list() == [1, 2], "the first screen shows different patterns"
    assert set(heads["attribute"]) == {"product_colour", "size"}
    assert extents(found) == [{"varies": ["object"], "n_same": 5, "n_tested": 5, "n_opposite": 0}]
    assert found.filter(attribute="size")["pattern_id"].to_list() == [None]


@pytest.mark.parametrize("seed", range(3))
def test_grouping_leaves_what_is_told_as_it_was(seed: int) -> None:
    """The same differences, with the same numbers, in another order; a limit drops repeats first."""
    labels, _ = made_labels(
        Made(models=3, objects=4, groups=4, attributes=3, planted=0.3, values=(2, 3)), seed
    )
    table = share_difference(labels)
    run = RunFindings.of(table, labels)
    before, _ = parted(run.found, run.differences, run.evidence, run.order)
    after = run.findings(limit=100_000).filter(list="difference")

    def numbers(c: Candidate) -> tuple:
        return json.dumps(dict(sorted(c.scope.items()))), c.attribute, c.interval, c.level, c.q, c.place_p

    rows = after.select(
        "scope", "attribute", "value", "low", "high", "level", "q_value", "p_value"
    ).iter_rows()
    assert sorted(numbers(c) for c in before) == sorted(
        (json.dumps(dict(sorted(json.loads(s).items()))), a, (v, low, high), level, q, p)
        for s, a, v, low, high, level, q, p in rows
    )
    told = run.comparisons().filter(verdict="differs")
    assert sorted(told["finding_id"]) == sorted(after["finding_id"])
    assert run.comparisons()["finding_id"].is_not_null().sum() == told.height
    named = after.drop_nulls("pattern_id")
    assert named.height > 4
    assert named.group_by("pattern_id").len()["len"].min() >= 2
    heads = after.filter(pl.col("pattern_id").is_null() | pl.col("pattern_id").is_first_distinct())
    short = run.findings(limit=heads.height).filter(list="difference")
    assert short["finding_id"].to_list() == heads["finding_id"].to_list()
    shuffled = RunFindings.of(table.sample(fraction=1, shuffle=True, seed=seed), labels)
    pattern = ["finding_id", "pattern_id", "pattern_sentence"]
    assert (
        shuffled.findings(limit=100_000).select(pattern).equals(run.findings(limit=100_000).select(pattern))
    )


@pytest.mark.parametrize(("value", "patterns"), [("pink", 1), ("red", 2)])
def test_what_is_doubted_stands_last_whether_others_say_the_same(make_labels, value, patterns) -> None:
    few, many = ({"grey": 8}, {value: 8}), (GREY, {"grey": 12, "pink": 28})
    found = told(models(make_labels, a=many, b=many, few=few))
    assert found["pattern_id"].n_unique() == patterns
    assert json.loads(found["scope"][2])["generator"] == "few"
    assert found["sentence"][2].endswith("it rests on 8 pictures.")


def test_a_description_that_says_the_same_of_another_model_stands_behind_others(make_labels) -> None:
    shown = {("a", "cup", "base"): "white", ("b", "cup", "base"): "white", ("a", "car", "base"): "red"}
    more = {("c", thing, "base"): {"x": 20, "y": 20} for thing in ("cup", "car")}
    labels = make_labels({**{key: {value: 40} for key, value in shown.items()}, **more})
    found = findings(deterministic_share(labels), labels).filter(list="common")
    assert found["sentence"].str.extract("“(.*?)”").to_list() in (
        ["red", "white", "white"],
        ["white", "red", "white"],
    )
    assert found["pattern_id"].null_count() == 3


EVIDENCE = SimpleNamespace(pictures=SimpleNamespace(factors=["object", "generator"]), level=0.95)


def sentences(*facts: dict) -> list[FindingPattern]:
    """Patterns among differences that sentences of their own tell, of one model each."""
    made = [
        replace(
            Candidate("gap", {"generator": f"m{i}"}, "kind", 0.3, "made", "It is so.", p=1e-6, value=0.5),
            **{"parts": ("female", "male"), **one},
        )
        for i, one in enumerate(facts)
    ]
    found = differing(made, EVIDENCE, alpha=0.05, margin=0.0)  # type: ignore[arg-type]
    assert len(found.q) == len(made)
    return patterns_of(made, made, found, EVIDENCE)  # type: ignore[arg-type]


def test_turned_sides_agree_in_the_side_that_has_more() -> None:
    female, male = ({"turned": True, "toward": side} for side in ("female", "male"))
    (pattern,) = sentences(female, male, female)
    assert pattern.sentence() == "The same in 2 of 3 models: m0 and m2; told the other way in 1 (m1)."
    pair = [{"turned": True, "scope": {"object": thing}} for thing in "xyz"]
    ways = [("generator", "a", "b"), ("generator", "b", "a"), ("generator", "a", "b")]
    (pattern,) = sentences(*({**one, "between": way} for one, way in zip(pair, ways, strict=True)))
    assert pattern.sentence() == "The same in 2 of 3 objects: x and z; told the other way in 1 (y)."


def test_sentences_agree_in_their_sign_and_in_the_level_that_they_tell() -> None:
    (pattern,) = sentences({}, {}, {"value": -0.5}, {"toward": "someone"})
    assert pattern.extent() == {"varies": ["generator"], "n_same": 2, "n_tested": 4, "n_opposite": 1}
    assert sentences({}, {"parts": ("white", "black")}, {"kind": "other"}, {"measure": "other"}) == []
    assert sentences({}, {"apt": False}) == []


def test_of_many_levels_the_first_are_named() -> None:
    (pattern,) = sentences(*[{}] * 9)
    assert pattern.sentence() == "The same in 9 of 9 models: m0, m1, m2, m3, m4, m5 and 3 more."
