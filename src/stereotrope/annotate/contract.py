"""The contract of annotators: one class to inherit, whatever they look at."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import polars as pl

from stereotrope.annotate.folding import fold_labels
from stereotrope.annotate.label import Attributes, Label
from stereotrope.annotate.part import CountedPart
from stereotrope.annotate.picture import Subject, SubjectKind
from stereotrope.annotate.taxonomy import Scope, Taxonomy
from stereotrope.clients import Account, Endpoint, Expectation
from stereotrope.errors import UsageError
from stereotrope.inputs.lookup import Design
from stereotrope.tables import QUALITY_ATTRIBUTES

Outcomes = Sequence[tuple[Mapping[str, str], Mapping[str, Any]]]
"""Levels of a part of the design, and what was kept of the look at it."""
KeptOutcomes = Callable[[Sequence[str]], Mapping[str, Mapping[str, Any]]]
"""Keys of looks → those that the ledger has, each with its outcome."""


class Annotator:
    """An instrument: what it looks at, what it needs of others, and what it gives. Inherit it.

    A class says ``name``, ``fingerprint`` and ``attributes``, and has ``process`` or ``derive`` or both. A
    run orders its annotators by ``needs`` and ``gives``, carries each out once a subject, and knows none by
    name. Where it looks it never learns of a generator or a factor, and of a prompt only if it asks.

    name: In the ``annotator`` column.
    fingerprint: Short hash of everything that can change what it says.
    attributes: What it labels: attribute → value list, None where any value may come.
    subject: What it is shown: an ``image`` or a ``region`` of one (a :class:`~stereotrope.annotate.Picture`),
        a ``set`` (a tuple of pictures), or a ``text`` (of a prompt).
    needs, gives: What others must have given before, and what it gives beside its attributes: names of
        attributes, ``regions``, ``embeddings`` … What looks at regions is shown those of the labels that it
        needs.
    reads: Names of the annotators whose labels its own repeat in other words. It comes after them, and agrees
        with them by what it is.
    wants: Sentences of which it needs vectors, by those that it ``reads``.
    sentences: Sentences that others want its vectors of, where it gives ``embeddings``.
    sees_vectors: Whether each :class:`~stereotrope.annotate.Picture` that it looks at has its ``vector``, by
        those that it ``reads``.
    sees_regions: Name of the annotator whose regions of a picture it looks at that brings, as ``regions``.
    several: Attributes of which a subject may have several labels, a region each: shares do not count these.
    remedies: Need → what to add to an audit where nobody gives it.
    process, process_batch: ``process(subject)`` → labels, safe to call from ``concurrency`` threads at once,
        or a coroutine function; with a ``batch`` above 1 ``process_batch(subjects)`` too. None where it looks
        at nothing.
    derive: ``derive(images, labels)`` → a frame of :data:`stereotrope.tables.LABELS`, made anew whenever a
        run is measured; ``images`` has the factors and the ``text`` of the prompts too. None where nothing
        follows without looking.
    derive_vectors: ``derive_vectors(images, embeddings)`` → the same from the vectors by those that it reads.
    derive_part: What follows in a part of a study that is counted: a frame of
        :data:`stereotrope.annotate.part.SAID`. None where it cannot be counted.
    size: Pictures in a set.
    control_of: Name of the annotator whose answers it checks: what it says speaks of that one, and not of
    pictures.
    labelled_sets: Of labels of sets made elsewhere, those of the last derivation: id → images.
    stage: Name of its outcomes in the ledger.
    keeps: Folder of the run where its file lies, if it has one.
    libraries: Further libraries whose version can change what it says.
    files: Files that its labels come from, each with the SHA-256 of the bytes that were read.
    variants: What ``variant(which)`` makes of it, for a check of it.
    parts: Further instruments that belong to it.
    notes, trouble: What there is to say of its last derivation, and why that gave nothing at all.
    path: File that its labels come from.
    hub: Name of its model on the Hugging Face hub, and the revision that is asked for.
    on_disk: The folder or file of its model, which it reads where it looks.
    device: What it computes on: ``cpu``, ``cuda``, ``auto`` ….
    quick: Whether a look costs nothing, so that what takes 20 ms may be looked at again after a kill.
    in_processes: Whether a look holds the interpreter for milliseconds (Python, small arrays), so that
        several processes look side by side; it is pickled for them.
    endpoint: Where its model is reached.
    """

    subject: SubjectKind = "image"
    needs: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    wants: Sequence[str] = ()
    sentences: Sequence[str] = ()
    sees_vectors: bool = False
    sees_regions: str | None = None
    several: tuple[str, ...] = ()
    remedies: Mapping[str, str] = {}
    process: Callable[..., Any] | None = None
    process_batch: Callable[..., Any] | None = None
    derive: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame] | None = None
    derive_vectors: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame] | None = None
    derive_part: Callable[[CountedPart], pl.DataFrame] | None = None
    batch: int = 1
    size: int = 4
    control_of: str | None = None
    labelled_sets: Mapping[str, tuple[str, ...]] = {}
    stage: str = "annotate"
    keeps: str | None = None
    libraries: tuple[str, ...] = ()
    files: Mapping[Path, str] = MappingProxyType({})
    variants: tuple[str, ...] = ()
    parts: Sequence[Annotator] = ()
    notes: Sequence[str] = ()
    trouble: str | None = None
    path: Path | None = None
    hub: tuple[str, str | None] | None = None
    on_disk: Path | None = None
    device: str = "cpu"
    quick: bool = False
    in_processes: bool = False

    if TYPE_CHECKING:  # a class may have these as it likes

        @property
        def name(self) -> str: ...  # noqa: D102
        @property
        def fingerprint(self) -> str: ...  # noqa: D102
        @property
        def attributes(self) -> Attributes: ...  # noqa: D102

    @property
    def concurrency(self) -> int:
        """How many subjects may be looked at at once."""
        return 1

    @property
    def looks(self) -> bool:
        """Whether it labels what it is shown; others encode, or say what follows."""
        return self.process is not None and bool(self.attributes)

    @property
    def shows_prompt(self) -> bool:
        """Whether ``prompt`` of a picture that it looks at is the text that this was asked for."""
        return False

    @property
    def asked_by(self) -> tuple[str, ...]:
        """Factors by whose levels it is asked otherwise, beside generator and object."""
        return ()

    @property
    def discovers(self) -> bool:
        """Whether what it labels is found in the run, or differs between parts of the design."""
        return False

    @property
    def taxonomies(self) -> Mapping[Scope, Taxonomy]:
        """Part of the design → what it is asked there, where that is not the same in all."""
        return {}

    @property
    def endpoint(self) -> Endpoint | None:
        """Where its model is reached."""
        return None

    def require(self) -> None:
        """Raise :class:`~stereotrope.errors.UsageError` where it cannot work here, before money is spent."""

    def require_of(self, sources: Sequence[Annotator]) -> None:
        """Raise :class:`~stereotrope.errors.UsageError` where those it ``reads`` cannot say what it asks."""

    def setup(self) -> None:
        """Load what is slow to load, once before the first subject."""

    async def close(self) -> None:
        """Let go of the connections of the running event loop."""

    def expect(self, n: int) -> Expectation | None:
        """Say what ``n`` looks take, where a server is asked."""
        return None

    def mean_cost(self, account: Account) -> float | None:
        """US dollars that a call to its model has cost on the mean so far; None before the first."""
        return None

    def fingerprint_with(self, attributes: Attributes) -> str | None:
        """Return the fingerprint that it would have for other attributes, where it can be asked for any."""
        return self.fingerprint

    def revise(
        self, labels: pl.DataFrame, listed: Mapping[str, Sequence[str]], merge_colours: float | None
    ) -> pl.DataFrame:
        """Return all labels of a run, its own as they count: another ``value``, what it was in ``written``.

        Made anew whenever a run is measured, after every derivation. By default open values that are written
        differently and mean the same become one (:func:`~stereotrope.annotate.folding.fold_labels`).
        """
        own = [n for n, values in self.attributes.items() if values is None and n not in QUALITY_ATTRIBUTES]
        return fold_labels(labels, self.name, own, listed, merge_colours) if own else labels

    def within(self, levels: Mapping[str, str]) -> Annotator | None:
        """Return it as it is asked in a part of the design; None where what to ask is not known yet."""
        return self

    def asked(self, levels: Mapping[str, str | None]) -> Iterable[str]:
        """Attributes that a picture of a prompt with these levels should have."""
        return self.attributes

    def elements(self, levels: Mapping[str, str | None]) -> Mapping[str, Sequence[str]]:
        """Lists of which such a picture may have several: attribute → what may stand in it."""
        return {}

    def sets(self, images: pl.DataFrame) -> list[tuple[str, ...]]:
        """Image ids of each set: by default the pictures of one prompt and generator, ``size`` by ``size``.

        ``images`` has all that were asked for, in the order of the plan:
        ``image_id, prompt_id, generator, seed, status``, the factors and ``text``. A set with one that was
        refused or cannot be used is never looked at, and one with a picture that is still to come waits.
        """
        groups = images.group_by("generator", "prompt_id", maintain_order=True).agg("image_id")["image_id"]
        starts = ((ids, at) for ids in groups for at in range(0, len(ids) - self.size + 1, self.size))
        return [tuple(ids[at : at + self.size]) for ids, at in starts]

    def key_of(self, subject: Subject) -> str:
        """Content key of a look in the ledger: what is looked with, and at what."""
        return subject.key(self.fingerprint)

    def payload(self, result: Any) -> Mapping[str, Any]:
        """What the ledger keeps of the result of a look."""
        return {"labels": list(map(asdict, result))}

    def made(self, result: Any) -> Sequence[bytes | None]:
        """Pictures that it made of what it was shown, as files: kept in the run folder.

        What is kept of the look has the ``path`` and ``sha256`` of each under ``made``, null for None.
        """
        return ()

    def unreadable(self, reason: str) -> Mapping[str, Any] | None:
        """What it keeps where the picture cannot be decoded; None where that is tried again."""
        return self.payload([Label(each, None, None, "invalid", reason) for each in self.attributes])

    def reopen(self, file: Path) -> None:
        """Read what it keeps in a file of the run that people may edit; see ``keeps``."""

    def settle(self, outcomes: Outcomes, file: Path | None) -> None:
        """Take what it kept of each part of the design; write it into the file where one is given."""

    def has(self, levels: Mapping[str, str]) -> bool:
        """Whether what it would find in a part of the design is known without a look."""
        return False

    def recall(self, fingerprint: str) -> None:
        """Take the fingerprint that a run stored of what may not be here any more."""

    def embed(self, images: pl.DataFrame, prompts: pl.DataFrame, kept: KeptOutcomes) -> pl.DataFrame:
        """Return the vectors of a run where it gives ``embeddings``; ``kept`` is what the ledger has."""
        raise NotImplementedError

    def also_encode(self, sentences: Sequence[str]) -> None:
        """Take sentences that others want its vectors of.

        Raises UsageError: It has no vectors of them.
        """
        raise UsageError(
            f"{self.name!r} has no vectors of sentences; name an encoder of pictures and texts, for example "
            "{encoder: clip:openai/clip-vit-base-patch32}"
        )

    def leave_out(self, columns: Collection[str], generator: str | None) -> None:
        """Take columns of its file that say what a picture was asked for as no labels.

        ``generator`` is the one whose pictures alone the file is of, where that is known.
        """

    def tell_design(self, design: Design) -> None:
        """Take what the prompts of the audit say, by the column in which a file may say it too."""

    def tell_pictures(self, pictures: Callable[[], pl.DataFrame]) -> None:
        """Look up, where it must, the pictures that the audit is of, with the factors of their prompts."""
