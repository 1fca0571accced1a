"""The figures of T2I-BiasBench: from its own tables, and from captions."""

from __future__ import annotations

from pathlib import Path

from stereotrope.suites.biasbench.arithmetic import arithmetic
from stereotrope.suites.biasbench.compare import CaptionsReproduction, compare_captions
from stereotrope.suites.biasbench.figures import LICENCE, SOURCE
from stereotrope.suites.check import Reproduction

__all__ = ["reproduce_biasbench", "reproduce_biasbench_captions"]


def reproduce_biasbench() -> Reproduction:
    """Check what the paper says about its figures against the figures themselves."""
    return Reproduction(
        suite="biasbench",
        title="T2I-BiasBench: the paper's arithmetic, from its own tables",
        source=SOURCE,
        licence=LICENCE,
        checks=arithmetic(),
    )


def reproduce_biasbench_captions(captions: Path, lexicon: Path | None = None) -> CaptionsReproduction:
    """Set every number of the captions beside the paper's; our own lexicon where none is given."""
    return compare_captions(captions, lexicon)
