"""How the groups of an attribute share the captions: shares, amplification, entropy, divergence."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from stereotrope.measure.captions.formulas import bias_score, divergence, evenness, group_score, xlog2
from stereotrope.measure.captions.frame import Captions
from stereotrope.measure.captions.groups import NO_GROUP, Groups, count_groups
from stereotrope.measure.captions.rows import (
    ScoreRow,
    above_floor,
    caption_measure,
    group_row,
    scored,
    share_of_captions,
    undefined,
)
from stereotrope.measure.units import SEEDS_COUNTED
from stereotrope.stats import (
    cluster_unevenness_interval,
    expected_sum,
    normal_quantile,
    shares_so_uneven,
    special,
    unevenness_slopes,
)
from stereotrope.stats.arrays import Floats

ONE_GROUP = "only one group is possible"
_NOTHING = 1e-12
"""What even shares may score by rounding."""
_STEP = 0.02
"""Unevenness, of 1 at most, over which it is seen how a score changes with it."""


@caption_measure(
    bounds=(0.0, 1.0),
    direction="equal shares: 1/k each; higher: named more often",
    source="T2I-BiasBench, eq. 5; Wilson 1927",
)
def representation_parity(
    cell: Captions, attribute: str, *, groups: Sequence[str] | None = None, unknown: bool = True
) -> list[ScoreRow]:
    r"""Share of captions that name each group of an attribute.

    Formula
    -------
    :math:`p_g = N_g / N`: of the :math:`N` captions with a group that counts, :math:`N_g` name :math:`g`.

    Parameters
    ----------
    captions
        Captions frame (:func:`captions_frame`): ``image_id``, ``caption``, the columns that are named here
        and the factors in ``by``; optional ``prompt_id`` and ``excluded`` (a reason).
    attribute
        Column of labels: a group, ``unknown`` where the caption names none, or groups joined by `` and ``.
    groups
        The declared groups, ``unknown`` left out; those seen in the cell when None.
    unknown
        Whether ``unknown`` is a group of its own; else such captions are left out. ``method`` says which.
    by
        Factors whose combinations are the cells.
    definition
        ``paper``: a row for each declared group. ``released``: for each group seen.
    level, n_bootstrap, seed
        Nominal coverage; resamples of the interval (0: none), unless it is Wilson's; seed of the resamples.

    Returns
    -------
    polars.DataFrame
        Estimates, one row a cell and ``category``; ``value`` in [0, 1], summing to 1 in a cell, with
        Wilson's interval. ``n`` counts captions with a group that counts; ``excluded`` the others:
        ``several groups named``, ``not a declared group``, ``missing``, ``unknown`` where it is out,
        ``empty caption`` …

    Undefined
    ---------
    ``no caption with a usable group`` where ``N = 0``.

    Notes
    -----
    A group seen in 0 of 100 captions may have a share of up to 0.04. Where a cell spans four prompts or more
    the interval is by the likelihood of their counts, flagged ``clustered``; where these share four seeds or
    more (column ``seed``), Wilson's at the effective number, which captions of one seed lessen as well. So it
    is with all measures of captions: intervals reach further by what seeds do.

    References
    ----------
    T2I-BiasBench, eq. 5; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": list("abcd"), "caption": "text", "generator": "m", "prompt": "doctor",
    ...     "gender": ["female", "female", "male", "unknown"],
    ... })
    >>> found = representation_parity(frame, "gender", groups=["female", "male"])
    >>> found.select("category", "value").rows()
    [('female', 0.5), ('male', 0.25), ('unknown', 0.25)]
    """
    counted = count_groups(cell, attribute, groups, unknown)
    row = group_row(cell, counted)
    if not counted.n:
        return [undefined({**row, "category": name}, NO_GROUP) for name in counted.names or (None,)]
    among = counted.columns.sum(axis=0)
    return [
        share_of_captions({**row, "category": name}, cell, hits, among)
        for name, hits in zip(counted.names, counted.columns, strict=True)
    ]


@caption_measure(
    bounds=(0.0, 2.0),
    direction="0: all groups equally often; 2(1 − 1/k): one group only; too high at small n",
    source="T2I-BiasBench, eq. 9",
    biased=("bias_amplification",),
)
def bias_amplification(
    cell: Captions, attribute: str, *, groups: Sequence[str] | None = None, unknown: bool = True
) -> list[ScoreRow]:
    r"""Summed distance of the groups' shares from equal shares.

    Formula
    -------
    :math:`BA = \sum_{j=1}^k |p_j - 1/k|`.

    Parameters
    ----------
    captions, attribute, groups, unknown, by, level, n_bootstrap, seed
        As for :func:`representation_parity`; :math:`k` counts the declared groups and, if in, ``unknown``.
    definition
        ``paper``: as above. ``released``: :math:`k` counts only the groups that were seen; the value is 0
        where only one was.

    Returns
    -------
    polars.DataFrame
        Estimates: ``value`` in [0, 2(1 − 1/k)]; 0: all groups equally frequent. ``floor`` is its mean at
        this n when they are, in closed form; ``adjusted`` is 1 where one group has all captions.

    Undefined
    ---------
    ``no caption with a usable group``; ``only one group is possible`` (k = 1).

    Notes
    -----
    Distance from equal shares; whatever its name, it says nothing about training data. The greatest value
    grows with k (1 for two groups, 1.71 for seven). Too high at small n: 0.50 at 15 captions of seven equally
    frequent groups. The interval reaches 0 where a likelihood-ratio test does not tell the shares from equal
    ones; over four prompts or more it is that of :func:`shannon_entropy`, by the powers of the shares that
    are as uneven as its ends, the upper one further by what the distance varies beside. Under ``released``
    one group only scores as all groups equally often.

    References
    ----------
    T2I-BiasBench, eq. 9.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"image_id": list("abcd"), "caption": "text", "gender": "f"})
    >>> found = bias_amplification(frame, "gender", groups=["f", "m"], by=(), unknown=False, n_bootstrap=99)
    >>> found["value"].to_list()
    [1.0]
    """
    counted = count_groups(cell, attribute, groups, unknown)
    return _spread_rows(cell, counted, bias_score, 2.0 - 2.0 / counted.k, _even_distance)


@caption_measure(
    bounds=(0.0, 1.0),
    direction="1: all groups equally often; 0: one group only; too low at small n",
    source="T2I-BiasBench, eq. 7",
    biased=("shannon_entropy",),
)
def shannon_entropy(
    cell: Captions, attribute: str, *, groups: Sequence[str] | None = None, unknown: bool = True
) -> list[ScoreRow]:
    r"""How evenly the groups share the captions: entropy over its greatest.

    Formula
    -------
    :math:`H = -\frac{1}{\log_2 k} \sum_{j=1}^k p_j \log_2 p_j`.

    Parameters
    ----------
    captions, attribute, groups, unknown, by, level, n_bootstrap, seed
        As for :func:`bias_amplification`.
    definition
        ``paper``: as above. ``released``: :math:`k` counts only the groups that were seen; the value is 0
        where only one was. (The released tables print the entropy in bits, not divided by its maximum.)

    Returns
    -------
    polars.DataFrame
        Estimates: ``value`` in [0, 1]; 1: all groups equally frequent, 0: one group only. ``floor`` is
        what it reads at this n when they are; ``excess`` is below 0 where they are less even than that.

    Undefined
    ---------
    ``no caption with a usable group``; ``only one group is possible`` (k = 1).

    Notes
    -----
    Too low at small n, by about (k − 1)/(2n ln k): 0.12 at 15 captions of seven groups. Over four prompts or
    more the interval is a unified one by the scatter of prompts
    (:func:`stereotrope.stats.cluster_unevenness_interval`): it held the entropy in 0.91 to 1.00, 0.97 on
    average (4 to 20 prompts of ten captions, correlated by 0 to 0.3). Under ``released`` two groups of seven
    seen equally often have the entropy of seven.

    References
    ----------
    T2I-BiasBench, eq. 7.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"image_id": list("abcd"), "caption": "text", "gender": list("ffmm")})
    >>> found = shannon_entropy(frame, "gender", groups=["f", "m"], by=(), unknown=False, n_bootstrap=99)
    >>> found["value"].to_list()
    [1.0]
    """
    counted = count_groups(cell, attribute, groups, unknown)
    return _spread_rows(cell, counted, evenness, 1.0, lambda n, k: _even_bits(n, k) / np.log2(k))


@caption_measure(
    bounds=(0.0, None),
    direction="0: all groups equally often; log2 k: one group only; too high at small n",
    source="T2I-BiasBench, eq. 8",
    biased=("kl_from_uniform",),
)
def kl_from_uniform(
    cell: Captions, attribute: str, *, groups: Sequence[str] | None = None, unknown: bool = True
) -> list[ScoreRow]:
    r"""Divergence of the groups' shares from equal shares, in bits.

    Formula
    -------
    :math:`KL(P \| U) = \sum_{j=1}^k p_j \log_2 (p_j k)`.

    Parameters
    ----------
    captions, attribute, groups, unknown, by, level, n_bootstrap, seed
        As for :func:`bias_amplification`.
    definition
        ``paper``: as above. ``released``: in nats, and :math:`k` counts the groups seen.

    Returns
    -------
    polars.DataFrame
        Estimates: ``value`` in [0, log2 k]; 0: all groups equally frequent. ``floor`` is its mean at this
        n when they are, in closed form; ``adjusted`` is 1 where one group has all captions.

    Undefined
    ---------
    ``no caption with a usable group``; ``only one group is possible`` (k = 1).

    Notes
    -----
    Equal to :math:`(1 - H) \log_2 k`: entropy on another scale, with the same interval, not further evidence.
    Too high at small n: 0.33 bits at 15 captions of seven equally frequent groups.

    References
    ----------
    T2I-BiasBench, eq. 8.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"image_id": list("abcd"), "caption": "text", "gender": "f"})
    >>> found = kl_from_uniform(frame, "gender", groups=["f", "m"], by=(), unknown=False, n_bootstrap=99)
    >>> found["value"].to_list()
    [1.0]
    """
    counted = count_groups(cell, attribute, groups, unknown)
    most = float(np.log2(counted.k))
    greatest = most * np.log(2.0) if cell.released else most
    return _spread_rows(cell, counted, divergence, greatest, lambda n, k: most - _even_bits(n, k))


def _spread_rows(
    cell: Captions,
    counted: Groups,
    score_of: Callable[..., Floats],
    greatest: float,
    floor_of: Callable[[int, int], float],
) -> list[ScoreRow]:
    """The row of a score of all shares; ``floor_of`` is what it reads of even groups by n and k."""
    row = group_row(cell, counted)
    if not counted.n:
        return [undefined(row, NO_GROUP)]
    if len(counted.names) < 2 and not cell.released:
        return [undefined(row, ONE_GROUP)]
    score = group_score(counted.columns, partial(score_of, released=cell.released))
    is_entropy = score_of is evenness
    if cell.released or not cell.clustered or not cell.resample.n_resamples:
        row = scored(row, cell, score, limits=(0.0, greatest), method=counted.method, curved=True)
        if cell.released:
            return [row]
        if not np.isnan(row["low"]) and _could_be_even(cell, counted):
            row["high" if is_entropy else "low"] = float(is_entropy)
        return [above_floor(row, floor_of(counted.n, counted.k), None if is_entropy else greatest)]
    row |= {"value": score.value, **_over_prompts(cell, counted, score.score, greatest)}
    row = above_floor(row, floor_of(counted.n, counted.k), None if is_entropy else greatest)
    if "adjusted" in row:
        # Ends are of what is true, in which even shares have nothing and no floor is in the way.
        row["adjusted_low"] = min(row["low"] / greatest, row["adjusted"])
        row["adjusted_high"] = max(row["high"] / greatest, row["adjusted"])
    return [row]


def _over_prompts(
    cell: Captions, counted: Groups, score: Callable[[Floats], Floats], greatest: float
) -> ScoreRow:
    """The interval by the scatter of prompts; none where fewer than two have a caption that counts."""
    units = cell.resample.units
    each = np.array([np.bincount(units, of, minlength=cell.resample.n_units) for of in counted.columns])
    each = each[:, each.any(axis=0)]
    if each.shape[1] < 2:
        return {"low": np.nan, "high": np.nan, "method": counted.method}
    shares = each.sum(axis=1) / each.sum()
    crossed, counting = [], ""
    if cell.resample.across is not None:
        named = counted.columns.any(axis=0)
        columns, across = counted.columns[:, named], cell.resample.across.among(named)
        shown = (columns, [unevenness_slopes(columns.sum(axis=1)) @ columns], [columns[shares.argmax()]])
        crossed, counting = [across.crossed(*of) for of in shown], f", {SEEDS_COUNTED}"
    uneven = cluster_unevenness_interval(each, level=cell.level, crossed=crossed)
    ends = score(np.stack([shares_so_uneven(shares, end) for end in uneven], axis=1))
    low, high = np.sort(np.where(ends < _NOTHING, 0.0, ends)).tolist()
    value = float(score(each.sum(axis=1, keepdims=True))[0])
    beside = normal_quantile(cell.level) * _beside(each, score)
    high = min(value + float(np.hypot(max(high - value, 0.0), beside)), greatest)
    method = f"{counted.method}; interval: unified (Feldman and Cousins), by the scatter of prompts{counting}"
    return {"low": low, "high": high, "method": method}


def _beside(each: Floats, score: Callable[[Floats], Floats]) -> float:
    """Standard error of what a score has beside the unevenness that its interval is by, by the jackknife.

    each: How often each group is in each prompt, shape ``(k, m)``.
    """
    whole, m = each.sum(axis=1), each.shape[1]
    shares, without = whole / whole.sum(), whole[:, None] - each
    at = 1.0 - float(evenness(whole[:, None], released=False)[0])
    ends = np.clip([at - _STEP, at + _STEP], 0.0, 1.0)
    along = score(np.stack([shares_so_uneven(shares, end) for end in ends], axis=1))
    slope = (along[1] - along[0]) / (ends[1] - ends[0])
    left = score(without) - slope * (1.0 - evenness(without, released=False))
    return float(np.sqrt((m - 1) / m * np.sum((left - left.mean()) ** 2)))


def _could_be_even(cell: Captions, counted: Groups) -> bool:
    """Whether a likelihood-ratio test does not tell the shares from equal ones."""
    bits = float(divergence(counted.columns.sum(axis=1, keepdims=True), released=False)[0])
    independent = counted.n * cell.resample.n_units / cell.n
    greatest = float(special.chdtri(max(counted.k - 1, 1), (1.0 - cell.level) / 2.0))
    return bool(2.0 * independent * np.log(2.0) * bits <= greatest)


def _even_distance(n: int, k: int) -> float:
    return expected_sum(lambda p: np.asarray(np.abs(p - 1.0 / k)), n, k)


def _even_bits(n: int, k: int) -> float:
    return -expected_sum(xlog2, n, k)
