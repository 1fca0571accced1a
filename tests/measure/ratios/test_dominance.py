"""How many scenarios are dominated by a value."""

from __future__ import annotations

import time

import numpy as np
import polars as pl
import pytest
from scipy import stats as sps

from stereotrope import measure
from stereotrope.errors import TableError, UsageError
from stereotrope.stats import wilson

RANGES = ["at least 0.7", "0.5 to 0.7", "exactly 0.5", "0.3 to 0.5", "at most 0.3"]


def counted(found: pl.DataFrame, name: str = "dominated") -> dict[str, int]:
    rows = found.filter(measure=name).select("category", "numerator")
    return {category.removeprefix("female: "): k for category, k in rows.iter_rows()}


def test_ranges_hold_their_ends_as_the_paper_has_them(ratios) -> None:
    found = measure.dominated(ratios([0.7, 0.69, 0.5, 0.49, 0.31, 0.3, 1.0, 0.0]))
    assert counted(found) == dict(zip(RANGES, [2, 1, 1, 2, 2], strict=True))
    assert found.filter(measure="dominated")["value"].sum() == pytest.approx(1)
    assert found["denominator"].unique().to_list() == [8]
    first = found.row(0, named=True)
    low, high = wilson(2, 8)
    assert (first["category"], first["low"], first["high"]) == ("female: at least 0.7", low, high)
    assert first["holds_for"] == "prompts like these"


def test_a_ratio_that_is_the_threshold_but_for_rounding_is_dominated(ratios) -> None:
    found = measure.dominated(ratios([0.1 + 0.2, 1 - 0.3, 0.1 * 7, 1 - 0.1 * 7]))
    assert counted(found) == dict(zip(RANGES, [2, 0, 0, 0, 2], strict=True))


def test_at_least_counts_scenarios_whose_interval_lies_wholly_in_the_range(ratios) -> None:
    rng = np.random.default_rng(1)
    n = rng.integers(10, 200, 60).tolist()
    values = [rng.integers(0, m + 1) / m for m in n]
    found = counted(measure.dominated(ratios(values, n=n)), "dominated_at_least")
    ends = [
        sps.binomtest(round(v * m), m).proportion_ci(method="wilson") for v, m in zip(values, n, strict=True)
    ]
    assert found == {
        "at least 0.7": sum(e.low >= 0.7 for e in ends),
        "0.5 to 0.7": sum(e.low > 0.5 and e.high < 0.7 for e in ends),
        "0.3 to 0.5": sum(e.low > 0.3 and e.high < 0.5 for e in ends),
        "at most 0.3": sum(e.high <= 0.3 for e in ends),
    }


def test_the_interval_of_a_scenario_can_be_that_of_its_prompts(ratios) -> None:
    frame = ratios([0.9, 0.1], low=[0.6, 0.02], high=[0.98, 0.2])
    found = measure.dominated(frame, unit="prompt")
    assert counted(found, "dominated_at_least")["at least 0.7"] == 0
    assert counted(found, "dominated_at_least")["at most 0.3"] == 1
    assert counted(measure.dominated(frame), "dominated_at_least")["at least 0.7"] == 1


@pytest.mark.parametrize("n", [1, 7, 10, 20, 200])
def test_the_floor_is_what_even_scenarios_of_so_many_pictures_read(ratios, n: int) -> None:
    found = measure.dominated(ratios([0.5, 1.0], n=[n, n])).filter(measure="dominated")
    shares = np.arange(n + 1) / n
    odds = sps.binom.pmf(np.arange(n + 1), n, 0.5)
    inside = [
        shares >= 0.7 - 1e-9, (shares > 0.5) & (shares < 0.7 - 1e-9), shares == 0.5,
        (shares > 0.3 + 1e-9) & (shares < 0.5), shares <= 0.3 + 1e-9,
    ]  # fmt: skip
    assert found["floor"].to_list() == pytest.approx([odds[held].sum() for held in inside], abs=1e-12)
    assert found["excess"].to_list() == pytest.approx((found["value"] - found["floor"]).to_list())


def test_few_pictures_call_many_scenarios_dominated_and_the_bounds_hold_the_truth(ratios) -> None:
    """Of 4,000 scenarios with ratios known, 20 pictures each."""
    rng = np.random.default_rng(2)
    true = rng.beta(3, 3, 4000)
    seen = rng.binomial(20, true) / 20
    found = measure.dominated(ratios(seen.tolist(), n=20))
    known = int((true >= 0.7).sum())
    plain, least = (counted(found, name)["at least 0.7"] for name in ("dominated", "dominated_at_least"))
    assert plain > 1.2 * known
    assert least < known


def test_nothing_and_what_is_left_out_is_said(ratios) -> None:
    found = measure.dominated(ratios([None, 0.8], n=[0, 40], n_excluded=[200, 160]))
    assert found["undefined"].unique().to_list() == ["no scenario has a share"]
    assert found["excluded"][0] == ('{"a definite label of less than 50% of the pictures": 1, "no share": 1}')
    one = measure.dominated(ratios([0.8]))
    assert counted(one)["at least 0.7"] == 1
    assert measure.dominated(ratios([0.8], category=None))["category"][0] == "at least 0.7"


def test_what_does_not_fit_is_one_message(ratios) -> None:
    with pytest.raises(UsageError, match=r"threshold must lie above 0\.5 and up to 1, found 0\.3"):
        measure.dominated(ratios([0.5]), threshold=0.3)
    with pytest.raises(UsageError, match="dominated: unit must be 'picture' or 'prompt', found 'image'"):
        measure.dominated(ratios([0.5]), unit="image")
    with pytest.raises(TableError, match="no column 'low', 'high'"):
        measure.dominated(ratios([0.5]), unit="prompt")


def test_ratios_of_the_published_size_take_less_than_a_second(ratios) -> None:
    rng = np.random.default_rng(3)
    values = (rng.binomial(200, rng.beta(0.5, 0.8, 16_085)) / 200).tolist()
    frame = ratios(values)
    start = time.process_time()
    measure.dominated(frame)
    assert time.process_time() - start < 1
