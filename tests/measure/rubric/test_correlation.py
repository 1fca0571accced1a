"""Correlations of items: against numpy and scipy, and where an item says nothing."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from stereotrope import measure
from stereotrope.stats import shuffled_pearson

ITEMS = ("Q1", "Q2", "Q3", "Q4")


def labels_of(table: np.ndarray, items: tuple[str, ...] = ITEMS) -> pl.DataFrame:
    """Sets of one query each; NaN is a refusal."""
    words = {0.0: "no", 1.0: "yes"}
    rows = [
        (f"s{row}", item, words.get(value, "refused"), "m")
        for row, values in enumerate(table.tolist())
        for item, value in zip(items, values, strict=True)
    ]
    return pl.DataFrame(rows, schema=["image_id", "attribute", "value", "generator"], orient="row")


def drawn(seed: int, n: int = 34) -> np.ndarray:
    rng = np.random.default_rng(seed)
    common = rng.uniform(size=(n, 1))
    return (0.6 * common + 0.4 * rng.uniform(size=(n, 4)) > [0.4, 0.5, 0.6, 0.7]).astype(float)


def test_r_is_that_of_numpy_and_its_interval_that_of_scipy() -> None:
    table = drawn(1)
    found = measure.item_correlation(labels_of(table), n_permutations=99)
    expected = np.corrcoef(table.T)
    assert found.height == 6
    for row in found.iter_rows(named=True):
        i, j = ITEMS.index(row["attribute"]), ITEMS.index(row["category"])
        assert i < j
        assert row["value"] == pytest.approx(expected[i, j], abs=1e-12)
        told = stats.pearsonr(table[:, i], table[:, j])
        assert row["value"] == pytest.approx(told.statistic)
        assert (row["low"], row["high"]) == pytest.approx(tuple(told.confidence_interval()), abs=1e-9)
        assert row["n"] == 34


def test_p_is_that_of_the_hypergeometric_distribution() -> None:
    table = drawn(2)
    found = measure.item_correlation(labels_of(table), n_permutations=20_000)
    for row in found.iter_rows(named=True):
        x, y = (table[:, ITEMS.index(row[name])] for name in ("attribute", "category"))
        n, k, m = len(x), int(x.sum()), int(y.sum())
        both = stats.hypergeom(n, k, m)
        at = np.arange(n + 1)
        far = np.abs(at - k * m / n) >= abs((x * y).sum() - k * m / n) - 1e-9
        exact = float(both.pmf(at)[far].sum())
        assert row["p_value"] == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4)
    q = stats.false_discovery_control(found["p_value"].to_numpy())
    assert found["q_value"].to_numpy() == pytest.approx(q)


def test_an_item_without_a_positive_is_grey_and_not_0() -> None:
    table = drawn(3)
    table[:, 1], table[:, 2] = 0.0, 1.0
    found = measure.item_correlation(labels_of(table), n_permutations=50)
    why = {(row["attribute"], row["category"]): row["undefined"] for row in found.iter_rows(named=True)}
    assert why["Q1", "Q4"] is None
    assert why["Q1", "Q2"] == why["Q2", "Q3"] == "an item was found in no set"
    assert why["Q1", "Q3"] == "an item was found in every set"
    undefined = found.filter(pl.col("undefined").is_not_null())
    assert undefined["value"].null_count() == undefined["p_value"].null_count() == undefined.height == 5


def test_pairs_are_of_queries_with_an_answer_to_both() -> None:
    table = drawn(4)
    table[:10, 0] = np.nan
    table[5:32, 1] = np.nan
    found = measure.item_correlation(labels_of(table), n_permutations=50)
    row = found.filter(attribute="Q1", category="Q3").row(0, named=True)
    assert (row["n"], row["excluded"]) == (24, '{"not answered": 10}')
    assert row["value"] == pytest.approx(np.corrcoef(table[10:, 0], table[10:, 2])[0, 1])
    few = found.filter(attribute="Q1", category="Q2").row(0, named=True)
    assert (few["n"], few["undefined"]) == (2, "fewer than 4 queries with an answer to both")


def test_items_that_always_come_together_have_no_interval_and_rare_ones_say_so() -> None:
    table = drawn(5)
    table[:, 1] = table[:, 0]
    table[:, 2] = 0.0
    table[:3, 2] = 1.0
    found = measure.item_correlation(labels_of(table), n_permutations=50)
    same = found.filter(attribute="Q1", category="Q2").row(0, named=True)
    assert (same["value"], same["low"], same["flags"]) == (1.0, None, None)
    assert same["p_value"] == pytest.approx(1 / 51)
    assert set(found.filter((pl.col("attribute") == "Q3") | (pl.col("category") == "Q3"))["flags"]) == {
        "rare"
    }


def test_shuffles_find_nothing_in_noise_more_often_than_they_may() -> None:
    rng = np.random.default_rng(6)
    p = [
        shuffled_pearson((rng.uniform(size=(20, 2)) < 0.3).astype(float), n_permutations=199, seed=k)[1][0, 1]
        for k in range(300)
    ]
    known = np.array([x for x in p if not np.isnan(x)])
    assert (known <= 0.05).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(known))
