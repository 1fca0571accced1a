"""Shares, their differences and divergences over several prompts, from a frame of labels to rows that cover.

Each repetition is an attribute of its own, so that nothing is learnt of one from the others.
"""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy import special

from stereotrope.measure import bds, comparisons, share, share_difference
from stereotrope.stats import js_divergence

SIDES = {
    "alike": ((0.4, 0.3, 0.2, 0.1), (0.4, 0.3, 0.2, 0.1)),
    "two": ((0.3, 0.7), (0.6, 0.4)),
    "turned": ((0.4, 0.3, 0.2, 0.1), (0.1, 0.2, 0.3, 0.4)),
}


def labels(
    rng: np.random.Generator, sides: str, *, prompts: int, pictures: int, icc: float, repetitions: int
) -> pl.DataFrame:
    """Pictures of two groups, whose prompts have shares by a Dirichlet distribution about its own."""
    frames = []
    for group, shares in zip(("base", "women"), np.array(SIDES[sides]), strict=True):
        of_prompt = np.broadcast_to(shares, (repetitions, prompts, len(shares)))
        if icc:
            of_prompt = rng.dirichlet(shares * (1 - icc) / icc, (repetitions, prompts))
        drawn = rng.random((repetitions, prompts, pictures, 1))
        value = (drawn > np.cumsum(of_prompt, axis=-1)[:, :, None, :-1]).sum(axis=-1)
        attribute, prompt, _ = (axis.ravel() for axis in np.indices(value.shape))
        frame = pl.DataFrame({"attribute": attribute, "prompt_id": prompt, "value": value.ravel()})
        image = pl.int_range(pl.len()).over("attribute")
        frames.append(
            frame.select(
                pl.format("a{}", "attribute").alias("attribute"),
                prompt_id=pl.format("{}-{}", pl.lit(group), "prompt_id"),
                image_id=pl.format("{}-{}", pl.lit(group), image),
                value=pl.format("v{}", "value"),
                group=pl.lit(group),
                generator=pl.lit("m"),
                object=pl.lit("car"),
            )
        )
    return pl.concat(frames)


def held(rows: pl.DataFrame, true: float | pl.Expr) -> float:
    """How often the interval holds what is true, of rows that have one."""
    inside = (pl.col("low") - 1e-12 <= true) & (pl.col("high") + 1e-12 >= true)
    found = rows.drop_nulls(["low", "high"]).select(inside.mean()).item()
    return float(found)


@pytest.mark.parametrize(
    ("sides", "prompts", "pictures", "icc", "repetitions"),
    [
        ("two", 5, 4, 0.3, 60),
        *(
            pytest.param(sides, *case, 600, marks=pytest.mark.slow)
            for sides in SIDES
            for case in [
                *((5, 4, icc) for icc in (0.0, 0.1, 0.3)),
                *((10, 4, icc) for icc in (0.0, 0.1, 0.3)),
                *((10, 20, icc) for icc in (0.1, 0.3)),
                *((40, 4, icc) for icc in (0.1, 0.3)),
            ]
        ),
    ],
)
def test_intervals_hold_what_is_true(
    sides: str, prompts: int, pictures: int, icc: float, repetitions: int
) -> None:
    rng = np.random.default_rng([prompts, pictures, int(10 * icc)])
    how = {"prompts": prompts, "pictures": pictures, "icc": icc, "repetitions": repetitions}
    frame, (base, women) = labels(rng, sides, **how), np.array(SIDES[sides])
    error = np.sqrt(0.05 * 0.95 / repetitions)
    least = (0.92 if prompts < 8 else 0.93) - 2.5 * error
    most = (0.98 if prompts < 8 or not icc else 0.97) + 2.5 * error

    shares = share(frame.filter(group="women"))
    differences = share_difference(frame)
    for at, true in enumerate(women):
        assert least < held(shares.filter(category=f"v{at}"), true) < most
        assert least < held(differences.filter(category=f"v{at}"), true - base[at]) < most

    rows = bds(frame, n_permutations=999, n_bootstrap=100).filter(pl.col("attribute").str.contains(r"^a\d+$"))
    floor, true = pl.col("floor"), float(js_divergence(1e6 * base, 1e6 * women))
    assert held(rows, floor + (1 - floor) * true) > least
    if sides == "alike":
        assert (rows["p_value"] <= 0.05).mean() < 0.05 + 2.5 * error


MARGIN = 0.2


