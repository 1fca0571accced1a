"""Attributes of pictures by what sentences they are nearer to, as an encoder sees both."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from stereotrope.annotate.attributes import check_attributes
from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.embeddings.proposing import ProposedCandidates, proposal_of
from stereotrope.annotate.label import Attributes, image_labels
from stereotrope.annotate.registry import annotator
from stereotrope.errors import UsageError
from stereotrope.inputs.asking import MakingOptions
from stereotrope.inputs.candidates import CandidateOptions, SentencePair, candidates_of
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Item, Name, Text
from stereotrope.stats.vectors import unit_vector
from stereotrope.tables import fingerprint_of

_SAME = 1e-6
"""Distance of two unit vectors in single precision that are one."""
_NO_VECTOR = "the picture has no vector"
_AT_ONCE = 65_536
"""Pictures whose vectors are multiplied together."""


class ZeroShot(Annotator):
    r"""Labels a picture by the side whose sentences its vector is nearer to.

    With :math:`d^±` the mean of the unit vectors of a side's sentences, at unit length, and :math:`z` that of
    the picture, the label is the positive value where :math:`\cos(z, d^+) > \cos(z, d^-)`, else the negative
    one (OASIS, Eq. 5). With a temperature τ, ``confidence`` is the softmax probability of the label,
    :math:`1/(1 + e^{-|\cos(z, d^+) - \cos(z, d^-)|/τ})`; without one it is null: an indicator knows no doubt.

    Nothing is loaded and no picture is looked at: vectors stored by the encoder are read. A picture without
    one is ``invalid``, and so are all labels of an attribute whose sides have one vector, with a note.

    candidates: Attribute → its sentences.
    encoder: Name of the annotator that gives the vectors.
    name: Name in the ``annotator`` column.
    temperature: τ above 0; CLIP learnt one of 0.01.

    Raises UsageError: A name cannot be used.
    """

    kind = "zero_shot"
    version = 1

    def __init__(
        self,
        candidates: Mapping[str, SentencePair],
        encoder: str,
        *,
        name: str = "zero_shot",
        temperature: float | None = None,
    ) -> None:
        if name == encoder:
            raise UsageError(
                f"annotator {name!r}: must have a name of its own, and reads {name!r}; rename it"
            )
        self.name: str = name
        self.temperature, self.reads = temperature, (encoder,)
        try:
            values = {attribute: list(one.values) for attribute, one in candidates.items()}
            self.attributes: Attributes = check_attributes(values, most=None)
        except UsageError as error:
            raise UsageError(f"annotator {name!r}: candidates: {error}") from None
        self.candidates = dict(zip(self.attributes, candidates.values(), strict=True))
        said = {attribute: vars(one) for attribute, one in candidates.items()}
        parameters = {"encoder": encoder, "candidates": said, "temperature": temperature}
        self.fingerprint: str = fingerprint_of(self.kind, self.version, parameters)
        self.notes: list[str] = []

    @property
    def wants(self) -> Sequence[str]:  # type: ignore[override]
        """Its sentences."""
        sides = [side for one in self.candidates.values() for side in (one.positive, one.negative)]
        return list(dict.fromkeys(sentence for side in sides for sentence in side))

    def derive_vectors(self, images: pl.DataFrame, embeddings: pl.DataFrame) -> pl.DataFrame:
        """Return its labels: each picture with every attribute, pictures in their order."""
        self.notes = []
        sentences = dict(
            embeddings.filter(subject_kind="sentence").select("subject_id", "vector").iter_rows()
        )
        vectors = embeddings.filter(subject_kind="image").select("subject_id", "vector")
        shown = images.filter(status="ok").select(subject_id="image_id")
        known = shown.join(vectors, on="subject_id", maintain_order="left")
        others = shown.join(vectors, on="subject_id", how="anti", maintain_order="left")
        order = shown.with_row_index("at")
        parts = []
        for number, (attribute, one) in enumerate(self.candidates.items()):
            sides = [_side(side, sentences) for side in (one.positive, one.negative)]
            why = _unusable(*sides)
            if why is not None:
                self.notes.append(f"{self.name}: {attribute!r} labels no picture: {why}")
            rows = known if why is None else known.clear()
            nearer = _nearer(rows["vector"], *sides) if why is None else np.zeros(0)
            part = pl.concat(
                [
                    rows.select("subject_id").with_columns(self._said(nearer, one.values)),
                    others.with_columns(status=pl.lit("invalid"), rationale=pl.lit(_NO_VECTOR)),
                    *([] if why is None else [_invalid(known, why)]),
                ],
                how="diagonal",
            )
            parts.append(part.with_columns(attribute=pl.lit(attribute), number=pl.lit(number)))
        told = pl.concat(parts, how="diagonal").join(order, on="subject_id", maintain_order="left")
        return image_labels(told.sort("at", "number").drop("at", "number"), annotator=self.name)

    def _said(self, nearer: NDArray[np.float64], values: tuple[str, str]) -> list[pl.Series]:
        value = pl.Series("value", np.where(nearer > 0, *values), pl.String)
        status = pl.Series("status", ["ok"] * len(nearer), pl.String)
        if self.temperature is None:
            return [value, status]
        sure = 1.0 / (1.0 + np.exp(-np.abs(nearer) / self.temperature))
        return [value, status, pl.Series("confidence", sure, pl.Float64)]


def _side(side: Sequence[str], vectors: Mapping[str, Any]) -> NDArray[np.float64] | None:
    """Mean of the unit vectors of a side's sentences, at unit length; None where one has none."""
    if not all(sentence in vectors for sentence in side):
        return None
    mean = np.mean([np.asarray(vectors[sentence], np.float64) for sentence in side], axis=0)
    found = unit_vector(mean)
    return None if found is None else np.asarray(mean / np.linalg.norm(mean), np.float64)


