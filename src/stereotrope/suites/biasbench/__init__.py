"""T2I-BiasBench: the paper's figures, and how the published ones came about."""

from stereotrope.suites.contract import register

__all__: list[str] = []

register(__file__)
