"""What a drawn product is: its shapes, how each stands, and where a word can be printed on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stereotrope.generate.calibrated.canvas import RGB, Canvas

__all__ = ["GLASS", "RUBBER", "STEEL", "Plate", "Shape", "Shapes"]

RUBBER: RGB = (44, 45, 50)
GLASS: RGB = (118, 138, 156)
STEEL: RGB = (190, 193, 198)
"""Colours of parts that are not the product's colour: tyres, panes, metal."""


@dataclass(frozen=True)
class Plate:
    """Where a word is printed: centre, and the room it has, in product units."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Shape:
    """One shape of a product.

    ``draw`` paints it, ground at y = 0 and x in about [-1, 1], and returns the plate for a word.
    ``unit`` is the length of 1 as a share of the picture's side. ``hangs`` puts it on the wall, its
    centre at the origin.
    """

    draw: Callable[[Canvas, RGB], Plate]
    unit: float
    hangs: bool = False


Shapes = Mapping[str, Shape]
