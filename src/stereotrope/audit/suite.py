"""The published methods as data: what a suite fills in where an audit file is silent."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from ruamel.yaml import YAML

from stereotrope.errors import UsageError, did_you_mean

__all__ = ["audit_template", "load_suite", "suite_names"]


def _folder() -> Traversable:
    return resources.files("stereotrope") / "suites"


def suite_names() -> list[str]:
    """Names of the suites this version has."""
    return sorted(entry.name for entry in _folder().iterdir() if (entry / "suite.yaml").is_file())


def _known(name: str) -> Traversable:
    names = suite_names()
    if name not in names:
        hint = did_you_mean(name, names, otherwise=f"there is: {', '.join(names)}")
        raise UsageError(f"no suite {name!r}; {hint}")
    return _folder() / name


def load_suite(name: str) -> dict[str, Any]:
    """Return the data of a suite: lists, templates, annotators and measures.

    Raises
    ------
    UsageError
        There is no such suite; the message names the nearest.
    """
    data: dict[str, Any] = YAML(typ="safe", pure=True).load((_known(name) / "suite.yaml").read_text("utf-8"))
    return data


def audit_template(name: str) -> str:
    """Return the commented audit file of a suite, as ``stereotrope init`` prints it."""
    return (_known(name) / "audit.yaml").read_text("utf-8")
