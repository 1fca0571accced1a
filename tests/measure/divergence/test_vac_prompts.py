"""Visual attribute concentration over several prompts, whose pictures are alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit, stdtrit
from scipy.stats import binom, norm

from stereotrope.measure import vac
from stereotrope.stats import entropy, even_entropy, rarefied_entropy

SHAPES = {
    "even, two": (0.5, 0.5),
    "skewed, two": (0.8, 0.2),
    "one dominates, two": (0.95, 0.05),
    "even, eight": (0.125,) * 8,
    "as 1/rank, four": (0.48, 0.24, 0.16, 0.12),
    "one dominates, four": (0.85, 0.05, 0.05, 0.05),
}


def labels(each: np.ndarray) -> pl.DataFrame:
    """Pictures of one condition; each: how often prompts show values, shape (attributes, prompts, values)."""
    attribute, prompt, value = (np.repeat(axis.ravel(), each.ravel()) for axis in np.indices(each.shape))
    frame = pl.DataFrame({"attribute": attribute, "prompt_id": prompt, "value": value}).select(
        pl.format("{}{}", pl.lit(name[0]), name).alias(name) for name in ("attribute", "prompt_id", "value")
    )
    number = pl.int_range(pl.len()).over("attribute", "prompt_id")
    constants = {"generator": "m", "object": "car", "group": "base"}
    return frame.with_columns(
        image_id=pl.format("{}-{}", "prompt_id", number), **{k: pl.lit(v) for k, v in constants.items()}
    )


def listed(each: np.ndarray) -> dict[str, list[str]]:
    return {f"a{i}": [f"v{k}" for k in range(each.shape[2])] for i in range(each.shape[0])}


def row_of(found: pl.DataFrame, measure: str = "vac", attribute: str = "a0") -> dict[str, object]:
    return found.filter(measure=measure, attribute=attribute).row(0, named=True)


FOUR = np.array([[[7, 3], [6, 4], [5, 5], [9, 1]]])


def test_prompts_are_left_out_in_turn_from_four_on() -> None:
    found = vac(labels(FOUR), taxonomy=listed(FOUR))
    counts = FOUR[0].sum(axis=0)
    most = even_entropy(10, 2)
    for measure, scale, score in (
        ("vac", 1.0, lambda c: 1 - entropy(c)),
        ("vac_rarefied", most, lambda c: 1 - rarefied_entropy(c, 10) / most),
    ):
        without = np.array([float(score(counts - own)) for own in FOUR[0]])
        value, bias = float(score(counts)), 3 * (without.mean() - float(score(counts)))
        row = row_of(found, measure)
        # What pictures of one prompt have in common is no concentration of ten that are of ten prompts.
        value -= bias if measure == "vac_rarefied" else 0
        assert row["value"] == pytest.approx(value)
        curve = max(abs(bias), 1 / (2 * np.log(2) * 40 * scale))
        sd = np.sqrt(3 / 4 * ((without - without.mean()) ** 2).sum() + 4 * curve**2)
        reach = stdtrit(3, 0.975) * sd
        least = 0.0 if measure == "vac" else 1 - 1 / most
        part = (value - least) / (1 - least)
        low = least + (1 - least) * expit(logit(part) - reach / (1 - least) / (part * (1 - part)))
        assert row["low"] == pytest.approx(max(low, min(least, 0.0)))
        assert row["high"] == pytest.approx(value + 1.3 * reach)
        assert (row["holds_for"], row["flags"]) == ("prompts like these", "clustered")
        assert "jackknife of 4 prompts" in str(row["method"])


def test_below_four_prompts_pictures_are_the_units() -> None:
    few = FOUR[:, :3]
    found = vac(labels(few), taxonomy=listed(few))
    same = vac(labels(few).drop("prompt_id"), taxonomy=listed(few))
    kept = ["measure", "attribute", "value", "low", "high", "holds_for", "method"]
    assert found.select(kept).equals(same.select(kept))
    assert set(found["holds_for"].drop_nulls()) == {"these prompts"}
    assert (row_of(found)["flags"], row_of(same)["flags"]) == (None, "no_prompt_id")


def test_prompts_of_one_picture_each_are_no_clusters() -> None:
    each = np.zeros((1, 12, 2), np.int64)
    each[0, :8, 0] = each[0, 8:, 1] = 1
    row = row_of(vac(labels(each), taxonomy=listed(each)))
    assert (row["holds_for"], row["flags"]) == ("prompts like these", None)
    assert "resamples of images" in str(row["method"])


def test_an_attribute_of_too_few_prompts_speaks_of_these_and_so_does_the_mean() -> None:
    each = np.concatenate([FOUR, FOUR])
    frame = labels(each).filter((pl.col("attribute") == "a0") | (pl.col("prompt_id") != "p3"))
    found = vac(frame, taxonomy=listed(each))
    scopes = {name: row_of(found, attribute=name)["holds_for"] for name in ("a0", "a1", "all")}
    assert scopes == {"a0": "prompts like these", "a1": "these prompts", "all": "these prompts"}
    assert "resamples of images" in str(row_of(found, attribute="all")["method"])
    # Pictures whose prompt is not known are of one.
    known = pl.when(pl.col("prompt_id") != "p0").then("prompt_id")
    row = row_of(vac(labels(FOUR).with_columns(prompt_id=known), taxonomy=listed(FOUR)))
    assert (row["holds_for"], row["flags"]) == ("these prompts", "no_prompt_id")


def test_too_few_labels_without_a_prompt_leave_no_interval_of_rarefied_scores() -> None:
    each = np.array([[[2, 1]] * 3 + [[1, 2]]])
    found = vac(labels(each), taxonomy=listed(each))
    row = row_of(found, "vac_rarefied")
    plain = 1 - float(rarefied_entropy([7, 5], 10)) / even_entropy(10, 2)
    assert (row["value"], row["low"], row["holds_for"]) == (pytest.approx(plain), None, None)
    assert "no interval: without one of the prompts fewer than 10 labels are left" in str(row["method"])
    assert row_of(found)["low"] is not None


def test_prompts_that_look_alike_have_an_interval_with_a_width() -> None:
    for prompts in ([[20, 0]] * 4, [[10, 10]] * 4, [[15, 5]] * 4):
        found = vac(labels(np.array([prompts])), taxonomy=listed(np.array([prompts])))
        for measure in ("vac", "vac_rarefied"):
            row = row_of(found, measure)
            assert row["low"] < row["high"]
    one = row_of(vac(labels(np.array([[[20, 0]] * 4])), taxonomy=listed(FOUR)))
    pictures = row_of(vac(labels(np.array([[[80, 0]]])), taxonomy=listed(FOUR)))
    # Eighty of four prompts do not say as much as eighty that are independent.
    assert one["low"] < pictures["low"] < one["high"] == 1.0


def drawn(
    rng: np.random.Generator, shares: Sequence[float], size: tuple[int, int, int], icc: float, kind: str
) -> np.ndarray:
    """Counts of values by prompt, shape (studies, prompts, values).

    kind: ``cut``, a normal variable that prompts share by ``icc`` and that is cut into values in their order;
        or ``dirichlet``, shares of prompts by this distribution.
    """
    if kind == "cut":
        shared = np.sqrt(icc) * rng.normal(size=(*size[:2], 1))
        cuts = norm.ppf(np.clip(np.cumsum(shares)[:-1], 0, 1))
        values = np.searchsorted(cuts, shared + np.sqrt(1 - icc) * rng.normal(size=size))
    else:
        of_prompt = rng.dirichlet(np.multiply(shares, (1 - icc) / icc), size[:2])
        ends = np.cumsum(of_prompt, axis=-1)[:, :, None, :-1]
        values = (rng.random((*size, 1)) > ends).sum(axis=-1)
    return (values[..., None] == np.arange(len(shares))).sum(axis=2)


def rarefied_truth(shares: Sequence[float]) -> float:
    """What ten pictures of ten prompts read."""
    j = np.arange(11)
    bits = -j / 10 * np.log2(np.maximum(j, 1) / 10)
    return 1 - sum(float(binom.pmf(j, 10, p) @ bits) for p in shares) / even_entropy(10, len(shares))


@pytest.mark.parametrize(
    ("shape", "prompts", "pictures", "icc", "kind", "studies"),
    [
        ("as 1/rank, four", 10, 10, 0.3, "dirichlet", 150),
        *(
            pytest.param(shape, prompts, pictures, icc, kind, 400, marks=pytest.mark.slow)
            for shape in SHAPES
            for prompts, pictures in ((4, 5), (4, 20), (6, 10), (10, 5), (10, 20), (20, 5))
            for icc, kind in ((0.0, "cut"), (0.1, "cut"), (0.3, "cut"), (0.3, "dirichlet"))
        ),
    ],
)
def test_intervals_hold_what_prompts_like_these_would_read(
    shape: str, prompts: int, pictures: int, icc: float, kind: str, studies: int
) -> None:
    rng = np.random.default_rng([prompts, pictures, int(10 * icc)])
    shares, size = SHAPES[shape], (prompts, pictures)
    each = drawn(rng, shares, (studies, *size), icc, kind)
    found = vac(labels(each), taxonomy=listed(each), n_bootstrap=100).filter(pl.col("attribute") != "all")
    again = drawn(rng, shares, (4_000, *size), icc, kind).sum(axis=1)
    expected = float((1 - entropy(again) / np.log2(len(shares))).mean())
    error = np.sqrt(0.05 * 0.95 / studies)
    for measure, true in (("vac", expected), ("vac_rarefied", rarefied_truth(shares))):
        rows = found.filter(measure=measure)
        assert set(rows["holds_for"]) == {"prompts like these"}
        held = ((rows["low"] <= true) & (true <= rows["high"])).mean()
        assert held > 0.91 - 2.5 * error
        if measure == "vac_rarefied":
            sd = float(rows["value"].std()) / np.sqrt(studies)
            assert rows["value"].mean() == pytest.approx(true, abs=0.02 + 3 * sd)


@pytest.mark.parametrize(
    ("prompts", "icc", "alike", "studies"),
    [
        (6, 0.3, False, 60),
        *(
            pytest.param(prompts, icc, alike, 250, marks=pytest.mark.slow)
            for prompts in (4, 6, 10, 20)
            for icc in (0.0, 0.3)
            for alike in (False, True)
        ),
    ],
)
def test_means_of_attributes_are_held(prompts: int, icc: float, alike: bool, studies: int) -> None:
    """Of four attributes of four values, independent or all the same."""
    rng = np.random.default_rng([prompts, int(10 * icc)])
    shares = SHAPES["as 1/rank, four"]
    each = drawn(rng, shares, (4 * studies, prompts, 10), icc, "cut")
    if alike:
        each = np.repeat(each[:studies], 4, axis=0)
    study = pl.col("attribute").str.slice(1).cast(pl.Int64)
    frame = labels(each).with_columns(
        object=pl.format("o{}", study // 4),
        attribute=pl.format("a{}", study % 4),
        prompt_id=pl.format("{}-{}", study // 4, "prompt_id"),
        image_id=pl.format("{}-{}", study // 4, "image_id"),
    )
    found = vac(frame, taxonomy=listed(each[:4]), n_bootstrap=100).filter(attribute="all")
    again = drawn(rng, shares, (4_000, prompts, 10), icc, "cut").sum(axis=1)
    expected = float((1 - entropy(again) / 2).mean())
    for measure, true in (("vac", expected), ("vac_rarefied", rarefied_truth(shares))):
        rows = found.filter(measure=measure)
        assert rows.height == studies
        held = ((rows["low"] <= true) & (true <= rows["high"])).mean()
        assert held > 0.91 - 2.5 * np.sqrt(0.05 * 0.95 / studies)
