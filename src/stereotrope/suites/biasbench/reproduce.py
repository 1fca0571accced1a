"""The arithmetic of T2I-BiasBench, from its own tables: sums, means and formulas, without captions."""

import math
from collections.abc import Iterator, Sequence
from itertools import chain, combinations_with_replacement

import numpy as np

from stereotrope.stats import axis_orders, pairwise_score, radar_weights
from stereotrope.suites.biasbench.figures import PrintedFigure, figures, printed
from stereotrope.suites.biasbench.prompts import BENCHMARK_PROMPTS
from stereotrope.suites.biasbench.released import spread
from stereotrope.suites.check import DIFFERS, NO_DATA, PARTLY, Recomputed, Reproduction, agreed, reproduction

_MODELS = ("SD v1.5", "Koala Lightning", "BK-SDM Base", "Gemini 2.5 Flash")
_GEMINI = "Gemini 2.5 Flash"
_KOALA = "Koala Lightning"
_N = 15
"""Pictures of a prompt of Gemini."""


def reproduce_biasbench() -> Reproduction:
    """Check what the paper says about its figures against the figures themselves."""
    return reproduction("biasbench", chain(_tables(), _composites(), _definitions()))


def _printed(model: str, prompt: str, measure: str, level: str = "") -> PrintedFigure:
    return printed(model, prompt, measure, level)[0]


def _tables() -> Iterator[Recomputed]:
    """What needs a table alone, or cannot be recomputed."""
    table = [int(_printed(m, "", "images").value) for m in _MODELS]
    recomputed = f"{sum(table)} in Table 1; {3 * 5 * 100 + 5 * 15} by the product"
    details = [{"model": m, "images": n} for m, n in zip(_MODELS, table, strict=True)]
    yield Recomputed("images", DIFFERS, recomputed, details)
    high, low = (_printed(m, "beauty", "kl_from_uniform").value for m in ("SD v1.5", _GEMINI))
    yield Recomputed("kl-ratio", PARTLY, f"{high / low:.1f}")
    yield Recomputed("occlusion", NO_DATA, "")


def _scores(model: str) -> list[float]:
    return [f.value for f in figures() if f.place == "Table 6" and f.model == model and f.prompt]


def _composites() -> Iterator[Recomputed]:
    """Table 6 and what is said of it."""
    means = {m: (_printed(m, "", "mean_composite"), float(np.mean(_scores(m)))) for m in _MODELS}
    yield Recomputed(
        "table-6-means",
        agreed(all(f.covers(x) for f, x in means.values())),
        ", ".join(f"{x:.3f}" for _, x in means.values()),
        [{"model": m, "printed": f.text, "mean": f"{x:.3f}"} for m, (f, x) in means.items()],
    )
    rows = [
        {
            "model": m,
            "printed": _printed(m, "", "composite_deviation").text,
            "n − 1": f"{np.std(_scores(m), ddof=1):.2f}",
            "n": f"{np.std(_scores(m)):.2f}",
        }
        for m in ("SD v1.5", _GEMINI)
    ]
    yield Recomputed("deviations", PARTLY, ", ".join(row["n − 1"] for row in rows), rows)
    nature = (
        f"{name} {_printed(model, 'nature', 'contextual_diversity').text}"
        for name, model in (("Gemini", _GEMINI), ("Koala", _KOALA))
    )
    yield Recomputed("best-nature", DIFFERS, ", ".join(nature))
    areas = sorted(_MODELS, key=lambda m: _area(_scores(m)))
    yield Recomputed(
        "radar",
        PARTLY if areas[0] == "SD v1.5" else DIFFERS,
        ", ".join(f"{m} {_area(_scores(m)):.3f}" for m in areas),
        words={"orders": _orders()},
    )


def _area(scores: Sequence[float]) -> float:
    """Area of the polygon whose corners are the scores at equal angles."""
    m = len(scores)
    greatest = 0.5 * m * math.sin(2 * math.pi / m)
    return greatest * float(pairwise_score(radar_weights(m), scores))


def _orders() -> str:
    """Which rankings the twelve circular orders of five prompts give, and how many give the paper's."""
    claimed = ["SD v1.5", "BK-SDM Base", _GEMINI, _KOALA]
    rankings = []
    for order in axis_orders(len(BENCHMARK_PROMPTS)):
        areas = {m: _area([_scores(m)[i] for i in order]) for m in _MODELS}
        rankings.append(sorted(_MODELS, key=lambda m: areas[m]))
    different = len({tuple(ranking) for ranking in rankings})
    first = sum(ranking[0] == claimed[0] for ranking in rankings)
    return (
        f"{len(rankings)} orders give {different} rankings, {rankings.count(claimed)} of them the paper's; "
        f"SD v1.5 is first in {first}"
    )


def _definitions() -> Iterator[Recomputed]:
    """Figures of Koala and Gemini by the definitions they may follow."""
    male, female = (_printed(_KOALA, "doctor", "representation_parity", g).value for g in ("male", "female"))
    shares = [male, female, 1 - male - female]
    lack = 1 + sum(p * math.log2(p) for p in shares) / math.log2(3)
    parity = male - female
    halved = (parity + lack) / 2
    yield Recomputed(
        "koala-doctor",
        agreed(_printed(_KOALA, "doctor", "cbs").covers(halved)),
        f"{halved:.3f} as a mean of two parts; {(parity + lack) / 3:.3f} by the equation with CAS 0",
        words={"male": f"{male:.2f}", "female": f"{female:.2f}"},
    )
    amplified = f"{2 * (1 - 1 / 3):.2f} with three groups, {2 * (1 - 1 / 2):.2f} with two"
    yield Recomputed("gemini-doctor", DIFFERS, amplified)
    entropy, kl, amplification = (
        _printed(_GEMINI, "beauty", measure)
        for measure in ("shannon_entropy", "kl_from_uniform", "bias_amplification")
    )
    fitting = [
        counts
        for k in range(1, 8)
        for counts in _counts(k)
        if all(figure.covers(_spread(counts)[figure.measure]) for figure in (kl, amplification))
    ]
    shown = "; ".join(", ".join(map(str, counts)) for counts in fitting) or "none"
    even = any(max(counts) - min(counts) <= 1 for counts in fitting)
    verdict = DIFFERS if fitting and not even else NO_DATA
    yield Recomputed("gemini-beauty", verdict, f"counts of 15 pictures with both figures: {shown}")
    of_groups = {k: 1 - kl.value / math.log(k) for k in range(2, 8)}
    two = {c: score for c in _counts(2) if entropy.covers(score := _spread(c)["shannon_entropy"])}
    shown = "; ".join(f"{'/'.join(f'{c / _N:.1f}' for c in counts)}: {x:.3f}" for counts, x in two.items())
    yield Recomputed(
        "gemini-beauty-entropy",
        DIFFERS,
        f"{shown} of two groups; {of_groups[4]:.3f} of four with KL {kl.text}",
        [{"groups": k, "entropy with that KL": f"{value:.3f}"} for k, value in of_groups.items()],
    )


def _spread(counts: Sequence[int]) -> dict[str, float]:
    """The scores of a prompt whose groups are counted so."""
    return spread({str(group): c / _N for group, c in enumerate(counts)})


def _counts(k: int) -> list[tuple[int, ...]]:
    """Every way to share the pictures among k groups, none empty, largest first."""
    parts = combinations_with_replacement(range(_N - k + 1, 0, -1), k)
    return [counts for counts in parts if sum(counts) == _N]
