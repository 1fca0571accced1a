"""Models on this computer: a folder that holds one, or a name on the hub; nothing heavy is imported here."""

import hashlib
import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from stereotrope.errors import UsageError

LOCAL_PACKAGES = ("torch", "transformers")
PIPELINE_PACKAGES = (*LOCAL_PACKAGES, "diffusers", "accelerate")
MODEL, PIPELINE, SENTENCES = "config.json", "model_index.json", "modules.json"
"""Files that say what is in a folder."""
_KINDS = {MODEL: "model", PIPELINE: "pipeline", SENTENCES: "sentence encoder"}
_OF_A_MODEL = frozenset((".json", ".txt", ".model", ".safetensors", ".bin", ".jinja"))

_COMMIT = re.compile("[0-9a-f]{40}")
HubPlace = tuple[str, str | None]
"""Name of a model on the hub, and the revision that is asked for."""

Precision = Literal["auto", "float32", "bfloat16", "float16"]
"""Of a model's numbers; ``auto`` is that of its files."""


def model_place(model: str, folder: Path, revision: str | None, what: str) -> str | Path:
    """Return where a model is that an entry names: a path begins with ``.``, ``/`` or ``~``; else its name.

    Raises UsageError: A folder is given a revision.
    """
    if not model.startswith((".", "/", "~")):
        return model
    if revision is not None:
        raise UsageError(f"{what}: a folder has no revision; remove `revision:`")
    return folder / Path(model).expanduser()


def model_identity(
    model: str | Path, revision: str | None, what: str, index: str = MODEL
) -> tuple[dict[str, Any], list[bytes]]:
    """Return what a fingerprint says of a model: of a folder its files, of a name that and the revision.

    index: File that says what is in the folder; of all but a model the folders in it count too.

    Raises UsageError: The folder is not there.
    """
    if not isinstance(model, Path):
        return {"model": model, "revision": revision}, []
    folder = model_folder(model, what, index)
    there = sorted(folder.iterdir() if index == MODEL else folder.rglob("*"))
    files = [file for file in there if file.suffix in _OF_A_MODEL and file.is_file()]
    return {"files": [file.relative_to(folder).as_posix() for file in files]}, list(map(file_digest, files))


def hub_place(model: str | Path, revision: str | None) -> HubPlace | None:
    """Name and revision of a model on the hub; None of one in a folder."""
    return None if isinstance(model, Path) else (model, revision)


def hub_commit(model: str, revision: str | None) -> str | None:
    """Return the commit of a model on the hub that the cache of this computer holds; None where it has none.

    revision: A branch, tag or commit; the branch ``main`` for None.
    """
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import constants  # noqa: PLC0415

    kept = Path(constants.HF_HUB_CACHE) / f"models--{model.replace('/', '--')}"
    if revision is not None and _COMMIT.fullmatch(revision):
        return revision if (kept / "snapshots" / revision).is_dir() else None
    try:
        commit = (kept / "refs" / (revision or "main")).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return commit if _COMMIT.fullmatch(commit) else None


def model_folder(model: Path, what: str, index: str = MODEL) -> Path:
    """Return the folder; raises :class:`UsageError` where it holds no model."""
    if not (model / index).is_file():
        raise UsageError(
            f"{what}: no {_KINDS[index]} is there ({index} is missing); give the "
            "folder that `save_pretrained` wrote, or a name on the Hugging Face hub"
        )
    return model


def require_local(
    model: str | Path, what: str, packages: Sequence[str] = LOCAL_PACKAGES, index: str = MODEL
) -> None:
    """Raise :class:`UsageError` where a package, or the folder, is not there; loads nothing."""
    if absent := [name for name in packages if importlib.util.find_spec(name) is None]:
        raise UsageError(
            f"{what} needs {' and '.join(absent)}, not installed here; install the "
            "extra `local`: pip install 'stereotrope[local]'"
        )
    if isinstance(model, Path):
        model_folder(model, what, index)


def file_digest(file: Path) -> bytes:
    """SHA-256 of a file."""
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").digest()


@dataclass(frozen=True)
class PipelineSettings:
    """How a text-to-image pipeline on this computer is loaded and called; None leaves it to the pipeline.

    steps, guidance, width, height: Of a picture.
    parameters: Further keywords of the pipeline's call, by its own names.
    precision, variant, revision: Of the model's numbers; of its files (``fp16``); commit or tag on the hub.
    device: As of an entry.
    offload: ``model`` or ``sequential``: parts wait in main memory until they are needed.
    slicing, tiling: Attention and decoding in slices; decoding in tiles, which changes large pictures.
    checked: Whether its safety checker, where it has one, looks at pictures.
    """

    steps: int | None = None
    guidance: float | None = None
    width: int | None = None
    height: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    precision: Precision = "auto"
    variant: str | None = None
    revision: str | None = None
    device: str = "auto"
    offload: Literal["none", "model", "sequential"] = "none"
    slicing: bool = False
    tiling: bool = False
    checked: bool = True

    keywords: ClassVar[Mapping[str, str]] = {
        "num_inference_steps": "steps",
        "guidance_scale": "guidance",
        "width": "width",
        "height": "height",
    }
    """Keyword of a pipeline's call → the setting that gives it."""

    @property
    def keyed(self) -> dict[str, Any]:
        """What settings give a call."""
        return {name: getattr(self, key) for name, key in self.keywords.items()}

    @property
    def call(self) -> dict[str, Any]:
        """Keywords of a call beside texts and noise."""
        given = {name: value for name, value in self.keyed.items() if value is not None}
        return {**given, **self.parameters}
