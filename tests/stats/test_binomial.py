"""Binomial probabilities."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from stereotrope.stats.binomial import binomial


def test_probabilities_are_those_of_scipy_and_0_beyond_what_there_is() -> None:
    x, n = np.arange(40)[:, None], np.array([0, 1, 7, 30, 4_000])[None, :]
    for p in (0.0, 0.01, 0.5, 1.0):
        np.testing.assert_allclose(binomial(x, n, p), binom.pmf(x, n, p), rtol=1e-10, atol=1e-300)
    assert binomial(3, 2, 0.5) == 0.0
