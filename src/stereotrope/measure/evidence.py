"""The pictures behind findings: by condition, attribute and value, and how shares of two sides differ."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Self, TypeVar

import numpy as np
import polars as pl

from stereotrope.measure.cells import Cell, bound_columns, tell_one_another
from stereotrope.measure.join import PICTURE_EXCLUDED, PICTURE_REFUSED
from stereotrope.measure.seeds import PicturesBySeed, seeds_of_cells
from stereotrope.measure.sentences import Counted, Wording
from stereotrope.measure.units import FEWEST_PROMPTS, SEED_COLUMN, claim_of, seeds_shared
from stereotrope.stats import Crossed, crossed_weights, evidence_apart, newcombe, shared_correlation
from stereotrope.stats.arrays import Floats
from stereotrope.tables import LABELS, N_SUBJECTS, SCENARIO, SCOPES

_NOT_FACTORS = ({c.name for c in LABELS} | {"image_id", "prompt_id", "seed", "excluded", N_SUBJECTS}) - SCOPES
_Levels = tuple[str | None, ...]
_T = TypeVar("_T")
Conditions = tuple[_Levels, ...]
"""Combinations of factor levels, in the order of the labels."""


class Pictures(list[str]):
    """Ids of images with the prompt of each, and how many ``unnamed`` ones there are of each prompt.

    Labels that are counted have no ids. Its length is the number of all; going through it gives the ids.
    """

    def __init__(self) -> None:
        super().__init__()
        self.prompts: list[str | None] = []
        self.unnamed = Counter[str | None]()

    @classmethod
    def of(cls, prompts: list[str | None], numbers: list[int], ids: list[str | None]) -> Self:
        """Pictures of which each, or each number of them, has a prompt and an id, or all have none."""
        made = cls()
        made.extend(image for image in ids if image is not None)
        if list.__len__(made):
            made.prompts = prompts
            return made
        for prompt, n in zip(prompts, numbers, strict=True):
            made.unnamed[prompt] += n
        return made

    def __len__(self) -> int:
        return super().__len__() + self.unnamed.total()

    def __iadd__(self, more: "Pictures") -> Self:  # type: ignore[misc,override]
        super().__iadd__(more)
        self.prompts += more.prompts
        self.unnamed.update(more.unnamed)
        return self

    def add(self, image: str, prompt: str | None) -> None:
        """Take in one more."""
        self.append(image)
        self.prompts.append(prompt)

    @property
    def by_prompt(self) -> Counter[str | None]:
        """How many there are of each prompt."""
        return Counter(self.prompts) + self.unnamed


class _Grouped(Mapping[_Levels, _T]):
    """What labels say in each condition: grouped, and read, when it is asked for.

    rows: The factors, and columns that ``read`` takes, those of one condition at a time.
    by: Columns of which ``read`` takes each once, with lists of what the others have beside it.
    """

    def __init__(
        self, rows: pl.LazyFrame, factors: Sequence[str], read: Callable[..., _T], by: Sequence[str] = ()
    ) -> None:
        self._rows, self._factors, self._read, self._by = rows, list(factors), read, list(by)

    @cached_property
    def _groups(self) -> pl.DataFrame:
        grouped = self._rows.with_columns(_all=None)  # without factors all is one condition
        every = [*self._factors, "_all"]
        for keys in ([*every, *self._by], every) if self._by else (every,):
            grouped = grouped.group_by(keys, maintain_order=True).agg(pl.exclude(*keys))
        return grouped.drop("_all").collect()

    @cached_property
    def _places(self) -> dict[_Levels, int]:
        levels = self._groups.select(self._factors).iter_rows() if self._factors else [()] * len(self._groups)
        return {one: at for at, one in enumerate(levels)}

    def __getitem__(self, condition: _Levels) -> _T:
        return self._read(*self._groups.row(self._places[condition])[len(self._factors) :])

    def __iter__(self) -> Iterator[_Levels]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class _Index:
    """Conditions by their levels at some places."""

    def __init__(self, conditions: Iterable[_Levels], places: Sequence[int]) -> None:
        self._found: dict[_Levels, list[tuple[int, _Levels]]] = defaultdict(list)
        for turn, condition in enumerate(conditions):
            self._found[tuple(condition[place] for place in places)].append((turn, condition))
        self._null = [None in levels for levels in zip(*self._found, strict=True)]

    def fitting(self, levels: _Levels) -> list[_Levels]:
        """Those that have these levels, in their order; where none has, those that have them or none."""
        found = self._found.get(levels)
        if found is None:
            either = [
                dict.fromkeys((level, None) if null else (level,))
                for level, null in zip(levels, self._null, strict=False)
            ]
            found = sorted(one for some in product(*either) for one in self._found.get(some, ()))
        return [condition for _, condition in found]


def _by_value(
    values: Sequence[str],
    prompts: Sequence[list[str | None]],
    numbers: Sequence[list[int]],
    images: Sequence[list[str | None]],
) -> dict[str, Pictures]:
    """Pictures by value, of those that have it the prompt, the number and the id."""
    said = zip(values, prompts, numbers, images, strict=True)
    return {value: Pictures.of(asked, n, ids) for value, asked, n, ids in said}


def _reasons(reasons: Sequence[str], numbers: Sequence[int]) -> Counter[str]:
    found = Counter[str]()
    for reason, n in zip(reasons, numbers, strict=True):
        found[reason] += n
    return found


def _requests(images: Sequence[str | None], refused: Sequence[bool]) -> dict[str, bool]:
    """Whether each picture was refused."""
    return {image: was for image, was in zip(images, refused, strict=True) if image is not None}


def counted(values: Mapping[str, Pictures], value: str) -> Counted:
    """How many images have a value, of how many."""
    return len(values.get(value, ())), sum(map(len, values.values()))


def shift(here: Counted, before: Counted) -> float:
    """Share of a value less that in the reference, where there is one."""
    (k, n), (j, m) = here, before
    return (k / n if n else 0.0) - (j / m if m else 0.0)


def difference_of(one: Cell, other: Cell, value: str, *, level: float) -> tuple[float, float, float]:
    """Difference of the shares of a value with Newcombe's interval, as ``share_difference`` has it."""
    counts = (one.count(value), one.n), (other.count(value), other.n)
    *sides, correlation = effective_sides(one, other, [value], [counts], level)[:, 0]
    low, high = newcombe(*sides, level=level, correlation=correlation)
    return shift(*counts), float(low), float(high)


