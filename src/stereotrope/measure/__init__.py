"""Measures: from a tidy frame of labels to a frame of estimates. See :data:`REGISTRY`."""

from stereotrope.measure.agreement import agreement, confusion
from stereotrope.measure.average import average
from stereotrope.measure.bds import bds
from stereotrope.measure.captions.against import delta
from stereotrope.measure.captions.association import cas
from stereotrope.measure.captions.composite import cbs, contextual_diversity
from stereotrope.measure.captions.distribution import (
    bias_amplification,
    kl_from_uniform,
    representation_parity,
    shannon_entropy,
)
from stereotrope.measure.captions.omission import car, gmr, hallucination, iemr
from stereotrope.measure.captions.parity import parity_difference, signed_parity
from stereotrope.measure.captions.profile import profile
from stereotrope.measure.captions.similarity import clip_proxy, vendi
from stereotrope.measure.cds import cds
from stereotrope.measure.change import change
from stereotrope.measure.corrected_share import corrected_share
from stereotrope.measure.default_rank import default_rank
from stereotrope.measure.definitions import DEFINITIONS, require_one_definition
from stereotrope.measure.dominance import deterministic_share, dominance_shift
from stereotrope.measure.embeddings import embeddings_frame, image_vendi, prompt_alignment
from stereotrope.measure.findings import findings
from stereotrope.measure.info import MeasureInfo
from stereotrope.measure.join import effective_n, tidy_labels, with_factors
from stereotrope.measure.judge_correlation import judge_correlation
from stereotrope.measure.judging import injection_rate, nonanswer_rate, order_flip_rate, unfounded_rate
from stereotrope.measure.refusal_rate import refusal_rate
from stereotrope.measure.registry import REGISTRY
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
    "bias_amplification",
    "car",
    "cas",
    "cbs",
    "cds",
    "change",
    "clip_proxy",
    "confusion",
    "contextual_diversity",
    "corrected_share",
    "default_rank",
    "delta",
    "deterministic_share",
    "dominance_shift",
    "effective_n",
    "embeddings_frame",
    "estimate_frame",
    "female_ratio",
    "findings",
    "gmr",
    "hallucination",
    "iemr",
    "image_vendi",
    "injection_rate",
    "judge_correlation",
    "kl_from_uniform",
    "nonanswer_rate",
    "order_flip_rate",
    "parity_difference",
    "profile",
    "prompt_alignment",
    "refusal_rate",
    "representation_parity",
    "require_one_definition",
    "shannon_entropy",
    "share",
    "share_difference",
    "signed_parity",
    "tidy_labels",
    "unfounded_rate",
    "vac",
    "vendi",
    "violation_rate",
    "with_factors",
]
