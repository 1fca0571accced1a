"""Measures of captions: who and what they name, what they lack, and how alike they are.

All read one *captions frame*: a row an image, its ``caption``, a column of text for each attribute that a
lexicon found one label of, and a column of lists for each list of terms (:func:`captions_frame`). Each
follows the formula of T2I-BiasBench (``definition="paper"``) or what its authors' scripts compute
(``"released"``).
"""

from stereotrope.lexicon.declared import Declared, declared_of
from stereotrope.measure.captions.against import delta
from stereotrope.measure.captions.composite import cbs, contextual_diversity, occlusion_split, severity
from stereotrope.measure.captions.difference import representation_difference
from stereotrope.measure.captions.distribution import (
    bias_amplification,
    kl_from_uniform,
    representation_parity,
    shannon_entropy,
)
from stereotrope.measure.captions.frame import captions_frame
from stereotrope.measure.captions.parity import parity_difference, signed_parity
from stereotrope.measure.captions.profile import profile
from stereotrope.measure.captions.similarity import clip_proxy, vendi
from stereotrope.measure.captions.terms import car, cas, gmr, hallucination, iemr
from stereotrope.measure.captions.together import caption_measures

__all__ = [
    "Declared",
    "bias_amplification",
    "caption_measures",
    "captions_frame",
    "car",
    "cas",
    "cbs",
    "clip_proxy",
    "contextual_diversity",
    "declared_of",
    "delta",
    "gmr",
    "hallucination",
    "iemr",
    "kl_from_uniform",
    "occlusion_split",
    "parity_difference",
    "profile",
    "representation_difference",
    "representation_parity",
    "severity",
    "shannon_entropy",
    "signed_parity",
    "vendi",
]
