"""What the paper's own figures give: sums, means and formulas, without any caption."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stereotrope.stats import axis_orders, pairwise_score, radar_weights
from stereotrope.suites.biasbench.figures import PrintedFigure, figures, printed
from stereotrope.suites.biasbench.prompts import BENCHMARK_PROMPTS
from stereotrope.suites.check import AGREES, DIFFERS, OPEN_VERDICT, PARTLY, FigureCheck

__all__ = ["arithmetic"]

_MODELS = ("SD v1.5", "Koala Lightning", "BK-SDM Base", "Gemini 2.5 Flash")
_GEMINI = "Gemini 2.5 Flash"
_KOALA = "Koala Lightning"


def arithmetic() -> list[FigureCheck]:
    """Every check the printed figures allow."""
    return [*_images(), *_composites(), *_definitions()]


def _one(model: str, prompt: str, measure: str, level: str = "") -> PrintedFigure:
    return printed(model, prompt, measure, level)[0]


def _images() -> list[FigureCheck]:
    section = "Images"
    told = int(_one("", "", "images").value)
    table = [int(_one(m, "", "images").value) for m in _MODELS]
    design = 3 * 5 * 100 + 5 * 15
    return [
        FigureCheck(
            "images",
            section,
            "1574 images: the sum of Table 1, and 3 × 5 × 100 + 1 × 5 × 15 (section 3.1)",
            str(told),
            f"{sum(table)} in Table 1; {design} by the product",
            DIFFERS,
            "Neither gives the number. Table 1 counts captions that could be read: in the released files the "
            "four missing of SD v1.5 are of Culture, the one of BK-SDM was likely taken for a header. With "
            "500 of SD v1.5, the images that were asked for, instead of 496 the table's sum is 1574.",
            [{"model": m, "images": n} for m, n in zip(_MODELS, table, strict=True)],
        )
    ]


def _scores(model: str) -> list[float]:
    return [f.value for f in figures() if f.place == "Table 6" and f.model == model and f.prompt]


def _composites() -> list[FigureCheck]:
    section = "Composite scores (Table 6)"
    means = {m: (_one(m, "", "mean_composite"), float(np.mean(_scores(m)))) for m in _MODELS}
    spread = {m: _one(m, "", "composite_deviation") for m in ("SD v1.5", _GEMINI)}
    rows = [
        {
            "model": m,
            "printed": f.text,
            "n − 1": _two(np.std(_scores(m), ddof=1)),
            "n": _two(np.std(_scores(m))),
        }
        for m, f in spread.items()
    ]
    areas = sorted(_MODELS, key=lambda m: _area(_scores(m)))
    return [
        FigureCheck(
            "table-6-means",
            section,
            "Mean of the five scores of each model",
            ", ".join(f.text for f, _ in means.values()),
            ", ".join(f"{x:.3f}" for _, x in means.values()),
            AGREES if all(f.covers(x) for f, x in means.values()) else DIFFERS,
            "Means of CBS and of the contextual score together, though they measure different things: three "
            "are of people, two of animals and insects.",
            [{"model": m, "printed": f.text, "mean": f"{x:.3f}"} for m, (f, x) in means.items()],
        ),
        FigureCheck(
            "deviations",
            section,
            "Standard deviation over prompts: 0.23 for SD v1.5, 0.32 for Gemini",
            ", ".join(f.text for f in spread.values()),
            ", ".join(str(row["n − 1"]) for row in rows),
            PARTLY,
            "0.23 is the deviation with n − 1. With either divisor Gemini's is not 0.32, and rounding of the "
            "five scores does not make up for it.",
            rows,
        ),
        FigureCheck(
            "best-nature",
            section,
            "Best model of Nature: Gemini and Koala",
            "Gemini/Koala",
            f"Gemini {_one(_GEMINI, 'nature', 'contextual_diversity').text}, "
            f"Koala {_one(_KOALA, 'nature', 'contextual_diversity').text}",
            DIFFERS,
            "Read off the same table: 0.20 is lower than 0.23.",
        ),
        FigureCheck(
            "radar",
            section,
            "Area of the radar: SD v1.5 < BK-SDM < Gemini, about as large as Koala (equation 28)",
            "SD, BK-SDM, Gemini, Koala",
            ", ".join(f"{m} {_area(_scores(m)):.3f}" for m in areas),
            PARTLY if areas[0] == "SD v1.5" else DIFFERS,
            "Area of the five scores as a polygon in the order of Table 6. The ranking depends on that "
            f"order, which has no meaning: {_orders()}.",
        ),
    ]


def _area(scores: Sequence[float]) -> float:
    """Area of the polygon whose corners are the scores at equal angles."""
    m = len(scores)
    greatest = 0.5 * m * math.sin(2 * math.pi / m)
    return greatest * float(pairwise_score(radar_weights(m), scores))


def _orders() -> str:
    """Which rankings the twelve circular orders of five prompts give, and how many give the paper's."""
    told = ["SD v1.5", "BK-SDM Base", _GEMINI, _KOALA]
    rankings = []
    for order in axis_orders(len(BENCHMARK_PROMPTS)):
        areas = {m: _area([_scores(m)[i] for i in order]) for m in _MODELS}
        rankings.append(sorted(_MODELS, key=lambda m: areas[m]))
    different = len({tuple(ranking) for ranking in rankings})
    first = sum(ranking[0] == told[0] for ranking in rankings)
    return (
        f"{len(rankings)} orders give {different} rankings, {rankings.count(told)} of them the paper's; "
        f"SD v1.5 is first in {first}"
    )


def _two(value: Any) -> str:
    return f"{float(value):.2f}"


