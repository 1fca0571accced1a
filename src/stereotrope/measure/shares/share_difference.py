"""How much a share differs between a group and the baseline, or between two groups."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import polars as pl

from stereotrope.errors import UsageError
from stereotrope.measure.cells import (
    NO_LABEL,
    NO_REFERENCE,
    PAIR,
    SMALL_N,
    Cell,
    Key,
    Peers,
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
from stereotrope.measure.units import claim_of
from stereotrope.stats import (
    ICC_GRID,
    benjamini_hochberg,
    beta_binomial_test,
    beyond_exact,
    cluster_flip_test,
    cluster_permutation_test,
    fisher_exact,
    fisher_least,
    icc_beliefs,
    newcombe,
    shared_correlation,
)

_CLUSTERED = "Newcombe at effective n over prompts; p: whole prompts exchanged, counted out; {}"
_MATCHED = "Newcombe at effective n over prompts, correlation {:.2f}; p: sides of prompts exchanged; {}"
_FURTHER = "at its end beta-binomial"
_FEWEST_FLIPPED = 6
"""Prompts from which on the sides of each are exchanged: with five, p could not be below 0.06."""
_SOURCE = "Newcombe 1998, method 10; Fisher 1934; Benjamini and Hochberg 1995"

_Tested = tuple[dict[str, Any], list[int], list[float], float, tuple[float, float] | None]
"""A row to be tested, counts, effective counts, the correlation of both sides, and p and the least p where
prompts are the units."""


@register(
    bounds=(-1.0, 1.0),
    direction="above 0: seen more often for the group; below 0: less often",
    source="Newcombe 1998, method 10; Fisher 1934",
    counted=True,
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
    mid_p: bool = False,
    level: float = 0.95,
) -> pl.DataFrame:
    """How much more often a value is seen for a group than for the reference.

    Formula
    -------
    :math:`d_v = k_v^{g}/n^{g} - k_v^{r}/n^{r}` with ``g`` the group and ``r`` the reference.

    Parameters
    ----------
    labels, attribute, value, of, level
        As for :func:`stereotrope.measure.share`, ``of`` for both sides; without ``value`` every value that
        one of the two shows.
    group, baseline
        The factor compared, and its level that is the reference. ``baseline=None`` compares only pairs.
    within
        Factors held equal in each comparison. Name every other factor of the design, and use
        :func:`stereotrope.measure.average` afterwards, so that like is compared with like.
    pairs, dimension
        Also compare every two groups (not the baseline), inside one level of the factor ``dimension``.
    mid_p
        Count what is as probable as the counts seen by half in Fisher's test: more power at small n, and a
        level that holds on average, not always.

    Returns
    -------
    polars.DataFrame
        ``value`` in [−1, 1], positive where the group shows it more often than ``reference``. Where over 5%
        of a side's labels are missing, ``bound_low`` and ``bound_high`` are the differences that they allow.
        ``q_value`` is Benjamini–Hochberg over the whole table.

    Undefined
    ---------
    ``no usable label`` or ``no usable label of the reference`` where a side has none; ``no label is …`` where
    the labels have another word for a value that is named (see :func:`share`).

    Notes
    -----
    ``p_value`` is Fisher's exact test, two-sided: valid at any n, conservative at 20 against 20, and more so
    where both sides were drawn with the same seeds, which makes them alike.
    Where both sides span four prompts or more, interval and p hold for ``prompts like these``, flagged
    ``clustered``: Newcombe's interval at effective numbers (see :func:`share`), and a test that exchanges
    whole prompts (:func:`stereotrope.stats.cluster_permutation_test`), exact at any intra-class correlation.
    Four prompts a side cannot give p below 0.029, five 0.008: there p goes on, by half as many digits at
    most, by beta-binomial counts as alike within prompts as the sides, and conditions like them, show
    (:func:`stereotrope.stats.beyond_exact`). Where both sides have the same prompts, such as
    two models, what these have in common narrows the interval, and from six prompts on the sides of each are
    exchanged (:func:`stereotrope.stats.cluster_flip_test`).
    The interval covered 0.93 to 0.98 at an intra-class correlation of 0.1 and 0.3 (0.93 to 1 at 0).
    Else they hold for ``these prompts`` alone. A frame without the column ``prompt_id`` cannot
    tell (``no_prompt_id``). ``p_least`` is the least p that the same counts could have had.

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17, method 10; Fisher (1934), section 21.02; Gail et al. (1996),
    Statistics in Medicine 15, for the exchange of whole prompts.

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
    tested: list[_Tested] = []
    for cell, reference, name in _comparisons(cells, baseline=baseline, pairs=pairs, n_within=len(within)):
        shared = {
            "measure": "share_difference",
            **share_row(cell, by, reference),
            "contrast": group,
            "reference": name,
            "sides": None if name == baseline else PAIR,
            "level": level,
            "n_reference": reference.n if reference else 0,
            "method": "Newcombe; p: Fisher exact" + ", mid-p" * mid_p,
            "source": _SOURCE,
        }
        why = meant.why_not(cell.attribute, shared) or meant.why_not(cell.attribute, {**shared, group: name})
        shown = sorted({*cell.seen, *(reference.seen if reference else ())})
        for category in meant.wanted or shown or (None,):
            row = {**shared, "category": category}
            rows.append(row)
            if category is None or reference is None or not cell.n or not reference.n:
                row["undefined"] = why or (NO_REFERENCE if cell.n else NO_LABEL)
            elif why:
                row["undefined"] = why
            else:
                tested.append(_tested(row, category, cell, reference, level))
    _add_numbers(tested, level=level, mid_p=mid_p)
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


