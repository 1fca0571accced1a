"""p-values of clusters beyond what exchanging whole ones can tell."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy import stats

from stereotrope.stats import (
    ICC_GRID,
    benjamini_hochberg,
    beta_binomial_test,
    beyond_exact,
    cluster_permutation_test,
    clusters_apart,
    fisher_exact,
    icc_beliefs,
    icc_evidence,
    icc_priors,
)

KNOWN = np.eye(ICC_GRID.size)


def by_listing(k: int, n: int, j: int, m: int, alike: float, other: float, rho: float) -> float:
    """Mid-p by listing what the sums may be."""
    share, found = (k + j) / (n + m), []
    for of, design in ((n, alike), (m, other)):
        odds = (of - 1) / (design * rho) - 1
        found.append(stats.betabinom(of, share * odds, (1 - share) * odds))
    x = np.arange(max(0, k + j - m), min(n, k + j) + 1)
    weight = found[0].pmf(x) * found[1].pmf(k + j - x)
    far, seen = np.abs(x - n * share), abs(k - n * share)
    return float(weight @ ((far > seen + 1e-9) + 0.5 * (np.abs(far - seen) < 1e-9)) / weight.sum())


@pytest.mark.parametrize(("k1", "k2"), [([5, 3, 4], [0, 1, 2, 2]), ([1, 0, 0], [0, 0, 2, 5])])
@pytest.mark.parametrize("at", [1, 4, 9])
def test_p_is_that_of_beta_binomial_sums_given_their_total(k1, k2, at) -> None:
    n1, n2 = [5, 6, 4], [4, 4, 5, 9]
    alike = (77 / 15 - 1, 138 / 22 - 1)
    p = beta_binomial_test(k1, n1, k2, n2, weights=KNOWN[at])
    wanted = by_listing(sum(k1), 15, sum(k2), 22, *alike, ICC_GRID[at])
    assert p == pytest.approx(wanted, rel=1e-6)


def test_independent_members_are_fishers_test_and_correlations_are_averaged() -> None:
    k1, k2, n = [4, 3, 5, 2], [1, 0, 1, 2], [5] * 4
    lone = beta_binomial_test(k1, n, k2, n, weights=KNOWN[0])
    assert lone == pytest.approx(float(fisher_exact(14, 20, 4, 20, mid=True)))
    alike, half = (beta_binomial_test(k1, n, k2, n, weights=w) for w in (KNOWN[6], (KNOWN[0] + KNOWN[6]) / 2))
    assert lone < half < alike
    assert half == pytest.approx((lone + alike) / 2)
    assert beta_binomial_test(k1, n, k2, n, weights=KNOWN[[0, 6]]) == pytest.approx(alike)
    assert beta_binomial_test(k2, n, k1, n, weights=KNOWN[6]) == pytest.approx(alike)
    assert beta_binomial_test([0] * 4, n, [0] * 4, n, weights=KNOWN[6]) == 1.0


def test_large_sums_are_weighed_in_steps() -> None:
    # Clusters of 600 at this correlation: a share's sd is 0.16 of 0.5, known to be normal.
    n, k1, k2 = [600] * 12, [330, 390] * 6, [210, 270] * 6
    p = beta_binomial_test(k1, n, k2, n, weights=KNOWN[4])
    sd = np.sqrt(0.25 * (1 + 599 * 0.1) / 600 / 6)
    assert p == pytest.approx(2 * stats.norm.sf(0.2 / sd), rel=0.1)
    exact = float(fisher_exact(3_900, 7_200, 3_700, 7_200, mid=True))
    p = beta_binomial_test([325] * 12, n, [3_700 / 12] * 12, n, weights=KNOWN[0])
    assert p == pytest.approx(exact, rel=0.06)


def test_the_exact_test_is_carried_on_where_it_ends_by_half_as_many_digits_at_most() -> None:
    exact, model = [2 / 252, 2 / 252, 2 / 252, 4 / 252, 1.0], [1e-9, 0.003, 0.4, 1e-9, 1e-9]
    p, least = beyond_exact([exact, [2 / 252] * 4 + [1.0]], model, 252)
    assert p == pytest.approx([(2 / 252) ** 1.5, 0.003, 2 / 252, 4 / 252, 1.0])
    # What might have been seen hangs on no model: that hangs on what was seen.
    assert least == pytest.approx([(2 / 252) ** 1.5] * 4 + [1.0])
    # Three clusters against three: that they are told apart comes once in ten times.
    assert beyond_exact([[0.1], [0.1]], [1e-9], 20).tolist() == [[0.1], [0.1]]
    # Seven against seven: the model would tell too much where all of a cluster are alike.
    seven = [[2 / 3432], [2 / 3432]]
    assert beyond_exact(seven, [1e-9], 3432).tolist() == seven


def test_conditions_say_how_alike_prompts_are_and_are_doubted() -> None:
    even = icc_priors([])[0]
    assert even.sum() == pytest.approx(1)
    rng = np.random.default_rng(2)
    counts = rng.binomial(20, rng.beta(2.7, 6.3, size=(80, 8)))
    told = icc_priors([icc_evidence(k, [20] * 8) for k in counts]).mean(axis=0)
    near = (ICC_GRID > 0.05) & (ICC_GRID < 0.16)
    assert even[near].sum() < 0.2
    assert told[near].sum() > 0.4
    doubted, alone = icc_beliefs(np.zeros(ICC_GRID.size), told)
    assert doubted == pytest.approx((told + 2 * even) / 3)
    assert alone.tolist() == told.tolist()


def null_p(rng: np.random.Generator, m: int, n: int, icc: float, cells: int, kind: str) -> np.ndarray:
    """p of pairs of sides of ``m`` clusters whose members are drawn alike, all of one attribute."""
    share = rng.beta(1, 2, size=(cells, 1, 1))
    if kind == "beta":
        of = 1 / icc - 1
        each = rng.beta(share * of + 1e-9, (1 - share) * of + 1e-9, size=(cells, 2, m))
    elif kind == "normal":
        moved = stats.norm.ppf(share) + np.sqrt(icc) * rng.normal(size=(cells, 2, m))
        each = stats.norm.cdf(moved / np.sqrt(1 - icc))
    elif kind == "clumps":  # Clusters are of two kinds, of either as many.
        apart = np.sqrt(icc * share * (1 - share))
        each = np.clip(share + np.where(rng.random((cells, 2, m)) < 0.5, -1, 1) * apart, 0, 1)
    else:  # One in ten shows it always.
        each = np.where(rng.random((cells, 2, m)) < 0.1, 1.0, share)
    k = rng.binomial(n, each)
    evidence = evidence_of(k, np.full(k.shape, n))
    peers = icc_priors(evidence.reshape(-1, ICC_GRID.size)).reshape(evidence.shape)
    weights = icc_beliefs(evidence.sum(axis=1), peers.mean(axis=1))
    size = np.full((cells, m), n)
    of = k[:, 0], size, k[:, 1], size
    return beyond_exact(
        cluster_permutation_test(*of), beta_binomial_test(*of, weights=weights), comb(2 * m, m)
    )[0]


def evidence_of(k: np.ndarray, n: np.ndarray) -> np.ndarray:
    """That of many cells, whose clusters are along the last axis."""
    starts = np.arange(k[..., 0].size) * k.shape[-1]
    return icc_evidence(k.ravel(), n.ravel(), starts).reshape(*k.shape[:-1], ICC_GRID.size)


@pytest.mark.parametrize(("m", "n", "icc", "kind"), [(5, 20, 0.3, "normal"), (10, 4, 0.1, "beta")])
def test_sides_that_are_alike_keep_the_level(m, n, icc, kind) -> None:
    p = null_p(np.random.default_rng(m), m, n, icc, 2_500, kind)
    for alpha in (0.05, 0.01, 1e-3):
        assert np.mean(p <= alpha) < alpha + 3 * np.sqrt(alpha / len(p)), alpha


@pytest.mark.parametrize("kind", ["clumps", "odd"])
def test_a_model_that_is_wrong_makes_no_family_of_nulls_false(kind) -> None:
    p = null_p(np.random.default_rng(3), 5, 20, 0.9, 1_000, kind)
    assert (benjamini_hochberg(p) > 0.05).all()


SIZES = [(4, 20, 0.2), (5, 20, 0.3), (5, 20, 0.9), (6, 20, 0.9), (7, 20, 0.9), (10, 4, 0.3), (10, 20, 0.3)]
FAMILIES = 6


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "beta", "clumps", "odd"])
def test_whole_families_of_nulls_keep_the_level(kind, capsys) -> None:
    found = {}
    for m, n, icc in SIZES:
        told = 0
        for seed in range(FAMILIES):
            seeds = ([m, n, seed, attribute] for attribute in range(8))
            p = [null_p(np.random.default_rng(one), m, n, icc, 360, kind) for one in seeds]
            told += bool((benjamini_hochberg(np.concatenate(p)) <= 0.05).any())
        found[m, n, icc] = told
    with capsys.disabled():
        print(f"\n{kind}: of {FAMILIES} families of 2,880 null tests each, with any told: {found}")
    # Of 42 families with a chance of 0.05 six or more tell something once in a hundred times.
    assert sum(found.values()) <= 5


@pytest.mark.parametrize("share", [0.03, 0.3])
@pytest.mark.parametrize("icc", [0.001, 0.3])
@pytest.mark.parametrize(
    ("m", "n"),
    [
        *[((8, 8), (5, 10)), ((4, 16), (20, 5)), ((4, 16), (5, 20)), ((12, 12), (2, 9))],
        *[((8, 8), (15, 10)), ((4, 16), (15, 10)), ((4, 16), (10, 15)), ((4, 40), (2, 3))],
    ],
)
def test_exchange_of_unlike_clusters_keeps_its_level(m, n, icc: float, share: float) -> None:
    """Of sums alone it erred in up to 0.3 of cases at 0.05."""
    rng, of = np.random.default_rng(15), (1 - icc) / icc
    k, sizes = [], [np.full((1_000, many), size) for many, size in zip(m, n, strict=True)]
    for size in sizes:
        k.append(rng.binomial(size, rng.beta(share * of, (1 - share) * of, size=size.shape)))
    own = evidence_of(k[0], sizes[0]), evidence_of(k[1], sizes[1])
    peers = np.stack(np.split(icc_priors(np.concatenate(own)), 2), axis=1)
    p, _ = clusters_apart(k[0], sizes[0], k[1], sizes[1], own=own, peers=peers)
    # Within three standard errors.
    assert np.mean(p <= 0.05) <= 0.071
    assert np.mean(p <= 0.01) <= 0.02


@pytest.mark.parametrize("matched", [False, True])
def test_one_picture_less_does_not_undo_a_difference(matched: bool) -> None:
    """By the model, of clusters that may be wholly alike, p of one of 480 pictures less was 0.08 to 0.9."""
    rng, n = np.random.default_rng(3), np.full((60, 20), 12)
    k, j = rng.binomial(12, 0.35, n.shape), rng.binomial(12, 0.65, n.shape)
    fewer = n.copy()
    fewer[:, 0] -= 1
    how = {"own": (evidence_of(k, n), evidence_of(j, n)), "peers": icc_priors([]), "matched": matched}
    p, _ = clusters_apart(k, n, j, n, **how)
    lacking, _ = clusters_apart(np.minimum(k, fewer), fewer, j, n, **how)
    assert np.median(p) < 1e-4
    assert np.mean(lacking <= 0.001) > 0.9
    assert np.median(np.abs(np.log10(lacking / p))) < 0.5
