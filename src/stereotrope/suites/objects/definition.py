"""Which quantity the published BDS is: a divergence in bits, as the text says, or SciPy's distance."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from stereotrope.report.prose import listing
from stereotrope.suites.check import AGREES, DIFFERS, NOT_GIVEN, Recomputed
from stereotrope.suites.objects.matrix import models, percent, table, three
from stereotrope.suites.objects.populations import SEED, SHUFFLES, UNITS, Population, floors, populations


def definitions(figures: pl.DataFrame) -> Iterator[Recomputed]:
    """Table 3's bound, the floors, and the argument from the counts of Table 10."""
    largest = math.sqrt(math.log(2))
    cds = figures.filter(table="3")
    above = cds.filter(pl.col("value") > largest)
    yield Recomputed(
        "table-3-bound",
        DIFFERS,
        f"at most √ln 2 = {largest:.4f}; {above.height} of {cds.height} values are above",
        above.select("attribute", "object", "dimension", "value").to_dicts(),
    )
    yield Recomputed("table-2-bound", AGREES, f"within 0 to {largest:.4f}")
    rows = floors()
    bits, nats = ([r[name] for r in rows] for name in ("divergence, bits", "distance, nats"))
    yield Recomputed(
        "floor",
        NOT_GIVEN,
        f"{_ends(bits)} bits of divergence; {_ends(nats)} as a distance in nats",
        [{k: (f"{v:.3f}" if isinstance(v, float) else v) for k, v in r.items()} for r in rows],
        {"seed": SEED},
    )
    yield from _counts(figures)


def _counts(figures: pl.DataFrame) -> Iterator[Recomputed]:
    sdxl = table(figures.filter(generator="SDXL"), "11", ["generator", "object"], "group").ravel()
    mean = float(sdxl.mean())
    made = populations(mean)
    above = {p: int((sdxl > p.limit).sum()) for p in made}
    counts = {r: [n for p, n in above.items() if p.reading == r] for r in UNITS}
    details = [
        {
            "reading": p.reading,
            "Dirichlet": f"{p.concentration:g}",
            "VAC": f"{p.vac:.2f}",
            "floor": three(p.floor),
            "limit": three(p.limit),
            "of 72 above": n,
            "floor in mean": percent(p.floor / mean, 0),
        }
        for p, n in above.items()
    ]
    yield Recomputed(
        "counts-argument",
        DIFFERS,
        f"{_span(counts['divergence'])} of 72 if they are divergences in bits, "
        f"{_span(counts['distance'])} if distances in nats",
        details,
        {"shuffles": SHUFFLES, "seed": SEED},
    )
    yield _implied(figures, made)
    nats = [p for p in made if p.reading == "distance"]
    shares = [p.floor / mean for p in nats]
    alike = min(nats, key=lambda p: abs(p.vac - _vac(figures)["SDXL"])).floor / mean
    yield Recomputed(
        "sdxl-floor",
        NOT_GIVEN,
        f"{percent(min(shares), 0)} to {percent(max(shares), 0)}; {percent(alike, 0)} in the population "
        "whose VAC is nearest to SDXL's",
    )


def _implied(figures: pl.DataFrame, made: Sequence[Population]) -> Recomputed:
    scores = table(figures, "11", ["generator", "object"], "group").reshape(5, -1)
    ten = figures.filter(pl.col("table") == "10", pl.col("group").is_null())
    counts, vac = dict(ten.select("generator", "value").iter_rows()), _vac(figures)
    limits: list[dict[str, Any]] = []
    for name, own in zip(models(figures, "11"), scores, strict=True):
        k, down = int(counts[name]), np.sort(own)[::-1]
        between = f"{three(down[k])} and {three(down[k - 1])}"
        about = f"{(down[k] + down[k - 1]) / 2:.2f}"
        limits.append(
            {"model": name, "significant": k, "between": between, "about": about, "VAC": three(vac[name])}
        )
    ranges = [[p.limit for p in made if p.reading == r] for r in UNITS]
    at = {row["model"]: float(row["about"]) for row in limits}
    bits, nats = round(max(ranges[0]), 2), round(min(ranges[1]), 2)
    words = {
        "bits": _ends(ranges[0]),
        "nats": _ends(ranges[1]),
        "fit": listing([m for m, limit in at.items() if limit >= nats]),
        "neither": listing([m for m, limit in at.items() if bits < limit < nats]),
    }
    recomputed = ", ".join(f"{r['model']} {r['about']}" for r in limits)
    return Recomputed("implied-limit", NOT_GIVEN, recomputed, limits, words)


def _span(counts: Sequence[int]) -> str:
    return f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else str(min(counts))


def _ends(values: Sequence[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


def _vac(figures: pl.DataFrame) -> dict[str, float]:
    four = figures.filter(pl.col("table") == "4", pl.col("object").is_null())
    return dict(four.select("generator", "value").iter_rows())
