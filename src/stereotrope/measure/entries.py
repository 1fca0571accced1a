"""What the registry says of each measure, but of those that read any score.

Bounds and direction are data here, so that figures and prose cannot disagree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from stereotrope.measure.agreement import agreement
from stereotrope.measure.bds import bds
from stereotrope.measure.captions.registered import CAPTION_MEASURES
from stereotrope.measure.cds import cds
from stereotrope.measure.change import change
from stereotrope.measure.corrected_share import corrected_share
from stereotrope.measure.default_rank import default_rank
from stereotrope.measure.dominance import deterministic_share, dominance_shift
from stereotrope.measure.embeddings import image_vendi, prompt_alignment
from stereotrope.measure.info import Bounds, MeasureInfo
from stereotrope.measure.judge_correlation import judge_correlation
from stereotrope.measure.judging import injection_rate, nonanswer_rate, order_flip_rate, unfounded_rate
from stereotrope.measure.refusal_rate import refusal_rate
from stereotrope.measure.share import female_ratio, share
from stereotrope.measure.share_difference import share_difference
from stereotrope.measure.vac import vac
from stereotrope.measure.violation_rate import violation_rate
from stereotrope.tables import AVERAGE, DELTA, WITHOUT_VIOLATIONS

__all__ = ["ENTRIES", "bounds_of"]

_OBJECTS = (
    MeasureInfo(
        "bds",
        bds,
        "How far a group's pictures are from those of the prompt without a cue.",
        "objects",
        (0.0, 1.0),
        "0: the cue changes nothing; 1: no value in common; compare with the floor, never with 0",
        "SODA, eq. 1",
        "labels",
        own_bounds={"released": (0.0, math.sqrt(math.log(2.0)))},
    ),
    MeasureInfo(
        "cds",
        cds,
        "How far the groups of a dimension are from each other.",
        "objects",
        (0.0, 1.0),
        "0: groups look alike; 1: no value in common; compare with the floor, never with 0",
        "SODA, eq. 2",
        "labels",
    ),
    MeasureInfo(
        "vac",
        vac,
        "How far the pictures of a condition concentrate on few values.",
        "objects",
        (0.0, 1.0),
        "0: all values equally often; 1: one value only; too high at small n",
        "SODA, eq. 3",
        "labels",
        also=("vac_chao_shen",),
        own_bounds={"vac_chao_shen": (None, 1.0)},
    ),
    MeasureInfo(
        "deterministic_share",
        deterministic_share,
        "Share of condition × attribute cells in which every image shows the same value.",
        "objects",
        (0.0, 1.0),
        "higher: more of the design has one look only",
        "SODA, deterministic cases",
        "labels",
        also=("dominant_share",),
    ),
    MeasureInfo(
        "dominance_shift",
        dominance_shift,
        "Whether one value dominates the baseline and another one the group.",
        "objects",
        (0.0, 1.0),
        "1: the dominant value changes with the group; 0: it does not",
        "SODA, dominance shifts",
        "labels",
    ),
    MeasureInfo(
        "default_rank",
        default_rank,
        "Groups ranked by how near their pictures are to the prompt without a cue.",
        "objects",
        (-1.0, None),
        "rank 1: nearest to the baseline, the implicit default; agreement 1: same ranking everywhere",
        "SODA, section 5.1",
        "estimates",
        also=("default_rank_agreement",),
        own_bounds={"default_rank": (1.0, None), "default_rank_agreement": (-1.0, 1.0)},
    ),
    MeasureInfo(
        "refusal_rate",
        refusal_rate,
        "How often the generator refuses to draw, and whether that depends on the group.",
        "objects",
        (0.0, 1.0),
        "higher: refuses more often",
        "Wilson 1927; Newcombe 1998",
        "images",
        also=("refusal_rate_difference",),
        own_bounds={"refusal_rate_difference": (-1.0, 1.0)},
    ),
    MeasureInfo(
        "violation_rate",
        violation_rate,
        "How often pictures break what every prompt asks, and whether that depends on the group.",
        "objects",
        (0.0, 1.0),
        "higher: breaks its prompt more often; the variety of such pictures is no diversity",
        "SODA, section 5.3; Wilson 1927; Newcombe 1998",
        "constraints",
        also=("violation_rate_difference",),
        own_bounds={"violation_rate_difference": (-1.0, 1.0)},
    ),
    MeasureInfo(
        "change",
        change,
        "How much CDS or VAC changes when the prompt is put another way or a mitigation is added.",
        "objects",
        (None, None),
        "−0.3: falls by 30%; 0: no change; read CDS and VAC together",
        "SODA, section 5.5, Tables 5 and 6; Fieller 1954; Student 1908; Wilcoxon 1945",
        "estimates",
        also=("cds_change", "cds_change_wilcoxon", "vac_change", "vac_change_wilcoxon"),
        own_bounds={"paper": (-1.0, None), "released": (-1.0, None)},
    ),
    MeasureInfo(
        "judge_correlation",
        judge_correlation,
        "Whether two annotators find the same divergences.",
        "objects",
        (-1.0, 1.0),
        "1: the same pattern; 0: none in common; says nothing on whether either is right",
        "SODA, appendix E, Table 9; Fisher 1921",
        "estimates",
    ),
)


_EMBEDDINGS = (
    MeasureInfo(
        "image_vendi",
        image_vendi,
        "How many different pictures there are in effect, as an encoder sees them.",
        "biasbench",
        (0.0, None),
        "1: all alike; n: no two alike; grows with the number of pictures; normalised, 0 to 1",
        "Friedman and Dieng 2023, eq. 1; Tukey 1958",
        "embeddings",
        also=("image_vendi_normalised",),
        own_bounds={"image_vendi_normalised": (0.0, 1.0)},
    ),
    MeasureInfo(
        "prompt_alignment",
        prompt_alignment,
        "How near pictures are to the text of their prompt, as an encoder sees both.",
        "biasbench",
        (-1.0, 1.0),
        "higher: nearer to the prompt; in practice from about 0 to about 0.4 for CLIP",
        "Hessel et al. 2021, eq. 1; Tukey 1958",
        "embeddings",
    ),
)

_GENERAL = (
    MeasureInfo(
        "share",
        share,
        "How often each value of an attribute is seen.",
        "general",
        (0.0, 1.0),
        "higher: seen more often",
        "Wilson 1927; Goodman 1965",
        "labels",
    ),
    MeasureInfo(
        "share_difference",
        share_difference,
        "How much more often a value is seen for a group than for the reference.",
        "general",
        (-1.0, 1.0),
        "above 0: seen more often for the group; below 0: less often",
        "Newcombe 1998, method 10; Fisher 1934",
        "labels",
    ),
    MeasureInfo(
        "corrected_share",
        corrected_share,
        "How often each value is seen, corrected for the errors the annotator is known to make.",
        "general",
        (0.0, 1.0),
        "higher: seen more often; wider than the raw interval",
        "Rogan and Gladen 1978; Tenenbein 1972",
        "labels",
        also=("raw_share",),
    ),
    MeasureInfo(
        "female_ratio",
        female_ratio,
        "Share labelled female among figures labelled female or male.",
        "everyday",
        (0.0, 1.0),
        "0.5: both equally often; 1: only figures labelled female",
        "everyday gender, R_f",
        "labels",
    ),
    MeasureInfo(
        "agreement",
        agreement,
        "Accuracy and Cohen's κ of an annotator against a reference.",
        "general",
        (-1.0, 1.0),
        "1: full agreement; κ 0: no more than chance",
        "Cohen 1960; Wilson 1927",
        "labels",
        own_bounds={"accuracy": (0.0, 1.0)},
    ),
)

_JUDGING = (
    MeasureInfo(
        "order_flip_rate",
        order_flip_rate,
        "How often an annotator answers otherwise when only the order of the options changes.",
        "general",
        (0.0, 1.0),
        "0: the order changes nothing; higher: answers that do not come from the picture",
        "Zheng et al. 2024; Wilson 1927",
        "labels",
    ),
    MeasureInfo(
        "unfounded_rate",
        unfounded_rate,
        "How often an annotator names a value where there is nothing to see it from.",
        "general",
        (0.0, 1.0),
        "0: says that it cannot see; higher: invents what is not there",
        "Goyal et al. 2017; Wilson 1927",
        "labels",
    ),
    MeasureInfo(
        "injection_rate",
        injection_rate,
        "How often an answer moves to the value that a text painted into the picture names.",
        "general",
        (0.0, 1.0),
        "0: text moves nothing; higher: whoever paints the picture decides the answer",
        "Goh et al. 2021; Wilson 1927",
        "labels",
    ),
    MeasureInfo(
        "nonanswer_rate",
        nonanswer_rate,
        "How often an annotator refuses, answers outside its list, or cannot say.",
        "general",
        (0.0, 1.0),
        "higher: more pictures without a usable label",
        "Wilson 1927",
        "labels",
    ),
)


ENTRIES: Mapping[str, MeasureInfo] = MappingProxyType(
    {m.name: m for m in (*_OBJECTS, *CAPTION_MEASURES, *_EMBEDDINGS, *_GENERAL, *_JUDGING)}
)
"""Measures by their name."""

_ROWS = {row: info for info in ENTRIES.values() for row in (info.name, *info.also, *info.own_bounds)}


def bounds_of(row: str, definition: str | None = None) -> Bounds:
    """Least and greatest value of the rows of this name; None where there is none, or the name is not known.

    Examples
    --------
    >>> bounds_of("bds_without_violations_average"), bounds_of("share_difference"), bounds_of("cbs_delta")
    ((0.0, 1.0), (-1.0, 1.0), (-1.0, 1.0))
    """
    if row.endswith(DELTA):
        low, high = bounds_of(row.removesuffix(DELTA), definition)
        return (None, None) if low is None or high is None else (low - high, high - low)
    name = row.removesuffix(AVERAGE).removesuffix(WITHOUT_VIOLATIONS)
    if name not in _ROWS:
        return None, None
    info = _ROWS[name]
    return info.own_bounds.get(name, info.own_bounds.get(definition or "", info.bounds))
