"""What a vision-language model is about to answer."""

from collections.abc import Sequence
from typing import NamedTuple


class Told(NamedTuple):
    """What a model is about to answer.

    shares: Probability of each answer as the next token, in the order of the answers.
    likeliest: The likeliest token of all, as text.
    """

    shares: Sequence[float]
    likeliest: str
