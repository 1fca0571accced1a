"""How much a share differs between a group and the baseline, or between two groups."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from stereotrope.errors import UsageError
from stereotrope.measure.cells import (
    NO_LABEL,
    NO_REFERENCE,
    SMALL_N,
    Cell,
    Key,
    as_names,
    bound_columns,
    excluded_columns,
    read_cells,
    reference_of,
)
from stereotrope.measure.contract import register
from stereotrope.measure.named import named_values
from stereotrope.measure.tidy import estimate_frame, factor_names, to_polars
from stereotrope.stats import benjamini_hochberg, fisher_exact, newcombe, score_test

_SOURCE = "Newcombe 1998, method 10; Fisher 1934; Benjamini and Hochberg 1995"


@register(
    summary="How much more often a value is seen for a group than for the reference.",
    suite="general",
    bounds=(-1.0, 1.0),
    direction="above 0: seen more often for the group; below 0: less often",
    source="Newcombe 1998, method 10; Fisher 1934",
    needs="labels",
)
def share_difference(
    labels: Any,
    attribute: str | Sequence[str] | None = None,
    group: str = "group",
    *,
    baseline: str | None = "base",
    value: str | Sequence[str] | None = None,
    of: Sequence[str] | None = None,
    within: Sequence[str] = ("generator", "object"),
    pairs: bool = False,
    dimension: str | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """Share of a value in a group minus its share in the reference.

    Formula
    -------
    :math:`d_v = k_v^{g}/n^{g} - k_v^{r}/n^{r}` with ``g`` the group and ``r`` the reference.

    Parameters
    ----------
    labels
        Tidy frame as for :func:`stereotrope.measure.share`.
    attribute
        One attribute, several, or None for all.
    group, baseline
        The factor compared, and its level that is the reference. ``baseline=None`` compares only pairs.
    value
        Value or values to count; every value that one of the two sides shows when None.
    of
        Restrict both denominators to these values.
    within
        Factors held equal in each comparison. Name every other factor of the design, and use
        :func:`stereotrope.measure.average` afterwards, so that like is compared with like.
    pairs
        Also compare every two groups (not the baseline) with each other.
    dimension
        Factor that says which groups belong together; pairs are made inside one level of it.
    level
        Nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates with ``value`` in [−1, 1]; positive where the group shows the value more often than
        ``reference``. Where over 5% of a side's labels are missing, ``bound_low`` and ``bound_high`` are
        the least and the greatest difference that they allow. ``q_value`` is Benjamini–Hochberg over the
        whole table returned.

    Undefined
    ---------
    ``no usable label`` or ``no usable label of the reference`` where a side has none; ``no label is …`` where
    the labels have another word for a value that is named (see :func:`share`).

    Raises
    ------
    TableError
        A column is missing, an attribute is unknown, or an image has two labels of one attribute.
    UsageError
        Neither a baseline nor pairs are asked for, or no level of ``group`` is the baseline.

    Notes
    -----
    ``p_value`` is Fisher's exact test, two-sided: valid at any n, and conservative at 20 against 20.
    Where a side spans several prompts, images are not independent; interval and p then use effective
    numbers (p from a pooled score test on Student's t), flagged ``clustered``.

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17, method 10; Fisher (1934), section 21.02; Rao and Scott
    (1992), Biometrics 48, for the score test with effective numbers.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(40)], "attribute": "product_colour",
    ...     "value": ["pink"] * 20 + ["pink"] * 2 + ["grey"] * 18,
    ...     "generator": "m", "object": "car", "group": ["women"] * 20 + ["base"] * 20,
    ... })
    >>> row = share_difference(labels, value="pink").row(0, named=True)
    >>> round(row["value"], 2), round(row["low"], 2), row["p_value"] < 1e-6
    (0.9, 0.64, True)
    """
    if baseline is None and not pairs:
        raise UsageError("share_difference: nothing to compare; name a baseline or set pairs=True")
    extra = (dimension,) if dimension is not None else ()
    within = factor_names(within, measure="share_difference", taken=(group, *extra))
    wanted = as_names(value, what="value")
    allowed = as_names(of, what="of") if of is not None else None
    by = (*within, *extra, group)
    names = as_names(attribute, what="attribute") or None
    named = {**dict.fromkeys(allowed or (), "of"), **dict.fromkeys(wanted, "value")}
    meant = named_values(to_polars(labels), names, named, only=allowed)
    wanted = tuple(dict.fromkeys(meant.spelt[value] for value in wanted))
    if allowed is not None:
        allowed = tuple(dict.fromkeys(meant.spelt[value] for value in allowed))
    cells = read_cells(meant.labels, by=by, attributes=names, of=allowed, argument="within")
    if baseline is not None and not any(cell.key[-1] == baseline for cell in cells):
        found = ", ".join(map(repr, sorted({str(cell.key[-1]) for cell in cells}))) or "none"
        raise UsageError(f"share_difference: no {group} {baseline!r}; found {found}")
    rows: list[dict[str, Any]] = []
    sides: list[tuple[Cell, Cell, str, dict[str, Any]]] = []
    for cell, reference, name in _comparisons(cells, baseline=baseline, pairs=pairs, n_within=len(within)):
        shown = {*cell.seen, *(reference.seen if reference else ())}
        listed = wanted or tuple(sorted(shown)) or (None,)
        scope = {**dict(zip(by, cell.key, strict=True)), "contrast": group, "reference": name}
        for category in listed:
            rows.append(_row(cell, reference, category, scope=scope, level=level))
            sides_of = (scope, {**scope, group: name})
            if why := next(filter(None, (meant.why_not(cell.attribute, side) for side in sides_of)), None):
                rows[-1] |= {"value": None, "undefined": why}
                rows[-1] |= dict.fromkeys(("bound_low", "bound_high", "flags"))
            elif category is not None and reference is not None and cell.n and reference.n:
                sides.append((cell, reference, category, rows[-1]))
    _add_numbers(sides, level=level)
    return estimate_frame(rows, factors=by)


def _comparisons(
    cells: Sequence[Cell], *, baseline: str | None, pairs: bool, n_within: int
) -> Iterator[tuple[Cell, Cell | None, str | None]]:
    """Each compared cell with its reference and the reference's name, in the order of the cells."""
    references: dict[str, dict[Key, Cell]] = {}
    for cell in cells:
        if baseline is not None and cell.key[-1] == baseline:
            references.setdefault(cell.attribute, {})[cell.key[:n_within]] = cell
    others = [cell for cell in cells if baseline is None or cell.key[-1] != baseline]
    if baseline is not None:
        for cell in others:
            yield cell, reference_of(cell.key[:n_within], references.get(cell.attribute, {})), baseline
    if pairs:
        together: dict[tuple[str, Key], list[Cell]] = {}
        for cell in others:
            together.setdefault((cell.attribute, cell.key[:-1]), []).append(cell)
        for members in together.values():
            for first, second in combinations(members, 2):
                yield first, second, second.key[-1]


