"""Visual attribute concentration: how uniform the pictures of one condition are."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.cells import NO_LABEL, SMALL_N, Key
from stereotrope.measure.contract import register
from stereotrope.measure.definitions import check_definition
from stereotrope.measure.divergence.coded import CodedLabels, Ints, Scope, code_labels
from stereotrope.measure.divergence.value_lists import ValueLists, read_value_lists
from stereotrope.measure.tidy import estimate_frame, excluded_json, factor_names
from stereotrope.stats import chao_shen_entropy, entropy, normal_quantile, resampled_counts
from stereotrope.tables import ALL_ATTRIBUTES

Floats = NDArray[np.float64]

_SOURCE = "SODA, eq. 3"
_SOURCE_CORRECTED = "SODA, eq. 3; Chao and Shen 2003, eq. 8"
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
    factors: tuple[str, ...]
    lists: ValueLists
    pools: Mapping[Key, Ints]
    """Levels of the factors that part values seen → rows of the images that share them."""
    parting: tuple[bool, ...]
    """Which factors these are."""


@dataclass(frozen=True)
class _Scored:
    """Scores of an attribute, or their mean, with bootstrap replicates (NaN where undefined)."""

    value: float
    corrected: float
    replicates: Floats
    corrected_replicates: Floats
    unseen: float
    """How much lower the score may be although all images agree; 0 where they do not."""


@register(
    summary="How far the pictures of a condition concentrate on few values.",
    suite="objects",
    bounds=(0.0, 1.0),
    direction="0: all values equally often; 1: one value only; too high at small n",
    source="SODA, eq. 3",
    needs="labels",
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
    r"""Visual attribute concentration (VAC) of each condition.

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
        ``attribute``, ``value`` and any of ``within`` that the list is for (null: every level), as where
        each model and object has attributes of its own. :math:`K_a` is the length of the list, and a value
        outside it is left out as ``invalid``.
    pooled
        Factors that do not part the values of an attribute without a list: there :math:`K_a` is the number
        of values seen in the same combination of the other factors of ``within``, over all groups and over
        all levels of these, so that scores of two phrasings have one scale. A factor that is null for
        some images, such as the phrasing that a baseline has not, does not part them either.
    definition
        ``paper``: as above. ``released``: :math:`K_a` is the number of values seen in the condition
        itself (one value scores 1), and scores under 0.05 are dropped.
    level
        Nominal coverage of the interval.
    n_bootstrap
        Resamples of the interval; 0 leaves it null.
    seed
        Seed of the resamples.

    Returns
    -------
    polars.DataFrame
        Estimates: for each cell and group one row with ``attribute`` = ``all`` and one an attribute.
        ``value`` lies in [0, 1]: 0 when all values are equally frequent, 1 when all images agree.
        Under ``paper`` each row is followed by one of the measure ``vac_chao_shen``, in which the
        entropy is Chao and Shen's: not bounded below by 0, since there may be more values than listed.
        ``method`` says what :math:`H_{max}` is and how many values n images could have shown.

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
    SODA, eq. 3; Chao and Shen (2003), eq. 8.

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
    how = _How(definition, level, n_bootstrap, seed, factors, lists, *_pools(coded, over))
    rows: list[dict[str, Any]] = []
    for scope in coded.scopes():
        for name, images in scope.groups.items():
            row = {
                "definition": definition,
                **dict(zip(factors, scope.levels, strict=True)),
                group: name,
                "level": level,
            }
            rows += [{**row, **numbers} for numbers in _condition(coded, scope, images, how)]
    return estimate_frame(rows, factors=(*factors, group))


def _pools(coded: CodedLabels, over: Sequence[str]) -> tuple[dict[Key, Ints], tuple[bool, ...]]:
    compared = coded.images.with_row_index("_row").filter(pl.col(coded.group).is_not_null())
    parting = tuple(name not in over and not compared[name].null_count() for name in coded.factors)
    shared = [name for name, parts in zip(coded.factors, parting, strict=True) if parts]
    pools: dict[Key, list[int]] = {}
    for row, *levels in compared.select("_row", *shared).iter_rows():
        pools.setdefault(tuple(levels), []).append(row)
    return {levels: np.array(rows, dtype=np.int64) for levels, rows in pools.items()}, parting


def _condition(coded: CodedLabels, scope: Scope, images: Ints, how: _How) -> list[dict[str, Any]]:
    """Rows of one condition: the mean over attributes, then each attribute."""
    single: list[dict[str, Any]] = []
    scored: list[_Scored] = []
    used: list[int] = []
    few = False
    for column in scope.attributes.tolist():
        row, result = _attribute(coded, scope, images, column, how)
        single += _rows(row, result, how)
        if result is not None and row["undefined"] is None:
            scored.append(result)
            used.append(column)
            few |= row["n"] < SMALL_N
    mean = _counted(coded, images, scope.attributes, used or scope.attributes.tolist())
    mean |= {"attribute": ALL_ATTRIBUTES, "method": _method(how, "the mean over attributes")}
    flags = ["few_attributes"] * (len(used) < len(scope.attributes)) + ["small_n"] * (
        few or mean["n"] < SMALL_N
    )
    mean["flags"] = ",".join(flags) or None
    if not used:
        reasons = sorted({row["undefined"] for row in single})
        return _rows({**mean, "undefined": "; ".join(reasons) or NO_LABEL}, None, how) + single
    together = _Scored(
        value=float(np.mean([s.value for s in scored])),
        corrected=float(np.mean([s.corrected for s in scored])),
        replicates=np.mean([s.replicates for s in scored], axis=0),
        corrected_replicates=np.mean([s.corrected_replicates for s in scored], axis=0),
        unseen=float(np.mean([s.unseen for s in scored])),
    )
    return _rows({**mean, "undefined": None}, together, how) + single


