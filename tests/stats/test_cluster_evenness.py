"""How unevenly members of clusters share values, with an interval by how clusters differ."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from stereotrope.stats import cluster_share_interval, cluster_unevenness_interval, shares_so_uneven


def unevenness(shares: list[float]) -> float:
    """One less the entropy over its greatest."""
    return 1 - float(stats.entropy(shares, base=len(shares)))


def drawn(rng: np.random.Generator, shares: list[float], clusters: int, size: int, icc: float) -> np.ndarray:
    """Counts by value and cluster, Dirichlet multinomial."""
    if not icc:
        return rng.multinomial(size, shares, size=clusters).T
    own = rng.dirichlet(np.array(shares) * (1 - icc) / icc, size=clusters)
    return np.stack([rng.multinomial(size, of) for of in own], axis=1)


def test_values_and_clusters_may_change_places() -> None:
    rng = np.random.default_rng(0)
    counts = drawn(rng, [0.5, 0.3, 0.2], 8, 10, 0.1)
    assert cluster_unevenness_interval(counts) == pytest.approx(
        cluster_unevenness_interval(counts[rng.permutation(3)][:, rng.permutation(8)])
    )


def test_even_shares_may_be_even_and_uneven_ones_are_not() -> None:
    assert cluster_unevenness_interval(np.full((4, 6), 5))[0] == 0.0
    low, high = cluster_unevenness_interval(np.tile([[9], [1]], 12))
    assert 0.1 < low < unevenness([0.9, 0.1]) < high < 1.0


def test_clusters_that_differ_say_less() -> None:
    alike = np.tile([[7], [3]], 10)
    apart = np.array([[10, 4] * 5, [0, 6] * 5])
    widths = [np.diff(cluster_unevenness_interval(counts))[0] for counts in (alike, apart)]
    assert widths[1] > 1.3 * widths[0]


def test_one_value_alone_leaves_open_what_its_share_does() -> None:
    counts = np.array([[10] * 5, [0] * 5, [0] * 5])
    least = cluster_share_interval(counts[0], counts.sum(axis=0), level=0.95**2)[0]
    low, high = cluster_unevenness_interval(counts)
    assert low == pytest.approx(unevenness([least, (1 - least) / 2, (1 - least) / 2]))
    assert high == 1.0


@pytest.mark.parametrize("asked", [0.0, 0.05, 0.3, 1.0])
def test_shares_are_as_uneven_as_asked_and_keep_their_order(asked: float) -> None:
    seen = [0.6, 0.3, 0.1]
    found = shares_so_uneven(seen, asked)
    assert unevenness(found) == pytest.approx(asked, abs=1e-9)
    assert (np.diff(found) <= 1e-9).all()
    assert shares_so_uneven(seen, unevenness(seen)) == pytest.approx(seen)
    assert shares_so_uneven(seen, 0.0).tolist() == [1 / 3] * 3
    for some in ([0.5, 0.5, 0.0], [1 / 3] * 3, [1.0, 0.0, 0.0]):
        assert unevenness(shares_so_uneven(some, asked)) == pytest.approx(asked, abs=1e-6)


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.7, 0.3], [0.4, 0.3, 0.2, 0.1]])
def test_what_is_true_is_held(shares: list[float]) -> None:
    rng, true = np.random.default_rng(1), unevenness(shares)
    ends = np.array([cluster_unevenness_interval(drawn(rng, shares, 10, 10, 0.1)) for _ in range(200)])
    assert 0.91 <= np.mean((ends[:, 0] <= true + 1e-9) & (true <= ends[:, 1])) <= 0.99


@pytest.mark.slow
def test_seven_values_in_an_order_that_clusters_follow_are_held() -> None:
    """A normal variable that is cut, half of it shared within clusters of ten."""
    shares = 1 / np.arange(1, 8) / np.sum(1 / np.arange(1, 8))
    rng, true, held = np.random.default_rng(2), np.abs(shares - 1 / 7).sum(), []
    cuts = stats.norm.ppf(np.cumsum(shares)[:-1])
    for _ in range(400):
        latent = np.sqrt(0.5) * (rng.normal(size=(10, 1)) + rng.normal(size=(10, 10)))
        values = np.searchsorted(cuts, latent)
        counts = np.stack([(values == value).sum(axis=1) for value in range(7)])
        seen = counts.sum(axis=1) / counts.sum()
        ends = [shares_so_uneven(seen, end) for end in cluster_unevenness_interval(counts)]
        least, most = (float(np.abs(of - 1 / 7).sum()) for of in ends)
        held.append(least <= true <= most)
    assert 0.91 <= np.mean(held) <= 0.985
