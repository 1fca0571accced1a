"""Encoders on this computer; torch and transformers are loaded when one first encodes."""

import itertools
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import polars as pl
from pydantic import AfterValidator, Field

from stereotrope.annotate.contract import Annotator, KeptOutcomes
from stereotrope.annotate.embeddings.vectors import PICTURES_ONLY, Pixels, embeddings_rows
from stereotrope.annotate.label import Attributes
from stereotrope.annotate.picture import DECODING_THREADS, Picture, Subject, picture_parts
from stereotrope.annotate.registry import annotator
from stereotrope.clients.local import (
    LOCAL_PACKAGES,
    HubPlace,
    hub_place,
    model_identity,
    model_place,
    require_local,
)
from stereotrope.errors import PictureError, UsageError, did_you_mean
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Name, Options, Text
from stereotrope.inputs.serving import Device
from stereotrope.stats.vectors import Vector, pack, unit_vector, unpack
from stereotrope.tables import fingerprint_of

if TYPE_CHECKING:
    from stereotrope.annotate.embeddings._local import LocalModel

ENCODER_KINDS = ("clip", "siglip", *PICTURES_ONLY)
"""Families of encoders, the part of an entry before the colon."""

BATCH = 16
_AT_ONCE = 2_048
"""Outcomes of the ledger that are in memory together."""
_NO_VECTOR = "the model gives no finite vector"


class Encoded(NamedTuple):
    """What an encoder makes of a text.

    ``vector`` is None where the model gave no finite one; ``tokens`` is how long the text is, ``most`` how
    much of it the model reads.
    """

    vector: Vector | None
    tokens: int
    most: int


