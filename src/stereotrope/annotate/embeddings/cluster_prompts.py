"""Clusters of pictures that look alike to an encoder, their means, and the texts that lie nearest to them."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field

from stereotrope import pictures
from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.embeddings.encoder import Encoder
from stereotrope.annotate.label import Attributes
from stereotrope.annotate.picture import Picture
from stereotrope.annotate.registry import annotator
from stereotrope.clients.local import (
    LOCAL_PACKAGES,
    HubPlace,
    Precision,
    hub_place,
    model_identity,
    model_place,
    require_local,
)
from stereotrope.errors import PictureError, UsageError
from stereotrope.inputs.entries import Context
from stereotrope.inputs.lookup import Design
from stereotrope.inputs.options import Name, Options, Text
from stereotrope.inputs.serving import Device
from stereotrope.probe import Proposer, causal_lm, spectral_clusters, stop_prompts
from stereotrope.probe.stop import PREFIX, STOP
from stereotrope.stats.vectors import Vector
from stereotrope.tables import fingerprint_of

_NO_VECTOR = "no picture has a vector"
_AT_ONCE = 256
"""Texts that are encoded together."""
_SIDE = 256
"""Longest side of a mean picture."""


class ClusterPrompts(Annotator):
    """Clusters the pictures of a prompt and model, and finds the texts nearest to each cluster (StOP).

    Of each cluster it keeps which pictures are in it, their mean as a picture, and of the best texts
    (:func:`~stereotrope.probe.stop_prompts`) the mean cosine with its pictures and with those of the other
    clusters. It labels nothing: the tables ``picture_clusters`` and ``cluster_texts`` hold what it found.

    model: A causal language model: a folder, or a name on the hub.
    encoder: Name of the annotator whose vectors are clustered, a model that reads texts too.
    name: Name in the ``annotator`` column.
    crop: Name of an annotator that finds regions, such as faces: means are of the largest region of each
        picture that has one, brought to one square; of whole pictures for None.
    of: A factor: the pictures of a level are taken together, whatever the prompt; None takes each prompt's.
    clusters, seed: As of :func:`~stereotrope.probe.spectral_clusters`.
    search: ``prefix``, ``tokens``, ``beam`` and ``keep`` of :func:`~stereotrope.probe.stop_prompts`.
    proposals, revision, device, precision: As of :func:`~stereotrope.probe.causal_lm` (``most``).

    Raises UsageError: A name cannot be used.
    """

    version = 2
    subject = "set"
    stage = STOP
    sees_vectors = True
    libraries = (*LOCAL_PACKAGES, "scikit-learn")

    def __init__(
        self,
        model: str | Path,
        encoder: str,
        *,
        name: str = STOP,
        crop: str | None = None,
        of: str | None = None,
        clusters: int = 4,
        seed: int = 0,
        search: Mapping[str, Any] | None = None,
        proposals: int = 20,
        revision: str | None = None,
        device: str = "auto",
        precision: Precision = "auto",
    ) -> None:
        if name in (encoder, crop):
            raise UsageError(
                f"annotator {name!r}: must have a name of its own, and reads {name!r}; rename it"
            )
        self.name: str = name
        self.reads = (encoder, *([] if crop is None else [crop]))
        self.sees_regions, self._crop = crop, ""
        self.attributes: Attributes = {}
        self.model, self.of, self.clusters, self.seed = model, of, clusters, seed
        self.search = {"prefix": PREFIX, "tokens": 2, "beam": 20, "keep": 5, **(search or {})}
        self.proposals, self.revision, self.device, self.precision = proposals, revision, device, precision
        self._factors: Design | None = None
        self._encoder: Encoder | None = None
        self._proposer: Proposer | None = None
        self._scored: dict[str, Vector | None] = {}

    @property
    def _what(self) -> str:
        return f"annotator {self.name!r}: language model {str(self.model)!r}"

    @cached_property
    def fingerprint(self) -> str:
        """Short hash of both models and every option but the device.

        Raises UsageError: The folder of the language model is not there.
        """
        said, digests = model_identity(self.model, self.revision, self._what)
        numbers = {"clusters": self.clusters, "seed": self.seed, "proposals": self.proposals}
        parameters = {**numbers, "crop": self._crop}
        of_model = {**said, "precision": self.precision, "encoder": self.encoder.fingerprint}
        return fingerprint_of(STOP, self.version, {**parameters, **self.search, **of_model}, *digests)

    @property
    def hub(self) -> HubPlace | None:  # type: ignore[override]
        """Its model, where it is one on the hub."""
        return hub_place(self.model, self.revision)

    @property
    def encoder(self) -> Encoder:
        """The annotator that it reads."""
        assert self._encoder is not None, "require_of() comes first"
        return self._encoder

    def recall(self, fingerprint: str) -> None:
        """Take the fingerprint that a run stored: what is measured again is what was found then."""
        self.__dict__["fingerprint"] = fingerprint

    def tell_design(self, design: Design) -> None:
        """Take the factors of the prompts."""
        self._factors = design

    def require_of(self, sources: Sequence[Annotator]) -> None:
        """Refuse vectors of who encodes no texts, and regions of who finds none."""
        for one in sources:
            if one.name == self.sees_regions:
                if not one.several:
                    raise UsageError(
                        f"annotator {self.name!r}: crop: {one.name!r} finds no regions; name one that does, "
                        "for example {boxes: faces.csv, name: faces}, or leave `crop` out"
                    )
                self._crop = one.fingerprint
                continue
            if not isinstance(one, Encoder) or not one.reads_texts:
                raise UsageError(
                    f"annotator {self.name!r}: encoder: {one.name!r} encodes no texts; name an encoder of "
                    "pictures and texts, for example {encoder: clip:openai/clip-vit-base-patch32}"
                )
            self._encoder = one

    def require(self) -> None:
        """Refuse what cannot work; loads nothing."""
        factors = [name for name in self._factors or () if name not in ("text", "prompt")]
        if self.of is not None and self.of not in factors:
            raise UsageError(
                f"annotator {self.name!r}: of: the prompts have no factor {self.of!r}; they have "
                f"{', '.join(factors) or 'none'}"
            )
        require_local(self.model, self._what, (*LOCAL_PACKAGES, "sklearn"))

    def setup(self) -> None:
        """Load both models, once."""
        if self._proposer is None:
            given = {"revision": self.revision, "device": self.device, "precision": self.precision}
            self._proposer = causal_lm(self.model, most=self.proposals, **given)  # type: ignore[arg-type]
        self.encoder.setup()

    def sets(self, images: pl.DataFrame) -> list[tuple[str, ...]]:
        """Return the usable pictures of each prompt, or level of its factor, and model."""
        by = self.of or "prompt_id"
        usable = images.filter(pl.col(by).is_not_null(), status="ok")
        groups = usable.group_by("generator", by, maintain_order=True).agg("image_id")["image_id"]
        return [tuple(ids) for ids in groups]

    def process(self, shown: Sequence[Picture]) -> dict[str, Any]:
        """Cluster pictures by their vectors, and search the texts of each cluster."""
        at = [place for place, one in enumerate(shown) if one.vector is not None]
        if not at:
            return {"clusters": [], "n_without": len(shown), "undefined": _NO_VECTOR, "means": []}
        vectors = np.stack([np.asarray(shown[place].vector, np.float64) for place in at])
        labels = spectral_clusters(vectors, self.clusters, seed=self.seed)
        found, means = [], []
        for number in range(1, int(labels.max()) + 1):
            mine = labels == number
            members = [place for place, own in zip(at, mine, strict=True) if own]
            mean, n = mean_picture((shown[place] for place in members), cropped=bool(self.sees_regions))
            prompts = list(self._prompts(vectors, mine))
            found.append({"members": members, "n_mean": n, "prompts": prompts})
            means.append(mean)
        return {"clusters": found, "n_without": len(shown) - len(at), "means": means}

    def _prompts(self, vectors: NDArray[np.float64], mine: NDArray[np.bool_]) -> Iterator[dict[str, Any]]:
        assert self._proposer is not None, "setup() comes first"
        rows = stop_prompts(vectors[mine], self._encode, self._proposer, scored=self._scored, **self.search)
        others = None if mine.all() else vectors[~mine].mean(axis=0)
        for row in rows.iter_rows(named=True):
            other = None if others is None else float(np.asarray(self._scored[row["prompt"]]) @ others)
            yield {"prompt": row["prompt"], "continuation": row["continuation"]} | {
                "score": row["score"],
                "score_others": other,
            }

    def _encode(self, texts: Sequence[str]) -> list[Vector | None]:
        parts = (texts[at : at + _AT_ONCE] for at in range(0, len(texts), _AT_ONCE))
        return [one.vector for part in parts for one in self.encoder.encode_texts(part)]

    def payload(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what was found, without the pictures."""
        return {name: value for name, value in result.items() if name != "means"}

    def made(self, result: Mapping[str, Any]) -> Sequence[bytes | None]:
        """The mean picture of each cluster, in their order."""
        means: Sequence[bytes | None] = result["means"]
        return means

    def unreadable(self, reason: str) -> None:
        """Keep nothing: single pictures are left out of the mean."""


