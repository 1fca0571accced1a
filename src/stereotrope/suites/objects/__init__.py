"""The objects suite (SODA): its data, its published tables and the check of their arithmetic."""

from stereotrope.suites.contract import register

__all__: list[str] = []

register(__file__)
