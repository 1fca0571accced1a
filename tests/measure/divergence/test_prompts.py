"""Divergences of pictures of several prompts: prompts are the units of floor, test and interval."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from stereotrope.measure import bds, cds, share_difference
from stereotrope.measure.divergence.uncertainty import Resampling, image_scores, prompt_scores
from stereotrope.stats import icc_priors, js_divergence

QUICK = Resampling("bds", 0.95, 499, 300, 0)


def unknown(codes: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Nothing is known of how alike pictures of a prompt are."""
    return np.tile(icc_priors([]), (codes.shape[1], len(np.unique(group)), 1))


def drawn(
    rng: np.random.Generator, *, prompts: int, icc: float, apart: float, attributes: int = 4, values: int = 3
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Codes, group and prompt of pictures, four a prompt, and the true divergence of each attribute."""
    codes, truth = np.empty((2, 4 * prompts, attributes), np.int32), np.empty(attributes)
    of_prompt = rng.normal(size=(2, prompts, attributes)).repeat(4, axis=1)
    own = np.sqrt(0.5) * (rng.normal(size=(2, 4 * prompts, 1)) + rng.normal(size=codes.shape))
    latent = np.sqrt(icc) * of_prompt + np.sqrt(1 - icc) * own
    for a in range(attributes):
        one = rng.dirichlet(np.ones(values))
        other = (1 - apart) * one + apart * rng.dirichlet(np.ones(values))
        truth[a] = js_divergence(one, other)
        for side, shares in enumerate((one, other)):
            cuts = norm.ppf(np.clip(np.cumsum(shares)[:-1], 0, 1))
            codes[side, :, a] = np.searchsorted(cuts, latent[side, :, a])
    group, prompt = np.repeat([0, 1], 4 * prompts), np.arange(8 * prompts) // 4
    return codes.reshape(-1, attributes), group, prompt, truth


def simulated(n: int, seed: int, **how: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of each repetition and row: whether the interval holds the true divergence, and p."""
    rng = np.random.default_rng(seed)
    inside, p = [], []
    for _ in range(n):
        codes, group, prompt, truth = drawn(rng, **how)
        rows = prompt_scores(codes, group, prompt, unknown(codes, group), QUICK)
        floor, low, high = (np.array([row[name] for row in rows]) for name in ("floor", "low", "high"))
        true = floor + (1 - floor) * np.append(truth.mean(), truth)
        inside.append((low - 1e-12 <= true) & (true <= high + 1e-12))
        p.append([row["p_value"] for row in rows])
    return np.array(inside), np.array(p)


@pytest.mark.slow
@pytest.mark.parametrize(("prompts", "icc"), [(5, 0.3), (8, 0.1)])
def test_nothing_planted_is_called_so_in_one_of_twenty_whatever_prompts_share(
    prompts: int, icc: float
) -> None:
    inside, p = simulated(150, prompts, prompts=prompts, icc=icc, apart=0.0)
    error = 3 * np.sqrt(0.05 * 0.95 / len(p))
    assert np.mean(p[:, 0] <= 0.05) < 0.05 + error
    assert np.mean(p[:, 1:] <= 0.05) < 0.05 + error / 1.5
    # 0 is held where the test does not reject, and not by construction.
    assert inside[p > 0.05].all()
    assert inside.mean() > 0.93


@pytest.mark.parametrize(
    ("prompts", "icc", "values"),
    [(4, 0.3, 5), *(pytest.param(*of, marks=pytest.mark.slow) for of in ((8, 0.3, 2), (20, 0.1, 5)))],
)
def test_intervals_over_prompts_cover(prompts: int, icc: float, values: int) -> None:
    inside, _ = simulated(60, prompts, prompts=prompts, icc=icc, apart=0.8, values=values)
    assert inside.mean() > 0.93


def test_an_interval_begins_above_the_floor_only_where_the_test_rejects() -> None:
    rng, above = np.random.default_rng(8), []
    for _ in range(12):
        codes, group, prompt, _ = drawn(rng, prompts=6, icc=0.2, apart=0.6)
        for row in prompt_scores(codes, group, prompt, unknown(codes, group), QUICK):
            assert row["low"] <= row["value"] <= row["high"]
            above.append(row["low"] > row["floor"])
            assert row["p_value"] <= 0.05 or not above[-1]
    assert 0 < sum(above) < len(above)


def test_the_mean_of_attributes_is_known_better_than_each() -> None:
    """Attributes depend on each other by one half."""
    rng, widths = np.random.default_rng(5), []
    for _ in range(15):
        codes, group, prompt, _ = drawn(rng, prompts=8, icc=0.1, apart=1.0, values=5)
        rows = prompt_scores(codes, group, prompt, unknown(codes, group), QUICK)
        widths.append([row["high"] - row["low"] for row in rows])
    mean, *single = np.mean(widths, axis=0)
    assert mean < 0.67 * np.mean(single)


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [4, 5, 8, 20])
@pytest.mark.parametrize("icc", [0.1, 0.3])
def test_levels_and_coverage_over_prompts(prompts: int, icc: float) -> None:
    for apart in (0.0, 0.4, 1.0):
        for values in (2, 5):
            inside, p = simulated(600, 7, prompts=prompts, icc=icc, apart=apart, values=values)
            assert inside[:, 1:].mean() > 0.93
            assert inside[:, 0].mean() > 0.92
            if not apart:
                assert np.mean(p <= 0.05, axis=0).max() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)