class Encoder(Annotator):
    """A model that gives pictures vectors, and texts vectors of the same space, on this computer.

    kind: ``clip`` or ``siglip``; ``dinov2`` has no vectors of texts.
    model: Name on the Hugging Face hub, or a folder that holds the model.
    name: Name in the ``encoder`` column.
    batch: Pictures encoded at once.
    device: ``cpu``, ``cuda``, ``cuda:1`` …, or ``auto``: the GPU where there is one.
    revision: Commit or tag on the hub.

    notes: What the last table of its vectors lacks, one sentence each.
    """

    version = 1
    gives = ("embeddings",)
    stage = "embed"
    libraries = LOCAL_PACKAGES
    concurrency = 2  # pictures are prepared while the model encodes those before them
    batch = BATCH

    def __init__(
        self,
        kind: str,
        model: str | Path,
        *,
        name: str,
        batch: int = BATCH,
        device: str = "auto",
        revision: str | None = None,
    ) -> None:
        self.kind, self.model = kind, model
        self.name: str = name
        self.batch, self.device, self.revision = batch, device, revision
        self.on_disk = model if isinstance(model, Path) else None
        self.attributes: Attributes = {}
        self.notes: list[str] = []
        self.sentences: list[str] = []
        self.reads_texts = kind not in PICTURES_ONLY
        self.parts = (_Texts(self),) if self.reads_texts else ()
        self._guard = threading.Lock()
        self._loaded: LocalModel | None = None

    @property
    def written(self) -> str:
        """The model as an audit file names it."""
        return f"{self.kind}:{self.model}"

    @property
    def _what(self) -> str:
        return f"encoder {self.written!r}"

    def recall(self, fingerprint: str) -> None:
        """Take the fingerprint that a run stored of a model whose folder is not here any more."""
        if isinstance(self.model, Path) and not (self.model / "config.json").is_file():
            self.__dict__["fingerprint"] = fingerprint

    def also_encode(self, sentences: Sequence[str]) -> None:
        """Take sentences that others want vectors of.

        Raises UsageError: The model reads no texts.
        """
        if not self.reads_texts:
            raise UsageError(
                f"{self._what}: has no vectors of sentences; name a CLIP or SigLIP model for them"
            )
        self.sentences = list(dict.fromkeys([*self.sentences, *sentences]))

    @cached_property
    def fingerprint(self) -> str:
        """Short hash of the model: of a folder its files, of a name on the hub that and the revision.

        Raises UsageError: The folder is not there.
        """
        said, digests = model_identity(self.model, self.revision, self._what)
        return fingerprint_of(f"encoder:{self.kind}", self.version, said, *digests)

    @property
    def hub(self) -> HubPlace | None:  # type: ignore[override]
        """Its model, where it is one on the hub."""
        return hub_place(self.model, self.revision)

    def require(self) -> None:
        """Refuse what cannot work, before anything is spent; loads nothing.

        Raises UsageError: torch or transformers is not installed, or the folder holds no model.
        """
        require_local(self.model, self._what)

    def setup(self) -> None:
        """Load the model, once.

        Raises ModelUnusable: It cannot be loaded.
        """
        self._loaded_model()

    def _loaded_model(self) -> "LocalModel":
        with self._guard:
            if self._loaded is None:
                self.require()
                from stereotrope.annotate.embeddings._local import load  # noqa: PLC0415

                self._loaded = load(self.kind, self.model, revision=self.revision, device=self.device)
            return self._loaded

    def process(self, picture: Picture) -> Mapping[str, Any]:
        """Encode one picture."""
        (outcome,) = self.process_batch([picture])
        return outcome

    def process_batch(self, shown: Sequence[Picture]) -> list[Mapping[str, Any]]:
        """Encode pictures together; one that cannot be decoded is an outcome with the reason.

        Very large ones are encoded in parts of the batch, so that not all are in memory at once.
        """
        self.setup()  # first: what cannot be loaded is told before pictures are decoded
        return [outcome for part in picture_parts(shown) for outcome in self._encoded(part)]

    def _encoded(self, shown: Sequence[Picture]) -> list[Mapping[str, Any]]:
        with ThreadPoolExecutor(DECODING_THREADS) as pool:
            decoded = list(pool.map(_pixels, shown))
        vectors = iter(self.encode_pictures([each for each in decoded if not isinstance(each, str)]))
        return [
            {"reason": each, "proven": True} if isinstance(each, str) else _outcome(next(vectors))
            for each in decoded
        ]

    def payload(self, result: Any) -> Mapping[str, Any]:
        """Return the outcome as it is."""
        return dict(result)

    def embed(self, images: pl.DataFrame, prompts: pl.DataFrame, kept: KeptOutcomes) -> pl.DataFrame:
        """Return the vectors of pictures, prompts and sentences in this order; note what has none."""
        seen = self._subjects(images, prompts)
        tables, asked = [embeddings_rows(self.name, [])], list[tuple[str, dict[str, Any]]]()
        while part := list(itertools.islice(seen, _AT_ONCE)):
            keys = [self.key_of(subject) for _, subject in part]
            found = kept(keys)
            outcomes = [(*one, found.get(key, {})) for one, key in zip(part, keys, strict=True)]
            rows = [
                (kind, subject.id, unpack(outcome["vector"]))
                for kind, subject, outcome in outcomes
                if "vector" in outcome
            ]
            tables.append(embeddings_rows(self.name, rows))
            asked += [
                (kind, {name: value for name, value in outcome.items() if name != "vector"})
                for kind, _, outcome in outcomes
            ]
        self.notes = list(self._notes(prompts, asked))
        return pl.concat(tables)

    def _subjects(self, images: pl.DataFrame, prompts: pl.DataFrame) -> Iterator[tuple[str, Subject]]:
        """What it encodes, with the kind that the table gives it."""
        usable = images.filter(pl.col("status") == "ok").select("image_id", "sha256")
        for row in usable.iter_rows(named=True):
            yield "image", Subject("image", row["image_id"], (row,))
        if self.reads_texts:
            for one, text in prompts.select("prompt_id", "text").drop_nulls().iter_rows():
                yield "text", Subject("text", one, text=text)
        for sentence in self.sentences:
            yield "sentence", Subject("text", sentence, text=sentence)

    def _notes(self, prompts: pl.DataFrame, asked: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
        for kind, many in (("image", "pictures"), ("text", "prompts"), ("sentence", "sentences")):
            outcomes = [found for of, found in asked if of == kind]
            reasons = Counter(found["reason"] for found in outcomes if "reason" in found)
            for reason, n in reasons.items():
                yield f"{self.name}: {n:,} of {len(outcomes):,} {many} have no vector ({reason})"
            texts = [found for found in outcomes if "tokens" in found]
            if cut := [found for found in texts if found["tokens"] > found["most"]]:
                yield (
                    f"{self.name}: {len(cut):,} of {len(texts):,} {many} are longer than the "
                    f"{cut[0]['most']} tokens that the encoder reads; what comes after is not compared"
                )
        if self.reads_texts and (without := prompts["text"].null_count()):
            yield f"{self.name}: {without:,} of {prompts.height:,} prompts have no text to encode"

    def encode_pictures(self, pixels: Sequence[Pixels]) -> list[Vector | None]:
        """Unit vectors of pictures (uint8 RGB, upright), None where the model gives no finite one."""
        return [unit_vector(row) for row in self._loaded_model().pictures(pixels)] if pixels else []

    def encode_texts(self, texts: Sequence[str]) -> list[Encoded]:
        """Unit vectors of texts; what is longer than the model reads is cut by it."""
        if not texts:
            return []
        vectors, tokens, most = self._loaded_model().texts(texts)
        return [Encoded(unit_vector(row), n, most) for row, n in zip(vectors, tokens, strict=True)]


class _Texts(Annotator):
    """The side of an encoder that encodes the texts of prompts."""

    subject = "text"
    stage = Encoder.stage

    def __init__(self, encoder: Encoder) -> None:
        self.name: str = f"{encoder.name}, prompts"
        self.attributes: Attributes = {}
        self.batch, self._encoder = encoder.batch, encoder
        self.device, self.on_disk = encoder.device, encoder.on_disk

    @property
    def fingerprint(self) -> str:
        return self._encoder.fingerprint

    @property
    def sentences(self) -> Sequence[str]:  # type: ignore[override]
        return self._encoder.sentences

    def setup(self) -> None:
        self._encoder.setup()

    def payload(self, result: Any) -> Mapping[str, Any]:
        return dict(result)

    def process(self, text: str) -> Mapping[str, Any]:
        (outcome,) = self.process_batch([text])
        return outcome

    def process_batch(self, texts: Sequence[str]) -> list[Mapping[str, Any]]:
        encoded = self._encoder.encode_texts(texts)
        return [{**_outcome(each.vector), "tokens": each.tokens, "most": each.most} for each in encoded]


def _pixels(picture: Picture) -> Pixels | str:
    """The pixels, or why there are none."""
    try:
        return picture.pixels()
    except PictureError as error:
        return error.reason


def _outcome(vector: Vector | None) -> dict[str, Any]:
    return {"reason": _NO_VECTOR} if vector is None else {"vector": pack(vector)}


def _encoder(value: str) -> str:
    kind, _, model = (part.strip() for part in value.partition(":"))
    if not model:
        raise ValueError("must name a kind of encoder and a model")
    if kind not in ENCODER_KINDS:
        known = f"known are {', '.join(ENCODER_KINDS)}"
        raise ValueError(f"names no kind of encoder; {did_you_mean(kind, ENCODER_KINDS, otherwise=known)}")
    return f"{kind}:{model}"


class EncoderOptions(Options):
    """As of :class:`Encoder`; ``encoder`` is ``clip:MODEL``, the model a name on the hub or a folder."""

    encoder: Annotated[Text, AfterValidator(_encoder)]
    name: Name | None = None
    batch: int = Field(BATCH, ge=1, le=4096)
    device: Device = "auto"
    revision: Text | None = None


@annotator(
    EncoderOptions,
    summary="vectors of pictures and prompts, by CLIP, SigLIP or DINOv2 on this computer",
    example="{encoder: clip:openai/clip-vit-base-patch32}",
)
def encoder(options: EncoderOptions, context: Context) -> Encoder:
    """Name the model; it is loaded when it first encodes."""
    kind, _, model = options.encoder.partition(":")
    where = model_place(model, context.folder, options.revision, f"encoder {options.encoder!r}")
    given = options.model_dump(include={"batch", "device", "revision"})
    return Encoder(kind, where, name=options.name or Path(model).name or kind, **given)
