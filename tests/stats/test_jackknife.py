"""Intervals by leaving out one unit at a time."""

import numpy as np
import pytest
from scipy import stats as reference

from stereotrope.stats import jackknife_interval, vendi_score


def left_out(values):
    return [np.delete(values, i).mean() for i in range(len(values))]


def test_of_a_mean_it_is_students_interval():
    values = np.random.default_rng(4).normal(size=12)
    expected = reference.t.interval(0.9, 11, values.mean(), reference.sem(values))
    assert jackknife_interval(values.mean(), left_out(values), level=0.9) == pytest.approx(expected)


@pytest.mark.parametrize("scores", [[], [1.0], [2.0, 2.0, 2.0], [float("nan"), 1.0], [1.0, 1.0 + 1e-12]])
def test_without_variation_there_is_no_interval(scores):
    assert np.isnan(jackknife_interval(1.0, scores)).all()


def test_intervals_of_vendi_scores_of_vectors_cover():
    """2 × 400 samples of clustered unit vectors; 95% ± 3 standard errors of the simulation, less 2 points."""
    rng = np.random.default_rng(7)
    centres = np.eye(24)[:5]

    def sample(n):
        x = np.eye(24)[6] * 1.2 + 0.9 * centres[rng.choice(5, n, p=[0.6, 0.2, 0.1, 0.05, 0.05])]
        x += rng.normal(size=x.shape) * 0.08
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    for n in (15, 30):
        truth = np.mean([vendi_score(sample(n)) for _ in range(2_000)])
        held = 0
        for _ in range(400):
            x = sample(n)
            without = [vendi_score(np.delete(x, i, axis=0)) for i in range(n)]
            low, high = jackknife_interval(vendi_score(x), without)
            held += low <= truth <= high
        assert 0.90 <= held / 400 <= 0.99
