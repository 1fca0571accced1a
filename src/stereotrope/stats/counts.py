"""Coded labels as one-hot columns, so that counting is a matrix product."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import accumulate, combinations, groupby
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from stereotrope.stats.arrays import Counts, Floats
from stereotrope.stats.divergence import expected_js, floor_terms, js_terms
from stereotrope.stats.draw_costs import few
from stereotrope.stats.pair_sums import PairTerm, pair_sums

_Number = TypeVar("_Number", np.float32, np.float64)
_TABLE_CELLS = 1 << 20
"""Greatest look-up table; counts times its strides stay exact in single precision below 2**24."""
ONE_THREAD = 1 << 18
"""Multiplications of a product that OpenBLAS does on one thread."""
_WIDTH = 32
"""Replicates that are multiplied together, at least."""
_ROWS = 1 << 12
"""Images whose columns are made together."""
_SPARSE = 50
"""How many times as large a matrix is as what it holds where that alone is multiplied."""
_SCORED_CELLS = 1 << 14
"""Counts that are scored together, of one attribute at least: what is made of them stays in the cache."""
_FLOOR_CELLS = 1 << 16
"""Greatest table of floors built at once: 39 images a side; larger ones are built as they are met."""


@dataclass(frozen=True)
class OneHot:
    """Labels of images as columns: one for each value of each attribute that occurs.

    columns: Shape (n_columns, n_images), 1 where the image has the value.
    weights: How many images each of these stands for, shape (n_images,): 1 unless they are distinct rows.
    attribute: Attribute index of each column.
    complete: By attribute: every image has a label.
    """

    columns: Counts
    weights: NDArray[np.int64]
    attribute: NDArray[np.int64]
    complete: NDArray[np.bool_]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First column of each attribute that has a label."""
        return np.array([place.start for _, place in self.parts], np.int64)

    @cached_property
    def parts(self) -> list[tuple[int, slice]]:
        """Each attribute that has a label, and its columns."""
        found = attribute_columns(self.attribute, len(self.complete))
        return [(at, place) for at, place in enumerate(found) if place.start < place.stop]

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """How many images are counted by each column."""
        return np.array([self.weights[column > 0].sum() for column in self.columns], np.int64)


def one_hot(codes: NDArray[np.integer], weights: NDArray[np.int64] | None = None) -> OneHot:
    """One-hot columns of ``codes``, shape (n_images, n_attributes), −1 where an image has no label."""
    columns, attribute, unlabelled = hot_columns(codes)
    return OneHot(
        columns=columns,
        weights=np.ones(len(codes), np.int64) if weights is None else weights,
        attribute=attribute,
        complete=unlabelled == 0,
    )


def hot_columns(codes: NDArray[np.integer]) -> tuple[Counts, NDArray[np.int64], NDArray[np.int64]]:
    """The columns, the attribute of each, and of each attribute how many images have no label."""
    n, n_attributes = codes.shape
    width = int(codes.max()) + 2 if codes.size else 1
    firsts = np.arange(1, n_attributes * width + 1, width)
    seen = np.bincount((codes + firsts).ravel(), minlength=n_attributes * width).reshape(-1, width)
    attribute, value = seen[:, 1:].nonzero()
    if n <= _ROWS:
        columns = (codes.T.take(attribute, axis=0) == value[:, None]).astype(np.float32)
    else:
        columns = np.empty((len(value), n), np.float32)
        for start in range(0, n, _ROWS):
            some = slice(start, start + _ROWS)
            columns[:, some] = codes[some].T.take(attribute, axis=0) == value[:, None]
    return columns, attribute, seen[:, 0]


def attribute_columns(attribute: NDArray[np.int64], n_attributes: int) -> list[slice]:
    """Columns of each attribute, of those of rising attributes."""
    end = 0
    return [slice(end, end := end + n) for n in np.bincount(attribute, minlength=n_attributes).tolist()]


