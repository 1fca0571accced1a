"""Models on this computer: a folder that holds one, or a name on the hub; nothing heavy is imported here."""

import hashlib
import importlib.util
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from stereotrope.annotate.picture import Picture
from stereotrope.errors import UsageError
from stereotrope.inputs.options import Text
from stereotrope.pictures import PIXELS_AT_ONCE

LOCAL_PACKAGES = ("torch", "transformers")
DECODING_THREADS = 4
_DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?")
_OF_A_MODEL = frozenset((".json", ".txt", ".model", ".safetensors", ".bin", ".jinja"))


def _device(value: str) -> str:
    if not _DEVICE.fullmatch(value):
        raise ValueError("must be auto, cpu, cuda or cuda:0 …")
    return value


Device = Annotated[Text, AfterValidator(_device)]
"""``cpu``, ``cuda``, ``cuda:1`` …, or ``auto``: the GPU where there is one."""


def model_place(model: str, folder: Path, revision: str | None, what: str) -> str | Path:
    """Return where a model is that an entry names: a path begins with ``.``, ``/`` or ``~``; else its name.

    Raises UsageError: A folder is given a revision.
    """
    if not model.startswith((".", "/", "~")):
        return model
    if revision is not None:
        raise UsageError(f"{what}: a folder has no revision; remove `revision:`")
    return folder / Path(model).expanduser()


def model_identity(model: str | Path, revision: str | None, what: str) -> tuple[dict[str, Any], list[bytes]]:
    """Return what a fingerprint says of a model: of a folder its files, of a name that and the revision.

    Raises UsageError: The folder is not there.
    """
    if not isinstance(model, Path):
        return {"model": model, "revision": revision}, []
    there = sorted(model_folder(model, what).iterdir())
    files = [file for file in there if file.suffix in _OF_A_MODEL and file.is_file()]
    return {"files": [file.name for file in files]}, list(map(file_digest, files))


def model_folder(model: Path, what: str) -> Path:
    """Return the folder; raises :class:`UsageError` where it holds no model."""
    if not (model / "config.json").is_file():
        raise UsageError(
            f"{what}: no model is there (config.json is missing); give the folder that "
            "`save_pretrained` wrote, or a name on the Hugging Face hub"
        )
    return model


def require_local(model: str | Path, what: str) -> None:
    """Raise :class:`UsageError` where torch or transformers, or the folder, is not there; loads nothing."""
    if absent := [name for name in LOCAL_PACKAGES if importlib.util.find_spec(name) is None]:
        raise UsageError(
            f"{what} needs {' and '.join(absent)}, not installed here; install the "
            "extra `local`: pip install 'stereotrope[local]'"
        )
    if isinstance(model, Path):
        model_folder(model, what)


def file_digest(file: Path) -> bytes:
    """SHA-256 of a file."""
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").digest()


def picture_parts(shown: Sequence[Picture]) -> Iterator[list[Picture]]:
    """Parts of a batch of pictures of which each fits into memory at once."""
    part: list[Picture] = []
    pixels = 0
    for picture in shown:
        pixels += picture.n_pixels
        if part and pixels > PIXELS_AT_ONCE:
            yield part
            part, pixels = [], picture.n_pixels
        part.append(picture)
    yield part
