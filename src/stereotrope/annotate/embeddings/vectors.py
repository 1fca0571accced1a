"""The table of vectors, and what encoders are shown."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.stats.vectors import Vector
from stereotrope.tables import EMBEDDINGS, polars_types

PICTURES_ONLY = ("dinov2",)
"""Kinds of encoders that have no vectors of texts."""
Pixels = NDArray[np.uint8]
"""Upright RGB, shape (height, width, 3)."""


def embeddings_rows(encoder: str, rows: Sequence[tuple[str, str, Vector]]) -> pl.DataFrame:
    """Return the table of an encoder's vectors, all of one length, from (subject kind, subject id, vector).

    >>> embeddings_rows("clip", [("image", "i1", np.array([0.6, 0.8], np.float32))])["subject_id"].to_list()
    ['i1']
    """
    types = polars_types(EMBEDDINGS)
    if not rows:
        return pl.DataFrame(schema=types)
    return pl.DataFrame(
        {
            "subject_kind": [kind for kind, _, _ in rows],
            "subject_id": [one for _, one, _ in rows],
            "encoder": [encoder] * len(rows),
            "vector": pl.Series(np.stack([vector for _, _, vector in rows])).cast(types["vector"]),
        },
        schema=types,
    )
