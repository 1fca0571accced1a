"""Values that take over: conditions that show one value only, and dominant values that change."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy import special

from stereotrope.errors import UsageError
from stereotrope.measure.cells import (
    NO_LABEL,
    NO_REFERENCE,
    SMALL_N,
    Cell,
    Key,
    read_cells,
    reference_of,
    share_row,
)
from stereotrope.measure.contract import register
from stereotrope.measure.tidy import estimate_frame, factor_names
from stereotrope.measure.units import LIKE_THESE
from stereotrope.stats import effective_counts, wilson
from stereotrope.tables import ALL_ATTRIBUTES

_SODA = "SODA, section on deterministic cases and dominance shifts"


def dominant(cell: Cell) -> tuple[str, float]:
    """The most frequent value of a cell with labels (ties by name), and its share."""
    value = min(cell.seen, key=lambda v: (-cell.count(v), v))
    return value, cell.count(value) / cell.n


@register(
    suite="objects",
    bounds=(0.0, 1.0),
    direction="higher: more of the design has one look only",
    source="SODA, deterministic cases",
    also=("dominant_share",),
    counted=True,
)
def deterministic_share(
    labels: Any,
    group: str = "group",
    *,
    within: Sequence[str] = ("generator", "object"),
    by: Sequence[str] = ("generator",),
    attributes: Collection[str] | None = None,
    min_n: int = SMALL_N,
    level: float = 0.95,
) -> pl.DataFrame:
    """Share of condition × attribute cells in which every image shows the same value.

    Formula
    -------
    A cell with values :math:`x_v` out of ``n`` is deterministic when :math:`\\max_v x_v = n ≥` ``min_n``;
    the score is the number of deterministic cells over the number of cells with ``n ≥ min_n``. The
    ``floor`` is what it would read if the group changed nothing: with the images of all groups of one
    ``within`` shuffled, a cell is deterministic with probability
    :math:`Σ_v \\binom{c_v}{n} / \\binom{N}{n}`, :math:`c_v` of the :math:`N` images showing ``v``.

    Parameters
    ----------
    labels
        Tidy frame as for :func:`stereotrope.measure.share`.
    group, within
        A condition is a level of ``group`` in a combination of ``within``.
    by
        Factors (some of ``within``) whose levels get one share each.
    attributes, level
        Keep only these attributes, all when None; nominal coverage.
    min_n
        Cells with fewer usable labels are left out of the share and counted.

    Returns
    -------
    polars.DataFrame
        Two kinds of rows. ``deterministic_share``: one a level of ``by``, for all attributes together
        and for each; ``n`` is the number of cells; Wilson's interval at the effective number of cells,
        conditions being the clusters. ``dominant_share``: one a condition and attribute, ``category``
        the dominant value and ``value`` its share with Wilson's interval, flagged ``deterministic``
        where it is 1 and ``n ≥ min_n``: 20 of 20 reads [0.84, 1].

    Undefined
    ---------
    ``no cell with enough usable labels`` for a share; ``no usable label`` for a cell.

    Notes
    -----
    The dominant value is chosen after looking, so at small ``n`` its share is biased upward. A floor
    near the score says that one value rules everywhere, cue or not.

    References
    ----------
    SODA: deterministic cases (852 of 3,200 cells, 26.6%); Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(40)], "attribute": "product_colour",
    ...     "value": ["pink"] * 20 + ["grey", "blue"] * 10,
    ...     "generator": "m", "object": "car", "group": ["women"] * 20 + ["base"] * 20,
    ... })
    >>> found = deterministic_share(labels)
    >>> found.filter(measure="deterministic_share", attribute="all")["value"].to_list()
    [0.5]
    """
    _check_min_n("deterministic_share", min_n)
    within = factor_names(within, measure="deterministic_share", taken=(group,))
    by = factor_names(by, measure="deterministic_share", what="by")
    factors = (*within, group)
    if outside := [name for name in by if name not in factors]:
        raise UsageError(
            f"deterministic_share: by must list factors of within, found {outside[0]!r} beside "
            f"within={list(within)}; give by= some of these, or [] for one share over all"
        )
    cells = read_cells(labels, by=factors, attributes=attributes, argument="within")
    chance = _chance(cells, n_within=len(within))
    shares: dict[tuple[Key, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        key = tuple(cell.key[factors.index(name)] for name in by)
        shares[key, ALL_ATTRIBUTES].append(cell)
        shares[key, cell.attribute].append(cell)
    rows = [
        {
            **dict(zip(by, key, strict=True)),
            "attribute": attribute,
            **_share_of_cells(members, chance, min_n=min_n, level=level),
        }
        for (key, attribute), members in sorted(shares.items(), key=lambda item: item[0][1] != ALL_ATTRIBUTES)
    ]
    rows += [
        {**dict(zip(factors, cell.key, strict=True)), **_dominant_row(cell, min_n=min_n, level=level)}
        for cell in cells
    ]
    shared = {"definition": "paper", "level": level, "source": _SODA}
    return estimate_frame([shared | row for row in rows], factors=factors)


def _chance(cells: Sequence[Cell], *, n_within: int) -> dict[tuple[Key, str], float]:
    """Probability that each cell shows one value only when its images are drawn from all groups'."""
    pools: dict[tuple[Key, str], Counter[str]] = defaultdict(Counter)
    for cell in cells:
        pools[cell.key[:n_within], cell.attribute].update({value: cell.count(value) for value in cell.seen})

    def log_choose(total: Any, n: int) -> Any:
        return special.gammaln(total + 1) - special.gammaln(n + 1) - special.gammaln(total - n + 1)

    chance = {}
    for cell in cells:
        counts = np.array(list(pools[cell.key[:n_within], cell.attribute].values()), dtype=np.float64)
        able = counts[counts >= cell.n] if cell.n else counts[:0]
        ways = np.exp(log_choose(able, cell.n) - log_choose(counts.sum(), cell.n))
        chance[cell.key, cell.attribute] = float(ways.sum())
    return chance