def effective_sides(
    one: Cell, other: Cell, values: Sequence[str], counts: Sequence[tuple[Counted, Counted]], level: float
) -> Floats:
    """Effective successes and trials of both sides, and the correlation of their shares.

    counts: Of each value those of both sides, which may be of other labels than those of the cells.
    Returns: Five rows, a column a value.
    """
    both = one, other
    claim = claim_of(*(cell.prompts for cell in both))
    apart = None
    if claim.prompts and one.drawn and other.drawn:
        known = [cell.seeds.weights for cell in both if cell.seeds]
        told = np.mean(known, axis=0) if len(known) == len(both) and _are_many(both) else None
        apart = _seeds_apart(one.drawn, other.drawn, values, told)

    def parts_by(seeds: Sequence[Crossed | None]) -> Floats:
        told = zip(both, seeds, strict=True)
        parts = [cell.trials(level, claim, of) / cell.n if cell.n else np.ones(1) for cell, of in told]
        return np.stack([np.broadcast_to(part, len(values)) for part in parts])

    parts, correlation = parts_by(apart or (None, None)), np.zeros(len(values))
    if claim.matched:
        k, j = ([cell.by_prompt(value) for value in values] for cell in both)
        n, m = (list(cell.prompts.values()) for cell in both)
        correlation = shared_correlation(k, n, j, m)
        if apart and correlation.any():
            alone = parts_by([of._replace(alike=np.zeros(len(values))) for of in apart])
            correlation = correlation * np.sqrt(np.prod(parts, axis=0) / np.prod(alone, axis=0))
    both_counts = np.array(counts, np.float64).reshape(-1, 2, 2).transpose(1, 2, 0) * parts[:, None]
    return np.vstack([*both_counts, correlation])


