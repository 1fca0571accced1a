"""From the line of an audit file to a generator."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stereotrope.clients import PROVIDERS, Account
from stereotrope.errors import UsageError, did_you_mean
from stereotrope.generate.calibrated import CalibratedGenerator
from stereotrope.generate.contract import Generator
from stereotrope.generate.folder import FolderGenerator
from stereotrope.generate.labelled import LabelledGenerator
from stereotrope.generate.presets import expand
from stereotrope.generate.remote import create_remote

__all__ = ["KINDS", "Spec", "create"]

Spec = str | Mapping[str, Any]


def create(spec: Spec, *, relative_to: Path | str | None = None, account: Account | None = None) -> Generator:
    """Make the generator that a spec describes.

    Parameters
    ----------
    spec
        A kind (``"calibrated"``), a model (``"openai:gpt-image-1"``), or a mapping whose one kind key may
        carry a path or a model and whose other keys are that kind's options
        (``{"calibrated": "truth.yaml", "name": "ours", "size": 256}``,
        ``{"images": "openai:sd35", "base_url": "http://localhost:8091/v1", "steps": 30}``,
        ``{"preset": "soda/gpt-image-1", "quality": "low"}``).
    relative_to
        Folder that paths in the spec start from; the current one where None.
    account
        What the calls of a remote model are booked on; its own where None.

    Raises
    ------
    UsageError
        The kind, the provider or an option is unknown (the nearest known one is named), two kinds stand
        in one spec, or an option's value does not fit.
    """
    if isinstance(spec, str) and ":" in spec:
        return create_remote({"images": spec}, account=account)
    options: dict[str, Any] = {spec: None} if isinstance(spec, str) else dict(spec)
    if "preset" in options:
        options = expand(options)
    kinds = [key for key in options if key in _MAKERS or key == "images"]
    if not kinds:
        found = spec if isinstance(spec, str) else ", ".join(map(str, options))
        known = (*_MAKERS, "images", "preset")
        raise UsageError(
            f"generator {found!r} is unknown{_nearest(options, known)}; known: {', '.join(known)}, and "
            f"PROVIDER:MODEL with one of {', '.join(PROVIDERS)}"
        )
    if len(kinds) > 1:
        raise UsageError(f"a generator has one kind, found {' and '.join(kinds)}; give each its own entry")
    kind = kinds[0]
    if kind == "images":
        return create_remote(options, account=account)
    return _MAKERS[kind](options.pop(kind), options, Path(relative_to or "."))


def _calibrated(path: Any, options: dict[str, Any], base: Path) -> Generator:
    known = ("format", "name", "quality", "refuse", "size")
    for key in options:
        if key not in known:
            raise UsageError(
                f"generator calibrated: {key!r} is no option of it{_nearest([key], known)}; "
                f"known: {', '.join(known)}"
            )
    if path is not None and not isinstance(path, (str, Path)):
        raise UsageError(
            f"generator calibrated: the truth file must be a path, found {path!r}; leave it empty for our own"
        )
    return CalibratedGenerator(truth=None if path is None else base / path, **options)


def _folder(path: Any, options: dict[str, Any], base: Path) -> Generator:
    if not isinstance(path, str | Path):
        return FolderGenerator.from_spec({"folder": path, **options})
    metadata = options.get("metadata")
    if isinstance(metadata, str | Path) and os.path.isdir(base / path):
        options = {**options, "metadata": _metadata(str(metadata), str(path), base)}
    return FolderGenerator.from_spec({"folder": base / path, **options})


def _metadata(name: str, folder: str, base: Path) -> Path:
    """The file that lists the pictures: beside the audit file, as other paths are, or in their folder."""
    beside, inside = (base / name).absolute(), (base / folder / name).absolute()
    there = [path for path in (inside, beside) if os.path.isfile(path)]
    if not there:
        raise UsageError(
            f"folder {folder!r}: no metadata file {name!r}, neither beside the audit file ({beside}) nor in "
            f"the folder ({inside}); check the name"
        )
    if len(there) > 1 and not filecmp.cmp(inside, beside, shallow=False):
        raise UsageError(
            f"folder {folder!r}: metadata {name!r} is a file beside the audit file ({beside}) and another "
            f"one in the folder ({inside}); write metadata: {Path(folder, name).as_posix()} for the one in "
            "the folder, or rename or remove the one that is not meant"
        )
    return there[0]


def _labelled(path: Any, options: dict[str, Any], base: Path) -> Generator:
    there = base / path if isinstance(path, str | Path) else path
    return LabelledGenerator.from_spec({"labels": there, **options})


def _nearest(found: Any, known: Any) -> str:
    return next((f" ({question})" for name in found if (question := did_you_mean(name, known))), "")


_MAKERS: Mapping[str, Callable[[Any, dict[str, Any], Path], Generator]] = {
    "calibrated": _calibrated,
    "folder": _folder,
    "labels": _labelled,
}
"""Kind → how its value and options become a generator."""

KINDS: Mapping[str, str] = {
    "calibrated": "draws cups, cars, clocks, sofas and more with a planted, documented bias; offline",
    "folder": "takes pictures made elsewhere, with metadata (CSV, JSON lines, Hugging Face imagefolder)",
    "labels": "takes pictures that are not at hand, as a file lists them; labels made elsewhere count",
    "images": "asks an OpenAI-shaped images endpoint: OpenAI, vLLM-Omni, SGLang, gateways (openai:MODEL)",
    "google": "asks Google's Gemini image models and Imagen (google:MODEL)",
    "replicate": "asks a model on Replicate (replicate:OWNER/NAME)",
    "preset": "asks a model with the parameters of a published audit ({preset: soda/gpt-image-1})",
}
"""Kind → what it is, in one line."""