def _attribute(
    coded: CodedLabels, scope: Scope, images: Ints, column: int, how: _How
) -> tuple[dict[str, Any], _Scored | None]:
    name = coded.attributes[column]
    codes = coded.codes[images, column]
    n_values, where = _values(coded, scope, codes, column, how)
    row = _counted(coded, images, np.array([column]), [column])
    n = row["n"]
    row |= {
        "attribute": name,
        "flags": "small_n" if n < SMALL_N else None,
        "undefined": None,
        "method": _method(how, f"{n_values} {where}, of which {n} images could show {min(n, n_values)}"),
    }
    released = how.definition == "released"
    if n == 0:
        return {**row, "undefined": NO_LABEL}, None
    if n_values == 1 and not released:
        return {**row, "undefined": ONE_VALUE}, None
    if n == 1:
        return {**row, "undefined": ONE_IMAGE}, None
    result = _score(codes, n_values, how)
    if released and result.value < _DROPPED:
        return {**row, "undefined": DROPPED}, None
    return row, result


def _values(
    coded: CodedLabels, scope: Scope, codes: NDArray[np.int32], column: int, how: _How
) -> tuple[int, str]:
    """How many values the attribute can take, and who says so."""
    name = coded.attributes[column]
    if how.definition == "released":
        return len(np.unique(codes[codes >= 0])), "values seen in the condition"
    listed = how.lists.of(name, dict(zip(how.factors, scope.levels, strict=True)))
    if listed is not None:
        return len(listed), "values listed"
    pool = tuple(level for level, parts in zip(scope.levels, how.parting, strict=True) if parts)
    everyone = coded.codes[how.pools[pool], column]
    return len(np.unique(everyone[everyone >= 0])), "values seen in the cell"


def _score(codes: NDArray[np.int32], n_values: int, how: _How) -> _Scored:
    """Score the labels; images without one are drawn too, so that n varies as it would."""
    present = np.unique(codes[codes >= 0])
    columns = (present[:, None] == codes[None, :]).astype(np.float32)
    counts = columns.sum(axis=1).astype(np.int64)
    n = int(counts.sum())
    drawn = np.zeros((0, len(counts)), dtype=np.int64)
    if how.n_bootstrap:
        drawn = resampled_counts(columns, n_resamples=how.n_bootstrap, seed=how.seed).T.astype(np.int64)
    released = how.definition == "released"
    return _Scored(
        value=float(_concentration(counts[None, :], entropy(counts)[None], n_values, released)[0]),
        corrected=float(_concentration(counts[None, :], chao_shen_entropy(counts)[None], n_values, False)[0]),
        replicates=_concentration(drawn, entropy(drawn), n_values, released),
        corrected_replicates=_concentration(drawn, chao_shen_entropy(drawn), n_values, False),
        unseen=1.0 - _lowest(n, max(n_values, 2), how.level) if len(present) == 1 else 0.0,
    )


def _concentration(counts: NDArray[np.int64], bits: Floats, n_values: int, released: bool) -> Floats:
    n = counts.sum(axis=1)
    possible = (counts > 0).sum(axis=1) if released else np.full(len(counts), n_values)
    greatest = np.log2(np.maximum(np.minimum(possible, n), 1))
    ratio = np.divide(bits, greatest, out=np.zeros(len(counts)), where=greatest > 0)
    return np.asarray(np.where(n > 1, 1.0 - ratio, np.nan), dtype=np.float64)


def _lowest(n: int, n_values: int, level: float) -> float:
    other = -np.expm1(np.log((1.0 - level) / 2.0) / n)
    shares = np.array([1.0 - other] + [other / (n_values - 1)] * (n_values - 1))
    return float(max(0.0, 1.0 - entropy(shares) / np.log2(min(n_values, n))))


def _counted(coded: CodedLabels, images: Ints, columns: Ints, used: Sequence[int]) -> dict[str, Any]:
    kept = np.asarray(used, dtype=np.int64)
    n = int((coded.codes[np.ix_(images, kept)] >= 0).any(axis=1).sum())
    excluded = coded.excluded(images, columns)
    return {"n": n, "n_excluded": sum(excluded.values()), "excluded": excluded_json(excluded)}


def _method(how: _How, what: str) -> str:
    parts = [f"H_max: {what}"]
    if how.n_bootstrap:
        parts.append(f"interval: normal bootstrap, {how.n_bootstrap} resamples of images, seed {how.seed}")
    return "; ".join(parts)


def _rows(row: Mapping[str, Any], scored: _Scored | None, how: _How) -> list[dict[str, Any]]:
    plain: dict[str, Any] = {**row, "measure": "vac", "source": _SOURCE}
    if scored is not None:
        low, high = _interval(scored.value, scored.replicates, scored.unseen, how)
        plain |= {"value": scored.value, "low": max(0.0, low), "high": high}
    if how.definition == "released":
        return [plain]
    corrected: dict[str, Any] = {**row, "measure": "vac_chao_shen", "source": _SOURCE_CORRECTED}
    if scored is not None:
        low, high = _interval(scored.corrected, scored.corrected_replicates, scored.unseen, how)
        corrected |= {"value": scored.corrected, "low": low, "high": high}
    return [plain, corrected]


def _interval(value: float, replicates: Floats, unseen: float, how: _How) -> tuple[float, float]:
    known = replicates[~np.isnan(replicates)]
    if len(known) < 2:
        return float("nan"), float("nan")
    half = normal_quantile(how.level) * float(known.std(ddof=1))
    return value - float(np.hypot(half, unseen)), min(1.0, value + half)
