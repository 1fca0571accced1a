"""The suites by name, and what each can do beyond its audit file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.suites.check import Reproduction
from stereotrope.suites.objects.reproduce import reproduce_objects

__all__ = ["SUITES", "Suite", "reproduce"]


@dataclass(frozen=True)
class Suite:
    """A published method; ``reproduce`` checks its paper's figures, None where there are none."""

    name: str
    reproduce: Callable[[], Reproduction] | None = None


SUITES: Mapping[str, Suite] = {"objects": Suite("objects", reproduce_objects)}
"""Every suite by its name."""


def reproduce(name: str) -> Reproduction:
    """Check the published figures of a suite's paper against each other.

    Parameters
    ----------
    name
        Name of a suite, such as ``objects``.

    Returns
    -------
    Reproduction
        One check a claim, with its verdict. Nothing is drawn, asked or written.

    Raises
    ------
    UsageError
        There is no such suite, or nothing of it can be reproduced; the message names what can.

    Examples
    --------
    >>> reproduce("objects").checks[0].verdict
    'agrees'
    """
    able = [suite.name for suite in SUITES.values() if suite.reproduce is not None]
    if name not in SUITES:
        hint = did_you_mean(name, SUITES, otherwise=f"there is: {', '.join(SUITES)}")
        raise UsageError(f"no suite {name!r}; {hint}")
    work = SUITES[name].reproduce
    if work is None:
        raise UsageError(f"suite {name!r}: has no published figures to check; {', '.join(able)} has")
    return work()
