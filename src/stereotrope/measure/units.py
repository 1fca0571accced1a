"""What counts as independent, and of what a number therefore speaks: the one place that decides it.

Pictures of one prompt are alike, and so are prompts that word one scenario. Over enough of these they are a
sample of all that might have been asked, and a number speaks of prompts like these; below that pictures are
the sample, of these prompts alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from stereotrope.tables import LIKE_THESE, SCENARIO, SCOPES, THESE_PROMPTS

FEWEST_PROMPTS = 4
"""Prompts that each side spans where a number speaks of prompts like these: from three or fewer it cannot be
seen how prompts differ."""

SEED_COLUMN = "seed"
FEWEST_SEEDS = 4
"""Seeds that prompts share where a number speaks of other seeds too, for the same reason."""
SEEDS_COUNTED = "shared seeds counted"
"""What the method of an estimate says where they are."""

_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Claim:
    """What interval and p of a cell, or of a comparison, rest on.

    prompts: Whether prompts are the units; else pictures are.
    dependent: Whether pictures are: a prompt has several, or prompts share seeds.
    known: Whether the frame says of every picture which prompt it is of.
    matched: Whether prompts are the units and both sides have the same ones.
    """

    prompts: bool
    dependent: bool
    known: bool
    matched: bool = False

    @property
    def clustered(self) -> bool:
        """Whether pictures are not independent: prompts are the units, and have several or share seeds."""
        return self.prompts and self.dependent

    @property
    def holds_for(self) -> str:
        """The column ``holds_for`` of an estimate with interval or p."""
        return LIKE_THESE if self.prompts else THESE_PROMPTS

    @property
    def flags(self) -> dict[str, bool]:
        """What to mind: ``clustered``, and ``no_prompt_id`` where the frame cannot tell."""
        return {"clustered": self.clustered, "no_prompt_id": not self.known}


def claim_of(*sides: Mapping[Any, int]) -> Claim:
    """Decide what the units are of one cell, or of the sides of a comparison.

    sides: Prompt → pictures of it, None of the prompt that is not known.
    Returns: Prompts are the units where every side spans at least :data:`FEWEST_PROMPTS` known ones.

    >>> many, few = dict.fromkeys("abcd", 5), {"a": 20}
    >>> claim_of(many, many).holds_for, claim_of(many, few).holds_for
    ('prompts like these', 'these prompts')
    """
    numbers = [len(side) - (None in side) for side in sides]
    prompts = bool(numbers) and min(numbers) >= FEWEST_PROMPTS
    known = not any(side.get(None) for side in sides)
    return Claim(
        prompts=prompts,
        dependent=any(n > 1 for side in sides for n in side.values()),
        known=known,
        matched=prompts and known and len(sides) == 2 and set(sides[0]) == set(sides[1]),
    )


def units_of(*sides: ArrayLike) -> tuple[Claim, list[_Ints]]:
    """Decide what the units are, and number them.

    sides: Prompt of each picture of a side as a number, below 0 where it is not known (:func:`prompt_codes`).
    Returns claim, units: Of each side the unit of each picture, numbers from 0 over all sides. A prompt that
        two sides have has one number; pictures whose prompt is not known are of one.

    >>> units_of([0, 0, 1, 2, 3])[1][0].tolist(), units_of([0, 0, 1])[1][0].tolist()
    ([0, 0, 1, 2, 3], [0, 1, 2])
    """
    given = [np.maximum(np.asarray(side, np.int64), -1) for side in sides]
    ends = np.cumsum([0, *map(len, given)])
    claim = claim_of(*map(_counted, given))
    codes = np.arange(ends[-1])
    if claim.prompts:
        codes = np.unique(np.concatenate(given), return_inverse=True)[1].astype(np.int64)
    return claim, [codes[start:end] for start, end in pairwise(ends)]


def scope_of_levels(n: int) -> str:
    """What an interval or p over so many levels, scenarios or queries speaks of."""
    return LIKE_THESE if n >= FEWEST_PROMPTS else THESE_PROMPTS


def unit_ids(columns: Sequence[str], within: Sequence[str] = (), counts: pl.Expr | None = None) -> pl.Expr:
    """Prompt of each row, or its scenario where this is the unit; null where it is not known.

    columns: Of the frame; one with ``scenario`` says which prompts are wordings of one.
    within: Factors that tell cells apart. Scenarios are the units of a cell with :data:`FEWEST_PROMPTS`.
    counts: Which rows count; all when None.

    >>> frame = pl.DataFrame({"prompt_id": list("abcdef"), "scenario": list("rrsstu"), "model": "m"})
    >>> frame.select(unit_ids(frame.columns, ["model"])).to_series().to_list()
    ['r', 'r', 's', 's', 't', 'u']
    >>> frame.head(5).select(unit_ids(frame.columns)).to_series().to_list()
    ['a', 'b', 'c', 'd', 'e']
    """
    prompt = pl.col("prompt_id").cast(pl.String) if "prompt_id" in columns else pl.lit(None, pl.String)
    if SCENARIO not in columns or SCENARIO in within:
        return prompt
    scenario = pl.col(SCENARIO).cast(pl.String)
    rows = scenario if counts is None else scenario.filter(counts)
    enough = rows.is_not_null().all() & (rows.n_unique() >= FEWEST_PROMPTS)
    return pl.when(enough.over(list(within)) if within else enough).then(scenario).otherwise(prompt)


def seeds_shared(frame: pl.DataFrame, factors: Sequence[str]) -> bool:
    """Whether, in a cell of :data:`FEWEST_PROMPTS` prompts, several of these were drawn with one seed.

    factors: What tells cells apart.
    """
    known = {SEED_COLUMN, "prompt_id"} <= set(frame.columns) and SEED_COLUMN not in factors
    if not known or frame[SEED_COLUMN].null_count() == frame.height:
        return False
    drawn = frame.select(*factors, "prompt_id", SEED_COLUMN).unique()
    seeds, prompts = (pl.col(name).n_unique() for name in (SEED_COLUMN, "prompt_id"))
    asked = (pl.len() > seeds) & (seeds >= FEWEST_SEEDS) & (prompts >= FEWEST_PROMPTS)
    told = drawn.group_by(factors).agg(asked.alias("_")) if factors else drawn.select(asked.alias("_"))
    return bool(told["_"].any())


def seeds_across(frame: pl.DataFrame, factors: Sequence[str]) -> bool:
    """Whether prompts share seeds, and a factor tells as many cells apart as may stand for prompts.

    factors: What tells cells apart.
    """
    known = {SEED_COLUMN, "prompt_id"} <= set(frame.columns) and SEED_COLUMN not in factors
    if not known or frame[SEED_COLUMN].null_count() == frame.height:
        return False
    many = any(frame[name].n_unique() >= FEWEST_PROMPTS for name in factors if name not in SCOPES)
    drawn = frame.select("prompt_id", SEED_COLUMN).drop_nulls().unique() if many else frame.clear()
    return drawn.height > drawn[SEED_COLUMN].n_unique()


def prompt_codes(frame: pl.DataFrame) -> _Ints:
    """Prompt or scenario (:func:`unit_ids`) of each row of a cell as a number, −1 where it is not known."""
    ids = frame.with_columns(_unit=unit_ids(frame.columns))["_unit"]
    return (ids.rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy()


def _counted(codes: _Ints) -> dict[int | None, int]:
    found, counts = np.unique(codes, return_counts=True)
    return {None if code < 0 else code: n for code, n in zip(found.tolist(), counts.tolist(), strict=True)}
