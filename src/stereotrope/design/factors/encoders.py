"""Sentence encoders: what gives phrases the vectors by which they are clustered."""

import hashlib
import importlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from stereotrope.clients import EmbeddingClient, Expectation
from stereotrope.design.factors.clustering import Vectors, no_vector, unit_vectors
from stereotrope.design.factors.sentences import LOCAL, LocalModelOptions, LocalSentences
from stereotrope.errors import ModelError, UsageError
from stereotrope.inputs.asking import STAGE, Asking
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Text, options_of, shorten
from stereotrope.inputs.serving import ModelOptions
from stereotrope.plugins import version_of
from stereotrope.stats.vectors import pack, unit_vector, unpack

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


class EmbeddingAsker:
    """Asks for vectors of texts, many at once."""

    stage = STAGE
    batch = 64

    def __init__(self, client: EmbeddingClient | LocalSentences, name: str, version: str | None) -> None:
        self.name, self._client, self._version = name, client, version

    @property
    def fingerprint(self) -> str:
        """Model, parameters and version, as text."""
        return json.dumps(["embeddings", self._client.parameters, self._version], sort_keys=True)

    @property
    def concurrency(self) -> int:
        """As many requests as it may be asked at once."""
        return self._client.concurrency

    def key_of(self, text: str) -> str:
        """Content key of a text's vector by this model."""
        return hashlib.sha256(json.dumps([self.fingerprint, text]).encode()).hexdigest()

    async def process(self, text: str) -> dict[str, Any] | ModelError:
        """The vector of one text."""
        return (await self.process_batch([text]))[0]

    async def process_batch(self, texts: Sequence[str]) -> list[dict[str, Any] | ModelError]:
        """The vectors of texts, as text; an error in the place of one that cannot be compared.

        Raises ModelError, ModelUnusable, BudgetError: As :meth:`~stereotrope.clients.EmbeddingClient.embed`.
        """
        found = [unit_vector(row) for row in await self._client.embed(texts)]
        lengths = Counter(len(one) for one in found if one is not None)
        usual = max(lengths, key=lengths.__getitem__, default=0)
        return [
            ModelError(no_vector(self.name, text))
            if one is None or len(one) != usual
            else {"vector": pack(one)}
            for text, one in zip(texts, found, strict=True)
        ]

    def payload(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the ledger keeps."""
        return result

    def expect(self, texts: Sequence[str]) -> Expectation | None:
        """Say what asking takes."""
        return self._client.expect(texts, self.batch)

    async def close(self) -> None:
        """Let go of the connections of the running event loop."""
        await self._client.close()


class AskedEncoder(SentenceEncoder):
    """Vectors of a model, at an OpenAI-compatible endpoint or on this computer, each asked for once."""

    def __init__(
        self, written: str, asker: EmbeddingAsker, require: Callable[[], None] = lambda: None
    ) -> None:
        self.name, self.asker, self._require = written, asker, require

    def require(self) -> None:
        """Refuse what cannot work here."""
        self._require()

    def vectors(self, texts: Sequence[str], ask: Asking) -> Vectors:
        """Unit vectors of texts."""
        keys = {text: self.asker.key_of(text) for text in texts}
        found = ask(self.asker, {key: text for text, key in keys.items()})
        packed = [found[keys[text]].get("vector") for text in texts]
        return unit_vectors([row and unpack(row) for row in packed], texts, self.name)


class SentenceModel(ModelOptions):
    """A model that gives vectors: its name as ``provider:model``, and what else an endpoint takes."""

    decided: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("input", "encoding_format", "model"), "the texts decide it; remove it"
    )

    model: Text


def sentence_encoder(spec: str | Mapping[str, Any], context: Context) -> SentenceEncoder:
    """Make the encoder that an audit file names: ``wordllama``, a model, or a mapping with one as ``model``.

    Raises UsageError: There is none of that name, or an option cannot be used.
    """
    if spec in (STATIC, {"model": STATIC}):
        return StaticEncoder()
    if isinstance(spec, str) and ":" not in spec:
        raise UsageError(
            f"encoder {shorten(spec)} is unknown; write encoder: {STATIC}, a model on this computer such as "
            f"{LOCAL}sentence-transformers/all-mpnet-base-v2, or one of an endpoint such as "
            "openai:text-embedding-3-small"
        )
    given = {"model": spec} if isinstance(spec, str) else spec
    if str(given.get("model")).startswith(LOCAL):
        local = options_of(LocalModelOptions, given, "encoder", example=f"encoder: {LOCAL}./models/minilm")
        model = LocalSentences(local, context)
        asker = EmbeddingAsker(model, local.name or local.model, local.version)
        return AskedEncoder(local.model, asker, model.require)
    options = options_of(SentenceModel, given, "encoder", example="encoder: openai:text-embedding-3-small")
    served = options.served(options.model)
    client = EmbeddingClient(
        served.endpoint, served.model, account=context.account, price=served.price, extra=served.parameters
    )
    asker = EmbeddingAsker(client, options.name or served.model, options.version)
    return AskedEncoder(options.model, asker)