def tally(columns: NDArray[_Number], weights: NDArray[np.floating | np.uint8]) -> NDArray[_Number]:
    """Counts by column and replicate: ``columns @ weights``, as precise as the columns are.

    Products are taken in parts that BLAS does on one thread: waking threads for each costs more than the
    product, several times more on a busy machine. Whole numbers are summed without rounding in any parts.
    """
    (rows, inner), n = columns.shape, weights.shape[1]
    result = np.empty((rows, n), columns.dtype)
    if rows * inner * n <= ONE_THREAD:
        np.matmul(columns, weights.astype(columns.dtype, copy=False), out=result)
        return result
    width = min(n, max(_WIDTH, ONE_THREAD // (rows * inner)))
    depth, whole = max(1, ONE_THREAD // (rows * width)), n // width * width
    for part, blocks in ((slice(whole), (-1, width)), (slice(whole, n), (1, n - whole))):
        out = result[:, part].reshape(rows, *blocks).transpose(1, 0, 2)
        for start in range(0, inner, depth):
            some = slice(start, start + depth)
            by = weights[some, part].astype(columns.dtype, copy=False)
            by = by.reshape(len(by), *blocks).transpose(1, 0, 2)
            if start:
                out += columns[:, some] @ by
            else:
                np.matmul(columns[:, some], by, out=out)
    return result


def tally_of_rows(
    columns: NDArray[_Number],
) -> Callable[[NDArray[np.floating | np.uint8]], NDArray[_Number]]:
    """What :func:`tally` of these columns is of any weights; of many values most of a column is empty."""
    if _SPARSE * np.count_nonzero(columns) > columns.size:
        return partial(tally, columns)
    from scipy import sparse  # noqa: PLC0415

    few_full = sparse.csr_array(columns)
    return lambda weights: np.asarray(few_full @ weights.astype(columns.dtype, copy=False))


def tally_draws(drawn: NDArray[np.int64], n: int) -> Counts:
    """How often each of ``n`` things was drawn: from draws of shape (B, …) counts of shape (n, B)."""
    rows = len(drawn)
    flat = drawn + np.arange(rows)[:, None] * n
    weights = np.bincount(flat.ravel(), minlength=n * rows).reshape(rows, n)
    return np.ascontiguousarray(weights.T, dtype=np.float32)


@lru_cache(maxsize=64)
def _complete_js_table(n_p: int, n_q: int) -> Floats:
    """Terms of JS by ``(x, y)``, every image having a label."""
    p = np.arange(n_p + 1)[:, None] / n_p
    return np.asarray(js_terms(p, np.arange(n_q + 1)[None, :] / n_q).ravel())


@lru_cache(maxsize=16)
def _js_table(n_p: int, n_q: int) -> Floats:
    """Terms of JS by ``(x, m, y, l)``: counts ``x`` of ``m`` labelled images and ``y`` of ``l``."""
    return np.asarray(js_terms(_share_table(n_p)[:, None], _share_table(n_q)[None, :]).ravel())


def _share_table(n: int) -> Floats:
    x, m = np.indices((n + 1, n + 1), np.float64)
    return np.asarray(np.divide(x, m, out=np.full_like(x, np.nan), where=m > 0).ravel())


@lru_cache(maxsize=16)
def _floor_tables(n_p: int, n_q: int) -> Floats:
    """Terms of the floor by ``(m, l, c)``: pooled count ``c`` of ``m`` and ``l`` labelled images."""
    tables = np.full((n_p + 1, n_q + 1, n_p + n_q + 1), np.nan)
    for m in range(1, n_p + 1):
        for n in range(1, n_q + 1):
            tables[m, n, : m + n + 1] = floor_terms(np.arange(m + n + 1), m, n)
    return tables.ravel()


@dataclass(frozen=True)
class _Block:
    """Columns of some attributes: all complete, or all not."""

    counts: Sequence[Counts]
    names: Sequence[int]
    starts: Sequence[int]
    sizes: Sequence[int]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.counts)), 2))

    def labelled(self) -> list[Counts]:
        """For each group the images with a label of the column's attribute."""
        lengths = np.diff(np.append(self.starts, len(self.counts[0])))
        return [np.repeat(np.add.reduceat(c, self.starts, axis=0), lengths, axis=0) for c in self.counts]

    def add_up(self, terms: Floats) -> Floats:
        if len(terms) > terms.shape[1]:
            return np.asarray(np.add.reduceat(terms, self.starts, axis=0))
        ends = [*self.starts[1:], len(terms)]
        return np.stack([terms[start:end].sum(axis=0) for start, end in zip(self.starts, ends, strict=True)])

    def js(self, terms: Floats) -> Floats:
        return np.asarray(self.add_up(terms).clip(0.0, 1.0))

    def mean_over_pairs(self, scores: Iterable[Floats]) -> Floats:
        """Mean of the pairs' defined scores; NaN where none is."""
        if len(self.counts) == 2:
            return next(iter(scores))
        total = np.zeros((len(self.names), self.counts[0].shape[1]))
        defined = np.zeros_like(total)
        for score in scores:
            known = ~np.isnan(score)
            defined += known
            total += np.where(known, score, 0.0)
        return np.divide(total, defined, out=np.full_like(total, np.nan), where=defined > 0)


