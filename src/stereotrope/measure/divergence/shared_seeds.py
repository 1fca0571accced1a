"""What seeds that prompts share do to groups apart from one another."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from stereotrope.measure.divergence.coded import CodedLabels, Ints
from stereotrope.measure.seeds import SeedGrid, evidence_apart
from stereotrope.stats import ICC_GRID, Crossed, crossed_weights
from stereotrope.stats.arrays import Floats


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


def seeds_of_groups(
    coded: CodedLabels, compared: Sequence[tuple[Sequence[Ints], Ints]]
) -> list[Mapping[int, SeedsApart]]:
    """By comparison and attribute, what seeds do to one group alone.

    compared: Groups that are compared, and their attributes.
    Returns: An attribute is there where every group with a label of it shares seeds among its prompts. What
        the other comparisons of an attribute say is believed as :func:`stereotrope.stats.crossed_weights`
        believes it.
    """
    found: list[dict[int, SeedsApart]] = [{} for _ in compared]
    told: dict[int, list[tuple[int, Floats, Floats]]] = {}
    grids: dict[tuple[int, int], SeedGrid | None] = {}
    for at, (groups, attributes) in enumerate(compared if (coded.seeds >= 0).any() else ()):
        for column in attributes.tolist():
            sides = []
            for rows in groups:
                if (id(rows), column) not in grids:
                    grids[id(rows), column] = coded.seed_grid(rows, column)
                if (coded.codes[rows, column] >= 0).any():
                    sides.append(grids[id(rows), column])
            known = [side for side in sides if side is not None]
            if len(known) == len(sides) > 1:
                told.setdefault(column, []).append((at, *_apart(known)))
    for column, each in told.items():
        weights = [crossed_weights([evidence[of] for _, _, evidence in each]) for of in (0, 1)]
        for (at, alike, _), *both in zip(each, *weights, strict=True):
            found[at][column] = SeedsApart(*(Crossed(alike, of) for of in both))
    return [*found]


def _apart(sides: Sequence[SeedGrid]) -> tuple[Floats, Floats]:
    """How much the variance grows with the correlation, and what is to be seen of that, in two rows."""
    part = np.array([1 / side.n for side in sides])
    alike = np.asarray(part @ [side.alike for side in sides] / part.sum())
    values = np.eye(len(sides[0].values))[sum(side.shown for side in sides) > 0]
    pairs = list(combinations(sides, 2))
    # Of K values that add up to n only K − 1 say something of their own, and so do G − 1 of G groups.
    own = (1 - 1 / len(values)) * 2 / len(sides)
    shares = sum(evidence_apart([(one, of), (other, -of)]) for one, other in pairs for of in values)
    divergence = sum(evidence_apart(_slopes(*two)) for two in pairs)
    return alike, np.stack([own * shares, divergence * 2 / len(sides)])


def _slopes(one: SeedGrid, other: SeedGrid) -> list[tuple[SeedGrid, Floats]]:
    """Both sides, and how much their divergence grows with each share."""
    pool = (one.shown / one.n + other.shown / other.n) / 2
    shares = [(side.shown + pool) / (side.n + 1) for side in (one, other)]
    middle = sum(shares) / 2
    ratios = [np.divide(share, middle, out=np.ones_like(middle), where=middle > 0) for share in shares]
    return [(side, np.log2(ratio)) for side, ratio in zip((one, other), ratios, strict=True)]
