"""Whether a test could have mattered is no news of what was seen: ``p_least`` hangs on the margins alone."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.measure.made_audits import Made, made_labels

from stereotrope import measure

SIZES = {
    "images": Made(prompts=1),
    "few prompts": Made(prompts=4, icc=0.3),
    "five prompts": Made(prompts=5, icc=0.3),
    "ten prompts": Made(n=40, prompts=10, icc=0.3),
    "unlike prompts": Made(prompts=5, icc=0.3),
    "prompts that share seeds": Made(prompts=5, icc=0.1, seeds=0.3),
}


def two_groups(kind: str, rng: np.random.Generator) -> pl.DataFrame:
    """One model and object, two groups; of unlike prompts the first ones have fewer pictures."""
    made = SIZES[kind]
    labels, _ = made_labels(
        Made(**{**vars(made), "models": 1, "objects": 1, "groups": 2, "attributes": 4}), int(rng.integers(99))
    )
    if kind == "unlike prompts":
        labels = labels.filter((pl.col("seed") % 4 < 2) | ~pl.col("prompt_id").str.contains(r"base [01]"))
    return labels


def exchanged(labels: pl.DataFrame, unit: str, rng: np.random.Generator) -> pl.DataFrame:
    """The same pictures, but which group each unit is of is drawn anew among those of its size."""
    of = labels.group_by(unit, maintain_order=True).agg(
        pl.col("group").first(), size=pl.col("image_id").n_unique()
    )
    seed = int(rng.integers(2**31))
    drawn = of.select(unit, group=pl.col("group").shuffle(seed=seed).over("size"))
    return labels.drop("group").join(drawn, on=unit).select(labels.columns)


def reached(labels: pl.DataFrame, by: str) -> pl.DataFrame:
    few = {"n_permutations": 499, "n_bootstrap": 0} if by != "share_difference" else {}
    table = getattr(measure, by)(labels, within=("generator", "object"), **few)
    return table.filter(pl.col("p_value").is_not_null()).select("attribute", "category", "p_value", "p_least")


@pytest.mark.parametrize(
    ("kind", "by"),
    [
        # Of each kind one of the two in turn.
        pytest.param(kind, by, marks=[] if (i + j) % 2 else pytest.mark.slow)
        for i, kind in enumerate(SIZES)
        for j, by in enumerate(("bds", "share_difference"))
    ],
)
def test_the_least_p_is_that_of_every_way_to_exchange_the_sides(kind: str, by: str) -> None:
    rng = np.random.default_rng(1)
    labels = two_groups(kind, rng)
    unit = "image_id" if kind == "images" else "prompt_id"
    asked = [reached(labels, by), *(reached(exchanged(labels, unit, rng), by) for _ in range(12))]
    p = np.array([one["p_value"] for one in asked])
    least = np.array([one["p_least"].fill_null(0.0) for one in asked])
    assert np.ptp(p, axis=0).max() > 0.1  # what is seen did change
    assert least == pytest.approx(np.broadcast_to(least[0], least.shape), rel=1e-9)
    assert (p >= least - 1e-12).all()
