"""The calibrated generator: draws simple products with a bias that is written down."""

from __future__ import annotations

from stereotrope.generate.calibrated.entries import ATTRIBUTES
from stereotrope.generate.calibrated.generator import CalibratedGenerator
from stereotrope.generate.calibrated.truth import Truth

__all__ = ["ATTRIBUTES", "CalibratedGenerator", "Truth"]
