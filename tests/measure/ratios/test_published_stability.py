"""The published figures on stability, as far as they can be checked without the ratios behind them.

L. Girrbach et al., arXiv:2503.23398, appendix D.1: mean absolute deviation of ``R_f`` in 1,000 bootstrap
samples of so many pictures. The ratios themselves are not published with it.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

from stereotrope import measure
from stereotrope.stats import share_deviation

PICTURES = [20, 25, 30, 40, 50, 100, 150, 200]
PUBLISHED = {
    "Flux": [0.060, 0.052, 0.050, 0.044, 0.039, 0.029, 0.023, 0.022],
    "Flux-Schnell": [0.061, 0.055, 0.051, 0.045, 0.041, 0.031, 0.026, 0.025],
    "SD-3.5-Large": [0.061, 0.054, 0.050, 0.043, 0.039, 0.028, 0.022, 0.021],
    "SD-3.5-Medium": [0.058, 0.052, 0.048, 0.042, 0.038, 0.028, 0.022, 0.021],
    "SD-3-Medium": [0.047, 0.043, 0.039, 0.035, 0.032, 0.024, 0.020, 0.019],
}
RATIOS = np.arange(501) / 1000
"""Possible ratios; those above one half deviate as those below."""
DEVIATIONS = np.array([share_deviation(RATIOS, n) for n in PICTURES])


def nearest(row: list[float]) -> tuple[np.ndarray, float]:
    """The shares of scenarios at each ratio whose greatest difference from a row is least, and that."""
    one = np.ones((len(row), 1))
    bounds = np.block([[DEVIATIONS, -one], [-DEVIATIONS, -one]])
    found = linprog(
        np.append(np.zeros(RATIOS.size), 1),
        A_ub=bounds,
        b_ub=[*row, *np.negative(row)],
        A_eq=[np.append(np.ones(RATIOS.size), 0)],
        b_eq=[1],
    )
    return found.x[:-1], found.x[-1]


@pytest.mark.parametrize("model", PUBLISHED)
def test_no_ratios_give_a_published_row_and_the_nearest_miss_it_by_four_thousandths_at_most(model) -> None:
    miss = nearest(PUBLISHED[model])[1]
    assert 0.0005 < miss < 0.004
    few, many = DEVIATIONS[0], DEVIATIONS[-1]
    most = linprog(-many, A_eq=[np.ones(RATIOS.size), few], b_eq=[1, PUBLISHED[model][0]])
    assert PUBLISHED[model][-1] > -most.fun + 0.0005


def test_the_nearest_ratios_put_models_and_numbers_of_pictures_in_the_published_order() -> None:
    rows = []
    for model, row in PUBLISHED.items():
        shares = nearest(row)[0]
        counts = np.round(2000 * shares.clip(0)).astype(int)
        rows += [(model, f"s{i}", ratio) for i, ratio in enumerate(np.repeat(RATIOS, counts))]
    frame = pl.DataFrame(rows, schema=["generator", "scenario", "value"], orient="row").with_columns(
        pl.lit("female_ratio").alias("measure"),
        pl.lit("everyday").alias("definition"),
        pl.lit("gender").alias("attribute"),
        n=pl.lit(200),
    )
    found = measure.stability(frame, pictures=PICTURES)
    ours = {model: found.filter(generator=model)["value"].to_list() for model in PUBLISHED}
    assert all(np.diff(row).max() < 0 for row in [*ours.values(), *PUBLISHED.values()])
    for one, other in combinations(PUBLISHED, 2):
        for a, b, here, there in zip(PUBLISHED[one], PUBLISHED[other], ours[one], ours[other], strict=True):
            if abs(a - b) > 0.003:
                assert (a > b) == (here > there), (one, other)
