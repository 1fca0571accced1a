"""How much more often captions of one model name a group than those of another, over prompts of both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.captions.frame import Captions, caption_cells
from stereotrope.measure.captions.groups import count_groups, read_elements
from stereotrope.measure.captions.rows import ScoreRow
from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.contract import register
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.seeds import across_units
from stereotrope.measure.setting import GENERATOR
from stereotrope.measure.tidy import factor_names, to_polars
from stereotrope.measure.units import SEEDS_COUNTED, Claim, unit_ids, units_of
from stereotrope.stats import (
    benjamini_hochberg,
    exchange_test,
    mean_over_units,
    newcombe,
    special,
    strata_test,
)
from stereotrope.stats.arrays import Floats
from stereotrope.tables import CAPTION

OVER_PROMPTS = "representation_difference"

_NO_PROMPT = "no prompt that both describe"
_ALONE = "of a prompt that the other does not describe"
_CLOSED = "the lexicon declares that; change it there"
_Ints = NDArray[np.int64]
_SOURCE = "Student 1908; Fisher 1935, section 21; Gart 1970"


@register(
    suite="biasbench",
    bounds=(-1.0, 1.0),
    direction="above 0: named more often by the first model; below 0: by the reference",
    source=_SOURCE,
    needs="captions",
    shared=True,
    due=lambda given, setting, calls: len(setting.models) > 1,
    closed=dict.fromkeys(("of", "groups", "group", "within", "prompt"), _CLOSED),
)
def representation_difference(
    captions: Any,
    attribute: str,
    *,
    of: Sequence[str],
    groups: Sequence[str] | None = None,
    unknown: bool = True,
    group: str = GENERATOR,
    within: Sequence[str] = (),
    prompt: str = "prompt",
    definition: Literal["paper", "released"] = "paper",
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How much more often captions of one model name a side than another's, on average over prompts.

    Formula
    -------
    :math:`\bar d = \frac1m Σ_i (p_i^a - p_i^b)` over the :math:`m` prompts that captions of both models
    describe, :math:`p_i` the share of a model's captions of prompt :math:`i` that name the side.

    Parameters
    ----------
    captions, attribute, groups, unknown, definition, level
        As for :func:`representation_parity`.
    of
        Groups of the side, their shares added up.
    group, within
        Factor whose levels are compared, each two of them; factors held equal in each comparison.
    prompt
        Factor that names prompts where the frame has no ``prompt_id``.

    Returns
    -------
    polars.DataFrame
        Estimates: the side in ``category`` (and as JSON in ``sides``), the model compared with in
        ``reference``. ``value`` in [−1, 1]; ``n`` and ``n_reference`` the prompts of both. Swapping the
        models flips the sign. An audit compares over all prompts of one declared side.

    Undefined
    ---------
    ``no prompt that both describe``.

    Notes
    -----
    Each prompt counts alike, however many captions it has. Over four prompts or more interval and p hold for
    ``prompts like these``: Student's interval over the prompts' differences
    (:func:`stereotrope.stats.mean_interval`), and the exact test that exchanges the sides of whole prompts
    (:func:`stereotrope.stats.exchange_test`), which cannot give p below :math:`2^{1-m}`: fewer than six
    prompts tell no difference. Over two or three prompts they hold for ``these prompts``: Newcombe's
    intervals of each, joined by square-and-add, and :func:`stereotrope.stats.strata_test`, which exchanges
    captions inside each prompt. Over more prompts, too, interval and p reach at least as far as these where
    models have unlike numbers of captions of a prompt, and where all prompts differ alike
    (``no_variation``). ``p_least`` is the least p that exchanging could have given. What seeds that prompts
    share do to one model widens interval and p; what they do to both cancels. Over prompts of base rates
    from 0.1 to 0.75 it covers in 0.94 to 0.98 of samples, and p ≤ 0.05 comes by chance in 0.00 to 0.05.

    References
    ----------
    Student (1908), Biometrika 6; Fisher (1935), The Design of Experiments, section 21; Gart (1970),
    Biometrika 57.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": list("abcdefgh"), "caption": "text", "generator": [*"xxxxyyyy"],
    ...     "prompt": ["doctor", "doctor", "nurse", "nurse"] * 2, "gender": [*"ffffmfmf"],
    ... })
    >>> found = representation_difference(frame, "gender", of=["f"], groups=["f", "m"])
    >>> found.select("generator", "reference", "value", "n").rows()
    [('x', 'y', 0.5, 2)]
    """
    held = factor_names(within, measure=OVER_PROMPTS, taken=(group,))
    asked = SideCompared(attribute, read_elements(of, "of"), groups, unknown, group, prompt)
    if not asked.of:
        raise UsageError(f"{OVER_PROMPTS}: of has no group; name one")
    frame = to_polars(captions, what="captions", needs=["image_id", CAPTION, prompt])
    cells = caption_cells(frame, measure=OVER_PROMPTS, by=(*held, group), definition=definition, level=level)
    return estimate_frame(with_own_q(asked.rows(cells)), factors=(*held, group))


