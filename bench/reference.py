"""Reference implementations: plain loops with SciPy's distance, and all replicates at once with NumPy."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon
from scipy.special import entr

Rows = list[tuple[str, ...]]
Codes = NDArray[np.int64]
Columns = NDArray[np.float32]


def mean_js(one: Rows, other: Rows) -> float:
    """Mean over attributes of JS in bits between two lists of images, each a tuple of values."""
    scores = []
    for attribute in range(len(one[0])):
        p, q = (Counter(image[attribute] for image in side) for side in (one, other))
        values = sorted({*p, *q})
        distance = jensenshannon([p[v] for v in values], [q[v] for v in values])
        scores.append(float(distance) ** 2 / math.log(2))
    return sum(scores) / len(scores)


def permutation_null(
    one: Rows, other: Rows, n_shuffles: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Mean JS of shuffled images, one shuffle at a time."""
    pooled = one + other
    null = np.empty(n_shuffles)
    for index in range(n_shuffles):
        order = rng.permutation(len(pooled))
        shuffled = [pooled[i] for i in order]
        null[index] = mean_js(shuffled[: len(one)], shuffled[len(one) :])
    return null


def row_bootstrap(images: Rows, n_resamples: int, rng: np.random.Generator) -> list[list[Counter[str]]]:
    """Counts of each attribute in each bootstrap sample, one row drawn at a time."""
    samples = []
    for _ in range(n_resamples):
        drawn = [images[i] for i in rng.integers(0, len(images), len(images))]
        samples.append([Counter(image[a] for image in drawn) for a in range(len(images[0]))])
    return samples


def one_hot_columns(codes: Codes) -> Columns:
    """Columns of zeros and ones by attribute and value, shape (n_columns, n_images)."""
    hot = np.arange(codes.max() + 1)[None, :, None] == codes.T[:, None, :]
    return hot.reshape(-1, len(codes)).astype(np.float32)


def label_matrix_product(codes: Codes, n_replicates: int) -> Columns:
    """The matrix product of all replicates alone."""
    product: Columns = one_hot_columns(codes) @ np.ones((len(codes), n_replicates), np.float32)
    return product


def js_of_counts(
    one: NDArray[np.float32], other: NDArray[np.float32], attributes: int
) -> NDArray[np.float64]:
    """JS of each attribute and replicate in bits, of counts of the same number of images."""
    p, q = (
        x / x.reshape(attributes, -1, x.shape[1]).sum(axis=1)[:1].astype(np.float64) for x in (one, other)
    )
    terms = entr((p + q) / 2) - (entr(p) + entr(q)) / 2
    score: NDArray[np.float64] = terms.reshape(attributes, -1, terms.shape[1]).sum(axis=1) / math.log(2)
    return score


def js_of_shuffles(codes: Codes, n: int, n_shuffles: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """JS of shuffled groups: a matrix of shuffled labels times one-hot columns."""
    columns, parts = one_hot_columns(codes), []
    total = columns.sum(axis=1, keepdims=True)
    first = (np.arange(len(codes)) < n).astype(np.uint8)
    for some in _slices(len(codes), n_shuffles):
        shuffled = rng.permuted(np.tile(first, (some, 1)), axis=1)
        counts = columns @ shuffled.T.astype(np.float32)
        parts.append(js_of_counts(counts, total - counts, codes.shape[1]))
    return np.concatenate(parts, axis=1)


def counts_of_draws(codes: Codes, n_resamples: int, rng: np.random.Generator) -> Columns:
    """Bootstrap counts: weights of images by ``bincount``, times one-hot columns."""
    columns, parts = one_hot_columns(codes), []
    for some in _slices(len(codes), n_resamples):
        drawn = rng.integers(0, len(codes), size=(some, len(codes)))
        parts.append(columns @ _weights(drawn, len(codes)))
    return np.concatenate(parts, axis=1)


def js_of_draws(codes: Codes, n: int, n_resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """JS of smoothed bootstrap samples: each label is one of all images' with probability 2 / (n + 2)."""
    values, parts = int(codes.max()) + 1, []
    hot = one_hot_columns(codes)
    for some in _slices(n, n_resamples):
        counts = []
        for first in (0, n):
            own = rng.integers(first, first + n, size=(some, n))
            tallied = []
            for attribute in range(codes.shape[1]):
                other = rng.integers(0, 2 * n, size=(some, n))
                drawn = np.where(rng.random((some, n)) < 2 / (n + 2), other, own)
                part = hot[attribute * values : (attribute + 1) * values]
                tallied.append(part @ _weights(drawn, 2 * n))
            counts.append(np.concatenate(tallied))
        parts.append(js_of_counts(*counts, codes.shape[1]))
    return np.concatenate(parts, axis=1)


def _weights(drawn: Codes, n: int) -> Columns:
    flat = drawn + np.arange(len(drawn))[:, None] * n
    return np.bincount(flat.ravel(), minlength=n * len(drawn)).reshape(-1, n).T.astype(np.float32)


def _slices(n: int, replicates: int) -> list[int]:
    """How many replicates are drawn at once, about a million images together."""
    step = max(1, 1_000_000 // n)
    return [min(step, replicates - start) for start in range(0, replicates, step)]
