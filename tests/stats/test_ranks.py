"""Rankings of groups."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import UsageError
from stereotrope.stats import clustered_ranks, mean_ranks, rank_agreement


def test_ranks_go_by_the_mean_and_ties_share() -> None:
    ranks, _, _ = mean_ranks([[0.1, 0.4, 0.3], [0.3, 0.4, 0.1]])
    assert ranks.tolist() == [1.5, 3.0, 1.5]


def test_ranks_worked_by_hand() -> None:
    # Six rows, 2^5 = 32 flips up to the sign of all. c exceeds a, and b, in every row by 1 or 2, sum 9: only
    # no flip at all reaches that, 1/32. a and b have the same mean.
    a = np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    table = np.stack([a, a[::-1], np.full(6, 2.0)], axis=1)
    ranks, low, high = mean_ranks(table)
    assert ranks.tolist() == [1.5, 1.5, 3.0]
    assert (low.tolist(), high.tolist()) == ([1, 1, 3], [2, 2, 3])


def test_rank_intervals_agree_with_flips_of_plain_loops() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        table = rng.normal(size=(7, 4)) + np.arange(4) * 0.8
        pairs = list(combinations(range(4), 2))
        sure: dict[tuple[int, int], float] = {}
        while True:
            left = [pair for pair in pairs if pair not in sure]
            greatest = [
                max(
                    (abs(sum(s * (r[g] - r[h]) for s, r in zip(signs, table, strict=True))) for g, h in left),
                    default=0,
                )
                for signs in product((1, -1), repeat=7)
            ]
            sums = {(g, h): (table[:, g] - table[:, h]).sum() for g, h in left}
            new = {p: x for p, x in sums.items() if np.mean(np.array(greatest) >= abs(x) - 1e-9) <= 0.05}
            if not new:
                break
            sure |= new
        _, low, high = mean_ranks(table)
        beaten = [
            sum((h == g and x < 0) or (o == g and x > 0) for (o, h), x in sure.items()) for g in range(4)
        ]
        beating = [
            sum((h == g and x > 0) or (o == g and x < 0) for (o, h), x in sure.items()) for g in range(4)
        ]
        assert low.tolist() == [1 + n for n in beaten]
        assert high.tolist() == [4 - n for n in beating]


def test_ranks_are_undefined_without_rows_and_intervals_with_fewer_than_six() -> None:
    ranks, low, high = mean_ranks(np.empty((0, 3)))
    assert np.isnan([ranks, low, high]).all()
    for rows in (2, 3, 5):
        ranks, low, high = mean_ranks([[1, 2]] * rows)
        assert ranks.tolist() == [1, 2]
        assert np.isnan([low, high]).all()
    assert np.isnan(mean_ranks([[1, 2]] * 6, level=0.99)[1:]).all()
    assert [x.tolist() for x in mean_ranks([[1, 2]] * 6)[1:]] == [[1, 2], [1, 2]]


@pytest.mark.parametrize("rows", [6, 8, 15])
@pytest.mark.parametrize("spread", [[0.5] * 5, [0.1, 0.1, 0.1, 0.1, 2.0]])
def test_all_ranks_are_held_together(rows: int, spread: list[float]) -> None:
    """Also where three groups are equal, and one varies more than the others."""
    rng = np.random.default_rng(6)
    means, runs, held = np.array([0.0, 0.0, 0.0, 0.6, 1.2]), 300, 0
    for _ in range(runs):
        _, low, high = mean_ranks(means + rng.normal(size=(rows, 1)) + rng.normal(size=(rows, 5)) * spread)
        held += bool((low <= [1, 1, 1, 4, 5]).all() and (high >= [3, 3, 3, 4, 5]).all())
    assert held / runs >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / runs)


def test_names_of_groups_and_things_decide_nothing() -> None:
    rng = np.random.default_rng(5)
    for shape in ((4, 5), (15, 4)):
        table = np.round(rng.normal(size=shape) + 0.3 * np.arange(shape[1]), 1)
        rows, columns = rng.permutation(shape[0]), rng.permutation(shape[1])
        renamed = table[rows][:, columns]
        assert rank_agreement(table, n_permutations=99) == pytest.approx(
            rank_agreement(renamed, n_permutations=99), nan_ok=True
        )
        for one, other in zip(mean_ranks(table), mean_ranks(renamed), strict=True):
            np.testing.assert_array_equal(one[columns], other)


@pytest.mark.parametrize("m", [3, 5, 8])
@pytest.mark.parametrize("common", [0.0, 1.0, 2.0])
def test_intervals_hold_the_agreement(m: int, common: float) -> None:
    rng = np.random.default_rng(7)
    means, runs, held = np.linspace(-1, 1, 9) * common, 400, []
    true = rank_agreement(means + rng.normal(size=(4_000, 9)), n_permutations=0)[0]
    for _ in range(runs):
        _, low, high, _ = rank_agreement(means + rng.normal(size=(m, 9)), n_permutations=1)
        held.append(low <= true <= high)
    assert np.mean(held) >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / runs)


def test_rank_agreement_is_the_mean_pairwise_spearman() -> None:
    table = np.random.default_rng(3).integers(0, 9, size=(6, 7))
    pairs = scipy_stats.spearmanr(table.T).statistic[np.triu_indices(6, k=1)]
    assert rank_agreement(table, n_permutations=9)[0] == pytest.approx(pairs.mean())


def test_rank_agreement_test_keeps_its_size() -> None:
    rng = np.random.default_rng(8)
    p = [rank_agreement(rng.normal(size=(5, 6)), n_permutations=199)[3] for _ in range(400)]
    assert 0.02 < np.mean(np.array(p) <= 0.05) < 0.09


def test_rank_agreement_finds_a_common_ranking() -> None:
    rng = np.random.default_rng(9)
    value, low, high, p = rank_agreement(np.arange(6) + 0.8 * rng.normal(size=(8, 6)), n_permutations=999)
    assert 0.6 < low < value < high <= 1
    assert p == pytest.approx(1 / 1000)


def test_rank_agreement_is_undefined_rather_than_without_width() -> None:
    assert np.isnan(rank_agreement([[1, 2, 3]])).all()
    assert np.isnan(rank_agreement([[1, 2, 3], [2, 2, 2]])).all()
    value, low, high, p = rank_agreement([[1, 2, 3]] * 4, n_permutations=99)
    assert value == pytest.approx(1.0)
    assert np.isnan([low, high]).all()
    assert p < 0.2


def test_scores_with_gaps_are_refused() -> None:
    with pytest.raises(UsageError, match="without missing values"):
        mean_ranks([[1, np.nan]])


def test_scores_that_differ_by_rounding_are_tied() -> None:
    table = np.array([[0.1, 0.3, 0.2], [0.2, 0.2, 0.2], [0.3, 0.1, 0.2]])
    assert len({float(x) for x in table.mean(axis=0)}) > 1
    assert mean_ranks(table)[0].tolist() == [2.0, 2.0, 2.0]
    near = np.array([[0.3, 0.1 + 0.2, 0.4], [0.3, 0.3, 0.4]])
    assert rank_agreement(near, n_permutations=9)[0] == pytest.approx(1.0)


def drawn_clusters(rng, means, spread, sizes):
    """Shares of members, and their clusters, from beta distributions of unlike spread."""
    n = rng.integers(*sizes, means.size, endpoint=True)
    spreads = np.clip(spread * np.exp(0.6 * rng.normal(size=means.size)), 0.005, 0.9)
    code = np.repeat(np.arange(means.size), n)
    a = (1 / spreads - 1)[code]
    return rng.beta(a * means[code], a * (1 - means[code])), code


def test_ranks_of_clusters_by_plain_loops() -> None:
    rng = np.random.default_rng(5)
    x, code = drawn_clusters(rng, np.array([0.9, 0.1, 0.5, 0.12, 0.85]), 0.03, (1, 6))
    rank, low, high = clustered_ranks(x, code)
    groups = [x[code == c] for c in range(5)]
    n, mean = ([f(g) for g in groups] for f in (len, np.mean))
    s2 = [np.var(g, ddof=1) if len(g) > 1 else 0.0 for g in groups]
    phi = sum((k - 1) * v for k, v in zip(n, s2, strict=True)) / sum(
        (k - 1) * (m * (1 - m) + v / k) for k, v, m in zip(n, s2, mean, strict=True)
    )
    pooled = [
        phi * (k * m + 0.5) / (k + 1) * (1 - (k * m + 0.5) / (k + 1)) for k, m in zip(n, mean, strict=True)
    ]
    error = [max(u, (2 * u + (k - 1) * v) / (k + 1)) / k for u, k, v in zip(pooled, n, s2, strict=True)]
    tail = scipy_stats.norm.sf(scipy_stats.studentized_range.ppf(0.95, 5, 1e9) / np.sqrt(2))
    above = np.zeros((5, 5), bool)
    for c, d in product(range(5), repeat=2):
        both = error[c] + error[d]
        freedom = both**2 / (error[c] ** 2 / (n[c] + 1) + error[d] ** 2 / (n[d] + 1))
        above[c, d] = mean[c] - mean[d] > scipy_stats.t.isf(tail, freedom) * np.sqrt(both)
    assert rank.tolist() == scipy_stats.rankdata(-np.array(mean)).tolist()
    assert low.tolist() == (1 + above.sum(axis=0)).tolist()
    assert high.tolist() == (5 - above.sum(axis=1)).tolist()


@pytest.mark.parametrize("k", [5, 40])
@pytest.mark.parametrize("spread", [0.05, 0.2])
def test_clusters_alike_are_told_apart_seldom(k: int, spread: float) -> None:
    rng = np.random.default_rng(6)
    for middle in (0.05, 0.4):
        told = 0
        for _ in range(200):
            _, low, high = clustered_ranks(*drawn_clusters(rng, np.full(k, middle), spread, (1, 12)))
            told += bool((low > 1).any() or (high < k).any())
        assert told / 200 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)


def test_clusters_that_differ_clearly_are_told_apart_and_ranks_are_held_together() -> None:
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(100):
        means = rng.beta(0.6, 0.9, 20).clip(0.01, 0.99)
        rank, low, high = clustered_ranks(*drawn_clusters(rng, means, 0.05, (3, 12)))
        true = scipy_stats.rankdata(-means)
        held += bool(((low <= true) & (true <= high)).all())
        assert ((low <= rank) & (rank <= high)).all()
    assert held >= 95
    assert (high - low).mean() < 12


def test_ranks_of_clusters_without_spread_have_no_interval() -> None:
    for x, code in (([0.1, 0.5], [0, 1]), ([0.1, 0.1, 0.5, 0.5], [0, 0, 1, 1]), ([0.2, 0.4], [0, 0])):
        rank, low, high = clustered_ranks(x, code)
        assert rank.size == max(code) + 1
        assert np.isnan(low).all()
        assert np.isnan(high).all()
