"""Shares, their differences and divergences over several prompts, from a frame of labels to rows that cover.

Each repetition is an attribute of its own, so that nothing is learnt of one from the others.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from stereotrope.measure import bds, share, share_difference
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
