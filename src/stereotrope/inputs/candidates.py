"""Attributes that pictures may show, each in sentences of a picture that does and of one that does not."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationInfo, field_validator

from stereotrope.errors import UsageError
from stereotrope.inputs.files import read_text
from stereotrope.inputs.options import Name, Options, Text, Texts, validated
from stereotrope.inputs.yaml import YamlFile

_EXAMPLE = "write {candidates: {hat: {positive: [a person with a hat], negative: [a person without a hat]}}}"


@dataclass(frozen=True)
class SentencePair:
    """An attribute that a picture may show, in sentences.

    positive, negative: Sentences of a picture that shows it (the paper's d⁺), and of one that does not (d⁻).
    values: What a label of either says.
    """

    positive: tuple[str, ...]
    negative: tuple[str, ...]
    values: tuple[str, str] = ("yes", "no")


class CandidateOptions(Options):
    """As of :class:`SentencePair`; ``concept`` says of what pictures it was named, and decides nothing."""

    concept: Text | None = None
    positive: Texts
    negative: Texts
    values: Texts = Field(default=["yes", "no"])

    @field_validator("negative")
    @classmethod
    def _differs(cls, negative: list[str], info: ValidationInfo) -> list[str]:
        if set(negative) == set(info.data.get("positive", ())):
            raise ValueError("must differ from the positive sentences; no picture is nearer to one of them")
        return negative

    @field_validator("values")
    @classmethod
    def _two(cls, values: list[str]) -> list[str]:
        if len(values) != 2:
            raise ValueError("must be two: of the positive side and of the negative one")
        return values

    def candidate(self) -> SentencePair:
        """Return what it says."""
        return SentencePair(tuple(self.positive), tuple(self.negative), (self.values[0], self.values[1]))


class CandidateFile(Options):
    """A file of candidates."""

    candidates: dict[Name, CandidateOptions] = Field(min_length=1)


def read_candidates(path: Path | str) -> dict[str, SentencePair]:
    """Read attributes and their sentences from a YAML file that people may write and edit.

    Raises InputError: It cannot be read, or something in it does not fit; the message has the line.
    """
    absent = "write one: attribute → positive and negative sentences"
    found = parsed_candidates(read_text(path, what="a file of candidates", absent=absent), str(path))
    return {attribute: one.candidate() for attribute, one in found.items()}


def parsed_candidates(text: str, name: str) -> dict[str, CandidateOptions]:
    """Read the text of such a file; ``name`` is the file's, for messages.

    Raises InputError: Something in it does not fit; the message has the line.
    """
    return validated(CandidateFile, YamlFile(text, name), example=_EXAMPLE).candidates


def candidates_of(
    key: str,
    file: str | None,
    given: Mapping[str, CandidateOptions] | None,
    folder: Path,
    what: str,
) -> dict[str, SentencePair]:
    """Return the candidates of an entry, from the file that its ``key`` names or as they stand in it.

    Raises UsageError: Both are given, or none.
    Raises InputError: The file cannot be used.
    """
    if (file is None) == (not given):
        raise UsageError(
            f"{what}: give candidates as a file (`{key}: candidates.yaml`) or under `candidates:`, one of "
            "both"
        )
    if file is not None:
        return read_candidates(folder / Path(file).expanduser())
    return {name: one.candidate() for name, one in (given or {}).items()}