def of_two_models(rng: np.random.Generator, shift: float, *, prompts: int = 12) -> pl.DataFrame:
    """A value's pictures by two models on the same prompts, four a prompt, which decide the most of it."""
    of_prompt, rows = rng.normal(size=prompts) * 1.5, []
    for model, more in (("a", 0.0), ("b", shift)):
        shown = rng.normal(size=(prompts, 4)) + of_prompt[:, None] + more > 0
        rows += [
            {"image_id": f"{model}{p}{i}", "prompt_id": f"p{p}", "generator": model, "attribute": "x",
             "value": "yes" if shown[p, i] else "no"}
            for p, i in np.ndindex(prompts, 4)
        ]  # fmt: skip
    return pl.DataFrame(rows)


def test_of_two_models_on_the_same_prompts_the_sides_of_each_are_exchanged() -> None:
    """What prompts do to both is no difference: such a test tells more, and errs no more often."""
    rng, how = np.random.default_rng(6), {"baseline": "a", "within": (), "n_bootstrap": 1}
    apart = pl.concat_str("generator", "prompt_id")
    told = {shift: np.zeros(2) for shift in (0.0, 1.0)}
    wide, tries = np.zeros(2), 60
    for shift, rejected in told.items():
        for _ in range(tries):
            frame = of_two_models(rng, shift)
            for at, labels in enumerate((frame, frame.with_columns(prompt_id=apart))):
                row = bds(labels, "generator", n_permutations=500, **how).row(0, named=True)
                rejected[at] += row["p_value"] <= 0.05
                wide[at] += row["high"] - row["low"]
                assert ("sides of prompts" in row["method"]) == (at == 0)
    # At a level of 0.05 eight of sixty would come once in 250 times.
    assert told[0.0][0] < 8
    assert told[1.0][0] > 1.4 * told[1.0][1]
    assert wide[0] < 0.9 * wide[1]


def labels(*, prompts: int, prompt_id: bool = True) -> pl.DataFrame:
    """Pink for women and grey for the baseline, four pictures a prompt."""
    rows = [
        {"image_id": f"{group}{p}{i}", "prompt_id": f"{group}{p}", "group": group, "value": value,
         "attribute": "colour", "generator": "m", "object": "car", "dimension": "gender"}
        for group, value in (("base", "grey"), ("women", "pink"), ("men", "grey"))
        for p in range(prompts)
        for i in range(4)
    ]  # fmt: skip
    frame = pl.DataFrame(rows)
    return frame if prompt_id else frame.drop("prompt_id")


def test_p_of_prompts_goes_on_where_their_shuffles_end_by_half_as_many_digits() -> None:
    row = bds(labels(prompts=5), n_bootstrap=0).filter(group="women", attribute="colour").row(0, named=True)
    assert row["p_value"] == row["p_least"]
    assert pytest.approx(row["p_value"]) == (2 / 252) ** 1.5
    assert (row["holds_for"], row["flags"]) == ("prompts like these", "clustered")
    assert "10000 shuffles of whole prompts" in row["method"]
    three = cds(labels(prompts=4), n_bootstrap=0, baseline=None).filter(attribute="colour").row(0, named=True)
    # 34,650 ways are drawn from; apart from these, pink is in one of three groups of four.
    assert three["p_value"] < 0.02


def test_the_floor_is_what_shuffled_prompts_read() -> None:
    # Of 5 and 5 prompts in one colour each: j pink ones on the one side, hypergeometric.
    row = bds(labels(prompts=5), n_bootstrap=0).filter(group="women", attribute="colour").row(0, named=True)
    ways = np.array([1, 25, 100, 100, 25, 1]) / 252
    j = np.arange(6)
    js = js_divergence(np.stack([j, 5 - j], axis=1), np.stack([5 - j, j], axis=1))
    assert row["floor"] == pytest.approx(float(ways @ js), abs=1e-6)
    assert row["adjusted"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("frame", "holds_for", "flags"),
    [
        (labels(prompts=3), "these prompts", None),
        (labels(prompts=5, prompt_id=False), "these prompts", "no_prompt_id"),
    ],
)
def test_pictures_are_the_units_of_few_prompts_and_where_no_prompt_is_known(frame, holds_for, flags) -> None:
    row = bds(frame, n_bootstrap=0).filter(group="women", attribute="colour").row(0, named=True)
    assert (row["holds_for"], row["flags"]) == (holds_for, flags)
    assert row["p_value"] < 1e-6


