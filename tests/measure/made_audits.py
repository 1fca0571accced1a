"""Made-up labels of whole audits: nothing planted, or shifts in some comparisons whose places are known."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.stats import norm

Place = tuple[str, str, str, str]
"""Model, object, group, attribute."""


@dataclass(frozen=True)
class Made:
    """Sizes of an audit, how its pictures depend on one another, and how much is planted.

    planted, shift: Part of the comparisons in which one value's share grows, and by how much.
    prompts, icc: Prompts of each condition, and correlation of what is drawn (before it is cut into values)
        within one.
    seeds: Correlation of the pictures that groups, and prompts of a condition, draw from one seed.
    values: Least and greatest number of values of an attribute.
    concentration: Parameter of the Dirichlet distribution that their shares are from.
    """

    n: int = 20
    models: int = 5
    objects: int = 8
    groups: int = 10
    attributes: int = 8
    planted: float = 0.0
    shift: float = 0.5
    prompts: int = 1
    icc: float = 0.0
    seeds: float = 0.0
    values: tuple[int, int] = (2, 8)
    concentration: float = 1.0


class MadeAudit(NamedTuple):
    """Labels of an audit and what is true of it.

    planted: Where a share differs from the baseline's.
    shares: Of each value, by place; what prompts without end would show.
    """

    labels: pl.DataFrame
    planted: set[Place]
    shares: dict[Place, np.ndarray]

    def difference(self, place: Place, value: str) -> float:
        """How much more often a value (``v0`` …) is truly seen in a place than in the baseline."""
        model, thing, _, attribute = place
        both = self.shares[place], self.shares[model, thing, "base", attribute]
        here, base = (of[int(value.removeprefix("v"))] for of in both)
        return float(here - base)


def made_labels(made: Made, seed: int) -> tuple[pl.DataFrame, set[Place]]:
    """Tidy labels, and where something is planted."""
    return made_audit(made, seed)[:2]


def made_audit(made: Made, seed: int) -> MadeAudit:
    """A made-up audit. Attributes of a picture correlate at one half."""
    rng = np.random.default_rng(seed)
    groups = ["base", *(f"g{i}" for i in range(1, made.groups))]
    parts, planted, true = [], set[Place](), dict[Place, np.ndarray]()
    each = made.n // made.prompts
    prompt, drawn_by = np.divmod(np.arange(made.n), each)
    for m in range(made.models):
        for o in range(made.objects):
            sizes = rng.integers(made.values[0], made.values[1] + 1, made.attributes)
            shares = [rng.dirichlet(np.full(k, made.concentration)) for k in sizes]
            of_seed = rng.normal(size=(each, made.attributes))[drawn_by]
            for group in groups:
                drawn = np.sqrt(0.5) * rng.normal(size=(made.n, 1))
                drawn = drawn + np.sqrt(0.5) * rng.normal(size=(made.n, made.attributes))
                drawn = np.sqrt(made.seeds) * of_seed + np.sqrt(1 - made.seeds) * drawn
                of_prompt = rng.normal(size=(made.prompts, made.attributes))[prompt]
                drawn = np.sqrt(made.icc) * of_prompt + np.sqrt(1 - made.icc) * drawn
                for a, share in enumerate(shares):
                    if group != "base" and rng.random() < made.planted:
                        share = _shifted(share, made.shift, rng)
                        planted.add((f"m{m}", f"o{o}", group, f"a{a}"))
                    true[f"m{m}", f"o{o}", group, f"a{a}"] = share
                    cuts = norm.ppf(np.clip(np.cumsum(share)[:-1], 0, 1))
                    parts.append((m, o, group, a, np.searchsorted(cuts, drawn[:, a])))
    n = made.n
    named = {
        "generator": np.repeat([f"m{m}" for m, *_ in parts], n),
        "object": np.repeat([f"o{o}" for _, o, *_ in parts], n),
        "group": np.repeat([group for _, _, group, *_ in parts], n),
        "attribute": np.repeat([f"a{a}" for *_, a, _ in parts], n),
        "value": np.concatenate([values for *_, values in parts]),
        "number": np.tile(np.arange(n), len(parts)),
        "prompt": np.tile(prompt, len(parts)),
        "seed": np.tile(drawn_by, len(parts)),
    }
    condition = pl.concat_str("generator", "object", "group", separator=" ")
    labels = pl.DataFrame(named).select(
        "generator", "object", "group", "attribute", "seed", pl.format("v{}", "value").alias("value"),
        image_id=pl.concat_str(condition, "number", separator=" "),
        prompt_id=pl.concat_str(condition, "prompt", separator=" "),
    )  # fmt: skip
    return MadeAudit(labels, planted, true)


def _shifted(share: np.ndarray, shift: float, rng: np.random.Generator) -> np.ndarray:
    """One value's share is ``shift`` larger, those of the others smaller in proportion."""
    able = np.flatnonzero(share <= 1 - shift)
    value = rng.choice(able) if len(able) else int(np.argmin(share))
    more = min(1.0, share[value] + shift)
    changed = share * (1 - more) / (1 - share[value])
    changed[value] = more
    return changed


def listed(found: pl.DataFrame) -> set[Place]:
    """Where findings tell of a difference."""
    told = found.filter(list="difference").select("scope", "attribute")
    return {place_of(*row) for row in told.iter_rows()}


def place_of(scope: str, attribute: str) -> Place:
    """The place that a finding's scope and attribute name."""
    s = json.loads(scope)
    return s["generator"], s["object"], s["group"], attribute
