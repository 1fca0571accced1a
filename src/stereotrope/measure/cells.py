"""Cells: what was seen, and what was left out, in each combination of factors and each attribute."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import polars as pl

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.estimates import excluded_json
from stereotrope.measure.seeds import PicturesBySeed, pictures_by_seed
from stereotrope.measure.units import Claim, claim_of
from stereotrope.stats import ICC_GRID, Crossed, effective_trials, icc_evidence, icc_weights
from stereotrope.stats.arrays import Floats
from stereotrope.tables import warnings_of

# Why a score of a cell is null.
NO_LABEL = "no usable label"
NO_REFERENCE = "no usable label of the reference"

SMALL_N = 10
"""Below this number of usable labels an estimate is flagged ``small_n``."""
PAIR = "pair"
"""``sides`` of two levels that are compared with each other, none of them a baseline."""
NOT_IN_OF = "labelled "
"""Beginning of the reason of a label whose value is none of those asked for."""
MUCH_MISSING = 0.05
"""Share of missing labels beyond which a share is given the bounds that they allow."""

Key = tuple[str | None, ...]
_APART = Crossed(np.array(0.0), np.eye(ICC_GRID.size)[0])
_T = TypeVar("_T")


@dataclass
class Cell:
    """The labels of one attribute in one combination of factor levels."""

    key: Key
    attribute: str
    seen: dict[str, Counter[str | None]] = field(default_factory=dict)
    """value → prompt → number of images (one prompt, None, where prompts are not known)."""
    excluded: Counter[str] = field(default_factory=Counter)
    peers: "Peers | None" = field(default=None, repr=False, compare=False)
    """The cells of its attribute."""
    seeds: Crossed | None = field(default=None, repr=False, compare=False)
    """How alike its pictures of one seed are, where its prompts share seeds."""
    by_seed: Mapping[tuple[str, str | None, int | None], int] | None = field(default=None, repr=False)
    """How many images there are of a value, prompt and seed, where they are known one by one."""

    @cached_property
    def n(self) -> int:
        """Images with a usable label."""
        return sum(prompts.total() for prompts in self.seen.values())

    def count(self, value: str) -> int:
        """Images labelled with this value."""
        return self.seen[value].total() if value in self.seen else 0

    @cached_property
    def prompts(self) -> dict[str | None, int]:
        """Prompt → images with a usable label, sorted."""
        total: dict[str | None, int] = {}
        for prompts in self.seen.values():
            for prompt, count in prompts.items():
                total[prompt] = total.get(prompt, 0) + count
        return {prompt: total[prompt] for prompt in sorted(total, key=lambda p: p or "")}

    @cached_property
    def drawn(self) -> PicturesBySeed | None:
        """Its pictures by prompt and seed, and the value of each, where seeds are known and shared."""
        return pictures_by_seed(self.by_seed) if self.by_seed else None

    @cached_property
    def claim(self) -> Claim:
        """What its shares speak of."""
        claim = claim_of(self.prompts)
        shared = self.drawn is not None if self.seeds is None else float(self.seeds.alike) > 0
        return replace(claim, dependent=claim.dependent or shared)

    @property
    def flags(self) -> dict[str, bool]:
        """What to mind of its shares."""
        return {**self.claim.flags, "small_n": self.n < SMALL_N}

    @property
    def missing(self) -> int:
        """Images whose label is missing for any reason but that it is another value than those asked for."""
        return sum(n for reason, n in self.excluded.items() if not reason.startswith(NOT_IN_OF))

    @property
    def lacks_much(self) -> bool:
        """Whether so many labels are missing that a share needs the bounds that they allow."""
        return self.missing > MUCH_MISSING * (self.n + self.missing)

    def bounds(self, value: str) -> tuple[float, float]:
        """Share of this value if no, and if every, missing label were it."""
        whole = self.n + self.missing
        return self.count(value) / whole, (self.count(value) + self.missing) / whole

    def by_prompt(self, value: str) -> list[int]:
        """Images of each prompt labelled with this value."""
        seen = self.seen.get(value, Counter())
        return [seen[prompt] for prompt in self.prompts]

    def evidence(self, value: str) -> Floats:
        """What its prompts say of the intra-class correlation of a value's share."""
        return icc_evidence(self.by_prompt(value), list(self.prompts.values()))

    @cached_property
    def icc(self) -> Floats:
        """How probable each intra-class correlation is, by its own counts and those of its peers."""
        return (self.peers or Peers([self])).icc[self.key]

    def effective(self, value: str, *, level: float, claim: Claim | None = None) -> tuple[float, float]:
        """Count of this value and ``n``, both reduced where prompts are the units (see stats.icc)."""
        k, n, trials = float(self.count(value)), float(self.n), float(self.trials(level, claim))
        return k if trials == n else k / n * trials, trials

    def trials(self, level: float, claim: Claim | None = None, seeds: Crossed | None = None) -> Floats:
        """How many independent images tell as much.

        claim: Of the comparison that it is a side of.
        seeds: What pictures of one seed have in common that counts in each of several shares; that of the
            cell, in all, when None.
        Returns: A number, or of each of these.
        """
        if not self.claim.clustered or not (claim or self.claim).prompts:
            return np.asarray(float(self.n))
        if seeds is None:
            return np.asarray((self.peers or Peers([self])).trials(level)[self.key])
        sizes, each = list(self.prompts.values()), len(seeds.alike)
        starts = np.arange(each) * len(sizes)
        icc = np.broadcast_to(self.icc, (each, self.icc.size))
        return effective_trials(np.tile(sizes, each), icc, level=level, starts=starts, crossed=seeds)


