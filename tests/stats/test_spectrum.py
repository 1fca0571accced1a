"""WALS, its directions and its interval: against plain SVD, in closed form, and over simulated samples."""

from __future__ import annotations

import numpy as np
import pytest

from stereotrope.errors import UsageError
from stereotrope.stats import (
    GramSums,
    alignment_floor,
    alignment_interval,
    alignment_of_vectors,
    class_direction,
    kernel_alignment,
    weighted_alignment,
)


def drawn(rng: np.random.Generator, n: int, d: int = 12) -> np.ndarray:
    x = rng.normal(size=(n, d)) * np.arange(1, d + 1.0) ** -0.7 + np.eye(d)[0]
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def plain(x: np.ndarray, direction: np.ndarray, *, centre: bool) -> float:
    """Equation 7 as it stands, images as columns, with the size of each product."""
    e = (x - x.mean(axis=0) if centre else x).T
    u, s, _ = np.linalg.svd(e, full_matrices=False)
    unit = direction / np.linalg.norm(direction)
    return float(sum(si * abs(unit @ ui) for si, ui in zip(s, u.T, strict=True)) / s.sum())


@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("n", [5, 12, 90])
def test_sums_give_what_a_decomposition_of_the_vectors_gives(n: int, centre: bool) -> None:
    rng = np.random.default_rng(1)
    x, directions = drawn(rng, n), rng.normal(size=(12, 3))
    sums = GramSums.empty(12, 4)
    sums.add(x, np.arange(n) % 4)
    expected = [plain(x, one, centre=centre) for one in directions.T]
    # The square root of a Gram matrix's rounding is 1e-8 of its greatest eigenvalue.
    assert weighted_alignment(sums.gram(centre=centre), directions) == pytest.approx(expected, abs=1e-6)
    assert alignment_of_vectors(x, directions, centre=centre) == pytest.approx(expected, abs=1e-10)
    kept = np.arange(n) % 4 != 2
    without = weighted_alignment(sums.gram(centre=centre, without=2), directions)
    assert without == pytest.approx(alignment_of_vectors(x[kept], directions, centre=centre), abs=1e-6)


def test_order_pieces_and_signs_do_not_matter() -> None:
    rng = np.random.default_rng(2)
    x, direction = drawn(rng, 300), rng.normal(size=(12, 1))
    one, other = GramSums.empty(12), GramSums.empty(12)
    one.add(x)
    for part in np.array_split(rng.permutation(x), 7):
        other.add(part)
    found = [
        weighted_alignment(sums.gram(centre=True), s * direction) for sums in (one, other) for s in (1, -1)
    ]
    assert np.ptp(found) < 1e-10


def test_single_precision_vectors_are_summed_in_double() -> None:
    rng = np.random.default_rng(3)
    x = drawn(rng, 20_000).astype(np.float32)
    sums = GramSums.empty(12)
    sums.add(x)
    direction = rng.normal(size=(12, 1))
    exact = alignment_of_vectors(x.astype(np.float64), direction, centre=False)
    assert weighted_alignment(sums.gram(centre=False), direction) == pytest.approx(exact, abs=1e-6)
    assert sums.products.dtype == sums.sums.dtype == np.float64


def test_what_is_planted_along_a_direction_is_found_there() -> None:
    rng = np.random.default_rng(4)
    d, n = 16, 4000
    sizes = np.array([5.0, 2.0, 1.0] + [0.1] * (d - 3))
    axes = np.linalg.qr(rng.normal(size=(d, d)))[0]
    x = rng.normal(size=(n, d)) * sizes @ axes.T
    found = alignment_of_vectors(x, axes[:, :3], centre=True)
    assert found == pytest.approx(sizes[:3] / sizes.sum(), rel=0.1)


def test_without_variation_or_length_there_is_none() -> None:
    same = GramSums.empty(3)
    same.add(np.tile([0.6, 0.8, 0.0], (5, 1)))
    directions = np.eye(3)[:, :2]
    assert np.isnan(weighted_alignment(np.zeros((3, 3)), directions)).all()
    assert weighted_alignment(same.gram(centre=False), directions) == pytest.approx([0.6, 0.8])
    assert np.isnan(alignment_of_vectors(np.zeros((0, 3)), directions, centre=False)).all()
    found = weighted_alignment(np.diag([3.0, 2.0, 1.0]), np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]))
    assert found[0] == pytest.approx(3**0.5 / (3**0.5 + 2**0.5 + 1))
    assert np.isnan(found[1])


