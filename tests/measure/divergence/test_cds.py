"""Cross-demographic disparity."""

from __future__ import annotations

from collections.abc import Callable
from math import comb

import polars as pl
import pytest

from stereotrope.errors import UsageError
from stereotrope.measure import bds, cds
from stereotrope.stats import expected_js

MakeLabels = Callable[..., pl.DataFrame]
QUICK = {"n_permutations": 300, "n_bootstrap": 200}
FACTORS = ("generator", "object", "dimension", "group")


@pytest.fixture
def ages(make_labels: MakeLabels) -> pl.DataFrame:
    return make_labels(
        {
            ("m", "car", None, "base"): {"grey": 9},
            ("m", "car", "age", "elderly"): {"grey": 6, "red": 6},
            ("m", "car", "age", "middle"): {"grey": 6, "red": 6},
            ("m", "car", "age", "young"): {"pink": 12},
            ("m", "car", "gender", "men"): {"grey": 12},
            ("m", "car", "gender", "women"): {"grey": 12},
        },
        factors=FACTORS,
    )


def test_a_case_worked_by_hand(ages: pl.DataFrame) -> None:
    found = cds(ages, **QUICK).filter(attribute="all")
    assert found["dimension"].to_list() == ["age", "gender"]
    # Of the pairs of ages one scores 0 and two score 1.
    assert found["value"].to_list() == pytest.approx([2 / 3, 0.0], abs=1e-15)
    floors = [float(expected_js(pool, 12, 12)) for pool in ([12, 12], [6, 6, 12], [6, 6, 12])]
    assert found["floor"][0] == pytest.approx(sum(floors) / 3, abs=1e-12)
    # Young against the others: 3 of the C(36, 12) tables are as extreme, and count half. It is one of three
    # groups that are tested, and that one of two tests.
    assert found["p_value"].to_list() == [pytest.approx(3 * 2 * 1.5 / comb(36, 12), rel=1e-4), 1.0]
    assert found["n"].to_list() == [36, 24]
    assert found["n_reference"].to_list() == [None, None]
    assert found["contrast"].unique().to_list() == ["group"]


def test_pairs_stand_beside_the_dimension(ages: pl.DataFrame) -> None:
    found = cds(ages, pairs=True, **QUICK).filter(attribute="all", dimension="age")
    values = {(row["group"], row["reference"]): row["value"] for row in found.iter_rows(named=True)}
    assert values == {
        (None, None): pytest.approx(2 / 3),
        ("elderly", "middle"): 0.0,
        ("elderly", "young"): 1.0,
        ("middle", "young"): 1.0,
    }
    alone = cds(ages, **QUICK).filter(attribute="all", dimension="age")
    joint = found.filter(pl.col("group").is_null())
    assert joint.select("value", "floor", "p_value", "q_value", "low").equals(
        alone.select("value", "floor", "p_value", "q_value", "low")
    )


def test_a_pair_scores_as_the_divergence_of_its_two_groups(ages: pl.DataFrame) -> None:
    pair = cds(ages, pairs=True, **QUICK).filter(attribute="all", group="elderly", reference="young")
    other = bds(ages, baseline="young", within=["generator", "object", "dimension"], **QUICK)
    other = other.filter(attribute="all", group="elderly")
    columns = ["value", "floor", "p_value", "n", "n_reference"]
    assert pair.select(columns).equals(other.select(columns))


def test_without_a_dimension_all_groups_but_the_baseline_are_one(ages: pl.DataFrame) -> None:
    found = cds(ages, dimension=None, **QUICK)
    assert "dimension" not in found.columns
    assert found.filter(attribute="all")["n"].to_list() == [60]
    with_base = cds(ages, dimension=None, baseline=None, **QUICK)
    assert with_base.filter(attribute="all")["n"].to_list() == [69]


def test_a_group_without_labels_is_left_out_and_flagged(ages: pl.DataFrame) -> None:
    gone = ages.with_columns(value=pl.when(pl.col("group") == "young").then(None).otherwise("value"))
    row = cds(gone, **QUICK).filter(attribute="all", dimension="age").row(0, named=True)
    assert (row["value"], row["n"], row["n_excluded"]) == (0.0, 24, 12)
    assert "few_groups" in row["flags"]


def test_fewer_than_two_groups_are_undefined(ages: pl.DataFrame) -> None:
    gone = ages.with_columns(value=pl.when(pl.col("group") == "men").then(None).otherwise("value"))
    row = cds(gone, **QUICK).filter(attribute="all", dimension="gender").row(0, named=True)
    assert row["value"] is None
    assert row["undefined"] == "fewer than two groups with a usable label"
    assert row["low"] is None


def test_the_dimension_cannot_be_a_scope_as_well(ages: pl.DataFrame) -> None:
    with pytest.raises(UsageError, match="'dimension' is compared and cannot be in within as well"):
        cds(ages, within=["generator", "dimension"])
    with pytest.raises(UsageError, match="cds: definition must be one of"):
        cds(ages, definition="ours")