def _tested(row: dict[str, Any], category: str, cell: Cell, reference: Cell, level: float) -> _Tested:
    """Set the difference into its row."""
    both, claim = (cell, reference), claim_of(cell.prompts, reference.prompts)
    k, n, j, m = counts = [number for side in both for number in (side.count(category), side.n)]
    flags = {**claim.flags, "small_n": min(n, m) < SMALL_N}
    row |= {"numerator": k, "denominator": n, "numerator_reference": j}
    row |= {"value": k / n - j / m, **bound_columns(category, *both), "flags": flags}
    row["holds_for"] = claim.holds_for
    effective = [x for side in both for x in side.effective(category, level=level, claim=claim)]
    if not (claim.clustered or claim.matched):
        return row, counts, effective, 0.0, None
    by_prompt = [x for side in both for x in (side.by_prompt(category), list(side.prompts.values()))]
    correlation = shared_correlation(*by_prompt) if claim.matched else 0.0
    flipped = claim.matched and len(cell.prompts) >= _FEWEST_FLIPPED
    row["method"] = _MATCHED.format(correlation, _FURTHER) if flipped else _CLUSTERED.format(_FURTHER)
    exact = (cluster_flip_test if flipped else cluster_permutation_test)(*by_prompt)
    # What tells the sides apart is left out of how alike pictures of a prompt are.
    own = sum((side.evidence(category) for side in both), np.zeros(ICC_GRID.size))
    weights = icc_beliefs(own, (cell.peers or Peers(both)).mixture)
    m, either = len(cell.prompts), len(cell.prompts) + len(reference.prompts)
    ways = 2**m if flipped else comb(either, m)
    p, least = beyond_exact(exact, beta_binomial_test(*by_prompt, weights=weights), ways).tolist()
    return row, counts, effective, correlation, (p, least)


def _add_numbers(tested: Sequence[_Tested], *, level: float, mid_p: bool) -> None:
    """Intervals, p and q of all comparisons at once, set into their rows."""
    if not tested:
        return
    rows, counts, effective, correlation, of_prompts = zip(*tested, strict=True)
    low, high = newcombe(*np.array(effective).T, level=level, correlation=correlation)
    tests = (test(*np.array(counts).T, mid=mid_p) for test in (fisher_exact, fisher_least))
    of_images = zip(*tests, strict=True)
    p, least = np.array([b or a for a, b in zip(of_images, of_prompts, strict=True)]).T
    q = benjamini_hochberg(p)
    for at, row in enumerate(rows):
        row.update(low=low[at], high=high[at], p_value=p[at], p_least=least[at], q_value=q[at])
        row["method"] += f"; q: Benjamini–Hochberg over {len(tested)} tests"


def shares_and_differences(
    labels: pl.DataFrame,
    attributes: Sequence[str] | None,
    group: str | None,
    *,
    value: str,
    baseline: str,
    by: Sequence[str],
    level: float,
    definition: str,
) -> pl.DataFrame:
    """Shares of one value as rows ``<definition>_rate``; with a ``group`` also differences of these."""
    name = f"{definition}_rate"
    scope = (*by, group) if group is not None else by
    tables = {name: share(labels, attributes, value=value, by=scope, level=level)}
    if group is not None:
        tables[f"{name}_difference"] = share_difference(
            labels, attributes, group, baseline=baseline, value=value, within=by, level=level
        )
    common = {"definition": pl.lit(definition), "category": pl.lit(None, pl.String)}
    return pl.concat(table.with_columns(measure=pl.lit(row), **common) for row, table in tables.items())
