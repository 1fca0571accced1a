"""Differences of ratios over scenarios in the list of differences."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

from stereotrope import measure

NAMES = "abcd"


def study(seed: int, *, groups: int = 4, more: float = 0.0, skewed: bool = True):
    """Ratios of four models in groups of 20 scenarios; ``more`` is what one shows more of in one group.

    Five wordings of a scenario differ, in each model otherwise, as scenarios do.
    """
    rng = np.random.default_rng(seed)
    shares = rng.beta(*((0.4, 2.0) if skewed else (6.0, 6.0)), (groups, 20))[:, :, None, None]
    usual = np.repeat(np.repeat(shares, len(NAMES), axis=2), 5, axis=3)
    usual[0, :, 1] = np.minimum(1.0, usual[0, :, 1] + more)
    k = rng.binomial(8, rng.beta(9 * usual + 1e-9, 9 * (1 - usual) + 1e-9))
    rows = [
        (
            NAMES[model],
            f"g{group}",
            f"s{scenario}",
            f"v{wording}",
            k[group, scenario, model, wording] / 8,
            8,
        )
        for group, scenario, model, wording in np.ndindex(*k.shape)
    ]
    names = ["generator", "prompt_group", "scenario", "variation", "value", "n"]
    worded = pl.DataFrame(rows, schema=names, orient="row")
    told = {"measure": "female_ratio", "definition": "everyday", "attribute": "gender", "category": "female"}
    told_columns = [pl.lit(value).alias(name) for name, value in told.items()]
    whole = worded.group_by("generator", "prompt_group", "scenario", maintain_order=True).agg(
        pl.col("value").mean(), pl.col("n").sum()
    )
    return worded.with_columns(told_columns), whole.with_columns(told_columns)


def estimates_of(seed: int, **made) -> pl.DataFrame:
    worded, whole = study(seed, **made)
    within = ["prompt_group"]
    tables = [
        measure.ratio_change(whole, within=within),
        measure.model_deviation(whole, within=within),
        measure.variation_effect(worded, within=["generator", "prompt_group"]),
    ]
    return pl.concat(tables, how="diagonal")


LABELS = pl.DataFrame(
    {
        "image_id": ["i1", "i2"],
        "attribute": "gender",
        "value": ["female", "male"],
        "generator": ["b", "a"],
        "prompt_group": "g0",
    }
)


@pytest.mark.slow
@pytest.mark.parametrize("skewed", [False, True])
def test_where_models_and_wordings_are_alike_nothing_is_told(skewed: bool) -> None:
    false = 0
    for seed in range(5):
        found = measure.findings(estimates_of(seed, skewed=skewed), LABELS)
        # 24 pairs of models, 4 sets of models, 16 sets of wordings.
        assert re.search("(in|of) 44 comparisons", found["sentence"][0])
        false += found.filter(list="difference").height > 0
    # At a level of 0.05 two or more of 5 would come once in 44 times.
    assert false <= 1


@pytest.mark.slow
@pytest.mark.parametrize("skewed", [False, True])
def test_level_of_whole_lists_of_ratios(skewed: bool, capsys) -> None:
    studies = [estimates_of(seed, skewed=skewed) for seed in range(150)]
    told = [measure.findings(one, LABELS).filter(list="difference").height for one in studies]
    with capsys.disabled():
        print(f"\nskewed {skewed}: {np.mean([n > 0 for n in told]):.3f} of 150 lists tell a difference")
    assert np.mean([n > 0 for n in told]) <= 0.05 + 1.65 * np.sqrt(0.05 * 0.95 / 150)


def test_a_model_that_shows_more_is_named_with_the_model_it_is_compared_with() -> None:
    found = measure.findings(estimates_of(3, more=0.3), LABELS).filter(list="difference")
    part = "“female” is a larger part of the labels of “gender” that count"
    where = f"Over 20 scenarios (prompt_group “g0”), {part}"
    for beside in ("with “a”", "on average of all"):
        told = f"{where} with generator “b” than {beside}; the difference is, on average, 0."
        assert found["sentence"].str.starts_with(told).any()
    assert found["sentence"].str.contains("g0", literal=True).all()
    (first,) = found.filter(pl.col("sentence").str.contains("“b” than with “a”", literal=True)).to_dicts()
    assert first["low"] < 0.3 < first["high"]
    assert first["kind"] == "ratio_difference"
    assert first["image_ids"] == '["i1"]'


def test_two_models_are_one_comparison_however_many_rows_say_it() -> None:
    _, whole = study(6, groups=1)
    whole = whole.filter(pl.col("generator").is_in(["a", "b"]))
    two = measure.model_deviation(whole, within=["prompt_group"])
    assert two["p_value"].n_unique() == 1
    (row,) = measure.comparisons(two, LABELS).to_dicts()
    assert row["p_value"] == pytest.approx(two["p_value"][0])
