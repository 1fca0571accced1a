"""All measures of 500 captions of one model, and the same from rows drawn again one sample at a time.

The loop draws captions of each prompt with replacement and calls the same function on them. Ours draws one
set of weights for all scores that have bootstrap intervals. Two kinds the loop draws again and ours does not:
shares, GMR, IEMR, hallucination and CAR, which have Wilson's interval and cost little either way; and Vendi
scores, whose intervals leave one caption out at a time, so that the times without them are given too.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import polars as pl

from stereotrope.measure.captions import caption_measures, vendi

PROMPTS, CAPTIONS, WORDS, RESAMPLES, SLICE = 5, 100, 28, 1_000, 20
SECONDS, TIMES = 1.0, 50
"""The most that all measures of one model may take, and how much faster they are than the loop at least."""
GROUPS = ("a", "b", "c", "d", "e", "f")
KEYWORDS = ("k0", "k1", "k2", "k3", "k4", "k5")
IMPLIED = ("i0", "i1", "i2", "i3", "i4")
TEXT = "word1 word2 word3 word4"

Rows = list[dict[str, Any]]
T = TypeVar("T")


def synthetic(rng: np.random.Generator) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Captions of frequent and rare words, with planted groups and terms; and what is declared of them."""
    frequency = 1.0 / np.arange(1, 601)
    frequency /= frequency.sum()
    rows = []
    for prompt in range(PROMPTS):
        shares = rng.dirichlet(np.ones(len(GROUPS) + 1))
        for image in range(CAPTIONS):
            drawn = rng.choice(600, WORDS, p=frequency)
            rows.append(
                {
                    "image_id": f"{prompt}-{image}",
                    "generator": "m",
                    "prompt": f"p{prompt}",
                    "caption": " ".join(f"word{number}" for number in drawn),
                    "group": str(rng.choice([*GROUPS, "unknown"], p=shares)),
                    "stereotype": [f"s{i}" for i in range(rng.poisson(1.5))],
                    "diversity": [f"d{i}" for i in range(rng.poisson(0.8))],
                    "keyword": [k for k in KEYWORDS if rng.random() < 0.8],
                    "implied": [i for i in IMPLIED if rng.random() < 0.5],
                    "hallucination": ["h"] * int(rng.random() < 0.1),
                    "reference": ["r"] * int(rng.random() < 0.7),
                }
            )
    lists = {
        "stereotype": ["s0"],
        "diversity": ["d0"],
        "keyword": list(KEYWORDS),
        "implied": list(IMPLIED),
        "hallucination": ["h"],
        "reference": ["r"],
    }
    one = {
        "text": TEXT,
        "parity": {"attribute": "group", "groups": ["a"], "against": "rest"},
        "lists": lists,
    }
    lexicon = {
        "attributes": {"group": {"groups": {group: [group] for group in GROUPS}}},
        "prompts": {f"p{prompt}": one for prompt in range(PROMPTS)},
    }
    return pl.DataFrame(rows), lexicon


def reference_scores(rows: Rows) -> dict[str, float]:
    """Scores of captions by plain formulas, written without ours."""
    n = len(rows)
    k = len(GROUPS) + 1
    counts = Counter(row["group"] for row in rows)
    p = [counts[group] / n for group in (*GROUPS, "unknown")]
    entropy = -sum(x * math.log2(x) for x in p if x) / math.log2(k)
    hits = [sum(len(row[name]) for row in rows) for name in ("stereotype", "diversity")]
    parity = abs(2 * p[0] - 1)
    cas = hits[0] / sum(hits) if sum(hits) else math.nan
    vectors = reference_vectors([row["caption"] for row in rows] + [TEXT])
    kernel = vectors[:-1] @ vectors[:-1].T / n
    eigenvalues = np.linalg.eigvalsh(kernel)
    eigenvalues = eigenvalues[eigenvalues > 1e-12]
    return {
        "parity_difference": parity,
        "signed_parity": 2 * p[0] - 1,
        "bias_amplification": sum(abs(x - 1 / k) for x in p),
        "shannon_entropy": entropy,
        "kl_from_uniform": sum(x * math.log2(x * k) for x in p if x),
        "cas": cas,
        "cbs": (parity + 1 - entropy + cas) / 3,
        "gmr": sum(set(row["keyword"]) != set(KEYWORDS) for row in rows) / n,
        "iemr": sum(set(row["implied"]) != set(IMPLIED) for row in rows) / n,
        "hallucination": sum(bool(row["hallucination"]) for row in rows) / n,
        "car": sum(bool(row["reference"]) for row in rows) / n,
        "vendi": float(np.exp(-(eigenvalues * np.log(eigenvalues)).sum())),
        "clip_proxy": float((vectors[:-1] @ vectors[-1]).mean()),
    }


def reference_vectors(texts: list[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Unit TF-IDF vectors, read from the texts."""
    documents = [Counter(re.findall(r"(?u)\b\w\w+\b", text.lower())) for text in texts]
    place: dict[str, int] = {}
    for document in documents:
        for word in document:
            place.setdefault(word, len(place))
    vectors = np.zeros((len(texts), len(place)))
    for row, document in enumerate(documents):
        for word, times in document.items():
            vectors[row, place[word]] = times
    held = (vectors > 0).sum(axis=0)
    vectors *= np.log((1 + len(texts)) / (1 + held)) + 1
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: np.ndarray[Any, np.dtype[np.float64]] = vectors / np.where(lengths > 0, lengths, 1)
    return result


def all_measures(
    rng: np.random.Generator, samples: int = SLICE
) -> tuple[tuple[float, float], tuple[float, float], list[str]]:
    """CPU seconds of ours and of rows drawn again one sample at a time; the same without Vendi scores.

    The third is what disagrees with plain formulas.
    """
    frame, lexicon = synthetic(rng)
    estimates, ours = timed(lambda: caption_measures(frame, lexicon, n_bootstrap=RESAMPLES))
    _, our_vendi = timed(lambda: vendi(frame, n_bootstrap=RESAMPLES))
    loop = loop_vendi = 0.0
    for _ in range(samples):
        sample, seconds = timed(lambda: drawn_again(frame, rng))
        loop += seconds + timed(lambda rows=sample: caption_measures(rows, lexicon, n_bootstrap=0))[1]
        loop_vendi += timed(lambda rows=sample: vendi(rows, n_bootstrap=0))[1]
    rows = frame.filter(pl.col("prompt") == "p0").rows(named=True)
    whole = estimates.filter(pl.col("prompt") == "p0")
    disagreements = []
    for measure, expected in reference_scores(rows).items():
        found = whole.filter(pl.col("measure") == measure)["value"][0]
        if found is None or abs(found - expected) > 1e-9:
            disagreements.append(f"captions: {measure} {found!r} against {expected!r} of the plain formula")
    times = RESAMPLES / samples
    return (ours, loop * times), (ours - our_vendi, (loop - loop_vendi) * times), disagreements


def drawn_again(frame: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """As many captions of each prompt, drawn with replacement."""
    drawn = rng.integers(0, CAPTIONS, (PROMPTS, CAPTIONS)) + CAPTIONS * np.arange(PROMPTS)[:, None]
    return frame[drawn.ravel()].with_columns(frame["image_id"])


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """What a call gives, and its CPU seconds."""
    start = time.process_time()
    result = call()
    return result, time.process_time() - start
