"""Base versus demographic divergence."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stereotrope.errors import TableError, UsageError
from stereotrope.measure import bds, vac

MakeLabels = Callable[..., pl.DataFrame]
QUICK = {"n_permutations": 200, "n_bootstrap": 200}
SCOPE = ("m", "car")


def one(found: pl.DataFrame, **levels: str) -> dict[str, object]:
    rows = found.filter(**levels)
    assert rows.height == 1
    return rows.row(0, named=True)


@pytest.fixture
def halves(make_labels: MakeLabels) -> pl.DataFrame:
    """Base all grey; women half pink, half grey; 4 images each."""
    return make_labels({(*SCOPE, "base"): {"grey": 4}, (*SCOPE, "women"): {"grey": 2, "pink": 2}})


def test_a_case_worked_by_hand(halves: pl.DataFrame) -> None:
    # P = (1, 0), Q = (1/2, 1/2): H(3/4, 1/4) − 1/2. Of the 28 ways to put 2 pinks on 8 images,
    # 12 put both on one side and 16 one on each; the latter score 0.
    found = bds(halves, **QUICK)
    row = one(found, attribute="all")
    js = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25)) - 0.5
    assert row["value"] == pytest.approx(js, abs=1e-15)
    assert row["floor"] == pytest.approx(12 / 28 * js, abs=1e-12)
    assert row["excess"] == pytest.approx(16 / 28 * js, abs=1e-12)
    assert row["adjusted"] == pytest.approx((js - 12 / 28 * js) / (1 - 12 / 28 * js), abs=1e-12)
    # Tables as divergent count half: mid-p of both tests.
    assert row["p_value"] == pytest.approx(12 / 28 / 2)
    assert row["p_least"] == pytest.approx(12 / 28 / 2)
    assert (row["n"], row["n_reference"], row["n_excluded"], row["excluded"]) == (4, 4, 0, None)
    assert (row["group"], row["contrast"], row["reference"]) == ("women", "group", "base")
    assert row["flags"] == "no_prompt_id,small_n"
    assert "seed 0" in str(row["method"])


def test_released_definition_is_the_distance_in_nats(halves: pl.DataFrame) -> None:
    paper, released = (
        one(bds(halves, definition=d, **QUICK), attribute="all") for d in ("paper", "released")
    )
    assert released["value"] == pytest.approx(math.sqrt(paper["value"] * math.log(2)), abs=1e-15)
    assert released["definition"] == "released"
    assert released["floor"] == pytest.approx(12 / 28 * released["value"], abs=0.1)


@pytest.mark.parametrize(("definition", "maximum"), [("paper", 1.0), ("released", math.sqrt(math.log(2)))])
def test_disjoint_pictures_keep_an_adjusted_score_of_1(
    make_labels: MakeLabels, definition: str, maximum: float
) -> None:
    frame = make_labels({(*SCOPE, "base"): {"grey": 20}, (*SCOPE, "women"): {"pink": 12, "rose": 8}})
    row = one(bds(frame, definition=definition, **QUICK), attribute="all")
    assert row["value"] == pytest.approx(maximum, abs=1e-12)
    assert row["adjusted"] == pytest.approx(1.0, abs=1e-12)
    assert row["adjusted_high"] == pytest.approx(1.0, abs=1e-12)
    assert row["low"] < maximum - 0.02
    assert row["p_value"] == row["p_least"] == pytest.approx(1 / math.comb(40, 20))


def test_agreement_of_all_images_has_an_interval_with_a_width(make_labels: MakeLabels) -> None:
    frame = make_labels({(*SCOPE, "base"): {"grey": 20}, (*SCOPE, "women"): {"grey": 20}})
    row = one(bds(frame, **QUICK), attribute="all")
    assert (row["value"], row["floor"], row["low"], row["p_value"]) == (0.0, 0.0, 0.0, 1.0)
    assert 0.05 < row["high"] < 0.2
    assert row["z"] is None


def test_a_group_without_labels_is_undefined_and_not_0(make_labels: MakeLabels) -> None:
    frame = make_labels(
        {
            (*SCOPE, "base"): {"grey": 12},
            (*SCOPE, "men"): {"unclear": 3, None: 2},
            (*SCOPE, "women"): {"grey": 12},
        }
    )
    row = one(bds(frame, **QUICK), attribute="all", group="men")
    for column in ("value", "low", "high", "p_value", "q_value", "floor", "adjusted", "z"):
        assert row[column] is None
    assert row["undefined"] == "no usable label"
    assert (row["n"], row["n_reference"], row["n_excluded"]) == (0, 12, 5)
    assert json.loads(str(row["excluded"])) == {"missing": 2, "unclear": 3}
    assert one(bds(frame, **QUICK), attribute="all", group="women")["undefined"] is None


def test_a_baseline_without_labels_is_said(make_labels: MakeLabels) -> None:
    frame = make_labels({(*SCOPE, "base"): {"refused": 3}, (*SCOPE, "women"): {"grey": 12}})
    assert one(bds(frame, **QUICK), attribute="all")["undefined"] == "no usable label of the reference"


def test_a_combination_without_images_is_said_and_not_skipped(make_labels: MakeLabels) -> None:
    frame = make_labels(
        {
            ("m", "car", "base"): {"grey": 3},
            ("m", "car", "women"): {"grey": 3},
            ("m", "cup", "base"): {"grey": 3},
            ("m", "cup", "men"): {"grey": 3},
            ("n", "car", "base"): {"grey": 3},
            ("n", "car", "men"): {"grey": 3},
        }
    )
    found = bds(frame, **QUICK).filter(attribute="all")
    present = set(found.select("generator", "object", "group").iter_rows())
    # Men occur with m and with cars, so men with m × car are missing; women never occur with n.
    assert ("m", "car", "men") in present
    assert ("n", "car", "women") not in present
    assert one(found, generator="m", object="car", group="men")["undefined"] == "no usable label"


def test_an_undefined_attribute_is_left_out_of_the_mean(make_labels: MakeLabels) -> None:
    frame = pl.concat(
        [
            make_labels({(*SCOPE, "base"): {"grey": 12}, (*SCOPE, "women"): {"pink": 12}}),
            make_labels({(*SCOPE, "base"): {"old": 12}, (*SCOPE, "women"): {"unclear": 12}}, "style"),
        ]
    )
    found = bds(frame, **QUICK)
    mean = one(found, attribute="all")
    assert (mean["value"], mean["flags"], mean["n"], mean["n_excluded"]) == (
        1.0,
        "no_prompt_id,few_attributes",
        12,
        12,
    )
    style = one(found, attribute="style")
    assert (style["value"], style["undefined"], style["n"]) == (None, "no usable label", 0)


def test_a_baseline_without_a_level_serves_every_level(make_labels: MakeLabels) -> None:
    frame = make_labels(
        {
            ("m", None, "base"): {"grey": 12},
            ("m", "for", "women"): {"grey": 12},
            ("m", "aimed at", "women"): {"pink": 12},
        },
        factors=("generator", "phrasing", "group"),
    )
    found = bds(frame, within=["generator", "phrasing"], **QUICK).filter(attribute="all")
    assert dict(found.select("phrasing", "value").iter_rows()) == {"for": 0.0, "aimed at": 1.0}
    assert found["n_reference"].to_list() == [12, 12]


def test_excluded_pictures_and_quality_attributes_stay_out(halves: pl.DataFrame) -> None:
    flagged = halves.with_columns(excluded=pl.when(pl.col("value") == "pink").then(pl.lit("blank picture")))
    quality = halves.with_columns(attribute=pl.lit("blank"), value=pl.lit("no"))
    found = bds(pl.concat([flagged, quality.with_columns(excluded=pl.lit(None, pl.String))]), **QUICK)
    assert found["attribute"].to_list() == ["all", "product_colour"]
    assert found["value"].to_list() == [0.0, 0.0]
    assert json.loads(found["excluded"][0]) == {"blank picture": 2}


def test_q_values_are_of_two_families(make_labels: MakeLabels) -> None:
    frame = make_labels(
        {
            (*SCOPE, "base"): {"grey": 20},
            (*SCOPE, "men"): {"grey": 18, "red": 2},
            (*SCOPE, "women"): {"pink": 20},
        }
    )
    found = bds(pl.concat([frame, frame.with_columns(attribute=pl.lit("style"))]), **QUICK)
    means = found.filter(attribute="all").sort("p_value")
    assert means["q_value"][0] == pytest.approx(2 * means["p_value"][0])
    single = found.filter(pl.col("attribute") != "all").sort("p_value")
    assert single["q_value"][0] == pytest.approx(2 * single["p_value"][0])


def test_no_resamples_leave_test_and_interval_null(halves: pl.DataFrame) -> None:
    row = one(bds(halves, n_permutations=0, n_bootstrap=0), attribute="all")
    assert row["value"] is not None
    assert row["floor"] is not None
    assert (row["low"], row["high"], row["p_value"], row["q_value"], row["z"]) == (None,) * 5


def test_one_image_a_side_has_no_interval(make_labels: MakeLabels) -> None:
    row = one(
        bds(make_labels({(*SCOPE, "base"): {"a": 1}, (*SCOPE, "women"): {"b": 1}}), **QUICK), attribute="all"
    )
    assert (row["value"], row["floor"], row["p_value"]) == (1.0, pytest.approx(1.0), 1.0)
    assert (row["low"], row["high"], row["adjusted"]) == (None, None, None)


def test_any_frame_gives_the_same(halves: pl.DataFrame) -> None:
    expected = bds(halves, **QUICK)
    records = halves.to_dicts()
    assert bds(pd.DataFrame(records), **QUICK).equals(expected)
    assert bds(pa.Table.from_pylist(records), **QUICK).equals(expected)
    assert bds(halves, **{**QUICK, "seed": 1})["value"].equals(expected["value"])


def test_a_cell_scores_the_same_alone_and_among_others(make_labels: MakeLabels) -> None:
    counts = {
        ("m", "car", "base"): {"grey": 12, "red": 3},
        ("m", "car", "women"): {"grey": 5, "pink": 9},
        ("m", "cup", "base"): {f"dark shade {i}": 1 for i in range(60)},
        ("m", "cup", "women"): {f"shade {i}": 1 for i in range(60)},
    }
    frame = make_labels(counts)
    together = bds(frame, **QUICK).filter(object="car").drop("q_value")
    assert together.equals(bds(frame.filter(object="car"), **QUICK).drop("q_value"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"baseline": "none"}, "no row has group = 'none'; found 'base', 'women'"),
        ({"definition": "published"}, "definition must be one of 'paper', 'released', found 'published'"),
        ({"within": "object"}, "within must be a list of factors, found the string 'object'"),
        ({"within": ["object", "group"]}, "'group' is compared and cannot be in within as well"),
        ({"within": ["object", "object"]}, "'object' is given twice in within"),
        ({"n_permutations": -1}, "n_permutations must be 0 or more and whole, found -1"),
        ({"level": 95}, "level must lie between 0 and 1, found 95"),
        (
            {"definition": "released", "n_permutations": 0},
            "floor from shuffles; n_permutations must be at least 1",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    halves: pl.DataFrame, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        bds(halves, **arguments)


def test_an_unknown_column_or_attribute_is_refused(halves: pl.DataFrame) -> None:
    with pytest.raises(TableError, match="no column 'gruppe'"):
        bds(halves, "gruppe")
    with pytest.raises(TableError, match="no attribute 'style'"):
        bds(halves, attributes=["style"])


def test_a_mean_of_four_attributes_that_holds_two_pictures_is_flagged() -> None:
    rows = [
        (f"{group}{i}", name, str(i % 2) if name != "d" or i < 2 else None, "m", "car", group)
        for group in ("base", "women")
        for i in range(20)
        for name in "abcd"
    ]
    names = ["image_id", "attribute", "value", "generator", "object", "group"]
    labels = pl.DataFrame(rows, schema=names, orient="row").with_columns(prompt_id="group")
    found = bds(labels, n_permutations=20, n_bootstrap=20)
    assert dict(found.select("attribute", "flags").rows()) == {
        "all": "small_n",
        "a": None,
        "b": None,
        "c": None,
        "d": "small_n",
    }
    concentrated = vac(labels, n_bootstrap=20).filter(measure="vac", group="women")
    assert concentrated.filter(pl.col("flags") == "small_n")["attribute"].to_list() == ["all", "d"]


def test_one_picture_of_three_attributes_is_one_picture() -> None:
    rows = [("a", name, "x", "m", "car", "women") for name in ("colour", "kind", "style")]
    rows += [("b", name, None, "m", "car", "base") for name in ("colour", "kind", "style")]
    names = ["image_id", "attribute", "value", "generator", "object", "group"]
    row = bds(pl.DataFrame(rows, schema=names, orient="row"), n_permutations=0).row(0, named=True)
    assert (row["n"], row["n_reference"], row["undefined"]) == (1, 0, "no usable label of the reference")


def test_sides_without_an_attribute_in_common_have_a_reason() -> None:
    rows = [("a", "colour", "x", "m", "car", "women"), ("b", "kind", "y", "m", "car", "base")]
    names = ["image_id", "attribute", "value", "generator", "object", "group"]
    row = bds(pl.DataFrame(rows, schema=names, orient="row"), n_permutations=0).row(0, named=True)
    assert (row["n"], row["n_reference"], row["value"]) == (1, 1, None)
    assert row["undefined"] == "no attribute with a usable label of two groups"
