"""Members of groups that cross clusters: what their scatter says of how alike they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from stereotrope.stats import (
    ICC_GRID,
    Across,
    Crossed,
    Scatter,
    crossed_evidence,
    crossed_weights,
    effective_trials,
    evidence_apart,
    icc_evidence,
    icc_weights,
    widened_number,
)


def scatter_of(y: np.ndarray) -> Scatter:
    """Of tables of clusters by groups, shape (…, clusters, groups)."""
    clusters, groups = y.shape[-2:]
    more = (y - y.mean(axis=-1, keepdims=True)).sum(axis=-2)
    share = y.mean(axis=-1)
    within = (groups * share * (1 - share)).sum(axis=-1)
    of = np.ones(within.shape)
    return Scatter((more**2).sum(axis=-1), within, clusters * of, groups * of)


def test_evidence_is_that_of_the_analysis_of_variance() -> None:
    y = (np.random.default_rng(2).random((9, 7)) < 0.4).astype(float)
    rows, columns, mean = y.mean(axis=1, keepdims=True), y.mean(axis=0), y.mean()
    of_groups = 9 * ((columns - mean) ** 2).sum() / 6
    rest = ((y - rows - columns + mean) ** 2).sum() / 48
    grown = 1 + 9 * ICC_GRID / (1 - ICC_GRID)
    told = stats.f.logpdf(of_groups / rest / grown, 6, 48) - np.log(grown)
    evidence = crossed_evidence(scatter_of(y))
    assert np.diff(evidence) == pytest.approx(np.diff(told), abs=1e-9)


def test_cochrans_q_is_what_groups_scatter_by() -> None:
    y = (np.random.default_rng(4).random((12, 5)) < 0.5).astype(float)
    k, of = y.sum(axis=0), y.sum(axis=1)
    q = 4 * (5 * (k**2).sum() - k.sum() ** 2) / (5 * of.sum() - (of**2).sum())
    one = scatter_of(y)
    assert 4 * one.between / one.within == pytest.approx(q)


def test_what_cannot_tell_is_no_evidence() -> None:
    some = np.array([[1.0, 0, 1, 0]] * 3)
    for y in (some[:, :1], some[:1], np.zeros((5, 6)), np.ones((5, 6))):
        assert not crossed_evidence(scatter_of(y)).any()


def test_a_side_whose_groups_have_hardly_a_member_each_takes_no_evidence_away() -> None:
    """A few pictures that people labelled, say: less than one of each seed."""
    one = scatter_of((np.random.default_rng(3).random((6, 8)) < 0.5).astype(float))
    few = Scatter.of(*np.array([[0.4], [0.5], [1.5], [0.6]]))
    assert few.width < 1
    told = crossed_evidence(
        one, Scatter(*(np.broadcast_to(of, ()) for of in (x[0] for x in few))), one.between
    )
    assert np.isfinite(told).all()
    assert told.any()
    assert not crossed_evidence(few).any()


def test_a_difference_leaves_out_what_groups_do_to_both_sides() -> None:
    rng = np.random.default_rng(5)
    of_group = rng.choice([0.2, 0.8], (200, 1, 10))
    sides = [(rng.random((200, 20, 10)) < of_group).astype(float) for _ in range(2)]
    one, other = (scatter_of(y) for y in sides)
    gap = np.diff([(y - y.mean(axis=-1, keepdims=True)).sum(axis=-2) for y in sides], axis=0)[0]
    apart = crossed_evidence(one, other, (gap**2).sum(axis=-1))
    own, less = (crossed_weights(of) @ ICC_GRID for of in (crossed_evidence(one), apart))
    assert own.mean() > 0.2
    assert less.mean() < 0.02


def test_cells_say_of_one_another_how_alike_members_are() -> None:
    rng = np.random.default_rng(6)
    evidence = crossed_evidence(scatter_of((rng.random((30, 10, 8)) < 0.5).astype(float)))
    alone = np.mean([crossed_weights([of])[0] @ ICC_GRID for of in evidence])
    assert (crossed_weights(evidence) @ ICC_GRID).mean() < 0.5 * alone


def test_a_cell_that_is_unlike_the_others_is_believed_more_than_they_are() -> None:
    """Where others were always believed, its interval held 0.88."""
    rng = np.random.default_rng(9)
    drawn = rng.normal(size=(5, 40, 6))
    drawn[0] = np.sqrt(0.6) * drawn[0] + np.sqrt(0.4) * rng.normal(size=(1, 6))
    evidence = crossed_evidence(scatter_of((drawn > 0.5).astype(float)))
    alone, together = (np.vstack([crossed_weights([of]) for of in evidence]), crossed_weights(evidence))
    assert together[0] @ ICC_GRID > 0.8 * (alone[0] @ ICC_GRID)
    assert (together[1:] @ ICC_GRID).max() < 0.3 * (together[0] @ ICC_GRID)


def test_members_of_clusters_and_of_groups_across_them_are_both_alike() -> None:
    k, n = np.array([3, 0, 5, 1]), np.array([6, 6, 6, 6])
    weights = icc_weights([icc_evidence(k, n)])
    across = crossed_weights([crossed_evidence(scatter_of(np.eye(6)[:4]))])
    left = float(widened_number([24.0], [5.0], weights, crossed=Crossed(np.array([3.0]), across))[0])
    z = stats.norm.ppf(0.975) * np.sqrt(24 / left)
    variance = 1 + 5 * ICC_GRID[:, None] + 3 * (1 - ICC_GRID[:, None]) * ICC_GRID
    tail = (weights[0][:, None] * across[0] * stats.norm.sf(z / np.sqrt(variance))).sum()
    assert tail == pytest.approx(0.025, rel=1e-9)
    none = Crossed(np.zeros(1), across)
    alone = effective_trials(n, weights, starts=[0])
    assert effective_trials(n, weights, starts=[0], crossed=none) == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize("icc", [0.0, 0.6])
def test_clusters_of_one_take_nothing_from_what_groups_across_them_do(icc: float) -> None:
    """The correlation of groups is then of all that varies, and there is none of clusters."""
    known = (ICC_GRID == 0.1)[None].astype(float)
    of_clusters = (np.abs(ICC_GRID - icc) < 0.04)[None].astype(float)
    of_clusters /= of_clusters.sum()
    left = widened_number([200.0], [0.0], of_clusters, crossed=Crossed(np.array([19.0]), known))
    assert left[0] == pytest.approx(200 / (1 + 19 * 0.1))


def members(
    rng: np.random.Generator, clusters: int, groups: int, of_group: float
) -> tuple[Across, np.ndarray]:
    cluster, group = (of.ravel() for of in np.indices((clusters, groups)))
    drawn = rng.normal(size=clusters * groups) * np.sqrt(1 - of_group)
    return Across(cluster, group), drawn + np.sqrt(of_group) * rng.normal(size=groups)[group]


def test_what_members_of_a_group_have_in_common_is_seen_in_the_table_of_counts() -> None:
    y = (np.random.default_rng(3).random((9, 7)) < 0.4).astype(float)
    cluster, group = (of.ravel() for of in np.indices(y.shape))
    told = Across(cluster, group).crossed(y.ravel())
    assert told.weights == pytest.approx(crossed_weights([crossed_evidence(scatter_of(y))])[0])
    assert float(told.alike) == 8
    # Of two values that add up one says it all.
    assert Across(cluster, group).crossed(y.ravel(), 1 - y.ravel()).weights == pytest.approx(told.weights)


@pytest.mark.parametrize("kept", [0.3, 0.6, 1.0])
def test_groups_of_which_clusters_have_a_part_scatter_as_far_as_they_can(kept: float) -> None:
    rng, found = np.random.default_rng(9), []
    for _ in range(400):
        across, moved = members(rng, 40, 5, 0.2)
        some = rng.random(200) < kept
        _, of = across.among(some).scatter(moved[some])
        found.append((of.between, of.residual, of.width))
    between, left, width = np.mean(found, axis=0)
    assert between / left == pytest.approx(1 + width * 0.2 / 0.8, rel=0.08)


def test_an_interval_reaches_as_far_as_the_mean_strays_with_groups() -> None:
    rng = np.random.default_rng(6)
    for of_group in (0.0, 0.1, 0.3):
        reaches, means, errors = [], [], []
        for _ in range(150):
            across, moved = members(rng, 20, 20, of_group)
            reaches.append(across.reach(moved))
            means.append(moved.mean())
            errors.append(moved.std() / 20)
        needed = np.std(means) / np.mean(errors)
        assert np.mean(reaches) == pytest.approx(needed, rel=0.15)


def test_nothing_reaches_further_where_no_member_moves_a_score_or_none_shares_a_group() -> None:
    across, moved = members(np.random.default_rng(7), 6, 5, 0.5)
    assert across.reach(np.ones(30)) == 1
    assert across.reach(np.full(30, np.nan)) == 1
    assert Across(across.cluster, np.arange(30)).reach(moved) == 1
    assert across.reach(moved) > 1
    assert across.reach(moved, level=0.99) > across.reach(moved, level=0.5)


def test_a_score_that_bends_is_as_uncertain_as_it_changes_within_what_groups_do() -> None:
    rng, bends, scores = np.random.default_rng(10), [], []
    for _ in range(60):
        across, of = members(rng, 20, 8, 0.5)

        def squared(weights: np.ndarray, of: np.ndarray = of) -> np.ndarray:
            """Of the square of a mean of 0, which is flat there."""
            mean = (of[:, None] * weights).sum(axis=0) / weights.sum(axis=0)
            return 2 * (mean - of.mean()) * of[:, None] / of.size

        bends.append(across.bend(squared))
        scores.append((of.mean() - 0.0) ** 2)
    assert 1 < np.mean(bends) / (2 * np.mean(scores)) < 2


def test_what_does_not_bend_or_has_many_groups_gains_nothing() -> None:
    across, moved = members(np.random.default_rng(11), 6, 5, 0.5)
    assert across.bend(lambda weights: np.repeat(moved[:, None], weights.shape[1], axis=1)) == 0
    many, moved = members(np.random.default_rng(12), 4, 60, 0.5)
    assert many.bend(lambda weights: moved[:, None] * weights) == 0


def test_some_members_are_numbered_anew() -> None:
    across, moved = members(np.random.default_rng(8), 6, 5, 0.5)
    kept = across.cluster > 1
    some = across.among(kept)
    assert (some.cluster.min(), some.cluster.max(), some.group.max()) == (0, 3, 4)
    one = Across(across.cluster[kept] - 2, across.group[kept])
    assert some.reach(moved[kept]) == one.reach(moved[kept])


def test_groups_that_decide_all_are_all_that_there_is() -> None:
    cluster, group = (of.ravel() for of in np.indices((20, 10)))
    across, shown = Across(cluster, group), (group < 4).astype(float)
    decided = across.crossed(shown)
    assert decided.weights @ ICC_GRID > 0.9
    # As far as ten members that are independent would have it, not two hundred.
    assert across.reach(shown) > 0.9 * np.sqrt(20)
    both = [(across, shown / 200), (across, -shown / 200)]
    assert crossed_weights([evidence_apart(both)])[0][0] > 0.5
