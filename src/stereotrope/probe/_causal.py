"""Causal language models through transformers; the module that imports torch when one is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from stereotrope.clients._torch import NO_CODE, computing, device_of, loading, require_weights
from stereotrope.clients.local import Precision


class CausalModel:
    """A model of ``AutoModelForCausalLM`` that says which tokens are likeliest to follow.

    Raises ModelUnusable: It is not there, is of another kind, lacks weights, needs code of its own, or the
        device is not there.
    """

    def __init__(
        self,
        model: str | Path,
        most: int,
        *,
        revision: str | None,
        device: str,
        precision: Precision,
        what: str,
    ) -> None:
        self._what, self._most, self._device = what, most, device_of(device, what)
        options: dict[str, Any] = {"revision": revision or "main"}
        if isinstance(model, Path):
            options = {"local_files_only": True}
        with loading(what, here=isinstance(model, Path)):
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(str(model), **options, **NO_CODE)
            loaded, told = transformers.AutoModelForCausalLM.from_pretrained(
                str(model), dtype=precision, output_loading_info=True, **options, **NO_CODE
            )
        require_weights(told["missing_keys"], what, "proposals")
        self._model = loaded.eval().to(self._device)

    def begin(self, text: str) -> tuple[int, ...]:
        """Tokens of a text, with what the model puts before it."""
        return tuple(self._tokenizer(text)["input_ids"])

    def after(self, sequences: Sequence[tuple[int, ...]]) -> list[list[int]]:
        """The likeliest next tokens of sequences of one length; of its marks none."""
        with computing(f"{self._what}: cannot go on"), torch.inference_mode():
            logits = self._model(input_ids=torch.tensor(sequences, device=self._device)).logits[:, -1].float()
            logits[:, self._tokenizer.all_special_ids] = float("-inf")
            logits[:, len(self._tokenizer) :] = float("-inf")
            most = min(self._most, int(torch.isfinite(logits).sum(dim=1).min()))
            return [list(map(int, row)) for row in logits.topk(most, dim=1).indices.cpu()]

    def text(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without marks."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))
