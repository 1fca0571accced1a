"""How large differences of any kind have to be for an audit to tell them, by simulation of whole runs."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import minimize

from stereotrope import measure
from stereotrope.audit.interim import ALPHA, first_alpha
from stereotrope.audit.made_run import Making, made_scores, pictures_per_prompt, refuse_counted, two_models
from stereotrope.audit.outstanding import audit_price
from stereotrope.audit.plan import Plan
from stereotrope.audit.precision import times_wanted
from stereotrope.errors import UsageError
from stereotrope.measure import GENERATOR, MeasureCall
from stereotrope.measure.differences import ALIKE_WITHIN
from stereotrope.stats import count_able, special
from stereotrope.stats.arrays import Floats

_KIND = ["measure", "by", "contrast"]
"""What tells one kind of comparison from another."""
_ENOUGH, _FEWEST, _SEEN = 100, 24, 5
"""Comparisons of a kind near the size that is told at times, how many are made up at least, and how many of
them are told and not."""
_RUNS, _AGAIN = 30, 4
"""Runs that are made up, and once more if these are not enough; then so many times of the same shares."""
_LARGEST = 3_000
"""Pictures of two models beyond which no run is made up so often."""
_UNLIKE, _NEAR = 2.0, (0.4, 1.8)
"""How unlike models are made up, and between how many times the size that is told half of the time others are
near it."""
_BEYOND = 2.0
"""How far from what is told, in normal quantiles, nothing more is asked of a p-value."""
_LEAST_SLOPE, _SPREADS = 1e-6, (-3.0, 3.0)
"""Of the normal law of p-values' quantiles: its least slope, and logarithms between which its spread lies."""
_COUNTED = 30_000
"""Pictures of a run at most in which comparisons are counted."""
_EVENLY, _EVEN_PICTURES = 100, 4_000
"""Pictures of a prompt, and of all, from which on evenly spaced values say what those without end would."""
_MORE, _MORE_RUNS = 2.0, 6
"""Times as many pictures with which is looked how much shorter intervals are, and runs for that."""
_STANDS = 1.08
"""By how much intervals of so many times as many pictures are shorter where still more do not help."""
_MOST = 5_000
"""Pictures of a prompt beyond which nobody is told to draw so many."""
_PER_STEP = 5
"""Shuffles that give as small a p as a comparison among all of an audit needs, at least 500."""
_QUICK = {"n_bootstrap": 50}


@dataclass(frozen=True)
class Detection:
    """How large a kind of difference has to be to be told, alone among all comparisons of an audit.

    measure: What tests it.
    by: Factors that tell its comparisons apart.
    contrast: The factor whose levels are compared; None where a score is set beside a known number.
    of_shares: Whether its sizes are differences of shares or ratios.
    n_comparisons: Of this kind, in the whole audit.
    curve: a and b of the chance Φ(a + b·size) to be told, with the pictures that are asked for.
    reach: The largest size that is made up.
    halves: Times as many pictures as are asked for → half of the width of a typical interval of a size.
    """

    measure: str
    by: tuple[str, ...]
    contrast: str | None
    of_shares: bool
    n_comparisons: int
    curve: tuple[float, float]
    reach: float
    halves: Mapping[float, float]

    def power(self, size: float) -> float:
        """Probability that a difference of this size is told, with the pictures that are asked for."""
        a, b = self.curve
        return float(special.ndtr(a + b * size))

    def smallest(self, chance: float) -> float | None:
        """Least size that is told with this chance; None where none is."""
        size = _reached(self.curve, chance)
        return size if size <= self.reach else None

    def times(self, size: float, chance: float) -> float | None:
        """Times as many pictures with which this size is told with this chance, 1 at least.

        It shrinks as intervals do. None where it does not come so far: prompts, or what else the comparison
        spans, differ by more.
        """
        least = self.smallest(chance)
        if least is None or least <= size:
            return None if least is None else 1.0
        of_half = least / self.halves[1.0]
        return times_wanted({times: of_half * half for times, half in self.halves.items()}, size)


