"""Which of the two lists a model leans to: stereotype-reinforcing or diversity-indicating terms."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.captions.formulas import cas_of
from stereotrope.measure.captions.frame import BY, Captions, register_caption
from stereotrope.measure.captions.rows import (
    NO_CAPTION,
    How,
    ScoreRow,
    base_row,
    estimates_of,
    scored,
    undefined,
)
from stereotrope.stats import ScoreOfSums

Floats = NDArray[np.float64]

NO_HIT = "no stereotype or diversity term found"
"""Why CAS is null where S + D = 0: that is no sign of diversity."""


@register_caption(
    summary="The stereotype's part of all terms that captions hold of two lists.",
    bounds=(0.0, 1.0),
    direction="0: only diversity terms; 1: only stereotype terms; depends on the lists",
    source="T2I-BiasBench, eqs. 10 to 12",
)
def cas(
    captions: Any,
    *,
    stereotype: str = "stereotype",
    diversity: str = "diversity",
    epsilon: float = 0.0,
    by: Sequence[str] = BY,
    definition: str = "paper",
    level: float = 0.95,
    n_bootstrap: int = 1_000,
    seed: int = 0,
) -> pl.DataFrame:
    r"""Contextual association score (CAS): the stereotype's part of all term hits.

    Formula
    -------
    :math:`CAS = S / (S + D + ε)`, with :math:`S` and :math:`D` the hits of stereotype and diversity
    terms, a term counted once a caption.

    Parameters
    ----------
    captions
        Captions frame: ``image_id``, ``caption``, the two list columns and the factors in ``by``.
    stereotype, diversity
        Columns of lists: the terms found in each caption.
    epsilon
        The paper's :math:`ε`, of which it gives no value; 0 leaves the quotient as it is.
    by
        Factors whose combinations are the cells.
    definition
        ``paper``: as above. ``released``: :math:`S` and :math:`D` are captions with any hit.
    level, n_bootstrap, seed
        Nominal coverage of the interval, and the resamples and their seed; 0 resamples leave it null.

    Returns
    -------
    polars.DataFrame
        Estimates, one row a cell; ``value`` in [0, 1]: 0 only diversity terms, 1 only stereotype terms.
        ``method`` says S and D.

    Undefined
    ---------
    ``no usable caption``; ``no stereotype or diversity term found`` (the released scripts give 0 there).

    Raises
    ------
    TableError
        A column is missing or holds no lists, or an image stands in the frame twice.
    UsageError
        ``definition`` is unknown, or ``epsilon`` is negative.

    Notes
    -----
    It depends on how many terms each list has and how common these are in any text: it compares models.
    Captions without a hit do not enter. A term inside another word is a hit unless the lexicon matches
    whole words.

    References
    ----------
    T2I-BiasBench, eqs. 10 to 12.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": ["a", "b"], "caption": "text", "generator": "m", "prompt": "culture",
    ...     "stereotype": [["holi", "diya"], ["holi"]], "diversity": [["harvest"], []],
    ... })
    >>> cas(frame, n_bootstrap=99)["value"].to_list()
    [0.75]
    """
    check_epsilon(epsilon, "cas")
    lists = (stereotype, diversity)

    def rows(cell: Captions, how: How) -> list[ScoreRow]:
        return [cas_row(cell, how, *lists, epsilon)]

    return estimates_of("cas", captions, rows, by, definition, level, n_bootstrap, seed, lists=lists)


def check_epsilon(epsilon: float, measure: str) -> None:
    """Raise where the smoothing constant is negative or no number."""
    if not epsilon >= 0:
        raise UsageError(f"{measure}: epsilon must be 0 or more, found {epsilon}")


def hits(cell: Captions, column: str, among: Iterable[str] | None = None) -> Floats:
    """Elements found in each caption, each once; only those ``among``, where given."""
    found = cell.frame[column].to_list()
    if among is None:
        return np.array([len(set(elements)) for elements in found], np.float64)
    wanted = frozenset(among)
    return np.array([len(wanted.intersection(elements)) for elements in found], np.float64)


def cas_score(cell: Captions, how: How, stereotype: str, diversity: str, epsilon: float) -> ScoreOfSums:
    """CAS as a score of sums; a made-up caption has one hit of either list."""
    features = np.stack([hits(cell, stereotype), hits(cell, diversity)])
    if how.released:
        features = np.minimum(features, 1.0)
    return ScoreOfSums(features, cas_of(epsilon), np.eye(2))


def cas_row(
    cell: Captions,
    how: How,
    stereotype: str = "stereotype",
    diversity: str = "diversity",
    epsilon: float = 0.0,
) -> ScoreRow:
    """The row of :func:`cas` of one cell."""
    row = base_row(cell, how, "cas", "T2I-BiasBench, eq. 12")
    if not cell.n:
        return undefined(row, NO_CAPTION)
    score = cas_score(cell, how, stereotype, diversity, epsilon)
    s, d = score.features.sum(axis=1).astype(int).tolist()
    if not s + d:
        return undefined(row, NO_HIT)
    counted = "captions with a hit" if how.released else "term hits"
    made = scored(row, cell, how, score, limits=(0.0, 1.0), method=counted)
    return {**made, "numerator": s, "denominator": s + d}
