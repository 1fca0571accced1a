"""From a score of a cell to its row among the estimates."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.captions.frame import Captions, caption_table
from stereotrope.measure.captions.groups import UNKNOWN, Groups
from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.definitions import check_definition
from stereotrope.measure.tidy import estimate_frame, excluded_json
from stereotrope.stats import ScoreOfSums, effective_counts, normal_quantile, wilson

Floats = NDArray[np.float64]
ScoreRow = dict[str, Any]

NO_CAPTION = "no usable caption"
"""Why a score is null where no caption of the cell counts."""

Limits = tuple[float | None, float | None]


@dataclass(frozen=True)
class How:
    """What all scores of one call share."""

    by: tuple[str, ...]
    definition: str
    level: float

    @property
    def released(self) -> bool:
        """Whether scores follow the authors' scripts."""
        return self.definition == "released"


def make_how(measure: str, by: Sequence[str], definition: str, level: float) -> How:
    """Check what all measures of captions take.

    Raises
    ------
    UsageError
        The definition or the level is none.
    """
    check_definition(definition, measure)
    normal_quantile(level)
    if isinstance(by, str):
        raise UsageError(f"{measure}: by must be a list of factors, found the string {by!r}; write [{by!r}]")
    return How(tuple(by), definition, level)


def estimates_of(
    measure: str,
    captions: Any,
    rows: Callable[[Captions, How], Iterable[ScoreRow]],
    by: Sequence[str],
    definition: str,
    level: float,
    n_bootstrap: int = 0,
    seed: int = 0,
    *,
    columns: Sequence[str] = (),
    lists: Sequence[str] = (),
) -> pl.DataFrame:
    """The estimates of a measure: its rows of every cell of a captions frame."""
    how = make_how(measure, by, definition, level)
    cells = caption_table(
        captions, by=by, measure=measure, columns=columns, lists=lists, n_bootstrap=n_bootstrap, seed=seed
    )
    return estimate_frame([row for cell in cells for row in rows(cell, how)], factors=how.by)


def base_row(
    cell: Captions, how: How, measure: str, source: str, *, n: int | None = None, extra: Any = None
) -> ScoreRow:
    """The columns every row of a cell has; ``extra`` are exclusions of this measure by reason."""
    excluded: dict[str, int] = dict(cell.excluded)
    for reason, count in (extra or {}).items():
        excluded[reason] = excluded.get(reason, 0) + count
    entered = cell.n if n is None else n
    flags = ["small_n"] * (entered < SMALL_N) + ["clustered"] * cell.clustered
    return {
        "measure": measure,
        "definition": how.definition,
        **dict(zip(how.by, cell.key, strict=True)),
        "level": how.level,
        "n": entered,
        "n_excluded": sum(excluded.values()),
        "excluded": excluded_json(excluded),
        "flags": ",".join(flags) or None,
        "source": source,
    }


def flagged(row: ScoreRow, *flags: str) -> ScoreRow:
    """The row with further entries in ``flags``."""
    there = [row["flags"]] if row.get("flags") else []
    return {**row, "flags": ",".join([*there, *flags]) or None}


def undefined(row: ScoreRow, reason: str) -> ScoreRow:
    """The row of a score that cannot be given."""
    return {**row, "value": None, "undefined": reason}


def scored(
    row: ScoreRow,
    cell: Captions,
    how: How,
    of: ScoreOfSums,
    *,
    limits: Limits,
    method: str | None = None,
    curved: bool = False,
) -> ScoreRow:
    """The row of a score of sums, with its bootstrap interval inside the score's limits."""
    low, high = cell.resample.interval(of, level=how.level, curved=curved)
    kind = "normal" if curved else "percentile"
    made = described(cell, method, kind)
    return {**row, "value": of.value, **clipped(low, high, limits), "method": made}


def clipped(low: float, high: float, limits: Limits) -> ScoreRow:
    """``low`` and ``high`` inside the limits of the score."""
    least, most = limits
    if least is not None:
        low, high = max(low, least) if low == low else low, max(high, least) if high == high else high
    if most is not None:
        low, high = min(low, most) if low == low else low, min(high, most) if high == high else high
    return {"low": low, "high": high}


def described(cell: Captions, method: str | None = None, kind: str = "normal") -> str | None:
    """How a score and its interval were made."""
    parts = [method] if method else []
    if b := cell.resample.n_resamples:
        unit = "prompts" if cell.clustered else "captions"
        parts.append(f"interval: {kind} bootstrap, {b} resamples of {unit}, seed {cell.resample.seed}")
    return "; ".join(parts) or None


def shared(row: ScoreRow, cell: Captions, how: How, hits: Floats, among: Floats | None = None) -> ScoreRow:
    """The row of a share of captions, with Wilson's interval at the effective number.

    ``hits`` is 1 where a caption counts, ``among`` where it could; both of shape (n,).
    """
    units = cell.resample.units
    trials = np.ones(cell.n) if among is None else among
    k, n = (np.bincount(units, v, minlength=cell.resample.n_units) for v in (hits * trials, trials))
    if not n.sum():
        return undefined(row, NO_CAPTION)
    effective = effective_counts(k, n, level=how.level)
    low, high = wilson(*effective, level=how.level)
    return {
        **row,
        "value": float(k.sum() / n.sum()),
        "numerator": int(k.sum()),
        "denominator": int(n.sum()),
        "low": float(low),
        "high": float(high),
        "method": "interval: Wilson",
    }


def without_pseudo(features: Floats, score: Any) -> ScoreOfSums:
    """A score of sums without made-up images: it has no interval where all images agree."""
    return ScoreOfSums(features, score, np.zeros((len(features), 0)))


def merged(*reasons: Mapping[str, int]) -> dict[str, int]:
    """Exclusions by reason, added up."""
    total: dict[str, int] = {}
    for part in reasons:
        for reason, count in part.items():
            total[reason] = total.get(reason, 0) + count
    return total


def above_floor(row: ScoreRow, floor: float, greatest: float) -> ScoreRow:
    """A score beside its floor; ``greatest`` is the most it can be."""
    row = {**row, "floor": floor, "excess": row["value"] - floor}
    if greatest - floor < 1e-9 or row["measure"] == "shannon_entropy":
        return row
    ends = (("adjusted", "value"), ("adjusted_low", "low"), ("adjusted_high", "high"))
    return row | {name: (row[of] - floor) / (greatest - floor) for name, of in ends}


def group_row(cell: Captions, counted: Groups, how: How, measure: str, source: str) -> ScoreRow:
    """The columns of a row about the groups of an attribute."""
    row = base_row(cell, how, measure, source, n=counted.n, extra=counted.excluded)
    flags = []
    if not counted.declared and not how.released:
        flags.append("groups_seen")
    if UNKNOWN not in counted.names and not how.released:
        flags.append("unknown_out")
    if counted.mostly_unknown:
        flags.append("mostly_unknown")
    row |= {"attribute": counted.attribute, "n_categories": len(counted.names), "method": counted.method}
    return flagged(row, *flags)
