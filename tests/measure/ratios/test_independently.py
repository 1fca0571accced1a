"""Measures over ratios beside implementations that share no line with them: NumPy, SciPy and loops."""

from __future__ import annotations

from collections import defaultdict
from math import log2

import numpy as np
import polars as pl
import pytest
from scipy import stats as sps

from stereotrope import measure

MODELS, N_SCENARIOS = ("a", "b", "c"), 30
SAID = ("female", "male", "unclear")


@pytest.fixture(scope="module")
def labels() -> pl.DataFrame:
    """Ten pictures a scenario and model, so that ratios are tied; one scenario of ``c`` is never clear."""
    rng = np.random.default_rng(7)
    leaning = rng.beta(0.5, 0.7, N_SCENARIOS)
    rows = [
        (
            model,
            f"s{at:02}",
            "gender",
            None if said == "unclear" else said,
            "unclear" if said == "unclear" else "ok",
        )
        for model in MODELS
        for at, share in enumerate(leaning)
        for said in (
            ["unclear"] * 10
            if (model, at) == ("c", 4)
            else rng.choice(SAID, 10, p=[0.9 * share, 0.9 * (1 - share), 0.1])
        )
    ]
    names = ["generator", "scenario", "attribute", "value", "status"]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    return frame.with_columns(image_id=pl.int_range(pl.len()).cast(pl.String), prompt_id=pl.col("scenario"))


@pytest.fixture(scope="module")
def ratios(labels: pl.DataFrame) -> pl.DataFrame:
    return measure.female_ratio(labels, attribute="gender", by=["generator", "scenario"])


@pytest.fixture(scope="module")
def counted(labels: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Model → scenario → ratio, of scenarios with a clear label of at least half of their pictures."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for model, scenario, said in labels.select("generator", "scenario", "value").iter_rows():
        counts[model, scenario][0] += said == "female"
        counts[model, scenario][1] += said is not None
    found: dict[str, dict[str, float]] = {model: {} for model in MODELS}
    for (model, scenario), (k, n) in counts.items():
        if n >= 5:
            found[model][scenario] = k / n
    return found


def mean_ranks(values: list[float]) -> list[float]:
    """Rank of each, ties having the mean of theirs, by counting."""
    return [sum(o < v for o in values) + (sum(o == v for o in values) + 1) / 2 for v in values]


def test_agreement_is_the_correlation_of_mean_ranks_over_scenarios_that_all_kept(ratios, counted) -> None:
    common = sorted(set.intersection(*(set(each) for each in counted.values())))
    assert len(common) == N_SCENARIOS - 1
    found = measure.model_agreement(ratios)
    assert found.height == 3
    for row in found.iter_rows(named=True):
        one, other = ([counted[row[of]][s] for s in common] for of in ("generator", "reference"))
        assert len(set(one)) < len(one)  # ties
        expected = np.corrcoef(mean_ranks(one), mean_ranks(other))[0, 1]
        assert row["value"] == pytest.approx(expected, abs=1e-12)
        assert row["value"] == pytest.approx(sps.spearmanr(one, other).statistic, abs=1e-12)


def test_entropy_is_the_mean_over_scenarios_in_bits(ratios, counted) -> None:
    found = dict(measure.ratio_entropy(ratios).select("generator", "value").iter_rows())
    for model, shares in counted.items():
        bits = [-sum(p * log2(p) for p in (r, 1 - r) if p > 0) for r in shares.values()]
        assert found[model] == pytest.approx(sum(bits) / len(bits), abs=1e-12)


def test_stability_is_within_the_error_of_a_thousand_bootstraps_of_the_labels(ratios, counted) -> None:
    rng = np.random.default_rng(11)
    found = measure.stability(ratios, pictures=[20, 100]).filter(generator="a")
    shares = np.array(list(counted["a"].values()))
    for row, n in zip(found.iter_rows(named=True), (20, 100), strict=True):
        drawn = rng.random((1000, len(shares), n)) < shares[:, None]
        away = np.abs(drawn.mean(axis=2) - shares).mean(axis=1)
        assert row["value"] == pytest.approx(away.mean(), abs=4 * away.std() / np.sqrt(1000))


def test_amplification_is_counted_scenario_by_scenario(ratios, counted) -> None:
    rng = np.random.default_rng(3)
    there = {f"s{at:02}": float(p) for at, p in enumerate(rng.choice([0.1, 0.3, 0.5, 0.6, 0.9], N_SCENARIOS))}
    del there["s02"], there["s20"]  # the reference lacks some
    known = pl.DataFrame({"scenario": list(there), "reference": list(there.values())})
    found = measure.amplification(ratios, known.with_columns(source=pl.lit("x"), year=2022))
    for model, shares in counted.items():
        own = found.filter(generator=model)
        gaps = {s: there[s] - r for s, r in shares.items() if s in there}
        each = own.filter(measure="amplification").select("scenario", "value")
        assert dict(each.iter_rows()) == pytest.approx(gaps)
        mean = own.filter(measure="amplification_mean").row(0, named=True)
        assert mean["value"] == pytest.approx(np.mean(list(gaps.values())))
        for majority in (True, False):
            of = [s for s in gaps if there[s] != 0.5 and (there[s] > 0.5) == majority and abs(gaps[s]) > 1e-9]
            grown = sum((shares[s] > there[s]) == majority for s in of)
            told = own.filter(pl.col("category") == f"female: {'majority' if majority else 'minority'}")
            assert told.select("numerator", "denominator").row(0) == (grown, len(of))
