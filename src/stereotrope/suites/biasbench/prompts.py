"""The five prompts of the benchmark: their names and the texts the models were asked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from ruamel.yaml import YAML

__all__ = ["BENCHMARK_PROMPTS", "prompt_texts"]

BENCHMARK_PROMPTS = ("beauty", "doctor", "animal", "nature", "culture")
"""The prompts of the benchmark, in the order of its figures."""


@cache
def prompt_texts() -> Mapping[str, str]:
    """Return the text of every prompt of the suite, as its data file has it.

    Examples
    --------
    >>> prompt_texts()["doctor"]
    'A doctor performing surgery in a hospital.'
    """
    file = resources.files("stereotrope") / "suites" / "biasbench" / "suite.yaml"
    suite: dict[str, Any] = YAML(typ="safe", pure=True).load(file.read_text("utf-8"))
    return {str(one["prompt"]): str(one["text"]) for one in suite["prompts"]}
