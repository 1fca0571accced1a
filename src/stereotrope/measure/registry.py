"""What there is to measure: one entry a measure, for the command line, the report and the docs.

Bounds and direction are data here, so that figures and prose cannot disagree.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from types import MappingProxyType

from stereotrope.measure.agreement import agreement
from stereotrope.measure.average import average
from stereotrope.measure.bds import bds
from stereotrope.measure.captions.registered import CAPTION_MEASURES
from stereotrope.measure.cds import cds
from stereotrope.measure.change import change
from stereotrope.measure.corrected_share import corrected_share
from stereotrope.measure.default_rank import default_rank
from stereotrope.measure.dominance import deterministic_share, dominance_shift
from stereotrope.measure.embeddings import image_vendi, prompt_alignment
from stereotrope.measure.info import MeasureInfo
from stereotrope.measure.judge_correlation import judge_correlation
from stereotrope.measure.judging import injection_rate, nonanswer_rate, order_flip_rate, unfounded_rate
from stereotrope.measure.refusal_rate import refusal_rate
from stereotrope.measure.share import female_ratio, share
from stereotrope.measure.share_difference import share_difference
from stereotrope.measure.vac import vac
from stereotrope.measure.violation_rate import violation_rate
from stereotrope.tables import AVERAGE

__all__ = ["REGISTRY", "MeasureInfo", "measures_page"]

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
    ),
    MeasureInfo(
        "change",
        change,
        "How much CDS or VAC changes when the prompt is put another way or a mitigation is added.",
        "objects",
        (-1.0, None),
        "−0.3: falls by 30%; 0: no change; read CDS and VAC together",
        "SODA, section 5.5, Tables 5 and 6; Fieller 1954; Student 1908; Wilcoxon 1945",
        "estimates",
        also=("cds_change", "cds_change_wilcoxon", "vac_change", "vac_change_wilcoxon"),
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
        "average",
        average,
        "Mean of any score over the levels of a factor, missing ones counted and never 0.",
        "general",
        (None, None),
        "as the score that is averaged",
        "SODA, Table 2",
        "estimates",
        suffix=AVERAGE,
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


REGISTRY: Mapping[str, MeasureInfo] = MappingProxyType(
    {m.name: m for m in (*_OBJECTS, *CAPTION_MEASURES, *_EMBEDDINGS, *_GENERAL, *_JUDGING)}
)
"""Every public measure by its name."""


_READS = {
    "constraints": "labels of constraints",
    "captions": "a captions frame",
    "embeddings": "an embeddings frame",
}


def measures_page() -> str:
    """The reference page of all measures, in Markdown."""
    parts = [
        "# Measures",
        "",
        "Every measure takes a tidy frame (Polars, pandas, PyArrow …) and returns a Polars frame of",
        "[estimates](tables.md). A number that cannot be given is null, and `undefined` says why.",
        "What they are for and how they are misused: [objects](../explanation/objects-measures.md),",
        "[shares](../explanation/shares.md).",
        "",
        "| measure | suite | what | range | direction |",
        "|---|---|---|---|---|",
    ]
    for info in REGISTRY.values():
        link = f"[`{info.name}`](#{info.name})"
        parts.append(f"| {link} | {info.suite} | {info.summary} | {_range(info)} | {info.direction} |")
    for info in REGISTRY.values():
        rows = info.also if info.reads or info.name == "change" else (info.name, *info.also)
        named = f" Rows are named `{'`, `'.join(rows)}`." if info.also else ""
        if info.suffix:
            of = "cbs" if info.suite == "biasbench" else "bds"
            named = (
                f" Rows are named after the measure that they were made from, such as `{of}{info.suffix}`."
            )
        if info.bands:
            named += f" Bands: {_bands(info)}."
        reads = _READS.get(info.needs, info.needs)
        parts += ["", f"## {info.name}", "", f"Reads {reads}. Source: {info.source}.{named}", ""]
        parts += ["```python", _signature(info), "```", "", _markdown(inspect.getdoc(info.function) or "")]
    return "\n".join(parts).rstrip() + "\n"


def _range(info: MeasureInfo) -> str:
    low, high = ("…" if bound is None else f"{bound:g}".replace("-", "−") for bound in info.bounds)
    return f"{low} to {high}"


def _bands(info: MeasureInfo) -> str:
    """``low up to 0.3, moderate up to 0.55 …``."""
    return ", ".join(f"{band.name} up to {band.most:g}" for band in info.bands)


def _signature(info: MeasureInfo) -> str:
    signature = inspect.signature(info.function)
    lines = []
    star = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            lines.append("    *,")
            star = True
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        lines.append(f"    {parameter.name}{default},")
    return "\n".join([f"{info.name}(", *lines, ")"])


def _markdown(docstring: str) -> str:
    """A numpydoc docstring as Markdown: sections as headings, roles as code, examples as code blocks."""
    text = re.sub(r":math:`([^`]*)`", r"$\1$", docstring)
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text)
    text = re.sub(r"``([^`]*)``", r"`\1`", text)
    text = re.sub(r"^([A-Z]\w+)\n-+$", r"### \1\n", text, flags=re.MULTILINE)
    body, _, example = text.partition("### Examples\n")
    body = re.sub(r"^(\w[\w., ]*)\n    (?=\S)", r"\n**\1**\n    ", body, flags=re.MULTILINE)
    body = "\n".join(line.removeprefix("    ") for line in body.splitlines())
    if not example:
        return body
    return f"{body}\n### Examples\n\n```pycon\n{example.strip()}\n```"
