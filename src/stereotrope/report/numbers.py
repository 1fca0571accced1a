"""How numbers are written: one place for digits, signs and brackets."""

import math

MINUS = "−"
THIN_SPACE = "\u202f"
WHOSE_Q = (
    "q counts this measure's own tests. That of a finding may be larger or smaller: it takes all tests of "
    "one comparison together, among the comparisons of all measures that could have shown as small a p."
)
"""What a mark or a column of q is of: a row with a small q may be no finding."""
_SMALLEST_P = 0.001


def thousands(value: int) -> str:
    """An integer, its thousands apart by a thin space: 8 000."""
    digits = f"{abs(value):,}".replace(",", THIN_SPACE) if abs(value) >= 10_000 else str(abs(value))
    return f"{MINUS}{digits}" if value < 0 else digits


def count(value: int, noun: str, plural: str | None = None) -> str:
    """``1 picture``, ``20 pictures``."""
    return f"{thousands(value)} {noun if value == 1 else plural or noun + 's'}"


def decimals(size: float, n: int | None = None) -> int:
    """Digits after the point that ``n`` carries.

    ``size`` is the magnitude of the number. Up to 1 it is 0.01 below n = 100, 0.001 below n = 10,000 and
    0.0001 from there on; up to 10 it is 0.01, and a larger number has two significant digits, three from
    n = 100 on.
    """
    finest = 2 if n is None or n < 100 else 3 if n < 10_000 else 4
    significant = 2 if n is None or n < 100 else 3
    if size <= 1 or not math.isfinite(size):
        return finest
    if size < 10:
        return min(finest, 2)
    return max(0, min(finest, significant - 1 - math.floor(math.log10(abs(size)))))


def number(value: float | None, n: int | None = None, *, places: int | None = None) -> str:
    """A number with the digits that ``n`` carries; an empty text for None."""
    if value is None or not math.isfinite(value):
        return ""
    text = f"{abs(value):.{decimals(value, n) if places is None else places}f}"
    sign = MINUS if value < 0 and float(text) != 0 else ""
    whole, point, rest = text.partition(".")
    return f"{sign}{thousands(int(whole)) if len(whole) > 4 else whole}{point}{rest}"


def interval(
    value: float | None,
    low: float | None,
    high: float | None,
    n: int | None = None,
    *,
    places: int | None = None,
    bare: bool = False,
) -> str:
    """``0.41 [0.33, 0.52]``: the same digits for all; the value alone if ``bare`` or without interval."""
    if value is None:
        return ""
    if places is None:
        places = decimals(max(abs(x) for x in (value, low, high) if x is not None), n)
    text = number(value, places=places)
    if bare or low is None or high is None:
        return text
    return f"{text} [{number(low, places=places)}, {number(high, places=places)}]"


def probability(value: float | None) -> str:
    """A p- or q-value: two significant digits, ``< 0.001`` below that."""
    if value is None:
        return ""
    if value < _SMALLEST_P:
        return "< 0.001"
    return f"{value:.3f}" if value < 0.0995 else f"{value:.2f}"


def dollars(value: float) -> str:
    """US dollars: cents, and below ten cents two significant digits."""
    if value <= 0:
        return "$0"
    if value < 0.1:
        return f"${value:.2g}" if value >= 0.0001 else "< $0.0001"
    whole, _, cents = f"{value:.2f}".partition(".")
    return f"${thousands(int(whole))}.{cents}"
