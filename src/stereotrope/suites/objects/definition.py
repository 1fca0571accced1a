"""Which quantity the published BDS is: a divergence in bits, as the text says, or SciPy's distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from stereotrope.suites.check import AGREES, DIFFERS, NOT_GIVEN, FigureCheck
from stereotrope.suites.objects.matrix import listed, models, percent, table, three
from stereotrope.suites.objects.populations import SEED, SHUFFLES, UNITS, Population, floors, populations

__all__ = ["definitions"]

_SECTION = "Which definition the figures follow"


def definitions(figures: pl.DataFrame) -> list[FigureCheck]:
    """Table 3's bound, the floors, and the argument from the counts of Table 10."""
    return [*_bounds(figures), *_floors(), *_counts(figures)]


def _bounds(figures: pl.DataFrame) -> list[FigureCheck]:
    largest = math.sqrt(math.log(2))
    cds = figures.filter(table="3")
    above = cds.filter(pl.col("value") > largest)
    bds = figures.filter(table="11")["value"].to_numpy()
    return [
        FigureCheck(
            "table-3-bound",
            _SECTION,
            "Table 3 as the distance of the authors' scripts (SciPy, natural logarithm)",
            "values up to 1.000",
            f"at most √ln 2 = {largest:.4f}; {above.height} of {cds.height} values are above",
            DIFFERS,
            "So CDS is a divergence in bits (at most 1), or a distance in base 2; equation 2 says "
            "divergence. Only two distributions without a common value reach 1.",
            above.select("attribute", "object", "dimension", "value").to_dicts(),
        ),
        FigureCheck(
            "table-2-bound",
            _SECTION,
            "Tables 2 and 11 as that distance",
            f"{three(bds.min())} to {three(bds.max())}",
            f"within 0 to {largest:.4f}",
            AGREES,
            "The bound allows both readings of BDS, the divergence of equation 1 and the distance. The "
            "counts of Table 10 tell them apart, below.",
        ),
    ]


def _floors() -> list[FigureCheck]:
    rows = floors()
    low = min(r["divergence, bits"] for r in rows), max(r["divergence, bits"] for r in rows)
    high = min(r["distance, nats"] for r in rows), max(r["distance, nats"] for r in rows)
    return [
        FigureCheck(
            "floor",
            _SECTION,
            "BDS of 20 pictures against 20 of the same distribution, where the cue does nothing",
            "",
            f"{low[0]:.2f} to {low[1]:.2f} bits of divergence; {high[0]:.2f} to {high[1]:.2f} as a "
            "distance in nats",
            NOT_GIVEN,
            "Mean over eight attributes: divergence in closed form (stereotrope.stats.expected_js), "
            f"distance by simulation, seed {SEED}. The floor depends on how many values are in play, so "
            "it differs between models, and raw scores do not rank them.",
            [{k: (f"{v:.3f}" if isinstance(v, float) else v) for k, v in r.items()} for r in rows],
        )
    ]


def _counts(figures: pl.DataFrame) -> list[FigureCheck]:
    sdxl = table(figures.filter(generator="SDXL"), "11", ["generator", "object"], "group").ravel()
    mean = float(sdxl.mean())
    made = populations(mean)
    counts = {r: [int((sdxl > p.limit).sum()) for p in made if p.reading == r] for r in UNITS}
    details = [
        {
            "reading": p.reading,
            "Dirichlet": f"{p.concentration:g}",
            "VAC": f"{p.vac:.2f}",
            "floor": three(p.floor),
            "limit": three(p.limit),
            "of 72 above": int((sdxl > p.limit).sum()),
            "floor in mean": percent(p.floor / mean, 0),
        }
        for p in made
    ]
    argument = FigureCheck(
        "counts-argument",
        _SECTION,
        f"SDXL: 72 scores with mean {three(mean)} at n = 20, of which 18 are significant at p < 0.01",
        "18 of 72",
        f"{_span(counts['divergence'])} of 72 if they are divergences in bits, "
        f"{_span(counts['distance'])} if distances in nats",
        DIFFERS,
        "The 72 scores of Table 11 against the score from which 20 pictures a side give p < 0.01 (the "
        f"limit), in populations whose mean BDS is SDXL's ({SHUFFLES} shuffles of whole pictures, seed "
        f"{SEED}). In bits nearly every score would be significant; only as distances do the counts fit. "
        "So Tables 2 and 11 are hardly equation 1 but what the authors' scripts average. This infers it from "
        "made-up populations of one model: what other models' counts say stands below.",
        details,
    )
    return [argument, _implied(figures, made), _floor_share(figures, made, mean)]


