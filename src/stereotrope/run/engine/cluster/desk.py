"""The actor between the hands and the head: what is asked lies here until it is answered."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

HandQuestion = tuple[int, str, str, tuple[Any, ...]]
"""Number, what is asked, the hand that asks, details."""
HeadAnswer = tuple[bool, Any]
"""Whether all is well, and what is said; else the exception, as bytes."""


class Desk:
    """Lets hands ask the head, which no actor could call."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._asked: asyncio.Queue[HandQuestion] = asyncio.Queue()
        self._open: dict[int, asyncio.Future[HeadAnswer]] = {}

    async def ask(self, what: str, hand: str, details: tuple[Any, ...]) -> HeadAnswer:
        """Ask the head, and wait for its answer."""
        number = next(self._numbers)
        self._open[number] = asyncio.get_running_loop().create_future()
        self._asked.put_nowait((number, what, hand, details))
        try:
            return await self._open[number]
        finally:
            del self._open[number]

    async def take(self) -> list[HandQuestion]:
        """Return what was asked since, for the head; wait where it is nothing."""
        taken = [await self._asked.get()]
        while not self._asked.empty():
            taken.append(self._asked.get_nowait())
        return taken

    async def answer(self, answers: Sequence[tuple[int, HeadAnswer]]) -> None:
        """Answer what was taken."""
        for number, answer in answers:
            if number in self._open and not self._open[number].done():
                self._open[number].set_result(answer)
