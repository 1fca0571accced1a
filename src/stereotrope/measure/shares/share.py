"""How often each value of an attribute is seen: shares, and the female ratio."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from stereotrope.errors import UsageError
from stereotrope.measure.cells import NO_LABEL, as_names, bound_columns, categories, read_cells, share_row
from stereotrope.measure.contract import register
from stereotrope.measure.named import Named, named_values
from stereotrope.measure.tidy import estimate_frame, factor_names
from stereotrope.stats import ICC_GRID, wilson

_SOURCE = "Wilson 1927; simultaneous: Goodman 1965"


@register(
    bounds=(0.0, 1.0),
    direction="higher: seen more often",
    source="Wilson 1927; Goodman 1965",
    counted=True,
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
    """How often each value of an attribute is seen.

    Formula
    -------
    :math:`s_v = k_v / n`, with :math:`k_v` the images labelled ``v`` and :math:`n` the images with a
    usable label (of the values in ``of``, where given). Simultaneous intervals of :math:`K` values are
    Wilson's at level :math:`1 - (1 - level)/K` (Goodman, eq. 1.3 and the Bonferroni quantile of section 3).

    Parameters
    ----------
    labels
        Tidy frame: ``image_id, attribute, value`` and the factors in ``by``; optional ``excluded`` (a
        reason) and ``prompt_id``. With ``n_subjects`` instead of ``image_id`` a row stands for so many.
    attribute, value
        One or several, all when None; values to count, all that are seen in the frame when None.
    of
        Restrict the denominator to these values; others are left out as ``not in of: …``.
    by, level
        Factors whose combinations are the cells; nominal coverage.
    simultaneous
        Goodman's intervals, which cover all categories of a cell together, instead of Wilson's.

    Returns
    -------
    polars.DataFrame
        Estimates, one row a cell, attribute and ``category``; ``value`` in [0, 1]. A value that only other
        cells show has share 0 with its interval. ``n`` below 10 is flagged ``small_n``. Where more than 5%
        of a cell's labels are missing (labels outside ``of`` are not), ``bound_low`` and ``bound_high`` are
        the share if none, and if all, of these were the category.

    Undefined
    ---------
    ``no usable label`` where ``n = 0``; ``no label is …`` where the labels have another word for a value that
    is named, or none of those in ``of``; ``labels are both …`` where one annotator has two words for it, such
    as ``female`` and ``f``. What an annotator writes otherwise in capitals, in joints between letters, as a
    plural or with other zeros of a number (``1.0``) is taken for it; signs and amounts must be alike.

    Notes
    -----
    Where a cell spans four prompts or more, its interval holds for ``prompts like these``: it is Wilson's at
    the effective number (:func:`stereotrope.stats.effective_trials`), flagged ``clustered``. How alike the
    pictures of a prompt are is learned from all cells of the attribute in the frame. It covered 0.93 to 0.98
    at an intra-class correlation of 0.1 and 0.3, more at 0 (docs/explanation/interval-coverage.md). Over
    three prompts or fewer it holds for ``these prompts`` alone. Without a column ``prompt_id`` a frame cannot
    tell (``no_prompt_id``). Seeds that prompts share are taken to make no pictures alike.

    References
    ----------
    Wilson (1927), JASA 22; Goodman (1965), Technometrics 7, eq. 1.3; Dean and Pagano (2015), J. Survey
    Statistics and Methodology 3.

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
    if of is not None and (outside := [v for v in as_names(value, what="value") if v not in of]):
        raise UsageError(f"share: value {outside[0]!r} is not in of={list(of)}; add it to of")
    names = as_names(attribute, what="attribute") or None
    meant = named_values(labels, names, value, of)
    return _shares(meant, names, by=by, simultaneous=simultaneous, level=level)


def _shares(
    meant: Named, names: Sequence[str] | None, *, by: Sequence[str], simultaneous: bool = False, level: float
) -> pl.DataFrame:
    cells = read_cells(meant.labels, by=by, attributes=names, of=meant.allowed)
    seen = categories(cells)
    rows = []
    counted: dict[float, list[tuple[dict[str, Any], float, float]]] = {}
    for cell in cells:
        shared = {"measure": "share", **share_row(cell, by), "level": level, "source": _SOURCE}
        listed = meant.wanted or meant.allowed or seen[cell.attribute]
        if why := meant.why_not(cell.attribute, shared) or (None if cell.n else NO_LABEL):
            rows += [{**shared, "category": v, "undefined": why} for v in listed or (None,)]
            continue
        each = 1 - (1 - level) / len(listed) if simultaneous else level
        shared |= {"denominator": cell.n, "holds_for": cell.claim.holds_for, "flags": cell.flags}
        shared["method"] = (
            f"Goodman, simultaneous over {len(listed)} categories" if simultaneous else "Wilson"
        )
        if cell.claim.clustered:
            _, n = cell.effective(listed[0], level=each)
            shared["method"] += f"; effective n {n:.1f} over {len(cell.prompts)} prompts"
            shared["method"] += f", intra-class correlation {cell.icc @ ICC_GRID:.2f}"
        for category in listed:
            k = cell.count(category)
            row = {**shared, "category": category, "value": k / cell.n, "numerator": k}
            rows.append(row | bound_columns(category, cell))
            counted.setdefault(each, []).append((rows[-1], *cell.effective(category, level=each)))
    for each, those in counted.items():
        told, ks, ns = zip(*those, strict=True)
        for row, low, high in zip(told, *wilson(ks, ns, level=each), strict=True):
            row |= {"low": float(low), "high": float(high)}
    return estimate_frame(rows, factors=by)


@register(
    suite="everyday",
    bounds=(0.0, 1.0),
    direction="0.5: both equally often; 1: only figures labelled female",
    source="everyday gender, R_f",
    counted=True,
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
    """Share labelled female among figures labelled female or male.

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
    by, level
        Factors whose combinations are the cells; nominal coverage of Wilson's interval.

    Returns
    -------
    polars.DataFrame
        Estimates, one row a cell; ``value`` in [0, 1], 0.5 where both are equally often seen.

    Undefined
    ---------
    ``no usable label`` where no image is labelled female or male; never 0.5. ``no label is …`` where the
    labels have other words, such as ``F`` and ``M``; capitals may differ.

    Notes
    -----
    ``n`` is the number of female or male images; with few left, read ``n_excluded`` first.
    Over four prompts or more the interval holds for ``prompts like these``, as that of :func:`share`.

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
    names, both = (attribute,), as_names((female, male), what="female and male")
    meant = named_values(labels, names, female, both, arguments={female: "female", male: "male"})
    found = _shares(meant, names, by=by, level=level)
    return found.with_columns(
        measure=pl.lit("female_ratio"),
        definition=pl.lit("everyday"),
        source=pl.lit("everyday gender, R_f; interval Wilson 1927"),
    )
