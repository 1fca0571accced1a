"""How often each value of an attribute is seen: shares, and the female ratio."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.errors import UsageError
from stereotrope.measure.cells import (
    NO_LABEL,
    SMALL_N,
    Cell,
    as_names,
    bound_columns,
    categories,
    excluded_columns,
    read_cells,
)
from stereotrope.measure.contract import register
from stereotrope.measure.named import named_values
from stereotrope.measure.tidy import estimate_frame, factor_names, to_polars
from stereotrope.stats import wilson

_SOURCE = "Wilson 1927; simultaneous: Goodman 1965"


@register(
    summary="How often each value of an attribute is seen.",
    suite="general",
    bounds=(0.0, 1.0),
    direction="higher: seen more often",
    source="Wilson 1927; Goodman 1965",
    needs="labels",
)
def share(
    labels: Any,
    attribute: str | Sequence[str] | None = None,
    *,
    value: str | Sequence[str] | None = None,
    of: Sequence[str] | None = None,
    by: Sequence[str] = ("generator",),
    simultaneous: bool = False,
    level: float = 0.95,
) -> pl.DataFrame:
    """Share of images in which an attribute has a value, for every cell of the design.

    Formula
    -------
    :math:`s_v = k_v / n`, with :math:`k_v` the images labelled ``v`` and :math:`n` the images with a
    usable label (of the values in ``of``, where given).

    Parameters
    ----------
    labels
        Tidy frame: ``image_id, attribute, value`` and the factors in ``by``; optional ``excluded`` (a
        reason) and ``prompt_id``.
    attribute
        One attribute, several, or None for all.
    value
        Value or values to count; every value seen anywhere in the frame when None.
    of
        Restrict the denominator to these values. Images with another one are left out and counted with
        the reason ``not in of: …``.
    by
        Factors whose combinations are the cells.
    simultaneous
        Goodman's intervals, which cover all categories of a cell together, instead of one Wilson
        interval a category.
    level
        Nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates, one row a cell, attribute and ``category``; ``value`` in [0, 1]. A value that other
        cells show and this one does not has share 0 with its interval. ``n`` below 10 is flagged
        ``small_n``. Where more than 5% of a cell's labels are missing, ``bound_low`` and ``bound_high``
        are the share if none, and if all, of these were the category; labels outside ``of`` are not
        missing.

    Undefined
    ---------
    ``no usable label`` where ``n = 0``; ``no label is …`` where the labels of the attribute have another word
    for a value that is named, or none of those in ``of``: the reason says what they have; ``labels are
    both …`` where one annotator has two words for it, such as ``female`` and ``f``. A value that an
    annotator writes otherwise in capitals, in joints between letters, as a plural or with other zeros of a
    number (``1.0``) is taken for it; signs and amounts must be alike.

    Raises
    ------
    TableError
        A column is missing, an attribute is unknown, or an image has two labels of one attribute.
    UsageError
        A value to count is not in ``of``, or a string stands where a list belongs.

    Notes
    -----
    A cell that spans several prompts has fewer independent images than images: its interval is Wilson's
    at the effective number (:func:`stereotrope.stats.effective_counts`), flagged ``clustered``.

    References
    ----------
    Wilson (1927), JASA 22; Goodman (1965), Technometrics 7, eq. 1.3; Korn and Graubard (1998), Survey
    Methodology 24.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": ["a", "b", "c", "d"], "attribute": "product_colour",
    ...     "value": ["pink", "pink", "pink", "grey"], "generator": "m",
    ... })
    >>> share(labels, "product_colour", value="pink")["value"].to_list()
    [0.75]
    """
    by = factor_names(by, measure="share", what="by")
    wanted = as_names(value, what="value")
    allowed = as_names(of, what="of") if of is not None else None
    if allowed is not None and (outside := [v for v in wanted if v not in allowed]):
        raise UsageError(f"share: value {outside[0]!r} is not in of={list(allowed)}; add it to of")
    named = {**dict.fromkeys(allowed or (), "of"), **dict.fromkeys(wanted, "value")}
    return _shares(labels, attribute, wanted, allowed, named, by=by, simultaneous=simultaneous, level=level)


def _shares(
    labels: Any,
    attribute: str | Sequence[str] | None,
    wanted: Sequence[str],
    allowed: Sequence[str] | None,
    named: Mapping[str, str],
    *,
    by: Sequence[str],
    simultaneous: bool = False,
    level: float,
) -> pl.DataFrame:
    """Shares of values, each with the argument that names it."""
    names = as_names(attribute, what="attribute") or None
    meant = named_values(to_polars(labels), names, named, only=allowed)
    wanted = list(dict.fromkeys(meant.spelt[value] for value in wanted))
    if allowed is not None:
        allowed = list(dict.fromkeys(meant.spelt[value] for value in allowed))
    cells = read_cells(meant.labels, by=by, attributes=names, of=allowed)
    seen = categories(cells)
    rows = []
    for cell in cells:
        listed = wanted or allowed or tuple(seen[cell.attribute])
        why = meant.why_not(cell.attribute, dict(zip(by, cell.key, strict=True)))
        rows += _rows(cell, listed, why, by=by, simultaneous=simultaneous, level=level)
    return estimate_frame(rows, factors=by)


def _rows(
    cell: Cell, listed: Sequence[str], why: str | None, *, by: Sequence[str], simultaneous: bool, level: float
) -> list[dict[str, Any]]:
    scope = dict(zip(by, cell.key, strict=True))
    shared = {
        "measure": "share",
        "definition": "share",
        **scope,
        "attribute": cell.attribute,
        "level": level,
        "n": cell.n,
        **excluded_columns(cell),
        "source": _SOURCE,
    }
    if why or not cell.n:
        return [{**shared, "category": v, "undefined": why or NO_LABEL} for v in listed or (None,)]
    clustered = len(cell.prompts) > 1
    each = 1 - (1 - level) / len(listed) if simultaneous else level
    flags = ["clustered"] * clustered + ["small_n"] * (cell.n < SMALL_N)
    kind = f"Goodman, simultaneous over {len(listed)} categories" if simultaneous else "Wilson"
    rows = []
    for category in listed:
        k, n = cell.effective(category, level=each)
        low, high = wilson(k, n, level=each)
        method = f"{kind}; effective n {n:.1f} over {len(cell.prompts)} prompts" if clustered else kind
        rows.append(
            {
                **shared,
                "category": category,
                "value": cell.count(category) / cell.n,
                "numerator": cell.count(category),
                "denominator": cell.n,
                "low": float(low),
                "high": float(high),
                **bound_columns(category, cell),
                "flags": ",".join(flags) or None,
                "method": method,
            }
        )
    return rows


@register(
    summary="Share labelled female among figures labelled female or male.",
    suite="everyday",
    bounds=(0.0, 1.0),
    direction="0.5: both equally often; 1: only figures labelled female",
    source="everyday gender, R_f",
    needs="labels",
)
def female_ratio(
    labels: Any,
    *,
    attribute: str = "gender",
    female: str = "female",
    male: str = "male",
    by: Sequence[str] = ("generator",),
    level: float = 0.95,
) -> pl.DataFrame:
    """Share of images labelled female among those labelled female or male.

    The labels are an annotator's perception of a drawn figure, never anybody's identity.

    Formula
    -------
    :math:`R_f = |F| / (|F| + |M|)`.

    Parameters
    ----------
    labels
        Tidy frame as for :func:`share`.
    attribute, female, male
        The attribute, and its two values that count. Every other value is left out and counted.
    by
        Factors whose combinations are the cells.
    level
        Nominal coverage of Wilson's interval.

    Returns
    -------
    polars.DataFrame
        Estimates, one row a cell; ``value`` in [0, 1], 0.5 where both are equally often seen.

    Undefined
    ---------
    ``no usable label`` where no image is labelled female or male; never 0.5. ``no label is …`` where the
    labels have other words, such as ``F`` and ``M``; capitals may differ.

    Raises
    ------
    TableError
        A column is missing, the attribute is unknown, or an image has two labels of it.
    UsageError
        A factor is listed twice in ``by``.

    Notes
    -----
    ``n`` is the number of female or male images; with few left, read ``n_excluded`` first.

    References
    ----------
    “Large-scale gender analysis” of the suite ``everyday``, :math:`R_f(p)` in its section on metrics;
    Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": ["a", "b", "c", "d"], "attribute": "gender",
    ...     "value": ["female", "female", "male", "unclear"], "generator": "m",
    ... })
    >>> row = female_ratio(labels).row(0, named=True)
    >>> round(row["value"], 3), row["n"], row["excluded"]
    (0.667, 3, '{"unclear": 1}')
    """
    by = factor_names(by, measure="female_ratio", what="by")
    both = as_names((female, male), what="female and male")
    named = {female: "female", male: "male"}
    found = _shares(labels, attribute, (female,), both, named, by=by, level=level)
    return found.with_columns(
        pl.lit("female_ratio").alias("measure"),
        pl.lit("everyday").alias("definition"),
        pl.lit("everyday gender, R_f; interval Wilson 1927").alias("source"),
    )
