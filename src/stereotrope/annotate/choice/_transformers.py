"""Vision-language models through transformers; the module that imports torch when one is loaded."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image

from stereotrope.annotate.choice.told import Told
from stereotrope.annotate.embeddings.vectors import Pixels
from stereotrope.clients._torch import NO_CODE, computing, device_of, loading, require_weights
from stereotrope.clients.local import Precision
from stereotrope.errors import ModelUnusable

_LAST = "logits_to_keep"
"""Of models that need not give the logits of every place."""


class VisionLanguageModel:
    """A model of ``AutoModelForImageTextToText`` with a chat template, asked for one token.

    Raises ModelUnusable: It is not there, is of another kind, lacks weights or a chat template, needs code of
        its own, cannot look at a grey picture, or the device is not there.
    """

    def __init__(
        self, model: str | Path, *, revision: str | None, device: str, precision: Precision, what: str
    ) -> None:
        self._what, self._device = what, device_of(device, what)
        options: dict[str, Any] = {"revision": revision or "main"}
        if isinstance(model, Path):
            options = {"local_files_only": True}
        with loading(what):
            self._processor = transformers.AutoProcessor.from_pretrained(str(model), **options, **NO_CODE)
            loaded, told = transformers.AutoModelForImageTextToText.from_pretrained(
                str(model), dtype=precision, output_loading_info=True, **options, **NO_CODE
            )
        require_weights(told["missing_keys"], what, "answers")
        if not getattr(self._processor, "chat_template", None):
            raise ModelUnusable(
                f"{what}: has no chat template, so that it cannot be asked; take one that was tuned to "
                "follow instructions"
            )
        self._model = loaded.eval().to(self._device)
        self._more = {_LAST: 1} if _LAST in inspect.signature(loaded.forward).parameters else {}
        self._tokens = cache(self._tokens_of)
        self._signs = _signs_of(self._processor.tokenizer)
        self.told(np.full((8, 12, 3), 128, np.uint8), "Yes or no?", ("yes", "no"))

    def told(self, pixels: Pixels | None, text: str, answers: Sequence[str]) -> Told:
        """Say what it is about to answer; a picture stands before the text, in which nothing is a sign."""
        for sign in self._signs:
            text = text.replace(sign, f"{sign[0]} {sign[1:]}")
        shown = [] if pixels is None else [{"type": "image", "image": Image.fromarray(pixels)}]
        asked = [{"role": "user", "content": [*shown, {"type": "text", "text": text}]}]
        with computing(f"{self._what}: cannot be asked"), torch.inference_mode():
            given = self._processor.apply_chat_template(
                asked, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
            ).to(self._device, dtype=self._model.dtype)
            logits = self._model(**given, **self._more).logits[0, -1]
            shares = torch.softmax(logits.double(), dim=-1).cpu().numpy()
        if not np.isfinite(shares).all():
            raise ModelUnusable(f"{self._what}: gives no finite numbers; write `precision: float32`")
        likeliest = self._processor.tokenizer.decode([int(shares.argmax())])
        return Told([float(shares[list(ids)].sum()) for ids in self._tokens(tuple(answers))], likeliest)

    def _tokens_of(self, answers: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
        """Tokens that an answer may begin with: as it is written, as a sentence begins, after a blank."""
        tokenizer = self._processor.tokenizer
        found: dict[str, tuple[int, ...]] = {}
        for answer in answers:
            written = dict.fromkeys((answer, answer.capitalize()))
            firsts = [
                tokenizer.encode(before + each, add_special_tokens=False)[:1]
                for each in written
                for before in ("", " ")
            ]
            ids = dict.fromkeys(one for first in firsts for one in first)
            begun = {one: tokenizer.decode([one]).strip().casefold() for one in ids}
            found[answer] = tuple(
                one for one, start in begun.items() if start and answer.casefold().startswith(start)
            )
        every = [one for ids in found.values() for one in ids]
        if not all(found.values()) or len(set(every)) < len(every):
            raise ModelUnusable(
                f"{self._what}: its tokens do not tell the answers {', '.join(answers)} apart; take another "
                "model"
            )
        return tuple(found.values())


def _signs_of(tokenizer: Any) -> list[str]:
    """Tokens that steer the model, such as “<image>” or the end of a turn: prompts may hold their letters."""
    steering = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
    signs = {str(one).strip() for one in (*tokenizer.all_special_tokens, *steering)}
    return sorted((one for one in signs if len(one) > 1), key=len, reverse=True)
