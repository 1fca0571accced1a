"""What captions lack of what the prompt says or implies, and what they hold that it does not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.captions.association import hits
from stereotrope.measure.captions.formulas import mean_of
from stereotrope.measure.captions.frame import BY, Captions, register_caption
from stereotrope.measure.captions.rows import (
    NO_CAPTION,
    How,
    ScoreRow,
    base_row,
    estimates_of,
    scored,
    shared,
    undefined,
    without_pseudo,
)
from stereotrope.measure.captions.words import readable
from stereotrope.stats import ScoreOfSums

Floats = NDArray[np.float64]

OTHER_SCRIPT = "other script than the terms"
"""Reason where a caption is written in letters of which no term has any: nothing could be found there."""

_NOT_DECLARED = {
    "gmr": "no keyword declared",
    "iemr": "no implied element declared",
    "hallucination": "no term declared",
    "car": "no reference element declared",
}
_SOURCES = {
    "gmr": "T2I-BiasBench, eqs. 16 and 17",
    "iemr": "T2I-BiasBench, eqs. 18 and 19",
    "hallucination": "T2I-BiasBench, eqs. 20 and 21",
    "car": "T2I-BiasBench, eq. 22",
}


@register_caption(
    summary="How often captions lack what the prompt names.",
    bounds=(0.0, 1.0),
    direction="higher: more captions lack something; near 1 with many keywords",
    source="T2I-BiasBench, eqs. 16 and 17; Wilson 1927",
)
def gmr(
    captions: Any,
    keywords: Sequence[str],
    *,
    column: str = "keyword",
    by: Sequence[str] = BY,
    definition: str = "paper",
    level: float = 0.95,
    n_bootstrap: int = 1_000,
    seed: int = 0,
) -> pl.DataFrame:
    r"""Grounded missing rate (GMR): share of captions that lack any keyword of the prompt.

    Formula
    -------
    :math:`GMR = \frac{1}{N} \sum_i \mathbf{1}[\exists k \in K(p): k \notin c_i]`; of one keyword, the
    share of captions that lack it.

    Parameters
    ----------
    captions
        Captions frame: ``image_id``, ``caption``, the list column and the factors in ``by``.
    keywords
        The keywords :math:`K(p)` declared for the prompt.
    column
        Column of lists: the keywords found in each caption. Others than the declared ones are passed over.
    by
        Factors whose combinations are the cells.
    definition
        ``paper``: as above. ``released``: the mean share of the keywords that a caption lacks.
    level, n_bootstrap, seed
        Nominal coverage of the interval; the resamples of the released mean, and their seed.

    Returns
    -------
    polars.DataFrame
        Estimates: one row a cell, and one for each keyword (``category``), in [0, 1]; 0: every caption
        names them all. Wilson's interval, the bootstrap's for the mean of ``released``.

    Undefined
    ---------
    ``no keyword declared``; ``no usable caption``; the mean of ``released`` has no interval where all
    captions lack the same number.

    Raises
    ------
    TableError
        A column is missing or holds no lists, or an image stands in the frame twice.
    UsageError
        ``definition`` is unknown, or ``keywords`` is a string or names one twice.

    Notes
    -----
    Grows with the number of keywords: six that each stand in 0.8 of captions give about 0.74; the rates of
    single ones say what is missing. What a caption does not say may still be in the picture. Captions in
    another script than every keyword are left out (``other script than the terms``).

    References
    ----------
    T2I-BiasBench, eqs. 16 and 17; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": ["a", "b"], "caption": "text", "generator": "m", "prompt": "doctor",
    ...     "keyword": [["doctor", "hospital"], ["doctor"]],
    ... })
    >>> gmr(frame, ["doctor", "hospital"]).select("category", "value").rows()
    [(None, 0.5), ('doctor', 0.0), ('hospital', 0.5)]
    """
    return _missing("gmr", captions, keywords, column, by, definition, level, n_bootstrap, seed)


@register_caption(
    summary="How often captions lack what the prompt implies.",
    bounds=(0.0, 1.0),
    direction="higher: more captions lack something; near 1 with many elements",
    source="T2I-BiasBench, eqs. 18 and 19; Wilson 1927",
)
def iemr(
    captions: Any,
    elements: Sequence[str],
    *,
    column: str = "implied",
    by: Sequence[str] = BY,
    definition: str = "paper",
    level: float = 0.95,
    n_bootstrap: int = 1_000,
    seed: int = 0,
) -> pl.DataFrame:
    r"""Implicit element missing rate (IEMR): share of captions that lack anything the prompt implies.

    Formula
    -------
    :math:`IEMR = \frac{1}{N} \sum_i \mathbf{1}[\exists e \in I(p): e \notin c_i]`; of one element, the
    share of captions that lack it.

    Parameters
    ----------
    captions
        Captions frame: ``image_id``, ``caption``, the list column and the factors in ``by``.
    elements
        The implied elements :math:`I(p)` declared for the prompt.
    column
        Column of lists: the elements found in each caption. Others than the declared ones are passed over.
    by, definition, level, n_bootstrap, seed
        As for :func:`gmr`.

    Returns
    -------
    polars.DataFrame
        Estimates as of :func:`gmr`, one row a cell and one for each element (``category``).

    Undefined
    ---------
    ``no implied element declared``; ``no usable caption``.

    Notes
    -----
    The list decides the score. A captioner seldom writes what goes without saying: an upper bound of what
    pictures lack.

    References
    ----------
    T2I-BiasBench, eqs. 18 and 19; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": ["a", "b"], "caption": "text", "generator": "m", "prompt": "doctor",
    ...     "implied": [["mask"], []],
    ... })
    >>> iemr(frame, ["mask"]).select("category", "value").rows()
    [(None, 0.5), ('mask', 0.5)]
    """
    return _missing("iemr", captions, elements, column, by, definition, level, n_bootstrap, seed)


@register_caption(
    summary="How often captions hold a term that the prompt does not call for.",
    bounds=(0.0, 1.0),
    direction="higher: more captions with such a term",
    source="T2I-BiasBench, eqs. 20 and 21; Wilson 1927",
)
def hallucination(
    captions: Any,
    *,
    terms: Sequence[str] | None = None,
    column: str = "hallucination",
    by: Sequence[str] = BY,
    definition: str = "paper",
    level: float = 0.95,
) -> pl.DataFrame:
    r"""Share of captions that hold any term that does not belong to the prompt.

    Formula
    -------
    :math:`HS = \frac{1}{N} \sum_i \mathbf{1}[\exists h \in H(p): h \in c_i]`.

    Parameters
    ----------
    captions
        Captions frame: ``image_id``, ``caption``, the list column and the factors in ``by``.
    terms
        The elements :math:`H(p)` declared; only these count, and captions in another script are left out.
        None: whatever the column holds.
    column
        Column of lists: the elements found in each caption.
    by
        Factors whose combinations are the cells.
    definition
        Name of the definition that the rows stand with; both count alike.
    level
        Nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates, one row a cell; ``value`` in [0, 1] with Wilson's interval; 0: no caption holds one.

    Undefined
    ---------
    ``no term declared`` (an empty list); ``no usable caption``.

    Notes
    -----
    0 of 100 has an interval that reaches to 0.04. A term inside a longer word (``car`` in *card*) is a hit
    unless the lexicon matches whole words.

    References
    ----------
    T2I-BiasBench, eqs. 20 and 21; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": ["a", "b"], "caption": "text", "generator": "m", "prompt": "doctor",
    ...     "hallucination": [["sofa"], []],
    ... })
    >>> hallucination(frame)["value"].to_list()
    [0.5]
    """
    return _any("hallucination", captions, terms, column, by, definition, level)


@register_caption(
    summary="How often captions hold a marker of the culture that was asked for.",
    bounds=(0.0, 1.0),
    direction="higher: more captions with a marker",
    source="T2I-BiasBench, eq. 22; Wilson 1927",
)
def car(
    captions: Any,
    *,
    elements: Sequence[str] | None = None,
    column: str = "reference",
    by: Sequence[str] = BY,
    definition: str = "paper",
    level: float = 0.95,
) -> pl.DataFrame:
    r"""Cultural accuracy ratio (CAR): share of captions with any marker of the culture asked for.

    Formula
    -------
    :math:`CAR = \frac{1}{N} \sum_i \mathbf{1}[\exists r \in R: r \in c_i]`.

    Parameters
    ----------
    captions
        Captions frame: ``image_id``, ``caption``, the list column and the factors in ``by``.
    elements
        The markers :math:`R` declared; only these count, and captions in another script are left out.
        None: whatever the column holds.
    column
        Column of lists: the markers found in each caption.
    by, definition, level
        As for :func:`hallucination`.

    Returns
    -------
    polars.DataFrame
        Estimates, one row a cell; ``value`` in [0, 1] with Wilson's interval; 1: every caption holds one.

    Undefined
    ---------
    ``no reference element declared`` (an empty list); ``no usable caption``.

    Notes
    -----
    Nothing about breadth: a model that shows one festival only has CAR 1. Of markers that stand in the
    prompt itself it measures whether the captioner repeats the prompt.

    References
    ----------
    T2I-BiasBench, eq. 22; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": ["a", "b"], "caption": "text", "generator": "m", "prompt": "culture",
    ...     "reference": [["sari"], ["diya", "sari"]],
    ... })
    >>> car(frame)["value"].to_list()
    [1.0]
    """
    return _any("car", captions, elements, column, by, definition, level)


def _missing(measure: str, captions: Any, elements: Sequence[str], column: str, *cells: Any) -> pl.DataFrame:
    declared = read_elements(elements, measure)

    def rows(cell: Captions, how: How) -> list[ScoreRow]:
        return missing_rows(cell, how, measure, declared, column)

    return estimates_of(measure, captions, rows, *cells, lists=[column])


def _any(
    measure: str, captions: Any, elements: Sequence[str] | None, column: str, *cells: Any
) -> pl.DataFrame:
    declared = read_elements(elements, measure) if elements is not None else None

    def rows(cell: Captions, how: How) -> list[ScoreRow]:
        return [any_row(cell, how, measure, declared, column)]

    return estimates_of(measure, captions, rows, *cells, lists=[column])


def read_elements(elements: Sequence[str], measure: str) -> tuple[str, ...]:
    """Check declared elements.

    Raises
    ------
    UsageError
        A string where a list belongs, or an element twice.
    """
    if isinstance(elements, str):
        raise UsageError(
            f"{measure}: elements must be a list, found the string {elements!r}; write [{elements!r}]"
        )
    listed = tuple(elements)
    if twice := [name for name in listed if listed.count(name) > 1]:
        raise UsageError(f"{measure}: {twice[0]!r} is given twice; give it once")
    return listed


def missing_score(cell: Captions, how: How, elements: Sequence[str], column: str) -> ScoreOfSums:
    """GMR or IEMR as a score of sums, over the captions that the elements could be found in."""
    could = readable(cell.texts, elements)
    lacking = len(elements) - hits(cell, column, elements)
    lacking = lacking / len(elements) if how.released else np.minimum(lacking, 1.0)

    return without_pseudo(np.stack([lacking * could, could]), mean_of)


def missing_rows(
    cell: Captions, how: How, measure: str, elements: Sequence[str], column: str
) -> list[ScoreRow]:
    """Rows of :func:`gmr` or :func:`iemr` of one cell."""
    could = readable(cell.texts, elements) if elements else np.ones(cell.n)
    left = {OTHER_SCRIPT: int(cell.n - could.sum())}
    row = base_row(cell, how, measure, _SOURCES[measure], n=int(could.sum()), extra=left)
    if not elements:
        return [undefined(row, _NOT_DECLARED[measure])]
    if not could.sum():
        return [undefined({**row, "category": name}, NO_CAPTION) for name in (None, *elements)]
    found = cell.frame[column].to_list()
    method = "elements declared"
    if how.released:
        whole = scored(
            row, cell, how, missing_score(cell, how, elements, column), limits=(0.0, 1.0), method=method
        )
    else:
        lacking = (hits(cell, column, elements) < len(elements)).astype(np.float64)
        whole = shared(row, cell, how, lacking, could)
        whole["method"] = f"{method}; {whole['method']}"
    single = []
    for name in elements:
        lacks = np.array([name not in elements_found for elements_found in found], np.float64)
        single.append(shared({**row, "category": name}, cell, how, lacks, could))
    return [{**whole, "n_categories": len(elements)}, *single]


def any_row(cell: Captions, how: How, measure: str, elements: Sequence[str] | None, column: str) -> ScoreRow:
    """The row of :func:`hallucination` or :func:`car` of one cell."""
    could = readable(cell.texts, elements) if elements else np.ones(cell.n)
    left = {OTHER_SCRIPT: int(cell.n - could.sum())}
    row = base_row(cell, how, measure, _SOURCES[measure], n=int(could.sum()), extra=left)
    if elements is not None and not elements:
        return undefined(row, _NOT_DECLARED[measure])
    if not could.sum():
        return undefined(row, NO_CAPTION)
    held = (hits(cell, column, elements) > 0).astype(np.float64)
    return shared(row, cell, how, held, could)
