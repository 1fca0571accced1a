"""What an audit would find: the least shift with its pictures, and the pictures for a wanted one."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from stereotrope import measure
from stereotrope.audit.crossing import Among, crossing_among
from stereotrope.audit.interim import ALPHA, first_alpha
from stereotrope.audit.made_run import OPEN_VALUES, refuse_counted
from stereotrope.audit.made_shares import MANY_VALUES, drawn_shares, shifted, spread_out
from stereotrope.audit.outstanding import audit_price
from stereotrope.audit.plan import Plan
from stereotrope.audit.representatives import representatives
from stereotrope.audit.simulated import Simulated
from stereotrope.errors import UsageError
from stereotrope.measure import GENERATOR, MeasureCall
from stereotrope.stats import special
from stereotrope.tables import QUALITY_ATTRIBUTES

SPREADS: Mapping[str, float] = {"one alone": 0.0, "1 in 100": 0.01, "1 in 10": 0.1}
"""Parts of all comparisons that differ: the more do, the less each of them has to show."""

_PLACES = 800
"""Comparisons that are made up at a time: the standard error of a power of so many is at most 0.02."""
_PICTURES, _FEWEST = 60_000, 60
"""Pictures beyond which fewer comparisons are made up, and how many are at least."""
_ROUNDS = 20
"""Times at most that the conditions of an audit are made up, where it has few comparisons."""
_LEVELS = 2
"""Levels at most that are made up beside one reference."""
_EVENLY = (np.arange(500) + 0.5) / 500
"""Places of what a formula is averaged over."""
_MOST = 5_000
"""Pictures of a condition beyond which nobody is told to draw them."""
_COARSE = {"n_permutations": 1, "n_bootstrap": 0}
_LOT = "_lot"
"""Which conditions are measured together, where a small audit is made up several times."""
_TRIED = 40
"""Comparisons that tell which measures test what is made up."""
_PER_STEP = 5
"""Shuffles of prompts that give as small a p as a comparison among all of an audit needs, at least 500."""


@dataclass(frozen=True, eq=False)
class Power:
    """What the list of differences of an audit would tell, by simulation of its own measures.

    Labels are made up for conditions of the audit's design: the shares of an attribute's values are drawn
    evenly from all that are possible; for each condition but the one that others are compared with, the share
    of one value grows by the shift, and the others shrink in proportion. The audit's measures of labels are
    computed of them and tested against one another as in a run.

    plan: The audit.
    chance: How often a difference shall be found.
    icc: Correlation within a prompt, of what is drawn before it is cut into values, where a condition has
        several prompts.
    alpha: False discovery rate of the lists of all looks.
    Raises AuditFileError: No measure of the audit compares labels of pictures, or none tests them.
    """

    plan: Plan
    chance: float = 0.8
    icc: float = 0.1
    alpha: float = ALPHA
    _known: dict[tuple[float, int], Simulated] = field(default_factory=dict)
    _powers: dict[tuple[float, float, int | None], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        refuse_counted(self.plan)
        for name in ("chance", "icc", "alpha"):
            if not 0 <= (given := getattr(self, name)) < 1:
                raise UsageError(f"power: {name} must lie in [0, 1), found {given}")
        if not self._comparing:
            raise self._refused("compares labels of pictures")

    @cached_property
    def n(self) -> int:
        """Pictures of a condition."""
        return round(self.plan.requests.height / self._conditions.height)

    @property
    def measures(self) -> set[str]:
        """Names of what its comparisons are tested by."""
        return {name for call in self._comparing for name in call.rows}

    @property
    def level(self) -> float:
        """What the first look at the run is given of ``alpha``."""
        return first_alpha(self.plan.spec.looks, self.alpha)

    @property
    def most_prompts(self) -> int:
        """Prompts of the condition that has most."""
        return int(self._conditions["_prompts"].to_numpy().max())

    @property
    def error(self) -> float:
        """Standard error of a power at most, of as many pictures as the audit has."""
        return 0.5 / math.sqrt(_places(self.n))

    @cached_property
    def n_comparisons(self) -> int:
        """Comparisons of the whole audit, counted on parts of it that stand for all that are alike."""
        sample, n_parts = representatives(self._conditions, self._others)
        calls = [_quicker(call, _COARSE) for call in self._comparing]

        def compared_parts(conditions: pl.DataFrame) -> list[tuple[str | None, ...]]:
            labels = self._labels(conditions, 2, 0.0, np.random.default_rng(0))
            scopes = map(json.loads, self._compared(labels, calls)["scope"])
            return [tuple(map(scope.get, self._others)) for scope in scopes]

        parts = compared_parts(sample)
        if set(sample.select(self._others).iter_rows()).issuperset(parts):
            number = sum(n_parts.get(part, 0) for part in parts)
        else:
            # Where comparisons span parts, no part stands for others.
            number = len(compared_parts(self._conditions))
        if not number:
            raise self._refused("tests a difference of labels")
        return number

    def at(self, shift: float, n: int | None = None) -> Simulated:
        """Comparisons with such a shift and ``n`` pictures a condition; those of the audit when None."""
        key = round(shift, 3), self.n if n is None else n
        if key not in self._known:
            self._known[key] = self._simulated(*key)
        return self._known[key]

    def power(self, shift: float, spread: float = 0.0, n: int | None = None) -> float:
        """Probability that such a shift is told where this part of all comparisons differs as much."""
        key = round(shift, 3), spread, n
        if key not in self._powers:
            self._powers[key] = self._power(shift, spread, n)
        return self._powers[key]

    def _power(self, shift: float, spread: float, n: int | None) -> float:
        found, usual = self.at(shift, n), self.at(0.0)
        if n not in (None, self.n):
            # What does not differ matters by the least p that its counts could give, and that is of n.
            usual = replace(usual, least=np.resize(found.least, usual.p.size))
        return found.found(usual, self.n_comparisons, spread, self.level)

    def smallest(self, spread: float = 0.0) -> float | None:
        """Least shift that is found with the wanted chance; None where none is."""
        found = self._reached(
            spread,
            0.02,
            1.0,
            lambda among, shift: self.power(shift, among),
            lambda among, shift: self._formula(shift, self.n, among),
        )
        return None if found is None else round(found, 2)

    def pictures(self, shift: float, spread: float = 0.0) -> int | None:
        """Pictures of a condition from which on such a shift is found with the wanted chance.

        None where it is not found with 5,000.
        """

        found = self._reached(
            spread,
            2.0,
            math.sqrt(_MOST),
            lambda among, root: self.power(shift, among, round(root * root)),
            lambda among, root: self._formula(shift, root * root, among),
        )
        return None if found is None else math.ceil(found**2 - 1e-9)

    def _reached(self, spread: float, least: float, most: float, power: Among, guess: Among) -> float | None:
        """Where the wanted chance is reached, the same places simulated for all spreads that are told."""
        told = [one for one in SPREADS.values() if not 0 < one * self.n_comparisons <= 1]
        return crossing_among(spread, {*told, spread}, least, most, power, guess, self.chance)

    def _formula(self, shift: float, n: float, spread: float) -> float:
        """About the power, by arcsines of two shares of a value that anything may be."""
        values = max(2, *map(len, self._values.values()), 0)
        each = min(1.0, MANY_VALUES / values)
        share = special.betaincinv(each, (values - 1) * each, _EVENLY)
        share = share * (1 - shift)
        alike = self.icc * max(0.0, n / self.most_prompts - 1) if self.most_prompts > 1 else 0.0
        apart = np.arcsin(np.sqrt(share + shift)) - np.arcsin(np.sqrt(share))
        z = special.ndtri(1 - self._level_of(spread) / 2)
        return float(special.ndtr(apart * math.sqrt(2 * n / (1 + alike)) - z).mean())

    def _level_of(self, spread: float) -> float:
        """About the p at which a comparison is told where this part of all differs."""
        return self.level / self.n_comparisons * max(1.0, spread * self.n_comparisons)

    def price(self, n: int) -> tuple[float, float] | None:
        """Least and most US dollars of the audit with ``n`` pictures a condition; None where not known."""
        return audit_price(self.plan, n / self.n)

    @cached_property
    def _comparing(self) -> list[MeasureCall]:
        return [
            call
            for call in self.plan.measures
            if call.info.needs == "labels" and call.info.subject == "image" and call.factor is not None
        ]

    def _refused(self, what: str) -> Exception:
        """Why nothing can be made up, at the measures of the audit file."""
        calls = [call for call in self.plan.measures if call.info.needs != "estimates"]
        if any(call.info.needs == "labels" and call.info.subject == "image" for call in calls):
            do = "`baseline: {factor: level}` and a measure that does, such as `share_difference`"
            return self.plan.source.error(f"power: no measure of this audit {what}; add {do}", "measures")
        takes = " and ".join(dict.fromkeys(call.info.needs for call in calls)) or "nothing"
        return self.plan.source.error(
            f"power: the measures of this audit take {takes}, and only labels of whole pictures can be made "
            "up; what such measures would find is not known beforehand",
            "measures",
        )

    @cached_property
    def _testing(self) -> list[MeasureCall]:
        """Those that test the differences that are made up, without shuffles that no p-value rests on."""
        # Two pictures of each prompt at least: else pictures are the units.
        n = max(8, 2 * self.most_prompts)
        labels = self._labels(self._sample(0, _TRIED), n, 0.5, np.random.default_rng(0))
        testing = []
        for call in self._comparing:
            ways = [_quicker(call, less) for less in (_COARSE, {"n_bootstrap": 0})]
            coarse, whole = (
                self._planted(self._compared(labels, [way])).select("p_value", "p_least") for way in ways
            )
            if coarse.height:
                testing.append(ways[0] if coarse.equals(whole) else ways[1])
        if not testing:
            raise self._refused("tests a difference of labels")
        return testing

    @cached_property
    def _simulating(self) -> list[MeasureCall]:
        """The same with as many shuffles as p-values near the level of this many comparisons take."""
        enough = max(500, math.ceil(_PER_STEP * self.n_comparisons / self.level))
        return [
            _quicker(call, {"n_permutations": min(enough, call.arguments.get("n_permutations", enough))})
            for call in self._testing
        ]

    def _planted(self, compared: pl.DataFrame) -> pl.DataFrame:
        """The comparisons with the level that others are compared with."""
        factor, reference = self._sides
        levels = pl.Series([json.loads(scope).get(factor) for scope in compared["scope"]], dtype=pl.String)
        one = (pl.col("reference") == reference) | (levels == reference)
        return compared.filter(one.fill_null(False), pl.col("contrast") == factor)

    @cached_property
    def _sides(self) -> tuple[str, str]:
        """The factor whose comparisons are made up, and the level that others are compared with."""
        first = self._comparing[0]
        levels = self._conditions[str(first.factor)].drop_nulls()
        return str(first.factor), str(first.arguments.get("baseline") or levels[0])

    @cached_property
    def _conditions(self) -> pl.DataFrame:
        """Model, factors and number of prompts of each condition."""
        asked = self.plan.requests.select("prompt_id", GENERATOR).unique()
        told = asked.join(self.plan.prompts, on="prompt_id")
        factors = [GENERATOR, *self.plan.factors]
        return told.group_by(factors, maintain_order=True).agg(_prompts=pl.len()).sort(factors)

    @cached_property
    def _others(self) -> list[str]:
        """Factors that no measure compares."""
        compared = {"dimension", *(call.factor for call in self._comparing)}
        return [name for name in (GENERATOR, *self.plan.factors) if name not in compared]

    @cached_property
    def _values(self) -> dict[str, list[str]]:
        """Attribute → its values, those that measures name first."""
        named = [v for call in self._comparing for v in _list(call.arguments.get("value"))]
        open_values = [f"value {i}" for i in range(1, OPEN_VALUES + 1)]
        discovering = any(one.discovers for one in self.plan.annotators)
        found = [f"discovered {i}" for i in range(1, OPEN_VALUES + 1)] if discovering else []
        several = {name for one in self.plan.annotators for name in one.several}
        looks = {
            name: self.plan.listed.get(name) or []
            for one in self.plan.annotators
            if one.subject == "image"
            for name in one.attributes
            if name not in QUALITY_ATTRIBUTES and name not in several
        }
        return {
            name: list(dict.fromkeys([*named, *(values or open_values)]))
            for name, values in {**looks, **{name: [] for name in found}}.items()
        }

    def _sample(self, seed: int, places: int) -> pl.DataFrame:
        """Conditions with some hundred comparisons, drawn from the audit or, where it is small, repeated."""
        factor, reference = self._sides
        differing = self._conditions.filter(pl.col(factor) != reference)
        levels = differing[factor].unique().sort()
        # Levels of one reference share its chances: many references tell more than many levels.
        few = levels.sample(min(_LEVELS, len(levels)), seed=seed)
        everything = self._conditions.filter(pl.col(factor).is_in([reference, *few]))
        differing = everything.filter(pl.col(factor) != reference)
        wanted = max(1, places // len(self._values))
        parts = differing.select(self._others).unique().sort(self._others)
        size = math.ceil(wanted / max(1, differing.height // max(1, parts.height)))
        if size < parts.height:
            kept = parts.sample(size, shuffle=True, seed=seed)
            among = [pl.col(name).is_null() | pl.col(name).is_in(kept[name]) for name in self._others]
            rows = everything.filter(among)
            whole = rows.join(kept, on=self._others, how="semi", nulls_equal=True)
            return pl.concat([whole, rows.filter(pl.col(factor) == reference)]).unique(maintain_order=True)
        if GENERATOR not in self._others:
            return everything
        again = pl.Series("_again", range(math.ceil(size / max(1, parts.height))), dtype=pl.String)
        return (
            everything.join(again.to_frame(), how="cross")
            .with_columns(pl.format("{} {}", GENERATOR, "_again").alias(GENERATOR))
            .with_columns(
                pl.col("_again").cast(pl.Int64) // max(1, self._conditions.height // everything.height)
            )
            .rename({"_again": _LOT})
        )

    def _simulated(self, shift: float, n: int) -> Simulated:
        rng = np.random.default_rng([self.plan.spec.seed, n])
        # Only where nothing differs it is told how many are alike.
        margin = 0.0 if shift else self.plan.spec.alike_within
        found: list[pl.DataFrame] = []
        places = _places(n)
        while sum(part.height for part in found) < places / 2 and len(found) < _ROUNDS:
            labels = self._labels(self._sample(len(found), places), n, shift, rng)
            # Measured by as many conditions as the audit has: these tell how alike pictures of a prompt are.
            lots = labels.partition_by(_LOT, include_key=False) if _LOT in labels.columns else [labels]
            found += [self._planted(self._compared(lot, self._simulating, margin)) for lot in lots]
        rows = pl.concat(found)
        return Simulated(
            rows["p_value"].to_numpy(),
            rows["p_least"].to_numpy(),
            rows.filter(verdict="alike").height / max(1, rows.height),
        )

    def _labels(
        self, conditions: pl.DataFrame, n: int, shift: float, rng: np.random.Generator
    ) -> pl.DataFrame:
        """Tidy labels of conditions, the shares of each but the reference shifted."""
        factor, reference = self._sides
        told = conditions.filter(pl.col(factor) == reference)
        # What the reference serves all levels of has the same shares in each of them.
        same = [name for name in self._others if told[name].null_count() < max(1, told.height)]
        numbers = [(name, values) for name, values in self._values.items()]
        keys = [tuple(row[name] for name in same) for row in conditions.iter_rows(named=True)]
        places = {key: at for at, key in enumerate(dict.fromkeys(keys))}
        base = {name: drawn_shares(rng, len(places), len(values)) for name, values in numbers}
        choices = spread_out(rng, conditions.height, len(numbers))
        parts: list[np.ndarray] = []
        for at, row in enumerate(conditions.iter_rows(named=True)):
            prompts = row["_prompts"]
            prompt = np.arange(n) * prompts // n
            for (name, _), chosen in zip(numbers, choices[at].tolist(), strict=True):
                # The same random numbers whatever the shift, so that chance differs little between two.
                share = base[name][places[keys[at]]]
                if row[factor] != reference and shift:
                    share = shifted(share, shift, self._named(name), chosen)
                drawn = rng.normal(size=n)
                if prompts > 1:
                    of_prompt = rng.normal(size=prompts)[prompt]
                    drawn = math.sqrt(self.icc) * of_prompt + math.sqrt(1 - self.icc) * drawn
                parts.append(np.searchsorted(special.ndtri(np.cumsum(share)[:-1].clip(0, 1)), drawn))
        each = len(numbers)
        cells = conditions.with_row_index("_condition").select(pl.all().repeat_by(each * n).explode())
        attribute = np.tile(np.repeat(np.arange(each), n), conditions.height)
        picture = np.tile(np.arange(n), each * conditions.height)
        offsets = np.cumsum([0, *(len(values) for _, values in numbers)])
        every = np.array([value for _, some in numbers for value in some])
        readers = {name: one.name for one in self.plan.annotators for name in one.attributes}
        return cells.with_columns(
            image_id=pl.format("{}-{}", "_condition", pl.Series(picture)),
            prompt_id=pl.format("{}-{}", "_condition", pl.Series(picture) * pl.col("_prompts") // n),
            attribute=pl.Series(np.array([name for name, _ in numbers])[attribute]),
            value=pl.Series(every[offsets[attribute] + np.concatenate(parts)]),
            excluded=pl.lit(None, pl.String),
            annotator=pl.Series([readers.get(name, "") for name, _ in numbers])[attribute],
        ).drop("_condition", "_prompts")

    def _named(self, attribute: str) -> int:
        """How many values of an attribute, its first, measures name; 0 where they take all."""
        named = {v for call in self._comparing for v in _list(call.arguments.get("value"))}
        return len(named)

    def _compared(
        self, labels: pl.DataFrame, calls: Sequence[MeasureCall], margin: float = 0.0
    ) -> pl.DataFrame:
        """How the comparisons of labels end; without a margin none is alike."""
        estimates = pl.concat([call(labels) for call in calls], how="diagonal")
        return measure.comparisons(estimates, labels, alpha=self.level, margin=margin)


def _places(n: int) -> int:
    """Comparisons of so many pictures a condition that are made up at a time."""
    return min(_PLACES, max(_FEWEST, _PICTURES // n))


def _quicker(call: MeasureCall, less: Mapping[str, int]) -> MeasureCall:
    """The measure with less of what takes time."""
    quick = {name: number for name, number in less.items() if name in call.arguments}
    return replace(call, arguments={**call.arguments, **quick})


def _list(given: Any) -> Sequence[str]:
    return [given] if isinstance(given, str) else list(given or ())
