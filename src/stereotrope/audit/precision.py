"""How exact the numbers of an audit would be: intervals of its own measures, of pictures that are made up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from stereotrope.audit.made_run import Making, made_scores, pictures_per_prompt, refuse_counted, two_models
from stereotrope.audit.outstanding import audit_price
from stereotrope.audit.plan import Plan
from stereotrope.errors import UsageError
from stereotrope.measure import bounds_of
from stereotrope.tables import ALL_ATTRIBUTES

_KIND = ["measure", "definition", "by", "aggregate", "attributes"]
"""What tells one kind of number from another."""
_BETWEEN = "\n"
"""Between the names of factors, which hold any other character."""
_RUNS, _TOGETHER = 4, 6_000
"""Runs at most that are made up for typical intervals, and their pictures together; two runs are at least."""
_PICTURES = 30_000
"""Pictures of a run beyond which none is made up."""
_FEWEST, _MOST = 2, 5_000
"""Pictures of a prompt below and beyond which nobody is told to draw so many."""
_STANDS = 1.08
"""By how much intervals of twice as many pictures are shorter where still more do not help."""
_BY_PICTURES = 0.32
"""Power of pictures from which on intervals shrink with their square root, whose power is 0.5."""
_QUICK = {"n_bootstrap": 200, "n_permutations": 1}


def times_wanted(known: Mapping[float, float], wanted: float) -> float | None:
    """Times as many pictures with which what shrinks with their number is as small as wanted.

    Between the numbers of pictures that are known it is a power of theirs, beyond them :math:`1/\\sqrt n`
    where it has come to shrink so. None where it has not: prompts, or what else it spans, differ by more.

    known: Times as many pictures → what shrinks.
    """
    places = np.array(sorted(known))
    # Fewer pictures tell no more, whatever chance says.
    sizes = np.maximum.accumulate([known[place] for place in places[::-1]])[::-1]
    enough = np.flatnonzero(sizes <= wanted)
    if enough.size and enough[0] == 0:
        return float(places[0])
    at = enough[0] - 1 if enough.size else max(0, places.size - 2)
    short, long = np.log(sizes[at : at + 2] / wanted) if places.size > 1 else (0.0, 0.0)
    growth = np.log(places[at + 1] / places[at]) if places.size > 1 else 1.0
    if enough.size:
        return float(places[at] * np.exp(growth * short / (short - long)))
    by_pictures = (short - long) / growth > _BY_PICTURES
    return float(places[-1] * (sizes[-1] / wanted) ** 2) if by_pictures else None


@dataclass(frozen=True)
class Width:
    """How wide intervals of one kind of number are.

    measure, definition: Of its rows.
    by: Factors that tell its numbers apart, in the order of the design.
    aggregate: Those that they are means over.
    attributes: Whether they are of all attributes together.
    n: What one number typically rests on, as its column ``n`` counts.
    halves: Times as many pictures as are asked for → half of the width of a typical interval.
    """

    measure: str
    definition: str
    by: tuple[str, ...]
    aggregate: str | None
    attributes: bool
    n: int
    halves: Mapping[float, float]

    @property
    def half(self) -> float:
        """Half of the width with the pictures that are asked for."""
        return self.halves[1.0]

    @property
    def within_one(self) -> bool:
        """Whether its scale has no end beyond −1 and 1: one ``half`` says something of all of these."""
        low, high = bounds_of(self.measure, self.definition)
        return low is not None and high is not None and low >= -1 and high <= 1

    def times(self, half: float) -> float | None:
        """Times as many pictures with which a typical interval is ``half`` wide to each side; None: never."""
        return times_wanted(self.halves, half)

    @property
    def _shrinks(self) -> float:
        """By how much intervals of twice as many pictures are shorter, at the end of what is known."""
        last = [self.halves[place] for place in sorted(self.halves)[-2:]]
        return last[0] / last[1] if len(last) > 1 else 1.0

    @property
    def open(self) -> bool:
        """Whether more pictures are to be made up, to know how it goes on."""
        return _STANDS < self._shrinks <= 2**_BY_PICTURES


@dataclass(frozen=True, eq=False)
class AuditPrecision:
    """Typical intervals of the measures of an audit, by simulation of a run.

    What is made up: :func:`stereotrope.audit.made_run.made_scores`. What does not vary in it, such as
    refusals, has no line.

    plan: The audit.
    half: Of the width of an interval, that is wanted; above 0.
    icc: Correlation within a prompt, where a condition has several prompts.
    """

    plan: Plan
    half: float = 0.1
    icc: float = 0.1

    def __post_init__(self) -> None:
        refuse_counted(self.plan)
        if not 0 <= self.icc < 1:
            raise UsageError(f"precision: icc must lie in [0, 1), found {self.icc}")
        if not self.half > 0:
            raise UsageError(f"precision: half must be above 0, found {self.half}")

    @cached_property
    def n(self) -> float:
        """Pictures of a prompt by one model, on the mean."""
        return pictures_per_prompt(self._quick)

    @cached_property
    def widths(self) -> list[Width]:
        """One for each kind of number that has intervals, in the order of the measures."""
        made = [self._kinds(1.0), self._kinds(2.0)]
        for step in (0.5, 2.0):
            factor = step if step < 1 else step * step
            while self._goes_on(made, factor):
                made.append(self._kinds(factor))
                factor *= step
        return _widths(made)

    def _goes_on(self, made: Sequence[pl.DataFrame], factor: float) -> bool:
        """Whether some line is to be known with so many times as many pictures."""
        widths = _widths(made)
        if factor < 1:
            least = factor * 2
            return self.n * factor >= _FEWEST and any(
                one.halves.get(least, np.inf) < self.half for one in widths if one.within_one
            )
        if self._quick.requests.height * factor > _PICTURES or self.n * factor > _MOST:
            return False
        return any(one.open and min(one.halves.values()) > self.half for one in widths if one.within_one)

    @property
    def unknown(self) -> list[str]:
        """Measures that nothing is made up for."""
        known = {width.measure for width in self.widths}
        calls = dict.fromkeys(call.name for call in self.plan.measures if known.isdisjoint(call.rows))
        return list(calls)

    def pictures(self, width: Width) -> int | None:
        """Pictures of a prompt with which a typical interval reaches ``half`` to each side.

        None where 5,000 are not enough, as where prompts differ by more, and where the scale is another.
        """
        times = width.times(self.half) if width.within_one else None
        n = None if times is None else math.ceil(times * self.n - 1e-9)
        return None if n is None or n > _MOST else max(1, n)

    def more_than(self, width: Width) -> int | None:
        """Pictures of a prompt that are not enough, where that is all that is known."""
        if not width.within_one:
            return None
        if width.times(self.half) is not None:
            return _MOST if self.pictures(width) is None else None
        return math.floor(self.n * max(width.halves)) if width.open else None

    def prompts(self, width: Width) -> float | None:
        """Times as many prompts, or other levels that it spans, with which it would: as their square root.

        None where pictures would, too, and where the scale is another.
        """
        if not width.within_one or self.pictures(width) is not None or self.more_than(width) is not None:
            return None
        widest = max(half for times, half in width.halves.items() if times >= 1)
        return (widest / self.half) ** 2

    def price(self, n: float) -> tuple[float, float] | None:
        """Least and most US dollars of the audit with ``n`` pictures of a prompt; None where not known."""
        return audit_price(self.plan, n / self.n)

    @cached_property
    def _quick(self) -> Plan:
        """The plan with less of what takes time: two models, fewer resamples."""
        return two_models(self.plan, _QUICK)

    def _kinds(self, factor: float) -> pl.DataFrame:
        """Typical half widths of each kind of number, with so many times as many pictures."""
        runs = max(2, min(_RUNS, int(_TOGETHER / (self._quick.requests.height * factor))))
        known = pl.concat(self._scored(factor, run) for run in range(runs)).group_by(
            _KIND, maintain_order=True
        )
        return known.agg(
            pl.col("n").median(),
            pl.when(pl.col("half").count() > pl.col("value").count() / 2).then(pl.col("half").mean()),
            factor=pl.lit(factor),
            varies=pl.col("value").n_unique() > 1,
        )

    def _scored(self, factor: float, run: int) -> pl.DataFrame:
        """Rows of a run that is made up: their kind, value and half of their interval."""
        made = made_scores(self._quick, factor, Making([self.plan.spec.seed, run], self.icc)).estimates
        factors = [name for name in self.plan.factors if name in made.columns]
        by = [pl.when(pl.col(name).is_not_null()).then(pl.lit(name)) for name in factors]
        return made.filter(pl.col("subset").is_null()).select(
            "measure",
            "definition",
            pl.concat_list([*by, pl.lit(None, pl.String)]).list.drop_nulls().list.join(_BETWEEN).alias("by"),
            "aggregate",
            pl.col("attribute").eq_missing(ALL_ATTRIBUTES).alias("attributes"),
            "n",
            "value",
            half=(pl.col("high") - pl.col("low")) / 2,
        )


def _widths(made: Sequence[pl.DataFrame]) -> list[Width]:
    """One for each kind, in the order in which they first come."""
    widths = (_width(part) for part in pl.concat(made).partition_by(_KIND, maintain_order=True))
    return [width for width in widths if 1.0 in width.halves]


def _width(part: pl.DataFrame) -> Width:
    kind = part.row(0, named=True)
    known = part.filter("varies").drop_nulls("half")
    return Width(
        kind["measure"],
        kind["definition"],
        tuple(filter(None, kind["by"].split(_BETWEEN))),
        kind["aggregate"],
        kind["attributes"],
        int(kind["n"] or 0),
        dict(known.select("factor", "half").iter_rows()),
    )
