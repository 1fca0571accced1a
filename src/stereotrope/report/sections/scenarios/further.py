"""What else is stored of ratios over scenarios, one line of the page each."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from stereotrope.escape import ellipsis, visible
from stereotrope.report.charts.curves import MOST_CURVES, curves
from stereotrope.report.charts.dots import dots
from stereotrope.report.charts.heat import head_width, heat
from stereotrope.report.charts.histograms import histograms
from stereotrope.report.charts.stacks import stacks
from stereotrope.report.datatable import dot_of, estimate_cell, estimate_text, table_by, table_of
from stereotrope.report.figures import dot_rows, figures_of
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, number, probability, thousands
from stereotrope.report.panels import (
    MOST_PANELS,
    SIGNIFICANT,
    Figure,
    Panel,
    domain_of,
    files_of,
    notes_of,
    panel_words,
)
from stereotrope.report.prose import listing
from stereotrope.report.sections.scenarios.clusters import cluster_line
from stereotrope.report.sections.scenarios.ratios import (
    RATIO,
    SCENARIO,
    Ratios,
    ScenarioLine,
    counted_out,
    only,
    reasons,
)
from stereotrope.report.sections.scenarios.spread import Binned
from stereotrope.report.series import Estimate, Series

SHARE = "share"
_GROWN, _SHRUNK = "amplified", "reduced"
_COLOURS = {_GROWN: "var(--group-4)", _SHRUNK: "var(--group-3)"}
_BINS = 20
_ENDS = 5
"""Scenarios at each end of a model's ratios that are drawn."""
_SIGNS = 26
_HEADS_BESIDE = 40
_SELECTED = (
    "These are the ends of a ranking: with other pictures the same scenarios would, on average, lie less far "
    "out. Of equal ratios those with the nearer end of the interval farther out come first."
)


def further_lines(ratios: Ratios) -> list[ScenarioLine]:
    """The lines that there is something for, in the order of reading."""
    lines = [make(ratios) for make in _LINES]
    return [line for line in lines if line is not None and line.figures]


def _figure(
    ratios: Ratios, frame: pl.DataFrame, measure: str, panels: Sequence[Panel], *, name: str = "", **more: Any
) -> Figure:
    """A figure of one measure in the words of this."""
    material = ratios.material
    prose = material.explain(measure, ratios.basis["definition"])
    title = f"{prose.title}{ratios.named}"
    more.setdefault("notes", notes_of(frame, 0, 0, dots=False))
    more.setdefault("reads", prose.reads)
    drawn = list(panels)[:MOST_PANELS]
    return Figure.of(
        material, frame, prose, title, name or f"scenarios-{measure}{ratios.named}", drawn, **more
    )


def _amplification(ratios: Ratios) -> ScenarioLine | None:
    shares = ratios.stored("amplified_share")
    single = ratios.stored("amplification", by=[SCENARIO])
    means = ratios.stored("amplification_mean")
    figures = []
    if shares.height:
        figures.append(_amplified(ratios, shares))
    if single.height or means.height:
        figures.append(_differences(ratios, single, means))
    return ScenarioLine(
        "Beside the reference: which majorities grow", figures, pl.concat([shares, single, means])
    )


def _amplified(ratios: Ratios, frame: pl.DataFrame) -> Figure:
    """Amplified and reduced scenarios of each majority, a bar each."""
    material, panels = ratios.material, []
    value = words(str(ratios.basis["category"]))
    for group, rows in ratios.by_place(frame):
        drawn = [row for row in rows if row["value"] is not None]
        pieces = [piece for row in drawn for piece in _pieces(ratios, row)]
        if drawn:
            lines = list(dict.fromkeys(ratios.model_of(row) for row in drawn))
            series = list(dict.fromkeys(ratios.part_of(row) for row in drawn))
            spec = stacks(pieces, lines=lines, series=series, colours=_COLOURS)
            told = panel_words("Amplified and reduced", group, [p for p in pieces if "said" in p])
            panels.append(Panel(group, spec, told, len(drawn)))
    columns: dict[str, Callable[[Estimate], Any]] = {"model": ratios.model_of}
    if any(ratios.group_of(row) for row in frame.iter_rows(named=True)):
        columns["group"] = ratios.group_of
    columns |= {
        f"{value} in the reference": ratios.part_of,
        _GROWN: lambda row: row["numerator"],
        _SHRUNK: lambda row: None if row["numerator"] is None else row["denominator"] - row["numerator"],
        "share amplified [interval]": lambda row: estimate_cell(material, row),
        "by chance": lambda row: number(row["floor"], row["n"]),
        "p": lambda row: probability(row["p_value"]),
        "q": lambda row: probability(row["q_value"]),
        "n": lambda row: row["n"],
        "left out": lambda row: reasons(counted_out(row)),
    }
    prose = material.explain("amplified_share")
    table = table_by(prose.title, frame.to_dicts(), columns, "tables/amplified_share.csv")
    reads = (
        f"Bars of a model: scenarios in which {value} is the majority in the reference, and those in which "
        f"it is the minority. {prose.reads}"
    )
    return _figure(ratios, frame, "amplified_share", panels, table=table, reads=reads)


