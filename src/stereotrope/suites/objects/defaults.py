"""Whom the prompt without a cue stands for: every sentence of section 5.1 that ranks groups."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl

from stereotrope.stats import spearman
from stereotrope.suites.check import AGREES, DIFFERS, OPEN_VERDICT, PARTLY, FigureCheck
from stereotrope.suites.objects.matrix import Floats, listed, models, table, three

__all__ = ["defaults"]

_SECTION = "Implicit defaults (section 5.1)"
_NEAR = 0.001
"""A mean of figures rounded to 0.001 is known to ± 0.0005: smaller differences of two are not resolved."""


def defaults(figures: pl.DataFrame) -> list[FigureCheck]:
    """Ranks of the groups, and the agreement of the rankings."""
    names = figures.filter(table="11")["group"].unique(maintain_order=True).to_list()
    every = table(figures, "11", ["generator", "object"], "group").reshape(5, 8, 9)
    means = every.mean(axis=1)
    order = {m: np.argsort(means[i]) for i, m in enumerate(models(figures, "11"))}
    lowest = {m: [names[j] for j in o[:3]] for m, o in order.items()}
    details = [
        {
            "model": m,
            **{f"place {p + 1}": f"{names[j]} {means[i, j]:.4f}" for p, j in enumerate(order[m][:3])},
        }
        for i, m in enumerate(order)
    ]
    gaps = {m: means[i, order[m][2]] - means[i, order[m][1]] for i, m in enumerate(order)}
    return [
        _middle_aged(lowest, gaps, details),
        _white(lowest),
        _subset(lowest),
        _overall(means.mean(axis=0), names),
        _figure_3(figures),
        _agreement(every),
    ]


def _middle_aged(
    lowest: dict[str, list[str]], gaps: dict[str, float], details: list[dict[str, str]]
) -> FigureCheck:
    within = [m for m, groups in lowest.items() if "middle-aged" in groups[:2]]
    close = [m for m in within if lowest[m][1] == "middle-aged" and gaps[m] < _NEAR]
    note = "".join(
        f" In {m} second place is {gaps[m]:.4f} ahead of {lowest[m][2]}, less than the rounding of the "
        "tables resolves; Table 2 prints both alike."
        for m in close
    )
    return FigureCheck(
        "middle-aged-default",
        _SECTION,
        "Middle-aged is among the two groups nearest to the baseline in all five models",
        "5 of 5 models",
        f"{len(within)} of 5 models",
        AGREES if len(within) == 5 else DIFFERS,
        f"Means over eight objects of Table 11, ranked within a model.{note}",
        details,
    )


def _white(lowest: dict[str, list[str]]) -> FigureCheck:
    within = [m for m, groups in lowest.items() if "White people" in groups[:2]]
    claimed = ["GPT Image-1", "Imagen 4", "FLUX 2 Pro"]
    return FigureCheck(
        "white-default",
        _SECTION,
        "White is among the two nearest for GPT, Imagen and Flux",
        listed(claimed),
        listed(within),
        AGREES if set(within) == set(claimed) else DIFFERS,
        "The same ranks. In the other two models, Qwen Image and SDXL, it is not.",
    )


def _subset(lowest: dict[str, list[str]]) -> FigureCheck:
    first = {m: groups[0] for m, groups in lowest.items()}
    fits = set(first.values()) <= {"middle-aged", "White people", "men"}
    men = [m for m, g in first.items() if g == "men"]
    every = [m for m, groups in lowest.items() if set(groups) == {"middle-aged", "White people", "men"}]
    return FigureCheck(
        "nearest-group",
        _SECTION,
        "Every baseline is nearest to Middle-aged, White or Men; Qwen and SDXL to Men",
        "5 of 5; Qwen, SDXL",
        f"{'5 of 5' if fits else 'not all'}; {listed(men)}",
        AGREES if fits and men == ["Qwen Image", "SDXL"] else DIFFERS,
        f"The nearest group of each model: {', '.join(f'{m} {g}' for m, g in first.items())}. "
        f"{listed(every)} has all three as its three nearest groups.",
    )


def _overall(means: Floats, names: list[str]) -> FigureCheck:
    order = np.argsort(means)
    ends = [names[i] for i in (*order[:2], *order[::-1][:3])]
    fits = ends == ["middle-aged", "White people", "elderly", "women", "Latinx people"]
    return FigureCheck(
        "overall-order",
        _SECTION,
        "Over all models Middle-aged and White are lowest; Elderly, Women and Latinx highest",
        "0.222, 0.234; 0.302, 0.295, 0.291",
        ", ".join(three(means[i]) for i in order[:2])
        + "; "
        + ", ".join(three(means[i]) for i in order[::-1][:3]),
        AGREES if fits else DIFFERS,
        "Means over 40 pairs of model and object. Raw means: the noise floor differs between models and "
        "groups and is not taken off.",
    )


def _figure_3(figures: pl.DataFrame) -> FigureCheck:
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
    return FigureCheck(
        "figure-3",
        _SECTION,
        "The six scores printed in Figure 3",
        "Qwen sofa, Black: 0.387",
        "; ".join(f"{d['model']} {d['object']}, {d['group']}: {three(d['Table 11'])}" for d in off)
        or "the same",
        PARTLY if off else AGREES,
        f"{6 - len(off)} of 6 are in Table 11. For the sofa of Qwen Image, 0.387 is the score of Asian "
        "people; Black people have 0.383.",
        details,
    )


def _agreement(every: Floats) -> FigureCheck:
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
    return FigureCheck(
        "rank-agreement",
        _SECTION,
        "The default is robust across models and objects, ρ = 0.37 ± 0.30",
        "0.37 ± 0.30",
        f"{low:.2f} to {high:.2f} between objects within a model; {near.mean():.2f} ± "
        f"{near.std():.2f} after averaging over models",
        OPEN_VERDICT,
        "The paper does not say which rankings are paired, nor what ± is. No reading of Table 11 gives "
        "exactly 0.37 ± 0.30; the nearest averages the models first, which hides that they disagree.",
        details,
    )


def _pairs(rows: Floats) -> Floats:
    return np.array([spearman(a, b) for a, b in combinations(rows, 2)])