def _unusable(positive: NDArray[np.float64] | None, negative: NDArray[np.float64] | None) -> str | None:
    if positive is None or negative is None:
        return "a sentence has no vector"
    if np.linalg.norm(positive - negative) < _SAME:
        return "positive and negative sentences have one vector, so that no picture is nearer to either"
    return None


def _nearer(
    vectors: pl.Series, positive: NDArray[np.float64] | None, negative: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Difference of the cosines of pictures with both sides."""
    assert positive is not None
    assert negative is not None

    def differences() -> Iterator[NDArray[np.float64]]:
        for start in range(0, len(vectors), _AT_ONCE):
            part = vectors.slice(start, _AT_ONCE)
            x = part.explode().to_numpy().astype(np.float64).reshape(len(part), -1)
            yield x @ (positive - negative) / np.linalg.norm(x, axis=1)

    return np.concatenate([np.zeros(0), *differences()])


def _invalid(pictures: pl.DataFrame, why: str) -> pl.DataFrame:
    return pictures.select("subject_id", status=pl.lit("invalid"), rationale=pl.lit(why))


class ZeroShotOptions(MakingOptions):
    """As of :class:`ZeroShot`; ``zero_shot`` names a file, or its content stands under ``candidates``.

    With a mapping, ``{file: candidates.yaml, model: openai:gpt-4o}``, a model names what the file lacks.
    """

    zero_shot: Item | None = None
    encoder: Text
    name: Name = "zero_shot"
    candidates: dict[Name, CandidateOptions] | None = None
    temperature: float | None = Field(None, gt=0)

    def makes(self, context: Context) -> ProposedCandidates | None:
        """The file that a model makes before the audit runs."""
        return proposal_of(self.zero_shot, f"annotator {self.name!r}", context)


@annotator(
    ZeroShotOptions,
    summary="attributes by the sentences that a picture is nearer to, from an encoder's stored vectors",
    example="{zero_shot: candidates.yaml, encoder: clip-vit-base-patch32}",
)
def zero_shot(options: ZeroShotOptions, context: Context) -> ZeroShot:
    """Read the candidates."""
    what = f"annotator {options.name!r}"
    file = options.zero_shot
    if (proposed := options.makes(context)) is not None:
        proposed.require()
        file = proposed.written
    assert not isinstance(file, dict)
    found = candidates_of("zero_shot", file, options.candidates, context.folder, what)
    return ZeroShot(found, options.encoder, name=options.name, temperature=options.temperature)
