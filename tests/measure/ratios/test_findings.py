"""Differences of ratios over scenarios in the list of differences."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

from stereotrope import measure
from stereotrope.stats import cauchy_combined

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


def of_two(baseline: str | None = None) -> list[pl.DataFrame]:
    _, whole = study(6, groups=1, more=0.3)
    whole = whole.filter(pl.col("generator").is_in(["a", "b"]))
    changes = measure.ratio_change(whole, within=["prompt_group"], baseline=baseline)
    return [measure.model_deviation(whole, within=["prompt_group"]), changes]


@pytest.mark.parametrize("baseline", [None, "a", "b"])
def test_two_levels_differ_or_deviate_from_their_mean_as_one_comparison(baseline: str | None) -> None:
    away, changes = of_two(baseline)
    both = pl.concat([away, changes], how="diagonal")
    (row,) = measure.comparisons(both, LABELS).to_dicts()
    assert row["reference"] == (baseline or "a")
    assert abs(row["value"]) == pytest.approx(2 * abs(away["value"][0]))
    assert measure.findings(both, LABELS).filter(list="difference").height == 1


def test_a_deviation_of_two_levels_stays_where_their_change_is_of_other_scenarios() -> None:
    away, changes = of_two()
    other = changes.with_columns(pl.col("n") - 1)
    assert measure.comparisons(pl.concat([away, other], how="diagonal"), LABELS).height == 2
    elsewhere = changes.with_columns(prompt_group=pl.lit("g1"))
    assert measure.comparisons(pl.concat([away, elsewhere], how="diagonal"), LABELS).height == 2


@pytest.mark.parametrize("seen_by_ratios_alone", [False, True])
def test_a_change_of_ratios_and_a_difference_of_shares_of_the_same_pictures_are_told_once(
    seen_by_ratios_alone: bool,
) -> None:
    labels = people(np.random.default_rng(2), 0.0, {"a": 0.3, "b": 0.7})
    labels = labels.with_columns(prompt_id="scenario")
    ratios = measure.ratio_change(measure.female_ratio(labels, by=["generator", "scenario"]), baseline="a")
    shares = measure.share_difference(labels, group="generator", baseline="a", within=[])
    if seen_by_ratios_alone:
        labels = labels.with_columns(value=pl.col("value").shuffle(seed=1))
        shares = measure.share_difference(labels, group="generator", baseline="a", within=[])
    both = pl.concat([ratios, shares], how="diagonal")
    (row,) = measure.comparisons(both, labels).to_dicts()
    (alone,) = (measure.comparisons(one, labels)["p_value"] for one in (shares,))
    p = [ratios.filter(measure="ratio_change")["p_value"].item(), alone.item()]
    assert row["p_value"] == pytest.approx(float(cauchy_combined(p)))
    (told,) = measure.findings(both, labels).filter(list="difference").to_dicts()
    assert told["kind"] == ("ratio_difference" if seen_by_ratios_alone else "share_difference")


def people(rng: np.random.Generator, unclear: float, truth: dict[str, float]) -> pl.DataFrame:
    """Labels of twelve scenarios of two models; of one model's men a part cannot be told."""
    rows = []
    for model, share in truth.items():
        for scenario in range(12):
            women = rng.random(40) < share
            lost = ~women & (rng.random(40) < unclear) & (model == "b")
            said = np.where(lost, "unclear", np.where(women, "female", "male"))
            rows += [(model, f"s{scenario}", str(value)) for value in said]
    frame = pl.DataFrame(rows, schema=["generator", "scenario", "value"], orient="row")
    return frame.with_row_index("image_id").with_columns(
        pl.col("image_id").cast(str), attribute=pl.lit("gender")
    )


def compared(labels: pl.DataFrame) -> pl.DataFrame:
    """Differences of two models, and what each has beyond both, from labels."""
    ratios = measure.female_ratio(labels, by=["generator", "scenario"])
    return pl.concat(
        [measure.ratio_change(ratios, baseline="a"), measure.model_deviation(ratios)], how="diagonal"
    )


