"""Plain reference implementations: loops over shuffles, attributes and rows with SciPy's distance."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon

Rows = list[tuple[str, ...]]


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
