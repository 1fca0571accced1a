"""Who is told how a run goes on."""

from typing import Protocol


class Watcher(Protocol):
    """Is told how a run goes on."""

    def stage(self, name: str, total: int, done: int) -> None:
        """A stage begins; ``done`` of ``total`` items were finished before."""

    def advance(self, name: str, done: int) -> None:
        """So many items of the stage are finished now."""

    def say(self, message: str) -> None:
        """Something worth a line happened."""


class Silent:
    """A watcher that says nothing."""

    def stage(self, name: str, total: int, done: int) -> None:
        """Say nothing."""

    def advance(self, name: str, done: int) -> None:
        """Say nothing."""

    def say(self, message: str) -> None:
        """Say nothing."""
