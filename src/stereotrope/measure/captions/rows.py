"""From the captions of a cell to rows of estimates, and from a function that makes these to a measure."""

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.measure.captions.frame import BY, Captions, caption_cells
from stereotrope.measure.captions.groups import Groups
from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.contract import register
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.pace import paced
from stereotrope.measure.units import SEEDS_COUNTED, Claim
from stereotrope.stats import ScoreOfSums, cluster_share_interval
from stereotrope.stats.arrays import Floats
from stereotrope.tables import UNKNOWN

ScoreRow = dict[str, Any]
Arguments = ParamSpec("Arguments")

NO_CAPTION = "no usable caption"
"""Why a score is null where no caption of the cell counts."""

_OPEN = ("attribute", "unknown", "epsilon")
"""What an audit file may say of a measure of captions; the rest a lexicon declares."""


class CaptionMeasure(Protocol[Arguments]):
    """A function of a captions frame, and the one of a single cell that it is made of."""

    rows: Callable[Concatenate[Captions, Arguments], list[ScoreRow]]

    def __call__(self, captions: Any, *given: Any, **arguments: Any) -> pl.DataFrame:
        """The estimates of every cell of a captions frame."""


CellFunction = Callable[Concatenate[Captions, Arguments], Iterable[ScoreRow]]


def caption_measure(**facts: Any) -> Callable[[CellFunction[Arguments]], CaptionMeasure[Arguments]]:
    """Register a function from the captions of a cell to its rows as a measure of captions.

    The measure takes a captions frame in place of the cell, and ``by``, ``definition``, ``level``,
    ``n_bootstrap`` and ``seed`` besides what the function takes. In an audit all such measures are computed
    together, by the lexicon's declarations.
    """

    def registered(function: CellFunction[Arguments]) -> CaptionMeasure[Arguments]:
        measure = over_cells(facts["source"])(function)
        names = [name for name in inspect.signature(function).parameters if name not in ("cell", *_OPEN)]
        closed = dict.fromkeys(("by", *names), "the lexicon declares that; change it there")
        register(suite="biasbench", needs="captions", shared=True, closed=closed, **facts)(measure)
        return measure

    return registered


def over_cells(source: str) -> Callable[[CellFunction[Arguments]], CaptionMeasure[Arguments]]:
    """Make a function of a captions frame from one of a cell; its rows say name and source."""

    def made(function: CellFunction[Arguments]) -> CaptionMeasure[Arguments]:
        name = function.__name__

        def rows(cell: Captions, *given: Arguments.args, **arguments: Arguments.kwargs) -> list[ScoreRow]:
            found = function(cell, *given, **arguments)
            return [{"measure": name, "source": source, **row, **_scope(row, cell.claim)} for row in found]

        rows_of: Callable[..., list[ScoreRow]] = rows

        def measure(
            captions: Any,
            *given: Any,
            by: Sequence[str] = BY,
            definition: Literal["paper", "released"] = "paper",
            level: float = 0.95,
            n_bootstrap: int = 1_000,
            seed: int = 0,
            **arguments: Any,
        ) -> pl.DataFrame:
            how: dict[str, Any] = {"definition": definition, "level": level}
            how |= {"n_bootstrap": n_bootstrap, "seed": seed}
            cells = caption_cells(captions, measure=name, by=by, **how)
            made = (row for cell in paced(cells) for row in rows_of(cell, *given, **arguments))
            return estimate_frame(made, factors=tuple(by))

        frame, *shared = inspect.signature(measure).parameters.values()
        own = list(inspect.signature(function).parameters.values())[1:]
        parameters = [frame, *own, *(one for one in shared if one.kind is one.KEYWORD_ONLY)]
        functools.update_wrapper(measure, function)
        measure.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": pl.DataFrame}
        signature = inspect.Signature(parameters, return_annotation=pl.DataFrame)
        vars(measure).update(__signature__=signature, rows=rows)
        return cast("CaptionMeasure[Arguments]", measure)

    return made


def _scope(row: ScoreRow, claim: Claim) -> ScoreRow:
    """What an interval holds for, where the row has one."""
    low = row.get("low")
    return {} if low is None or np.isnan(low) else {"holds_for": claim.holds_for}


