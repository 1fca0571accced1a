"""The oasis suite: what a model shows of a concept more often than it is true of it."""

from stereotrope.suites.contract import register

__all__: list[str] = []

register(__file__)
