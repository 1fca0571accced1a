"""The arithmetic of the SODA paper, checked from its own tables."""

from stereotrope.suites.check import Reproduction, reproduction
from stereotrope.suites.objects import claims, defaults, definition
from stereotrope.suites.published import published


def reproduce_objects() -> Reproduction:
    """Check what the SODA paper says about its figures against the figures themselves.

    Nothing of the paper's pictures or labels is published, so this recomputes means, counts, ranks and
    bounds from its tables, not the scores from pictures.
    """
    figures = published("objects")
    parts = (claims.claims, defaults.defaults, definition.definitions)
    return reproduction("objects", (result for part in parts for result in part(figures)))
