"""From the line of an audit file to a generator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.generate.calibrated import CalibratedGenerator
from stereotrope.generate.folder import FolderGenerator
from stereotrope.generate.request import Generator

__all__ = ["KINDS", "Spec", "create"]

Spec = str | Mapping[str, Any]


def create(spec: Spec, *, relative_to: Path | None = None) -> Generator:
    """Make the generator that a spec describes.

    Parameters
    ----------
    spec
        A kind (``"calibrated"``), or a mapping whose one kind key may carry a path and whose other
        keys are that kind's options (``{"calibrated": "truth.yaml", "name": "ours", "size": 256}``).
    relative_to
        Folder that paths in the spec start from; the current one where None.

    Raises
    ------
    UsageError
        The kind or an option is unknown (the nearest known one is named), two kinds stand in one spec,
        or an option's value does not fit.
    """
    options: dict[str, Any] = {spec: None} if isinstance(spec, str) else dict(spec)
    kinds = [key for key in options if key in _MAKERS]
    if not kinds:
        found = spec if isinstance(spec, str) else ", ".join(map(str, options))
        raise UsageError(
            f"generator {found!r} is unknown{_nearest(options, _MAKERS)}; known: {', '.join(_MAKERS)}"
        )
    if len(kinds) > 1:
        raise UsageError(f"a generator has one kind, found {' and '.join(kinds)}; give each its own entry")
    kind = kinds[0]
    return _MAKERS[kind](options.pop(kind), options, relative_to or Path())


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
    return FolderGenerator.from_spec({"folder": base / path if isinstance(path, str) else path, **options})


def _nearest(found: Any, known: Any) -> str:
    return next((f" ({question})" for name in found if (question := did_you_mean(name, known))), "")


_MAKERS: Mapping[str, Callable[[Any, dict[str, Any], Path], Generator]] = {
    "calibrated": _calibrated,
    "folder": _folder,
}
"""Kind → how its value and options become a generator."""

KINDS: Mapping[str, str] = {
    "calibrated": "draws cups, cars, clocks, sofas and more with a planted, documented bias; offline",
    "folder": "takes pictures made elsewhere, with metadata (CSV, JSON lines, Hugging Face imagefolder)",
}
"""Kind → what it is, in one line."""
