"""Beside loops of Python, as published scripts have them: what ours takes of them, and that both agree.

The loops are timed on a slice and multiplied up; agreement is checked on the slice. What NumPy takes that
does all replicates at once is in :mod:`bench.divergences`.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bench.captions import SECONDS, SLICE, TIMES, all_measures, timed
from bench.reference import Rows, mean_js, permutation_null, row_bootstrap
from bench.rows import Found, Row
from stereotrope.measure import bds
from stereotrope.stats import expected_js, pairwise_js, permutation_p, resampled_counts, shuffled_js

Codes = NDArray[np.int64]

MODELS, OBJECTS, GROUPS, IMAGES, ATTRIBUTES, VALUES = 5, 8, 9, 20, 8, 6
TESTS = MODELS * OBJECTS * GROUPS
SHUFFLES, RESAMPLES = 10_000, 2_000
SLICE_TESTS, SLICE_SHUFFLES, SLICE_RESAMPLES = 2, 200, 200


def synthetic(rng: np.random.Generator) -> tuple[Codes, pl.DataFrame]:
    """8,000 images of 8 attributes, with a planted shift in every third group; codes and tidy labels."""
    conditions = GROUPS + 1
    cells = MODELS * OBJECTS
    codes = np.empty((cells, conditions, IMAGES, ATTRIBUTES), dtype=np.int64)
    for cell in range(cells):
        for attribute in range(ATTRIBUTES):
            base = rng.dirichlet([0.7] * VALUES)
            for condition in range(conditions):
                shares = rng.dirichlet([0.7] * VALUES) if condition % 3 == 2 else base
                codes[cell, condition, :, attribute] = rng.choice(VALUES, IMAGES, p=shares)
    cell, condition, image, attribute = (index.ravel() for index in np.indices(codes.shape))
    number = (cell * conditions + condition) * IMAGES + image
    frame = pl.DataFrame(
        {
            "image_id": np.char.add("image-", np.char.zfill(number.astype(str), 5)),
            "attribute": np.char.add("attribute-", attribute.astype(str)),
            "value": np.char.add("value-", codes.ravel().astype(str)),
            "generator": np.char.add("model-", (cell // OBJECTS).astype(str)),
            "object": np.char.add("object-", (cell % OBJECTS).astype(str)),
            "group": np.where(condition == 0, "base", np.char.add("group-", condition.astype(str))),
        }
    )
    return codes, frame


def rows_of(codes: Codes) -> Rows:
    return [tuple(f"value-{v}" for v in image) for image in codes.tolist()]


def all_tests(codes: Codes) -> NDArray[np.float64]:
    """p-values of every model × object × group."""
    groups = np.repeat([0, 1], IMAGES)
    p = []
    for cell in codes:
        for group in cell[1:]:
            pooled = np.concatenate([cell[0], group])
            js, _ = pairwise_js(pooled, groups)
            null = shuffled_js(pooled, groups, n_shuffles=SHUFFLES)
            p.append(float(permutation_p([js.mean()], null.mean(axis=1)[:, None])[0]))
    return np.array(p)


def permutation_tests(codes: Codes, rng: np.random.Generator) -> tuple[float, float, list[str]]:
    """CPU seconds of ours and of the reference for all tests, and what disagrees."""
    p, ours = timed(lambda: all_tests(codes))
    disagreements = []
    reference = 0.0
    groups = np.repeat([0, 1], IMAGES)
    for index in range(SLICE_TESTS):
        base, group = codes[0, 0], codes[0, 1 + index]
        one, other = rows_of(base), rows_of(group)
        null, seconds = timed(lambda one=one, other=other: permutation_null(one, other, SLICE_SHUFFLES, rng))
        reference += seconds
        pooled = np.concatenate([base, group])
        observed, _ = pairwise_js(pooled, groups)
        if abs(observed.mean() - mean_js(one, other)) > 1e-12:
            disagreements.append(f"test {index}: JS {observed.mean()!r} against {mean_js(one, other)!r}")
        pools = [np.bincount(pooled[:, a], minlength=VALUES) for a in range(ATTRIBUTES)]
        floor = float(np.mean(expected_js(np.array(pools), IMAGES, IMAGES)))
        if abs(null.mean() - floor) > 5 * null.std() / np.sqrt(SLICE_SHUFFLES):
            disagreements.append(f"test {index}: floor {floor:.5f} against {null.mean():.5f} of the loop")
        share = (1 + (null >= observed.mean() - 1e-12).sum()) / (1 + SLICE_SHUFFLES)
        if abs(share - p[index]) > 5 * np.sqrt(0.25 / SLICE_SHUFFLES):
            disagreements.append(f"test {index}: p {p[index]:.3f} against {share:.3f} of the loop")
    return ours, reference * (TESTS / SLICE_TESTS) * (SHUFFLES / SLICE_SHUFFLES), disagreements


def bootstrap_of_counts(codes: Codes, rng: np.random.Generator) -> tuple[float, float, list[str]]:
    """CPU seconds of ours and of the reference for all conditions, and what disagrees."""
    conditions = codes.reshape(-1, IMAGES, ATTRIBUTES)

    def everything() -> list[list[NDArray[np.int32]]]:
        return [resampled_counts(images, n_resamples=RESAMPLES) for images in conditions]

    counts, ours = timed(everything)
    samples, reference = timed(lambda: row_bootstrap(rows_of(conditions[0]), SLICE_RESAMPLES, rng))
    disagreements = []
    loop = np.array([[[c[f"value-{v}"] for v in range(VALUES)] for c in sample] for sample in samples])
    mine = np.zeros((RESAMPLES, ATTRIBUTES, VALUES))
    for attribute, counted in enumerate(counts[0]):
        mine[:, attribute, np.unique(conditions[0, :, attribute])] = counted.T
    margin = 5 * np.sqrt(IMAGES * 0.25 / SLICE_RESAMPLES)
    if np.abs(loop.mean(axis=0) - mine.mean(axis=0)).max() > margin:
        disagreements.append("bootstrap: mean counts differ from the loop's")
    if not np.all(mine.sum(axis=2) == IMAGES):
        disagreements.append("bootstrap: a sample does not hold as many images as the condition")
    return ours, reference * len(conditions) * (RESAMPLES / SLICE_RESAMPLES), disagreements


def bench() -> Found:
    """Tests and bootstraps of 8,000 pictures of eight attributes, and all measures of 500 captions."""
    rng = np.random.default_rng(0)
    codes, frame = synthetic(rng)
    n = codes[..., 0].size
    *tests, odd_tests = permutation_tests(codes, rng)
    *counts, odd_counts = bootstrap_of_counts(codes, rng)
    captions, without_vendi, odd = all_measures(rng)
    timed_tests, timed_counts = SHUFFLES / SLICE_SHUFFLES, RESAMPLES / SLICE_RESAMPLES
    rows = [
        Row(f"{TESTS} tests by {SHUFFLES:,} shuffles, beside a loop", *tests, None, n, timed_tests),
        Row(f"bootstrap counts, {RESAMPLES:,} a condition, beside a loop", *counts, None, n, timed_counts),
        Row("all measures of captions, beside a loop", *captions, None, 500, RESAMPLES / SLICE),
        Row("the same without Vendi scores", *without_vendi, None, 500, RESAMPLES / SLICE),
        Row("bds: tests, floors, intervals, q-values", timed(lambda: bds(frame))[1], None, None, n),
    ]
    wrong = [f"DISAGREES  {line}" for line in (*odd_tests, *odd_counts, *odd)]
    if captions[0] > SECONDS or captions[1] < TIMES * captions[0]:
        wrong.append(f"TOO SLOW  captions: at most {SECONDS:g} s, and {TIMES} times as fast as the loop")
    return rows, wrong
