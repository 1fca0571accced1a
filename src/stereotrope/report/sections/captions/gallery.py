"""The gallery: each prompt and model with pictures, the composite score in its band, the group most named."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import polars as pl

from stereotrope.escape import cut_short
from stereotrope.report.charts.drawing import side_by_side
from stereotrope.report.charts.radar import matrix
from stereotrope.report.contract import Block
from stereotrope.report.datatable import Table, left_out_text
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, number, thousands
from stereotrope.report.panels import n_text, notes_of
from stereotrope.report.prose import listing
from stereotrope.report.sections.captions.groups import GROUP_SHARES
from stereotrope.report.sections.captions.scores import (
    ScoreGrid,
    band_of,
    composite_files,
    composite_grids,
    edges_text,
    in_band,
    reach,
    tentative,
    warnings,
)
from stereotrope.report.series import Estimate
from stereotrope.tables import BANDS, CAPTION, UNKNOWN

MOST_LINES, MOST_COLUMNS = 12, 8
"""Prompts and models that one gallery shows; the data table names the rest."""
MOST_GALLERIES = 4
"""Galleries, one a definition and level of further factors."""
MOST_CHOSEN = 3
"""Pictures that stand for one prompt of one model."""
_MOST_PROMPT, _MOST_CAPTION = 110, 220
_FEW_COLUMNS = 3
_TENTATIVE = (
    "over half of the captions name no group, so that the score says more about what captions leave out than "
    "about who is shown; a score that is mostly unknown is hatched and outlined, not filled"
)
_CHOICE = (
    f"Pictures: the first {MOST_CHOSEN} of each condition, in the order of the run, whose caption has the "
    "most frequent value of what the score is of; that may be that it names no group. They show what is "
    "common, not how much the pictures vary."
)


class Chooser:
    """Chooses pictures by a rule that knows nothing of how they look.

    Pictures are the first of their condition, in the order of the run, whose caption has the most frequent
    value of the attribute that the score is of. That value may be ``unknown``: where most captions name no
    group, pictures of the few that do would show what is rare.
    """

    def __init__(self, material: Material) -> None:
        self.material = material
        self._values: dict[tuple[str, str | None], Mapping[str, str]] = {}

    def pictures(self, row: Estimate) -> list[str]:
        """The images that stand for an estimate; the first of its condition where no group is counted."""
        sheet = self.material.find_sheet(row)
        if sheet is None:
            return []
        usable = sheet.usable
        most = _most(self._shares_of(row))
        if most and row["attribute"]:
            values = self._values_of(row["attribute"], row.get("annotator"))
            usable = [image for image in usable if values.get(image) == most[0]] or usable
        return usable[:MOST_CHOSEN]

    def named(self, row: Estimate) -> str:
        """The group most named with its share, and how many captions name none where these are more."""
        shares = self._shares_of(row)
        if not shares:
            return ""
        attribute = words(str(row["attribute"]))
        groups = _most({group: share for group, share in shares.items() if group != UNKNOWN})
        if not groups:
            return f"no {attribute} named"
        said, share = listing([words(group) for group in groups], most=3), shares[groups[0]]
        each = " each" if len(groups) > 1 else ""
        told = f"most named {attribute}: {said}, {number(share, places=2)}{each}"
        none = shares.get(UNKNOWN, 0.0)
        return f"{told}; none named: {number(none, places=2)}" if none > share else told

    def alt(self, image: str) -> str:
        """What the caption of a picture says, empty where it has none."""
        caption = self._captions.get(image)
        if caption is None:
            return ""
        sheet = self.material.sheet_of[image]
        return f"{sheet.generator}, {sheet.title}. Caption: {cut_short(caption, _MOST_CAPTION)}"

    def _labels(self, attribute: str) -> pl.DataFrame:
        usable = pl.col("status").eq("ok") & pl.col("value").is_not_null()
        listed = pl.col("subject_id").is_in(self.material.listed.implode())
        labels = self.material.run.scan("labels")
        return labels.filter(usable, listed, pl.col("attribute") == attribute).collect()

    @cached_property
    def _captions(self) -> Mapping[str, str]:
        first = self._labels(CAPTION).unique("subject_id", keep="first", maintain_order=True)
        return dict(first.select("subject_id", "value").iter_rows())

    def _values_of(self, attribute: str, lexicon: str | None) -> Mapping[str, str]:
        """``image_id`` → value of an attribute, as this lexicon reads captions, else the first of the run."""
        key = (attribute, lexicon)
        if key not in self._values:
            labels = self._labels(attribute)
            there = labels["annotator"].unique(maintain_order=True).to_list()
            readers = [name for name in (lexicon, *self.material.lexicons) if name in there]
            reader = next(iter([*readers, *there]), None)
            own = labels.filter(pl.col("annotator").eq_missing(reader))
            self._values[key] = dict(own.select("subject_id", "value").iter_rows())
        return self._values[key]

    def _shares_of(self, row: Estimate) -> Mapping[str, float]:
        """How often captions name each group, in the order in which the groups are declared."""
        return self._shares.get(tuple(row.get(c) for c in self._keys), {})

    @cached_property
    def _keys(self) -> list[str]:
        scope = ("definition", "annotator", "attribute", "generator", *self.material.factors)
        return [c for c in scope if c in self.material.scores.columns]

    @cached_property
    def _shares(self) -> Mapping[tuple[Any, ...], Mapping[str, float]]:
        found: dict[tuple[Any, ...], dict[str, float]] = {}
        rows = self.material.scores.filter(
            pl.col("value").is_not_null() & pl.col("category").is_not_null(), measure=GROUP_SHARES
        )
        for *key, group, share in rows.select(*self._keys, "category", "value").iter_rows():
            found.setdefault(tuple(key), {}).setdefault(group, share)
        return found


def _most(shares: Mapping[str, float]) -> list[str]:
    """The groups with the greatest share, several where they are equally frequent."""
    top = max(shares.values(), default=0.0)
    return [group for group, share in shares.items() if share == top and share > 0.0]


@dataclass(frozen=True)
class ScoreCell:
    """A score in words, and the place of its band; ``tentative`` where its captions name hardly a group.

    ``lines`` are what the cell of a chart holds.
    """

    name: str
    text: str
    band: int | None
    said: str
    n: str
    lines: Sequence[str] = ()
    tentative: bool = False


@dataclass(frozen=True)
class GalleryCell:
    """One prompt of one model."""

    model: str
    scores: Sequence[ScoreCell]
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
    scores: Sequence[tuple[str, str]]
    notes: Sequence[str]
    table: Table
    tentative: str = ""
    bands: Sequence[tuple[str, str]] = tuple((band.name, edges_text(band)) for band in BANDS)


def gallery_blocks(material: Material, shown: Exhibits) -> list[Block]:
    """A gallery for each definition and level of further factors; of very many the first."""
    grids, chooser = composite_grids(material), Chooser(material)
    blocks = []
    for i, grid in enumerate(grids[:MOST_GALLERIES], start=1):
        left = [grid.named for grid in grids[i:]] if i == MOST_GALLERIES else []
        gallery = _gallery(chooser, shown, grid, f"gallery-{i}", left)
        blocks.append(Block("gallery", gallery, drawings={gallery.name: _chart(grid, gallery)}))
    return blocks


def chosen_pictures(material: Material) -> list[str]:
    """The pictures that galleries show, so that they are drawn before others."""
    chooser = Chooser(material)
    scores = [
        cell[0]
        for grid in composite_grids(material)[:MOST_GALLERIES]
        for line in grid.rows_by()[:MOST_LINES]
        for _, cell in grid.cells(line)[:MOST_COLUMNS]
        if cell
    ]
    return list(dict.fromkeys(image for score in scores for image in chooser.pictures(score)))


def _gallery(
    chooser: Chooser, shown: Exhibits, grid: ScoreGrid, name: str, further: Sequence[str]
) -> Gallery:
    material, frame, lines, models = grid.material, grid.frame, grid.rows_by(), grid.models
    drawn = [
        GalleryLine(
            grid.label(line[0]),
            _prompt_text(material, line[0]),
            [_cell(chooser, shown, model, cell) for model, cell in grid.cells(line)[:MOST_COLUMNS]],
        )
        for line in lines[:MOST_LINES]
    ]
    files = composite_files(material.scores)
    notes, elsewhere = [_CHOICE], f"Not shown here, but in the data table and in {files}"
    if left := [grid.label(line[0]) for line in lines[MOST_LINES:]]:
        notes.append(f"{elsewhere}: {listing(left)}.")
    if others := models[MOST_COLUMNS:]:
        notes.append(f"{elsewhere}: models {listing(others)}.")
    notes += notes_of(frame, 0, 0, dots=False)
    if further:
        notes.append(f"No gallery of: {listing(list(further), most=6)}. Their scores are in {files}.")
    proses = [material.explain(m, grid.basis.definition) for m in sorted(frame["measure"].unique().to_list())]
    return Gallery(
        name=name,
        title=f"What each model shows for each prompt, and how its captions score{grid.suffix}",
        n=n_text(material, frame),
        models=models[:MOST_COLUMNS],
        lines=drawn,
        scores=[(p.abbreviation, f"{p.definition} Unit: {p.unit}. Source: {p.source}.") for p in proses],
        notes=notes,
        table=_table(chooser, grid, lines, files),
        tentative=_TENTATIVE if any(map(tentative, frame.iter_rows(named=True))) else "",
    )


def _prompt_text(material: Material, row: Estimate) -> str:
    """The text of a prompt where it has a single one."""
    sheet = material.find_sheet(row)
    texts = [text for text in sheet.texts if text] if sheet else []
    return cut_short(texts[0], _MOST_PROMPT) if len(texts) == 1 else ""


def _cell(chooser: Chooser, shown: Exhibits, model: str, rows: Sequence[Estimate]) -> GalleryCell:
    if not rows:
        lines = ["", "no score", "this model has none of this prompt"]
        nothing = ScoreCell("", lines[1], None, lines[2], "", lines)
        return GalleryCell(model, [nothing])
    pictures = [
        {"uri": uri, "alt": chooser.alt(image) or shown.alt(image)}
        for image in chooser.pictures(rows[0])
        if (uri := shown.thumbs.uris.get(image) or shown.thumbs.best(image))
    ]
    sheet = chooser.material.find_sheet(rows[0])
    usable = sheet.n_labelled if sheet else 0
    return GalleryCell(
        model,
        [_score(chooser.material, row) for row in rows],
        pictures,
        chooser.named(rows[0]),
        sheet.anchor if sheet else "",
        f"all {count(usable, 'picture')}" if usable != 1 else "the picture",
    )


def _score(material: Material, row: Estimate) -> ScoreCell:
    prose = material.explain(row["measure"], row["definition"])
    name = "; ".join(filter(None, (prose.abbreviation, prose.sense)))
    size = "" if row["n"] is None else f"n = {thousands(row['n'])}"
    n = "; ".join(filter(None, (size, warnings(row, banded=row["value"] is not None))))
    if row["value"] is None:
        lines = [prose.abbreviation, "not defined", str(row["undefined"] or "no reason given")]
        return ScoreCell(name, lines[1], None, lines[2], n, lines)
    told, doubted = reach(row), tentative(row)
    # What the interval of a tentative score reaches stands on its own line.
    said = ", ".join(told)
    lines = [prose.abbreviation, in_band(row), *(told if doubted else [said])]
    return ScoreCell(name, lines[1], band_of(row), said, n, lines, doubted)


def _table(chooser: Chooser, grid: ScoreGrid, lines: Sequence[Sequence[Estimate]], files: str) -> Table:
    rows = [row for line in lines for _, cell in grid.cells(line) for row in cell]
    return grid.table(
        f"Composite scores of captions{grid.suffix}",
        rows,
        {
            "prompt": grid.label,
            "model": itemgetter("generator"),
            "score": lambda row: grid.material.explain(row["measure"]).short,
            "of": lambda row: words(row["attribute"] or "") or "–",
            "value [interval]": grid.value_cell,
            "band": lambda row: ", ".join(reach(row)) or "–",
            "groups": lambda row: chooser.named(row) or "–",
            "n": itemgetter("n"),
            "left out": lambda row: left_out_text(grid.material, row),
            "warnings": warnings,
        },
        files,
    )


def _chart(grid: ScoreGrid, gallery: Gallery) -> dict[str, Any]:
    """The scores of a gallery as a chart without pictures, for the files."""
    rows = [
        {
            "line": line.title,
            "column": cell.model,
            "band": score.band,
            "tentative": score.tentative,
            "texts": score.lines,
            "tip": f"{line.title}, {cell.model}: {score.name} {score.text}",
        }
        for line in gallery.lines
        for cell in line.cells
        for score in cell.scores[:1]
    ]
    spec = matrix(rows, columns=gallery.models, lines=[line.title for line in gallery.lines])
    edges = ", ".join(f"{band.name} ≤ {number(band.most, places=2)}" for band in BANDS)
    title = f"Composite scores of captions, by prompt and model{grid.suffix}"
    columns = 1 if len(gallery.models) > _FEW_COLUMNS else 2
    return side_by_side([(edges, spec)], title=title, columns=columns)
