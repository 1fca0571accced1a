"""Models beside each other: agreement and deviation of their ratios over scenarios."""

from __future__ import annotations

import time

import numpy as np
import polars as pl
import pytest
from scipy import stats as sps

from stereotrope import measure
from stereotrope.errors import TableError, UsageError
from stereotrope.stats import exchange_test

EVERY = ("model_agreement", "model_deviation", "variation_effect")


def ratios(models: dict[str, list[float | None]], *, column: str = "generator", **columns) -> pl.DataFrame:
    rows = [
        {column: name, "scenario": f"s{i}", "value": value, "n": 0 if value is None else 200}
        for name, values in models.items()
        for i, value in enumerate(values)
    ]
    told = {"measure": "female_ratio", "definition": "everyday", "attribute": "gender", "n_excluded": 0}
    types = {column: pl.String, "scenario": pl.String, "value": pl.Float64, "n": pl.Int64}
    return pl.DataFrame(rows, schema=types).with_columns(
        pl.lit(value).alias(name) for name, value in {**told, **columns}.items()
    )


def drawn(seed: int, models: int = 4, scenarios: int = 40) -> dict[str, list[float]]:
    """Ratios of ten pictures, so that many are tied."""
    rng = np.random.default_rng(seed)
    shared = rng.beta(0.5, 0.8, scenarios)
    return {f"m{k}": (rng.binomial(10, shared) / 10).tolist() for k in range(models)}


def test_agreement_is_spearmans_rho_of_each_pair_with_its_p() -> None:
    made = drawn(1)
    found = measure.model_agreement(ratios(made))
    assert found.height == 6
    for row in found.iter_rows(named=True):
        theirs = sps.spearmanr(made[row["generator"]], made[row["reference"]])
        assert row["value"] == pytest.approx(theirs.statistic, abs=1e-12)
        assert row["p_value"] == pytest.approx(theirs.pvalue, abs=1e-12)
        assert row["low"] < row["value"] < row["high"]
        assert (row["n"], row["holds_for"], row["contrast"]) == (40, "prompts like these", "generator")
    q = sps.false_discovery_control(found["p_value"].to_numpy())
    assert found["q_value"].to_numpy() == pytest.approx(q)


def test_scenarios_enter_that_all_models_kept_or_that_both_did() -> None:
    made = drawn(2, models=3, scenarios=12)
    made["m0"][0] = made["m2"][1] = None  # type: ignore[call-overload]
    every = measure.model_agreement(ratios(made))
    assert every["n"].to_list() == [10, 10, 10]
    assert every["excluded"].to_list() == ['{"not kept by each": 2}'] * 3
    both = measure.model_agreement(ratios(made), common=False)
    assert both.select("generator", "reference", "n").rows() == [
        ("m0", "m1", 11), ("m0", "m2", 10), ("m1", "m2", 11),
    ]  # fmt: skip
    first = both.row(0, named=True)
    theirs = sps.spearmanr(made["m0"][1:], made["m1"][1:])
    assert first["value"] == pytest.approx(theirs.statistic, abs=1e-12)


def test_a_model_that_kept_no_scenario_keeps_no_other_pair_from_its_score() -> None:
    made = {**drawn(3, models=2, scenarios=9), "none": [None] * 9}
    found = measure.model_agreement(ratios(made))
    assert found.select("generator", "reference", "n", "flags", "undefined").rows() == [
        ("m0", "m1", 9, "few_groups", None),
        ("m0", "none", 0, None, "fewer than 3 scenarios kept by both"),
        ("m1", "none", 0, None, "fewer than 3 scenarios kept by both"),
    ]
    away = measure.model_deviation(ratios(made))
    assert away["undefined"].to_list() == [None, None, "no scenario has a share"]
    assert away["value"][0] == pytest.approx(-away["value"][1])


@pytest.mark.parametrize(
    ("models", "n", "undefined", "flags"),
    [
        ({"a": [0.1, 0.2], "b": [0.1, 0.2]}, 2, "fewer than 3 scenarios kept by both", None),
        ({"a": [0.5] * 6, "b": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}, 6, "the ratios of one do not vary", None),
        ({"a": [0.1, 0.2, 0.4], "b": [0.1, 0.3, 0.2]}, 3, None, "few_levels"),
        ({"a": [0.1, 0.2, 0.3, 0.4, 0.5], "b": [0, 0.2, 0.6, 0.7, 0.9]}, 5, None, "no_variation"),
        ({"a": [0.1, 0.2, 0.3]}, 0, "a single level of generator agrees with none", None),
        ({"a": [], "b": []}, None, None, None),
    ],
)
def test_agreement_of_little_is_defined_or_says_why_not(models, n, undefined, flags) -> None:
    found = measure.model_agreement(ratios(models)).to_dicts()
    if n is None:
        assert found == []
        return
    (row,) = found
    assert (row["n"], row["undefined"], row["flags"]) == (n, undefined, flags)
    assert (row["value"] is None) == (undefined is not None)
    assert row["low"] is None


