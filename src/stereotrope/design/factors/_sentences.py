"""Sentence encoders through transformers: the module that imports it when one is loaded."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.utils import cached_file

from stereotrope.clients._torch import (
    NO_CODE,
    computing,
    device_of,
    loading,
    require_weights,
    require_words,
)
from stereotrope.clients.local import SENTENCES
from stereotrope.errors import ModelUnusable

_BATCH = 32
_TRANSFORMER, _POOLING, _READ = "Transformer", "Pooling", ("Transformer", "Pooling", "Normalize")
"""Classes of `modules.json`, the last part of their names. Vectors are compared at unit length anyway."""
_SERVED = "serve it at an endpoint and name that, such as ollama:all-minilm"
_UNUSED = "pooler."
"""What weights begin with that no vector of a token needs; many models come without them."""


def _mode(written: str) -> str:
    """A way of pooling by its name of now, of the two that sentence-transformers has had for each."""
    return written.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")


def _weighted(tokens: torch.Tensor) -> torch.Tensor:
    weights = torch.arange(1, tokens.shape[1] + 1, device=tokens.device, dtype=tokens.dtype)
    return (tokens * weights[:, None]).sum(1) / weights.sum()


_POOLED: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "cls": lambda tokens: tokens[:, 0],
    "lasttoken": lambda tokens: tokens[:, -1],
    "max": lambda tokens: tokens.amax(1),
    "mean": lambda tokens: tokens.mean(1),
    "mean_sqrt_len": lambda tokens: tokens.sum(1) / tokens.shape[1] ** 0.5,
    "weightedmean": _weighted,
}
"""Vectors of tokens, of texts of one length (n, tokens, d), → those of the texts."""


class PooledModel:
    """A model that makes one vector of a text as its `modules.json` says.

    Raises ModelUnusable: It is not there, lacks weights or words, needs code of its own, or is made of parts
        that are not read here; or the device is not there.
    """

    def __init__(self, model: str | Path, *, revision: str | None, device: str, what: str) -> None:
        self._what, self._device = what, device_of(device, what)
        options: dict[str, Any] = {"revision": revision or "main"}
        if isinstance(model, Path):
            options = {"local_files_only": True}
        with loading(what):
            parts = _json(model, SENTENCES, options)
            folder, self._pooled = self._parts(parts, model, options)
            options |= {"subfolder": folder} if folder else {}
            settings = _json(model, "sentence_bert_config.json", options)
            told = _json(model, "config_sentence_transformers.json", options)
            tokenizer = transformers.AutoTokenizer.from_pretrained(str(model), **options, **NO_CODE)
            loaded, said = transformers.AutoModel.from_pretrained(
                str(model), dtype=torch.float32, output_loading_info=True, **options, **NO_CODE
            )
        require_weights([one for one in said["missing_keys"] if not one.startswith(_UNUSED)], what, "vectors")
        require_words(len(tokenizer), int(loaded.config.get_text_config().vocab_size), what)
        self._before = (told.get("prompts") or {}).get(told.get("default_prompt_name"), "")
        self._lowers = bool(settings.get("do_lower_case"))
        reads = getattr(loaded.config, "max_position_embeddings", tokenizer.model_max_length)
        self._most = min(settings.get("max_seq_length") or tokenizer.model_max_length, reads, 10**6)
        self._tokenizer, self._model = tokenizer, loaded.eval().to(self._device)
        self.vectors(["a"])

    def _parts(
        self, parts: Any, model: str | Path, options: Mapping[str, Any]
    ) -> tuple[str, list[Callable[[torch.Tensor], torch.Tensor]]]:
        """Folder of the transformer, and how its tokens become one vector."""
        if not parts:
            raise ModelUnusable(
                f"{self._what}: does not say how its tokens become one vector ({SENTENCES} is missing); take "
                "one that sentence-transformers reads"
            )
        names = [str(one["type"]).rpartition(".")[2] for one in parts]
        if names[:2] != [_TRANSFORMER, _POOLING] or set(names) - set(_READ):
            raise ModelUnusable(
                f"{self._what}: is made of {', '.join(names)}; read are {', '.join(_READ)} here, so {_SERVED}"
            )
        said = _json(model, "config.json", {**options, "subfolder": parts[1]["path"]})
        given = said.get("pooling_mode") or [name for name, on in said.items() if on is True]
        modes = [_mode(one) for one in ([given] if isinstance(given, str) else given)]
        modes = [mode for mode in modes if mode != "include_prompt"]
        if not modes or not set(modes) <= set(_POOLED) or said.get("include_prompt") is False:
            raise ModelUnusable(
                f"{self._what}: makes one vector of its tokens by {', '.join(modes) or 'nothing'}"
                f"{' without its prompt' if said.get('include_prompt') is False else ''}; read are "
                f"{', '.join(_POOLED)} here, so {_SERVED}"
            )
        return parts[0]["path"], [_POOLED[mode] for mode in modes]

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """The vector of each text; what is longer than the model reads is cut.

        Texts of one length are encoded together, so that none is padded and a vector hangs on no other text.
        """
        asked = [self._before + (text.lower() if self._lowers else text) for text in texts]
        found: dict[int, list[float]] = {}
        with computing(f"{self._what}: cannot encode texts"), torch.inference_mode():
            ids = self._tokenizer(asked, truncation=True, max_length=self._most, verbose=False)["input_ids"]
            for length in sorted({len(one) for one in ids}):
                alike = [i for i, one in enumerate(ids) if len(one) == length]
                for part in (alike[at : at + _BATCH] for at in range(0, len(alike), _BATCH)):
                    given = torch.tensor([ids[i] for i in part], device=self._device)
                    tokens = self._model(input_ids=given, attention_mask=torch.ones_like(given))[0]
                    rows = torch.cat([pooled(tokens) for pooled in self._pooled], dim=1)
                    found |= dict(zip(part, rows.cpu().tolist(), strict=True))
        return [found[i] for i in range(len(texts))]


def _json(model: str | Path, name: str, options: Mapping[str, Any]) -> Any:
    """A file of a model; nothing where there is none."""
    file = cached_file(
        str(model),
        name,
        **{**options, "subfolder": options.get("subfolder", "")},
        _raise_exceptions_for_missing_entries=False,
    )
    return {} if file is None else json.loads(Path(file).read_text("utf-8"))
