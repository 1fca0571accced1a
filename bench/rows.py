"""Rows of the table of times: ours beside the best vectorised reference and the bare limit, at several sizes.

CPU seconds of this process, the least of some rounds in which the three take turns, so that a busy machine
hinders all alike; short calls are repeated within their turn, as a measure repeats them. The reference is
NumPy or SciPy written as a careful user would, without a loop over replicates; the limit is the one step that
nobody can leave out, such as reading the labels once or drawing the random numbers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

_TURN = 0.005
"""Seconds that a turn takes at least."""


@dataclass(frozen=True)
class Row:
    """Times of one thing at one size.

    name: What is done; rows of one name differ in size, and growth is told between them.
    ours, reference, limit: CPU seconds; None where there is none.
    n: Its size, such as pictures.
    times: How much of the reference was run where it was multiplied up: 1 is all of it.
    mb: The most memory that its process held, where it had one of its own.
    """

    name: str
    ours: float
    reference: float | None
    limit: float | None
    n: int
    times: float = 1.0
    mb: float | None = None


Found = tuple[list[Row], list[str]]
"""What a benchmark gives: its rows, those of one name together by size, and what is wrong."""


def in_turns(
    name: str,
    n: int,
    *,
    ours: Callable[[], Any],
    reference: Callable[[], Any] | None = None,
    limit: Callable[[], Any] | None = None,
    rounds: int = 5,
    times: float = 1.0,
) -> Row:
    """A row of what calls take, each the least of its rounds; the reference and the limit ``times`` that."""
    least = [math.inf] * 3
    for _ in range(rounds):
        for at, call in enumerate((ours, reference, limit)):
            if call is not None:
                least[at] = min(least[at], _mean_seconds(call))
    told = [x * (times if at else 1.0) if math.isfinite(x) else None for at, x in enumerate(least)]
    return Row(name, least[0], told[1], told[2], n, times)


def _mean_seconds(call: Callable[[], Any]) -> float:
    """Of one call, of as many as a turn takes."""
    calls, start = 0, time.process_time()
    while not calls or time.process_time() - start < _TURN:
        call()
        calls += 1
    return (time.process_time() - start) / calls


def table(rows: Iterable[Row]) -> Iterator[str]:
    """Lines of the table; the exponent is that of growth since the size before: 1 is linear."""
    heads = ("n", "ours", "reference", "ratio", "limit", "ours/limit", "growth", "MB")
    yield (" " * 52 + "{:>11}{:>10}{:>11}{:>8}{:>10}{:>11}{:>8}{:>7}").format(*heads)
    before: Row | None = None
    for row in rows:
        grown = before is not None and before.name == row.name and row.n > before.n
        growth = _exponent(before, row) if before is not None and grown else None
        by, over = _over(row.reference, row.ours), _over(row.ours, row.limit)
        multiplied = "*" if row.times > 1 else ""
        cells = (
            f"{row.n:>11,}{_seconds(row.ours):>10}{_seconds(row.reference) + multiplied:>11}",
            f"{_told(by, '.1f', '×'):>8}{_seconds(row.limit):>10}{_told(over, '.1f', '×'):>11}",
            f"{_told(growth, '.2f'):>8}{_told(row.mb, ',.0f'):>7}",
        )
        yield f"{'' if grown else row.name:52}{''.join(cells)}"
        before = row


def by_name(rows: Iterable[Row]) -> list[Row]:
    """Rows of one name together, in the order in which the names come, by size."""
    kept = list(rows)
    names = list(dict.fromkeys(row.name for row in kept))
    return sorted(kept, key=lambda row: (names.index(row.name), row.n))


def _exponent(before: Row, row: Row) -> float:
    return math.log(row.ours / before.ours) / math.log(row.n / before.n)


def _over(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None


def _told(number: float | None, form: str, unit: str = "") -> str:
    return "–" if number is None else f"{number:{form}}{unit}"


def _seconds(seconds: float | None) -> str:
    return _told(seconds, ".4f" if seconds is not None and seconds < 1 else ".2f")
