"""Stereotype scores from people's labels of some pictures and an annotator's of all."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from stereotrope import measure
from stereotrope.stats import above_interval, above_p, prediction_powered_share


def seen(values: list[str], concept: str = "doctor") -> pl.DataFrame:
    told = {"image_id": [f"{concept}-{i}" for i in range(len(values))], "value": values}
    fixed = {"attribute": "hat", "concept": concept, "generator": "m"}
    return pl.DataFrame(told).with_columns(pl.lit(value).alias(name) for name, value in fixed.items())


def known(share: float | None = 0.3, **columns) -> pl.DataFrame:
    told = {"concept": "doctor", "attribute": "hat", "reference": share, "source": "a survey", **columns}
    return pl.DataFrame(
        {name: [value] for name, value in told.items()}, schema_overrides={"reference": pl.Float64}
    )


def part(found: pl.DataFrame, kind: str = "score") -> dict:
    return found.filter(measure=f"ppi_stereotype_{kind}").row(0, named=True)


def test_it_is_the_powered_share_less_the_true_one_with_both_intervals() -> None:
    labels = seen(["yes", "yes", "no", "no"] * 100)
    people = labels.head(80).with_columns(value=pl.Series(["yes", "no", "no", "no"] * 20))
    given = {"reference": known(low=0.1, high=0.3, assumed=True)}
    found = measure.ppi_stereotype_score(labels, people, "hat", **given)
    share = measure.ppi_share(labels, people, "hat", value="yes", by=("generator", "concept")).row(
        0, named=True
    )
    score, away = part(found), part(found, "difference")
    assert (score["value"], away["value"]) == pytest.approx((0.0, share["value"] - 0.3))
    assert away["low"] == pytest.approx(share["low"] - 0.3)  # the true share may be lower, not higher
    wider = np.hypot(share["high"] - share["value"], 0.2)
    assert away["high"] == pytest.approx(away["value"] + wider)
    assert (score["low"], score["high"]) == (0.0, away["high"])
    assert (score["n"], score["n_reference"]) == (400, 80)
    assert "assumed" in score["flags"]


def test_p_is_that_of_a_binomial_of_the_effective_number_of_labels() -> None:
    labels = seen(["yes", "no"] * 200)
    people = labels.head(80).with_columns(value=pl.Series((["yes"] * 9 + ["no"]) * 8))
    found = part(measure.ppi_stereotype_score(labels, people, "hat", reference=known(0.7)))
    share = measure.ppi_share(labels, people, "hat", value="yes", by=("generator", "concept")).row(
        0, named=True
    )
    n = float(share["method"].rpartition("effective n ")[2])
    k = share["value"] * n
    # P(K >= k) of a binomial is a beta distribution's at any k.
    assert found["p_value"] == pytest.approx(stats.beta.cdf(0.7, k, n - k + 1), rel=0.05)
    assert found["q_value"] == found["p_value"] < 0.01
    assert "p: binomial, one-sided, above 0" in found["method"]
    wide = part(measure.ppi_stereotype_score(labels, people, "hat", reference=known(0.7), margin=0.25))
    assert wide["p_value"] > 0.5
    away = part(measure.ppi_stereotype_score(labels, people, "hat", reference=known(0.7)), "difference")
    assert (away["p_value"], away["q_value"]) == (None, None)


@pytest.mark.parametrize(("p", "n_labelled"), [(0.3, 60), (0.5, 20), (0.3, 200)])
def test_the_test_holds_its_level_and_finds_what_is_above(p: float, n_labelled: int) -> None:
    rng, n = np.random.default_rng(12), 1_000
    of_both = [[(1 - p) * 0.8, (1 - p) * 0.2], [p * 0.1, p * 0.9]]
    both = rng.multinomial(n_labelled, np.ravel(of_both), size=n).reshape(n, 1, 2, 2)
    alone = rng.multinomial(2_000 - n_labelled, np.sum(of_both, axis=0), size=n).reshape(n, 1, 2)
    found = prediction_powered_share(both, alone)
    share, number = found.value.ravel(), found.n_effective.ravel()

    def told(true: float) -> float:
        p_values = [above_p(x * k, k, true, true, true) for x, k in zip(share, number, strict=True)]
        return float(np.mean(np.array(p_values) <= 0.05))

    assert told(p) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n)
    assert told(p - 0.2) > 0.6


def test_a_difference_that_is_below_0_for_sure_leaves_the_score_without_an_interval() -> None:
    labels = seen(["yes"] + ["no"] * 199)
    found = measure.ppi_stereotype_score(labels, labels.head(100), "hat", reference=known(0.9))
    assert (part(found)["value"], part(found)["low"]) == (0.0, None)
    assert part(found, "difference")["high"] < 0


def test_without_a_true_share_or_a_label_of_people_the_reason_stands_there() -> None:
    labels = pl.concat([seen(["yes", "no"] * 20), seen(["no"] * 20, "nurse")])
    people = labels.head(10)
    found = measure.ppi_stereotype_score(labels, people, "hat", reference=known())
    rows = found.filter(measure="ppi_stereotype_score").select("concept", "undefined").rows()
    assert dict(rows) == {"doctor": None, "nurse": "no true share"}
    other = known().with_columns(concept=pl.lit("nurse"))
    found = measure.ppi_stereotype_score(labels, people, "hat", reference=other)
    assert part(found.filter(concept="nurse"))["undefined"] == "no usable label of the reference"


def test_the_interval_covers_what_people_would_find_whatever_the_annotator_errs() -> None:
    """A classifier that finds 20 in 100 hats that are not there: 60 labels of people in 2,000 pictures."""
    rng, p, true, n = np.random.default_rng(11), 0.4, 0.3, 4_000
    of_both = [[(1 - p) * 0.8, (1 - p) * 0.2], [p * 0.1, p * 0.9]]
    both = rng.multinomial(60, np.ravel(of_both), size=n).reshape(n, 1, 2, 2)
    alone = rng.multinomial(1_940, np.sum(of_both, axis=0), size=n).reshape(n, 1, 2)
    found = prediction_powered_share(both, alone)
    k, number = found.value * found.n_effective, found.n_effective
    low, high = above_interval(k, number, true, true, true)
    assert np.mean((low <= p - true) & (p - true <= high)) == pytest.approx(0.95, abs=0.02)
    raw = alone[:, 0, 1] / 1_940 - true
    assert (float(np.mean(found.value)) - true, float(np.mean(raw))) == pytest.approx((0.1, 0.18), abs=0.005)
