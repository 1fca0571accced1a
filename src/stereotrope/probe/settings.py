"""What is read inside a pipeline while it draws; nothing heavy is imported here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from stereotrope.inputs.candidates import CandidateOptions, SentencePair, candidates_of
from stereotrope.inputs.options import File, Name, Options
from stereotrope.tables import fingerprint_of

_VERSION = 2
SPI, PREDISPOSITION = "spi", "predisposition"
CONDITIONAL, GUIDED = "conditional", "guided"


@dataclass(frozen=True)
class ProbeReading:
    """One thing read at one step of one picture; the columns of the table ``probes``.

    data: Of a preview, its file.
    """

    probe: str
    step: int
    timestep: float
    quantity: str
    attribute: str | None = None
    prediction: str | None = None
    value: float | None = None
    ratio: float | None = None
    undefined: str | None = None
    data: bytes | None = None


@dataclass(frozen=True)
class Probe:
    """What to read while pictures are drawn.

    pairs: Attribute → the sentences of both sides (d⁺ and d⁻); of several on a side the mean of what is
        predicted for them counts.
    previews: Steps, from 0, at which the picture is decoded that the model expects.
    images_per_prompt: Pictures of a prompt that are read inside, the first; all for None.
    """

    pairs: Mapping[str, SentencePair] = field(default_factory=dict)
    previews: tuple[int, ...] = ()
    images_per_prompt: int | None = None

    @property
    def predictions(self) -> int:
        """Further predictions at a step of a picture: one a sentence."""
        return sum(len(pair.positive) + len(pair.negative) for pair in self.pairs.values())

    def fingerprint(self, generator: str) -> str:
        """Short hash of all that decides what is read in a picture of a generator of this fingerprint."""
        sides = {name: [*map(_side, (pair.positive, pair.negative))] for name, pair in self.pairs.items()}
        said = {"generator": generator, "sides": sides, "previews": sorted(self.previews)}
        return fingerprint_of("probe", _VERSION, said)

    def takes(self, steps: int | None) -> str:
        """Say what reading one picture takes, drawn in so many steps where that is known."""
        told = []
        if n := self.predictions:
            whole = "" if steps is None else f", {n * steps:,} in {steps:,} steps"
            told.append(f"{n:,} predictions a step beside its own{whole}")
        if n := len(self.previews):
            told.append(f"{n:,} decoded {'preview' if n == 1 else 'previews'}")
        return " and ".join(told)


def _side(sentences: Sequence[str]) -> str | Sequence[str]:
    return sentences[0] if len(sentences) == 1 else sentences


def _steps(value: Any) -> Any:
    if not isinstance(value, list) or not all(type(step) is int and step >= 0 for step in value):
        raise ValueError("must list steps, counted from 0, for example [0, 4]")
    return sorted(set(value))


class ProbeOptions(Options):
    """As of :class:`Probe`; ``spi`` names a file of candidates, or they stand under ``candidates``."""

    spi: File | None = None
    candidates: dict[Name, CandidateOptions] | None = None
    previews: Annotated[list[int] | None, BeforeValidator(_steps)] = None
    images_per_prompt: int | None = Field(None, ge=1)

    def probe(self, folder: Path, what: str) -> Probe:
        """Read the candidates, where there are any.

        Raises UsageError, InputError: They cannot be used, or nothing is to be read.
        """
        pairs = {}
        if self.spi is not None or self.candidates or not self.previews:
            pairs = candidates_of(SPI, self.spi, self.candidates, folder, f"{what}: probe")
        return Probe(pairs, tuple(self.previews or ()), self.images_per_prompt)
