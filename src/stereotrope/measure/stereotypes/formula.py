"""Formulas of shares, such as ``0.5 * man``: read as arithmetic and nothing else."""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_LONGEST = 200
"""Characters of a formula: what is longer is no product of shares."""
_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_RULE = "a formula is made of numbers, names, + − * / and brackets, such as 0.5 * man"


@dataclass(frozen=True)
class Formula:
    """Arithmetic over named numbers.

    text: As it is written.
    names: The numbers it needs, in order of appearance.
    """

    text: str
    names: tuple[str, ...]
    _tree: ast.expr

    @classmethod
    def parsed(cls, text: str) -> "Formula":
        """Read a formula; nothing of it is carried out but sums, differences, products and quotients.

        Raises ValueError: It is something else; the message is a rule and what to do.
        """
        if len(text) > _LONGEST:
            raise ValueError(f"has more than {_LONGEST} characters; {_RULE}")
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError(f"is no arithmetic; {_RULE}") from None
        names: dict[str, None] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                names[node.id] = None
            number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
            fine = (ast.BinOp, ast.UnaryOp, ast.USub, ast.Name, ast.Load, *_OPERATORS)
            if not number and not isinstance(node, fine):
                raise ValueError(f"holds what is no arithmetic; {_RULE}")
        return cls(text, tuple(sorted(names, key=lambda name: text.find(name))), tree)

    def value(self, numbers: Mapping[str, float]) -> float:
        """What it comes to.

        Raises ValueError: It divides by zero, or what comes out is no finite number.
        """
        try:
            found = _value(self._tree, numbers)
        except (ArithmeticError, ValueError):
            found = float("nan")
        if found != found or abs(found) == float("inf"):
            raise ValueError("comes to no finite number; look at what it divides by")
        return found

    def interval(
        self, numbers: Mapping[str, float], ends: Mapping[str, tuple[float, float]]
    ) -> tuple[float, float]:
        """Square and add the differences that the ends of each number's interval make.

        Numbers are taken to be independent. Source: Zou and Donner (2008), Statistics in Medicine 27.
        """
        centre, below, above = self.value(numbers), 0.0, 0.0
        for name in self.names:
            away = [self.value({**numbers, name: end}) - centre for end in ends[name]]
            below, above = below + min(0.0, *away) ** 2, above + max(0.0, *away) ** 2
        return centre - below**0.5, centre + above**0.5


def inputs_shown(formula: Formula, numbers: Mapping[str, float]) -> str:
    """The formula with the numbers that went in."""
    return (
        f"{formula.text} with {', '.join(_shown(numbers, formula.names))}" if formula.names else formula.text
    )


def _shown(numbers: Mapping[str, float], names: Iterable[str]) -> list[str]:
    return [f"{name} = {numbers[name]:g}" for name in names]


def _value(node: ast.expr, numbers: Mapping[str, float]) -> float:
    match node:
        case ast.BinOp():
            return float(_OPERATORS[type(node.op)](_value(node.left, numbers), _value(node.right, numbers)))
        case ast.UnaryOp():
            return -_value(node.operand, numbers)
        case ast.Name():
            return numbers[node.id]
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]
    raise ValueError("no arithmetic")
