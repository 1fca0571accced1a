"""The profile of each model over the prompts: a radar of its composite scores, its area and its rank."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from stereotrope.report.charts.radar import RADAR_HEIGHT, radar
from stereotrope.report.contract import Block
from stereotrope.report.datatable import Table, TableCell, estimate_text, shown_rows
from stereotrope.report.escape import ellipsis, visible
from stereotrope.report.material import Material
from stereotrope.report.numbers import count, number, thousands
from stereotrope.report.panels import MOST_PANELS, Figure, Panel, n_text, notes_of
from stereotrope.report.prose import listing
from stereotrope.report.sections.captions.scores import (
    COMPOSITE_MEASURES,
    Part,
    edges_text,
    line_label,
    parts_by_definition,
    reach,
    warnings,
)
from stereotrope.tables import BANDS

PROFILE = ("composite_mean", "radar_area", "radar_area_any_order", "radar_rank", "radar_rank_orders")
"""Estimates of a model's profile over its prompts."""
_LEAST_AXES, _MOST_AXES = 3, 16
_MOST_NUMBERED = 9
"""Axes up to which the scores stand in the radar too."""
_MOST_BEHIND = 5
"""Other models up to which their polygons are drawn behind."""
_MOST_FIGURES = 4
_STEP, _ABOVE = 24, 60
"""What the page keeps for a row of a chart, and for its axes."""
_HEADS = {
    "radar_rank": "place",
    "radar_area": "area",
    "radar_rank_orders": "orders with this place",
    "radar_area_any_order": "area, mean of all orders",
    "composite_mean": "mean score",
}


@dataclass(frozen=True)
class Profile:
    """A radar figure with what stands open below it; ``said`` is empty where no area is stored."""

    figure: Figure
    ranks: Table | None
    said: str


def profile_blocks(material: Material) -> list[Block]:
    """A radar figure a definition and level of further factors, for the first of very many."""
    frame = material.scores.filter(pl.col("measure").is_in(COMPOSITE_MEASURES))
    stored = frozenset(PROFILE) & set(material.scores["measure"].to_list())
    if not frame.height:
        return []
    parts = parts_by_definition(material, frame)
    blocks = []
    for i, part in enumerate(parts[:_MOST_FIGURES], start=1):
        profile = _profile(material, part, "radar" if i == 1 else f"radar-{i}")
        blocks.append(Block("profile", figures=[profile.figure], content=profile, replaces=frozenset(stored)))
    return blocks


def _profile(material: Material, part: Part, name: str) -> Profile:
    lines, models, scores = _scores(material, part)
    told = _stored(material, part)
    suffix = f" ({part.named})" if part.named else ""
    title = f"The composite scores of each model over the prompts{suffix}"
    notes, why = [], _why_not(lines)
    shown = [m for m in models if any(scores[m, i]["value"] is not None for i in range(len(lines)))]
    panels = [] if why or not shown else _panels(material, lines, shown, scores, told, title)
    if why:
        notes.append(why)
    if left := shown[MOST_PANELS:]:
        notes.append(f"Not drawn: {listing(left)}; their scores are in the data table.")
    open_ = [m for m in models if any(scores[m, i]["value"] is None for i in range(len(lines)))]
    if open_ and panels:
        notes.append(f"Without a polygon, because a score of it is not defined: {listing(open_)}.")
    figure = Figure(
        name=name,
        title=title,
        prose=replace(material.explain("radar_area", part.definition), unit=""),
        n=n_text(material, part.frame),
        panels=panels,
        table=_table(material, part, lines, models, scores),
        notes=[*notes, *notes_of(part.frame, 0, 0, dots=False)],
        reads=_reads(material, part, behind=_behind(models)) if panels else "",
    )
    return Profile(figure, _ranks(material, told, models), _order_sentence(told, models))


_Scores = dict[tuple[str, int], Mapping[str, Any]]
_Lines = list[tuple[str, str]]


