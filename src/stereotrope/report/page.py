"""The page: everything a run holds, put together as one HTML file that needs nothing else."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import polars as pl
from ruamel.yaml import YAML

from stereotrope.report import escape
from stereotrope.report.arrangement import arranged
from stereotrope.report.bundle import vega_bundle
from stereotrope.report.charts import dots as charts
from stereotrope.report.contract import Block
from stereotrope.report.datatable import Table, TableCell, shown_rows
from stereotrope.report.document import render_document
from stereotrope.report.exports import MOST_TEXT_ROWS
from stereotrope.report.figures import figures_of
from stereotrope.report.headline import headline_of, reasons
from stereotrope.report.material import Material, image_ids, words
from stereotrope.report.numbers import count, number, thousands
from stereotrope.report.panels import Figure
from stereotrope.report.prose import PERCEIVED, SECTIONS, listing
from stereotrope.report.sections.captions import captions_blocks, chosen_pictures
from stereotrope.report.sections.distributions import Distribution, Spread, spread
from stereotrope.report.sections.exhibits import MOST_EXHIBITED, Exhibits
from stereotrope.report.sections.judges import judge_cards
from stereotrope.report.sections.published import CORRECTED, RAW, corrected_figures, published_beside
from stereotrope.report.series import Series, series_in
from stereotrope.report.thumbnails import Thumbnails
from stereotrope.tables import ABSENT, ALL_ATTRIBUTES
from stereotrope.version import __version__

__all__ = ["Page", "build"]

_CASES = ("deterministic", "dominance_shift")
_MOST_CASES = 8
_MOST_OPEN_CASES = 4
_MOST_OPEN_ROWS = 12
_MOST_OPEN_SHEETS = 12
_MOST_OPEN_PICTURES = 100
_MOST_OPEN_LINES = 45
_LINES_AROUND = 10
"""Lines that the head and the key of a figure of strips take the place of."""
_MOST_OPEN_DEFINITIONS = 8
_MOST_WAYS = 4
_STRIPS = "distributions"
_SCORED = (
    (
        "divergence",
        "How much the pictures change",
        "Scores over all attributes, each with its interval and, where it has one, its noise floor.",
    ),
    (
        _STRIPS,
        "What the pictures show",
        "The labels themselves. Colours are drawn in the colour they name where it is known.",
    ),
    (
        "shares",
        "Shares and their differences",
        "How often a value is seen, and how much that changes between conditions.",
    ),
    (
        "captions",
        "What captions of the pictures say",
        "Counts of words in texts about the pictures. What a captioner leaves out, or a lexicon does not "
        "know, looks here like what is not shown.",
    ),
    (
        "lexicon",
        "What the lexicon's terms hit",
        "A term is a word that stands for a group or a thing. Where it hits another word, scores of captions "
        "say what nobody wrote.",
    ),
    (
        "cases",
        "Repetition and change, with the pictures",
        "Conditions in which all pictures agree, and most frequent values that change.",
    ),
    ("other", "Further measures", "What else this run measured."),
)


@dataclass(frozen=True)
class Page:
    """The finished page and what it was made of."""

    html: str
    figures: Sequence[Figure]
    distributions: Sequence[Distribution]


def build(material: Material, *, budget: int, stop: threading.Event | None = None) -> Page:
    """Put the page together."""
    head = headline_of(material, tables=False)
    measures = material.prose.in_order(series_in(material.estimates))
    cases = [r for r in material.findings.iter_rows(named=True) if r["kind"] in _CASES]
    thumbs = Thumbnails.make(
        material,
        findings=_wanted(material, cases),
        first=chosen_pictures(material),
        budget=budget,
        stop=stop,
    )
    shown = Exhibits(material, thumbs)
    blocks = [_marked(block) for block in captions_blocks(material, shown)]
    told = {measure for block in blocks for measure in block.replaces}
    strips = spread(material)
    made = {m: _figures(material, m, measures) for m in measures if m.name not in told}
    found = arranged(material, made, strips=bool(strips.shown))
    chapters = {s: found.get(s, []) for s in (*SECTIONS, _STRIPS, "lexicon")}
    published = published_beside(material)
    in_chapters = [f for section in chapters.values() for chapter in section for f in chapter.figures]
    in_blocks = [f for block in blocks for f in block.figures]
    figures = [*in_blocks, *in_chapters, *published.figures]
    context = {
        "suite": material.info.get("suite"),
        "sensitive": bool(material.info.get("sensitive")),
        "head": head,
        "findings": [{**f, "groups": shown.groups(f["images"], most=4)} for f in head["findings"]],
        "missing": _plain_table("What is missing, by model and group", head["missing"], "missing"),
        "judges": judge_cards(material),
        "published": published,
        "cost": head["cost"] and _plain_table("Calls to model servers", head["cost"], "spending"),
        "reasons": reasons(material)[:40],
        "chapters": chapters,
        "blocks": {s: [b for b in blocks if b.section == s] for s in chapters},
        "scored": _scored(strips.shown),
        "spread": [shown.distribution(d, material) for d in strips.shown],
        "spread_note": _spread_note(strips),
        "text_rows": thousands(MOST_TEXT_ROWS),
        "strips_open": _open_strips(strips.shown),
        "cases": [shown.case(r) for r in cases[:_MOST_CASES]],
        "cases_open": _MOST_OPEN_CASES,
        "cases_left": max(0, len(cases) - _MOST_CASES),
        "pictures_note": _pictures_note(material, thumbs),
        "sheets_by_generator": shown.sheets(),
        "sheets_closed": len(material.sheets) > _MOST_OPEN_SHEETS
        or material.images.height > _MOST_OPEN_PICTURES,
        "most_open_rows": _MOST_OPEN_ROWS,
        "definitions_open": _MOST_OPEN_DEFINITIONS,
        "methods": _methods(material, measures),
        "thumbs": thumbs,
    }
    context["contents"] = _contents(context)
    exported = [f for block in blocks for f in block.exported]
    context["charts"] = escape.json_script({**_drawn(figures), "config": charts.CONFIG})
    html = render_document("page.html.j2", context, script=_script())
    return Page(html, [*exported, *figures], strips.shown)


def _marked(block: Block) -> Block:
    """A block of figures without the panels that would be empty axes; notes count what is not defined."""
    if block.kind != "figures":
        return block
    figures = [replace(f, panels=[p for p in f.panels if not p.is_empty]) for f in block.figures]
    return replace(block, figures=figures)


def _scored(strips: Sequence[Distribution]) -> list[tuple[str, str, str]]:
    """The sections of scores with their leads; what is read in captions is not what pictures show."""
    read = list(dict.fromkeys(name for d in strips for name in d.read))
    told = {section: (title, lead) for section, title, lead in _SCORED}
    if strips and all(d.of_captions for d in strips):
        told[_STRIPS] = (
            "What captions name",
            "What a lexicon reads in the captions, one by one; “unknown” where a caption names no group. No "
            "one labelled the pictures themselves, which may show what their captions do not name.",
        )
    elif read:
        title, lead = told[_STRIPS]
        told[_STRIPS] = (
            title,
            f"{lead} Read in captions, and so not labels of the pictures: {escape.visible(listing(read))}; "
            "there “unknown” says that a caption names no group.",
        )
    return [(section, title, lead) for section, (title, lead) in told.items()]


def _open_strips(shown: Sequence[Distribution]) -> int:
    """How many of the figures of strips stand open: at least one, and no more lines than one reads."""
    open_ones = lines = 0
    for distribution in shown:
        lines += len(distribution.lines) + _LINES_AROUND
        if open_ones and lines > _MOST_OPEN_LINES:
            break
        open_ones += 1
    return open_ones


def _spread_note(strips: Spread) -> str:
    """What is not drawn of the distributions, empty where all are."""
    if len(strips.shown) == strips.total:
        return ""
    return (
        f"Shown: {len(strips.shown)} of {thousands(strips.total)} figures, one a {strips.each}: those that "
        "findings point at, then the first. The labels of all are counted by condition in the files "
        "tables/labels.csv and .parquet."
    )


def _wanted(material: Material, cases: Sequence[Mapping[str, Any]]) -> list[str]:
    top = list(material.findings.head(5).iter_rows(named=True))
    wanted: list[str] = []
    for row in [*top, *cases[:_MOST_CASES]]:
        by_sheet: dict[str, int] = {}
        for image in image_ids(row):
            sheet = material.sheet_of.get(image)
            if sheet is None or material.image_rows[image]["status"] != "ok":
                continue
            by_sheet[sheet.anchor] = by_sheet.get(sheet.anchor, 0) + 1
            if by_sheet[sheet.anchor] <= MOST_EXHIBITED:
                wanted.append(image)
    return wanted


def _contents(context: Mapping[str, Any]) -> list[tuple[str, str]]:
    filled = {
        **context["chapters"],
        "cases": context["chapters"]["cases"] or context["cases"],
        _STRIPS: context["spread"],
    }
    scored = [(i, title) for i, title, _ in context["scored"] if filled[i] or context["blocks"][i]]
    published = context["published"]
    return [
        ("findings", "What stands out"),
        ("missing", "What is missing"),
        *[("judges", "How well the judges read")] * bool(context["judges"]),
        *scored,
        *[("published", "Beside published figures")] * bool(published.figures or published.notes),
        ("pictures", "All pictures, by condition"),
        *[("cost", "What it cost")] * (context["cost"] is not None),
        ("methods", "Methods and limits"),
    ]


def _pictures_note(material: Material, thumbs: Thumbnails) -> str:
    ok = material.images.filter(pl.col("status") == "ok").height
    text = (
        "Small copies of the pictures; the originals are in the run folder, under pictures/. "
        "A dashed frame is a request without a usable picture."
    )
    away = material.images.filter(pl.col("status") == ABSENT).height
    if away:
        text += (
            f" {count(away, 'picture is', 'pictures are')} not at hand, so nothing is drawn of them; what "
            "others said of them counts."
        )
    if thumbs.left_out:
        text += (
            f" To keep this file below a fixed size, {thousands(ok - thumbs.left_out)} of {thousands(ok)} "
            "pictures are shown, the first of every condition before any further one."
        )
    return text


def _plain_table(caption: str, table: Mapping[str, Any], file: str) -> Table:
    labels = table["labels"]
    cells = [[TableCell(text, numeric=i >= labels) for i, text in enumerate(row)] for row in table["rows"]]
    return Table(caption, table["columns"], cells[: shown_rows(len(cells))], len(cells), f"tables/{file}.csv")


def _figures(material: Material, series: Series, measures: Sequence[Series]) -> list[Figure]:
    """The figures of a measure; shares as labelled stand beside the corrected ones, where there are any."""
    if series == Series(CORRECTED):
        return corrected_figures(material)
    if series == Series(RAW) and Series(CORRECTED) in measures:
        return []
    return figures_of(material, series)


def _methods(material: Material, measures: Sequence[Series]) -> dict[str, Any]:
    info = material.info
    level = info.get("level")
    audit = io.StringIO()
    if material.run.audit:
        YAML(typ="safe", pure=True).dump(material.run.audit, audit)
    return {
        "measures": _measures_words(material, measures),
        "level": number(level) if level is not None else "the level in the tables",
        "perceived": PERCEIVED,
        "generators": _named_table(
            "Models", info.get("generators", []), ("name", "kind", "fingerprint", "note")
        ),
        "annotators": _named_table(
            "Annotators", info.get("annotators", []), ("name", "kind", "fingerprint", "attributes")
        ),
        "again": [
            ("stereotrope", str(info.get("stereotrope_version", __version__))),
            ("Run format", str(info.get("format_version", "not recorded"))),
            ("Seed", str(info.get("seed", "not recorded"))),
            *[(f"Version of {name}", str(v)) for name, v in sorted((info.get("versions") or {}).items())],
        ],
        "notes": [str(n) for n in info.get("notes", [])],
        "audit": audit.getvalue(),
    }


def _measures_words(material: Material, measures: Sequence[Series]) -> list[dict[str, str]]:
    """Every measure in words; differences from the baseline model are one entry at the end."""
    first = sorted(measures, key=lambda m: bool(m.steps or material.explain(m).beneath))
    entries = [entry for m in first if not m.difference for entry in _measure_words(material, m)]
    deltas = [m for m in measures if m.difference]
    if len(deltas) < 2:
        return entries + [entry for m in deltas for entry in _measure_words(material, m)]
    every = material.estimates.filter(pl.col("baseline").is_not_null())
    scores = [material.explain(replace(m, difference=False)).short for m in deltas]
    entry = _entry(material, every, deltas[0], None, "")
    return [
        *entries,
        {
            **entry,
            "name": "…_delta",
            "title": "Differences from the baseline model",
            "definition": (
                "A score of a model less that of the baseline model, for the same prompt and group, of "
                f"{listing(scores, most=len(scores))}. The interval joins those of the two scores by "
                "square-and-add."
            ),
        },
    ]


def _measure_words(material: Material, series: Series) -> list[dict[str, str]]:
    """A series in words: once, or once a definition where the words differ."""
    every = series.rows(material.estimates)
    definitions = every["definition"].unique(maintain_order=True).to_list()
    if len({material.explain(series, name).definition for name in definitions}) == 1:
        return [_entry(material, every, series, definitions[0], "")]
    return [
        _entry(
            material,
            every.filter(pl.col("definition").eq_missing(name)),
            series,
            name,
            f" ({words(str(name))})",
        )
        for name in definitions
    ]


def _entry(
    material: Material, every: pl.DataFrame, series: Series, definition: str | None, named: str
) -> dict[str, str]:
    whole = every.filter(pl.col("attribute").is_null() | (pl.col("attribute") == ALL_ATTRIBUTES))
    frame = whole if whole.height else every

    def distinct(column: str) -> str:
        return listing(
            [
                words(v) if column == "definition" else v
                for v in frame[column].drop_nulls().unique(maintain_order=True).to_list()
            ],
            most=4,
        )

    prose = material.explain(series, definition)
    return {
        "name": series.name,
        "title": f"{prose.heading}{named}",
        "definition": prose.definition,
        "definitions": distinct("definition"),
        "sources": distinct("source").rstrip(".") or prose.source,
        "methods": _methods_text(frame["method"].drop_nulls().unique(maintain_order=True).to_list()),
    }


def _methods_text(methods: Sequence[str]) -> str:
    """Ways to compute, in a sentence."""
    more = [f"{len(methods) - _MOST_WAYS} more"] * (len(methods) > _MOST_WAYS)
    return "; or ".join([*(method.rstrip(".") for method in methods[:_MOST_WAYS]), *more])


def _named_table(caption: str, items: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Table:
    def text(value: Any) -> str:
        if isinstance(value, Mapping):
            return "; ".join(f"{words(str(k))}: {', '.join(v) if v else 'open'}" for k, v in value.items())
        if isinstance(value, list):
            return ", ".join(words(str(v)) for v in value)
        return "–" if value is None else str(value)

    rows = [[TableCell(text(item.get(c))) for c in columns] for item in items]
    return Table(caption, list(columns), rows, len(rows))


@cache
def _script() -> str:
    own = files("stereotrope.report").joinpath("page.js").read_text(encoding="utf-8")
    return f"{vega_bundle()}\n{own}".replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _drawn(figures: Sequence[Figure]) -> dict[str, Any]:
    """The charts by their place in the page: the values of each, and once what several have in common."""
    shapes: dict[str, int] = {}
    drawn: dict[str, Any] = {}
    for figure in figures:
        for i, panel in enumerate(figure.panels, start=1):
            shape = json.dumps({k: v for k, v in panel.spec.items() if k != "data"}, sort_keys=True)
            number_of = shapes.setdefault(shape, len(shapes))
            drawn[f"chart-{figure.name}-{i}"] = {"shape": number_of, "values": panel.spec["data"]["values"]}
    return {"charts": drawn, "shapes": [json.loads(shape) for shape in shapes]}