def _pieces(ratios: Ratios, row: Estimate) -> list[dict[str, Any]]:
    """The two pieces of a bar, and what stands behind it."""
    part, grown, n = ratios.part_of(row), row["numerator"], row["denominator"]
    place = {"line": ratios.model_of(row), "series": part}
    tip = f"{ratios.model_of(row)}, {part} in the reference"
    ends = {_GROWN: (0.0, row["value"], grown), _SHRUNK: (row["value"], 1.0, n - grown)}
    pieces = [
        {**place, "group": which, "start": a, "end": b, "text": str(k), "tip": f"{tip}: {k} of {n} {which}"}
        for which, (a, b, k) in ends.items()
        if k
    ]
    q = f", q {probability(row['q_value'])}" if row["q_value"] is not None else ""
    said = f"{part}: n = {n}{q}"
    return [
        *pieces,
        {**place, "said": said, "short": f"n = {n}", "tip": f"{tip}: {grown} of {n} amplified{q}"},
    ]


def _differences(ratios: Ratios, single: pl.DataFrame, means: pl.DataFrame) -> Figure:
    """How far each scenario lies from its reference, as histograms; the mean as it is stored."""
    panels, material = [], ratios.material
    rows = single.filter(pl.col("value").is_not_null())
    mean_of = {(ratios.model_of(r), ratios.group_of(r)): r for r in means.iter_rows(named=True)}
    end = _widest(rows["value"])
    for group, of in ratios.by_place(rows) if rows.height else ():
        by_model: dict[str, list[float]] = {}
        for row in of:
            by_model.setdefault(ratios.model_of(row), []).append(row["value"])
        binned = {m: Binned.of(pl.Series(v), -end, end, _BINS) for m, v in by_model.items()}
        most = max(b.highest for b in binned.values())
        values: list[dict[str, Any]] = []
        for line, (model, bins) in enumerate(binned.items()):
            values += bins.rows(line, model, most, (-end, end))
            mean = mean_of.get((model, group))
            if mean is not None and mean["value"] is not None:
                said = estimate_text(material, mean, places=2)
                values.append(
                    {"line": line, "mean": mean["value"], "tip": f"{model}: mean {said}, n = {mean['n']}"}
                )
                values.append({"line": line, "right": said, "short_right": said})
        unit = material.explain("amplification").unit
        ticks = (-end, -end / 2, 0.0, end / 2, end)
        spec = histograms(values, lines=[*binned], domain=(-end, end), middle=0.0, ticks=ticks, unit=unit)
        told = [row for row in values if "mean" in row]
        panels.append(
            Panel(group, spec, panel_words("Histogram of the differences", group, told), 2 * len(binned))
        )
    reads = (
        f"One histogram a model, in {_BINS} bins; ▲ the mean, with its interval at the right. "
        f"{material.explain('amplification').reads}"
    )
    frame = means if means.height else single
    return _figure(ratios, frame, str(frame["measure"][0]), panels, reads=reads)


