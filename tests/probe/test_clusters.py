"""Clusters of vectors whose parts are known."""

import numpy as np
import pytest

from stereotrope.errors import UsageError
from stereotrope.probe import spectral_clusters


def planted(n, d=32, k=3, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    return rng.normal(size=d) * 2 + rng.normal(size=(k, d))[truth] + noise * rng.normal(size=(n, d)), truth


@pytest.mark.parametrize("seed", range(3))
def test_planted_parts_are_found_and_numbered_by_their_size(seed):
    x, truth = planted(90, seed=seed)
    labels = spectral_clusters(x * np.random.default_rng(1).uniform(1, 9, (90, 1)), 3)
    sizes = [int((labels == one).sum()) for one in (1, 2, 3)]
    assert sizes == sorted(np.bincount(truth).tolist(), reverse=True)
    assert all(len(set(truth[labels == one])) == 1 for one in (1, 2, 3))
    assert np.array_equal(
        labels, spectral_clusters(x, 3)
    )  # length says nothing, and it is the same each time


def test_few_vectors_make_fewer_clusters_and_equal_ones_any():
    x, _ = planted(90)
    assert set(spectral_clusters(x[:9], 4)) == {1}
    assert set(spectral_clusters(x[:11], 4)) == {1, 2}
    assert set(spectral_clusters(np.ones((1, 3)))) == {1}
    assert spectral_clusters(np.repeat(np.eye(3), 10, axis=0), 3).tolist() == [
        *[1] * 10,
        *[2] * 10,
        *[3] * 10,
    ]
    assert len(spectral_clusters(np.ones((20, 3)), 3)) == 20


def test_more_vectors_than_are_clustered_go_to_the_nearest_mean(monkeypatch):
    from stereotrope.probe import clusters

    x, truth = planted(300)
    monkeypatch.setattr(clusters, "_MOST", 60)
    labels = spectral_clusters(x, 3)
    assert all(len(set(truth[labels == one])) == 1 for one in (1, 2, 3))


@pytest.mark.parametrize(
    ("x", "n"), [(np.zeros((3, 2)), 2), (np.ones((3, 2)), 0), (np.ones(3), 1), (np.zeros((0, 2)), 1)]
)
def test_what_cannot_be_clustered_is_told(x, n):
    with pytest.raises(UsageError, match=f"clusters must be at least 1, .* found {n} of vectors of shape"):
        spectral_clusters(x, n)
