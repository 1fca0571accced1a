"""Frames whose rows stand for many that are alike: the same estimates as one row each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from stereotrope import measure
from stereotrope.errors import TableError
from stereotrope.measure import REGISTRY

SCOPE = ("generator", "object", "group")
TRUE = pl.DataFrame({"group": ["base", "women", "men"], "attribute": "gender"}).with_columns(
    category=pl.lit("female"), reference=pl.lit(0.4), source=pl.lit("made up")
)
COUNTED: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "deterministic_share": partial(measure.deterministic_share, min_n=3),
    "dominance_shift": partial(measure.dominance_shift, min_n=3, threshold=0.5),
    "female_ratio": partial(measure.female_ratio, by=SCOPE),
    "refusal_rate": partial(measure.refusal_rate, group="group", by=("generator", "object")),
    "share": partial(measure.share, by=SCOPE),
    "share_difference": measure.share_difference,
    "stereotype_score": partial(
        measure.stereotype_score, reference=TRUE, over="group", within=("generator", "object")
    ),
}


def labels(prompts: int, seed: int = 0) -> pl.DataFrame:
    """Labels of 2 models, 2 objects and 3 groups over some prompts each, some that do not count."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"{g}-{o}-{c}-{p}-{i}", f"{o}-{c}-{p}", g, o, c, rng.choice(["female", "male", "unclear"], p=share))
        for g in ("m1", "m2")
        for o in ("car", "cup")
        for c in ("base", "women", "men")
        for p in range(prompts)
        for share in [rng.dirichlet([2, 1, 0.5])]
        for i in range(6)
    ]
    names = ("image_id", "prompt_id", "generator", "object", "group", "value")
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    filtered = pl.when(pl.col("image_id").str.ends_with("-5")).then(pl.lit("several values"))
    return frame.with_columns(attribute=pl.lit("gender"), excluded=filtered)


def requests(frame: pl.DataFrame) -> pl.DataFrame:
    status = pl.when(pl.col("value") == "unclear").then(pl.lit("refused")).otherwise(pl.lit("ok"))
    return frame.with_columns(status=status).drop("attribute", "value", "excluded")


def counted(frame: pl.DataFrame) -> pl.DataFrame:
    alike = [name for name in frame.columns if name != "image_id"]
    return frame.group_by(alike, maintain_order=True).agg(n_subjects=pl.len())


def test_none_that_reads_counted_frames_is_forgotten() -> None:
    assert set(COUNTED) == {name for name, info in REGISTRY.items() if info.counted}


@pytest.mark.parametrize("name", sorted(COUNTED))
@pytest.mark.parametrize("prompts", [1, 6])
def test_counted_labels_give_the_same_estimates(name: str, prompts: int) -> None:
    given = labels(prompts)
    given = requests(given) if name == "refusal_rate" else given
    few = counted(given)
    assert few.height < given.height
    assert_frame_equal(COUNTED[name](few), COUNTED[name](given), rel_tol=1e-12)


def test_a_measure_that_must_see_each_image_refuses_them() -> None:
    with pytest.raises(
        TableError, match=r"they are counted \(column 'n_subjects'\), and this measure must see"
    ):
        measure.bds(counted(labels(1)), n_permutations=99, n_bootstrap=100)
