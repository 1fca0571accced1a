"""What else is stored of ratios over scenarios, one line of the page each."""

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from stereotrope.escape import ellipsis, visible
from stereotrope.report.charts.curves import MOST_CURVES, curves
from stereotrope.report.charts.dots import dots
from stereotrope.report.charts.drawing import PALETTE
from stereotrope.report.charts.heat import head_width, heat
from stereotrope.report.datatable import estimate_text
from stereotrope.report.figures import dot_rows, figures_of
from stereotrope.report.material import Material
from stereotrope.report.numbers import count, number
from stereotrope.report.panels import SIGNIFICANT, Figure, Panel, domain_of, notes_of, panel_words
from stereotrope.report.sections.scenarios.beside import beside_line
from stereotrope.report.sections.scenarios.clusters import cluster_line
from stereotrope.report.sections.scenarios.ends import ends_line
from stereotrope.report.sections.scenarios.kept import kept_line
from stereotrope.report.sections.scenarios.ratios import Ratios, ScenarioLine, only, scenario_figure
from stereotrope.report.series import Estimate, Series

_HEADS_BESIDE = 40
_SINGLE = "An effect on average: single scenarios may move either way, few pictures of each move them too."


def further_lines(ratios: Ratios) -> list[ScenarioLine]:
    """The lines that there is something for, in the order of reading; what crosses scenarios has panels."""
    lines = [make(ratios.apart) for make in _LINES]
    return [line for line in lines if line is not None and line.figures]


def _agreement(ratios: Ratios) -> ScenarioLine | None:
    """Which models agree."""
    frame = ratios.stored("model_agreement")
    figures = [_pairs(ratios, frame, both=True, top=1.0)] if frame.height else []
    return ScenarioLine("Agreement between models", figures, frame)


def _changes(ratios: Ratios) -> ScenarioLine | None:
    """How far ratios change between models, each with each other, or between other settings."""
    title, measures = "How far ratios change between two settings", ("ratio_change", "ratio_change_absolute")
    rows = ratios.material.scores.filter(pl.col("measure").is_in(measures))
    compared = rows["contrast"].drop_nulls().unique().to_list()
    if compared != ["generator"]:
        by = [c for c in compared if c in rows.columns]
        return _line(ratios.material, title, ratios.stored(*measures, by=by))
    parts = [ratios.stored(measure) for measure in measures]
    both = [_pairs(ratios, part, both=i > 0) for i, part in enumerate(parts) if part.height]
    return ScenarioLine(title, both, pl.concat(parts))


def _pairs(ratios: Ratios, frame: pl.DataFrame, *, both: bool, top: float | None = None) -> Figure:
    """Estimates of two models as a table of colours a group, ``both`` ways round where that is the same."""
    measure = str(frame["measure"][0])
    prose = ratios.material.explain(measure, ratios.basis["definition"])
    signed, panels = prose.scale == "signed", []
    top = top or max((abs(v) for v in frame["value"].drop_nulls()), default=1.0)
    for group, rows in ratios.by_place(frame):
        known = [row for row in rows if None not in (row["value"], row["reference"], row.get("generator"))]
        cells = [_pair(ratios, row) for row in known]
        mirrored = [{**c, "line": c["column"], "column": c["line"]} for c in cells] if both else []
        lines, heads = (
            [m for m in ratios.lines if any(c[side] == m for c in (*cells, *mirrored))]
            for side in ("line", "column")
        )
        if cells:
            spec = heat([*cells, *mirrored], columns=heads, lines=lines, signed=signed, top=top)
            panels.append(Panel(group, spec, panel_words(prose.title, group, cells), len(lines)))
    wide = sum(map(head_width, ratios.lines)) > _HEADS_BESIDE
    notes = notes_of(frame, 0, 0, dots=False)
    if panels and frame["q_value"].count():
        floor = " The numbers include the noise floor, which the table gives."
        notes.insert(0, f"* q ≤ {SIGNIFICANT}.{floor if frame['floor'].count() else ''}")
    direction = "" if both else "Each number is of the model at the left, less the one above. "
    return scenario_figure(
        ratios, frame, measure, panels, stacked=wide, notes=notes, reads=f"{direction}{prose.reads}"
    )


def _pair(ratios: Ratios, row: Estimate) -> dict[str, Any]:
    """The cell of two models."""
    said = f"{estimate_text(ratios.material, row)}, n = {row['n']}"
    star = "*" if row["q_value"] is not None and row["q_value"] <= SIGNIFICANT else ""
    return {
        "line": str(row["generator"]),
        "column": str(row["reference"]),
        "value": row["value"],
        "text": f"{number(row['value'], places=2)}{star}",
        "tip": f"{row['generator']} and {row['reference']}: {said}",
    }


