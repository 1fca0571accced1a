"""What all that loads models through transformers shares; imports torch and transformers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pickle import UnpicklingError

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from transformers.utils import logging

from stereotrope.errors import ModelUnusable

UNREADABLE = (
    *(OSError, ValueError, ImportError, LookupError, RuntimeError, SafetensorError, UnpicklingError),
    *(AttributeError, TypeError, ArithmeticError, MemoryError, StrictDataclassError),
)
"""What a folder whose files are torn, of another shape or of another kind can raise."""
NO_CODE = {"trust_remote_code": False}
"""Code that lies beside a model is never run, and nobody is asked whether it may."""


def cause(error: BaseException) -> str:
    """What an error says, on one line."""
    return " ".join(str(error).split())[:300] or type(error).__name__


@contextlib.contextmanager
def loading(what: str) -> Iterator[None]:
    """Turn what goes wrong while a model is loaded into one message, and keep bars off the terminal."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    except UNREADABLE as error:
        raise ModelUnusable(
            f"{what}: cannot be loaded ({cause(error)}); check its name and the network, or "
            "give a folder that holds it"
        ) from error
    finally:
        if shown:
            logging.enable_progress_bar()


@contextlib.contextmanager
def computing(what: str) -> Iterator[None]:
    """Turn what goes wrong inside a model into one message; ``what`` ends in what cannot be done."""
    try:
        yield
    except UNREADABLE as error:
        found = cause(error)
        hint = "write a smaller `batch:`" if "memory" in found.lower() else "check the files of the model"
        raise ModelUnusable(f"{what} ({found}); {hint}") from error


def require_weights(missing: set[str] | list[str], what: str, of: str) -> None:
    """Refuse a model that lacks weights: transformers would draw them at random."""
    if lacking := sorted(missing):
        raise ModelUnusable(
            f"{what}: {len(lacking)} of its weights are missing ({lacking[0]} …), so "
            f"that its {of} would be chance; fetch the model again"
        )


def device_of(device: str, what: str) -> str:
    """Return the device that ``auto`` means; raises :class:`ModelUnusable` where one is not there."""
    there = torch.cuda.is_available()
    if device == "auto":
        return "cuda" if there else "cpu"
    if device.startswith("cuda"):
        number = int(device.partition(":")[2] or 0)
        if not there or number >= torch.cuda.device_count():
            raise ModelUnusable(f"{what}: there is no device {device!r} here; write device: auto")
    return device
