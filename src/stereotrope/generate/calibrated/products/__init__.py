"""The products the calibrated generator can draw."""

from __future__ import annotations

from collections.abc import Mapping

from stereotrope.generate.calibrated.products import car, clock, cup, sofa
from stereotrope.generate.calibrated.products.product import Plate, Shape, Shapes

__all__ = ["PRODUCTS", "Plate", "Shape", "Shapes"]

PRODUCTS: Mapping[str, Shapes] = {
    "car": car.SHAPES,
    "clock": clock.SHAPES,
    "cup": cup.SHAPES,
    "sofa": sofa.SHAPES,
}
"""Object → shape name → how it is drawn."""
