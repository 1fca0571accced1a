"""Encoders through transformers: the module that imports it when an encoder is loaded."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from PIL import Image

from stereotrope.annotate.embeddings.vectors import PICTURES_ONLY, Pixels
from stereotrope.annotate.picture import DECODING_THREADS
from stereotrope.clients._torch import NO_CODE, computing, device_of, loading, require_weights, require_words
from stereotrope.errors import ModelUnusable

_MODELS = {"clip": "CLIPModel", "siglip": "SiglipModel", "dinov2": "Dinov2Model"}
_PROCESSORS = {
    "clip": ("CLIPImageProcessorPil", "CLIPImageProcessor"),
    "siglip": ("SiglipImageProcessorPil", "SiglipImageProcessor"),
    "dinov2": ("BitImageProcessorPil", "BitImageProcessor"),
}
"""With Pillow, wherever it runs: torchvision resizes to slightly other pixels. Older versions have the second
name only, for the same."""


def load(kind: str, model: str | Path, *, revision: str | None, device: str) -> LocalModel:
    """Load a model; the parameters are those of an encoder.

    Raises ModelUnusable: It is not there, is of another kind, lacks weights or words, needs code of its own,
        cannot encode a grey picture and a word, or the device is not there.
    """
    reads_texts = kind not in PICTURES_ONLY
    written = f"{kind}:{model}"
    what = f"encoder {written!r}"
    device = device_of(device, what)
    here = isinstance(model, Path)
    where = str(model)
    options: dict[str, Any] = {"local_files_only": True} if here else {"revision": revision or "main"}
    with loading(what, here=here):
        config = transformers.AutoConfig.from_pretrained(where, **options, **NO_CODE)
        if config.model_type != kind:
            raise ModelUnusable(
                f"{what}: is a model of the kind {config.model_type!r}; name a "
                f"{kind} model, or begin the entry with its kind"
            )
        loaded, told = getattr(transformers, _MODELS[kind]).from_pretrained(
            where, dtype=torch.float32, output_loading_info=True, **options
        )
        there = next(each for each in _PROCESSORS[kind] if hasattr(transformers, each))
        processor = getattr(transformers, there).from_pretrained(where, **options)
        tokenizer = None
        if reads_texts:
            tokenizer = transformers.AutoTokenizer.from_pretrained(where, **options, **NO_CODE)
    require_weights(told["missing_keys"], what, "vectors")
    if tokenizer is not None:
        require_words(len(tokenizer), int(config.text_config.vocab_size), what)
    made = LocalModel(written, loaded.eval().to(device), processor, tokenizer, device)
    made.pictures([np.full((8, 12, 3), 128, np.uint8)])
    if reads_texts:
        made.texts(["a"])
    return made


class LocalModel:
    """A model with what prepares pictures and, where it reads them, texts for it."""

    def __init__(self, written: str, model: Any, processor: Any, tokenizer: Any, device: str) -> None:
        self._what = f"encoder {written!r}"
        self._model, self._processor, self._tokenizer, self._device = model, processor, tokenizer, device
        self._turn = threading.Lock()
        self._most = int(model.config.text_config.max_position_embeddings) if tokenizer is not None else 0

    def pictures(self, pixels: Sequence[Pixels]) -> NDArray[np.float32]:
        """Vectors of pictures, shape (n, d)."""
        with computing(f"{self._what}: cannot encode pictures"):
            with ThreadPoolExecutor(DECODING_THREADS) as pool:
                prepared = torch.cat(list(pool.map(self._prepared, pixels)))
            look = self._model if self._tokenizer is None else self._model.get_image_features
            with self._turn, torch.inference_mode():
                return _vectors(look(pixel_values=prepared.to(self._device)))

    def _prepared(self, pixels: Pixels) -> torch.Tensor:
        """A picture as the model takes it, shape (1, 3, height, width)."""
        return self._processor(images=[Image.fromarray(pixels)], return_tensors="pt")["pixel_values"]

    def texts(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[int], int]:
        """Vectors of texts, their lengths in tokens, and the most that the model reads.

        Every text is padded to that length, so that its vector hangs on no other text.
        """
        with computing(f"{self._what}: cannot encode texts"), torch.inference_mode():
            whole = self._tokenizer(list(texts), verbose=False)["input_ids"]
            prepared = self._tokenizer(
                list(texts), padding="max_length", truncation=True, max_length=self._most, return_tensors="pt"
            )
            given = {name: value.to(self._device) for name, value in prepared.items()}
            with self._turn:
                vectors = _vectors(self._model.get_text_features(**given))
            return vectors, [len(ids) for ids in whole], self._most


def _vectors(out: Any) -> NDArray[np.float32]:
    """Features of either version of transformers: since 5 they are a field of an object."""
    pooled = out if isinstance(out, torch.Tensor) else out.pooler_output
    return np.asarray(pooled.float().cpu().numpy(), np.float32)
