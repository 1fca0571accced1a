"""How often intervals over scenarios hold what scenarios like these read: made-up studies, one call each."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import special
from scipy import stats as sps

from stereotrope import measure
from stereotrope.stats import share_deviation

STUDIES, SCENARIOS, PICTURES = 250, 25, 40
ALIKE = 0.1
"""Intra-class correlation of the pictures of one of a scenario's five wordings."""
MANY = 100_000
SHAPES = {"even": (5.0, 5.0), "spread": (0.5, 0.8), "near 0": (0.3, 3.0)}


def true_ratios(rng: np.random.Generator, shape: str, *size: int) -> np.ndarray:
    return rng.beta(*SHAPES[shape], size)


def seen(rng: np.random.Generator, true: np.ndarray) -> np.ndarray:
    """Ratios of pictures of five wordings, of which each has a ratio of its own."""
    of = 1 / ALIKE - 1
    each = rng.beta(true[..., None] * of + 1e-9, (1 - true[..., None]) * of + 1e-9, (*true.shape, 5))
    return rng.binomial(PICTURES // 5, each).sum(axis=-1) / PICTURES


def studies(values: np.ndarray, **columns: str) -> pl.DataFrame:
    """A level of the factor ``study`` a row."""
    number, m = values.shape
    told = {"measure": "female_ratio", "definition": "everyday", "attribute": "gender"}
    frame = pl.DataFrame(
        {
            "study": np.repeat([f"x{i}" for i in range(number)], m),
            "scenario": np.tile([f"s{i}" for i in range(m)], number),
            "value": values.ravel(),
        }
    )
    named = {**told, "category": "female", **columns}
    return frame.with_columns(pl.lit(value).alias(name) for name, value in named.items()).with_columns(
        n=pl.lit(PICTURES), n_excluded=pl.lit(0)
    )


def covered(found: pl.DataFrame, true: float) -> float:
    known = found.drop_nulls("low")
    assert known.height > 0.95 * found.height
    return float(known.select((pl.col("low") <= true) & (true <= pl.col("high"))).to_series().mean())


@pytest.mark.parametrize("shape", [pytest.param("even", marks=pytest.mark.slow), "spread", "near 0"])
def test_entropy_and_stability_of_scenarios_are_held_as_so_many_pictures_read_them(shape: str) -> None:
    rng = np.random.default_rng(1)
    many = seen(rng, true_ratios(rng, shape, MANY))
    frame = studies(seen(rng, true_ratios(rng, shape, STUDIES, SCENARIOS)))
    entropy = float((special.entr(many) + special.entr(1 - many)).mean() / np.log(2))
    assert 0.91 < covered(measure.ratio_entropy(frame, within=["study"]), entropy) < 0.985
    steady = measure.stability(frame, within=["study"], pictures=[50])
    assert 0.91 < covered(steady, float(share_deviation(many, 50).mean())) < 0.985


@pytest.mark.parametrize(
    "shape", ["spread", *(pytest.param(one, marks=pytest.mark.slow) for one in ("even", "near 0"))]
)
def test_amplification_over_scenarios_is_held(shape: str) -> None:
    rng = np.random.default_rng(2)

    def drawn(*size: int) -> tuple[np.ndarray, np.ndarray]:
        there = true_ratios(rng, shape, *size)
        moved = 1.3 * special.logit(there.clip(1e-6, 1 - 1e-6)) + 0.8 * rng.normal(size=size)
        return there, special.expit(moved)

    there, here = drawn(MANY)
    gap, read = float((there - here).mean()), seen(rng, here)
    grown = np.where(there > 0.5, read - there, there - read)
    known, true = drawn(STUDIES, SCENARIOS)
    frame = studies(seen(rng, true)).with_columns(scenario=pl.concat_str("study", pl.lit(" "), "scenario"))
    reference = frame.select("scenario", reference=pl.Series(known.ravel()))
    found = measure.amplification(
        frame, reference.with_columns(source=pl.lit("x"), year=2022), within=["study"]
    )
    assert 0.91 < covered(found.filter(measure="amplification_mean"), gap) < 0.985
    less = found.filter(measure="amplified_share", category="female: minority")
    assert 0.92 < covered(less, float((grown[there < 0.5] > 0).mean())) < 0.985


@pytest.mark.slow
def test_agreement_of_two_models_over_scenarios_is_held() -> None:
    rng = np.random.default_rng(3)
    usual = np.sort(true_ratios(rng, "spread", MANY))

    def pair(*size: int) -> list[np.ndarray]:
        z = rng.normal(size=size)
        other = 0.7 * z + np.sqrt(1 - 0.49) * rng.normal(size=size)
        return [seen(rng, np.quantile(usual, special.ndtr(x))) for x in (z, other)]

    ranks = float(sps.spearmanr(*pair(MANY)).statistic)
    drawn = zip("ab", pair(STUDIES, SCENARIOS), strict=True)
    frame = pl.concat([studies(values, generator=name) for name, values in drawn])
    assert 0.93 < covered(measure.model_agreement(frame, within=["study"]), ranks) < 0.995
