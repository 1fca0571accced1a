"""What all that loads models through transformers shares; imports torch and transformers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import torch
from transformers.utils import logging

from stereotrope.errors import ModelUnusable, StereotropeError

NO_CODE = {"trust_remote_code": False}
"""Code that lies beside a model is never run, and nobody is asked whether it may."""
_NEVER = {
    "custom code": "it needs code of its own, which is never run; take a model that transformers knows",
    "Weights only load": "its weights are a pickle with more than numbers, never opened; take safetensors",
}
"""What an error holds that advises to let a model run code → what is said instead."""
_TORN = "files are missing or torn; fetch the model again"
_FEWEST = 0.1
"""Share of a model's words that its tokenizer knows at least."""
_ALONE = threading.RLock()
"""Held while a model is loaded: what transformers changes of torch meanwhile, all threads see."""


def cause(error: BaseException) -> str:
    """What an error says, on one line."""
    return " ".join(str(error).split())[:300] or type(error).__name__


@contextlib.contextmanager
def loading(what: str, *, here: bool = False) -> Iterator[None]:
    """Turn what goes wrong while a model is loaded into one message, and keep all else off the terminal.

    One model is loaded at a time; ``here`` says that it lies in a folder.
    """
    _ALONE.acquire()
    shown, told = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity(logging.CRITICAL)  # its tables of weights hold what the file calls them
    try:
        yield
    except StereotropeError:
        raise
    # What a folder of torn or foreign files raises has no base of its own.
    except Exception as error:
        found = cause(error)
        for held, said in _NEVER.items():
            if held in found:
                raise ModelUnusable(f"{what}: cannot be loaded: {said}") from None
        hint = _TORN if here else "check its name and the network, or give a folder that holds it"
        raise ModelUnusable(f"{what}: cannot be loaded ({found}); {hint}") from error
    finally:
        logging.set_verbosity(told)
        if shown:
            logging.enable_progress_bar()
        _ALONE.release()


@contextlib.contextmanager
def computing(what: str) -> Iterator[None]:
    """Turn what goes wrong inside a model into one message; ``what`` ends in what cannot be done."""
    try:
        yield
    except StereotropeError:
        raise
    except Exception as error:
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


def require_words(known: int, of: int, what: str) -> None:
    """Refuse a model whose tokenizer knows few of its words: one whose file is gone has its marks only."""
    if known < _FEWEST * of:
        raise ModelUnusable(
            f"{what}: its tokenizer knows {known:,} of {of:,} words, so that what "
            "it makes of texts would be chance; fetch the model again, with its tokenizer.json"
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
