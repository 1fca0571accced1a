"""Sentence encoders on this computer; torch and transformers are loaded when one first encodes."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from stereotrope.clients import Expectation
from stereotrope.clients.local import SENTENCES, model_identity, model_place, require_local
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Name, Options, Text
from stereotrope.inputs.serving import Device

LOCAL = "transformers:"
"""What a name of a model begins with that is read here."""


class LocalModelOptions(Options):
    """A sentence encoder on this computer, ``transformers:`` and its name on the hub or a folder."""

    model: Text
    name: Name | None = None
    version: Text | None = None
    device: Device = "auto"
    revision: Text | None = None


class LocalSentences:
    """Gives texts vectors by a model on this computer, as a client of an endpoint does; costs nothing.

    model: A folder as sentence-transformers has it, or a name on the Hugging Face hub.
    """

    concurrency = 1

    def __init__(self, options: LocalModelOptions, context: Context) -> None:
        name, self._revision, self._device = options.model, options.revision, options.device
        self._what = f"encoder {name!r}"
        self.model: str | Path = model_place(
            name.removeprefix(LOCAL), context.folder, options.revision, self._what
        )

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """What decides the vectors: of a folder its files, of a name on the hub that and the revision."""
        said, digests = model_identity(self.model, self._revision, self._what, SENTENCES)
        return {**said, "digests": [one.hex() for one in digests]}

    @cached_property
    def _loaded(self) -> Any:
        from stereotrope.design.factors._sentences import PooledModel  # noqa: PLC0415

        return PooledModel(self.model, revision=self._revision, device=self._device, what=self._what)

    def require(self) -> None:
        """Refuse what cannot work here; loads nothing.

        Raises UsageError: torch or transformers is not installed, or the folder holds no sentence encoder.
        """
        require_local(self.model, self._what, index=SENTENCES)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vector of each text.

        Raises ModelUnusable: The model cannot be loaded, or cannot encode.
        """
        return await asyncio.to_thread(lambda: self._loaded.vectors(texts))

    def expect(self, texts: Sequence[str], batch: int) -> Expectation | None:
        """Say that no endpoint is asked."""
        return None

    async def close(self) -> None:
        """Do nothing: nothing is connected."""
