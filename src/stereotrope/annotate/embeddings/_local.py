"""Encoders through transformers: the one module that imports torch and transformers, when one is loaded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from numpy.typing import NDArray
from PIL import Image
from safetensors import SafetensorError
from transformers.utils import logging

from stereotrope.annotate.embeddings.vectors import Pixels
from stereotrope.errors import ModelUnusable

_MODELS = {"clip": "CLIPModel", "siglip": "SiglipModel"}
_PROCESSORS = {
    "clip": ("CLIPImageProcessorPil", "CLIPImageProcessor"),
    "siglip": ("SiglipImageProcessorPil", "SiglipImageProcessor"),
}
"""With Pillow, wherever it runs: torchvision resizes to slightly other pixels. Older versions have the second
name only, for the same."""


_UNREADABLE = (
    *(OSError, ValueError, ImportError, LookupError, RuntimeError, SafetensorError, UnpicklingError),
    *(AttributeError, TypeError, ArithmeticError, MemoryError, StrictDataclassError),
)
"""What a folder whose files are torn, of another shape or of another kind can raise."""
_FEWEST = 0.1
"""Share of a model's words that its tokenizer knows at least; one whose file is gone has its marks only."""
_NO_CODE = {"trust_remote_code": False}
"""Code that lies beside a model is never run, and nobody is asked whether it may."""


def load(kind: str, model: str | Path, *, revision: str | None, device: str) -> LocalModel:
    """Load a model; the parameters are those of an encoder.

    Raises ModelUnusable: It is not there, is of another kind, lacks weights or words, needs code of its own,
        cannot encode a grey picture and a word, or the device is not there.
    """
    written = f"{kind}:{model}"
    device = _device(device, written)
    here = isinstance(model, Path)
    where = str(model)
    options: dict[str, Any] = {"local_files_only": True} if here else {"revision": revision or "main"}
    try:
        config = transformers.AutoConfig.from_pretrained(where, **options, **_NO_CODE)
        if config.model_type != kind:
            raise ModelUnusable(
                f"encoder {written!r}: is a model of the kind {config.model_type!r}; name a "
                f"{kind} model, or begin the entry with its kind"
            )
        with _without_bars():
            loaded, told = getattr(transformers, _MODELS[kind]).from_pretrained(
                where, dtype=torch.float32, output_loading_info=True, **options
            )
        there = next(each for each in _PROCESSORS[kind] if hasattr(transformers, each))
        processor = getattr(transformers, there).from_pretrained(where, **options)
        tokenizer = transformers.AutoTokenizer.from_pretrained(where, **options, **_NO_CODE)
    except _UNREADABLE as error:
        found = _said(error)
        raise ModelUnusable(
            f"encoder {written!r}: cannot be loaded ({found}); check its name and the network, or "
            "give a folder that holds it"
        ) from error
    if lacking := sorted(told["missing_keys"]):
        raise ModelUnusable(
            f"encoder {written!r}: {len(lacking)} of its weights are missing ({lacking[0]} …), so "
            "that its vectors would be chance; fetch the model again"
        )
    known, of = len(tokenizer), int(config.text_config.vocab_size)
    if known < _FEWEST * of:
        raise ModelUnusable(
            f"encoder {written!r}: its tokenizer knows {known:,} of {of:,} words, so that vectors of "
            "texts would be chance; fetch the model again, with its tokenizer.json"
        )
    made = LocalModel(written, loaded.eval().to(device), processor, tokenizer, device)
    made.pictures([np.full((8, 12, 3), 128, np.uint8)])
    made.texts(["a"])
    return made


class LocalModel:
    """A CLIP or SigLIP model with what prepares pictures and texts for it."""

    def __init__(self, written: str, model: Any, processor: Any, tokenizer: Any, device: str) -> None:
        self._written = written
        self._model, self._processor, self._tokenizer, self._device = model, processor, tokenizer, device
        self._most = int(model.config.text_config.max_position_embeddings)

    def pictures(self, pixels: Sequence[Pixels]) -> NDArray[np.float32]:
        """Vectors of pictures, shape (n, d)."""
        images = [Image.fromarray(one) for one in pixels]
        with self._told("pictures"), torch.inference_mode():
            prepared = self._processor(images=images, return_tensors="pt")
            out = self._model.get_image_features(pixel_values=prepared["pixel_values"].to(self._device))
            return _vectors(out)

    def texts(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[int], int]:
        """Vectors of texts, their lengths in tokens, and the most that the model reads.

        Every text is padded to that length, so that its vector hangs on no other text.
        """
        with self._told("texts"), torch.inference_mode():
            whole = self._tokenizer(list(texts), verbose=False)["input_ids"]
            prepared = self._tokenizer(
                list(texts), padding="max_length", truncation=True, max_length=self._most, return_tensors="pt"
            )
            out = self._model.get_text_features(
                **{name: value.to(self._device) for name, value in prepared.items()}
            )
            return _vectors(out), [len(ids) for ids in whole], self._most

    @contextlib.contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Turn what goes wrong inside the model into one message."""
        try:
            yield
        except _UNREADABLE as error:
            found = _said(error)
            hint = "write a smaller `batch:`" if "memory" in found.lower() else "check the files of the model"
            raise ModelUnusable(
                f"encoder {self._written!r}: cannot encode {what} ({found}); {hint}"
            ) from error


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def _vectors(out: Any) -> NDArray[np.float32]:
    """Features of either version of transformers: since 5 they are a field of an object."""
    pooled = out if isinstance(out, torch.Tensor) else out.pooler_output
    return np.asarray(pooled.float().cpu().numpy(), np.float32)


def _device(device: str, written: str) -> str:
    there = torch.cuda.is_available()
    if device == "auto":
        return "cuda" if there else "cpu"
    if device.startswith("cuda"):
        number = int(device.partition(":")[2] or 0)
        if not there or number >= torch.cuda.device_count():
            raise ModelUnusable(
                f"encoder {written!r}: there is no device {device!r} here; write device: auto"
            )
    return device


@contextlib.contextmanager
def _without_bars() -> Iterator[None]:
    """Keep the bars of transformers off the terminal, which has its own."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
