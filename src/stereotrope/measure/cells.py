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
from stereotrope.stats import ICC_GRID, Crossed, effective_trials, icc_evidence, icc_weights, joint_evidence
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
_T = TypeVar("_T")


@dataclass
class Cell:
    """The labels of one attribute in one combination of factor levels."""

    key: Key
    attribute: str
    seen: dict[str, Counter[str | None]] = field(default_factory=dict)
    """value → prompt → number of images (one prompt, None, where prompts are not known)."""
    excluded: Counter[str] = field(default_factory=Counter)
    icc: Floats | None = field(default=None, repr=False, compare=False)
    """How probable each intra-class correlation is, by its own counts and those of its kin."""
    n_kin: int = field(default=1, repr=False, compare=False)
    """How many cells of its attribute tell of one another, this one too."""
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

    @property
    def joint(self) -> Floats:
        """What its prompts say of the intra-class correlation of its values together."""
        told = np.reshape([self.evidence(value) for value in self.seen], (-1, ICC_GRID.size))
        return np.asarray(joint_evidence(told, np.zeros(len(told), np.int64), 1)[0])

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
        if seeds is None and self.seeds is not None and self.seeds.alike > 0:
            seeds = self.seeds
        if self.icc is None:
            self.icc = icc_weights([self.joint])[0]
        sizes = list(self.prompts.values())
        if seeds is None:
            return effective_trials(sizes, self.icc, level=level)
        each = np.size(seeds.alike)
        crossed = Crossed(np.atleast_1d(seeds.alike), np.atleast_2d(seeds.weights))
        starts, icc = np.arange(each) * len(sizes), np.tile(self.icc, (each, 1))
        found = effective_trials(np.tile(sizes, each), icc, level=level, starts=starts, crossed=crossed)
        return found.reshape(np.shape(seeds.alike))


def tell_one_another(cells: Sequence[Cell]) -> None:
    """Of cells of one attribute by one annotator, let those of several prompts say how alike pictures are."""
    asked = [cell for cell in cells if cell.claim.clustered]
    if len(asked) < 2:
        return
    levels = zip(*(cell.key for cell in asked), strict=True)
    codes = [
        np.unique(["" if one is None else f"_{one}" for one in of], return_inverse=True)[1] for of in levels
    ]
    for cell, icc in zip(asked, icc_weights([cell.joint for cell in asked], codes), strict=True):
        cell.icc, cell.n_kin = icc, len(asked)


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