@pytest.mark.parametrize("d", [3, 40])
def test_the_floor_is_what_directions_at_random_read(d: int) -> None:
    rng = np.random.default_rng(5)
    directions = rng.normal(size=(d, 4000))
    found = alignment_of_vectors(drawn(rng, 200, d), directions, centre=False)
    assert found.mean() == pytest.approx(alignment_floor(d), abs=4 * found.std() / np.sqrt(4000))
    with pytest.raises(UsageError, match="vectors must have at least one number, found 0"):
        alignment_floor(0)


def test_supervised_pca_of_two_classes_is_the_direction_of_the_class_means() -> None:
    rng = np.random.default_rng(6)
    x, labels = drawn(rng, 70), rng.integers(0, 2, 70)
    x[labels == 1] += 0.1 * rng.normal(size=12)
    expected = x[labels == 1].mean(axis=0) - x[labels == 0].mean(axis=0)
    expected /= np.linalg.norm(expected)
    assert class_direction(x, labels) == pytest.approx(expected, abs=1e-8)
    assert class_direction(x, 1 - labels) == pytest.approx(-expected, abs=1e-8)


def test_supervised_pca_of_several_classes_is_the_leading_eigenvector() -> None:
    rng = np.random.default_rng(7)
    x, labels = drawn(rng, 60), rng.integers(0, 4, 60)
    h = np.eye(60) - 1 / 60
    m = x.T @ h @ (labels[:, None] == labels).astype(float) @ h @ x
    leading = np.linalg.eigh(m)[1][:, -1]
    assert abs(leading @ class_direction(x, labels)) == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 0, 1]])
def test_one_class_or_equal_means_have_no_direction(labels: list[int]) -> None:
    x = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 1.0], [3.0, 1.0]])
    assert np.isnan(class_direction(x, labels)).all()
    assert np.isnan(kernel_alignment(x, x, [0] * 4))


@pytest.mark.parametrize("centre", [False, True])
def test_the_kernels_alignment_is_that_of_its_features(centre: bool) -> None:
    rng = np.random.default_rng(8)
    x, z = drawn(rng, 25), drawn(rng, 14)
    labels = np.arange(14) % 2
    z[labels == 1] += 0.3
    both, width = np.vstack([x, z]), 0.7
    k = np.exp(-((both[:, None] - both) ** 2).sum(axis=2) / (2 * width**2))
    values, vectors = np.linalg.eigh(k)
    features = vectors * np.sqrt(np.maximum(values, 0.0))  # whose products are the kernel
    of_x, of_z = features[:25], features[25:]
    h = np.eye(14) - 1 / 14
    m = k[25:, 25:] @ h @ (labels[:, None] == labels).astype(float) @ h @ k[25:, 25:]
    direction = of_z.T @ np.linalg.eigh(m)[1][:, -1]
    expected = plain(of_x, direction, centre=centre)
    assert kernel_alignment(x, z, labels, width=width, centre=centre) == pytest.approx(expected, abs=1e-6)
    assert kernel_alignment(rng.permutation(x), z, labels, centre=centre) == pytest.approx(
        kernel_alignment(x, z, labels, centre=centre), abs=1e-9
    )


@pytest.mark.parametrize("centre", [False, True])
def test_the_interval_covers_what_is_expected_at_this_number(centre: bool) -> None:
    rng = np.random.default_rng(9)
    directions = np.eye(12)[:, [0, 2]]
    truth = np.mean(
        [alignment_of_vectors(drawn(rng, 80), directions, centre=centre) for _ in range(600)], axis=0
    )
    held = []
    for _ in range(150):
        x = drawn(rng, 80)
        blocks = np.arange(80) % 10
        without = [alignment_of_vectors(x[blocks != b], directions, centre=centre) for b in range(10)]
        low, high = alignment_interval(alignment_of_vectors(x, directions, centre=centre), without)
        held.append((low <= truth) & (truth <= high))
    assert np.mean(held, axis=0).min() >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 150)
