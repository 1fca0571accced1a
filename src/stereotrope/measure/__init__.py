"""Measures: from a tidy frame of labels to a frame of estimates. See :data:`REGISTRY`."""

from stereotrope.measure.join import effective_n, tidy_labels, with_factors
from stereotrope.measure.refusal_rate import refusal_rate
from stereotrope.measure.registry import REGISTRY, MeasureInfo
from stereotrope.measure.share import female_ratio, share
from stereotrope.measure.share_difference import share_difference

__all__ = [
    "REGISTRY",
    "MeasureInfo",
    "effective_n",
    "female_ratio",
    "refusal_rate",
    "share",
    "share_difference",
    "tidy_labels",
    "with_factors",
]
