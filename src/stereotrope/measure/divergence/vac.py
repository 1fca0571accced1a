"""Visual attribute concentration: how uniform the pictures of one condition are."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.cells import NO_LABEL, SMALL_N, Key
from stereotrope.measure.contract import register
from stereotrope.measure.definitions import check_definition
from stereotrope.measure.divergence.coded import CodedLabels, CodedScope, Codes, Ints, code_labels
from stereotrope.measure.divergence.scores import parts_by
from stereotrope.measure.divergence.value_lists import ValueLists, read_value_lists
from stereotrope.measure.tidy import estimate_frame, factor_names
from stereotrope.stats import chao_shen_entropy, entropy, normal_quantile, resampled_counts
from stereotrope.stats.arrays import Floats
from stereotrope.tables import ALL_ATTRIBUTES

_DROPPED = 0.05
"""Scores under this are dropped by the authors' released script."""

ONE_VALUE = "only one value is possible"
ONE_IMAGE = "a single image shows no concentration"
DROPPED = "under 0.05: dropped by the released definition"


@dataclass(frozen=True)
class _How:
    definition: str
    level: float
    n_bootstrap: int
    seed: int
    lists: ValueLists
    parting: tuple[str, ...]
    """Factors that part the values seen of an attribute without a list."""
    pools: Mapping[Key, Ints]
    """Levels of these → rows of the images that share them."""

    @property
    def released(self) -> bool:
        return self.definition == "released"

    def method(self, what: str) -> str:
        parts = [f"H_max: {what}"]
        if self.n_bootstrap:
            parts.append(
                f"interval: normal bootstrap, {self.n_bootstrap} resamples of images, seed {self.seed}"
            )
        return "; ".join(parts)


class _Scored(NamedTuple):
    """Scores of an attribute, or their mean."""

    scores: Floats
    """Plain and corrected, shape (2, 1 + resamples): of the images as they are, then of the resamples."""
    unseen: float
    """How much lower they may be although all images agree; 0 where they do not."""