@dataclass(frozen=True, eq=False)
class AuditDetection:
    """How large the differences of an audit have to be to be told, whatever its measures compare.

    Whole runs are made up, with shares that differ between models and conditions by any amount
    (:func:`stereotrope.audit.made_run.made_scores`), and once more with as many pictures as show the true
    size of each difference. How often differences of a size are told alone among all comparisons of the
    audit, as many as could have given so small a p (:func:`stereotrope.stats.count_able`), is a probit of
    their size, fitted to those of near sizes.

    plan: The audit.
    size: Of a difference of shares or ratios, that matters; above 0.
    besides: Measures whose comparisons are not asked for.
    chance: How often a difference shall be told.
    icc: Correlation within a prompt, where a condition has several prompts.
    alpha: False discovery rate of the lists of all looks.
    """

    plan: Plan
    size: float = 0.3
    besides: Collection[str] = ()
    chance: float = 0.8
    icc: float = 0.1
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        refuse_counted(self.plan)
        for name in ("chance", "icc", "alpha"):
            if not 0 <= (given := getattr(self, name)) < 1:
                raise UsageError(f"detection: {name} must lie in [0, 1), found {given}")
        if not self.size > 0:
            raise UsageError(f"detection: size must be above 0, found {self.size}")

    @property
    def level(self) -> float:
        """What the first look at the run is given of ``alpha``."""
        return first_alpha(self.plan.spec.looks, self.alpha)

    @property
    def n_comparisons(self) -> int:
        """Comparisons of the whole audit."""
        return self._all.height

    @cached_property
    def n(self) -> float:
        """Pictures of a prompt by one model, on the mean."""
        return pictures_per_prompt(self._small)

    @property
    def too_large(self) -> bool:
        """Whether the audit is too large to be made up as often as kinds of comparisons take."""
        return self._small.requests.height > _LARGEST

    @cached_property
    def kinds(self) -> list[Detection]:
        """One for each kind of comparison that differs in what is made up, in the order of the measures."""
        if self.too_large or not self._asked:
            return []
        made = self._known
        counts = {tuple(kind): n for *kind, n in self._all.group_by(_KIND).len().iter_rows()}
        halves = {1.0: _halves(made.filter(pl.col("run") <= _MORE_RUNS))}
        if any(self._lacks(_curve(part)) for _, part in made.group_by(_KIND)):
            halves[_MORE] = _halves(self._more(_MORE))
        order = [name for call in self.plan.measures for name in call.rows]
        found = [
            Detection(
                measure=name,
                by=tuple(filter(None, by.split("\n"))),
                contrast=contrast,
                of_shares=part["margin"].count() > 0,
                n_comparisons=counts.get((name, by, contrast), 0),
                curve=curve,
                reach=float(part["truth"].abs().max()),  # type: ignore[arg-type]
                halves={f: of[name, by, contrast] for f, of in halves.items() if (name, by, contrast) in of},
            )
            for (name, by, contrast), part in made.group_by(_KIND, maintain_order=True)
            if (curve := _curve(part)) is not None
        ]
        return sorted(found, key=lambda one: order.index(one.measure.split(", ")[0]))

    def _lacks(self, curve: tuple[float, float] | None) -> bool:
        """Whether more pictures are needed for the size that matters."""
        return curve is not None and special.ndtr(curve[0] + curve[1] * self.size) < self.chance

    @property
    def unknown(self) -> list[str]:
        """Measures that test what no kind stands for."""
        return sorted(self._asked - {kind.measure for kind in self.kinds})

    def more_than(self, kind: Detection) -> int | None:
        """Pictures of a prompt that are not enough to tell ``size``, where that is all that is known.

        None, too, where more do not help: intervals of twice as many are hardly shorter.
        """
        if kind.times(self.size, self.chance) is not None:
            return _MOST if self.pictures(kind) is None else None
        most = max(kind.halves)
        stands = most > 1 and kind.halves[1.0] <= _STANDS * kind.halves[most]
        return None if stands else math.floor(self.n * most)

    def pictures(self, kind: Detection) -> int | None:
        """Pictures of a prompt with which ``size`` is told with the wanted chance, as many as asked at least.

        None where 5,000 are not enough, as where prompts differ by more.
        """
        times = kind.times(self.size, self.chance)
        n = None if times is None else math.ceil(times * self.n - 1e-9)
        return None if n is None or n > _MOST else n

    def price(self, n: float) -> tuple[float, float] | None:
        """Least and most US dollars of the audit with ``n`` pictures of a prompt; None where not known."""
        return audit_price(self.plan, n / self.n)

    @cached_property
    def _small(self) -> Plan:
        """The plan with two models and fewer resamples."""
        return two_models(self.plan, _QUICK)

    @cached_property
    def _all(self) -> pl.DataFrame:
        """Every comparison of the audit: its kind and the least p that its counts could give."""
        whole = two_models(self.plan, {**_QUICK, "n_permutations": 1})
        whole = replace(whole, requests=self.plan.requests)
        factor = min(1.0, _COUNTED / max(1, whole.requests.height))
        return self._compared(whole, factor, self._making(0))

    @cached_property
    def _asked(self) -> set[str]:
        """Measures that test what is asked for."""
        names = set(self._all.filter(pl.col("p_least") <= self.level)["measure"])
        return {name for name in names if set(name.split(", ")).isdisjoint(self.besides)}

    @cached_property
    def _testing(self) -> Plan:
        """The plan with the measures that test these, and what they read, alone."""
        wanted = {one for name in self._asked for one in name.split(", ")}
        enough = max(500, math.ceil(_PER_STEP * self.n_comparisons / self.level))
        calls: list[MeasureCall] = []
        for call in reversed(two_models(self.plan, {**_QUICK, "n_permutations": enough}).measures):
            if not wanted.isdisjoint({call.name, *call.rows}):
                calls.insert(0, call)
                wanted |= {*call.reads, *([call.on] if call.on else ())}
        return replace(self._small, measures=tuple(calls))

    @cached_property
    def _known(self) -> pl.DataFrame:
        """Comparisons of runs that are made up, each with its true size and how far it is told."""
        found = self._seen(_UNLIKE, range(1, 1 + _RUNS))
        few = [near for _, part in found.group_by(_KIND) if (near := _too_large(part)) is not None]
        if not few:
            return found
        unlike = _UNLIKE * min(1.0, *few)
        return pl.concat([found, self._seen(unlike, range(1 + _RUNS, 1 + 2 * _RUNS), _AGAIN)])

    @property
    def _evenly(self) -> float:
        """Times as many pictures with which evenly spaced values say what those without end would."""
        return min(_EVENLY, max(self.n, _EVEN_PICTURES * self.n / self._testing.requests.height)) / self.n

    def _seen(self, unlike: float, runs: Iterable[int], again: int = 1) -> pl.DataFrame:
        parts, untested = [], two_models(self._testing, {"n_permutations": 1})
        for run in runs:
            making = self._making(run, unlike)
            truth = self._compared(untested, self._evenly, replace(making, evenly=True))
            truth = truth.select("place", truth="value").unique("place", keep="any")
            for drawing in range(again):
                made = self._made(1.0, replace(making, again=drawing)).join(truth, on="place")
                parts.append(made.drop_nulls(["truth", "value"]).with_columns(run=pl.lit(run)))
        every = pl.concat(parts)
        p = every["p_value"].to_numpy()
        able = count_able(self._all["p_least"].to_numpy(), p)
        # Its quantile, adjusted for the others, beyond that of what is told.
        far = special.ndtri(self.level / 2) - special.ndtri(
            np.clip(p * np.maximum(1.0, able), 1e-300, 1.0) / 2
        )
        return every.with_columns(far=pl.Series(far))

    def _more(self, factor: float) -> pl.DataFrame:
        """Comparisons with so many times as many pictures."""
        if self.n * factor > _MOST:
            return self._known.clear()
        return pl.concat(self._made(factor, self._making(1 + run)) for run in range(_MORE_RUNS))

    def _made(self, factor: float, making: Making) -> pl.DataFrame:
        """Comparisons that are asked for, of a run that is made up."""
        made = self._compared(self._testing, factor, making)
        return made.filter(pl.col("measure").is_in(self._asked))

    def _making(self, run: int, unlike: float = _UNLIKE) -> Making:
        return Making([self.plan.spec.seed, run], self.icc, unlike)

    def _compared(self, plan: Plan, factor: float, making: Making) -> pl.DataFrame:
        """The comparisons of a run that is made up, and the place and kind of each."""
        run = made_scores(plan, factor, making)
        margin = self.plan.spec.alike_within or ALIKE_WITHIN
        rows = measure.comparisons(
            run.estimates, run.looks, alpha=self.level, margin=margin, frames=run.frames
        )
        scopes = [json.loads(scope) for scope in rows["scope"]]
        sides = [
            {str(scope.pop(contrast, None)), str(reference)}
            for scope, contrast, reference in zip(scopes, rows["contrast"], rows["reference"], strict=True)
        ]
        about = rows.select("kind", "measure", "contrast", "attribute", "scores").rows()
        places = [
            json.dumps([*one, sorted(side), scope], sort_keys=True)
            for one, side, scope in zip(about, sides, scopes, strict=True)
        ]
        by = ["\n".join(name for name in (GENERATOR, *plan.factors) if name in scope) for scope in scopes]
        return rows.with_columns(place=pl.Series(places, dtype=pl.String), by=pl.Series(by, dtype=pl.String))


