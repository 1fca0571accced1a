"""The objects suite (SODA): its data, its published tables and the check of their arithmetic."""

from __future__ import annotations

__all__: list[str] = []
