"""The products that can be drawn: shapes.json, read and painted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stereotrope.generate.calibrated.canvas import Canvas, Shade
from stereotrope.generate.calibrated.outlines import OUTLINES
from stereotrope.generate.calibrated.parts import COLOURS, PARTS, PRODUCT_STEPS, ROUND, SHADES


@dataclass(frozen=True)
class Shape:
    """One shape of a product, ground at y = 0 and x in about [-1, 1].

    unit: Length of 1 as a share of the picture's side.
    word: Where a word is printed: x and y of its centre, width and height of the room it has.
    paint: Steps in their order. A step names what it does (``fill``, ``line``, ``shadow``, or a part of
        :data:`~stereotrope.generate.calibrated.parts.PARTS`) with its values; a fill has a shade by name
        (``as``) or by its fields.
    hangs: Whether it hangs on the wall, its centre at the origin.
    """

    unit: float
    word: tuple[float, float, float, float]
    paint: Sequence[Mapping[str, Any]]
    hangs: bool = False

    def draw(self, canvas: Canvas) -> None:
        """Paint it."""
        for step in self.paint:
            _paint(canvas, **step)


def _paint(canvas: Canvas, **step: Any) -> None:
    name = next(iter(step))
    values, rgb = _made(step.pop(name)), COLOURS[step.pop("colour")] if "colour" in step else None
    if name == "line":
        canvas.line(values, step.pop("width"), rgb, **step)
    elif name == "shadow":
        canvas.shadow(values, **step)
    elif name == "fill":
        within, opacity = step.pop("within", None), step.pop("opacity", 1.0)
        if step.get("across") == "round":
            step["across"] = ROUND
        shade = SHADES[step["as"]] if "as" in step else Shade(**step)
        canvas.fill(values, shade, rgb, within=within and _made(within), opacity=opacity)
    elif isinstance(values, Mapping):
        PARTS[name](canvas, **values)
    else:
        PARTS[name](canvas, *values)


def _made(value: Any) -> Any:
    """A value with its outlines made: lists that begin with the name of one."""
    if not isinstance(value, list):
        return value
    made = [_made(item) for item in value]
    return OUTLINES[made[0]](*made[1:]) if made and isinstance(made[0], str) else made


PRODUCTS: Mapping[str, Mapping[str, Shape]] = {
    name: {shape: Shape(**facts) for shape, facts in shapes.items()} for name, shapes in PRODUCT_STEPS.items()
}
"""Object → shape name → how it is drawn."""