def two_sides(
    rng: np.random.Generator, shares: tuple[float, float], *, prompts: int, pictures: int, icc: float,
    studies: int, cells: int = 1, common: float | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Pictures of two sides that show a value or not; studies are attributes, and objects their cells.

    common: Correlation of the shares of a prompt that both sides were asked; None where each has its own.
    """
    shape, frames = (studies, cells, prompts, pictures), []
    prompt = rng.normal(size=(*shape[:3], 1))
    for group, of in zip(("base", "women"), shares, strict=True):
        alone, shared = rng.normal(size=prompt.shape), common or 0.0
        place = special.ndtr(np.sqrt(shared) * prompt + np.sqrt(1 - shared) * alone)
        ends = of * (1 / icc - 1), (1 - of) * (1 / icc - 1)
        shown = rng.random(shape) < (special.betaincinv(*ends, place) if 0 < of < 1 else of)
        study, cell, number, _ = (axis.ravel() for axis in np.indices(shape))
        frame = pl.DataFrame({"study": study, "cell": cell, "number": number, "shown": shown.ravel()})
        asked = pl.lit(group if common is None else "both")
        frames.append(
            frame.select(
                attribute=pl.format("a{}", "study"),
                object=pl.format("o{}", "cell"),
                prompt_id=pl.format("{}-{}-{}", asked, "cell", "number"),
                image_id=pl.format("{}-{}", pl.lit(group), pl.int_range(pl.len())),
                value=pl.when("shown").then(pl.lit("yes")).otherwise(pl.lit("no")),
                group=pl.lit(group),
                generator=pl.lit("m"),
            )
        )
    return pl.concat(frames)


def alike(frame: pl.DataFrame) -> tuple[float, float]:
    """How often a comparison ends as alike, and how often it would if none were told to differ."""
    found = comparisons(share_difference(frame), frame, margin=MARGIN)
    inside = (pl.col("low") >= -MARGIN) & (pl.col("high") <= MARGIN)
    return found.select((pl.col("verdict") == "alike").mean(), inside.mean()).row(0)


ASKED = {
    "own prompts": {},
    "ten cells": {"cells": 10},
    "same prompts": {"common": 0.0},
    "same prompts, which both follow": {"common": 0.9},
}


@pytest.mark.parametrize(
    ("asked", "prompts", "icc", "studies", "lower"),
    [
        ("own prompts", 20, 0.1, 60, (0.0, 0.7)),
        ("same prompts, which both follow", 20, 0.3, 40, (0.4,)),
        *(
            pytest.param(
                asked, prompts, icc, 250, (0.0, 0.1, 0.3, 0.4, 0.5, 0.7, 0.8), marks=pytest.mark.slow
            )
            for asked, prompts, icc in product(ASKED, (4, 6, 10, 20), (0.1, 0.3))
        ),
    ],
)
def test_sides_that_differ_by_the_margin_are_seldom_called_alike(
    asked: str, prompts: int, icc: float, studies: int, lower: tuple[float, ...], capsys
) -> None:
    """Whether the margin is reached upwards or, as values are two, downwards."""
    rates = []
    how = {"prompts": prompts, "icc": icc, **ASKED[asked]}
    how["studies"] = studies // int(how.get("cells", 1))
    for pictures, least in product((10, 20), lower):
        rng = np.random.default_rng([prompts, int(10 * icc), pictures, int(10 * least)])
        told, inside = alike(two_sides(rng, (least, least + MARGIN), pictures=pictures, **how))
        assert told <= inside
        rates.append(inside)
    if studies == 250:
        with capsys.disabled():
            print(f"\n{asked}, {prompts} prompts, {icc}: {np.mean(rates):.3f}, {max(rates):.3f}", end="")
    assert max(rates) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / studies), rates
    assert np.mean(rates) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / studies / len(rates)), rates


def test_sides_that_are_alike_over_many_prompts_are_called_so() -> None:
    rng = np.random.default_rng(5)
    how = {"prompts": 20, "pictures": 20, "studies": 30}
    assert alike(two_sides(rng, (0.1, 0.1), icc=0.1, **how))[0] > 0.9
    assert alike(two_sides(rng, (0.5, 0.5), icc=0.3, common=0.9, **how))[0] > 0.5


@pytest.mark.parametrize("seeds", [False, True])
def test_copies_of_an_annotators_labels_tell_nothing_more(seeds: bool) -> None:
    """Labels of the same pictures are no further evidence of how alike pictures of a prompt are."""
    rng = np.random.default_rng(4)
    parts = [(thing, group, p) for thing in ("cup", "car") for group in ("base", "men") for p in range(5)]
    rows = [
        (f"{thing} {group} {p} {i}", thing, group, f"{thing} {group} {p}", i, "xy"[int(rng.random() < share)])
        for thing, group, p in parts
        for share in [rng.beta(2, 2 + 2 * (group == "men"))]
        for i in range(6)
    ]
    names = ["image_id", "object", "group", "prompt_id", "seed", "value"]
    one = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        generator=pl.lit("m"), attribute=pl.lit("a"), annotator=pl.lit("judge")
    )
    one = one if seeds else one.drop("seed")
    both = pl.concat([one, *(one.with_columns(annotator=pl.lit(f"copy {i}")) for i in range(3))])
    within = ["generator", "object", "annotator"]
    few = {"n_permutations": 499, "n_bootstrap": 50}
    for of in (
        lambda x: share(x, by=[*within, "group"]),
        lambda x: share_difference(x, within=within),
        lambda x: bds(x, within=within, **few).filter(attribute="a"),
    ):
        alone, beside = of(one), of(both).filter(annotator="judge")
        for column in ("value", "low", "high", "p_value"):
            assert beside[column].to_list() == pytest.approx(alone[column].to_list(), nan_ok=True), column
    told, again = (
        comparisons(share_difference(x, within=within), x).select("value", "low", "high") for x in (one, both)
    )
    assert again.row(0) == pytest.approx(told.row(0))


def unlike_labels(rng: np.random.Generator, prompts: dict[str, int], icc: dict[str, float]) -> pl.DataFrame:
    """Pictures of four objects and two attributes, whose value ``a`` has one share, by prompts that vary."""
    rows = []
    for thing, attribute, (group, m) in product("wxyz", ("p", "q"), prompts.items()):
        of = 1 / icc[group] - 1
        for prompt, k in enumerate(rng.binomial(10, rng.beta(0.3 * of, 0.7 * of, m))):
            place = f"{thing}-{group}-{prompt}"
            rows += [
                (f"{place}-{i}", place, thing, group, attribute, "a" if i < k else "b") for i in range(10)
            ]
    names = ["image_id", "prompt_id", "object", "group", "attribute", "value"]
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(generator=pl.lit("m"))


def test_prompts_that_vary_unlike_are_no_difference_of_shares() -> None:
    """By exchanging whole prompts alone 0.6 of such audits told one."""
    told = 0
    groups = ("g1", "g2", "g3")
    prompts, icc = {"base": 20} | dict.fromkeys(groups, 5), {"base": 0.05} | dict.fromkeys(groups, 0.5)
    for seed in range(12):
        frame = unlike_labels(np.random.default_rng(seed), prompts, icc)
        tables = [share_difference(frame), bds(frame, n_permutations=999, n_bootstrap=0)]
        found = comparisons(pl.concat(tables, how="diagonal_relaxed"), frame)
        assert found.height == 24
        told += "differs" in found["verdict"].to_list()
    # As a rate of 0.1 would give in 97 of 100 cases.
    assert told <= 3


@pytest.mark.parametrize("prompts", [5, 8, 20])
def test_what_hardly_varies_could_not_have_been_told_over_any_number_of_prompts(prompts: int) -> None:
    """Where shuffles are drawn, from eight prompts a side on, it counted beside the others."""
    groups = {"base": prompts, "g1": prompts}
    frame = unlike_labels(np.random.default_rng(1), groups, dict.fromkeys(groups, 0.1))
    first = pl.col("image_id").is_in([f"w-base-0-{i}" for i in range(3)])
    frame = frame.with_columns(
        value=pl.when(pl.col("attribute") == "p")
        .then(pl.lit("a"))
        .when((pl.col("object") == "w") & first)
        .then(pl.lit("b"))
        .otherwise(pl.when(pl.col("object") == "w").then(pl.lit("a")).otherwise("value"))
    )
    tables = [share_difference(frame), bds(frame, n_permutations=999, n_bootstrap=0)]
    found = comparisons(pl.concat(tables, how="diagonal_relaxed"), frame)
    least = {
        (json.loads(s)["object"], a): p for s, a, p in found.select("scope", "attribute", "p_least").rows()
    }
    assert [least[thing, "p"] for thing in "wxyz"] == pytest.approx([1.0] * 4)
    assert least["w", "q"] > 0.1
    assert least["x", "q"] < 0.05
