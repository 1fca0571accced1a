"""Made-up labels of whole audits: nothing planted, or shifts in some comparisons whose places are known."""

from __future__ import annotations

import json
from dataclasses import dataclass

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


def made_labels(made: Made, seed: int) -> tuple[pl.DataFrame, set[Place]]:
    """Tidy labels, and where something is planted. Attributes of a picture correlate at one half."""
    rng = np.random.default_rng(seed)
    groups = ["base", *(f"g{i}" for i in range(1, made.groups))]
    parts, planted = [], set[Place]()
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
    return pl.DataFrame(named).select(
        "generator", "object", "group", "attribute", "seed", pl.format("v{}", "value").alias("value"),
        image_id=pl.concat_str(condition, "number", separator=" "),
        prompt_id=pl.concat_str(condition, "prompt", separator=" "),
    ), planted  # fmt: skip


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
    scopes = ((json.loads(scope), attribute) for scope, attribute in told.iter_rows())
    return {(s["generator"], s["object"], s["group"], attribute) for s, attribute in scopes}
