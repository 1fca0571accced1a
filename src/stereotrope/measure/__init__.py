"""Measures: from a tidy frame of labels to a frame of estimates. See :data:`REGISTRY`."""

from stereotrope.measure.agreement import agreement, confusion
from stereotrope.measure.average import average
from stereotrope.measure.bds import bds
from stereotrope.measure.cds import cds
from stereotrope.measure.change import change
from stereotrope.measure.corrected_share import corrected_share
from stereotrope.measure.default_rank import default_rank
from stereotrope.measure.definitions import DEFINITIONS, require_one_definition
from stereotrope.measure.dominance import deterministic_share, dominance_shift
from stereotrope.measure.findings import findings
from stereotrope.measure.join import effective_n, tidy_labels, with_factors
from stereotrope.measure.judge_correlation import judge_correlation
from stereotrope.measure.judging import injection_rate, nonanswer_rate, order_flip_rate, unfounded_rate
from stereotrope.measure.refusal_rate import refusal_rate
from stereotrope.measure.registry import REGISTRY, MeasureInfo
from stereotrope.measure.share import female_ratio, share
from stereotrope.measure.share_difference import share_difference
from stereotrope.measure.tidy import estimate_frame
from stereotrope.measure.vac import vac
from stereotrope.measure.violation_rate import violation_rate

__all__ = [
    "DEFINITIONS",
    "REGISTRY",
    "MeasureInfo",
    "agreement",
    "average",
    "bds",
    "cds",
    "change",
    "confusion",
    "corrected_share",
    "default_rank",
    "deterministic_share",
    "dominance_shift",
    "effective_n",
    "estimate_frame",
    "female_ratio",
    "findings",
    "injection_rate",
    "judge_correlation",
    "nonanswer_rate",
    "order_flip_rate",
    "refusal_rate",
    "require_one_definition",
    "share",
    "share_difference",
    "tidy_labels",
    "unfounded_rate",
    "vac",
    "violation_rate",
    "with_factors",
]
