"""How many scenarios are dominated by a value, or lean towards it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from stereotrope.errors import UsageError
from stereotrope.measure.contract import register
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.ratios.reading import NO_SHARE, Unit, check_unit, scenarios_of, share_of_scenarios
from stereotrope.stats import normal_quantile, special
from stereotrope.stats.arrays import Floats

_EVEN = "exactly 0.5"
_EQUAL = 1e-9


@register(
    suite="everyday",
    bounds=(0.0, 1.0),
    direction="higher: more scenarios in this range of ratios",
    source="everyday gender, section 4.1; Wilson 1927",
    needs="estimates",
    also=("dominated_at_least",),
    on="female_ratio",
)
def dominated(
    estimates: Any,
    over: str = "scenario",
    *,
    within: Sequence[str] = ("generator",),
    threshold: float = 0.7,
    unit: Unit = "picture",
    kept: float = 0.5,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How many scenarios a value dominates, how many lean towards it, and how many away from it.

    Formula
    -------
    The part of the scenarios ``p`` with :math:`R(p) ≥ t` (dominated), :math:`\frac12 < R(p) < t` (leaning),
    :math:`R(p) = \frac12`, :math:`1-t < R(p) < \frac12` and :math:`R(p) ≤ 1-t`. ``dominated_at_least`` counts
    those whose interval lies wholly in the range.

    Parameters
    ----------
    estimates, over, within, kept, level
        As for :func:`stereotrope.measure.stability`; ``level`` is that of the intervals of scenarios, too.
    threshold
        Ratio :math:`t` from which on a scenario counts as dominated.
    unit
        What the interval of a scenario is of. ``picture``: Wilson's, of other pictures of the same prompts;
        ``prompt``: that in the estimates, which may be of other prompts like the scenario's own.

    Returns
    -------
    polars.DataFrame
        Estimates, a row a range (``category``, behind that of the estimates where they have one). ``value``
        in [0, 1], ``numerator`` of ``denominator`` scenarios; the values of ``dominated`` add up to 1.
        Wilson's interval holds for other scenarios like these; below four there is none (``few_levels``).
        ``floor``: what the ranges would read if
        every scenario showed the value in half of its pictures, by chance at their numbers alone.

    Undefined
    ---------
    ``no scenario has a share``.

    Notes
    -----
    A ratio of few pictures is more extreme than what it is the ratio of: of scenarios that are even, 20
    pictures call 12% dominated either way, 200 none. ``dominated`` is therefore too high at few pictures,
    ``dominated_at_least`` too low at any number: of scenarios that do not belong there 1 in 40 is counted
    where it lies just beside the range, fewer where it is far. The truth is between the two.

    References
    ----------
    “Large-scale gender analysis”, section 4.1; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> ratios = pl.DataFrame({
    ...     "measure": "female_ratio", "definition": "everyday", "generator": "m", "attribute": "gender",
    ...     "scenario": ["cook", "drive", "read", "swim"], "value": [0.72, 0.1, 0.5, 0.6], "n": 200,
    ... })
    >>> dominated(ratios).select("measure", "category", "numerator").head(2).rows()
    [('dominated', 'at least 0.7', 1), ('dominated_at_least', 'at least 0.7', 0)]
    """
    normal_quantile(level)
    if not 0.5 < threshold <= 1:
        raise UsageError(
            f"dominated: threshold must lie above 0.5 and up to 1, found {threshold:g}; 0.7 is usual"
        )
    check_unit(estimates, unit, reader="dominated")
    factors, cells = scenarios_of(estimates, over=over, within=within, kept=kept, reader="dominated")
    rows: list[dict[str, Any]] = []
    for cell in cells:
        m = cell.rows.height
        shared = {
            **cell.levels,
            "n": m,
            "excluded": cell.excluded,
            "level": level,
            "source": "everyday gender, section 4.1; Wilson 1927",
        }
        ends = cell.interval(unit, level)
        by_chance = _by_chance(cell.rows["n"].to_numpy(), threshold)
        for name, (low, high) in _ranges(threshold).items():
            row = {**shared, "measure": "dominated", "category": cell.part(name)}
            sure = {**row, "measure": "dominated_at_least"}
            both = [row] if name == _EVEN else [row, sure]
            if not m:
                rows += [{**one, "undefined": NO_SHARE} for one in both]
                continue
            inside = [_within(low, high, cell.rows["value"].to_numpy()), _within(low, high, *ends)]
            for one, held in zip(both, inside, strict=False):
                one |= share_of_scenarios(int(held.sum()), m, level)
            floor = float(by_chance[name].mean())
            row |= {"floor": floor, "excess": row["value"] - floor}
            sure["method"] = f"interval of each by {unit}, wholly in the range; {row['method']}"
            rows += both
    return estimate_frame(rows, factors=factors)


def _ranges(threshold: float) -> dict[str, tuple[float, float]]:
    """Names of the ranges, with the least and greatest ratio that each holds."""
    least = round(1 - threshold, 12)
    step = 2 * _EQUAL
    return {
        f"at least {threshold:g}": (threshold, 1.0),
        f"0.5 to {threshold:g}": (0.5 + step, threshold - step),
        _EVEN: (0.5, 0.5),
        f"{least:g} to 0.5": (least + step, 0.5 - step),
        f"at most {least:g}": (0.0, least),
    }


def _within(
    low: float, high: float, first: Floats, last: Floats | None = None
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Where numbers, or intervals, lie wholly between two ends."""
    return np.asarray((first >= low - _EQUAL) & ((first if last is None else last) <= high + _EQUAL))


def _by_chance(n: Floats, threshold: float) -> dict[str, Floats]:
    """Of each scenario the probability of each range where half of its pictures show the value."""
    below = np.floor(n * (1 - threshold) + _EQUAL)
    outer = special.bdtr(below, n, 0.5)
    even = np.where(
        n % 2 == 0, np.exp(special.gammaln(n + 1) - 2 * special.gammaln(n / 2 + 1) - n * np.log(2)), 0.0
    )
    inner = np.maximum((1 - even) / 2 - outer, 0.0)
    return dict(zip(_ranges(threshold), (outer, inner, even, inner, outer), strict=True))
