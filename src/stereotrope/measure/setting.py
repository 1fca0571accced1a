"""What an audit decides that measures take their arguments from, and the tables that they read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.inputs.options import shorten
from stereotrope.tables import factors_of

GENERATOR = "generator"
"""The factor that names the model under audit."""


def labels_behind(name: str | None, annotators: Sequence[Any]) -> list[str]:
    """An annotator, and those whose labels its own are made from, directly or by way of others."""
    reads = {one.name: one.reads for one in annotators}
    behind = [] if name is None else [name]
    for one in behind:
        behind += [source for source in reads.get(one, ()) if source not in behind]
    return behind


@dataclass(frozen=True)
class MeasureSetting:
    """What an audit decides.

    prompts: With their factors.
    attributes: Subject of looks (``image``, ``region`` …) → attribute → the values that any annotator lists,
        None where none lists them.
    shared: Whether two annotators label one attribute.
    discovers: Whether attributes are known only once pictures are there.
    constraints, encoders: Attributes that say whether a picture breaks its prompt; annotators that give
        vectors.
    group, baseline: Factor whose levels are compared, and the level they are compared with.
    models, model: Names of all models, and of the one that others are compared with.
    level, n_permutations, n_bootstrap, seed: Of every interval and test.
    base: Folder from which paths in the audit file start.
    counted: Whether label files are counted, so that no picture is seen by itself.
    """

    prompts: pl.DataFrame
    annotators: Sequence[Any] = ()
    attributes: Mapping[str, Mapping[str, Sequence[str] | None]] = field(default_factory=dict)
    shared: bool = False
    discovers: bool = False
    constraints: Sequence[str] = ()
    encoders: Sequence[str] = ()
    group: str | None = None
    baseline: str | None = None
    models: Sequence[str] = ()
    model: str | None = None
    level: float = 0.95
    n_permutations: int = 10_000
    n_bootstrap: int = 2_000
    seed: int = 0
    base: Path = Path()
    counted: bool = False

    @cached_property
    def factors(self) -> list[str]:
        """Factors of the prompts."""
        return factors_of(self.prompts.columns)

    def varies(self, factor: str) -> bool:
        """Whether prompts have several levels of a factor."""
        return factor in self.factors and self.prompts[factor].drop_nulls().n_unique() > 1

    def attributes_of(self, subject: str) -> Mapping[str, Sequence[str] | None]:
        """Attributes of looks at subjects of a kind that have one label each."""
        several = {name for one in self.annotators if one.subject == subject for name in one.several}
        return {k: v for k, v in self.attributes.get(subject, {}).items() if k not in several}

    @property
    def scope(self) -> list[str]:
        """Columns besides factors that hold estimates apart."""
        return [GENERATOR, *(["annotator"] if self.shared else [])]


@dataclass(frozen=True, eq=False)
class RunTables:
    """What there is of a run when its measures are computed.

    tidy: One row a label, attributes about a picture's quality included.
    looks: The labels of how pictures look that enter.
    every_look: These, and those of pictures that break their prompt.
    subjects: The regions and sets that annotators look at: ``subject_kind, subject_id, image_id, position``.
    asked: ``image_id, annotator, attribute``: what should have been answered about each region and set.
    encoders: Annotators that give vectors.
    reference: Labels known to be true, where the run has them.
    references: Annotators whose labels of some pictures are taken for right.
    confusions: Annotator → how a calibration found it to read, where the audit names one.
    counts: The table ``counts`` of a study whose label files are counted; the frames are then counted too.
    """

    prompts: pl.DataFrame
    images: pl.DataFrame
    labels: pl.DataFrame
    embeddings: pl.DataFrame | None
    tidy: pl.DataFrame
    looks: pl.DataFrame
    every_look: pl.DataFrame
    subjects: pl.DataFrame | None = None
    asked: pl.DataFrame | None = None
    encoders: Sequence[str] = ()
    reference: pl.DataFrame | None = None
    references: Sequence[str] = ()
    confusions: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    level: float = 0.95
    n_bootstrap: int = 2_000
    seed: int = 0
    counts: pl.DataFrame | None = None


def require_model(name: Any, models: Sequence[str]) -> None:
    """Refuse a baseline that is no model, or that is alone: UsageError says what there is or what to add."""
    if not models:
        return
    if name not in models:
        hint = did_you_mean(str(name), models, otherwise=f"there is: {', '.join(models)}")
        raise UsageError(f"no generator {shorten(name)} to compare with; {hint}")
    if len(models) == 1:
        raise UsageError(
            f"{name!r} is the only model, and there is none to compare with it; list another under "
            "`generators`, or leave the comparison out"
        )
