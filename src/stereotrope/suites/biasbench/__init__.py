"""T2I-BiasBench: the paper's figures, and how the published ones came about."""

from __future__ import annotations

__all__: list[str] = []