def base_row(
    cell: Captions, n: int | None = None, left_out: Mapping[str, int] | None = None, **columns: Any
) -> ScoreRow:
    """The columns that every row of a cell has; ``left_out`` are this score's own exclusions by reason."""
    entered = cell.n if n is None else n
    return {
        "definition": cell.definition,
        **cell.key,
        "level": cell.level,
        "n": entered,
        "excluded": Counter(cell.excluded) + Counter(left_out or {}),
        "flags": {"small_n": entered < SMALL_N, **cell.claim.flags},
        **columns,
    }


def group_row(cell: Captions, counted: Groups, **columns: Any) -> ScoreRow:
    """The columns of a row about the groups of an attribute."""
    row = base_row(cell, counted.n, counted.excluded, **columns)
    flags = {
        "groups_seen": not counted.declared and not cell.released,
        "unknown_out": UNKNOWN not in counted.names and not cell.released,
        "mostly_unknown": counted.mostly_unknown,
    }
    return row | {
        "attribute": counted.attribute,
        "n_categories": len(counted.names),
        "method": counted.method,
        "flags": row["flags"] | flags,
    }


def undefined(row: ScoreRow, reason: str) -> ScoreRow:
    """The row of a score that cannot be given."""
    return {**row, "value": None, "undefined": reason}


def scored(
    row: ScoreRow,
    cell: Captions,
    of: ScoreOfSums,
    *,
    limits: tuple[float, float],
    method: str,
    curved: bool = False,
) -> ScoreRow:
    """The row of a score of sums, with its bootstrap interval inside the score's limits."""
    ends = cell.resample.interval(of, level=cell.level, curved=curved)
    method = described(cell, method, "normal" if curved else "percentile")
    return {**row, "value": of.value, **clipped(*ends, limits), "method": method}


def clipped(low: float, high: float, limits: tuple[float, float]) -> ScoreRow:
    """``low`` and ``high`` inside the limits of the score."""
    low, high = np.clip((low, high), *limits).tolist()
    return {"low": low, "high": high}


def described(cell: Captions, method: str, kind: str = "normal") -> str:
    """How a score and its interval were made."""
    if not cell.resample.n_resamples:
        return method
    unit = "prompts" if cell.clustered else "captions"
    unit += f", {SEEDS_COUNTED}" * (cell.resample.across is not None)
    drawn = f"{cell.resample.n_resamples} resamples of {unit}, seed {cell.resample.seed}"
    return f"{method}; interval: {kind} bootstrap, {drawn}"


def share_of_captions(
    row: ScoreRow, cell: Captions, hits: NDArray[Any], among: Floats | None = None
) -> ScoreRow:
    """The row of a share of captions, with its interval over captions or, where these are, over prompts.

    hits, among: 1 where a caption counts, and where it could; shape (n,).
    """
    units = cell.resample.units
    trials = np.ones(cell.n) if among is None else among
    k, n = (np.bincount(units, v, minlength=cell.resample.n_units) for v in (hits * trials, trials))
    if not n.sum():
        return undefined(row, NO_CAPTION)
    crossed, how = None, "interval: beta-binomial over prompts" if cell.clustered else "interval: Wilson"
    if cell.resample.across is not None:
        could = trials > 0
        crossed = cell.resample.across.among(could).crossed((hits * trials)[could])
        how = f"interval: Wilson over prompts, {SEEDS_COUNTED}"
    low, high = cluster_share_interval(k, n, level=cell.level, crossed=crossed)
    method = "; ".join([*([row["method"]] if "method" in row else []), how])
    return {
        **row,
        "value": float(k.sum() / n.sum()),
        "numerator": int(k.sum()),
        "denominator": int(n.sum()),
        "low": low,
        "high": high,
        "method": method,
    }


def above_floor(row: ScoreRow, floor: float, greatest: float | None = None) -> ScoreRow:
    """A score beside its floor, and its place between that and the greatest, where this is given."""
    row = {**row, "floor": floor, "excess": row["value"] - floor}
    if greatest is None or greatest - floor < 1e-9:
        return row
    ends = (("adjusted", "value"), ("adjusted_low", "low"), ("adjusted_high", "high"))
    return row | {name: (row[of] - floor) / (greatest - floor) for name, of in ends}


def without_pseudo(features: Floats, score: Any) -> ScoreOfSums:
    """A score of sums without made-up images: it has no interval where all images agree."""
    return ScoreOfSums(features, score, np.zeros((len(features), 0)))