@register(
    suite="objects",
    bounds=(0.0, 1.0),
    direction="0: all values equally often; 1: one value only; too high at small n",
    source="SODA, eq. 3",
    also=("vac_chao_shen",),
    own_bounds={"vac_chao_shen": (None, 1.0)},
    subsets=True,
)
def vac(
    labels: Any,
    group: str = "group",
    *,
    within: Sequence[str] = ("generator", "object"),
    attributes: Collection[str] | None = None,
    taxonomy: Mapping[str, Sequence[str]] | Any | None = None,
    pooled: Sequence[str] = ("phrasing", "mitigation"),
    definition: str = "paper",
    level: float = 0.95,
    n_bootstrap: int = 2_000,
    seed: int = 0,
) -> pl.DataFrame:
    r"""Visual attribute concentration (VAC): how far a condition's pictures share few values.

    Formula
    -------
    :math:`VAC = \frac{1}{|A|} \sum_{a \in A} \left(1 - H(P^a) / H^a_{max}\right)`, with
    :math:`H^a_{max} = \min(\log_2 K_a, \log_2 n_a)`.

    Parameters
    ----------
    labels
        Tidy frame as for :func:`stereotrope.measure.bds`.
    group
        Factor whose levels, baseline included, each get a score.
    within
        Factors held equal: one score for each combination of their levels and group.
    attributes
        Attributes to average over; all but those of a picture's quality when None.
    taxonomy
        Value lists of closed attributes: attribute → values, or a frame with one row a value,
        ``attribute``, ``value`` and any of ``within`` that the list is for (null: every level).
        :math:`K_a` is the length of the list, and a value outside it is left out as ``invalid``.
    pooled
        Factors that do not part the values of an attribute without a list: there :math:`K_a` is the number
        of values seen in the same combination of the other factors of ``within``, over all groups and over
        all levels of these, so that scores of two phrasings have one scale. A factor that is null for
        some images, such as the phrasing that a baseline has not, does not part them either.
    definition
        ``paper``: as above. ``released``: :math:`K_a` is the number of values seen in the condition
        itself (one value scores 1), and scores under 0.05 are dropped.
    level, n_bootstrap, seed
        Nominal coverage; resamples of the interval (0: null); seed of the resamples.

    Returns
    -------
    polars.DataFrame
        For each cell and group one row with ``attribute`` = ``all`` and one an attribute. ``value`` lies in
        [0, 1]: 0 when all values are equally frequent, 1 when all images agree. Under ``paper`` each row is
        followed by one of the measure ``vac_chao_shen``, in which the entropy is Chao and Shen's: not bounded
        below by 0, since there may be more values than listed. ``method`` says what :math:`H_{max}` is and
        how many values n images could have shown.

    Undefined
    ---------
    ``no usable label``; ``only one value is possible``: K = 1, the attribute says nothing; ``a single
    image shows no concentration``; under ``released``, ``under 0.05: dropped by the released
    definition``. Such an attribute is left out of the mean, which is flagged ``few_attributes``.

    Notes
    -----
    At small n VAC reads too high (0.07 at 20 images of 5 equally frequent values). No shuffle of labels
    shows by how much, so ``floor`` is null; ``vac_chao_shen`` stands beside it. The interval is of the score
    expected at this n: score ± z times the bootstrap's standard deviation; where all images agree, the
    lower end is the score at :math:`(1-u)^n = (1 - level)/2`, with the share u spread evenly over the
    other values. That of ``vac_chao_shen`` takes no account of the bias that the correction leaves.

    References
    ----------
    SODA, eq. 3 (visual attribute concentration); Chao and Shen (2003), eq. 8.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(40)], "attribute": "style",
    ...     "value": ["old", "new"] * 10 + ["new"] * 20,
    ...     "generator": "m", "object": "car", "group": ["base"] * 20 + ["women"] * 20,
    ... })
    >>> found = vac(labels, taxonomy={"style": ["old", "new"]}, n_bootstrap=500)
    >>> found.filter(pl.col("attribute") == "all", pl.col("measure") == "vac")["value"].to_list()
    [0.0, 1.0]
    """
    check_definition(definition, "vac")
    if n_bootstrap < 0 or seed < 0:
        raise UsageError(f"vac: n_bootstrap and seed must be 0 or more, found {n_bootstrap} and {seed}")
    normal_quantile(level)
    factors = factor_names(within, measure="vac", taken=(group,))
    lists = read_value_lists(taxonomy, within=factors, measure="vac")
    over = factor_names(pooled, measure="vac", taken=(group,), what="pooled")
    coded = code_labels(labels, factors=factors, group=group, attributes=attributes, lists=lists)
    how = _How(definition, level, n_bootstrap, seed, lists, *_pools(coded, over))
    rows: list[dict[str, Any]] = []
    for scope in coded.scopes():
        levels = dict(zip(factors, scope.levels, strict=True))
        for name, images in scope.groups.items():
            row = {"definition": definition, **levels, group: name, "level": level}
            rows += [row | numbers for numbers in _condition(coded, scope, images, levels, how)]
    return estimate_frame(rows, factors=(*factors, group))


def _pools(coded: CodedLabels, over: Sequence[str]) -> tuple[tuple[str, ...], dict[Key, Ints]]:
    compared = coded.images.with_row_index("_row").drop_nulls(coded.group)
    parting = tuple(name for name in coded.factors if name not in over and not compared[name].null_count())
    pools = {tuple(levels.values()): part["_row"] for levels, part in parts_by(compared, parting)}
    return parting, {levels: rows.to_numpy().astype(np.int64) for levels, rows in pools.items()}


def _condition(
    coded: CodedLabels, scope: CodedScope, images: Ints, levels: Mapping[str, str | None], how: _How
) -> list[dict[str, Any]]:
    """Rows of one condition: the mean over attributes, then each attribute."""
    columns = scope.attributes
    single = [_attribute(coded, images, column, levels, how) for column in columns.tolist()]
    used = [result is not None for _, result in single]
    scored = [(row, result) for row, result in single if result is not None]
    mean = _counted(coded, images, columns, columns[used] if scored else columns)
    few = mean["n"] < SMALL_N or any(row["n"] < SMALL_N for row, _ in scored)
    mean |= {
        "attribute": ALL_ATTRIBUTES,
        "method": how.method("the mean over attributes"),
        "flags": {"few_attributes": not all(used), "small_n": few},
    }
    together = None
    if scored:
        scores, unseen = zip(*(result for _, result in scored), strict=True)
        together = _Scored(np.stack(scores, axis=-1).mean(axis=-1), float(np.mean(unseen)))
    else:
        mean["undefined"] = "; ".join(sorted({row["undefined"] for row, _ in single})) or NO_LABEL
    return [line for row, result in [(mean, together), *single] for line in _rows(row, result, how)]