def mean_picture(shown: Iterable[Picture], *, cropped: bool = False) -> tuple[bytes | None, int]:
    """Return the mean of pictures, level by level, as a PNG, and of how many it is; None of none.

    The first that can be decoded gives the size, no side longer than 256, and others are brought to it.

    cropped: Of each picture its largest region, brought to a square of 256; one without a region is left out.
    """
    total, n = None, 0
    for one in shown:
        try:
            picture = _region(one) if cropped else _whole(one)
        except PictureError:
            continue
        if picture is None:
            continue
        if total is None:
            size, total = picture.size, np.zeros((picture.height, picture.width, 3))
        total += np.asarray(picture if picture.size == size else picture.resize(size))
        n += 1
    if total is None:
        return None, 0
    out = io.BytesIO()
    Image.fromarray((total / n).round().astype(np.uint8)).save(out, "PNG")
    return out.getvalue(), n


def _whole(one: Picture) -> Image.Image:
    return Image.fromarray(pictures.decode(one.original(), max_side=_SIDE))


def _region(one: Picture) -> Image.Image | None:
    if not one.regions:
        return None
    cut = pictures.crop(one.original(), max(one.regions, key=_area))
    return Image.fromarray(pictures.decode(cut)).resize((_SIDE, _SIDE))


def _area(box: str) -> float:
    x0, y0, x1, y1 = json.loads(box)
    return float((x1 - x0) * (y1 - y0))


