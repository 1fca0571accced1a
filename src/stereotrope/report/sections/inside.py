"""What was read inside the models while they drew: SPI over the steps, and previews of early ones."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from stereotrope.report.arrangement import Disclosure
from stereotrope.report.charts.curves import curves
from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import TableCell, table_by
from stereotrope.report.exhibits import Exhibits, small_copy
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, number, thousands
from stereotrope.report.panels import (
    MOST_PANELS,
    Figure,
    Panel,
    files_of,
    panel_words,
    safe_name,
    undefined_words,
)
from stereotrope.report.prose import MeasureProse, listing
from stereotrope.run import PictureStore

_READ, _CURVES = "probes", "probe_curves"
"""Tables of a run: what was read, and its mean and spread over seeds."""
_OPEN = 4
"""Panels that stand open."""
_MOST_CURVES = 4
"""Curves of a panel: bands of more lie upon each other."""
_MOST_SHOWN, _MOST_STEPS = 12, 6
_PLACES = 3
_QUANTITIES = {"noise": "predicted noise", "v": "v (between noise and picture)"}
_PREDICTIONS = {
    "conditional": "of the prompt alone (conditional)",
    "guided": "with guidance (guided), which the step takes",
}
_SPI = MeasureProse(
    "spi",
    title="SPI",
    unit="a line is the mean over seeds, its band one standard deviation to either side",
    definition="SPI of an attribute at a step: cosine of what the model predicts there with what it predicts "
    "for the sentences of one side (d⁺) less what it predicts for those of the other (d⁻). The band is no "
    "interval of the mean.",
    source="OASIS (arXiv:2501.00962), section 3.4",
)
_SAYS = (
    "SPI above 0 says that a step moves the picture as the sentences for the attribute would rather than as "
    "those against it would, below 0 the other way round. It does not say how many pictures show the "
    "attribute in the end: for that, pictures are labelled. It is the model’s own difference of two sides, "
    "which may stand for more than the attribute. Numbers on the velocity, on the predicted noise and on v "
    "are three quantities and do not compare. Small shifts drown in rounding: the table has their length as "
    "a share of the prediction’s, and in half precision SPI of a share of 0.02 is off by about 0.05."
)
_EXPECTED = (
    "What the model expects: its prediction at an early step, followed to the end and decoded, then the "
    "finished picture. The first picture of each condition that was read; one picture is no evidence of the "
    "others, and a preview that looks like the end says what was settled by then, not why."
)


def _blocks(material: Material, shown: Exhibits) -> list[Block]:
    if _READ not in material.run.further:
        return []
    read = material.run.table(_READ)
    blocks = [*_spi(material, read), *_previews(material, shown, read)]
    return [Block("text", told), *blocks] if (told := _changed(read)) else blocks


def _spi(material: Material, read: pl.DataFrame) -> Iterator[Block]:
    """The first panels of the conditional prediction, and all others behind lines."""
    if _CURVES not in material.run.further or not (rows := material.run.table(_CURVES)).height:
        return
    yield Block("text", [_SAYS])
    lines, ends = [], _ends(rows)
    for at, prediction in enumerate(sorted(rows["prediction"].unique())):
        mine, of = rows.filter(prediction=prediction), read.filter(probe="spi", prediction=prediction)
        panels = list(_panels(material, mine, ends))
        first = 0 if at else _OPEN
        if first:
            yield Block(figures=[_figure(material, mine, of, panels[:first], prediction, "")])
        if (rest := panels[first:]) or at:
            cut = len(rest) - MOST_PANELS
            more = _figure(material, mine, of, rest[:MOST_PANELS], prediction, "-more" if first else "", cut)
            told = f"{count(len(rest), 'further panel')}: " if first else ""
            lines.append(Disclosure(f"{told}{more.title}", [more]))
    yield Block("lines", lines, figures=[figure for line in lines for figure in line.figures])


def _changed(read: pl.DataFrame) -> list[str]:
    """A warning where what was read is not of the pictures of this run."""
    images = read.unique("image_id")
    changed = images.filter(same_picture="no").height
    told = (
        f"{thousands(changed)} of {count(images.height, 'picture')} came out different while they were read "
        "from those of this run: the numbers are of other pictures, and no previews of these are shown."
    )
    return [told] * (changed > 0)


def _ends(rows: pl.DataFrame) -> tuple[float, float]:
    """Ends of the upright axis of all panels: every band and 0 are in it."""
    spread = pl.col("sd").fill_null(0)
    ends = rows.select(low=(pl.col("mean") - spread).min(), high=(pl.col("mean") + spread).max()).row(0)
    low, high = min(0.0, ends[0] or 0.0), max(0.0, ends[1] or 0.0)
    margin = 0.05 * (high - low) or 0.05
    return low - margin if low < 0 else 0.0, high + margin


def _panels(material: Material, rows: pl.DataFrame, ends: tuple[float, float]) -> Iterator[Panel]:
    """A panel a prompt of a model and a few attributes."""
    titles = _titles(material)
    for part in rows.partition_by("generator", "prompt_id", maintain_order=True):
        attributes = part["attribute"].unique(maintain_order=True).to_list()
        n_panels = math.ceil(len(attributes) / _MOST_CURVES)
        each = math.ceil(len(attributes) / n_panels)
        for at in range(0, len(attributes), each):
            chosen = attributes[at : at + each]
            drawn = [_point(row) for row in part.filter(pl.col("attribute").is_in(chosen)).to_dicts()]
            if not any(row["value"] is not None for row in drawn):
                continue
            names = [words(name) for name in chosen]
            of = f"{part['generator'][0]}: {titles[part['prompt_id'][0]]}"
            heading = (
                f"{of}; {f'{names[0]}, ' * (len(names) == 1)}on the {_quantity(part.row(0, named=True))}"
            )
            spec = curves(drawn, series=names, across="step", top=ends[1], bottom=ends[0], band=True)
            yield Panel(heading, spec, panel_words("SPI", heading, drawn), 8)


def _point(row: Mapping[str, Any]) -> dict[str, Any]:
    mean, sd = row["mean"], row["sd"]
    ends = {} if sd is None else {"low": mean - sd, "high": mean + sd}
    spread = "" if sd is None else f" ± {number(sd, places=_PLACES)} (s.d.)"
    left = f", {thousands(row['n_undefined'])} not defined" if row["n_undefined"] else ""
    said = f"SPI {number(mean, places=_PLACES)}{spread}, n = {thousands(row['n'])}{left}"
    name = words(row["attribute"])
    tip = f"{name}, step {row['step']}: {said}"
    return {"series": name, "at": row["step"], "value": mean, **ends, "tip": tip}


def _quantity(row: Mapping[str, Any]) -> str:
    return _QUANTITIES.get(row["quantity"], str(row["quantity"]))


def _titles(material: Material) -> dict[str, str]:
    """Prompts by what tells them apart; by their text where nothing else does."""
    rows = material.prompts.to_dicts()
    titles = [material.title(row) for row in rows]
    times = Counter(titles)
    return {
        row["prompt_id"]: title if times[title] == 1 else row["text"]
        for row, title in zip(rows, titles, strict=True)
    }


def _figure(
    material: Material,
    rows: pl.DataFrame,
    read: pl.DataFrame,
    panels: Sequence[Panel],
    prediction: str,
    part: str,
    cut: int = 0,
) -> Figure:
    titles = _titles(material)
    columns: dict[str, Any] = {
        "model": lambda row: row["generator"],
        "prompt": lambda row: titles[row["prompt_id"]],
        "attribute": lambda row: words(row["attribute"]),
        "step": lambda row: row["step"],
        "on": _quantity,
        "mean SPI": lambda row: _figure_cell(row["mean"]),
        "s.d.": lambda row: _figure_cell(row["sd"]),
        "n": lambda row: row["n"],
        "not defined": _why,
        "shift / prediction": lambda row: _figure_cell(row["ratio"]),
    }
    title = f"SPI {_PREDICTIONS.get(prediction, prediction)}"
    table = table_by(title, rows.to_dicts(), columns, f"tables/{_CURVES}.csv")
    each = sorted(rows["n"].unique())
    n = count(each[0], "picture") if len(each) == 1 else f"{each[0]} to {each[-1]} pictures"
    notes = []
    if undefined := read["value"].null_count():
        of = f"{thousands(undefined)} of {count(read.height, 'reading')}"
        notes.append(f"{of} without a value: {undefined_words(read)}.")
    if rows.filter(pl.col("n") == 1).height:
        notes.append("Where a single picture has a value there is no spread and no band.")
    if cut > 0:
        notes.append(f"Not drawn: {count(cut, 'panel')}; they are in {files_of(_CURVES)}.")
    name = safe_name(f"spi-{prediction}{part}")
    told: dict[str, Any] = {
        "notes": notes,
        "reads": "Step 0 is where the picture is noise.",
        "detail": bool(part),
    }
    return Figure(name, title, _SPI, f"{n} a step", panels, table, **told)


def _figure_cell(value: float | None) -> TableCell:
    return TableCell(number(value, places=_PLACES), numeric=True)


def _why(row: Mapping[str, Any]) -> str:
    reasons = json.loads(row["undefined"] or "{}")
    return "; ".join(f"{n}: {why}" for why, n in reasons.items())


def _shown(material: Material) -> list[str]:
    """The first picture of each condition with previews; of one that was refused or changed none."""
    if _READ not in material.run.further:
        return []
    read = material.run.table(_READ)
    seen = read.filter(probe="predisposition", same_picture="yes")["image_id"].unique()
    usable = material.sheet_of.of(seen).filter("usable").sort("sheet", "turn")
    first = usable.unique("sheet", keep="first", maintain_order=True)
    return first["image_id"].to_list()[:_MOST_SHOWN]


def _previews(material: Material, shown: Exhibits, read: pl.DataFrame) -> list[Block]:
    store, previews = PictureStore(material.run.path), read.filter(probe="predisposition")
    groups = []
    for image in _shown(material):
        mine = previews.filter(image_id=image).sort("step").head(_MOST_STEPS)
        sheet = shown.material.sheet_of[image]
        images, notes = [], []
        for row in mine.iter_rows(named=True):
            uri = small_copy(partial(store.get, row["path"])) if row["path"] else None
            alt = f"{sheet.generator}, {sheet.title}: expected at step {row['step']}"
            images += [{"uri": uri, "alt": alt}] * (uri is not None)
            why = "" if uri else f" (none: {row['undefined'] or 'it can no longer be read'})"
            notes.append(f"{row['step']}{why}")
        end = shown.thumbs.best(image)
        images += [{"uri": end, "alt": f"{shown.alt(image)}: finished"}] * (end is not None)
        then = "then the picture" if end else "the picture is not at hand"
        title = f"{sheet.generator}: {sheet.title}"
        groups.append(
            {
                "anchor": sheet.anchor,
                "title": title,
                "images": images,
                "more": f"expected at step {listing(notes)}; {then}",
            }
        )
    return [Block("text", [_EXPECTED]), Block("pictures", groups)] if groups else []


add_section(
    "inside",
    "What the models do while they draw",
    lead="Read inside the models at each step, from noise to picture.",
    place=95,
    make=_blocks,
    small=_shown,
)
