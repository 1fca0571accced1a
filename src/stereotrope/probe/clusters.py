"""Clusters of pictures that look alike to an encoder."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.errors import UsageError

_MOST = 5_000
"""Vectors that are clustered; more of them go to the cluster whose mean is nearest."""
_NEIGHBOURS = 10
_FEWEST = 5
"""Pictures of a cluster, on the mean, below which there are fewer clusters."""


def spectral_clusters(vectors: ArrayLike, clusters: int = 4, *, seed: int = 0) -> NDArray[np.int64]:
    r"""Part vectors into clusters, numbered from 1, the largest first.

    Spectral clustering of scikit-learn on the graph of each vector's ten nearest ones (U. von Luxburg,
    “A tutorial on spectral clustering”, 2007), as OASIS (arXiv:2501.00962, section 3.3) clusters features of
    CLIP; the paper names no graph. Of more than 5,000 vectors so many, evenly spaced, are clustered, and
    others go to the cluster with whose mean their cosine is greatest.

    vectors: Shape (n, d), n at least 1; brought to unit length here.
    clusters: At most so many; one fewer for each five vectors that are lacking, and one at least.

    Returns: Cluster of each vector, shape (n,). Of clusters of one size the one that begins first is.

    Raises UsageError: A vector is not finite or all 0, there is none, or ``clusters`` is below 1.
    """
    given = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(given, axis=1) if given.ndim == 2 else np.zeros(0)
    if clusters < 1 or not lengths.size or not (np.isfinite(lengths) & (lengths > 0)).all():
        raise UsageError(
            "clusters must be at least 1, of one vector or more that are finite and not 0; found "
            f"{clusters} of vectors of shape {given.shape}"
        )
    x = given / lengths[:, None]
    n_clusters = min(clusters, max(1, len(x) // _FEWEST))
    if n_clusters == 1:
        return np.ones(len(x), np.int64)
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), _MOST)).round().astype(int))
    labels = _clustered(x[chosen], n_clusters, seed)
    if len(chosen) < len(x):
        means = np.stack([x[chosen][labels == one].mean(axis=0) for one in np.unique(labels)])
        nearest = np.argmax(x @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T, axis=1)
        nearest[chosen] = np.searchsorted(np.unique(labels), labels)
        labels = nearest
    found, first, n = np.unique(labels, return_index=True, return_counts=True)
    places = {found[at]: place for place, at in enumerate(np.lexsort((first, -n)), start=1)}
    return np.array([places[one] for one in labels], np.int64)


def _clustered(x: NDArray[np.float64], clusters: int, seed: int) -> NDArray[Any]:
    from sklearn.cluster import SpectralClustering  # noqa: PLC0415

    model = SpectralClustering(
        clusters,
        affinity="nearest_neighbors",
        n_neighbors=min(_NEIGHBOURS, len(x) - 1),
        assign_labels="cluster_qr",
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Graph is not fully connected")  # clusters far apart
        return np.asarray(model.fit_predict(x))
