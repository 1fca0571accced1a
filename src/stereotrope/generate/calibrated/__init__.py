"""The calibrated generator: draws simple products with a bias that is written down."""

from stereotrope.generate.calibrated.generator import CalibratedGenerator
from stereotrope.generate.calibrated.truth import Truth
from stereotrope.generate.calibrated.truth_file import ATTRIBUTES

__all__ = ["ATTRIBUTES", "CalibratedGenerator", "Truth"]
