"""What the suite's data files say: its prompts, and the words of its page."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from stereotrope.suites.reading import load_yaml

BENCHMARK_PROMPTS = ("beauty", "doctor", "animal", "nature", "culture")
"""The prompts of the benchmark, in the order of its figures."""


@cache
def data_of(*path: str) -> Mapping[str, Any]:
    """Return what a YAML file of the suite's folder holds."""
    return load_yaml(Path(__file__).parent.joinpath(*path))


def prompt_texts() -> Mapping[str, str]:
    """Return the text of every prompt of the suite.

    >>> prompt_texts()["doctor"]
    'A doctor performing surgery in a hospital.'
    """
    return {str(prompt["prompt"]): str(prompt["text"]) for prompt in data_of("suite.yaml")["prompts"]}


def prompt_names() -> Mapping[str, str]:
    """Prompts as the paper writes them."""
    return dict(data_of("words.yaml")["prompts"])


def measure_words() -> Mapping[str, Mapping[str, str]]:
    """Of each measure its ``name``, and what the ``paper`` and the ``released`` scripts count, if they do."""
    measures = data_of("words.yaml")["measures"]
    return {name: {"paper": "", "released": "", **words} for name, words in measures.items()}


def limits() -> Sequence[str]:
    """What the numbers cannot say."""
    return list(data_of("words.yaml")["limits"])