def mean_pair_js(counts: Sequence[Counts], sizes: Sequence[int], hot: OneHot) -> Floats:
    """JS of each attribute in bits, averaged over the pairs of groups for which it is defined.

    counts: For each group the counts by column and replicate, shape (n_columns, n_replicates).
    sizes: Images in each group, the same in every replicate.
    Returns: Shape (n_attributes, n_replicates). NaN where fewer than two groups have a label.
    """
    return _mean_scores(counts, sizes, hot, _js_term, _incomplete_js).clip(0.0, 1.0)


def _mean_scores(
    counts: Sequence[Counts],
    sizes: Sequence[int],
    hot: OneHot,
    term: PairTerm,
    incomplete: Callable[[_Block], Iterator[Floats]],
) -> Floats:
    result = np.full((len(hot.complete), counts[0].shape[1]), np.nan)
    for block in _blocks(counts, sizes, hot, complete=True):
        result[block.names] = block.add_up(pair_sums(block.counts, sizes, term)) / len(block.pairs)
    for block in _blocks(counts, sizes, hot, complete=False):
        result[block.names] = block.mean_over_pairs(incomplete(block))
    return result


def _blocks(counts: Sequence[Counts], sizes: Sequence[int], hot: OneHot, complete: bool) -> Iterator[_Block]:
    """Attributes that are complete, or those that are not, some at a time."""
    most = max(1, _SCORED_CELLS // counts[0].shape[1])
    parts = [part for part in hot.parts if hot.complete[part[0]] == complete]
    for _, some in groupby(parts, lambda part: part[1].start // most):
        names, places = zip(*some, strict=True)
        *starts, _ = accumulate((place.stop - place.start for place in places), initial=0)
        kept = [c[places[0]] if len(places) == 1 else np.concatenate([c[p] for p in places]) for c in counts]
        yield _Block(kept, list(names), starts, sizes)


def mean_pair_js_of_weights(weights: Sequence[Counts], hot: OneHot) -> Floats:
    """As :func:`mean_pair_js` for weights that are no whole counts, such as probabilities."""
    result = np.full((len(hot.complete), weights[0].shape[1]), np.nan)
    if len(hot.attribute):
        block = _Block(weights, hot.attribute[hot.starts].tolist(), hot.starts.tolist(), ())
        shares = [labelled_shares(w, m) for w, m in zip(block.counts, block.labelled(), strict=True)]
        scores = (block.js(js_terms(shares[g], shares[h])) for g, h in block.pairs)
        result[block.names] = block.mean_over_pairs(scores)
    return result


def _js_term(x: NDArray[np.number], y: NDArray[np.number], n_p: int, n_q: int) -> Floats:
    """Parts of JS of values with these counts, every image having a label."""
    if (n_p + 1) * (n_q + 1) > _TABLE_CELLS:
        return js_terms(x.astype(np.float64) / n_p, y.astype(np.float64) / n_q)
    index = x * np.float32(n_q + 1) + y
    return _complete_js_table(n_p, n_q).take(index.astype(np.intp), mode="clip")


def _incomplete_js(block: _Block) -> Iterator[Floats]:
    counts, sizes, labelled = block.counts, block.sizes, block.labelled()
    for g, h in block.pairs:
        if ((sizes[g] + 1) * (sizes[h] + 1)) ** 2 <= _TABLE_CELLS:
            one = counts[g] * np.float32(sizes[g] + 1) + labelled[g]
            other = counts[h] * np.float32(sizes[h] + 1) + labelled[h]
            index = (one * np.float32((sizes[h] + 1) ** 2) + other).astype(np.intp)
            yield block.js(_js_table(sizes[g], sizes[h]).take(index, mode="clip"))
        else:
            yield block.js(js_terms(*(labelled_shares(counts[k], labelled[k]) for k in (g, h))))


def labelled_shares(counts: Counts, labelled: Counts) -> Floats:
    """Shares among the labelled images; NaN where there is none."""
    exact = counts.astype(np.float64)
    return np.divide(exact, labelled, out=np.full_like(exact, np.nan), where=labelled > 0)


def mean_pair_floor(counts: Sequence[Counts], sizes: Sequence[int], hot: OneHot) -> Floats:
    """Closed-form floor of each attribute, averaged over the same pairs as :func:`mean_pair_js`.

    Each pair's floor is that of its own pooled counts. Arguments and result as there.
    """
    exact = counts[0].shape[1] == 1

    def term(x: NDArray[np.number], y: NDArray[np.number], n_p: int, n_q: int) -> Floats:
        return floor_terms((x + y).astype(np.intp), n_p, n_q, exact=exact)

    return _mean_scores(counts, sizes, hot, term, _incomplete_floor)


def _incomplete_floor(block: _Block) -> Iterator[Floats]:
    counts, sizes, labelled = block.counts, block.sizes, block.labelled()
    ends = [*block.starts[1:], len(counts[0])]
    for g, h in block.pairs:
        pooled = counts[g] + counts[h]
        width = sizes[g] + sizes[h] + 1
        if (sizes[g] + 1) * (sizes[h] + 1) * width <= _FLOOR_CELLS:
            row = labelled[g] * np.float32(sizes[h] + 1) + labelled[h]
            index = (row * np.float32(width) + pooled).astype(np.intp)
            yield block.add_up(_floor_tables(sizes[g], sizes[h]).take(index, mode="clip"))
        elif few(sizes) or pooled.shape[1] == 1:
            yield np.stack(
                [
                    expected_js(pooled[start:end].T, labelled[g][start], labelled[h][start])
                    for start, end in zip(block.starts, ends, strict=True)
                ]
            )
        else:
            yield block.add_up(_floors_about_the_mean(pooled, labelled[g], labelled[h]))


def _floors_about_the_mean(pooled: Counts, one: Counts, other: Counts) -> Floats:
    """Terms of floors of replicates whose numbers of labels differ, from those of their mean numbers.

    A term is about :math:`(1 - c/N) N^2 / (8 ln 2 (N - 1) n_p n_q)`, but for rare values, where it depends on
    their own count: so it is that of the same count, of the value or else of all others, times the quotient
    of these. It errs by thousandths of a floor, by a fiftieth where two in five labels are missing, and only
    enters the spread of resamples.
    """
    terms = np.full(pooled.shape, np.nan)
    usual = np.maximum(1, np.stack([one.mean(axis=1), other.mean(axis=1)], axis=1).round().astype(np.int64))
    for n_p, n_q in np.unique(usual, axis=0).tolist():
        here = (usual == (n_p, n_q)).all(axis=1)
        c, p, q = (x[here].astype(np.float64) for x in (pooled, one, other))
        n, mean_n = p + q, n_p + n_q
        alike = np.maximum(0, np.where(2 * c <= n, c, mean_n - (n - c)))
        with np.errstate(divide="ignore", invalid="ignore"):
            by = (1 - c / n) * n * n / ((n - 1) * p * q)
            by /= (1 - alike / mean_n) * mean_n * mean_n / ((mean_n - 1) * n_p * n_q)
            found = np.where(c < n, floor_terms(alike.astype(np.int64), n_p, n_q) * by, 0.0)
        terms[here] = np.where(p * q > 0, found, np.nan)
    return terms


def pairwise_js(codes: NDArray[np.integer], groups: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """JS of each attribute, averaged over the pairs of groups, and its closed-form floor.

    codes, groups: As in :func:`stereotrope.stats.shuffled_js`.
    Returns: Divergence and floor in bits, each of shape (n_attributes,). Only pairs enter in which both
        groups have a label; NaN where there is none.
    """
    hot = one_hot(codes)
    sizes = np.bincount(groups).tolist()
    counts = [hot.columns[:, groups == g].sum(axis=1, keepdims=True) for g in range(len(sizes))]
    return mean_pair_js(counts, sizes, hot)[:, 0], mean_pair_floor(counts, sizes, hot)[:, 0]