def _halves(made: pl.DataFrame) -> dict[tuple[str, str, str | None], float]:
    """Kind → half of the width of a typical interval of a comparison's size."""
    half = made.group_by(_KIND).agg(half=(pl.col("high") - pl.col("low")).mean() / 2).drop_nulls("half")
    return {(name, by, contrast): size for name, by, contrast, size in half.iter_rows()}


def _curve(part: pl.DataFrame) -> tuple[float, float] | None:
    """The curve of comparisons of a kind; None where too few are made up, or told, or not."""
    size, seen, far = (part[name].to_numpy() for name in ("truth", "value", "far"))
    if ((far >= 0) & (seen < 0)).any():
        # Told whichever way it goes.
        size, seen = np.abs(size), np.abs(seen)
    else:
        size, seen, far = (of[size >= 0] for of in (size, seen, far))
    if size.size < _FEWEST or min((far >= 0).sum(), (far < 0).sum()) < _SEEN:
        return None
    curve = _fitted(size, seen, far)
    for _ in range(3):
        near = _near(size, curve)
        if near.sum() >= _FEWEST:
            curve = _fitted(size[near], seen[near], far[near])
    return curve


def _near(size: Floats, curve: tuple[float, float]) -> NDArray[np.bool_]:
    """Which sizes are near that which is told half of the time."""
    least, most = (part * _reached(curve, 0.5) for part in _NEAR)
    return np.asarray((size >= least) & (size <= most))


