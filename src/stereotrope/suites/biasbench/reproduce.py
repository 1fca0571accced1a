"""The figures of T2I-BiasBench, from its own tables."""

from __future__ import annotations

from stereotrope.suites.biasbench.arithmetic import arithmetic
from stereotrope.suites.biasbench.figures import LICENCE, SOURCE
from stereotrope.suites.check import Reproduction

__all__ = ["reproduce_biasbench"]


def reproduce_biasbench() -> Reproduction:
    """Check what the paper says about its figures against the figures themselves."""
    return Reproduction(
        suite="biasbench",
        title="T2I-BiasBench: the paper's arithmetic, from its own tables",
        source=SOURCE,
        licence=LICENCE,
        checks=arithmetic(),
    )