def _scores(material: Material, part: Part) -> tuple[_Lines, list[str], _Scores]:
    """The axes with their names, the models, and the score of each model on each axis."""
    keys: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for row in part.frame.iter_rows(named=True):
        keys.setdefault((*(row[f] for f in part.lines), row["measure"]), row)
    order = sorted(
        keys,
        key=lambda k: (
            [material.position(f, v) for f, v in zip(part.lines, k[:-1], strict=True)]
            + [(COMPOSITE_MEASURES.index(k[-1]), "")]
        ),
    )
    lines = [(line_label(keys[key], part.lines), str(key[-1])) for key in order]
    there = set(part.frame["generator"].to_list())
    models = [g for g in material.named_generators if g in there]
    empty = {
        "value": None,
        "low": None,
        "high": None,
        "undefined": "no score of this prompt",
        "n": None,
        "flags": None,
    }
    scores: _Scores = {}
    for i, key in enumerate(order):
        for model in models:
            scores[model, i] = {**keys[key], **empty, "generator": model}
    for row in part.frame.iter_rows(named=True):
        at = order.index((*(row[f] for f in part.lines), row["measure"]))
        scores[row["generator"], at] = row
    return lines, models, scores


def _why_not(lines: _Lines) -> str:
    if len(lines) < _LEAST_AXES:
        return (
            f"No radar is drawn: it needs at least {_LEAST_AXES} axes, and there "
            f"{'is' if len(lines) == 1 else 'are'} {count(len(lines), 'prompt')} with a composite score."
        )
    if len(lines) > _MOST_AXES:
        return f"No radar is drawn: of {len(lines)} axes none could be read. The table has the scores."
    return ""


def _behind(models: Sequence[str]) -> bool:
    return 1 < len(models) <= _MOST_BEHIND + 1


def _reads(material: Material, part: Part, *, behind: bool) -> str:
    edges = "; ".join(f"{band.name} {edges_text(band)}" for band in BANDS)
    mixed = part.frame["measure"].n_unique() > 1
    proses = [material.explain(measure) for measure in COMPOSITE_MEASURES]
    told = "".join(f"; {prose.abbreviation}: {prose.sense}" for prose in proses if prose.sense)
    return " ".join(
        [
            f"Every axis runs from 0 in the middle to 1; rings are the edges of the bands: {edges}. "
            "Lines on the axes are intervals.",
            *[f"The axes hold two different scores, which stand at their ends{told}."] * mixed,
            *["Grey: the other models."] * behind,
        ]
    )


