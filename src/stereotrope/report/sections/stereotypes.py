"""The section of stereotypes: what pictures show more often than is true, and how varied they are."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from stereotrope.report.charts.drawing import PALETTE
from stereotrope.report.charts.gaps import gaps
from stereotrope.report.charts.scatter import scatter
from stereotrope.report.contract import add_section
from stereotrope.report.datatable import dot_of, estimate_cell, estimate_text, table_by
from stereotrope.report.figures import figures_of
from stereotrope.report.material import Material, level_words, words
from stereotrope.report.numbers import number, probability
from stereotrope.report.panels import MOST_PANELS, SIGNIFICANT, Figure, Panel, notes_of, panel_words
from stereotrope.report.series import Estimate, Series
from stereotrope.tables import warnings_of

SCORE, DIFFERENCE, TRUE, VARIETY = "stereotype_score", "stereotype_difference", "true_share", "wals"
_ALL = "all models"
_Key = tuple[Any, ...]


def _scores(material: Material) -> list[Figure]:
    """A panel a concept: the share of every attribute beside its true share; the table has all of it."""
    frame = material.scores.filter(measure=SCORE)
    models = _models(material, frame)
    counted = frame.filter(pl.col("numerator").is_not_null())
    if len(models) > len(PALETTE) or counted.is_empty() or frame["definition"].n_unique() > 1:
        return figures_of(material, Series(SCORE))
    keys = _keys(material, frame)
    beside = {name: _by_key(material.scores.filter(measure=name), keys) for name in (DIFFERENCE, TRUE)}
    by = [c for c in material.scope_columns(frame) if c != "generator"]
    prose = material.explain(SCORE, frame["definition"][0])
    panels = []
    for levels, rows in list(material.parts(counted, by).items())[:MOST_PANELS]:
        heading = " · ".join(
            level_words(c, level) for c, level in zip(by, levels, strict=True) if level is not None
        )
        drawn = [_row(material, row, beside, keys) for row in rows.iter_rows(named=True)]
        spec = gaps(drawn, unit="share of the pictures; the tick is the true share", series=models)
        panels.append(Panel(heading, spec, panel_words(prose.title, heading, drawn), len(drawn)))
    cut = max(0, len(material.parts(counted, by)) - MOST_PANELS)
    columns: dict[str, Callable[[Estimate], Any]] = {
        "model": lambda row: str(row.get("generator") or _ALL),
        **{words(c): partial(_level, c) for c in by},
        "attribute": lambda row: words(str(row["attribute"])),
        "shown": lambda row: (
            "" if row["numerator"] is None else f"{row['numerator']} of {row['denominator']}"
        ),
        "true share": lambda row: estimate_cell(material, beside[TRUE].get(_key(row, keys), row)),
        "score [interval]": lambda row: estimate_cell(material, row),
        "difference [interval]": lambda row: estimate_cell(
            material, beside[DIFFERENCE].get(_key(row, keys), row)
        ),
        "by chance": lambda row: number(row["floor"], row["n"]),
        "p": lambda row: probability(row["p_value"]),
        "q": lambda row: probability(row["q_value"]),
        "assumed": lambda row: "assumed" if "assumed" in warnings_of(row["flags"]) else "",
        "n": lambda row: row["n"],
    }
    told = table_by(prose.title, frame.to_dicts(), columns, f"tables/{SCORE}.csv")
    reads = (
        "A dark bar is the score: how much more often the attribute is shown than it is true. A light bar "
        "leads back to a true share that is not reached, which is no stereotype and may be a bias. The line "
        f"is the interval of the difference, drawn at the share. {prose.reads}"
    )
    notes = notes_of(frame, cut, 0)
    return [
        Figure.of(material, frame, prose, prose.title, SCORE, panels, table=told, reads=reads, notes=notes)
    ]


def _level(factor: str, row: Estimate) -> str:
    return level_words(factor, row[factor])


def _row(
    material: Material, row: Estimate, beside: Mapping[str, Mapping[_Key, Estimate]], keys: Sequence[str]
) -> dict[str, Any]:
    """What is drawn of one attribute, in the colour of its model."""
    key = _key(row, keys)
    true, away = beside[TRUE][key]["value"], beside[DIFFERENCE][key]
    said = f"Ψ {estimate_text(material, row)}"
    shown = f"{row['numerator']} of {row['denominator']} shown, true share {number(true, row['n'])}; {said}"
    label = words(str(row["attribute"]))
    drawn = dot_of(
        row, label, shown, number(row["value"], row["n"]), series=str(row.get("generator") or _ALL), text=said
    )
    ends = {
        end: None if away[end] is None else min(1.0, max(0.0, true + away[end])) for end in ("low", "high")
    }
    share = row["numerator"] / row["denominator"]
    sure = row["q_value"] is not None and row["q_value"] <= SIGNIFICANT
    return {**drawn, **ends, "value": share, "true": true, "floor": None, "sure": sure}


def _variety(material: Material) -> list[Figure]:
    """WALS itself, and beside the scores: low score and low variety is a finding, not a success."""
    figures = figures_of(material, Series(VARIETY))
    centred = material.scores.filter(measure=VARIETY, definition="centred").filter(
        pl.col("value").is_not_null()
    )
    scores = material.scores.filter(measure=SCORE).filter(pl.col("value").is_not_null())
    keys = [c for c in _keys(material, scores) if c not in ("category", "annotator")]
    by_key = _by_key(scores, keys)
    pairs = [
        (row, by_key[_key(row, keys)]) for row in centred.iter_rows(named=True) if _key(row, keys) in by_key
    ]
    models = _models(material, centred)
    if not pairs or len(models) > len(PALETTE):
        return figures
    by = [c for c in material.scope_columns(centred) if c != "generator"]
    prose = material.explain(VARIETY, "centred")
    title = "Stereotype score beside variety"
    tops = [max((score["high"] or score["value"]) for _, score in pairs), 0.05]
    rights = [max((row["high"] or row["value"], row["floor"])) for row, _ in pairs]
    panels = []
    for levels, rows in list(material.parts(centred, by).items())[:MOST_PANELS]:
        heading = " · ".join(
            level_words(c, level) for c, level in zip(by, levels, strict=True) if level is not None
        )
        here = {_key(row, [*keys, *by]) for row in rows.iter_rows(named=True)}
        drawn = [_point(material, row, score) for row, score in pairs if _key(row, [*keys, *by]) in here]
        if drawn:
            spec = scatter(
                drawn,
                across="WALS, centred: variety along the attribute",
                upright="stereotype score",
                series=models,
                top=1.05 * max(tops),
                right=1.05 * max(rights),
                floor=rows["floor"][0],
            )
            panels.append(Panel(heading, spec, panel_words(title, heading, drawn), 8))
    reads = (
        "To the right pictures vary more along the attribute, upwards they show it more often than is true. "
        "Left of the dashed line they vary less along it than along a direction at random: a low score there "
        "is one of uniform pictures. Scores of 0 to the right of it are named when they are pointed at."
    )
    beside = Figure.of(
        material, centred, prose, title, "stereotype-plane", panels, reads=reads, defined=False
    )
    return [beside, *figures]


def _point(material: Material, row: Estimate, score: Estimate) -> dict[str, Any]:
    label = words(str(row["attribute"]))
    model = str(row.get("generator") or _ALL)
    said = f"Ψ {estimate_text(material, score)}, WALS {estimate_text(material, row)}"
    ends = {"low": score["low"], "high": score["high"], "left": row["low"], "right": row["high"]}
    return {
        "label": label,
        "series": model,
        "x": row["value"],
        "value": score["value"],
        "tip": f"{label}, {model}: {said}",
        "named": score["value"] > 0 or row["value"] < row["floor"],
        **ends,
    }


def _models(material: Material, frame: pl.DataFrame) -> list[str]:
    found = frame["generator"].unique().to_list() if "generator" in frame.columns else [None]
    return [str(m or _ALL) for m in sorted(found, key=lambda m: material.position("generator", m))]


def _keys(material: Material, frame: pl.DataFrame) -> list[str]:
    factors = [c for c in ("generator", "annotator", *material.factors) if c in frame.columns]
    return [*dict.fromkeys(factors), "attribute", "category"]


def _key(row: Estimate, keys: Sequence[str]) -> _Key:
    return tuple(row.get(c) for c in keys)


def _by_key(frame: pl.DataFrame, keys: Sequence[str]) -> dict[_Key, Estimate]:
    return {_key(row, keys): row for row in frame.iter_rows(named=True)}


add_section(
    "stereotypes",
    "What the pictures show more often than is true",
    lead="An attribute counts as a stereotype of a concept where its pictures show it more often than it is "
    "true of the concept. What is true is the audit's choice, named with its source; attributes are "
    "perceived presentation as labelled by an annotator.",
    place=48,
    draws={SCORE: _scores, VARIETY: _variety},
)