def _row(
    cell: Cell, reference: Cell | None, category: str | None, *, scope: dict[str, Any], level: float
) -> dict[str, Any]:
    n, m = cell.n, reference.n if reference else 0
    row = {
        "measure": "share_difference",
        "definition": "share",
        **scope,
        "attribute": cell.attribute,
        "category": category,
        "level": level,
        "n": n,
        "n_reference": m,
        **excluded_columns(cell, reference),
        "method": "Newcombe; p: Fisher exact",
        "source": _SOURCE,
    }
    if category is None or reference is None or not n or not m:
        return {**row, "undefined": NO_REFERENCE if n else NO_LABEL}
    clustered = _is_clustered(cell, reference)
    if clustered:
        row["method"] = "Newcombe at effective n over prompts; p: score test at effective n, Student's t"
    flags = ["clustered"] * clustered + ["small_n"] * (min(n, m) < SMALL_N)
    value = cell.count(category) / n - reference.count(category) / m
    bounds = bound_columns(category, cell, reference)
    return {**row, "value": value, **bounds, "flags": ",".join(flags) or None}


def _is_clustered(cell: Cell, reference: Cell) -> bool:
    return max(len(cell.prompts), len(reference.prompts)) > 1


def _add_numbers(sides: Sequence[tuple[Cell, Cell, str, dict[str, Any]]], *, level: float) -> None:
    """Intervals, p and q of all comparisons at once, set into their rows."""
    if not sides:
        return
    effective = [
        (*cell.effective(category, level=level), *reference.effective(category, level=level))
        for cell, reference, category, _ in sides
    ]
    low, high = newcombe(*np.array(effective).T, level=level)
    counts = [(c.count(v), c.n, r.count(v), r.n) for c, r, v, _ in sides]
    p = fisher_exact(*np.array(counts).T)
    for at, (cell, reference, category, _) in enumerate(sides):
        if _is_clustered(cell, reference):
            p[at] = _clustered_p(cell, reference, category)
    q = benjamini_hochberg(p)
    for at, (_, _, _, row) in enumerate(sides):
        row |= {"low": low[at], "high": high[at], "p_value": p[at], "q_value": q[at]}
        row["method"] += f"; q: Benjamini–Hochberg over {len(sides)} tests"


def _clustered_p(cell: Cell, reference: Cell, category: str) -> float:
    (k1, n1), (k2, n2) = (side.effective(category, level=None) for side in (cell, reference))
    freedom = sum(len(side.prompts) - 1 for side in (cell, reference))
    return score_test(k1, n1, k2, n2, freedom=freedom)
