"""The gallery: each prompt and model with pictures, the composite score in its band, the group most named."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from stereotrope.report.charts.radar import matrix
from stereotrope.report.contract import Block
from stereotrope.report.datatable import Table, TableCell, estimate_text, left_out_text, shown_rows
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, number, thousands
from stereotrope.report.panels import Figure, Panel, n_text, notes_of, panel_words
from stereotrope.report.prose import MeasureProse, listing
from stereotrope.report.sections.captions.pictures import MOST_PICTURES, Chooser
from stereotrope.report.sections.captions.scores import (
    COMPOSITE_MEASURES,
    Part,
    band_of,
    edges_text,
    in_band,
    line_label,
    parts_by_definition,
    reach,
    tentative,
    warnings,
)
from stereotrope.tables import BANDS, LABELLED

__all__ = ["MOST_COLUMNS", "MOST_GALLERIES", "MOST_LINES", "chosen_pictures", "gallery_blocks"]

MOST_LINES, MOST_COLUMNS = 12, 8
"""Prompts and models that one gallery shows; the data table names the rest."""
MOST_GALLERIES = 4
"""Galleries, one a definition and level of further factors."""
_MOST_PROMPT = 110
_FEW_COLUMNS = 3
_TENTATIVE = (
    "over half of the captions name no group, so that the score says more about what captions leave out than "
    "about who is shown; a score that is mostly unknown is hatched and outlined, not filled"
)


@dataclass(frozen=True)
class Score:
    """A score in words, and the place of its band; ``tentative`` where its captions name hardly a group."""

    name: str
    text: str
    band: int | None
    said: str
    n: str
    tentative: bool = False


@dataclass(frozen=True)
class GalleryCell:
    """One prompt of one model."""

    model: str
    scores: Sequence[Score]
    pictures: Sequence[Mapping[str, str]] = ()
    named: str = ""
    anchor: str = ""
    link: str = ""


@dataclass(frozen=True)
class GalleryLine:
    """One prompt."""

    title: str
    prompt: str
    cells: Sequence[GalleryCell]


@dataclass(frozen=True)
class Gallery:
    """What the macro ``gallery`` draws."""

    name: str
    title: str
    n: str
    models: Sequence[str]
    lines: Sequence[GalleryLine]
    bands: Sequence[tuple[str, str]]
    tentative: str
    scores: Sequence[tuple[str, str]]
    notes: Sequence[str]
    table: Table


def gallery_blocks(material: Material, shown: Exhibits) -> list[Block]:
    """A gallery for each definition and level of further factors; of very many the first."""
    parts, chooser = _parts(material), Chooser(material)
    blocks = []
    for i, part in enumerate(parts[:MOST_GALLERIES], start=1):
        gallery = _gallery(chooser, shown, part, f"gallery-{i}")
        if i == MOST_GALLERIES and len(parts) > i:
            left = listing([p.named for p in parts[i:]], most=6)
            said = f"No gallery of: {left}. Their scores are in {_files(material)}."
            gallery = replace(gallery, notes=[*gallery.notes, said])
        blocks.append(Block("gallery", content=gallery, exported=[_exported(material, part, gallery)]))
    return blocks


def chosen_pictures(material: Material) -> list[str]:
    """The pictures that galleries show, so that they are drawn before others."""
    chooser = Chooser(material)
    found: dict[str, None] = {}
    for part in _parts(material)[:MOST_GALLERIES]:
        for lines in _lines(material, part)[:MOST_LINES]:
            for rows in _by_model(material, lines)[:MOST_COLUMNS]:
                found.update(dict.fromkeys(chooser.pictures(rows[0])))
    return list(found)


def _parts(material: Material) -> list[Part]:
    frame = material.scores.filter(pl.col("measure").is_in(COMPOSITE_MEASURES))
    return parts_by_definition(material, frame) if frame.height else []


def _files(material: Material) -> str:
    there = material.scores["measure"].unique().to_list()
    return " and ".join(f"tables/{measure}.csv" for measure in COMPOSITE_MEASURES if measure in there)


def _lines(material: Material, part: Part) -> list[list[dict[str, Any]]]:
    """The rows of each prompt, in the order of the design."""
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in part.frame.iter_rows(named=True):
        rows.setdefault(tuple(row[f] for f in part.lines), []).append(row)
    order = sorted(
        rows, key=lambda key: [material.position(f, v) for f, v in zip(part.lines, key, strict=True)]
    )
    return [rows[key] for key in order]


def _by_model(material: Material, rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The rows of one prompt by model; a model without any is left out."""
    return [found for g in _models(material, rows) if (found := [r for r in rows if r["generator"] == g])]