def with_own_q(rows: list[ScoreRow]) -> list[ScoreRow]:
    """Rows with Benjamini and Hochberg's q over all of them that have p."""
    tested = [row for row in rows if "p_value" in row]
    for row, q in zip(tested, benjamini_hochberg([row["p_value"] for row in tested]), strict=True):
        row["q_value"] = float(q)
    return rows


@dataclass(frozen=True)
class SideCompared:
    """What is compared: how often captions name the groups ``of``; see :func:`representation_difference`."""

    attribute: str
    of: tuple[str, ...]
    groups: Sequence[str] | None
    unknown: bool
    group: str
    prompt: str

    def rows(self, cells: Sequence[Captions]) -> list[ScoreRow]:
        """A row for each two cells that differ in the factor compared alone."""
        if len(cells) < 2:
            return []
        frame = pl.concat([cell.frame for cell in cells])
        name = pl.coalesce(unit_ids(frame.columns), pl.col(self.prompt).cast(pl.String))
        codes = frame.select(name.rank("dense").fill_null(0)).to_series().cast(pl.Int64).to_numpy()
        together: dict[tuple[Any, ...], list[_Side]] = {}
        for cell, units in zip(cells, np.split(codes, np.cumsum([c.n for c in cells])[:-1]), strict=True):
            held = tuple(level for factor, level in cell.key.items() if factor != self.group)
            together.setdefault(held, []).append(self._side(cell, units))
        return [self._row(*two) for sides in together.values() for two in combinations(sides, 2)]

    def _side(self, cell: Captions, units: _Ints) -> _Side:
        counted = count_groups(cell, self.attribute, self.groups, self.unknown)
        named = counted.columns.any(axis=0)
        hits = counted.columns[[at for at, name in enumerate(counted.names) if name in self.of]].sum(axis=0)
        excluded = Counter(cell.excluded) + counted.excluded
        return _Side(cell, excluded, cell.frame.filter(pl.Series(named)), units[named], hits[named])

    def _row(self, one: _Side, other: _Side) -> ScoreRow:
        """How much more often captions of one side name the groups than those of the other."""
        both = np.intersect1d(one.units, other.units)
        a, b = (side.among(both) for side in (one, other))
        left = sum(len(side.units) for side in (one, other)) - len(a.units) - len(b.units)
        row: ScoreRow = {
            "measure": OVER_PROMPTS,
            "definition": one.cell.definition,
            **one.cell.key,
            "contrast": self.group,
            "reference": other.cell.key[self.group],
            "attribute": self.attribute,
            "category": " + ".join(self.of),
            "sides": json.dumps([self.of], ensure_ascii=False),
            "level": one.cell.level,
            "n": both.size,
            "n_reference": both.size,
            "excluded": Counter(one.excluded) + Counter(other.excluded) + Counter({_ALONE: left}),
            "source": _SOURCE,
        }
        if not both.size:
            return {**row, "undefined": _NO_PROMPT}
        claim, _ = units_of(a.units, b.units)
        found = _compared(a, b, claim)
        few = min(len(a.units), len(b.units)) < SMALL_N
        alike = claim.prompts and np.ptp(a.shares - b.shares) == 0
        flags = {"small_n": few, **claim.flags, "no_variation": alike}
        return {**row, **found, "flags": flags}


