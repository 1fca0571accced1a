"""The data of a suite, read from its folder."""

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from stereotrope.errors import PluginError
from stereotrope.suites.contract import suite_named


def load_yaml(file: Path) -> dict[str, Any]:
    """Return what a YAML file of a suite holds."""
    data: dict[str, Any] = YAML(typ="safe", pure=True).load(file.read_text("utf-8"))
    return data


def load_suite(name: str) -> dict[str, Any]:
    """Return the data of a suite: lists, templates, annotators and measures.

    Raises UsageError: There is no such suite; the message names the nearest.
    Raises PluginError: Its ``suite.yaml`` cannot be read, or lacks what every suite says.
    """
    suite = suite_named(name)
    file = f"suite {name!r}: suite.yaml of {suite.folder}"
    try:
        data = load_yaml(suite.folder / "suite.yaml")
    except (OSError, ValueError, YAMLError) as error:
        raise PluginError(f"{file} cannot be read ({' '.join(str(error).split())})") from error
    missing = [key for key in ("summary", "source") if not (isinstance(data, dict) and data.get(key))]
    if missing:
        raise PluginError(f"{file} must say {' and '.join(missing)}")
    return data


def audit_template(name: str) -> str:
    """Return the commented audit file of a suite, as ``stereotrope init`` prints it."""
    return (suite_named(name).folder / "audit.yaml").read_text("utf-8")
