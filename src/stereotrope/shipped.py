"""Data that comes with the package: versioned YAML beside the code that reads it."""

from functools import cache
from importlib import resources
from typing import Any

from ruamel.yaml import YAML


@cache
def shipped(room: str, name: str) -> Any:
    """Read ``name`` of the folder ``room`` of this package, once; what it returns is not to be changed."""
    text = resources.files(f"stereotrope.{room}").joinpath(name).read_text("utf-8")
    return YAML(typ="safe", pure=True).load(text)
