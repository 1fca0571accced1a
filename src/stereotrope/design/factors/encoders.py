"""Sentence encoders: what gives phrases the vectors by which they are clustered."""

import hashlib
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from stereotrope.design.asking import Asking
from stereotrope.design.factors.clustering import Vectors, unit_vectors
from stereotrope.errors import UsageError
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import shorten
from stereotrope.plugins import version_of

STATIC = "wordllama"


class SentenceEncoder:
    """Gives texts vectors of one space; ``name`` is as the audit file has it."""

    name: str

    @property
    def described(self) -> str:
        """What it is, to the version."""
        return self.name

    def require(self) -> None:
        """Raise :class:`~stereotrope.errors.UsageError` where it cannot work here."""

    def vectors(self, texts: Sequence[str], ask: Asking) -> Vectors:
        """Unit vectors of texts, shape (n, d)."""
        raise NotImplementedError


class StaticEncoder(SentenceEncoder):
    """Static embeddings of wordllama: the mean of a phrase's token vectors, on this computer, at once."""

    name = STATIC

    @property
    def described(self) -> str:
        """Version of the package, and part of the hash of its vectors."""
        weights, _ = _static().files()
        digest = hashlib.sha256(weights.read_bytes()).hexdigest()
        return f"{STATIC} {version_of(STATIC)} ({weights.stem}, {digest[:12]})"

    def require(self) -> None:
        """Refuse to work without the package."""
        try:
            _static().files()
        except (FileNotFoundError, ImportError):
            raise UsageError(
                "encoder wordllama needs the package of that name with its vectors; run "
                "`pip install 'stereotrope[clusters]'`"
            ) from None

    def vectors(self, texts: Sequence[str], ask: Asking) -> Vectors:
        """Unit vectors of texts."""
        return unit_vectors(_static().vectors(list(texts)), texts, self.name)


def _static() -> Any:
    return importlib.import_module("stereotrope.design.factors._static")


def sentence_encoder(spec: str | Mapping[str, Any], context: Context) -> SentenceEncoder:
    """Make the encoder that an audit file names.

    Raises UsageError: There is none of that name.
    """
    if spec == STATIC:
        return StaticEncoder()
    raise UsageError(f"encoder {shorten(spec)} is unknown; write encoder: {STATIC}")