def _stability(ratios: Ratios) -> ScenarioLine | None:
    """How far ratios of fewer pictures stray, a curve a model."""
    frame, panels = ratios.stored("stability"), []
    defined = frame.filter(pl.col("value").is_not_null())
    for group, rows in ratios.by_place(defined) if defined.height else ():
        values = []
        for row in rows:
            if (part := ratios.part_of(row)).isdigit():
                model, said = ratios.line_of(row), estimate_text(ratios.material, row)
                tip = f"{model}, {part} pictures: {said}, {count(row['n'], 'scenario')}"
                values.append({"series": model, "at": int(part), "value": row["value"], "tip": tip})
        models = [m for m in ratios.lines if any(v["series"] == m for v in values)]
        shown = [v for v in values if v["series"] in models[:MOST_CURVES]]
        if shown:
            top = 1.08 * max(defined["value"])
            spec = curves(shown, series=models[:MOST_CURVES], across="pictures of a scenario", top=top)
            panels.append(Panel(group, spec, panel_words("Stability", group, shown), 8))
    if not frame.height:
        return None
    notes = notes_of(frame, 0, 0, dots=False)
    if len(ratios.lines) > MOST_CURVES:
        notes.insert(0, f"Drawn: the first {MOST_CURVES} of {len(ratios.lines)} models; the table has all.")
    figure = scenario_figure(ratios, frame, "stability", panels, notes=notes)
    return ScenarioLine("How many pictures a ratio needs", [figure], frame)


def _by_model(title: str, measure: str) -> Callable[[Ratios], ScenarioLine | None]:
    """A line of a measure that gives each model a number a group: dots, a row a model."""

    def make(ratios: Ratios) -> ScenarioLine | None:
        frame, material, panels = ratios.stored(measure), ratios.material, []
        prose = material.explain(measure, ratios.basis["definition"])
        domain = domain_of(frame.select("value", "low", "high", "floor").to_dicts())
        for group, rows in ratios.by_place(frame) if frame.height else ():
            drawn = dot_rows(material, [r for r in rows if r["value"] is not None], ["generator"])
            spec = dots(drawn, unit=prose.unit, domain=domain, zero_line=domain[0] < 0)
            panels += [Panel(group, spec, panel_words(prose.title, group, drawn), len(drawn))] * bool(drawn)
        if not frame.height:
            return None
        return ScenarioLine(
            title, [scenario_figure(ratios, frame, measure, panels, notes=notes_of(frame, 0, 0))], frame
        )

    return make


def _line(material: Material, title: str, frame: pl.DataFrame) -> ScenarioLine | None:
    """The usual figures of estimates behind one line."""
    part = only(material, frame)
    named = [Series(str(name)) for name in frame["measure"].unique(maintain_order=True)]
    figures = [figure for series in named for figure in figures_of(part, series)]
    return ScenarioLine(visible(ellipsis(title, 80)), figures, frame) if frame.height else None


def _wordings(ratios: Ratios) -> ScenarioLine | None:
    """How the wording moves ratios: a row a wording, a dot a model; the contrast names its factor."""
    title = "What the wording of the subject does"
    rows = ratios.material.scores.filter(measure="variation_effect")
    by = [c for c in rows["contrast"].drop_nulls().unique().to_list() if c in rows.columns]
    frame = ratios.stored("variation_effect", by=by)
    if len(by) != 1 or len(ratios.lines) > len(PALETTE):
        return _line(ratios.material, title, frame)
    material, panels = ratios.material, []
    prose = material.explain("variation_effect", ratios.basis["definition"])
    domain = domain_of(frame.select("value", "low", "high", "floor").to_dicts())
    for group, of in ratios.by_place(frame) if frame.height else ():
        drawn = [r for r in of if r["value"] is not None]
        drawn.sort(key=lambda r: material.position(by[0], r[by[0]]))
        dotted = dot_rows(material, drawn, by, "generator" if len(ratios.lines) > 1 else None)
        spec = dots(dotted, unit=prose.unit, domain=domain, series=ratios.lines, zero_line=True)
        panels += [Panel(group, spec, panel_words(prose.title, group, dotted), len(dotted))] * bool(dotted)
    reads = f"A row a wording. {prose.reads} {_SINGLE}"
    figure = scenario_figure(
        ratios, frame, "variation_effect", panels, notes=notes_of(frame, 0, 0), reads=reads
    )
    return ScenarioLine(title, [figure], frame) if frame.height else None


def whole_line(ratios: Ratios) -> ScenarioLine | None:
    """Ratios that are not of single scenarios, as they are drawn elsewhere."""
    frame = ratios.material.scores.filter(pl.col(ratios.over).is_null(), measure=ratios.measure)
    return _line(ratios.material, "Ratios of all pictures together", frame)


_LINES: Sequence[Callable[[Ratios], ScenarioLine | None]] = (
    kept_line,
    beside_line,
    ends_line,
    cluster_line,
    _agreement,
    _by_model("Which model shows it more often than the others", "model_deviation"),
    _by_model("How even the ratios are", "ratio_entropy"),
    _changes,
    _wordings,
    _stability,
)
