"""How many requests came in any window of time."""

from collections import deque
from collections.abc import Iterable

WINDOW = 60.0
"""Seconds of the window in which a rate limit counts."""


class SlidingWindow:
    """Lets at most ``most`` requests through in any window of time."""

    def __init__(self, most: float, seconds: float = WINDOW) -> None:
        self.most = most
        self.seconds = seconds
        self._through: deque[float] = deque()

    def wait(self, now: float) -> float:
        """Return 0 and count a request that goes through, or the seconds until one could."""
        while self._through and self._through[0] <= now - self.seconds:
            self._through.popleft()
        if len(self._through) + 1 <= self.most:
            self._through.append(now)
            return 0.0
        return self._through[0] + self.seconds - now if self._through else self.seconds


def most_within(times: Iterable[float], seconds: float = WINDOW) -> int:
    """Return the largest number of times that lie in one window [t, t + seconds)."""
    inside: deque[float] = deque()
    most = 0
    for time in sorted(times):
        inside.append(time)
        while inside[0] <= time - seconds:
            inside.popleft()
        most = max(most, len(inside))
    return most