def _models(material: Material, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    there = {row["generator"] for row in rows}
    return [g for g in material.named_generators if g in there]


def _gallery(chooser: Chooser, shown: Exhibits, part: Part, name: str) -> Gallery:
    material = chooser.material
    lines = _lines(material, part)
    models = _models(material, part.frame.to_dicts())
    drawn = []
    for rows in lines[:MOST_LINES]:
        cells = [
            _cell(chooser, shown, model, [r for r in rows if r["generator"] == model])
            for model in models[:MOST_COLUMNS]
        ]
        drawn.append(GalleryLine(line_label(rows[0], part.lines), _prompt_text(material, rows[0]), cells))
    present = part.frame["measure"].to_list()
    proses = [material.explain(m, part.definition) for m in COMPOSITE_MEASURES if m in present]
    suffix = f" ({part.named})" if part.named else ""
    return Gallery(
        name=name,
        title=f"What each model shows for each prompt, and how its captions score{suffix}",
        n=n_text(material, part.frame),
        models=models[:MOST_COLUMNS],
        lines=drawn,
        bands=[(band.name, edges_text(band)) for band in BANDS],
        tentative=_TENTATIVE if any(tentative(row) for row in part.frame.iter_rows(named=True)) else "",
        scores=[(prose.abbreviation, _meaning(prose)) for prose in proses],
        notes=_notes(material, part, lines, models),
        table=_table(chooser, part, lines),
    )


def _meaning(prose: MeasureProse) -> str:
    return f"{prose.definition} Unit: {prose.unit}. Source: {prose.source}."


def _prompt_text(material: Material, row: Mapping[str, Any]) -> str:
    """The text of a prompt where it has a single one."""
    sheet = material.find_sheet(row)
    texts = {i["text"] for i in sheet.images if i["text"]} if sheet else set()
    text = texts.pop() if len(texts) == 1 else ""
    return text if len(text) <= _MOST_PROMPT else f"{text[:_MOST_PROMPT].rstrip()} …"


def _cell(chooser: Chooser, shown: Exhibits, model: str, rows: Sequence[Mapping[str, Any]]) -> GalleryCell:
    if not rows:
        return GalleryCell(model, [Score("", "no score", None, "this model has none of this prompt", "")])
    pictures = [
        {"uri": uri, "alt": chooser.alt(image) or shown.alt(image)}
        for image in chooser.pictures(rows[0])
        if (uri := shown.thumbs.uris.get(image) or shown.thumbs.best(image))
    ]
    sheet = chooser.material.find_sheet(rows[0])
    usable = sum(1 for i in sheet.images if i["status"] in LABELLED) if sheet else 0
    return GalleryCell(
        model,
        [_score(chooser.material, row) for row in rows],
        pictures,
        chooser.named(rows[0]),
        sheet.anchor if sheet else "",
        f"all {count(usable, 'picture')}" if usable != 1 else "the picture",
    )


def _score(material: Material, row: Mapping[str, Any]) -> Score:
    prose = material.explain(row["measure"], row["definition"])
    name = prose.abbreviation + (f"; {prose.sense}" if prose.sense else "")
    size = "" if row["n"] is None else f"n = {thousands(row['n'])}"
    n = "; ".join(text for text in (size, warnings(row, banded=row["value"] is not None)) if text)
    if row["value"] is None:
        return Score(name, "not defined", None, str(row["undefined"] or "no reason given"), n)
    return Score(name, in_band(row), band_of(row), reach(row), n, tentative(row))


def _notes(
    material: Material, part: Part, lines: Sequence[Sequence[Mapping[str, Any]]], models: Sequence[str]
) -> list[str]:
    notes = [
        f"Pictures: the first {MOST_PICTURES} of each condition, in the order of the run, whose caption has "
        "the most frequent value of what the score is of; that may be that it names no group. They show what "
        "is common, not how much the pictures vary."
    ]
    if left := [line_label(rows[0], part.lines) for rows in lines[MOST_LINES:]]:
        notes.append(f"Not shown here, but in the data table and in {_files(material)}: {listing(left)}.")
    if others := list(models[MOST_COLUMNS:]):
        notes.append(
            f"Not shown here, but in the data table and in {_files(material)}: models {listing(others)}."
        )
    return [*notes, *notes_of(part.frame, 0, 0, dots=False)]


def _table(chooser: Chooser, part: Part, lines: Sequence[Sequence[Mapping[str, Any]]]) -> Table:
    material, rows = chooser.material, []
    for line in lines:
        for model in _models(material, line):
            for row in (r for r in line if r["generator"] == model):
                sheet = material.find_sheet(row)
                rows.append(
                    [
                        TableCell(line_label(row, part.lines)),
                        TableCell(model),
                        TableCell(material.explain(row["measure"]).short),
                        TableCell(words(str(row["attribute"])) if row["attribute"] else "–"),
                        TableCell(estimate_text(material, row), numeric=row["value"] is not None),
                        TableCell(reach(row) or "–"),
                        TableCell(chooser.named(row) or "–"),
                        TableCell("" if row["n"] is None else thousands(row["n"]), numeric=True),
                        TableCell(left_out_text(material, row)),
                        TableCell(warnings(row)),
                        TableCell("see", href=f"#{sheet.anchor}") if sheet else TableCell(""),
                    ]
                )
    heads = [
        "prompt",
        "model",
        "score",
        "of",
        "value [interval]",
        "band",
        "groups",
        "n",
        "left out",
        "warnings",
    ]
    title = f"Composite scores of captions{f' ({part.named})' if part.named else ''}"
    shown = rows[: shown_rows(len(rows))]
    return Table(title, [*heads, "pictures"], shown, len(rows), _files(material))


def _broken(score: Score) -> list[str]:
    """The band of a score, and in a line of its own what its interval reaches where that is long."""
    parts = score.said.split(", ")
    return [", ".join(parts[:2]), *parts[2:]] if score.tentative else [score.said]


def _exported(material: Material, part: Part, gallery: Gallery) -> Figure:
    """The scores of a gallery as a chart without pictures, for the files."""
    rows = [
        {
            "line": line.title,
            "column": cell.model,
            "band": cell.scores[0].band,
            "tentative": cell.scores[0].tentative,
            "texts": [cell.scores[0].name.partition(";")[0], cell.scores[0].text, *_broken(cell.scores[0])],
            "tip": f"{line.title}, {cell.model}: {cell.scores[0].name} {cell.scores[0].text}",
        }
        for line in gallery.lines
        for cell in line.cells
    ]
    spec = matrix(rows, columns=gallery.models, lines=[line.title for line in gallery.lines])
    edges = ", ".join(f"{band.name} ≤ {number(band.most, places=2)}" for band in BANDS)
    title = f"Composite scores of captions, by prompt and model{f' ({part.named})' if part.named else ''}"
    return Figure(
        name=gallery.name,
        title=title,
        prose=material.explain(str(part.frame["measure"][0]), part.definition),
        n=gallery.n,
        panels=[Panel(edges, spec, panel_words(title, "", rows), 2 * len(gallery.lines))],
        table=gallery.table,
        stacked=len(gallery.models) > _FEW_COLUMNS,
    )
