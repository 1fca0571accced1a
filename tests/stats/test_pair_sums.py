"""Sums over pairs of groups: by the numbers of groups with each count, as pair by pair."""

from itertools import combinations

import numpy as np
import pytest

from stereotrope.stats.pair_sums import pair_sums


def _term(x, y, n_p, n_q):
    x, y = np.float64(x), np.float64(y)
    return np.sqrt(x * n_p + y * n_q) + (x / n_p - y / n_q) ** 2


@pytest.mark.parametrize(
    ("sizes", "most"),
    [
        ((20,) * 21, 20),
        ((20,) * 21, 2),
        ((5, 6, 7, 5, 6, 7, 7), 3),
        ((9, 4), 4),
        ((300,) * 30, 260),
        ((3,) * 4, 0),
    ],
)
def test_pairs_of_groups_add_up_as_one_by_one(sizes, most):
    rng = np.random.default_rng(1)
    # Columns of rare and of frequent values together.
    tops = np.linspace(0, most, 7).round()[:, None]
    drawn = (np.floor(rng.random((7, 130)) * (tops + 1)) for _ in sizes)
    counts = [one.astype(np.float32).clip(0, size) for one, size in zip(drawn, sizes, strict=True)]
    one_by_one = sum(
        _term(counts[g], counts[h], sizes[g], sizes[h]) for g, h in combinations(range(len(sizes)), 2)
    )
    np.testing.assert_allclose(pair_sums(counts, sizes, _term), one_by_one, rtol=1e-12)


def test_a_term_is_asked_once_for_each_count_that_occurs():
    asked = []

    def term(x, y, n_p, n_q):
        asked.append(np.broadcast(x, y).size)
        return np.abs(x - y) / n_p

    counts = [np.float32(np.arange(400).reshape(2, 200) % 3 == g % 3) for g in range(30)]
    pair_sums(counts, [10] * 30, term)
    assert asked == [4]
