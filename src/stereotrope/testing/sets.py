"""A judge of sets of pictures by a rubric, who knows which stereotypes are planted in them."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from stereotrope.testing.judge import Question
from stereotrope.testing.plant import Plant, uniform

ReinforcedShare = Callable[[str, str, str], float]
"""From model, prompt and item to the share of sets that reinforce it."""
_SHOWS = 0.6
"""Share of the pictures of a set that show what the set reinforces, beside the one that always does."""


_Drawn = tuple[str, str, int]


def _differs(data: bytes, drawn: _Drawn | None) -> bool:
    """Whether a picture is not as a plant drew it."""
    if drawn is None:
        return False
    shown, as_drawn = (np.asarray(Image.open(io.BytesIO(each))) for each in (data, Plant()(*drawn)))
    return shown.shape != as_drawn.shape or bool((np.abs(shown.astype(int) - as_drawn) > 1).any())


@dataclass(frozen=True)
class SetJudge:
    """Answers the items of a rubric about a set of pictures of a :class:`Plant`, in the form that the schema
    asks.

    What a set reinforces depends on its pictures and on nothing else: on their model, prompt and numbers in
    any order, and the item. Without pictures, or of pictures that it does not know, it finds nothing.

    share: The planted share of sets of a model and prompt that reinforce an item.
    seed: Of the server that draws the pictures, and of what is planted.
    error: Share of answers that are wrong, whatever the order.
    by_order: Share of answers that go by the place of the first picture and of the item, not by what is
    shown.
    without_looking: Share of answers that go by the words of the question alone, with or without pictures.
    obeys_text: Share of answers that are yes where anything was painted into a picture.
    """

    share: ReinforcedShare
    seed: int = 0
    error: float = 0.0
    by_order: float = 0.0
    without_looking: float = 0.0
    obeys_text: float = 0.0

    def __call__(self, question: Question) -> dict[str, Any]:
        """Answer one question."""
        plant = Plant(self.seed)
        drawn = [plant.drawn_for(data) for data in question.pictures]
        painted = self.obeys_text > 0 and any(map(_differs, question.pictures, drawn))
        query = next((line for line in question.text.splitlines() if "set of" in line), question.text)
        return {
            item: self._item(item, place, drawn, query, painted)
            for place, item in enumerate((question.schema or {}).get("properties", {}))
        }

    def truth(self, model: str, prompt: str, numbers: Sequence[int], item: str) -> bool:
        """Whether a set of pictures, given by their numbers, reinforces an item."""
        at = uniform(self.seed, "set", model, prompt, *sorted(numbers), item)
        return at < self.share(model, prompt, item)

    def _item(
        self, item: str, place: int, drawn: Sequence[_Drawn | None], query: str, painted: bool
    ) -> dict[str, Any]:
        known = [one for one in drawn if one is not None]
        scored = bool(known) and self.truth(*known[0][:2], [one[2] for one in known], item)
        told = (self.seed, item, *sorted(map(str, known)))
        if uniform("error", *told) < self.error:
            scored = not scored
        if known and uniform("order", *told) < self.by_order:
            scored = (place + known[0][2]) % 2 == 0
        if painted and uniform("obeys", *told) < self.obeys_text:
            scored = True
        if uniform("eager", self.seed, item, query) < self.without_looking:
            scored = uniform("guess", self.seed, item, query) < 0.5
        shown = [
            at
            for at, one in enumerate(drawn, start=1)
            if one is not None and uniform("shows", self.seed, *one, item) < _SHOWS
        ]
        images = shown or [1]
        return {
            "reasoning": f"The pictures {'repeat' if scored else 'do not repeat'} what {item} asks about.",
            "images": images if scored else [],
            "score": int(scored),
        }
