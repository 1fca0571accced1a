"""Stability and entropy of ratios over scenarios."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from stereotrope import measure
from stereotrope.errors import TableError, UsageError
from stereotrope.stats import wilson


def ratios(values: list[float | None], **columns) -> pl.DataFrame:
    told = {"measure": "female_ratio", "definition": "everyday", "generator": "m", "attribute": "gender"}
    scenario = [f"s{i}" for i in range(len(values))]
    frame = pl.DataFrame({"scenario": scenario, "value": values}, schema_overrides={"value": pl.Float64})
    made = {"n": 200, "n_excluded": 0, "undefined": None, **told, **columns}
    return frame.with_columns(
        (pl.Series(name, value) if isinstance(value, list) else pl.lit(value).alias(name))
        for name, value in made.items()
    )


def test_stability_is_what_a_bootstrap_converges_to() -> None:
    rng = np.random.default_rng(3)
    shares = rng.beta(0.4, 0.6, 40).round(2)
    found = measure.stability(ratios(shares.tolist()), pictures=[20, 150])
    drawn = [np.abs(rng.binomial(n, shares, (20_000, 40)) / n - shares).mean(axis=1) for n in (20, 150)]
    for row, each in zip(found.to_dicts(), drawn, strict=True):
        assert row["value"] == pytest.approx(each.mean(), abs=4 * each.std() / np.sqrt(20_000))
    assert found["category"].to_list() == ["20", "150"]
    assert found["n"].to_list() == [40, 40]
    assert (found["low"] < found["value"]).all()
    assert (found["value"] < found["high"]).all()


def test_half_the_deviation_takes_four_times_the_pictures() -> None:
    found = measure.stability(ratios([0.3, 0.5, 0.62]), pictures=[50, 200])["value"]
    assert found[0] / found[1] == pytest.approx(2, rel=0.01)


def test_entropy_is_one_where_all_are_even_and_nothing_where_each_shows_one() -> None:
    for values, entropy in (([0.5, 0.5], 1.0), ([0.0, 1.0], 0.0), ([0.11, 0.89], 0.4999)):
        row = measure.ratio_entropy(ratios(values * 2)).row(0, named=True)
        assert row["value"] == pytest.approx(entropy, abs=1e-4)
        assert (row["low"], row["flags"]) == (None, "no_variation")


def test_so_few_scenarios_have_an_interval_of_their_mean_ratio_alone() -> None:
    frame = ratios([0.5, 0.2, 0.8])
    row = measure.mean_ratio(frame).row(0, named=True)
    low, _ = wilson([100, 40, 160], 200)
    assert row["low"] == pytest.approx(0.5 - np.sqrt(((low - [0.5, 0.2, 0.8]) ** 2).sum()) / 3)
    assert (row["holds_for"], row["flags"]) == ("these prompts", None)
    # Entropies of few pictures are too low, each of them.
    row = measure.ratio_entropy(frame).row(0, named=True)
    assert (row["low"], row["holds_for"], row["flags"]) == (None, None, "few_levels")
    assert row["method"] == "mean over 3 scenarios; interval: none over fewer than 4 scenarios"


def test_scenarios_of_too_few_pictures_are_left_out_and_counted() -> None:
    frame = ratios([0.2, 0.4, 0.9, None], n=[200, 100, 90, 0], n_excluded=[0, 100, 110, 200])
    row = measure.ratio_entropy(frame).row(0, named=True)
    assert (row["n"], row["n_excluded"]) == (2, 2)
    assert row["excluded"] == '{"a definite label of less than 50% of the pictures": 1, "no share": 1}'
    assert measure.ratio_entropy(frame, kept=0.0)["n"].to_list() == [3]


def test_each_combination_has_its_own_and_further_factors_are_not_read() -> None:
    both = pl.concat(
        [ratios([0.5, 0.5]), ratios([0.0, 1.0], generator="other"), ratios([None], generator="none")]
    )
    one = both.with_columns(variation=pl.lit(None, pl.String))
    other = ratios([0.9, 0.8]).with_columns(variation=pl.lit("someone"))
    found = measure.ratio_entropy(pl.concat([one, other], how="diagonal"))
    assert found.select("generator", "value", "undefined").rows() == [
        ("m", 1.0, None), ("other", 0.0, None), ("none", None, "no scenario has a share"),
    ]  # fmt: skip


def test_what_does_not_fit_is_one_message() -> None:
    with pytest.raises(UsageError, match="stability: pictures must be numbers from 1 on"):
        measure.stability(ratios([0.5]), pictures=[])
    with pytest.raises(UsageError, match=r"kept must lie in \[0, 1\], found 50"):
        measure.ratio_entropy(ratios([0.5]), kept=50)
    with pytest.raises(TableError, match=r"no row tells only 'scenario' and .* apart, found 'variation'"):
        measure.stability(ratios([0.5], variation="someone"))
    with pytest.raises(TableError, match="a level of 'scenario' stands twice"):
        measure.ratio_entropy(pl.concat([ratios([0.5]), ratios([0.4])]))
