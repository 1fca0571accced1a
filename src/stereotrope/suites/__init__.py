"""The published methods as ready audits: one folder each, mostly data.

A suite whose paper published figures can check that paper's arithmetic: its entry in :data:`SUITES` has
a ``reproduce`` then; where its numbers are made of captions, :func:`reproduce_captions` makes them again.
"""

from __future__ import annotations

from stereotrope.suites.check import VERDICTS, FigureCheck, Reproduction
from stereotrope.suites.registry import SUITES, Suite, reproduce, reproduce_captions

__all__ = ["SUITES", "VERDICTS", "FigureCheck", "Reproduction", "Suite", "reproduce", "reproduce_captions"]