def _panels(
    material: Material,
    lines: _Lines,
    models: Sequence[str],
    scores: _Scores,
    told: Mapping[str, Mapping[str, Any]],
    title: str,
) -> list[Panel]:
    short = {measure: material.explain(measure).abbreviation for _, measure in lines}
    axes = [f"{label}\n{short[measure]}" if len(short) > 1 else label for label, measure in lines]
    values = {m: [scores[m, i]["value"] for i in range(len(lines))] for m in models}
    panels = []
    for place, model in enumerate(models[:MOST_PANELS]):
        rows = [scores[model, i] for i in range(len(lines))]
        own = [
            {
                "value": row["value"],
                "low": row["low"],
                "high": row["high"],
                "text": number(row["value"], places=2) if len(lines) <= _MOST_NUMBERED else "",
                "tip": f"{label}, {short[measure]}: {estimate_text(material, row)}, {reach(row)}, "
                f"n = {row['n']}",
            }
            for row, (label, measure) in zip(rows, lines, strict=True)
        ]
        others = {m: v for m, v in values.items() if m != model and None not in v and _behind(models)}
        spec = radar(axes, own, others, place=place)
        heading = _heading(model, told.get(model, {}))
        said = "; ".join(row["tip"] for row in own)
        alt = visible(ellipsis(f"{title}. {heading}: {said}.", 900))
        panels.append(Panel(heading, spec, alt, (RADAR_HEIGHT - _ABOVE) // _STEP))
    return panels


def _heading(model: str, told: Mapping[str, Any]) -> str:
    area = told.get("radar_area")
    return f"{model}: area {number(area['value'], places=2)}" if area and area["value"] is not None else model


def _stored(material: Material, part: Part) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Model → measure → its row, of what is stored of profiles."""
    same = pl.col("measure").is_in(PROFILE) & pl.col("definition").eq_missing(part.definition)
    if part.lexicon is not None:
        same &= pl.col("annotator") == part.lexicon
    for factor, level in part.scope.items():
        same &= pl.col(factor).eq_missing(level)
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    if len(part.lines) > 1:
        return found
    for row in material.scores.filter(same).iter_rows(named=True):
        found.setdefault(str(row["generator"]), {}).setdefault(row["measure"], row)
    return found


def _ranks(material: Material, told: Mapping[str, Mapping[str, Any]], models: Sequence[str]) -> Table | None:
    """Models by the area of their polygon, the smallest first."""
    there = [m for m in models if m in told]
    if not there:
        return None

    def rank(model: str) -> tuple[bool, float, int]:
        value = (told[model].get("radar_rank") or {}).get("value")
        return (value is None, value or 0.0, models.index(model))

    columns = [m for m in _HEADS if any(m in told[model] for model in there)]
    rows = []
    for model in sorted(there, key=rank):
        texts = [_ranked(material, told[model].get(m), m) for m in columns]
        n = next((row["n"] for row in told[model].values() if row["n"] is not None), None)
        prompts = TableCell("" if n is None else thousands(n), numeric=True)
        rows.append([TableCell(model), *(TableCell(t, numeric=t[:1].isdigit()) for t in texts), prompts])
    title = "Area of each model's polygon, as a share of the greatest possible one"
    heads = ["model", *(_HEADS[m] for m in columns), "prompts"]
    return Table(title, heads, rows[: shown_rows(len(rows))], len(rows), "tables/radar_area.csv")


def _ranked(material: Material, row: Mapping[str, Any] | None, measure: str) -> str:
    if row is None:
        return "–"
    if row["value"] is None:
        return estimate_text(material, row)
    if measure == "radar_rank":
        return number(row["value"], places=0 if float(row["value"]).is_integer() else 1)
    return _share(row["value"]) if measure == "radar_rank_orders" else estimate_text(material, row)


def _share(value: float) -> str:
    """A share of orders as percent, never rounded to all or none."""
    if value in (0.0, 1.0):
        return f"{100 * value:.0f}%"
    return "over 99%" if value > 0.99 else "under 1%" if value < 0.01 else f"{100 * value:.0f}%"


def _order_sentence(told: Mapping[str, Mapping[str, Any]], models: Sequence[str]) -> str:
    """That the area depends on the order of the axes, and under how many of the orders the ranking holds."""
    if not any("radar_area" in rows for rows in told.values()):
        return ""
    first = (
        "The area of a polygon depends on the order of its axes, here the order of the prompts in the "
        "design; a smaller area means lower scores. Where the intervals of two areas overlap, the models may "
        "as well stand the other way round."
    )
    held = [
        (m, told[m]["radar_rank"]["value"], told[m]["radar_rank_orders"]["value"])
        for m in models
        if {"radar_rank", "radar_rank_orders"} <= told.get(m, {}).keys()
    ]
    held = [(m, rank, share) for m, rank, share in held if rank is not None and share is not None]
    if not held:
        return first
    if all(share == 1.0 for _, _, share in held):
        return f"{first} Every model has the same place under every order."
    told_ = [
        f"{m} keeps place {rank:g} under {_share(share)}" for m, rank, share in sorted(held, key=_by_rank)
    ]
    return f"{first} Of all orders, {listing(told_, most=6)}. A place that depends on the order says nothing."


def _by_rank(held: tuple[str, float, float]) -> float:
    return held[1]


def _table(material: Material, part: Part, lines: _Lines, models: Sequence[str], scores: _Scores) -> Table:
    rows = []
    for i, (label, measure) in enumerate(lines):
        for model in models:
            row = scores[model, i]
            sheet = material.find_sheet(row)
            rows.append(
                [
                    TableCell(label),
                    TableCell(material.explain(measure).abbreviation),
                    TableCell(model),
                    TableCell(estimate_text(material, row), numeric=row["value"] is not None),
                    TableCell(reach(row) or "–"),
                    TableCell("" if row["n"] is None else thousands(row["n"]), numeric=True),
                    TableCell(warnings(row)),
                    TableCell("see", href=f"#{sheet.anchor}") if sheet else TableCell(""),
                ]
            )
    there = part.frame["measure"].unique().to_list()
    files = " and ".join(f"tables/{measure}.csv" for measure in COMPOSITE_MEASURES if measure in there)
    heads = ["axis", "score", "model", "value [interval]", "band", "n", "warnings", "pictures"]
    return Table("The scores on the axes", heads, rows[: shown_rows(len(rows))], len(rows), files)