@dataclass
class Peers:
    """The cells of one attribute by one annotator, whose intra-class correlations are alike."""

    cells: Sequence[Cell]
    _trials: dict[float, dict[Key, float]] = field(default_factory=dict, repr=False)

    @cached_property
    def clustered(self) -> list[Cell]:
        """Those whose units are prompts."""
        return [cell for cell in self.cells if cell.claim.clustered]

    @cached_property
    def _evidence(self) -> tuple[list[int], Floats]:
        """Of each value of each of these: which cell it is of, and what it says of the correlation."""
        k: list[int] = []
        n: list[int] = []
        starts, owners = [], []
        for at, cell in enumerate(self.clustered):
            sizes = list(cell.prompts.values())
            for value in cell.seen:
                owners.append(at)
                starts.append(len(k))
                k += cell.by_prompt(value)
                n += sizes
        return owners, icc_evidence(k, n, starts) if owners else np.zeros((0, ICC_GRID.size))

    @cached_property
    def weights(self) -> Floats:
        """How probable each correlation is in each of these."""
        owners, of_values = self._evidence
        evidence = np.zeros((len(self.clustered), ICC_GRID.size))
        if not owners:
            return evidence
        np.add.at(evidence, owners, of_values)
        # Of K values that add up to n only K − 1 say something of their own.
        values = np.bincount(owners, minlength=len(evidence))
        levels = zip(*(cell.key for cell in self.clustered), strict=True)
        codes = [
            np.unique(["" if one is None else f"_{one}" for one in of], return_inverse=True)[1]
            for of in levels
        ]
        return icc_weights((1 - 1 / values)[:, None] * evidence, codes)

    @cached_property
    def icc(self) -> dict[Key, Floats]:
        """The same by the key of the cell."""
        return dict(zip([cell.key for cell in self.clustered], self.weights, strict=True))

    @cached_property
    def _crossed(self) -> Crossed | None:
        """The same of pictures of one seed."""
        told = [cell.seeds or _APART for cell in self.clustered]
        alike, weights = (np.array(of) for of in zip(*told, strict=True))
        return Crossed(alike, weights) if alike.any() else None

    def trials(self, level: float) -> dict[Key, float]:
        """Effective number of images of each of these, for an interval of a level."""
        if level not in self._trials:
            sizes = [list(cell.prompts.values()) for cell in self.clustered]
            starts = np.cumsum([0, *map(len, sizes[:-1])])
            together = np.concatenate(sizes)
            found = effective_trials(
                together, self.weights, level=level, starts=starts, crossed=self._crossed
            )
            keys = [cell.key for cell in self.clustered]
            self._trials[level] = dict(zip(keys, found.tolist(), strict=True))
        return self._trials[level]


