"""The page: everything a run holds, put together as one HTML file that needs nothing else."""

import contextlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from stereotrope import escape
from stereotrope.report.arrangement import Chapter, arranged
from stereotrope.report.charts.drawing import CONFIG, drawing_engine, inert_chart
from stereotrope.report.contract import Block, Section, sections_in_order, series_in_order
from stereotrope.report.document import asset, render_document
from stereotrope.report.exhibits import Exhibits, Thumbnails
from stereotrope.report.figures import figures_of
from stereotrope.report.headline import asked, summary, title
from stereotrope.report.kept import keep, read_kept
from stereotrope.report.material import Material
from stereotrope.report.panels import Figure

_MOST_OPEN_ROWS = 12


@dataclass(frozen=True)
class Page:
    """The finished page and what it was made of."""

    html: str
    figures: Sequence[Figure]
    drawings: Mapping[str, Mapping[str, Any]]
    lost: str | None = None
    """What there is to say of pictures that can no longer be read."""


@dataclass(frozen=True)
class _Part:
    """A section with what it shows of this run."""

    section: Section
    blocks: Sequence[Block]
    chapters: Sequence[Chapter] = field(default=())

    @property
    def heading(self) -> tuple[str, str]:
        """Title and lead."""
        told = (block.heading for block in self.blocks if block.heading)
        return next(told, (self.section.title, self.section.lead))

    @property
    def figures(self) -> list[Figure]:
        """Every chart of it."""
        in_blocks = [f for block in self.blocks for f in block.figures]
        return [*in_blocks, *(f for chapter in self.chapters for f in chapter.figures)]


def build(material: Material, *, budget: int, stop: threading.Event | None = None) -> Page:
    """Put the page together."""
    sections = sections_in_order(material.info)
    thumbs = Thumbnails.make(
        material,
        findings=[image for s in sections if s.large for image in s.large(material)],
        first=[image for s in sections if s.small for image in s.small(material)],
        budget=budget,
        stop=stop,
    )
    parts = _parts(material, sections, Exhibits(material, thumbs))
    figures = [f for part in parts for f in part.figures]
    blocks = [block for part in parts for block in part.blocks]
    context = {
        "title": title(material),
        "asked": asked(material),
        "summary": summary(material),
        "suite": material.info.get("suite"),
        "sensitive": bool(material.info.get("sensitive")),
        "parts": parts,
        "most_open_rows": _MOST_OPEN_ROWS,
        "charts": escape.json_script({**_drawn(figures), "config": CONFIG}),
    }
    html = render_document("page.html.j2", context, script=_script())
    drawings = {name: spec for block in blocks for name, spec in block.drawings.items()}
    return Page(html, figures, drawings, thumbs.told)


def _parts(material: Material, sections: Sequence[Section], shown: Exhibits) -> list[_Part]:
    """The sections that have something to show: their blocks, and the figures of their measures."""
    blocks = {s.id: [_marked(block) for block in s.make(material, shown)] for s in sections}
    replaced = {measure for made in blocks.values() for block in made for measure in block.replaces}
    draws = {measure: draw for s in sections for measure, draw in s.draws.items()}
    made = {
        series: draw(material) if (draw := draws.get(series.name)) else figures_of(material, series)
        for series in series_in_order(material)
        if series.name not in replaced
    }
    repeated = {s.id: s.repeated for s in sections if blocks[s.id]}
    chapters = arranged(material, made, drawn=draws.keys(), repeated=repeated, known=blocks.keys())
    parts = [_Part(s, blocks[s.id], chapters.get(s.id, [])) for s in sections]
    return [part for part in parts if part.blocks or part.chapters]


def _marked(block: Block) -> Block:
    """A block of figures without the panels that would be empty axes; notes count what is not defined."""
    if block.kind != "figures":
        return block
    figures = [replace(f, panels=[p for p in f.panels if not p.is_empty]) for f in block.figures]
    return replace(block, figures=figures)


@cache
def _script() -> str:
    return f"{vega_bundle()}\n{asset('page.js')}".replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _drawn(figures: Sequence[Figure]) -> dict[str, Any]:
    """The charts by their place in the page: the values of each, and once what several have in common."""
    shapes: dict[str, int] = {}
    drawn: dict[str, Any] = {}
    for figure in figures:
        for i, panel in enumerate(figure.panels, start=1):
            spec = inert_chart(panel.spec)
            shape = json.dumps({k: v for k, v in spec.items() if k != "data"}, sort_keys=True)
            number_of = shapes.setdefault(shape, len(shapes))
            drawn[f"chart-{figure.name}-{i}"] = {"shape": number_of, "values": spec["data"]["values"]}
    return {"charts": drawn, "shapes": [json.loads(shape) for shape in shapes]}


@cache
def vega_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script.

    Making it takes two seconds, so it is kept in ``stereotrope`` below ``XDG_CACHE_HOME`` (``~/.cache``),
    after its own hash. What is torn there is made anew, and where nothing can be written nothing is kept.
    """
    file = _bundle_file()
    kept = file and read_kept(file)
    if kept:
        return kept.decode()
    bundle = str(drawing_engine().javascript_bundle())
    if file:
        keep(file, bundle.encode())
    return bundle


def _bundle_file() -> Path | None:
    given = os.environ.get("XDG_CACHE_HOME", "")
    with contextlib.suppress(RuntimeError):  # nobody's home
        folder = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
        return folder / "stereotrope" / f"vega-{version('vl-convert-python')}.js"
    return None