def _share_of_cells(
    members: Sequence[Cell], chance: dict[tuple[Key, str], float], *, min_n: int, level: float
) -> dict[str, Any]:
    enough = [cell for cell in members if cell.n >= min_n]
    left = len(members) - len(enough)
    row = {
        "measure": "deterministic_share",
        "n": len(enough),
        "excluded": {f"cell with fewer than {min_n} usable labels": left},
    }
    if not enough:
        return {**row, "undefined": "no cell with enough usable labels"}
    conditions = list(dict.fromkeys(cell.key for cell in enough))
    member = np.array([conditions.index(cell.key) for cell in enough])
    hit = np.array([len(cell.seen) == 1 for cell in enough], dtype=np.float64)
    effective = effective_counts(np.bincount(member, hit), np.bincount(member), level=level)
    low, high = wilson(*effective, level=level)
    value = float(hit.mean())
    floor = float(np.mean([chance[cell.key, cell.attribute] for cell in enough]))
    at_maximum = floor >= 1 - 1e-12
    return {
        **row,
        "value": value,
        "low": float(low),
        "high": float(high),
        "holds_for": LIKE_THESE,
        "floor": floor,
        "excess": value - floor,
        "adjusted": None if at_maximum else (value - floor) / (1 - floor),
        "flags": {"floor_at_maximum": at_maximum},
        "method": "Wilson at the effective number of cells; n: cells; floor: images shuffled over groups",
    }


def _dominant_row(cell: Cell, *, min_n: int, level: float) -> dict[str, Any]:
    clustered = cell.claim.clustered
    row = {
        "measure": "dominant_share",
        "attribute": cell.attribute,
        "n": cell.n,
        "excluded": cell.excluded,
        "method": "Wilson at effective n over prompts" if clustered else "Wilson",
    }
    if not cell.n:
        return {**row, "undefined": NO_LABEL}
    value, share = dominant(cell)
    low, high = wilson(*cell.effective(value, level=level), level=level)
    flags = {
        "deterministic": len(cell.seen) == 1 and cell.n >= min_n,
        "tie": [cell.count(v) for v in cell.seen].count(cell.count(value)) > 1,
        **cell.flags,
    }
    ends = {"low": float(low), "high": float(high), "holds_for": cell.claim.holds_for}
    return {**row, "category": value, "value": share, **ends, "flags": flags}


