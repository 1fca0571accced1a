"""Clusters of texts by their vectors: which text is in which, and what each is called."""

import importlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.inputs.options import shorten
from stereotrope.plugins import version_of
from stereotrope.stats.vectors import unit_vector

LIBRARIES = ("scikit-learn", "umap-learn")
MIN_SIZE = 3
"""Of a cluster (arXiv:2503.23398, appendix C.3)."""
Vectors = NDArray[np.float32]

BY_DENSITY, NEAREST, ADDED, ALONE = "density", "nearest", "added", "none"
"""How a text came to its cluster: HDBSCAN put it there; it was noise, and went where the centroid is nearest;
it came later, and went there; no cluster was found, and all texts stand together."""


class Placing(NamedTuple):
    """Of each text the number of its cluster, and how it came there."""

    numbers: list[int]
    placed: list[str]


def require_clustering() -> None:
    """Refuse to cluster without the libraries.

    Raises UsageError: One is not installed.
    """
    lacking = [name for name in LIBRARIES if version_of(name) is None]
    if lacking:
        raise UsageError(
            f"clusters need {' and '.join(lacking)}, which {'are' if lacking[1:] else 'is'} not installed; "
            "run `pip install 'stereotrope[clusters]'`, or write the file by hand"
        )


def cluster_vectors(vectors: Vectors, seed: int) -> Placing:
    """Cluster unit vectors: UMAP, HDBSCAN, and what it calls noise to the nearest centroid by cosine."""
    reduction: Any = importlib.import_module("stereotrope.design.factors._reduction")
    found: NDArray[np.int64] = reduction.clusters_of(vectors, seed, MIN_SIZE)
    if found.max(initial=-1) < 0:
        return Placing([0] * len(vectors), [ALONE] * len(vectors))
    noise = found < 0
    filled = found.copy()
    filled[noise] = nearest(vectors[noise], vectors[~noise], found[~noise].tolist())
    return Placing(filled.tolist(), [NEAREST if one else BY_DENSITY for one in noise])


def nearest(vectors: Vectors, members: Vectors, numbers: Sequence[int]) -> list[int]:
    """The cluster whose centroid, of its members' unit vectors, is nearest to each vector by cosine."""
    if not len(vectors):
        return []
    of, known = np.asarray(numbers), sorted(set(numbers))
    centroids = np.stack([members[of == number].mean(axis=0) for number in known])
    lengths = np.linalg.norm(centroids, axis=1, keepdims=True)
    closest = (vectors @ (centroids / np.where(lengths > 0, lengths, 1)).T).argmax(axis=1)
    return [known[at] for at in closest]


def unit_vectors(rows: Sequence[Any], texts: Sequence[str], encoder: str) -> Vectors:
    """Vectors of texts at unit length; a row is None where the encoder gave none.

    Raises UsageError: One is missing, of another length, not finite, or all 0; the message names its text.
    """
    made: list[Vectors] = []
    for text, row in zip(texts, rows, strict=True):
        vector = None if row is None else unit_vector(row)
        if vector is None or len(vector) != len(made[0] if made else vector):
            raise UsageError(no_vector(encoder, text))
        made.append(vector)
    return np.stack(made)


def no_vector(encoder: str, text: str) -> str:
    """What is said of a text whose vector is none, or of another length than the others'."""
    return (
        f"encoder {encoder!r} gives {shorten(text)} no vector that can be compared (its numbers are not "
        "finite, all 0, or of another count); take another encoder, or leave the phrase out"
    )


def told_words(texts: Sequence[str]) -> dict[str, str]:
    """Text → its words without those that all of them begin with: “a person who is” says nothing here."""
    split = [text.split() for text in texts]
    shared = 0
    while (
        len(texts) > 1
        and len({tuple(words[: shared + 1]) for words in split}) == 1
        and shared < len(split[0])
    ):
        shared += 1
    return {text: " ".join(words[shared:]) or text for text, words in zip(texts, split, strict=True)}


def ctfidf_titles(
    clusters: Mapping[int, Sequence[str]], words_of: Callable[[str], Sequence[str]]
) -> dict[int, list[str]]:
    """The words that tell each cluster from the others, the first of them foremost.

    Term t weighs tf(t, c) · log(1 + A / f(t)) in cluster c, with A words a cluster on the mean and f(t) how
    often the term stands in all of them (class-based TF-IDF). Terms that weigh alike stand in the order of
    the alphabet.

    Source: M. Grootendorst, “BERTopic”, arXiv:2203.05794, eq. 2.

    >>> ctfidf_titles({0: ["bake bread", "bake a cake"], 1: ["fix a car", "wash a car"]}, str.split)[0]
    ['bake', 'bread', 'cake', 'a']
    """
    counts = {
        number: Counter(w for text in texts for w in words_of(text)) for number, texts in clusters.items()
    }
    every: Counter[str] = sum(counts.values(), Counter())
    mean = sum(every.values()) / max(len(counts), 1)
    return {
        number: sorted(own, key=lambda word: (-own[word] * np.log1p(mean / every[word]), word))
        for number, own in counts.items()
    }