def test_deviations_are_those_from_the_mean_of_all_models() -> None:
    made = drawn(4, models=3, scenarios=20)
    table = np.array(list(made.values())).T
    found = measure.model_deviation(ratios(made))
    assert found["value"].to_list() == pytest.approx(
        (table - table.mean(axis=1, keepdims=True)).mean(axis=0).tolist()
    )
    assert found["value"].sum() == pytest.approx(0, abs=1e-12)
    for at, row in enumerate(found.iter_rows(named=True)):
        own = table[:, at] - table.mean(axis=1)
        assert (row["p_value"], row["p_least"]) == pytest.approx(exchange_test(table, at))
        reach = sps.t.ppf(0.975, 19) * own.std(ddof=1) / np.sqrt(20)
        # On the logit scale, which is straight near 0.
        assert (row["low"], row["high"]) == pytest.approx((own.mean() - reach, own.mean() + reach), abs=2e-3)


def test_one_scenario_or_equal_ones_have_no_interval() -> None:
    one = measure.model_deviation(ratios({"a": [0.3], "b": [0.5]}))
    assert one.select("value", "low", "p_value", "flags").rows() == [
        (pytest.approx(-0.1), None, None, "one_level"), (pytest.approx(0.1), None, None, "one_level"),
    ]  # fmt: skip
    alike = measure.model_deviation(ratios({"a": [0.25, 0.5] * 2, "b": [0.5, 0.75] * 2}))
    assert alike["flags"].to_list() == ["no_variation"] * 2
    alone = measure.model_deviation(ratios({"a": [0.25, 0.5]}))
    assert alone["undefined"].to_list() == ["a single level of generator deviates from none"]
    apart = measure.model_deviation(ratios({"a": [0.25, None], "b": [None, 0.75]}))
    assert apart["undefined"].to_list() == ["no scenario is kept by each"] * 2


def test_variations_deviate_within_each_model() -> None:
    made = {"friend": [0.6, 0.4, 0.9], "someone": [0.4, 0.4, 0.6], "person": [0.5, 0.4, 0.9]}
    frames = [ratios(made, column="variation", generator=g) for g in ("m", "n")]
    found = measure.variation_effect(pl.concat(frames))
    assert found.select("generator", "variation", "n").rows() == [
        (g, v, 3) for g in ("m", "n") for v in ("friend", "person", "someone")
    ]
    assert found["value"].to_list()[:3] == pytest.approx([(0.1 + 0.1) / 3, 0.1 / 3, (-0.1 - 0.2) / 3])


@pytest.mark.parametrize("name", EVERY)
def test_rows_of_several_groups_or_twice_are_refused(name: str) -> None:
    function = getattr(measure, name)
    column = "variation" if name == "variation_effect" else "generator"
    frame = ratios(drawn(5), column=column, generator="m") if column == "variation" else ratios(drawn(5))
    function(frame)
    with pytest.raises(
        TableError, match=r"no row tells only 'scenario' and within=.* apart, found 'prompt_group'"
    ):
        function(frame.with_columns(prompt_group=pl.lit("objects")))
    with pytest.raises(TableError, match="a level of 'scenario' stands twice"):
        function(pl.concat([frame, frame]))
    with pytest.raises(UsageError, match=f"{name}: '{column}' is compared and cannot be in within"):
        function(frame, within=[column])


def test_ratios_of_the_published_size_take_less_than_a_second() -> None:
    made = drawn(6, models=5, scenarios=3217)
    frame = ratios(made)
    start = time.process_time()
    measure.model_agreement(frame)
    measure.model_deviation(frame)
    assert time.process_time() - start < 1


@pytest.mark.parametrize("n", [(5, 100), (100, 5), (10, 200, 200)])
def test_levels_alike_of_unlike_numbers_of_pictures_are_told_apart_no_more_often_than_they_may(
    n: tuple[int, ...],
) -> None:
    rng, told, by_ratios = np.random.default_rng(7), 0, 0
    for _ in range(60):
        shares = np.array([rng.binomial(size, 0.02, 12) / size for size in n])
        made = dict(zip("abc", shares.tolist(), strict=False))
        sizes = pl.DataFrame({"generator": list("abc")[: len(n)], "n": n})
        table = ratios(made).drop("n").join(sizes, on="generator", maintain_order="left")
        p = measure.model_deviation(table)["p_value"][0]
        told += p <= 0.05
        by_ratios += exchange_test(shares.T, 0)[0] <= 0.05
        if len(n) == 2:
            changed = measure.ratio_change(table, baseline="b").filter(measure="ratio_change")
            assert changed["p_value"][0] == p
    # At 0.05 seven or more of 60 would come once in 30 times.
    assert told <= 6 < by_ratios


def test_a_difference_of_models_with_unlike_numbers_of_pictures_is_still_found() -> None:
    rng = np.random.default_rng(8)
    made = {"a": (rng.binomial(20, 0.7, 12) / 20).tolist(), "b": (rng.binomial(100, 0.3, 12) / 100).tolist()}
    sizes = pl.DataFrame({"generator": ["a", "b"], "n": [20, 100]})
    table = ratios(made).drop("n").join(sizes, on="generator", maintain_order="left")
    found = measure.model_deviation(table)
    assert (found["p_value"] < 0.002).all()
    assert found["method"].str.contains("of at most 1.5 times the pictures of another level").all()
    assert measure.model_deviation(ratios(made))["method"].str.ends_with("exact").all()
