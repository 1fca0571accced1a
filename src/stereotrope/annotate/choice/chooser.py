"""One closed question at a time, answered by the likeliest of its answers."""

import threading
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from pydantic import Field

from stereotrope.annotate.answers import by_letter, inert
from stereotrope.annotate.attributes import UNCLEAR
from stereotrope.annotate.choice.told import Told
from stereotrope.annotate.embeddings.vectors import Pixels
from stereotrope.annotate.label import Attributes, Label
from stereotrope.annotate.picture import Picture
from stereotrope.annotate.protocol import filled, question_wording
from stereotrope.annotate.questionnaire import MAX_SIDE_SENT, Questionnaire
from stereotrope.annotate.ready_questions import WantedOptions
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
from stereotrope.errors import UsageError
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Name, Text
from stereotrope.inputs.serving import Device
from stereotrope.tables import fingerprint_of

LEAST_MASS = 0.5
"""Probability that the answers need together; below, the model is about to say something else."""


class _Model(Protocol):
    def told(self, pixels: Pixels | None, text: str, answers: Sequence[str]) -> Told: ...


class ChoiceAnnotator(Questionnaire):
    """Asks a vision-language model on this computer, one attribute at a time, and writes no text.

    The options stand behind letters, which stay while the options turn from picture to picture; the label is
    the option whose letter is the likeliest next token, ``confidence`` its probability among all letters.
    Where the letters have less than half of the probability together, the model would say something else, and
    the label is ``invalid``. Attributes in ``forced`` are answered in the words of their values, without
    ``unclear``: of ``yes`` and ``no``, ``confidence`` of ``yes``, or 1 less that of ``no``, is P(yes).

    model: A folder that ``save_pretrained`` wrote or a name on the Hugging Face hub, of a model of
        ``AutoModelForImageTextToText`` with a chat template.
    name: Name in the ``annotator`` column.
    attributes: Attribute → value list.
    meanings, forced: Attribute → its question; attributes that are answered in words.
    regions, order_seed, max_side: As of :class:`~stereotrope.annotate.QuestionAnnotator`.
    precision: Of the model's numbers; ``auto`` takes that of its files.
    device, revision: As of :class:`~stereotrope.annotate.Encoder`.

    All of these but name and device are in the fingerprint, with the bytes of the files or the name on the
    hub.

    Raises UsageError: A name or value list cannot be used, or an attribute has no value list.
    """

    kind = "choice"
    letters = True
    libraries = LOCAL_PACKAGES
    variants = ("reversed", "blind")
    version = 1

    def __init__(
        self,
        model: str | Path,
        attributes: Attributes,
        *,
        name: str,
        meanings: Mapping[str, str] | None = None,
        forced: Collection[str] = (),
        regions: str | None = None,
        order_seed: int = 0,
        max_side: int = MAX_SIDE_SENT,
        precision: Precision = "auto",
        device: str = "auto",
        revision: str | None = None,
    ) -> None:
        self.name: str = name
        self.model, self.precision, self.device, self.revision = model, precision, device, revision
        self.on_disk = model if isinstance(model, Path) else None
        self.order_seed, self.max_side = order_seed, max_side
        self.meanings, self.forced = dict(meanings or {}), frozenset(forced)
        if regions is not None:
            self.subject, self.needs = "region", (regions,)
            self.remedies = {regions: f"`{{detect: MODEL, attribute: {regions}}}`"}
        self.attributes = self.checked(attributes)
        for one, values in self.attributes.items():
            if values is None:
                raise UsageError(
                    f"annotator {name!r}: attributes: {one!r}: a choice needs values, found an open one; "
                    "list them, or ask a chat model by `questions:`"
                )
        self._guard = threading.Lock()
        self._loaded: _Model | None = None

    @property
    def _what(self) -> str:
        return f"model {str(self.model)!r}"

    def recall(self, fingerprint: str) -> None:
        """Take the fingerprint that a run stored of a model that is not here any more."""
        if isinstance(self.model, Path) and not (self.model / "config.json").is_file():
            self.__dict__["fingerprint"] = fingerprint

    @cached_property
    def fingerprint(self) -> str:
        """The model, its precision, the questions, and how they are asked.

        Raises UsageError: The folder is not there.
        """
        which, digests = model_identity(self.model, self.revision, self._what)
        said = {**self.asked_how, **which, "precision": self.precision}
        return fingerprint_of(self.kind, self.version, said, question_wording(self.kind).data, *digests)

    @property
    def hub(self) -> HubPlace | None:  # type: ignore[override]
        """Its model, where it is one on the hub."""
        return hub_place(self.model, self.revision)

    def require(self) -> None:
        """Refuse what cannot work; loads nothing.

        Raises UsageError: What reads the model is not installed, or the model is not there.
        """
        require_local(self.model, self._what)

    def setup(self) -> None:
        """Load the model, once.

        Raises ModelUnusable: It cannot be loaded, or cannot be asked.
        """
        with self._guard:
            if self._loaded is None:
                self.require()
                from stereotrope.annotate.choice._transformers import VisionLanguageModel  # noqa: PLC0415

                self._loaded = VisionLanguageModel(
                    self.model,
                    revision=self.revision,
                    device=self.device,
                    precision=self.precision,
                    what=self._what,
                )

    def process(self, picture: Picture) -> list[Label]:
        """Label one picture.

        Raises PictureError: It cannot be decoded.
        """
        self.setup()
        pixels = None if self.is_blind else picture.pixels(self.max_side)
        return [
            self._label(name, options, picture, pixels)
            for name, options in self.offered(picture.sha256).items()
            if options is not None
        ]

    def question(self, name: str, options: Sequence[str], prompt: str | None = None) -> str:
        """Return one question in words, its options as they are offered."""
        texts = question_wording(self.kind).texts
        asked = filled(self.meanings.get(name) or texts["question"], name=name.replace("_", " "))
        if prompt is not None:
            asked = filled(asked, prompt=" ".join(prompt.split()))
        if name in self.forced:
            return asked
        shown = {letter: texts[UNCLEAR] if o == UNCLEAR else o for letter, o in by_letter(options).items()}
        return "\n".join(
            [asked, *(f"{letter}. {option}" for letter, option in shown.items()), texts["closing"]]
        )

    def _label(self, name: str, options: Sequence[str], picture: Picture, pixels: Pixels | None) -> Label:
        letters = {option: option for option in options} if name in self.forced else by_letter(options)
        assert self._loaded is not None
        shares, likeliest = self._loaded.told(
            pixels, self.question(name, options, picture.prompt), tuple(letters)
        )
        mass = sum(shares)
        behind = "" if name in self.forced else f" of {', '.join(f'{k}: {v}' for k, v in letters.items())}"
        if mass < LEAST_MASS:
            said = (
                f"would say {inert(likeliest, 40)!r}; {', '.join(letters)} have {mass:.2g} of the probability"
            )
            return Label(name, None, status="invalid", rationale=inert(said))
        at = max(range(len(shares)), key=shares.__getitem__)
        letter, sure = list(letters)[at], min(shares[at] / mass, 1.0)
        option, rationale = letters[letter], inert(f"{letter}{behind}")
        if option == UNCLEAR:
            return Label(name, None, sure, status="unclear", rationale=rationale)
        return Label(name, option, sure, rationale=rationale)


class ChoiceOptions(WantedOptions):
    """As of :class:`ChoiceAnnotator`."""

    choose: Text
    name: Name = "choice"
    max_side: int = Field(MAX_SIDE_SENT, ge=64)
    precision: Precision = "auto"
    device: Device = "auto"
    revision: Text | None = None


@annotator(
    ChoiceOptions,
    summary="closed questions, by a vision-language model on this computer, with probabilities",
    example="{choose: llava-hf/llava-1.5-7b-hf, regions: person, sets: [gender]}",
)
def choose(options: ChoiceOptions, context: Context) -> ChoiceAnnotator:
    """Ask what the entry wants."""
    wanted = options.wanted(options.choose, briefly=True)
    if wanted["attributes"] is None:
        raise UsageError(
            f"annotator {options.choose!r}: say what to choose; write `sets: [gender]` or `attributes:`"
        )
    what = f"annotator {options.name!r}"
    return ChoiceAnnotator(
        model_place(options.choose, context.folder, options.revision, what),
        **wanted,
        **options.model_dump(exclude={"choose", "sets", "attributes"}),
    )