@dataclass(frozen=True)
class _Side:
    """Captions of one model that count: the prompt of each as a number, and 1 where it names the side."""

    cell: Captions
    excluded: Mapping[str, int]
    frame: pl.DataFrame
    units: _Ints
    hits: Floats

    def among(self, prompts: _Ints) -> _Side:
        """Of some prompts alone, numbered anew."""
        kept = np.isin(self.units, prompts)
        units = np.searchsorted(prompts, self.units[kept])
        return replace(self, frame=self.frame.filter(pl.Series(kept)), units=units, hits=self.hits[kept])

    @property
    def counts(self) -> tuple[Floats, Floats]:
        """Of each prompt the captions that name the side, and all."""
        named, every = np.bincount(self.units, self.hits), np.bincount(self.units)
        return np.asarray(named, np.float64), np.asarray(every, np.float64)

    @property
    def shares(self) -> Floats:
        """Of each prompt the share of captions that name the side."""
        named, every = self.counts
        return named / every


def _compared(one: _Side, other: _Side, claim: Claim) -> ScoreRow:
    """Value, interval and test of the difference of two sides with the same prompts."""
    gaps = one.shares - other.shares
    row = {"value": float(gaps.mean()), "holds_for": claim.holds_for}
    if not claim.prompts:
        return {**row, **_of_captions(one, other, gaps)}
    found = _of_prompts(one, other, gaps, _reach(one, other, claim))
    if np.array_equal(one.counts[1], other.counts[1]) and not np.isnan(found["low"]):
        return {**row, **found}
    # A side with fewer captions varies more, and more lopsidedly where few name the group: shares hide that.
    inside = _of_captions(one, other, gaps)
    low = np.fmin(found["low"], inside["low"])
    rest = {name: np.fmax(found[name], inside[name]) for name in ("high", "p_value", "p_least")}
    method = f"{found['method']}; at least as far as by captions exchanged inside prompts"
    return {**row, "low": low, **rest, "method": method}


def _of_prompts(one: _Side, other: _Side, gaps: Floats, reach: float) -> ScoreRow:
    """Interval and test whose units are prompts."""
    how_far: dict[str, Any] = {"level": one.cell.level, "reach": reach}
    _, low, high, how = mean_over_units(gaps, np.arange(gaps.size), scale=(-1.0, 1.0), **how_far)
    p, least = exchange_test(np.stack([one.shares, other.shares], axis=1), 0)
    if reach > 1:
        p = float(2 * special.ndtr(special.ndtri(p / 2) / reach))
    how += f", over prompts{f', {SEEDS_COUNTED}' * (reach > 1)}"
    method = f"interval: {how}; p: sides of prompts exchanged, counted out"
    return {"low": low, "high": high, "p_value": p, "p_least": least, "method": method}


def _reach(one: _Side, other: _Side, claim: Claim) -> float:
    """How many times as far an interval reaches with what seeds that prompts share do to one side alone."""
    units, frame = np.concatenate([one.units, other.units]), pl.concat([one.frame, other.frame])
    _, across = across_units(frame, claim, units)
    if across is None:
        return 1.0
    middle = (one.shares + other.shares) / 2
    moved = [(side.hits - middle[side.units]) / side.counts[1][side.units] for side in (one, other)]
    return across.reach(np.concatenate([moved[0], -moved[1]]), level=one.cell.level)


def _of_captions(one: _Side, other: _Side, gaps: Floats) -> ScoreRow:
    """Interval and test of these prompts alone, whose units are captions."""
    counts, mean = (*one.counts, *other.counts), float(gaps.mean())
    low, high = newcombe(*counts, level=one.cell.level)
    below, above = (float(np.linalg.norm(gaps - end)) / gaps.size for end in (low, high))
    p, least = strata_test(*counts)
    method = "interval: Newcombe's of the prompts, square-and-add; p: captions exchanged inside prompts"
    return {"low": mean - below, "high": mean + above, "p_value": p, "p_least": least, "method": method}
