"""What annotators said of their subjects, as the ledger kept it, and what follows from that."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from stereotrope.annotate import Annotator, Subject, labels_frame
from stereotrope.audit.ordering import ordered
from stereotrope.audit.subjects import Look, Subjects
from stereotrope.run import Items, Ledger
from stereotrope.tables import EMBEDDINGS, LABELS, polars_types

EMBEDDED = "embeddings"
"""What an annotator gives that has vectors for the table of this name."""

Kept = tuple[Look, Mapping[str, Any]]
"""A look, and what the ledger kept of it."""
_VECTORS = ["subject_id", "vector"]


class Said:
    """What the annotators of a plan said of its subjects; ``ledger`` kept it."""

    def __init__(self, subjects: Subjects, ledger: Ledger) -> None:
        self._subjects, self._ledger, self._plan = subjects, ledger, subjects.plan
        self._vectors: dict[str, pl.DataFrame] = {}

    def labels(self, upto: Sequence[Annotator] | None = None) -> pl.DataFrame:
        """What annotators said, and what follows without looking.

        What was said comes first, by annotator in the order of the audit file, then what follows, in the
        order in which annotators need one another. ``upto`` takes these annotators alone.
        """
        empty = pl.DataFrame(schema=polars_types(LABELS))
        told = self._subjects.with_factors(self._subjects.images)
        said: dict[str, pl.DataFrame] = {}
        derived: list[pl.DataFrame] = []
        for one in ordered(self._plan.annotators):
            if upto is not None and one not in upto:
                continue
            known = pl.concat([empty, *said.values(), *derived], how="diagonal")
            if one.looks:
                parts = self._kept(one, self._subjects.looks(one, known))
                said[one.name] = pl.concat([empty, *(labels_frame(list(_said(one, part))) for part in parts)])
                known = pl.concat([known, said[one.name]])
            if one.derive is not None:
                derived.append(one.derive(told, known))
            if one.derive_vectors is not None:
                derived.append(one.derive_vectors(told, self.embeddings(one.reads)))
        looked = [said[one.name] for one in self._plan.annotators if one.name in said]
        return pl.concat([empty, *looked, *derived], how="diagonal")

    def embeddings(self, by: Collection[str] | None = None) -> pl.DataFrame:
        """Vectors of pictures, prompts' texts and sentences, by encoder, in the order of the tables.

        ``by`` takes these encoders alone. What an encoder gives is made once.
        """
        parts = [pl.DataFrame(schema=polars_types(EMBEDDINGS))]
        for one in self._plan.annotators:
            if EMBEDDED in one.gives and (by is None or one.name in by):
                if one.name not in self._vectors:
                    kept = partial(self._ledger.get_some, one.stage)
                    self._vectors[one.name] = one.embed(self._subjects.images, self._plan.prompts, kept)
                parts.append(self._vectors[one.name])
        return pl.concat(parts)

    def vectors(self, by: Collection[str]) -> dict[str, Any]:
        """Image id → its vector by these encoders; of several the last."""
        frame = self.embeddings(by).filter(subject_kind="image")
        return {one: np.asarray(vector, np.float32) for one, vector in zip(*frame[_VECTORS], strict=True)}

    def kept(self, annotator: Annotator) -> list[tuple[Subject, Mapping[str, Any]]]:
        """Each subject that an annotator looks at, with what was kept of that; none of regions."""
        parts = self._kept(annotator, self._subjects.looks(annotator))
        return [(look.subject, outcome) for part in parts for look, outcome in part]

    def _kept(self, annotator: Annotator, looks: Items) -> Iterator[list[Kept]]:
        """Looks with what was kept of each, some at a time."""
        for part in looks.parts():
            outcomes = self._ledger.get_some(annotator.stage, dict(part))
            yield [(look, outcomes[key]) for key, look in part if key in outcomes]

    def counted(self, labels: pl.DataFrame) -> pl.DataFrame:
        """Return labels as the annotators that they are of have them count."""
        for one in self._plan.annotators:
            labels = one.revise(labels, self._plan.listed, self._plan.spec.merge_colours)
        return labels


def _said(annotator: Annotator, kept: Iterable[Kept]) -> Iterator[dict[str, Any]]:
    for look, outcome in kept:
        fixed = {
            "subject_kind": look.subject.kind,
            "subject_id": look.subject.id,
            "annotator": annotator.name,
            **({"region": look.subject.region} if look.subject.kind == "region" else {}),
        }
        yield from (
            {**label, **fixed}
            for label in outcome["labels"]
            if label["attribute"] in look.annotator.attributes
        )
