"""What seeds that prompts share do to groups apart from one another."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from stereotrope.measure.divergence.coded import CodedLabels, Codes, Ints
from stereotrope.stats import (
    ICC_GRID,
    Across,
    Clustered,
    Crossed,
    cluster_scatter,
    crossed_growth,
    crossed_weights,
    evidence_apart,
    joint_evidence,
)
from stereotrope.stats.arrays import Floats

_TESTED = 0.95
"""Level at which what seeds may do is counted in a test, whatever that of the interval."""
_TINY = 1e-12


class SeedsApart(NamedTuple):
    """How alike pictures of one seed are in one group alone.

    of_shares: In the shares of values, whichever.
    of_divergence: In what the divergence changes with.
    """

    of_shares: Crossed
    of_divergence: Crossed

    @property
    def words(self) -> str:
        """What the method says of seeds."""
        return f"shared seeds, correlation {float(self.of_shares.weights @ ICC_GRID):.2f} apart"


class SeedNoise(NamedTuple):
    """How many times as large noise is with what seeds do to one group alone, by attribute.

    shuffled, floor: Of scores of shuffled prompts: for the test, and on average.
    near, far: Of the score, for its interval, near no difference and further away.
    """

    shuffled: Floats
    floor: Floats
    near: Floats
    far: Floats


def seed_noise(
    clustered: Clustered, shuffled: Floats, seeds: Sequence[SeedsApart | None], *, level: float
) -> SeedNoise:
    """By attribute, how much noise seeds add to that of prompts.

    shuffled: Divergences where prompts change groups, shape (B, n_attributes): these hold what the groups
        differ by, of which seeds add nothing.
    """
    if not any(seeds):
        return SeedNoise(*np.ones((4, len(clustered.hot.complete))))
    scatter = cluster_scatter(clustered)
    shares, divergence = ([of and of[at] for of in seeds] for at in (0, 1))
    known = np.isfinite(shuffled)
    mean = np.where(known, shuffled, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    part = np.minimum(scatter.noise / np.maximum(mean, _TINY), 1.0)
    of_test, on_average = (crossed_growth(scatter, shares, level=at) for at in (_TESTED, None))
    return SeedNoise(
        1 + part * (of_test - 1),
        1 + part * (on_average - 1),
        crossed_growth(scatter, shares, level=level),
        crossed_growth(scatter, divergence, level=level),
    )


class _Side(NamedTuple):
    """A group's pictures of each value, the value of each, and its prompt and seed where these are shared."""

    shown: Floats
    codes: Codes
    across: Across | None


def seeds_of_groups(
    coded: CodedLabels, compared: Sequence[tuple[Sequence[Ints], Ints]]
) -> list[Mapping[int, SeedsApart]]:
    """By comparison and attribute, what seeds do to one group alone.

    compared: Groups that are compared, and their attributes.
    Returns: An attribute is there where a group with a label of it shares seeds among its prompts. What the
        other comparisons of an attribute by the same annotator say is believed as
        :func:`stereotrope.stats.crossed_weights` believes it.
    """
    found: list[dict[int, SeedsApart]] = [{} for _ in compared]
    told: dict[tuple[str | None, int], list[tuple[int, Floats, Floats]]] = {}
    known: dict[tuple[int, int], _Side] = {}
    for at, (groups, attributes) in enumerate(compared if (coded.seeds >= 0).any() else ()):
        for column in attributes.tolist():
            sides = []
            for rows in groups:
                if (key := (id(rows), column)) not in known:
                    known[key] = _side(coded, rows, column)
                if known[key].shown.any():
                    sides.append(known[key])
            if len(sides) > 1 and any(side.across for side in sides):
                kin = coded.annotator(np.concatenate(groups)), column
                told.setdefault(kin, []).append((at, *_apart(sides)))
    for (_, column), each in told.items():
        weights = [crossed_weights([evidence[of] for _, _, evidence in each]) for of in (0, 1)]
        for (at, alike, _), *both in zip(each, *weights, strict=True):
            found[at][column] = SeedsApart(*(Crossed(alike, of) for of in both))
    return [*found]


def _side(coded: CodedLabels, rows: Ints, column: int) -> _Side:
    codes = coded.codes[rows, column]
    shown = np.bincount(codes[codes >= 0], minlength=len(coded.values[column])).astype(np.float64)
    return _Side(shown, codes[codes >= 0], coded.across(rows, codes >= 0))


def _apart(sides: Sequence[_Side]) -> tuple[Floats, Floats]:
    """How much the variance grows with the correlation, and what is to be seen of that, in two rows."""
    part = np.array([1 / side.shown.sum() for side in sides])
    alike = np.asarray(part @ [side.across.alike if side.across else 0.0 for side in sides] / part.sum())
    values = np.eye(len(sides[0].shown))[sum(side.shown for side in sides) > 0]
    found = np.zeros((2, ICC_GRID.size))
    for one, other in combinations(sides, 2):
        middle = one.shown / one.shown.sum() + other.shown / other.shown.sum()
        bends = [_slope(side.shown, middle / 2) for side in (one, other)]
        *each, bent = _seen((one, other), (np.vstack([values, bends[0]]), np.vstack([-values, bends[1]])))
        together = joint_evidence(np.array(each), np.zeros(len(each), np.int64), 1)
        # A lone value does not vary, but for rounding.
        found += np.stack([together[0] * (len(values) > 1), bent])
    # Of G groups only G − 1 do.
    return alike, found * 2 / len(sides)


def _seen(sides: Sequence[_Side], weights: Sequence[Floats]) -> Floats:
    """What is to be seen by each of several weights of values, which are those of a side in rows."""
    moved = [
        (side.across, of.T[side.codes] / len(side.codes))
        for side, of in zip(sides, weights, strict=True)
        if side.across is not None
    ]
    return evidence_apart(moved) if moved else np.zeros((len(weights[0]), ICC_GRID.size))


def _slope(shown: Floats, middle: Floats) -> Floats:
    """How much a divergence grows with each share of a side, one picture of both added to it."""
    share = (shown + middle) / (shown.sum() + 1)
    return np.asarray(np.log2(np.divide(share, middle, out=np.ones_like(middle), where=middle > 0)))