def _implied(figures: pl.DataFrame, made: Sequence[Population]) -> FigureCheck:
    limits = _limits(figures)
    ranges = [[p.limit for p in made if p.reading == r] for r in UNITS]
    bits, nats = map(_ends, ranges)
    at = {row["model"]: float(row["about"]) for row in limits}
    as_nats = [m for m, limit in at.items() if limit >= round(min(ranges[1]), 2)]
    neither = [m for m, limit in at.items() if round(max(ranges[0]), 2) < limit < round(min(ranges[1]), 2)]
    return FigureCheck(
        "implied-limit",
        _SECTION,
        "The score from which a model's cells are significant, as Tables 10 and 11 imply it",
        "",
        ", ".join(f"{r['model']} {r['about']}" for r in limits),
        NOT_GIVEN,
        "If k of 72 cells are significant, the limit lies about between the k-th score and the next. In the "
        f"populations it is {bits} for a divergence in bits and {nats} for a distance. {listed(as_nats)} fit "
        f"a distance; {listed(neither)} lie between both, so that by these populations their counts do not "
        "tell. It is highest for the two models with the lowest VAC in Table 4: the floor differs between "
        "models, so raw scores do not rank them.",
        limits,
    )


def _floor_share(figures: pl.DataFrame, made: Sequence[Population], mean: float) -> FigureCheck:
    nats = [p for p in made if p.reading == "distance"]
    shares = [p.floor / mean for p in nats]
    alike = min(nats, key=lambda p: abs(p.vac - _vac(figures)["SDXL"])).floor / mean
    return FigureCheck(
        "sdxl-floor",
        _SECTION,
        f"How much of SDXL's mean BDS of {three(mean)} is noise floor, read as a distance",
        "",
        f"{percent(min(shares), 0)} to {percent(max(shares), 0)}; {percent(alike, 0)} in the population "
        "whose VAC is nearest to SDXL's",
        NOT_GIVEN,
        "Floor over mean BDS in the populations above. Most of what Table 2 gives for SDXL would be read if "
        "the cue did nothing.",
    )


def _span(counts: Sequence[int]) -> str:
    return f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else str(min(counts))


def _ends(values: Sequence[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


def _vac(figures: pl.DataFrame) -> dict[str, float]:
    four = figures.filter(pl.col("table") == "4", pl.col("object").is_null())
    return dict(four.select("generator", "value").iter_rows())


def _limits(figures: pl.DataFrame) -> list[dict[str, Any]]:
    scores = table(figures, "11", ["generator", "object"], "group").reshape(5, -1)
    names = models(figures, "11")
    ten = figures.filter(pl.col("table") == "10", pl.col("group").is_null())
    counts = dict(ten.select("generator", "value").iter_rows())
    vac = _vac(figures)
    rows = []
    for name, own in zip(names, scores, strict=True):
        k, down = int(counts[name]), np.sort(own)[::-1]
        between = f"{three(down[k])} and {three(down[k - 1])}"
        about = f"{(down[k] + down[k - 1]) / 2:.2f}"
        rows.append(
            {"model": name, "significant": k, "between": between, "about": about, "VAC": three(vac[name])}
        )
    return rows