@register(
    suite="objects",
    bounds=(0.0, 1.0),
    direction="1: the dominant value changes with the group; 0: it does not",
    source="SODA, dominance shifts",
    counted=True,
)
def dominance_shift(
    labels: Any,
    group: str = "group",
    *,
    baseline: str = "base",
    within: Sequence[str] = ("generator", "object"),
    attributes: Collection[str] | None = None,
    threshold: float = 0.70,
    min_n: int = SMALL_N,
) -> pl.DataFrame:
    """Whether one value dominates the baseline and another one the group.

    Formula
    -------
    1 where :math:`\\arg\\max_v p_v^{base} ≠ \\arg\\max_v p_v^{g}` and both maxima are at least
    ``threshold``, else 0.

    Parameters
    ----------
    labels
        Tidy frame as for :func:`stereotrope.measure.share`.
    group, baseline, within
        The factor compared; the level of ``group`` that is the reference; the factors held equal.
    attributes
        Keep only these; all when None.
    threshold, min_n
        Share from which a value dominates; usable labels that each side needs.

    Returns
    -------
    polars.DataFrame
        One row a group and attribute: ``value`` 1 or 0, ``category`` the two dominant values as ``silver →
        rose gold``; ``method`` says their shares.

    Undefined
    ---------
    Without enough usable labels on a side, and without a baseline.

    Notes
    -----
    A yes or no has no interval. Two dominances of 0.70 at ``n = 20`` have the intervals [0.48, 0.85]:
    near the threshold another 20 images may say otherwise.

    References
    ----------
    SODA: dominance shifts, both dominances at least 0.70.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(40)], "attribute": "product_colour",
    ...     "value": ["pink"] * 20 + ["silver"] * 20,
    ...     "generator": "m", "object": "car", "group": ["women"] * 20 + ["base"] * 20,
    ... })
    >>> dominance_shift(labels).select("value", "category").row(0)
    (1.0, 'silver → pink')
    """
    _check_min_n("dominance_shift", min_n)
    if not 0 < threshold <= 1:
        raise UsageError(
            f"dominance_shift: threshold must lie above 0 and at most at 1, found {threshold}; 0.7 is usual"
        )
    factors = (*factor_names(within, measure="dominance_shift", taken=(group,)), group)
    cells = read_cells(labels, by=factors, attributes=attributes, argument="within")
    references: dict[str, dict[Key, Cell]] = defaultdict(dict)
    for cell in cells:
        if cell.key[-1] == baseline:
            references[cell.attribute][cell.key[:-1]] = cell
    if cells and not references:
        found = ", ".join(map(repr, sorted({str(cell.key[-1]) for cell in cells})))
        raise UsageError(f"dominance_shift: no {group} {baseline!r}; found {found}; name it with baseline=")
    rows = []
    for cell in (c for c in cells if c.key[-1] != baseline):
        reference = reference_of(cell.key[:-1], references[cell.attribute])
        shared = {
            **share_row(cell, factors, reference),
            "measure": "dominance_shift",
            "definition": "paper",
            "contrast": group,
            "reference": baseline,
            "n_reference": reference.n if reference else 0,
            "method": f"threshold {threshold}",
            "source": _SODA,
        }
        rows.append({**shared, **_shift(cell, reference, threshold=threshold, min_n=min_n)})
    return estimate_frame(rows, factors=factors)


def _check_min_n(measure: str, min_n: int) -> None:
    if min_n < 1:
        raise UsageError(f"{measure}: min_n must be at least 1, found {min_n}; {SMALL_N} is usual")


def _shift(cell: Cell, reference: Cell | None, *, threshold: float, min_n: int) -> dict[str, Any]:
    if reference is None or not reference.n:
        return {"undefined": NO_REFERENCE}
    if not cell.n:
        return {"undefined": NO_LABEL}
    if min(cell.n, reference.n) < min_n:
        return {"undefined": f"fewer than {min_n} usable labels", "flags": "small_n"}
    (before, was), (after, now) = dominant(reference), dominant(cell)
    return {
        "value": float(before != after and was >= threshold and now >= threshold),
        "category": f"{before} → {after}",
        "method": f"threshold {threshold}; dominance {now:.2f}, in the reference {was:.2f}",
    }