def test_one_picture_a_prompt_is_what_images_are() -> None:
    frame = labels(prompts=5)
    alone = bds(frame.with_columns(prompt_id="image_id"), n_permutations=99, n_bootstrap=99)
    codes = np.repeat([0, 1], 20)[:, None].astype(np.int32)
    of_images = image_scores(codes, np.repeat([0, 1], 20), Resampling("bds", 0.95, 99, 99, 0))
    row = alone.filter(group="women", attribute="colour").row(0, named=True)
    assert row["p_value"] == of_images[1]["p_value"]
    assert row["holds_for"] == "prompts like these"
    assert row["excluded"] is None or json.loads(row["excluded"]) == {}


def test_without_shuffles_for_p_the_floor_is_of_prompts_still() -> None:
    row = bds(labels(prompts=5), n_bootstrap=0, n_permutations=0).filter(group="women").row(0, named=True)
    assert row["p_value"] is None
    assert row["holds_for"] is None
    assert row["floor"] == pytest.approx(0.086, abs=0.001)


@pytest.mark.parametrize(("few", "tested"), [(16, True), (5, False)])
def test_prompts_of_unlike_numbers_of_pictures_are_not_exchanged(few: int, tested: bool) -> None:
    """Shuffled with large ones, small prompts give their side too little chance: p ≤ 0.05 in 18%."""
    rng = np.random.default_rng(4)
    sides = [
        (group, prompt, i)
        for group, n in (("base", 20), ("women", few))
        for prompt in range(8)
        for i in range(n)
    ]
    labels = pl.DataFrame(
        {
            "image_id": [f"{g}-{p}-{i}" for g, p, i in sides],
            "prompt_id": [f"{g}-{p}" for g, p, _ in sides],
            "group": [g for g, *_ in sides],
            "value": rng.choice(["red", "blue"], len(sides)),
        }
    ).with_columns(attribute=pl.lit("a"), generator=pl.lit("m"), object=pl.lit("car"))
    for row in bds(labels, n_permutations=199, n_bootstrap=200).iter_rows(named=True):
        assert row["value"] is not None
        assert ("unlike_prompts" in row["flags"]) is not tested
        for column in ("p_value", "p_least", "floor", "excess", "low", "high"):
            assert (row[column] is not None) is tested, column


def test_a_thousand_prompts_are_compared_as_few_are() -> None:
    rng = np.random.default_rng(3)
    prompt = np.repeat(np.arange(1_100), 2)
    frame = pl.DataFrame({"prompt": prompt, "pink": rng.random(2_200) < 0.3}).with_row_index("image_id")
    labels = frame.select(
        pl.col("image_id").cast(pl.String),
        prompt_id=pl.format("p{}", "prompt"),
        attribute=pl.lit("colour"),
        value=pl.when("pink").then(pl.lit("pink")).otherwise(pl.lit("grey")),
        generator=pl.lit("m"),
        object=pl.lit("cup"),
        group=pl.when(pl.col("prompt") < 550).then(pl.lit("base")).otherwise(pl.lit("women")),
    )
    row = bds(labels, n_permutations=500, n_bootstrap=100).row(1, named=True)
    assert row["n_excluded"] == 0
    assert row["p_value"] > 0.05
    assert 0 <= row["low"] <= row["value"] <= row["high"] < 0.02


@pytest.mark.parametrize("sizes", [(10, 12), (12, 10), (10, 10)])
def test_how_many_pictures_prompts_have_tells_no_groups_apart(sizes) -> None:
    """Of one picture in 176, p was 0.0002 where its prompts are the smaller ones: no shuffle is as uneven."""
    rows = [
        (f"{g}-{prompt}-{at}", f"{g}-{prompt}", "yes" if (g, prompt, at) == (0, 0, 0) else "no", "m", group)
        for g, group in enumerate(("base", "women"))
        for prompt in range(8)
        for at in range(sizes[g])
    ]
    names = ["image_id", "prompt_id", "value", "generator", "group"]
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(attribute=pl.lit("look"))
    assert bds(frame, within=["generator"], baseline="base")["p_value"].to_list() == [1.0, 1.0]
    differing = share_difference(frame, within=["generator"], baseline="base", value="yes")
    assert differing["p_value"].to_list() == [1.0]


def test_pictures_that_all_show_one_value_say_nothing_of_what_seeds_do_elsewhere() -> None:
    """By rounding 44 of them a group did, and 43 did not."""

    def compared(dropped: int) -> pl.DataFrame:
        rng, rows = np.random.default_rng(3), []
        for thing, group, prompt in product(("car", "cup"), ("base", "women", "men"), range(8)):
            share = rng.beta(2, 2)
            for seed in range(6):
                value = "big" if thing == "cup" or rng.random() < share else "small"
                if thing == "car" or 6 * prompt + seed >= dropped:
                    rows.append(
                        (f"{thing}{group}{prompt}.{seed}", thing, group, f"{group}{prompt}", seed, value)
                    )
        names = ["image_id", "object", "group", "prompt_id", "seed", "value"]
        frame = pl.DataFrame(rows, schema=names, orient="row")
        frame = frame.with_columns(attribute=pl.lit("size"), generator=pl.lit("m"))
        return bds(frame).filter(attribute="size", object="car").select("low", "high", "floor", "p_value")

    whole = compared(0)
    for dropped in (3, 4, 5):
        assert compared(dropped).equals(whole)