def _attribute(
    coded: CodedLabels, images: Ints, column: int, levels: Mapping[str, str | None], how: _How
) -> tuple[dict[str, Any], _Scored | None]:
    codes = coded.codes[images, column]
    n_values, where = _values(coded, codes, column, levels, how)
    row = _counted(coded, images, np.array([column]), np.array([column]))
    n = row["n"]
    row |= {
        "attribute": coded.attributes[column],
        "flags": {"small_n": n < SMALL_N},
        "method": how.method(f"{n_values} {where}, of which {n} images could show {min(n, n_values)}"),
    }
    if n == 0:
        return {**row, "undefined": NO_LABEL}, None
    if n_values == 1 and not how.released:
        return {**row, "undefined": ONE_VALUE}, None
    if n == 1:
        return {**row, "undefined": ONE_IMAGE}, None
    result = _score(codes, n_values, how)
    if how.released and result.scores[0, 0] < _DROPPED:
        return {**row, "undefined": DROPPED}, None
    return row, result


def _counted(coded: CodedLabels, images: Ints, columns: Ints, used: Ints) -> dict[str, Any]:
    n = int(coded.labelled(images, used).any(axis=1).sum())
    return {"n": n, "excluded": coded.excluded(images, columns)}


def _values(
    coded: CodedLabels, codes: Codes, column: int, levels: Mapping[str, str | None], how: _How
) -> tuple[int, str]:
    """How many values the attribute can take, and who says so."""
    if how.released:
        return len(np.unique(codes[codes >= 0])), "values seen in the condition"
    listed = how.lists.of(coded.attributes[column], levels)
    if listed is not None:
        return len(listed), "values listed"
    everyone = coded.codes[how.pools[tuple(levels[name] for name in how.parting)], column]
    return len(np.unique(everyone[everyone >= 0])), "values seen in the cell"


def _score(codes: Codes, n_values: int, how: _How) -> _Scored:
    """Score the labels; images without one are drawn too, so that n varies as it would."""
    present = np.unique(codes[codes >= 0])
    columns = (present[:, None] == codes[None, :]).astype(np.float32)
    counts = columns.sum(axis=1)[:, None]
    if how.n_bootstrap:
        drawn = resampled_counts(columns, n_resamples=how.n_bootstrap, seed=how.seed)
        counts = np.concatenate([counts, drawn], axis=1)
    table = counts.T.astype(np.int64)
    plain = _concentration(table, entropy(table), n_values, how.released)
    corrected = _concentration(table, chao_shen_entropy(table), n_values, False)
    lowest = _lowest(int(table[0].sum()), max(n_values, 2), how.level) if len(present) == 1 else 1.0
    return _Scored(np.stack([plain, corrected]), 1.0 - lowest)


def _concentration(counts: NDArray[np.int64], bits: Floats, n_values: int, released: bool) -> Floats:
    n = counts.sum(axis=1)
    possible = (counts > 0).sum(axis=1) if released else np.full(len(counts), n_values)
    greatest = np.log2(np.maximum(np.minimum(possible, n), 1))
    ratio = np.divide(bits, greatest, out=np.zeros(len(counts)), where=greatest > 0)
    return np.where(n > 1, 1.0 - ratio, np.nan)


def _lowest(n: int, n_values: int, level: float) -> float:
    other = -np.expm1(np.log((1.0 - level) / 2.0) / n)
    shares = np.array([1.0 - other] + [other / (n_values - 1)] * (n_values - 1))
    return float(max(0.0, 1.0 - entropy(shares) / np.log2(min(n_values, n))))


def _rows(row: Mapping[str, Any], result: _Scored | None, how: _How) -> list[dict[str, Any]]:
    """The row of the plain score and, by the paper's definition, of the corrected one."""
    corrected = "SODA, eq. 3; Chao and Shen 2003, eq. 8"
    kinds = [("vac", "SODA, eq. 3", 0.0), ("vac_chao_shen", corrected, -np.inf)]
    rows = []
    for at, (measure, source, least) in enumerate(kinds[:1] if how.released else kinds):
        made = {**row, "measure": measure, "source": source}
        if result is not None:
            value, drawn = float(result.scores[at][0]), result.scores[at][1:]
            made["value"] = value
            known = drawn[~np.isnan(drawn)]
            if len(known) > 1:
                half = normal_quantile(how.level) * float(known.std(ddof=1))
                made["low"] = max(least, value - float(np.hypot(half, result.unseen)))
                made["high"] = min(1.0, value + half)
        rows.append(made)
    return rows
