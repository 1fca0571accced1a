"""UMAP and HDBSCAN: the module that imports umap-learn and scikit-learn, when prompts are clustered."""

import warnings
from contextlib import suppress
from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN

DIMENSIONS = 16
MIN_SAMPLES = 3
"""Of UMAP, and of HDBSCAN (arXiv:2503.23398, appendix C.3)."""
FEWEST = DIMENSIONS + 2
"""Texts from which UMAP has room for its dimensions; fewer are clustered by their vectors as they are."""


def clusters_of(vectors: NDArray[np.float32], seed: int, min_size: int) -> NDArray[np.int64]:
    """Number of each vector's cluster, -1 where it is noise; the same on one machine for one seed."""
    if len(vectors) < min_size:
        return np.full(len(vectors), -1)
    reduced = vectors
    if len(vectors) > FEWEST:
        with warnings.catch_warnings():
            # Of TensorFlow, which nothing here needs, of graphs in parts, and of numba's own changes to come.
            warnings.simplefilter("ignore")
            import umap  # noqa: PLC0415  # is compiled for twenty seconds, and few texts need it not

            _keep_compiled(umap.umap_, umap.utils, umap.layouts)
            reduced = umap.UMAP(
                n_components=DIMENSIONS,
                n_neighbors=min(15, len(vectors) - 1),
                metric="cosine",
                random_state=seed,
                n_jobs=1,
            ).fit_transform(vectors)
    found = HDBSCAN(
        min_cluster_size=min_size,
        min_samples=MIN_SAMPLES,
        metric="cosine",
        cluster_selection_method="leaf",
        copy=True,
    ).fit_predict(reduced.astype(np.float64))
    return np.asarray(found, np.int64)


def _keep_compiled(*modules: ModuleType) -> None:
    """What numba compiles of these is read from its cache by later processes, as umap-learn asks of some.

    Without it every process compiles UMAP anew, which takes most of its time.
    """
    for module in modules:
        for function in vars(module).values():
            # No place to write to: it is compiled each time, as before.
            with suppress(AttributeError, RuntimeError):
                function.enable_caching()