class StopOptions(Options):
    """As of :class:`ClusterPrompts`; ``cluster_prompts`` is the language model, on the hub or in a folder."""

    cluster_prompts: Text
    encoder: Text
    name: Name = STOP
    crop: Text | None = None
    of: Text | None = None
    clusters: int = Field(4, ge=1, le=50)
    seed: int = Field(0, ge=0)
    prefix: Text = PREFIX
    tokens: int = Field(2, ge=1, le=8)
    beam: int = Field(20, ge=1, le=1000)
    keep: int = Field(5, ge=1, le=100)
    proposals: int = Field(20, ge=1, le=1000)
    revision: Text | None = None
    device: Device = "auto"
    precision: Precision = "auto"


@annotator(
    StopOptions,
    summary="clusters of pictures, their mean, and the texts nearest to each (StOP), by a language model "
    "and an encoder's vectors",
    example="{cluster_prompts: openai-community/gpt2, encoder: clip-vit-base-patch32}",
)
def cluster_prompts(options: StopOptions, context: Context) -> ClusterPrompts:
    """Name the language model; it is loaded when it first proposes."""
    what = f"annotator {options.name!r}"
    place = model_place(options.cluster_prompts, context.folder, options.revision, what)
    search = options.model_dump(include={"prefix", "tokens", "beam", "keep"})
    given = options.model_dump(exclude={"cluster_prompts", "encoder", *search})
    return ClusterPrompts(place, options.encoder, search=search, **given)
