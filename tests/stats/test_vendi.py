"""Vendi scores beside a plain eigenvalue computation, and TF-IDF beside its formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stereotrope.stats import (
    Resample,
    ScoreOfSums,
    tfidf,
    vendi_influences,
    vendi_left_out,
    vendi_of_kernel,
    vendi_score,
    vendi_scores,
    vendi_standard_error,
    vendi_without,
)


def unit(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    x = np.abs(rng.normal(size=(n, d)))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def plain(x: np.ndarray) -> float:
    values = np.linalg.eigvalsh(x @ x.T / len(x))
    values = values[values > 1e-14]
    return math.exp(-(values * np.log(values)).sum())


@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 2), (30, 90), (90, 30), (230, 250)])
def test_the_smaller_gram_matrix_gives_the_same_score(n: int, d: int) -> None:
    x = unit(np.random.default_rng(n), n, d)
    assert vendi_score(x) == pytest.approx(plain(x), rel=1e-9)
    assert vendi_of_kernel(x @ x.T) == pytest.approx(plain(x), rel=1e-9)


def test_weights_are_the_same_as_rows_drawn_again() -> None:
    rng = np.random.default_rng(0)
    x = unit(rng, 40, 60)
    draws = rng.integers(0, 40, (25, 40))
    weights = np.stack([np.bincount(draw, minlength=40) for draw in draws], axis=1)
    expected = [plain(x[draw]) for draw in draws]
    assert vendi_scores(x @ x.T, weights) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("n", "d", "same"), [(2, 3, 0), (15, 40, 0), (40, 6, 9), (130, 300, 40), (210, 90, 2)]
)
def test_scores_with_one_item_left_out_are_those_of_the_others(n: int, d: int, same: int) -> None:
    x = unit(np.random.default_rng(n), n, d)
    x[:same] = x[0]
    others = np.concatenate([np.concatenate([x, np.zeros((n, 2))], axis=1), np.eye(d + 2)[-2:]])
    left = [*range(0, n, max(1, n // 7)), n, n + 1]
    found = vendi_left_out(x @ x.T, 2)
    assert found.shape == (n + 2,)
    assert found[left] == pytest.approx([plain(np.delete(others, i, axis=0)) for i in left], rel=1e-10)


def test_items_that_all_agree_and_items_that_are_all_unlike_can_be_left_out() -> None:
    assert vendi_left_out(np.ones((50, 50))) == pytest.approx(np.ones(50), abs=1e-9)
    assert vendi_left_out(np.eye(120)) == pytest.approx(np.full(120, 119.0))


def test_nothing_has_no_score() -> None:
    assert math.isnan(vendi_score(np.zeros((0, 4))))
    assert np.isnan(vendi_scores(np.eye(2), np.zeros((2, 1)))).all()
    assert np.isnan(vendi_left_out([[1.0]])).all()
    assert vendi_left_out(np.zeros((0, 0))).shape == (0,)


@pytest.mark.parametrize("d", [80, 600])
def test_the_standard_error_of_large_samples_is_near_that_of_resamples(d: int) -> None:
    rng = np.random.default_rng(3)
    topics = rng.dirichlet(np.full(d, 0.05), 12)
    counts = np.array([rng.multinomial(25, topics[t]) for t in rng.integers(0, 12, 300)], float)
    x = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    weights = rng.multinomial(300, np.full(300, 1 / 300), 60).T
    resampled = vendi_scores(x @ x.T, weights).std()
    assert vendi_standard_error(x) == pytest.approx(resampled, rel=0.35)


@pytest.mark.parametrize("d", [3, 9])
def test_items_move_the_score_as_their_weights_do(d: int) -> None:
    x = np.random.default_rng(4).normal(size=(6, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    weights = np.array([[1.0, 1], [1, 2], [1, 1], [1, 3], [1, 1], [1, 2]])
    for at, told in zip(weights.T, vendi_influences(x, weights).T, strict=True):
        up, down = (at[:, None] + step * at.sum() * np.eye(6) for step in (1e-5, -1e-5))
        slopes = (vendi_scores(x @ x.T, up) - vendi_scores(x @ x.T, down)) / 2e-5
        assert told == pytest.approx(slopes / 6, abs=1e-6)


def test_tfidf_weighs_by_its_formula() -> None:
    vectors = tfidf([["a", "a", "b"], ["b"], []]).toarray()
    one = np.array([2 * (1 + math.log(4 / 2)), 1 + math.log(4 / 3)])
    assert vectors[0] == pytest.approx(one / np.linalg.norm(one))
    assert vectors[1:].tolist() == [[0.0, 1.0], [0.0, 0.0]]
    assert tfidf([]).shape == (0, 0)


def test_resamples_hold_as_many_units_as_there_are() -> None:
    units = np.array([0, 0, 1, 1, 2, 2])
    drawn = Resample(units, 500, seed=4)
    assert (drawn.weights[::2].sum(axis=0) + drawn.made_up == 3).all()
    assert (drawn.weights[::2] == drawn.weights[1::2]).all()
    count = ScoreOfSums(np.ones((1, 6)), lambda sums: sums[0], np.ones((1, 1)))
    scores, truth = drawn.replicates(count)
    assert (scores == 6).all()
    assert truth == 6


def test_one_seed_gives_one_interval_and_cells_differ() -> None:
    x = np.random.default_rng(0).random((1, 50))
    mean = ScoreOfSums(np.vstack([x, np.ones((1, 50))]), lambda s: s[0] / s[1], np.zeros((2, 0)))
    units = np.arange(50)
    one, again, other = (Resample(units, 200, 1, s).interval(mean, level=0.9) for s in (0, 0, 1))
    assert one == again != other


@pytest.mark.parametrize(("n", "d"), [(12, 5), (12, 30)])
def test_scores_without_each_part_are_those_of_the_rest(n: int, d: int) -> None:
    x = np.random.default_rng(n + d).normal(size=(n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    parts = np.arange(n) % 4
    expected = [vendi_score(x[parts != part]) for part in range(4)]
    assert vendi_without(x, parts) == pytest.approx(expected, rel=1e-9)
    assert np.isnan(vendi_without(x, np.zeros(n, int))).all()