def _too_large(part: pl.DataFrame) -> float | None:
    """Which part of the largest size is near what is told at times; None where enough are, or none."""
    size, curve = part["truth"].abs().to_numpy(), _curve(part)
    if curve is None or not _reached(curve, 0.5) or _near(size, curve).sum() >= _ENOUGH:
        return None
    return _NEAR[1] * _reached(curve, 0.5) / float(size.max())


def _reached(curve: tuple[float, float], chance: float) -> float:
    """The size that is told with this chance."""
    a, b = curve
    return max(0.0, (float(special.ndtri(chance)) - a) / b)


def _fitted(size: Floats, seen: Floats, far: Floats) -> tuple[float, float]:
    """a and b > 0 of Φ(a + b·size), the chance that ``far`` is not below 0.

    A normal law whose mean grows with the size, and with what is read beyond it, by the greatest likelihood;
    of what lies at an end only that is taken to be known (Tobin 1958, Econometrica 26). That chance does not
    favour either side is known: what is read beyond the size is, here, of mean 0.
    """
    low, high = max(float(far.min()), -_BEYOND), _BEYOND
    below, above, error = far <= low, far >= high, seen - size
    by, far = np.column_stack([np.ones(size.size), size, error]), far.clip(low, high)

    def unlikely(at: Floats) -> float:
        z = (far - by @ at[:3]) / math.exp(at[3])
        inside = (-0.5 * z**2 - at[3])[~below & ~above].sum()
        return -float(inside + special.log_ndtr(z[below]).sum() + special.log_ndtr(-z[above]).sum())

    (a, b, c), *_ = np.linalg.lstsq(by, far)
    start = [a, max(_LEAST_SLOPE, b), c, math.log(max(0.1, (far - by @ [a, b, c]).std()))]
    bounds = [(None, None), (_LEAST_SLOPE, None), (None, None), _SPREADS]
    best = minimize(unlikely, start, method="L-BFGS-B", bounds=bounds)
    spread = math.hypot(math.exp(best.x[3]), best.x[2] * math.sqrt((error**2).mean()))
    return float(best.x[0]) / spread, float(best.x[1]) / spread
