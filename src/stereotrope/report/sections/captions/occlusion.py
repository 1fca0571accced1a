"""Whether captions name no group because a face is covered, and what that does to the composite."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from stereotrope.report.contract import Block
from stereotrope.report.material import Material, words
from stereotrope.report.panels import Figure
from stereotrope.report.prose import MeasureProse
from stereotrope.report.sections.captions.alongside import (
    ScoreEntry,
    SeriesStyle,
    entries_by_scope,
    figure_of,
    panel_of,
    scope_of,
    scope_words,
)
from stereotrope.report.sections.captions.bases import Basis, block_by_basis

UNKNOWN_SHARE, OCCLUDED_SHARE = "unknown_share", "occluded_share"
SCORE, SCORE_WITHOUT = "cbs", "cbs_without_occluded"
_AMONG = {None: "all captions", "occluded": "face covered", "not occluded": "not covered"}
_READS = (
    "If covered faces were the reason why captions name no group, no group would be named clearly more often "
    "where a face is covered, and the composite would move without these captions. Where neither is seen, "
    "covers do not explain it."
)


def occlusion_block(material: Material) -> Block | None:
    """Shares of unknown by covered faces beside the composite with and without these; None without any."""
    every = material.scores.filter(pl.col("measure").is_in((UNKNOWN_SHARE, OCCLUDED_SHARE, SCORE_WITHOUT)))
    return block_by_basis(material, every, _figure)


def _figure(material: Material, basis: Basis) -> Figure:
    definition, frame = basis.definition, basis.frame
    scope = scope_of(material, frame)
    scores = _with_whole(material, frame, definition)
    rows = pl.concat([frame.filter(pl.col("measure") != SCORE_WITHOUT), scores])
    shares = frame.filter(pl.col("measure").is_in((UNKNOWN_SHARE, OCCLUDED_SHARE)))
    prose = _prose(material, definition, rows, basis.named)
    panels = []
    for heading, share, score in _parts(material, shares, scores, scope):
        lead = f"{heading}: " if heading else ""
        if share.height:
            look = SeriesStyle.for_frame(shares, "share of captions", bars=True)
            panels.append(
                panel_of(
                    material, f"{lead}share of captions", _lines(material, share), look, title=prose.title
                )
            )
        if score.height:
            look = SeriesStyle.for_frame(scores, material.explain(SCORE, definition).short)
            panels.append(
                panel_of(
                    material,
                    f"{lead}composite with and without them",
                    _scores(material, score),
                    look,
                    title=prose.title,
                )
            )
    name = basis.called("captions-covered")
    return figure_of(material, rows, prose, panels, name=name, reads=_READS)


def _with_whole(material: Material, frame: pl.DataFrame, definition: str | None) -> pl.DataFrame:
    """The composites without covered faces, and those of all captions of the same prompts."""
    without = frame.filter(pl.col("measure") == SCORE_WITHOUT)
    named = ("generator", "annotator", *material.factors, "attribute", "category")
    same = [c for c in named if c in frame.columns]
    whole = material.scores.filter(
        (pl.col("measure") == SCORE) & pl.col("definition").eq_missing(definition)
    ).join(without.select(same).unique(), on=same, how="semi", nulls_equal=True, maintain_order="left")
    return pl.concat([whole, without])


def _parts(
    material: Material, shares: pl.DataFrame, scores: pl.DataFrame, scope: list[str]
) -> list[tuple[str, pl.DataFrame, pl.DataFrame]]:
    """The two frames of each prompt, in the order of the design."""
    every = pl.concat([shares, scores]).select(scope).unique(maintain_order=True) if scope else None
    if every is None:
        return [("", shares, scores)]
    keys = sorted(every.iter_rows(named=True), key=lambda r: [material.position(c, r[c]) for c in scope])
    out = []
    for key in keys:
        here = [pl.col(c).eq_missing(pl.lit(v)) for c, v in key.items()]
        out.append((scope_words(key, scope), shares.filter(here), scores.filter(here)))
    return out


def _lines(material: Material, rows: pl.DataFrame) -> list[ScoreEntry]:
    """How many captions name a cover, set apart; then the share of unknown among which captions."""
    several = rows["attribute"].drop_nulls().n_unique() > 1

    def among(row: Mapping[str, Any]) -> str:
        lead = f", {words(str(row['attribute']))}" if several else ""
        return f"no group named{lead}: {_AMONG.get(row['category'], str(row['category']))}"

    covered = rows.filter(pl.col("measure") == OCCLUDED_SHARE)
    unknown = rows.filter(pl.col("measure") == UNKNOWN_SHARE)
    head = entries_by_scope(material, covered, (), lambda _: "face covered")
    return [*(replace(e, apart=True) for e in head), *entries_by_scope(material, unknown, (), among)]


def _scores(material: Material, rows: pl.DataFrame) -> list[ScoreEntry]:
    several = rows["attribute"].drop_nulls().n_unique() > 1

    def which(row: Mapping[str, Any]) -> str:
        lead = f"{words(str(row['attribute']))}, " if several else ""
        return f"{lead}{'all captions' if row['measure'] == SCORE else 'without covered faces'}"

    return entries_by_scope(material, rows, (), which)


def _prose(material: Material, definition: str | None, rows: pl.DataFrame, named: str) -> MeasureProse:
    parts = [
        material.explain(m, definition)
        for m in rows["measure"].unique(maintain_order=True).to_list()
        if m != SCORE
    ]
    sources = dict.fromkeys(s for p in parts for s in p.source.split("; "))
    return replace(
        parts[0],
        title=f"Whether covered faces explain why captions name no group{named}",
        unit="",
        definition=" ".join(f"{p.short}: {p.definition}" for p in parts),
        source="; ".join(sources),
    )