def _are_many(sides: Sequence[Cell]) -> bool:
    """Whether more cells than those that are compared say what seeds do."""
    return any(side.n_kin > len(sides) for side in sides)


def _seeds_apart(
    one: PicturesBySeed, other: PicturesBySeed, values: Sequence[str], told: Floats | None
) -> tuple[Crossed, Crossed]:
    """What seeds do to the difference of each value's share between two cells, by cell.

    told: How probable each correlation is by what they do to these cells and those like them.
    """
    asked, ones = np.array(values), np.ones(len(values))
    sides = [
        (across, sign / len(shown) * (shown[:, None] == asked))
        for sign, (across, shown) in ((1, one), (-1, other))
    ]
    weights = crossed_weights(evidence_apart(sides), alike=False, told=told)
    return Crossed(one[0].alike * ones, weights), Crossed(other[0].alike * ones, weights)


class FindingEvidence:
    """Images by condition, attribute and value of tidy labels, for quick look-up."""

    def __init__(self, labels: pl.DataFrame) -> None:
        self.factors = tuple(c for c in labels.columns if c not in _NOT_FACTORS)
        self._index: dict[tuple[str | None, tuple[int, ...]], _Index] = {}
        self._cells_of: dict[tuple[str, tuple[str, ...]], Mapping[_Levels, Cell]] = {}
        # Of one place several values are asked for, one after the other.
        self._lately = lru_cache(maxsize=8)(self._read)
        self._lacking = lru_cache(maxsize=64)(self._missing_too)
        worded = [c for c in ("prompt_id", SCENARIO) if c in labels.columns]
        told = labels.select(worded).unique().drop_nulls().rows()
        self._scenarios: dict[str, str] = dict(told) if len(worded) > 1 else {}
        shared = "image_id" in labels.columns and seeds_shared(labels, self.factors)
        drawn = labels.select("image_id", SEED_COLUMN).drop_nulls().unique() if shared else pl.DataFrame()
        drawn = drawn.with_columns(pl.col(SEED_COLUMN).rank("dense").cast(pl.Int64)) if shared else drawn
        self._seeds: dict[str, int] = dict(drawn.iter_rows())
        have = labels.columns
        rows = labels.select(
            *self.factors,
            "attribute",
            _excluded=pl.col("excluded"),
            _value=pl.col("value").cast(pl.String),
            _prompt=pl.col("prompt_id") if "prompt_id" in have else pl.lit(None, pl.String),
            _n=pl.col(N_SUBJECTS) if N_SUBJECTS in have else pl.lit(1),
            _image=pl.lit(None, pl.String) if N_SUBJECTS in have else pl.col("image_id"),
        )
        asked = rows.lazy().filter(pl.col("_excluded").ne_missing(PICTURE_EXCLUDED))
        refused = pl.col("_excluded").eq_missing(PICTURE_REFUSED)
        self._requests = self._grouped(asked, _requests, "_image", _refused=refused)
        self._values: dict[str, Mapping[_Levels, dict[str, Pictures]]] = {}
        self._missing: dict[str, Mapping[_Levels, Counter[str]]] = {}
        for attribute in rows["attribute"].unique(maintain_order=True):
            part, left_out = rows.lazy().filter(attribute=attribute), pl.col("_excluded").is_not_null()
            seen = part.filter(~left_out, pl.col("_value").is_not_null())
            seen = seen.select(*self.factors, "_value", "_prompt", "_n", "_image")
            self._values[attribute] = _Grouped(seen, self.factors, _by_value, by=["_value"])
            self._missing[attribute] = self._grouped(part.filter(left_out), _reasons, "_excluded", "_n")
        levels = asked.select(pl.col(self.factors).n_unique()).collect()
        self.varying = [factor for factor in self.factors if levels[factor].item() > 1]
        """Factors with more than one level among the pictures."""

    def _grouped(
        self, rows: pl.LazyFrame, read: Callable[..., _T], *columns: str, **made: pl.Expr
    ) -> Mapping[_Levels, _T]:
        return _Grouped(rows.select(*self.factors, *columns, **made), self.factors, read)

    def conditions(self, attribute: str | None, scope: Mapping[str, str]) -> Conditions:
        """The combinations of levels that a scope takes in, of an attribute or (None) of all requests."""
        return tuple(sorted(self._fitting(attribute, scope), key=str))

    def agreed(self, attribute: str | None, scope: Mapping[str, str] | None) -> dict[str, str | None]:
        """The factors in which all these pictures have one level, or all have none."""
        there = self._fitting(attribute, scope)
        levels = {factor: {c[place] for c in there} for place, factor in enumerate(self.factors)}
        return {factor: found.pop() for factor, found in levels.items() if len(found) == 1}

    def drawn_under(self, scope: Mapping[str, str]) -> Conditions:
        """The combinations of levels of all requests that a scope takes in, whoever looked at them."""
        place = self.factors.index("annotator") if "annotator" in self.factors else len(self.factors)
        kept = {levels[:place] + levels[place + 1 :] for levels in self._fitting(None, scope)}
        return tuple(sorted(kept, key=str))

    def sides(
        self, attribute: str, scope: Mapping[str, str], wording: Wording
    ) -> tuple[dict[str, Pictures], dict[str, Pictures]]:
        """Images by value in a condition and in its reference, where it has one."""
        return self.values(attribute, scope), self.values(attribute, wording.reference_scope(scope))

    def moved(self, attribute: str, scope: Mapping[str, str], wording: Wording, value: str) -> float:
        """Share of a value less that in the reference; 0 where there is nothing to compare with."""
        here, before = self.sides(attribute, scope, wording)
        return shift(counted(here, value), counted(before, value)) if here and before else 0.0

    def values(self, attribute: str, scope: Mapping[str, str] | None) -> dict[str, Pictures]:
        """Images by value of the attribute in a scope; a null level of a condition fits when none does."""
        return dict(self._lately(attribute, None if scope is None else tuple(scope.items())))

    def _read(self, attribute: str, scope: tuple[tuple[str, str], ...] | None) -> dict[str, Pictures]:
        found: dict[str, Pictures] = defaultdict(Pictures)
        here = self._values.get(attribute, {})
        for condition in self._fitting(attribute, None if scope is None else dict(scope)):
            for value, images in here[condition].items():
                found[value] += images
        return found

    def cell(self, attribute: str, scope: Mapping[str, str] | None) -> Cell:
        """The images of a scope by value and prompt; its peers are the scopes of the same factors."""
        here = self._fitting(attribute, scope)
        named = self.factors if len(here) == 1 else tuple(f for f in self.factors if f in (scope or {}))
        levels = here[0] if len(here) == 1 else tuple((scope or {})[factor] for factor in named)
        found = self._cells(attribute, named).get(levels) if here and named else None
        return found or self.cell_of(self.values(attribute, scope))

    def bounds(
        self, attribute: str, scopes: Sequence[Mapping[str, str] | None], value: str
    ) -> tuple[float, float] | None:
        """Between what a difference of shares may be where labels are missing; None where few are."""
        asked = (None if scope is None else tuple(scope.items()) for scope in scopes)
        allowed = bound_columns(value, *(self._lacking(attribute, scope) for scope in asked))
        return (allowed["bound_low"], allowed["bound_high"]) if allowed else None

    def _missing_too(self, attribute: str, scope: tuple[tuple[str, str], ...] | None) -> Cell:
        """The images of a scope, and how many labels are missing."""
        asked = None if scope is None else dict(scope)
        known = self._missing.get(attribute, {})
        missing = (known.get(one, Counter[str]()) for one in self._fitting(attribute, asked))
        return replace(self.cell(attribute, asked), excluded=sum(missing, Counter[str]()))

    def cell_of(self, values: Mapping[str, Pictures]) -> Cell:
        """Images by value, counted by prompt, or by scenario where this is the unit."""
        seen = {value: images.by_prompt for value, images in values.items() if len(images)}
        prompts = {prompt for one in seen.values() for prompt in one}
        scenarios = {self._scenarios.get(prompt or "") for prompt in prompts}
        worded = None not in scenarios and len(scenarios) >= FEWEST_PROMPTS
        if worded:
            for value, by_prompt in seen.items():
                seen[value] = Counter()
                for prompt, n in by_prompt.items():
                    seen[value][self._scenarios[prompt or ""]] += n
        return Cell((), "", seen, by_seed=self._by_seed(values, not worded) if self._seeds else None)

    def _by_seed(
        self, values: Mapping[str, Pictures], asked: bool
    ) -> Counter[tuple[str, str | None, int | None]]:
        """Images by value, unit and seed.

        asked: Whether prompts are the units; else scenarios are.
        """
        found: Counter[tuple[str, str | None, int | None]] = Counter()
        for value, images in values.items():
            for image, prompt in zip(images, images.prompts, strict=True):
                unit = prompt if asked else self._scenarios.get(prompt or "")
                found[value, unit, self._seeds.get(image)] += 1
        return found

    def _cells(self, attribute: str, named: tuple[str, ...]) -> Mapping[_Levels, Cell]:
        """The cells of an attribute, by their levels of some factors."""
        if (attribute, named) not in self._cells_of:
            places = [self.factors.index(factor) for factor in named]
            merged: dict[_Levels, dict[str, Pictures]] = defaultdict(lambda: defaultdict(Pictures))
            for levels, values in self._values.get(attribute, {}).items():
                for value, images in values.items():
                    merged[tuple(levels[place] for place in places)][value] += images
            cells = {levels: replace(self.cell_of(of), key=levels) for levels, of in merged.items()}
            for kin in self._kin(cells, named):
                tell_one_another(kin)
                if shared := self._seeds and seeds_of_cells([cell.by_seed or {} for cell in kin]):
                    for cell, of_seeds in zip(kin, shared, strict=True):
                        cell.seeds = of_seeds
            self._cells_of[attribute, named] = cells
        return self._cells_of[attribute, named]

    def _kin(self, cells: Mapping[_Levels, Cell], named: tuple[str, ...]) -> Iterable[list[Cell]]:
        """Those of each annotator, who says by itself how alike pictures of a prompt are."""
        at = named.index("annotator") if "annotator" in named else None
        kin: dict[str | None, list[Cell]] = {}
        for levels, cell in cells.items():
            kin.setdefault(None if at is None else levels[at], []).append(cell)
        return kin.values()

    def elsewhere(self, attribute: str, scope: Mapping[str, str]) -> dict[str, Pictures]:
        """Images by value of the attribute in every condition that a scope does not take in."""
        inside = set(self._fitting(attribute, scope))
        found: dict[str, Pictures] = defaultdict(Pictures)
        for condition, values in self._values.get(attribute, {}).items():
            if condition not in inside:
                for value, images in values.items():
                    found[value] += images
        return dict(found)

    def requested(self, scope: Mapping[str, str], *, refused: bool = False) -> list[str]:
        """Every picture that was asked for in a scope and drawn, or every one that was refused."""
        asked = [self._requests[condition] for condition in self._fitting(None, scope)]
        return list(dict.fromkeys(image for one in asked for image, was in one.items() if was is refused))

    def _fitting(self, attribute: str | None, scope: Mapping[str, str] | None) -> list[_Levels]:
        if scope is None:
            return []
        used = [(self.factors.index(f), level) for f, level in scope.items() if f in self.factors]
        places, levels = tuple(i for i, _ in used), tuple(level for _, level in used)
        if (attribute, places) not in self._index:
            known = self._requests if attribute is None else self._values.get(attribute, {})
            self._index[attribute, places] = _Index(known, places)
        return self._index[attribute, places].fitting(levels)
