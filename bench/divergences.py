"""Rows of the table of times for divergences and concentrations: their shuffles, their bootstraps, and whole.

The references are NumPy as a careful user writes it, all replicates at once and some at a time where they
would not fit: labels shuffled as a matrix and multiplied with one-hot columns, weights of images counted by
``bincount``. Of 2,000 pictures and more they are run on a slice and multiplied up. The limit is one step of
them, which they cannot leave out, though ours may: the matrix product, or drawing the numbers. Ours keeps
numbers that it has drawn for further groups of the same sizes; what the first of them takes is told too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from bench.reference import Codes, counts_of_draws, js_of_draws, js_of_shuffles, label_matrix_product
from bench.rows import Found, Row, in_turns
from stereotrope.measure import bds, vac
from stereotrope.stats import bootstrap, redraws, resampled_counts, resampled_js, shuffled_js, shuffles

SIZES = (20, 200, 2_000, 200_000)
SHUFFLES, RESAMPLES = 10_000, 2_000
KINDS = {"8 attributes of 6": (8, 6), "2 attributes of 6": (2, 6), "1 attribute of 2": (1, 2)}
LEAST_TIMES = 4
"""How much faster than the reference shuffles and bootstraps are at least."""
MOST_SECONDS = 5.0
"""What a measure of two groups of 200,000 pictures may take at most."""
_CELLS = 4_000_000
"""Pictures times replicates that a reference is run on."""
_KEPT = (
    shuffles._one_by_one,
    bootstrap._kept_draws,
    bootstrap._kept_weights,
    bootstrap._borrowed,
    redraws._kept_weights,
)
"""Numbers that are drawn once for groups of the same sizes."""
_KEPT_SIZE = 2_000
"""Pictures up to which numbers are kept."""


def labels_of(n: int, attributes: int, values: int) -> Codes:
    """Codes of two groups of ``n`` images whose shares differ a little."""
    rng = np.random.default_rng([n, attributes, values])
    shares = rng.dirichlet(np.ones(values), attributes)
    return np.stack([rng.choice(values, 2 * n, p=one) for one in shares], axis=1)


def frame_of(codes: Codes) -> pl.DataFrame:
    """The tidy labels of two groups of images."""
    image, attribute = (index.ravel() for index in np.indices(codes.shape))
    frame = pl.DataFrame({"image": image, "attribute": attribute, "value": codes.ravel()})
    return frame.select(
        image_id=pl.col("image").cast(pl.String).str.zfill(7),
        attribute="attribute-" + pl.col("attribute").cast(pl.String),
        value="value-" + pl.col("value").cast(pl.String),
        generator=pl.lit("model"),
        object=pl.lit("car"),
        group=pl.when(pl.col("image") < len(codes) // 2).then(pl.lit("base")).otherwise(pl.lit("women")),
    )


def _beside(
    name: str, n: int, replicates: int, ours: Callable[[], object], *others: Callable[[int], object]
) -> Row:
    some = max(2, min(replicates, _CELLS // n))
    reference, limit = ((lambda one=one: one(some)) for one in others)
    rounds = 5 if n <= 200 else 3 if n <= 2_000 else 1
    return in_turns(
        name, n, ours=ours, reference=reference, limit=limit, rounds=rounds, times=replicates / some
    )


def _first(call: Callable[[], object]) -> Callable[[], object]:
    """The call, with nothing kept before."""

    def called() -> object:
        for kept in _KEPT:
            kept.cache_clear()
        return call()

    return called


def first_of_their_size(kind: str) -> Iterator[Row]:
    """What the first groups of their sizes take, by size."""
    sizes = [n for n in SIZES if n <= _KEPT_SIZE]
    given = [(n, labels_of(n, *KINDS[kind]), np.repeat([0, 1], n)) for n in sizes]
    each: dict[str, Callable[[int, Codes, Codes], object]] = {
        "shuffles": lambda _, codes, groups: shuffled_js(codes, groups, n_shuffles=SHUFFLES),
        "smoothed bootstrap": lambda _, codes, groups: resampled_js(codes, groups, n_resamples=RESAMPLES),
        "bootstrap of one group": lambda n, codes, _: resampled_counts(codes[:n], n_resamples=RESAMPLES),
    }
    for name, call in each.items():
        for one in given:
            ours = _first(lambda call=call, one=one: call(*one))
            yield in_turns(f"{name}, the first", one[0], ours=ours, rounds=3)


def replicates(kind: str) -> Iterator[Row]:
    """Shuffles and bootstraps of one kind of labels, by size."""
    rng = np.random.default_rng(0)
    given = {n: (labels_of(n, *KINDS[kind]), np.repeat([0, 1], n)) for n in SIZES}
    for n, (codes, groups) in given.items():
        yield _beside(
            f"shuffles, {kind}",
            n,
            SHUFFLES,
            lambda codes=codes, groups=groups: shuffled_js(codes, groups, n_shuffles=SHUFFLES),
            lambda some, codes=codes, n=n: js_of_shuffles(codes, n, some, rng),
            lambda some, codes=codes: label_matrix_product(codes, some),
        )
    for n, (codes, groups) in given.items():
        yield _beside(
            f"smoothed bootstrap, {kind}",
            n,
            RESAMPLES,
            lambda codes=codes, groups=groups: resampled_js(codes, groups, n_resamples=RESAMPLES),
            lambda some, codes=codes, n=n: js_of_draws(codes, n, some, rng),
            lambda some, codes=codes: rng.integers(0, len(codes) // 2, size=(some, len(codes))),
        )
    for n, (codes, _) in given.items():
        yield _beside(
            f"bootstrap of one group, {kind}",
            n,
            RESAMPLES,
            lambda codes=codes, n=n: resampled_counts(codes[:n], n_resamples=RESAMPLES),
            lambda some, codes=codes, n=n: counts_of_draws(codes[:n], some, rng),
            lambda some, n=n: rng.integers(0, n, size=(some, n)),
        )


def measures(kind: str) -> Iterator[Row]:
    """A frame of labels of two groups to estimates, by size."""
    for name, measure in (("bds", bds), ("vac", vac)):
        for n in SIZES:
            frame = frame_of(labels_of(n, *KINDS[kind]))
            limit = ["attribute", "value", "group"]
            yield in_turns(
                f"{name} with intervals, {kind}",
                n,
                ours=lambda frame=frame, measure=measure: measure(frame),
                limit=lambda frame=frame, limit=limit: frame.group_by(limit).len(),
                rounds=1 if n > 2_000 else 3,
            )


def bench() -> Found:
    """All rows of this file; one thread (``OPENBLAS_NUM_THREADS=1``)."""
    told = [row for kind in KINDS for row in replicates(kind)]
    told += first_of_their_size("8 attributes of 6")
    told += [row for kind in KINDS for row in measures(kind)]
    slow = []
    for row in told:
        if row.reference and row.reference < LEAST_TIMES * row.ours:
            slow.append(f"TOO SLOW  {row.name}, {row.n:,}: under {LEAST_TIMES} times the reference")
        if row.reference is None and row.ours > MOST_SECONDS:
            slow.append(f"TOO SLOW  {row.name}, {row.n:,}: over {MOST_SECONDS:g} s")
    return told, slow
