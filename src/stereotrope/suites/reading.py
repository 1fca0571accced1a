"""The data of a suite, read from its folder."""

from functools import cache
from pathlib import Path
from typing import Any

from stereotrope.errors import PluginError
from stereotrope.inputs.options import validated
from stereotrope.inputs.yaml import YamlFile
from stereotrope.shipped import parsed
from stereotrope.suites.contract import SUITES, suite_named
from stereotrope.suites.file import SuiteSpec


def load_yaml(file: Path) -> dict[str, Any]:
    """Return what a YAML file of a suite holds."""
    data: dict[str, Any] = parsed(file.read_text("utf-8"))
    return data


def load_suite(name: str) -> dict[str, Any]:
    """Return what a suite says of :class:`stereotrope.suites.file.SuiteSpec`.

    Raises UsageError: There is no such suite; the message names the nearest.
    Raises PluginError: Its ``suite.yaml`` cannot be used; the message has its line.
    """
    return _spec(*_written(name)).model_dump(exclude_unset=True)


def suite_mistake(name: str, message: str, index: int) -> Exception:
    """The error for an entry of ``measures`` of a suite; the message has its package, file and line."""
    return YamlFile(*_written(name), PluginError).error(f"{message}; mend the package", "measures", index)


def _written(name: str) -> tuple[str, str]:
    """The text of ``suite.yaml``, and what messages call it."""
    file, text = _read(name, "suite.yaml")
    return text, f"suite {name!r} of the package {SUITES.origin(name)}: {file}"


@cache
def _spec(text: str, where: str) -> SuiteSpec:
    """A suite as it is written; one that is read again is parsed once."""
    source = YamlFile(text, where, PluginError)
    return validated(SuiteSpec, source, example="write it as docs/how-to/write-a-suite.md does")


def audit_template(name: str) -> str:
    """Return the commented audit file of a suite, as ``stereotrope init`` prints it."""
    return _read(name, "audit.yaml")[1]


def _read(name: str, file: str) -> tuple[Path, str]:
    path = suite_named(name).folder / file
    with SUITES.blamed(name):
        if not path.exists():
            raise FileNotFoundError(f"{path} was not installed; name YAML as package data in pyproject.toml")
        return path, path.read_text("utf-8")
