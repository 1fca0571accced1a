"""What the page calls prompts and measures, from ``words.yaml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from ruamel.yaml import YAML

__all__ = ["limits", "measure_words", "prompt_names"]


@cache
def _words() -> Mapping[str, Any]:
    file = resources.files("stereotrope") / "suites" / "biasbench" / "words.yaml"
    read: dict[str, Any] = YAML(typ="safe", pure=True).load(file.read_text("utf-8"))
    return read


def prompt_names() -> Mapping[str, str]:
    """Prompts as the paper writes them."""
    names: Mapping[str, str] = _words()["prompts"]
    return names


def measure_words() -> Mapping[str, Mapping[str, str]]:
    """Of each measure its ``name``, and what the ``paper`` and the ``released`` scripts count, if they do."""
    measures = _words()["measures"]
    return {name: {"paper": "", "released": "", **told} for name, told in measures.items()}


def limits() -> Sequence[str]:
    """What the numbers cannot say."""
    told: Sequence[str] = _words()["limits"]
    return told
