"""Where something that takes long to simulate reaches a wanted chance, found with the help of a formula."""

import math
from bisect import bisect
from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import accumulate

from stereotrope.stats import special

Among = Callable[[float, float], float]
"""A power where a part of all comparisons differs, at a place."""

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

    def where(errs: float) -> float:
        ends = least, most
        for _ in range(30):
            middle = math.sqrt(ends[0] * ends[1])
            over = _quantile(guess(middle)) + errs >= wanted
            ends = (ends[0], middle) if over else (middle, ends[1])
        return ends[1]

    def near(place: float) -> float:
        return min(most, math.exp(_STRIDE * round(math.log(place) / _STRIDE)))

    wanted = _quantile(chance)
    known: dict[float, float] = {}
    short, enough, following = least, math.inf, where(0.0)
    for _ in range(_TRIES):
        place = near(following)
        if place in (short, enough):
            break
        seen = min(max(power(place), 0.001), 0.999)
        known[place] = _quantile(seen)
        errs = _quantile(seen) - _quantile(guess(place))
        short, enough = (short, place) if seen >= chance else (place, enough)
        if short == most:
            return None
        following = where(errs)
        if abs(_quantile(seen) - wanted) <= _CLOSE:
            break
        if not short < near(following) < enough:
            following = math.sqrt(short * min(enough, most))
    if short in known and enough in known and not short < following < enough:
        part = (wanted - known[short]) / max(known[enough] - known[short], 1e-9)
        return float(short * (enough / short) ** part)
    return min(max(following, short), enough)


def crossing_among(
    part: float,
    parts: Collection[float],
    least: float,
    most: float,
    power: Among,
    guess: Among,
    chance: float,
) -> float | None:
    """:func:`crossing` of a power that also grows with how much differs beside it, read off common places.

    What is simulated where any part of all comparisons differs says of the others too: the more differs, the
    sooner a chance is reached, and never later by chance.

    part, parts: The part that differs, and all whose places count.
    power, guess: As there.
    """
    places: set[float] = set()

    def simulated(beside: float, place: float) -> float:
        places.add(place)
        return power(beside, place)

    for one in sorted(parts):
        known = {place: power(one, place) for place in sorted(places)}
        enough = min((place for place, seen in known.items() if seen >= chance), default=most)
        short = max(
            (place for place, seen in known.items() if seen < chance and place < enough), default=least
        )
        near = any(abs(_quantile(seen) - _quantile(chance)) <= _CLOSE for seen in known.values())
        if not near and math.log(enough / short) > 1.5 * _STRIDE:
            crossing(short, enough, partial(simulated, one), partial(guess, one), chance)
    known = {place: max(power(one, place) for one in parts if one <= part) for place in sorted(places)}
    return between(least, most, known, partial(guess, 0.0), chance)


def between(
    least: float, most: float, known: Mapping[float, float], guess: Callable[[float], float], chance: float
) -> float | None:
    """Where a curve through known powers, which a formula shapes, reaches a chance; None where it does not.

    Of two lots of known powers at the same places the one that is nowhere less reaches it no later.

    known: Place → power there, rising by place; where it falls, by chance, the larger one counts on.

    >>> round(between(1, 100, {10: 0.5, 20: 0.9}, lambda x: special.ndtr(x / 8 - 2), 0.8), 1)
    16.5
    """
    places = list(known)
    heights = list(accumulate(map(_quantile, known.values()), max))

    def from_place(at: int, place: float) -> float:
        return heights[at] + _quantile(guess(place)) - _quantile(guess(places[at]))

    def curve(place: float) -> float:
        at = bisect(places, place)
        if at in (0, len(places)):
            return from_place(max(0, at - 1), place)
        part = math.log(place / places[at - 1]) / math.log(places[at] / places[at - 1])
        return (1 - part) * from_place(at - 1, place) + part * from_place(at, place)

    if curve(most) < _quantile(chance):
        return None
    low, high = least, most
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if curve(middle) >= _quantile(chance) else (middle, high)
    return high


def _quantile(of: float) -> float:
    return float(special.ndtri(min(max(of, 1e-12), 1 - 1e-12)))
