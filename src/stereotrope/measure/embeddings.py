"""Measures of vectors: how many different pictures there are, how alike these are, how near their prompt."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from stereotrope.measure.contract import register
from stereotrope.measure.embedding_cells import (
    NO_VECTOR,
    VECTORS_AT_ONCE,
    EmbeddingCell,
    embedding_cells,
    unit_rows,
)
from stereotrope.measure.estimates import estimate_frame
from stereotrope.stats import (
    MOST_PARTS,
    jackknife_interval,
    mean_cosine,
    mean_over_units,
    normal_quantile,
    unit_sums,
    vendi_influences,
    vendi_left_out,
    vendi_score,
    vendi_standard_error,
    vendi_without,
)
from stereotrope.stats.arrays import Floats

_BY = ("generator", "prompt")
_NO_TEXT = "no vector of the prompt's text"
_NO_PICTURE = "no picture with an embedding"
_ONE_PICTURE = "a single picture shows no diversity"

_LEFT_OUT = 1_000
"""Pictures up to which each is left out once; beyond, the infinitesimal jackknife is as good and faster."""

_VENDI = "Friedman and Dieng 2023, eq. 1; interval: Tukey 1958"
_ALIGNMENT = "Hessel et al. 2021 (cosine, not rescaled); Student 1908"


@register(
    suite="biasbench",
    bounds=(0.0, None),
    direction="1: all alike; n: no two alike; grows with the number of pictures; normalised, 0 to 1",
    source="Friedman and Dieng 2023, eq. 1; Tukey 1958",
    needs="embeddings",
    also=("image_vendi_normalised",),
    own_bounds={"image_vendi_normalised": (0.0, 1.0)},
    biased=("image_vendi", "image_vendi_normalised"),
)
def image_vendi(embeddings: Any, *, by: Sequence[str] = _BY, level: float = 0.95) -> pl.DataFrame:
    r"""How many different pictures there are in effect, as an encoder sees them: their Vendi score.

    Formula
    -------
    :math:`VS = \exp(-\sum_j λ_j \ln λ_j)`, with :math:`λ_j` the eigenvalues of :math:`K/n` and :math:`K`
    the cosines of the pictures' vectors; normalised, :math:`(VS - 1)/(n - 1)`.

    Parameters
    ----------
    embeddings
        Frame of :func:`stereotrope.measure.embeddings_frame`: ``image_id``, ``annotator`` (the encoder),
        ``vector`` and the factors in ``by``; optional ``prompt_id`` and ``excluded``.
    by, level
        Factors whose combinations are the cells, encoders always apart; nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates, two rows a cell and encoder: ``image_vendi`` in [1, n] and ``image_vendi_normalised`` in
        [0, 1]. Least where all pictures have one vector, greatest where any two are orthogonal.

    Undefined
    ---------
    ``a single picture shows no diversity`` (n = 1); ``no picture with an embedding``. No interval where all
    vectors are the same, or a cell of several prompts has one cluster.

    Notes
    -----
    It grows with n and depends on the encoder: compare equal numbers of pictures by one encoder only.
    Vectors of one encoder lie in a narrow cone, so that the score stays far below n and the normalised one
    near 0 also for diverse pictures. The interval is of the score expected at this n: Student's with the
    jackknife's standard error over pictures (over prompts, where a cell spans several, and over a hundred
    parts of more than a hundred prompts); above 1,000 pictures of one prompt the infinitesimal jackknife's.

    References
    ----------
    Friedman and Dieng (2023), TMLR, eq. 1; Tukey (1958), Annals of Mathematical Statistics 29; Liang et al.
    (2022), NeurIPS (the cone).

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": list("abcd"), "annotator": "clip", "generator": "m", "prompt": "cup",
    ...     "vector": [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]],
    ... })
    >>> image_vendi(frame)["value"].round(6).to_list()
    [2.0, 0.333333]
    """
    rows: list[dict[str, Any]] = []
    for cell in embedding_cells(embeddings, by, "image_vendi", "vector", NO_VECTOR, _VENDI, level):
        base = [cell.shared, {**cell.shared, "measure": "image_vendi_normalised"}]
        n = len(cell.units)
        if n < 2:
            rows += [{**row, "undefined": _ONE_PICTURE if n else _NO_PICTURE} for row in base]
            continue
        value, low, high, method = _diversity(cell, level)
        if low == low:
            low, high = max(low, 1.0), min(high, float(n))
        scope = {"holds_for": cell.claim.holds_for if low == low else None, "method": method}
        raw = {"value": value, "low": low, "high": high}
        unit = {name: (end - 1.0) / (n - 1.0) for name, end in raw.items()}
        rows += [{**row, **ends, **scope} for row, ends in zip(base, (raw, unit), strict=True)]
    return estimate_frame(rows, factors=("annotator", *by))


def aligned(frame: Any, by: Sequence[str], level: float, *, measure: str, lacks: str) -> pl.DataFrame:
    """Rows of the mean cosine of pictures and a text; ``lacks`` is the reason where there is no text."""
    rows = []
    for cell in embedding_cells(frame, by, measure, "cosine", lacks, _ALIGNMENT, level):
        row = cell.shared
        if not len(cell.units):
            rows.append({**row, "undefined": lacks if lacks in row["excluded"] else _NO_PICTURE})
            continue
        cosines = cell.vectors["cosine"].to_numpy()
        reach = cell.reach(partial(np.asarray, cosines), level)
        value, *ends, _ = mean_over_units(cosines, cell.units, level=level, reach=reach)
        # Cosines lie close together: an interval for any distribution on the scale would say nothing.
        low, high = np.clip(ends, -1.0, 1.0).tolist()
        scope = {"holds_for": cell.claim.holds_for if low == low else None, "method": cell.jackknife}
        rows.append({**row, "value": value, "low": low, "high": high, **scope})
    return estimate_frame(rows, factors=("annotator", *by))


def _diversity(cell: EmbeddingCell, level: float) -> tuple[float, float, float, str]:
    """The score, its interval, and how that was made."""
    x = unit_rows(cell.vectors["vector"])
    n = len(x)
    value = min(max(vendi_score(x), 1.0), float(n))
    if n > _LEFT_OUT and not cell.claim.clustered:
        half = normal_quantile(level) * vendi_standard_error(x)
        ends = (value - half, value + half) if half > 1e-9 * value else (float("nan"), float("nan"))
        return value, *ends, "interval: normal, infinitesimal jackknife"
    parts = cell.units % MOST_PARTS
    without = vendi_without(x, parts) if cell.claim.clustered else vendi_left_out(x @ x.T)
    reaches = cell.reaches(partial(vendi_influences, x), level)
    return value, *jackknife_interval(value, without, level=level, **reaches), cell.jackknife


@register(
    suite="biasbench",
    bounds=(-1.0, 1.0),
    direction="higher: nearer to the prompt; in practice from about 0 to about 0.4 for CLIP",
    source="Hessel et al. 2021, eq. 1; Tukey 1958",
    needs="embeddings",
)
def prompt_alignment(embeddings: Any, *, by: Sequence[str] = _BY, level: float = 0.95) -> pl.DataFrame:
    r"""How near pictures are to the text of their prompt, as an encoder sees both.

    Formula
    -------
    :math:`A = \frac{1}{n} \sum_i \cos(v_i, t_{p(i)})`, with :math:`v_i` the vector of picture :math:`i` and
    :math:`t_{p(i)}` that of its prompt's text by the same encoder.

    Parameters
    ----------
    embeddings
        Frame of :func:`stereotrope.measure.embeddings_frame`: ``image_id``, ``annotator`` (the encoder),
        ``cosine`` and the factors in ``by``; optional ``prompt_id`` and ``excluded``.
    by, level
        Factors whose combinations are the cells, encoders always apart; nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates, one row a cell and encoder; ``value`` in [−1, 1], the raw cosine.

    Undefined
    ---------
    ``no vector of the prompt's text`` where pictures have vectors and their prompts none; ``no picture with
    an embedding``. No interval for one picture, or where all cosines are the same.

    Notes
    -----
    CLIP's cosines run from about 0 to about 0.4 in practice. Compare generators on one prompt by one
    encoder. What the encoder does not tell apart, such as counts, cannot lower it, nor can text beyond what
    it reads (77 tokens for CLIP). The interval is Student's over pictures (over prompts, by the jackknife,
    where a cell spans several).

    References
    ----------
    Hessel et al. (2021), CLIPScore, EMNLP, eq. 1, without its factor 2.5 and its cut at 0; Radford et al.
    (2021); Student (1908), Biometrika 6.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": list("abc"), "annotator": "clip", "generator": "m", "prompt": "cup",
    ...     "cosine": [0.2, 0.3, 0.4],
    ... })
    >>> prompt_alignment(frame)["value"].round(9).to_list()
    [0.3]
    """
    return aligned(embeddings, by, level, measure="prompt_alignment", lacks=_NO_TEXT)


@register(
    suite="everyday",
    bounds=(-1.0, 1.0),
    direction="1: all pictures alike to the encoder; lower: more diverse",
    source="everyday gender, appendix F.2; Tukey 1958",
    needs="embeddings",
)
def mean_similarity(
    embeddings: Any, *, by: Sequence[str] = ("generator",), level: float = 0.95
) -> pl.DataFrame:
    r"""How alike any two pictures are on average, as an encoder sees them.

    Formula
    -------
    :math:`\frac{2}{n(n-1)} Σ_{i<j} \cos(v_i, v_j) = (|Σ_i u_i|^2 - n)/(n(n-1))` with
    :math:`u_i = v_i/|v_i|`, in time that grows with the pictures and not with their pairs.

    Parameters
    ----------
    embeddings, by, level
        As for :func:`stereotrope.measure.image_vendi`.

    Returns
    -------
    polars.DataFrame
        Estimates, one row a cell and encoder; ``value`` in [−1, 1]. The interval is Student's, by the
        jackknife over prompts (over scenarios of several), or over pictures where a cell has fewer than four.

    Undefined
    ---------
    ``a single picture shows no diversity``; ``no picture with an embedding``. No interval where all vectors
    are the same.

    Notes
    -----
    Two pictures of one prompt are more alike than two of different ones, and the fewer prompts a cell has the
    more pairs are of one: compare cells of as many prompts, by one encoder. Diverse pictures may show one
    gender only. The upper end lies further off than the lower one, as the score is flat where kinds of
    pictures are balanced (:func:`stereotrope.stats.mean_cosine`). The interval covered 0.93 to 0.98 over 4 to
    40 prompts; where one prompt in ten lies far from the others 0.91 to 0.92 over 5 to 20, since samples
    without any look alike, and 0.95 over 40. Where prompts share four seeds or more (column ``seed``), it
    reaches further by what these do; so it does for ``image_vendi``.

    References
    ----------
    “Large-scale gender analysis”, appendix F.2, image diversity; Tukey (1958), Annals of Mathematical
    Statistics 29.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": list("abcd"), "annotator": "dino", "generator": "m",
    ...     "vector": [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]],
    ... })
    >>> mean_similarity(frame)["value"].round(6).to_list()
    [0.333333]
    """
    source = "everyday gender, appendix F.2; interval: Tukey 1958"
    rows = []
    for cell in embedding_cells(embeddings, by, "mean_similarity", "vector", NO_VECTOR, source, level):
        n = len(cell.units)
        if n < 2:
            rows.append({**cell.shared, "undefined": _ONE_PICTURE if n else _NO_PICTURE})
            continue
        vectors, sizes = cell.vectors["vector"], np.bincount(cell.units)
        sums = np.zeros((sizes.size, len(vectors[0])))
        for start in range(0, n, VECTORS_AT_ONCE):
            unit_sums(
                unit_rows(vectors[start : start + VECTORS_AT_ONCE]),
                cell.units[start : start + VECTORS_AT_ONCE],
                sums,
            )
        reaches = cell.reaches(partial(_along, vectors), level)
        value, low, high = mean_cosine(sums, sizes, level=level, **reaches)
        scope = {"holds_for": cell.claim.holds_for if low == low else None, "method": cell.jackknife}
        rows.append({**cell.shared, "value": value, "low": low, "high": high, **scope})
    return estimate_frame(rows, factors=("annotator", *by))


def _along(vectors: pl.Series, weights: Floats) -> Floats:
    """By how much each vector moves the mean cosine: twice its product with the mean of all, over their n."""
    parts = [slice(start, start + VECTORS_AT_ONCE) for start in range(0, len(vectors), VECTORS_AT_ONCE)]
    total = sum(unit_rows(vectors[part]).T @ weights[part] for part in parts)
    mean = 2 * total / (weights.sum(axis=0) * len(vectors))
    return np.concatenate([unit_rows(vectors[part]) @ mean for part in parts])
