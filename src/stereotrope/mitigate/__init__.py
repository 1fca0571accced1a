"""Mitigate: strategies that rewrite prompts; what they do is measured by auditing again.

A strategy is registered beside its code; packages of others name theirs under ``stereotrope.strategies``.
"""

from stereotrope.mitigate.contract import (
    REWRITE_STATUSES,
    STRATEGIES,
    USABLE,
    Case,
    Rewrite,
    Strategy,
    create,
    strategy,
)

__all__ = ["REWRITE_STATUSES", "STRATEGIES", "USABLE", "Case", "Rewrite", "Strategy", "create", "strategy"]
