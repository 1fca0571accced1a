"""Whom the prompt without a cue stands for: every sentence of section 5.1 that ranks groups."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import polars as pl

from stereotrope.report.prose import listing
from stereotrope.stats import spearman
from stereotrope.stats.arrays import Floats
from stereotrope.suites.check import AGREES, NO_DATA, PARTLY, Recomputed, agreed
from stereotrope.suites.objects.matrix import models, table, three

_NEAR = 0.001
"""A mean of figures rounded to 0.001 is known to ± 0.0005: smaller differences of two are not resolved."""


def defaults(figures: pl.DataFrame) -> Iterator[Recomputed]:
    """Ranks of the groups, and the agreement of the rankings."""
    groups = figures.filter(table="11")["group"].unique(maintain_order=True).to_list()
    every = table(figures, "11", ["generator", "object"], "group").reshape(5, 8, 9)
    means = every.mean(axis=1)
    order = {m: np.argsort(means[i]) for i, m in enumerate(models(figures, "11"))}
    lowest = {m: [groups[j] for j in o[:3]] for m, o in order.items()}
    details = [
        {
            "model": m,
            **{f"place {p + 1}": f"{groups[j]} {means[i, j]:.4f}" for p, j in enumerate(order[m][:3])},
        }
        for i, m in enumerate(order)
    ]
    gaps = {m: means[i, order[m][2]] - means[i, order[m][1]] for i, m in enumerate(order)}
    yield _middle_aged(lowest, gaps, details)
    white = [m for m, nearest in lowest.items() if "White people" in nearest[:2]]
    claimed = {"GPT Image-1", "Imagen 4", "FLUX 2 Pro"}
    yield Recomputed("white-default", agreed(set(white) == claimed), listing(white))
    yield _nearest(lowest)
    overall = means.mean(axis=0)
    low, high = np.argsort(overall)[:2], np.argsort(overall)[::-1][:3]
    fits = [groups[i] for i in (*low, *high)] == [
        "middle-aged", "White people", "elderly", "women", "Latinx people"
    ]  # fmt: skip
    recomputed = "; ".join(", ".join(three(overall[i]) for i in end) for end in (low, high))
    yield Recomputed("overall-order", agreed(fits), recomputed)
    yield _figure_3(figures)
    yield _agreement(every)


def _middle_aged(
    lowest: dict[str, list[str]], gaps: dict[str, float], details: list[dict[str, str]]
) -> Recomputed:
    within = [m for m, groups in lowest.items() if "middle-aged" in groups[:2]]
    close = [m for m in within if lowest[m][1] == "middle-aged" and gaps[m] < _NEAR]
    note = "".join(
        f" In {m} second place is {gaps[m]:.4f} ahead of {lowest[m][2]}, less than the rounding of the "
        "tables resolves; Table 2 prints both alike."
        for m in close
    )
    holds, recomputed = len(within) == 5, f"{len(within)} of 5 models"
    return Recomputed("middle-aged-default", agreed(holds), recomputed, details, {"note": note})


def _nearest(lowest: dict[str, list[str]]) -> Recomputed:
    three_groups = {"middle-aged", "White people", "men"}
    first = {m: groups[0] for m, groups in lowest.items()}
    fits = set(first.values()) <= three_groups
    men = [m for m, g in first.items() if g == "men"]
    every = [m for m, groups in lowest.items() if set(groups) == three_groups]
    return Recomputed(
        "nearest-group",
        agreed(fits and men == ["Qwen Image", "SDXL"]),
        f"{'5 of 5' if fits else 'not all'}; {listing(men)}",
        words={"nearest": ", ".join(f"{m} {g}" for m, g in first.items()), "all_three": listing(every)},
    )


def _figure_3(figures: pl.DataFrame) -> Recomputed:
    shown = [
        ("GPT Image-1", "car", "middle-aged", 0.234), ("GPT Image-1", "car", "Latinx people", 0.460),
        ("FLUX 2 Pro", "clock", "White people", 0.160), ("FLUX 2 Pro", "clock", "elderly", 0.518),
        ("Qwen Image", "sofa", "men", 0.215), ("Qwen Image", "sofa", "Black people", 0.387),
    ]  # fmt: skip
    eleven = figures.filter(table="11")
    details = []
    for model, thing, group, value in shown:
        cell = eleven.filter(generator=model, object=thing, group=group)["value"].item()
        details.append({"model": model, "object": thing, "group": group, "Figure 3": value, "Table 11": cell})
    off = [d for d in details if abs(d["Figure 3"] - d["Table 11"]) > 1e-9]
    recomputed = "; ".join(f"{d['model']} {d['object']}, {d['group']}: {three(d['Table 11'])}" for d in off)
    verdict = PARTLY if off else AGREES
    return Recomputed("figure-3", verdict, recomputed or "the same", details, {"same": 6 - len(off)})


def _agreement(every: Floats) -> Recomputed:
    """``0.37 ± 0.30``, and every reading of it that Table 11 allows."""
    within = [_pairs(every[m]) for m in range(5)]
    readings = {
        "objects within a model, all models": np.concatenate(within),
        "objects, averaged over models": _pairs(every.mean(axis=0)),
        "models, averaged over objects": _pairs(every.mean(axis=1)),
        "all pairs of model and object": _pairs(every.reshape(40, 9)),
    }
    details = [
        {"pairs of rankings": name, "pairs": len(r), "mean ρ": three(r.mean()), "SD": three(r.std())}
        for name, r in readings.items()
    ]
    low, high = min(r.mean() for r in within), max(r.mean() for r in within)
    near = readings["objects, averaged over models"]
    recomputed = (
        f"{low:.2f} to {high:.2f} between objects within a model; {near.mean():.2f} ± {near.std():.2f} after "
        "averaging over models"
    )
    return Recomputed("rank-agreement", NO_DATA, recomputed, details)


def _pairs(rows: Floats) -> Floats:
    return np.array([spearman(a, b) for a, b in combinations(rows, 2)])
