"""The everyday suite: whom a model draws when the prompt names nobody's gender."""

from stereotrope.suites.contract import register

__all__: list[str] = []

register(__file__)