def _widest(values: pl.Series) -> float:
    """The end of an axis around 0 that holds all differences."""
    most = max((abs(v) for v in values), default=1.0)
    return next((end for end in (0.25, 0.5) if most <= end), 1.0)


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
            [m for m in ratios.models if any(c[side] == m for c in (*cells, *mirrored))]
            for side in ("line", "column")
        )
        if cells:
            spec = heat([*cells, *mirrored], columns=heads, lines=lines, signed=signed, top=top)
            panels.append(Panel(group, spec, panel_words(prose.title, group, cells), len(lines)))
    wide = sum(map(head_width, ratios.models)) > _HEADS_BESIDE
    notes = notes_of(frame, 0, 0, dots=False)
    if panels and frame["q_value"].drop_nulls().len():
        floor = " The numbers include the noise floor, which the table gives."
        notes.insert(0, f"* q ≤ {SIGNIFICANT}.{floor if frame['floor'].drop_nulls().len() else ''}")
    direction = "" if both else "Each number is of the model at the left, less the one above. "
    return _figure(
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
                model, said = ratios.model_of(row), estimate_text(ratios.material, row)
                tip = f"{model}, {part} pictures: {said}, {count(row['n'], 'scenario')}"
                values.append({"series": model, "at": int(part), "value": row["value"], "tip": tip})
        models = [m for m in ratios.models if any(v["series"] == m for v in values)]
        shown = [v for v in values if v["series"] in models[:MOST_CURVES]]
        if shown:
            top = 1.08 * max(defined["value"])
            spec = curves(shown, series=models[:MOST_CURVES], across="pictures of a scenario", top=top)
            panels.append(Panel(group, spec, panel_words("Stability", group, shown), 8))
    if not frame.height:
        return None
    notes = notes_of(frame, 0, 0, dots=False)
    if len(ratios.models) > MOST_CURVES:
        notes.insert(0, f"Drawn: the first {MOST_CURVES} of {len(ratios.models)} models; the table has all.")
    figure = _figure(ratios, frame, "stability", panels, notes=notes)
    return ScenarioLine("How many pictures a ratio needs", [figure], frame)


def _ends(ratios: Ratios) -> ScenarioLine | None:
    """Each model's scenarios with the highest and the lowest ratios."""
    cells = [cell.shown.with_columns(_model=pl.lit(cell.model)) for cell in ratios.cells if cell.shown.height]
    if not cells:
        return None
    every = pl.concat(cells).sort("value", "low", "high", SCENARIO, descending=[True, True, True, False])
    panels = []
    for model in ratios.models:
        mine = every.filter(_model=model)
        if not mine.height:
            continue
        few = mine.height <= 2 * _ENDS
        shown = mine if few else pl.concat([mine.head(_ENDS), mine.tail(_ENDS)])
        rows = []
        for row in shown.iter_rows(named=True):
            said, short = (estimate_text(ratios.material, row, bare=bare) for bare in (False, True))
            rows.append(dot_of(row, str(row[SCENARIO]), said, short))
        top = [row["label"] for row in rows[:_ENDS]] if not few else []
        spec = dots(rows, unit=ratios.prose.unit, apart=top, wrapped=_SIGNS)
        panels.append(Panel(model, spec, panel_words("Scenarios", model, rows), 2 * len(rows)))
    frame = every.drop("_model")
    prose, material = ratios.prose, ratios.material
    title = f"The scenarios with the highest and the lowest ratios{ratios.named}"
    table = table_of(material, frame, title, file=f"tables/{RATIO}.csv")
    notes = [*notes_of(frame, 0, 0, dots=False), _SELECTED]
    more = {
        "table": table,
        "notes": notes,
        "reads": f"The {_ENDS} highest, above the line, and the {_ENDS} lowest of each model.",
    }
    figure = Figure.of(
        material, frame, prose, title, f"scenarios-ends{ratios.named}", panels[:MOST_PANELS], **more
    )
    return ScenarioLine("Scenarios at both ends", [figure], frame.clear())


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
            title, [_figure(ratios, frame, measure, panels, notes=notes_of(frame, 0, 0))], frame
        )

    return make


def _line(material: Material, title: str, frame: pl.DataFrame) -> ScenarioLine | None:
    """The usual figures of estimates behind one line."""
    part = only(material, frame)
    named = [Series(str(name)) for name in frame["measure"].unique(maintain_order=True)]
    figures = [figure for series in named for figure in figures_of(part, series)]
    return ScenarioLine(visible(ellipsis(title, 80)), figures, frame) if frame.height else None


def _wordings(ratios: Ratios) -> ScenarioLine | None:
    """How the wording of the subject moves ratios; the factor is the contrast of its rows."""
    rows = ratios.material.scores.filter(measure="variation_effect")
    by = rows["contrast"].drop_nulls().unique().to_list()
    return _line(
        ratios.material, "What the wording of the subject does", ratios.stored("variation_effect", by=by)
    )


def whole_lines(material: Material) -> list[ScenarioLine]:
    """Ratios and shares that are not of single scenarios, as they are drawn elsewhere."""
    ratios, shares = (material.scores.filter(measure=measure) for measure in (RATIO, SHARE))
    attributes = [words(name) for name in shares["attribute"].drop_nulls().unique(maintain_order=True)]
    titles = ("Ratios of all pictures together", f"Shares of labels: {listing(attributes, most=4)}")
    lines = []
    for title, frame in zip(titles, (ratios, shares), strict=True):
        line = _line(material, title, frame.filter(pl.col(SCENARIO).is_null()))
        single = frame[SCENARIO].count()
        if line is None or not line.figures:
            continue
        if single and frame is shares:
            said = f"{thousands(single)} rows of single scenarios are in {files_of(SHARE)}."
            last = replace(line.figures[-1], notes=[*line.figures[-1].notes, said])
            line = replace(line, figures=[*line.figures[:-1], last])
        lines.append(line)
    return lines


_LINES: Sequence[Callable[[Ratios], ScenarioLine | None]] = (
    _amplification,
    _agreement,
    _by_model("Which model shows it more often than the others", "model_deviation"),
    _by_model("How even the ratios are", "ratio_entropy"),
    _stability,
    _changes,
    _wordings,
    cluster_line,
    _ends,
)
