"""How far divergences may reach where few images differ from the rest of their group, by the likelihood."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from stereotrope.stats import (
    Clustered,
    Crossed,
    effective_trials,
    greatest_js,
    icc_beliefs,
    icc_evidence,
    least_js,
    unanimous_js,
)
from stereotrope.stats.arrays import Counts, Floats

_FEW = 4.0
"""Images, in effect, from which on the scatter of prompts says how rare values vary."""

_Mask = NDArray[np.bool_]


def likely_ends(
    clustered: Clustered, peers: Floats, seeds: Sequence[Crossed | None], *, level: float
) -> tuple[Floats, Floats]:
    """By attribute, the least and the greatest JS that prompts' counts make likely.

    The greatest where all images but a few show one value, 0 elsewhere; the least where groups have hardly a
    value in common, 1 elsewhere. Images are counted by what they tell of others, as those of a share are.

    clustered, peers: As of :func:`stereotrope.measure.divergence.chance.chance_of_prompts`.
    seeds: By attribute, how alike pictures of one seed are; None where prompts share none.
    level: Of the two-sided interval; as one end alone is at stake here, the likelihood's is of its square.
    """
    least, most, ends = np.ones(len(peers)), np.zeros(len(peers)), level**2
    for at, (told, crossed) in enumerate(zip(peers, seeds, strict=True)):
        how = told.mean(axis=0), crossed, level
        counts = clustered.counts[clustered.hot.attribute == at]
        labelled = counts.sum(axis=0) > 0
        sides = [counts[:, (clustered.group == g) & labelled] for g in range(len(clustered.sizes))]
        sides = [side for side in sides if side.size]
        totals = np.stack([side.sum(axis=1) for side in sides])
        most_shown = np.arange(len(counts)) == totals.sum(axis=0).argmax()
        k, n = _effective(sides, most_shown, *how)
        if len(counts) == 1:
            most[at] = np.mean([unanimous_js(*pair, level=ends) for pair in combinations(n.tolist(), 2)])
        elif np.minimum(k, n - k).min() < _FEW:
            most[at] = greatest_js(k.tolist(), n.tolist(), level=ends)
        lower = []
        for g, h in combinations(range(len(sides)), 2):
            own = totals[g] * totals[h].sum() > totals[h] * totals[g].sum()
            k, n = _effective([sides[g], sides[h]], own, *how)
            few = min(n[0] - k[0], k[1]) < _FEW
            lower.append(least_js(k.tolist(), n.tolist(), level=ends) if few else 1.0)
        least[at] = np.mean(lower)
    return least, most


def _effective(
    sides: Sequence[Counts], values: _Mask, told: Floats, crossed: Crossed | None, level: float
) -> tuple[Floats, Floats]:
    """Effective images of each side with any of these values, and all of them."""
    k, n = [side[values].sum(axis=0) for side in sides], [side.sum(axis=0) for side in sides]
    own = sum((icc_evidence(*one) for one in zip(k, n, strict=True)), np.zeros(told.size))
    believed = icc_beliefs(own, told)[:1]
    across = crossed and Crossed(crossed.alike[None], crossed.weights[None])
    every = [effective_trials(one, believed, level=level, starts=[0], crossed=across) for one in n]
    size = np.concatenate(every)
    share = np.array([one.sum() / all_.sum() for one, all_ in zip(k, n, strict=True)])
    return share * size, size