def _definitions() -> list[FigureCheck]:
    section = "Which definition the figures follow"
    return [
        _koala(section),
        _gemini_doctor(section),
        _gemini_beauty(section),
        _gemini_entropy(section),
        _ratio(section),
        _vaop(section),
    ]


def _koala(section: str) -> FigureCheck:
    male, female = (_one(_KOALA, "doctor", "representation_parity", g).value for g in ("male", "female"))
    shares = [male, female, 1 - male - female]
    lack = 1 + sum(p * math.log2(p) for p in shares) / math.log2(3)
    parity = male - female
    figure = _one(_KOALA, "doctor", "cbs")
    halved = (parity + lack) / 2
    return FigureCheck(
        "koala-doctor",
        section,
        "CBS of Koala, Doctor, by equation 23",
        figure.text,
        f"{halved:.3f} as a mean of two parts; {(parity + lack) / 3:.3f} by the equation with CAS 0",
        AGREES if figure.covers(halved) else DIFFERS,
        f"From its shares ({male:.2f} male, {female:.2f} female, the rest unknown). No stereotype "
        "terms are given for Doctor, so CAS is 0 or left out; the figure is the mean of the other two parts.",
    )


def _gemini_doctor(section: str) -> FigureCheck:
    return FigureCheck(
        "gemini-doctor",
        section,
        "Bias amplification 0.00 of Gemini, Doctor, where all pictures are female",
        _one(_GEMINI, "doctor", "bias_amplification").text,
        f"{2 * (1 - 1 / 3):.2f} with three groups, {2 * (1 - 1 / 2):.2f} with two",
        DIFFERS,
        "Equation 9 is largest where one group takes all. The released scripts count only groups seen: with "
        "one, they give 0, the value of perfect balance.",
    )


def _gemini_beauty(section: str) -> FigureCheck:
    kl = _one(_GEMINI, "beauty", "kl_from_uniform")
    ba = printed(_GEMINI, "beauty", "bias_amplification")[0]
    found = [c for k in range(1, 8) for c in _counts(15, k) if _fits(c, kl, ba)]
    shown = "; ".join(", ".join(map(str, counts)) for counts in found) or "none"
    even = [max(counts) - min(counts) <= 1 for counts in found]
    return FigureCheck(
        "gemini-beauty",
        section,
        "Gemini, Beauty: an equal split of four groups, with KL 0.063 and bias amplification 0.33 (Table 4)",
        "equal",
        f"counts of 15 pictures with both figures: {shown}",
        DIFFERS if found and not any(even) else OPEN_VERDICT,
        "All ways to share 15 pictures among up to seven groups, by the released definitions (groups seen, "
        "nats). An equal split would give KL near 0.",
    )


def _gemini_entropy(section: str) -> FigureCheck:
    figure, kl = _one(_GEMINI, "beauty", "shannon_entropy"), _one(_GEMINI, "beauty", "kl_from_uniform")
    n = 15
    groups = [(k, 1 - kl.value / math.log(k)) for k in range(2, 8)]
    two = [c for c in _counts(n, 2) if figure.covers(_evenness(c))]
    return FigureCheck(
        "gemini-beauty-entropy",
        section,
        "Gemini, Beauty: entropy 0.97 of ethnic groups (section 4.3)",
        figure.text,
        "; ".join(f"{'/'.join(f'{c / n:.1f}' for c in counts)}: {_evenness(counts):.3f}" for counts in two)
        + f" of two groups; {dict(groups)[4]:.3f} of four with KL {kl.text}",
        DIFFERS,
        "With KL 0.063 the entropy of four groups seen is 0.955. 0.971 is the entropy of two groups with 9 "
        "and 6 of 15 pictures: the skin tones that Gemini's captions of Beauty name, not ethnic groups.",
        [{"groups": k, "entropy with that KL": f"{entropy:.3f}"} for k, entropy in groups],
    )


def _evenness(counts: Sequence[int]) -> float:
    shares = [c / sum(counts) for c in counts]
    return -sum(p * math.log(p) for p in shares) / math.log(len(shares))


def _fits(counts: Sequence[int], kl: PrintedFigure, ba: PrintedFigure) -> bool:
    n, k = sum(counts), len(counts)
    shares = [c / n for c in counts]
    divergence = sum(p * math.log(p * k) for p in shares)
    return kl.covers(divergence) and ba.covers(sum(abs(p - 1 / k) for p in shares))


def _counts(n: int, k: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """Every way to share n among k groups, none empty, largest first."""
    most = n if most is None else most
    if k == 1:
        if 0 < n <= most:
            yield (n,)
        return
    for first in range(min(n - k + 1, most), 0, -1):
        for rest in _counts(n - first, k - 1, first):
            yield (first, *rest)


def _ratio(section: str) -> FigureCheck:
    high, low = (_one(m, "beauty", "kl_from_uniform").value for m in ("SD v1.5", _GEMINI))
    return FigureCheck(
        "kl-ratio",
        section,
        "KL divergence of SD v1.5, Beauty, about 12 times Gemini's",
        "12.1",
        f"{high / low:.1f}",
        PARTLY,
        "The quotient agrees, but the two are divergences from different distributions: the released k is "
        "the number of groups seen, five in SD v1.5 and four in Gemini. Over 100 and over 15 pictures their "
        "upward bias differs too.",
    )


def _vaop(section: str) -> FigureCheck:
    return FigureCheck(
        "occlusion",
        section,
        "42% unknown gender in SD v1.5, Doctor, because protective clothing hides the people (equation 26)",
        _one("SD v1.5", "doctor", "representation_parity", "unknown").text,
        "",
        OPEN_VERDICT,
        "No figure counts the clothing. With the published captions it can be checked: 21 of the 42 do say "
        "who is shown, in words run together that the patterns miss.",
    )
