"""The products the calibrated generator can draw."""

from __future__ import annotations

from collections.abc import Mapping

from stereotrope.generate.calibrated.products import (
    backpack,
    car,
    clock,
    cup,
    laptop,
    sofa,
    teddy,
    toaster,
)
from stereotrope.generate.calibrated.products.product import Plate, Shape, Shapes

__all__ = ["PRODUCTS", "Plate", "Shape", "Shapes"]

PRODUCTS: Mapping[str, Shapes] = {
    "backpack": backpack.SHAPES,
    "car": car.SHAPES,
    "clock": clock.SHAPES,
    "cup": cup.SHAPES,
    "laptop": laptop.SHAPES,
    "sofa": sofa.SHAPES,
    "teddy bear": teddy.SHAPES,
    "toaster": toaster.SHAPES,
}
"""Object → shape name → how it is drawn."""
