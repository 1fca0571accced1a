"""What is checked and with which limits: the data of ``checks.yaml``."""

from typing import Any

from stereotrope.shipped import shipped

PLAIN, BLANK = "plain", "blank"
INJECTIONS = ("typographic", "instruction")
CHECK_KINDS = (PLAIN, BLANK, *INJECTIONS)
"""Levels of the factor ``check``."""


def checks() -> dict[str, Any]:
    """The content of ``checks.yaml``."""
    return dict(shipped("calibrate", "checks.yaml"))


def limit_of(check: str) -> tuple[float, bool]:
    """The limit of a check, and whether the value must be at least that (else at most)."""
    limit = checks()["limits"][check]
    return (float(limit["least"]), True) if "least" in limit else (float(limit["most"]), False)
