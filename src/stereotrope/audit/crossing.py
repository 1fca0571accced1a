"""Where something that takes long to simulate reaches a wanted chance, found with the help of a formula."""

import math
from collections.abc import Callable

from scipy import special

_TRIES, _CLOSE = 8, 0.35
"""Times at most that power is made up on the way to the wanted one, and how near, in normal quantiles, it has
to be for the formula to go the rest."""
_STRIDE = 0.06
"""Logarithm of the factor between places where power is made up, so that one serves several questions."""


def crossing(
    least: float,
    most: float,
    power: Callable[[float], float],
    guess: Callable[[float], float],
    chance: float,
) -> float | None:
    """Where a power that grows reaches a chance; None where it does not up to ``most``.

    A formula says where to simulate first. By how much its normal quantile errs there says where to go next;
    once that is near, the formula goes the rest. Where it leads out of what is known to lie on either side,
    this is halved.

    power, guess: By simulation and, roughly, by a formula, at a place above 0; both grow.

    >>> round(crossing(1, 100, lambda x: special.ndtr(x - 20), lambda x: special.ndtr(x / 2 - 5), 0.8), 1)
    20.7
    """

    def quantile(of: float) -> float:
        return float(special.ndtri(min(max(of, 1e-12), 1 - 1e-12)))

    def where(errs: float) -> float:
        ends = least, most
        for _ in range(30):
            middle = math.sqrt(ends[0] * ends[1])
            over = quantile(guess(middle)) + errs >= wanted
            ends = (ends[0], middle) if over else (middle, ends[1])
        return ends[1]

    def near(place: float) -> float:
        return min(most, math.exp(_STRIDE * round(math.log(place) / _STRIDE)))

    wanted = quantile(chance)
    known: dict[float, float] = {}
    short, enough, following = least, math.inf, where(0.0)
    for _ in range(_TRIES):
        place = near(following)
        if place in (short, enough):
            break
        seen = min(max(power(place), 0.001), 0.999)
        known[place] = quantile(seen)
        errs = quantile(seen) - quantile(guess(place))
        short, enough = (short, place) if seen >= chance else (place, enough)
        if short == most:
            return None
        following = where(errs)
        if abs(quantile(seen) - wanted) <= _CLOSE:
            break
        if not short < near(following) < enough:
            following = math.sqrt(short * min(enough, most))
    if short in known and enough in known and not short < following < enough:
        part = (wanted - known[short]) / max(known[enough] - known[short], 1e-9)
        return float(short * (enough / short) ** part)
    return min(max(following, short), enough)
