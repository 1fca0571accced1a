"""The published methods as ready audits: one folder each, mostly data."""

from __future__ import annotations

from stereotrope.suites.contract import SUITES, Suite, register, suite_named

__all__ = ["SUITES", "Suite", "register", "suite_named"]
