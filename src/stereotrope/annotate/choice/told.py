"""What a vision-language model is about to answer."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

Precision = Literal["auto", "float32", "bfloat16", "float16"]


class Told(NamedTuple):
    """What a model is about to answer.

    shares: Probability of each answer as the next token, in the order of the answers.
    likeliest: The likeliest token of all, as text.
    """

    shares: Sequence[float]
    likeliest: str
