"""How much a share differs between a group and the baseline, or between two groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    read_cells,
    reference_of,
    share_row,
)
from stereotrope.measure.contract import register
from stereotrope.measure.named import named_values
from stereotrope.measure.shares.share import share
from stereotrope.measure.tidy import estimate_frame, factor_names
from stereotrope.stats import benjamini_hochberg, fisher_exact, newcombe, score_test

_SOURCE = "Newcombe 1998, method 10; Fisher 1934; Benjamini and Hochberg 1995"


@register(
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
    """How much more often a value is seen for a group than for the reference.

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
    by = (*within, *extra, group)
    names = as_names(attribute, what="attribute") or None
    meant = named_values(labels, names, value, of)
    cells = read_cells(meant.labels, by=by, attributes=names, of=meant.allowed, argument="within")
    if baseline is not None and not any(cell.key[-1] == baseline for cell in cells):
        found = ", ".join(map(repr, sorted({str(cell.key[-1]) for cell in cells}))) or "none"
        raise UsageError(f"share_difference: no {group} {baseline!r}; found {found}")
    rows: list[dict[str, Any]] = []
    sides: list[_Sides] = []
    for cell, reference, name in _comparisons(cells, baseline=baseline, pairs=pairs, n_within=len(within)):
        shared = {
            "measure": "share_difference",
            **share_row(cell, by, reference),
            "contrast": group,
            "reference": name,
            "level": level,
            "n_reference": reference.n if reference else 0,
            "method": "Newcombe; p: Fisher exact",
            "source": _SOURCE,
        }
        why = meant.why_not(cell.attribute, shared) or meant.why_not(cell.attribute, {**shared, group: name})
        for category in (
            meant.wanted or sorted({*cell.seen, *(reference.seen if reference else ())}) or (None,)
        ):
            row = {**shared, "category": category}
            rows.append(row)
            if category is None or reference is None or not cell.n or not reference.n:
                row["undefined"] = why or (NO_REFERENCE if cell.n else NO_LABEL)
                continue
            compared = _Sides(cell, reference, category, row)
            if compared.clustered:
                row["method"] = (
                    "Newcombe at effective n over prompts; p: score test at effective n, Student's t"
                )
            if why:
                row["undefined"] = why
                continue
            row |= compared.difference()
            sides.append(compared)
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


@dataclass(frozen=True)
class _Sides:
    """A value of a cell beside that of its reference, and the row that says so."""

    cell: Cell
    reference: Cell
    category: str
    row: dict[str, Any]

    @property
    def both(self) -> tuple[Cell, Cell]:
        return self.cell, self.reference

    @property
    def clustered(self) -> bool:
        return any(len(side.prompts) > 1 for side in self.both)

    def difference(self) -> dict[str, Any]:
        """What the row says without intervals and tests."""
        small = min(side.n for side in self.both) < SMALL_N
        here, before = (side.count(self.category) / side.n for side in self.both)
        flags = ",".join(["clustered"] * self.clustered + ["small_n"] * small)
        bounds = bound_columns(self.category, *self.both)
        return {"value": here - before, **bounds, "flags": flags or None}

    def effective(self, level: float | None) -> list[float]:
        """Count and number of each side, reduced where images share prompts."""
        return [number for side in self.both for number in side.effective(self.category, level=level)]

    def clustered_p(self) -> float:
        """Score test at effective numbers."""
        k, n, k_reference, n_reference = self.effective(None)
        freedom = sum(len(side.prompts) - 1 for side in self.both)
        return score_test(k, n, k_reference, n_reference, freedom=freedom)


def _add_numbers(sides: Sequence[_Sides], *, level: float) -> None:
    """Intervals, p and q of all comparisons at once, set into their rows."""
    if not sides:
        return
    low, high = newcombe(*np.array([compared.effective(level) for compared in sides]).T, level=level)
    counts = [[n for side in c.both for n in (side.count(c.category), side.n)] for c in sides]
    p = fisher_exact(*np.array(counts).T)
    for at, compared in enumerate(sides):
        if compared.clustered:
            p[at] = compared.clustered_p()
    q = benjamini_hochberg(p)
    for at, compared in enumerate(sides):
        compared.row.update(low=low[at], high=high[at], p_value=p[at], q_value=q[at])
        compared.row["method"] += f"; q: Benjamini–Hochberg over {len(sides)} tests"


def shares_and_differences(
    labels: pl.DataFrame,
    attributes: Sequence[str] | None,
    group: str | None,
    *,
    value: str,
    baseline: str,
    by: Sequence[str],
    level: float,
    name: str,
    definition: str,
) -> pl.DataFrame:
    """Shares of one value as rows ``name``; with a ``group`` also differences, as ``name_difference``."""
    scope = (*by, group) if group is not None else by
    tables = {name: share(labels, attributes, value=value, by=scope, level=level)}
    if group is not None:
        tables[f"{name}_difference"] = share_difference(
            labels, attributes, group, baseline=baseline, value=value, within=by, level=level
        )
    common = {"definition": pl.lit(definition), "category": pl.lit(None, pl.String)}
    return pl.concat(table.with_columns(measure=pl.lit(row), **common) for row, table in tables.items())