def share_row(cell: Cell, by: Sequence[str], reference: Cell | None = None) -> dict[str, Any]:
    """What rows of a cell's shares, or of their differences from a reference, have in common."""
    return {
        "definition": "share",
        **dict(zip(by, cell.key, strict=True)),
        "attribute": cell.attribute,
        "n": cell.n,
        **excluded_columns(cell, reference),
    }


def require_text(name: Any, *, what: str) -> None:
    """Refuse what is no text where an attribute, a value or a level is named."""
    if not isinstance(name, str):
        raise UsageError(f"{what} must be text, as labels and levels are read, found {name!r}; quote it")


def as_names(names: str | Sequence[str] | None, *, what: str) -> tuple[str, ...]:
    """One name or many as a tuple; UsageError where one is no text, or given twice."""
    if names is None:
        return ()
    given = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
    for name in given:
        require_text(name, what=what)
    if len(set(given)) < len(given):
        raise UsageError(f"{what}: a name is given twice in {list(given)}; give each once")
    return given


def categories(cells: Collection[Cell]) -> dict[str, list[str]]:
    """Values seen of each attribute over all cells, the most frequent first, ties by name."""
    totals: dict[str, Counter[str]] = {}
    for cell in cells:
        totals.setdefault(cell.attribute, Counter()).update({v: cell.count(v) for v in cell.seen})
    return {name: sorted(total, key=lambda v: (-total[v], v)) for name, total in totals.items()}


def reference_of(key: Key, references: Mapping[Key, _T]) -> _T | None:
    """The reference of a cell: same levels, or a null level that stands for every level of its factor.

    A baseline without a phrasing is so the baseline of every phrasing. A reference with more levels in
    common goes first.

    Raises TableError: Two references fit equally well.
    """
    free = [at for at, level in enumerate(key) if level is not None]
    for n in range(len(free) + 1):
        general = (tuple(None if i in at else b for i, b in enumerate(key)) for at in combinations(free, n))
        if fitting := [one for one in general if one in references]:
            if len(fitting) > 1:
                best, other = sorted(fitting, key=list(references).index)[:2]
                raise TableError(
                    f"labels: {key} has two baselines that fit it equally well, {best} and {other}; keep one "
                    "of them in the frame"
                )
            return references[fitting[0]]
    return None


def bound_columns(value: str, cell: Cell, reference: Cell | None = None) -> dict[str, float]:
    """The columns ``bound_low`` and ``bound_high`` of a share, or of its difference from a reference.

    None where neither side lacks much; where one does, the few labels that the other lacks count too.
    """
    if not (cell.lacks_much or (reference is not None and reference.lacks_much)):
        return {}
    low, high = cell.bounds(value)
    least, greatest = reference.bounds(value) if reference is not None else (0.0, 0.0)
    return {"bound_low": low - greatest, "bound_high": high - least}


def excluded_columns(*cells: Cell | None) -> dict[str, Any]:
    """The columns ``n_excluded`` and ``excluded`` of an estimate made from these cells."""
    total = sum((cell.excluded for cell in cells if cell is not None), Counter[str]())
    return {"n_excluded": total.total(), "excluded": excluded_json(total)}


def holds_few(estimates: pl.DataFrame) -> bool:
    """Whether any of these scores is of few pictures: flagged ``small_n``, or by n where none has flags."""
    scored = estimates.filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan())
    if "flags" in estimates.columns:
        return any("small_n" in warnings_of(flags) for flags in scored["flags"].drop_nulls())
    return "n" in estimates.columns and bool((scored["n"] < SMALL_N).any())
