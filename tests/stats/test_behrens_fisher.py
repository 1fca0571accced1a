"""Groups whose clusters vary in their own way: what exchanging clusters takes for a difference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from stereotrope.stats import (
    ICC_GRID,
    behrens_fisher_test,
    cluster_permutation_test,
    clusters_apart,
    icc_evidence,
    icc_priors,
    part_apart,
)

KNOWN = np.eye(ICC_GRID.size)


def test_known_correlations_give_the_normal_test_with_their_variances() -> None:
    # 20 prompts of 10 that vary by 0.1, beside 5 of 10 that vary by 0.4, both with a share near 0.3.
    parts, weights = 0.21 / np.array([200, 50]), KNOWN[[4, 9]]
    error = np.sqrt(0.21 / 200 * (1 + 9 * 0.1) + 0.21 / 50 * (1 + 9 * 0.4))
    p = behrens_fisher_test(0.25**2, parts, [9, 9], weights)
    assert p == pytest.approx(2 * stats.norm.sf(0.25 / error), rel=1e-12)


def test_several_dimensions_give_the_chi_square_test() -> None:
    parts, weights = [[0.01, 0.02, 0.03]] * 2, np.stack([KNOWN[[0, 2, 4]]] * 2)
    noise = 0.01 + 0.02 * (1 + 4 * 0.03) + 0.03 * (1 + 7 * 0.1)
    p = behrens_fisher_test([0.2, 0.1], parts, [[3, 4, 7]] * 2, weights, [3, 2])
    assert p == pytest.approx(stats.chi2.sf([3 * 0.2 / noise, 2 * 0.1 / noise], [3, 2]), rel=1e-12)


def test_what_is_believed_is_averaged_over_quantiles_that_all_groups_share() -> None:
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(ICC_GRID.size), 3)
    parts, alike = rng.uniform(0.01, 0.02, 3), rng.uniform(2, 19, 3)
    u = (np.arange(400_000) + 0.5) / 400_000
    noise = sum(
        c * (1 + a * ICC_GRID[np.searchsorted(np.cumsum(w)[:-1], u)])
        for c, a, w in zip(parts, alike, weights, strict=True)
    )
    expected = stats.chi2.sf(2 * 0.3 / noise, 2).mean()
    assert behrens_fisher_test(0.3, parts, alike, weights, 2) == pytest.approx(expected, rel=1e-4)


def test_nothing_seen_or_nothing_that_varies_tells_nothing() -> None:
    weights = KNOWN[[3, 3]]
    assert behrens_fisher_test(0.0, [0.1, 0.1], [4, 4], weights) == 1
    assert behrens_fisher_test(0.0, [0.0, 0.0], [4, 4], weights) == 1
    assert behrens_fisher_test(np.zeros(0), np.zeros((0, 2)), np.zeros((0, 2)), weights[None][:0]).shape == (
        0,
    )


def test_many_at_once_are_as_one_by_one() -> None:
    rng = np.random.default_rng(1)
    seen, parts, alike = rng.random(9_000) / 9, rng.random((9_000, 2)) / 50, rng.random((9_000, 2)) * 9
    weights = rng.dirichlet(np.ones(ICC_GRID.size), (9_000, 2))
    every = behrens_fisher_test(seen, parts, alike, weights)
    for at in (0, 3_999, 4_000, 8_999):
        alone = behrens_fisher_test(seen[at], parts[at], alike[at], weights[at])
        assert alone == pytest.approx(every[at], rel=1e-12)


def test_what_matched_clusters_share_is_left_out_but_for_the_least_part() -> None:
    variance = np.array([[0.1, 0.1], [0.4, 0.1], [0.1, 0.1]])
    assert part_apart(variance, np.array([0.5, 0.5, 1.0])) == pytest.approx([0.5, 0.6, 0.02])


def p_of(rng, shares, correlations, prompts, size, *, matched=False, cells=8, samples=1_200) -> np.ndarray:
    """p of sides with these shares; ``cells`` of each side are of one attribute."""
    counts = []
    for share, rho, m in zip(shares, correlations, prompts, strict=True):
        of = 1 / rho - 1
        counts.append(rng.binomial(size, rng.beta(share * of, (1 - share) * of, (samples, m))))
    sizes = [np.full(k.shape, size) for k in counts]
    starts = [np.arange(samples) * m for m in prompts]
    own = [icc_evidence(k.ravel(), n.ravel(), at) for k, n, at in zip(counts, sizes, starts, strict=True)]
    by_attribute = np.stack(own, axis=1).reshape(samples // cells, 2 * cells, -1)
    side = np.tile([0, 1], cells)
    peers = np.reshape([icc_priors(one, [side]) for one in by_attribute], (samples, 2, -1))
    of = counts[0], sizes[0], counts[1], sizes[1]
    return clusters_apart(*of, own=(own[0], own[1]), peers=peers, matched=matched)[0]


@pytest.mark.parametrize(
    ("share", "correlations", "prompts", "matched", "most"),
    [
        (0.3, (0.05, 0.5), (20, 5), False, 0.13),
        (0.3, (0.02, 0.3), (20, 5), False, 0.09),
        (0.2, (0.02, 0.5), (10, 10), False, 0.06),
        (0.1, (0.02, 0.5), (20, 20), False, 0.06),
        (0.1, (0.02, 0.8), (20, 20), True, 0.08),
        (0.1, (0.05, 0.4), (12, 12), True, 0.06),
    ],
)
def test_sides_that_vary_unlike_are_seldom_told_apart(share, correlations, prompts, matched, most) -> None:
    """By exchanging clusters alone 0.06 to 0.23 had p ≤ 0.05, and up to 0.04 p ≤ 0.001."""
    p = p_of(np.random.default_rng(4), (share, share), correlations, prompts, 10, matched=matched)
    assert np.mean(p <= 0.05) < most
    assert np.mean(p <= 0.001) < 0.006


@pytest.mark.parametrize(
    ("prompts", "size", "rho", "more"), [(5, 20, 0.1, 0.4), (10, 10, 0.3, 0.3), (20, 10, 0.1, 0.2)]
)
def test_sides_that_vary_alike_are_told_apart_as_often_as_before(prompts, size, rho, more) -> None:
    rng = np.random.default_rng(5)
    p = p_of(rng, (0.3, 0.3 + more), (rho, rho), (prompts, prompts), size)
    again = np.random.default_rng(5)
    of = 1 / rho - 1
    sides = [
        again.binomial(size, again.beta(s * of, (1 - s) * of, (1_200, prompts))) for s in (0.3, 0.3 + more)
    ]
    n = np.full(sides[0].shape, size)
    exchanged = cluster_permutation_test(sides[0], n, sides[1], n)[0]
    for alpha in (0.05, 0.01):
        assert np.mean(p <= alpha) >= np.mean(exchanged <= alpha) - 0.03


@pytest.mark.parametrize(
    ("prompts", "sizes", "rho", "least"),
    [
        ((20, 20), (2, 20), 0.1, 0.9),
        ((20, 20), (1, 20), 0.1, 0.8),
        ((10, 10), (4, 20), 0.3, 0.65),
        ((6, 40), (2, 40), 0.1, 0.7),
    ],
)
def test_sides_whose_clusters_are_unlike_in_size_are_told_apart(prompts, sizes, rho, least) -> None:
    """By exchanging their sums 0.43, 0.02, 0.35 and none of such shifts had p ≤ 0.05."""
    found = {}
    for other in (0.3, 0.7):
        rng, of = np.random.default_rng(6), 1 / rho - 1
        counts = [
            rng.binomial(size, rng.beta(s * of, (1 - s) * of, (400, m)))
            for s, m, size in zip((0.3, other), prompts, sizes, strict=True)
        ]
        n = [np.full(k.shape, size) for k, size in zip(counts, sizes, strict=True)]
        starts = [np.arange(400) * m for m in prompts]
        own = [icc_evidence(k.ravel(), m.ravel(), at) for k, m, at in zip(counts, n, starts, strict=True)]
        peers = np.stack([icc_priors(pair) for pair in zip(*own, strict=True)])
        p, _ = clusters_apart(counts[0], n[0], counts[1], n[1], own=(own[0], own[1]), peers=peers)
        found[other] = np.mean(p <= 0.05)
    assert found[0.3] < 0.08
    assert found[0.7] > least


def test_a_value_that_one_side_never_shows_is_told_as_the_other_side_varies() -> None:
    """Where the silent side's clusters were taken for anything, 0.55 were."""
    rng, n = np.random.default_rng(8), np.full((300, 8), 10)
    k = rng.binomial(10, rng.beta(0.2 * 9, 0.8 * 9, n.shape))
    silent = np.zeros_like(k)
    starts = np.arange(300) * 8
    own = [icc_evidence(of.ravel(), n.ravel(), starts) for of in (silent, k)]
    peers = np.stack([icc_priors(pair) for pair in zip(*own, strict=True)])
    p, _ = clusters_apart(silent, n, k, n, own=(own[0], own[1]), peers=peers)
    exchanged = cluster_permutation_test(silent, n, k, n)[0]
    assert 0.7 < np.mean(p <= 0.05) < np.mean(exchanged <= 0.05)
