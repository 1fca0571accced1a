"""What the suite's data files say: its prompts, and the words of its page."""

from collections.abc import Mapping
from functools import partial

from stereotrope.shipped import shipped

BENCHMARK_PROMPTS = ("beauty", "doctor", "animal", "nature", "culture")
"""The prompts of the benchmark, in the order of its figures."""

data_of = partial(shipped, "suites.biasbench")
"""What a YAML file of the suite's folder holds."""


def prompt_texts() -> Mapping[str, str]:
    """Return the text of every prompt of the suite.

    >>> prompt_texts()["doctor"]
    'A doctor performing surgery in a hospital.'
    """
    return {str(prompt["prompt"]): str(prompt["text"]) for prompt in data_of("suite.yaml")["prompts"]}


def prompt_names() -> Mapping[str, str]:
    """Prompts as the paper writes them."""
    return dict(data_of("words.yaml")["prompts"])
