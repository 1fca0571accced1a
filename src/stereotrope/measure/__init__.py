"""Measures: from a tidy frame of labels to a frame of estimates.

Every registered measure is a function of this package under its own name, such as ``measure.bds``;
:data:`REGISTRY` says what there is to know of each.
"""

import typing

from stereotrope.measure.contract import (
    FRAMES,
    PAPER,
    REGISTRY,
    MeasureCall,
    MeasureFrame,
    MeasureInfo,
    bounds_of,
    register,
)
from stereotrope.measure.definitions import require_one_definition
from stereotrope.measure.embedding_cells import embeddings_frame
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.findings import RunFindings, comparisons, findings
from stereotrope.measure.interim import InterimLook
from stereotrope.measure.join import effective_n, tidy_counts, tidy_labels, with_factors
from stereotrope.measure.pace import listening, paced
from stereotrope.measure.ratios.references import REFERENCES
from stereotrope.measure.setting import GENERATOR, MeasureSetting, RunTables, require_model
from stereotrope.measure.shares.agreement import confusion
from stereotrope.measure.words import measure_words

__all__ = [
    "FRAMES",
    "GENERATOR",
    "PAPER",
    "REFERENCES",
    "REGISTRY",
    "InterimLook",
    "MeasureCall",
    "MeasureFrame",
    "MeasureInfo",
    "MeasureSetting",
    "RunFindings",
    "RunTables",
    "bounds_of",
    "comparisons",
    "confusion",
    "effective_n",
    "embeddings_frame",
    "estimate_frame",
    "findings",
    "listening",
    "measure_words",
    "paced",
    "register",
    "require_model",
    "require_one_definition",
    "tidy_counts",
    "tidy_labels",
    "with_factors",
]


def __getattr__(name: str) -> typing.Any:
    if not name.startswith("_") and name in REGISTRY:
        return REGISTRY[name].function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *REGISTRY])
