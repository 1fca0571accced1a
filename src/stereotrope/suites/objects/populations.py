"""Made-up populations: what BDS reads at n = 20 when the cue does nothing, or as much as a paper reports."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from stereotrope.stats import entropy, expected_js, js_divergence
from stereotrope.stats.arrays import Floats

_N = 20
_VALUES = (12, 12, 5, 5, 5, 5, 2, 2)
"""Values an attribute can take: two open colours, four discovered attributes, two kinds of text presence."""
_CONCENTRATIONS = (0.1, 0.15, 0.25, 0.35, 0.5)
"""Of the Dirichlet shares; SDXL's VAC of 0.40 lies within what they give."""
_CELLS = 72
SHUFFLES = 299
_DRAWS = 400
UNITS = {"divergence": "bits", "distance": "nats"}
SEED = 20
_DROPPED = 0.05


@dataclass(frozen=True)
class Population:
    """Seventy-two cells drawn alike, scored under one reading of BDS.

    ``floor`` is the mean under shuffling, ``limit`` the 99th percentile of it: the score from which
    p < 0.01. ``vac`` is their concentration as the authors' scripts compute it.
    """

    concentration: float
    reading: str
    floor: float
    limit: float
    vac: float


def floors() -> list[dict[str, Any]]:
    """What BDS reads at n = 20 pictures a side when nothing differs, under both definitions.

    The divergence's floor is its closed form over 2n pictures, the distance's a mean over drawn pairs.
    """
    rng = np.random.default_rng(SEED)
    kinds: list[tuple[str, tuple[int, ...], float | None]] = [
        ("eight attributes, three equal values", (3,) * 8, None),
        ("eight attributes, five equal values", (5,) * 8, None),
        *((f"as in SODA, Dirichlet {a:g}", _VALUES, a) for a in _CONCENTRATIONS),
    ]
    rows = []
    for name, values, a in kinds:
        bits, nats = [], []
        for k in values:
            shares = rng.dirichlet(np.full(k, a), _DRAWS) if a is not None else np.full((_DRAWS, k), 1 / k)
            one, other = rng.multinomial(_N, shares), rng.multinomial(_N, shares)
            bits.append(expected_js(one + other, _N, _N).mean())
            nats.append(_distance(js_divergence(one, other)).mean())
        means = {"divergence, bits": float(np.mean(bits)), "distance, nats": float(np.mean(nats))}
        rows.append({"population": name, **means})
    return rows


@cache
def populations(mean: float) -> tuple[Population, ...]:
    """Populations of 72 cells whose mean BDS is ``mean``, under both readings of BDS."""
    made = []
    for reading in UNITS:
        for a in _CONCENTRATIONS:
            rng = np.random.default_rng(SEED)
            base = [rng.dirichlet(np.full(k, a), _CELLS) for k in _VALUES]
            cue = [rng.dirichlet(np.full(k, a), _CELLS) for k in _VALUES]
            share = _mixing(base, cue, reading, mean)
            made.append(_tested(base, _mixed(base, cue, share), reading, a))
    return tuple(made)


def _distance(bits: Floats) -> Floats:
    return np.sqrt(bits * math.log(2))


def _mixed(base: Sequence[Floats], cue: Sequence[Floats], share: float) -> list[Floats]:
    return [(1 - share) * p + share * q for p, q in zip(base, cue, strict=True)]


def _mixing(base: Sequence[Floats], cue: Sequence[Floats], reading: str, mean: float) -> float:
    """The share of another distribution in the cue's at which BDS is ``mean`` on average."""
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        rng = np.random.default_rng(SEED + 1)
        sides = [
            (rng.multinomial(_N, p), rng.multinomial(_N, q))
            for p, q in zip(base, _mixed(base, cue, middle), strict=True)
        ]
        scores = np.mean([_scored(js_divergence(p, q), reading) for p, q in sides])
        low, high = (middle, high) if scores < mean else (low, middle)
    return (low + high) / 2


def _scored(bits: Floats, reading: str) -> Floats:
    return bits if reading == "divergence" else _distance(bits)


def _tested(base: Sequence[Floats], cue: Sequence[Floats], reading: str, concentration: float) -> Population:
    """Draw 20 pictures a side in each cell and shuffle whole pictures."""
    rng = np.random.default_rng(SEED + 2)
    found = []
    for cell in range(_CELLS):
        hot = np.concatenate(
            [_pictures(p[cell], q[cell], rng) for p, q in zip(base, cue, strict=True)], axis=1
        )
        drawn = np.zeros((SHUFFLES + 1, 2 * _N))
        drawn[0, :_N] = 1
        at = rng.random((SHUFFLES, 2 * _N)).argsort(axis=1)[:, :_N]
        np.put_along_axis(drawn[1:], at, 1.0, axis=1)
        one = drawn @ hot
        scores = _bds(one, hot.sum(axis=0) - one, reading)
        found.append((scores[1:].mean(), np.quantile(scores[1:], 0.99), _concentration(one[0])))
    return Population(concentration, reading, *(float(x) for x in np.mean(found, axis=0)))


def _concentration(counts: Floats) -> float:
    """VAC of one condition by the released definition: over the values seen, scores under 0.05 dropped."""
    scores = []
    for part in _attributes(counts):
        k = max(int((part > 0).sum()), 1)
        scores.append(1.0 if k == 1 else 1 - float(entropy(part)) / math.log2(k))
    return float(np.mean([score for score in scores if score >= _DROPPED]))


def _pictures(p: Floats, q: Floats, rng: np.random.Generator) -> Floats:
    values = np.concatenate([rng.choice(len(p), _N, p=p), rng.choice(len(q), _N, p=q)])
    hot: Floats = np.eye(len(p))[values]
    return hot


def _bds(one: Floats, other: Floats, reading: str) -> Floats:
    pairs = zip(_attributes(one), _attributes(other), strict=True)
    mean: Floats = np.mean([_scored(js_divergence(p, q), reading) for p, q in pairs], axis=0)
    return mean


def _attributes(counts: Floats) -> list[Floats]:
    """Counts of the values of one attribute after the other."""
    return np.split(counts, np.cumsum(_VALUES)[:-1], axis=-1)
