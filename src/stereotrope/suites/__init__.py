"""The published methods as ready audits: one folder each, mostly data."""

from stereotrope.suites.contract import SUITES, Suite, register, suite_named

__all__ = ["SUITES", "Suite", "register", "suite_named"]
