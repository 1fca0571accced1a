"""The arithmetic of the SODA paper, checked from its own tables."""

from __future__ import annotations

from stereotrope.suites.check import Reproduction
from stereotrope.suites.objects import claims, defaults, definition
from stereotrope.suites.published import published

__all__ = ["reproduce_objects"]


def reproduce_objects() -> Reproduction:
    """Check what the SODA paper says about its figures against the figures themselves.

    Nothing of the paper's pictures or labels is published, so this recomputes means, counts, ranks and
    bounds from its tables, not the scores from pictures.
    """
    figures = published("objects")
    return Reproduction(
        suite="objects",
        title="When Cars Have Stereotypes (SODA): the paper's arithmetic, from its own tables",
        source="arXiv:2508.03483v3",
        licence="CC BY 4.0",
        checks=(
            *claims.divergences(figures),
            *defaults.defaults(figures),
            *claims.concentration(figures),
            *claims.disparity(figures),
            *claims.variations(figures),
            *claims.judges(figures),
            *claims.significance(figures),
            *claims.shifts(figures),
            *definition.definitions(figures),
        ),
    )