@pytest.mark.parametrize("truth", [{"a": 0.5, "b": 0.5}, {"a": 0.3, "b": 0.7}])
def test_what_missing_labels_allow_of_a_difference_holds_the_truth_and_is_told(
    truth: dict[str, float],
) -> None:
    rng = np.random.default_rng(5)
    labels = people(rng, 0.45, truth)
    rows = compared(labels).filter(pl.col("measure") != "ratio_change_absolute")
    assert rows["bound_low"].null_count() == 0
    halved = pl.when(measure="model_deviation").then(0.5).otherwise(1.0)
    signed = pl.when(pl.col("generator") == "b").then(1.0).otherwise(-1.0)
    true = pl.lit(truth["b"] - truth["a"]) * halved * signed
    reach = pl.col("high") - pl.col("value")
    inside = rows.filter(pl.col("bound_low") - reach <= true, true <= pl.col("bound_high") + reach)
    assert inside.height == rows.height == 3
    found = measure.findings(compared(labels), labels).filter(list="difference")
    assert found["sentence"].str.contains("labels are missing, and with these it may be between").all()
    alike = truth["a"] == truth["b"]
    assert found["sentence"].str.contains("the labels that are missing could undo it").all() == alike
    assert found.height


def test_bounds_are_worked_by_hand_and_none_where_few_labels_are_missing(ratios) -> None:
    told = {"generator": ["a", "b", "c"] * 2, "scenario": ["s0"] * 3 + ["s1"] * 3}
    lacking = {
        "bound_low": [None, 0.3, None, None, None, 0.1],
        "bound_high": [None, 0.5, None, None, None, 0.4],
    }
    shares = ratios([0.5, 0.4, 0.6, 0.2, 0.3, 0.2], **told).with_columns(
        pl.Series(name, values, dtype=pl.Float64) for name, values in lacking.items()
    )
    changed = measure.ratio_change(shares, baseline="a").filter(measure="ratio_change")
    ends = {row["generator"]: (row["bound_low"], row["bound_high"]) for row in changed.iter_rows(named=True)}
    assert ends["b"] == pytest.approx(((-0.2 + 0.1) / 2, (0.0 + 0.1) / 2))
    assert ends["c"] == pytest.approx(((0.1 - 0.1) / 2, (0.1 + 0.2) / 2))
    away = measure.model_deviation(shares).filter(generator="a").row(0, named=True)
    least = ((0.5 - (0.5 + 0.5 + 0.6) / 3) + (0.2 - (0.2 + 0.3 + 0.4) / 3)) / 2
    most = ((0.5 - (0.5 + 0.3 + 0.6) / 3) + (0.2 - (0.2 + 0.3 + 0.1) / 3)) / 2
    assert (away["bound_low"], away["bound_high"]) == pytest.approx((least, most))
    without = shares.drop("bound_low", "bound_high")
    assert measure.model_deviation(without)["bound_low"].null_count() == 3
    assert measure.ratio_change(without)["bound_high"].null_count() == 6


def test_models_are_alike_by_how_far_they_are_apart_and_not_by_how_far_from_their_mean(ratios) -> None:
    rng = np.random.default_rng(4)
    for n, apart, verdict in ((7, 0.3, "not enough"), (80, 0.02, "alike")):
        one = 0.35 + rng.normal(0, 0.02, n)
        models = {"a": one, "b": (one + apart + rng.normal(0, 0.2, n)).clip(0, 1)}
        table = pl.concat(
            [ratios(values.tolist(), generator=name) for name, values in models.items()], how="vertical"
        )
        found = measure.model_deviation(table)
        (row,) = measure.comparisons(found, LABELS, alpha=0.001).to_dicts()
        assert (row["verdict"], row["margin"]) == (verdict, 0.1)
        assert abs(row["value"]) == pytest.approx(apart / 2, abs=0.04)


def test_models_that_may_differ_in_a_kind_of_scenarios_not_asked_are_not_alike(ratios) -> None:
    """Where one in five differs by all there is, a third of samples of five has none of these."""
    same = [0.1 + 0.01 * (at % 3) for at in range(60)]
    verdicts = {}
    for n in (5, 14, 15, 60):
        table = pl.concat(
            [ratios(same[:n], generator="a"), ratios(same[1:n] + same[:1], generator="b")], how="vertical"
        )
        (row,) = measure.comparisons(measure.ratio_change(table), LABELS).to_dicts()
        verdicts[n] = row["verdict"]
        assert max(abs(row["low"]), abs(row["high"])) < 0.2
    assert verdicts == {5: "not enough", 14: "not enough", 15: "alike", 60: "alike"}
