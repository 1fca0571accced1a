"""Ratios beside a reference: which majorities grow, and how far each scenario lies from it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.report.charts.histograms import histograms
from stereotrope.report.charts.stacks import stacks
from stereotrope.report.datatable import estimate_cell, estimate_text, table_by
from stereotrope.report.material import words
from stereotrope.report.numbers import number, probability
from stereotrope.report.panels import Figure, Panel, notes_of, panel_words
from stereotrope.report.prose import listing
from stereotrope.report.sections.scenarios.ratios import (
    Ratios,
    ScenarioLine,
    counted_out,
    reasons,
    scenario_figure,
)
from stereotrope.report.sections.scenarios.spread import Binned
from stereotrope.report.series import Estimate

_GROWN, _SHRUNK = "amplified", "reduced"
_COLOURS = {_GROWN: "var(--group-4)", _SHRUNK: "var(--group-3)"}
_BINS = 20
_MOST_TICKS = 500
"""Scenarios of all models that are drawn one by one; of more a histogram says as much."""
_SMOOTH = 0.08
"""Of a violin, in parts of the half of its axis."""


def beside_line(ratios: Ratios) -> ScenarioLine | None:
    """Amplified and reduced scenarios, and how far each lies from the reference, which is named."""
    shares = ratios.stored("amplified_share")
    single = ratios.stored("amplification", by=[ratios.over])
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
            lines = list(dict.fromkeys(ratios.line_of(row) for row in drawn))
            series = list(dict.fromkeys(ratios.part_of(row) for row in drawn))
            spec = stacks(pieces, lines=lines, series=series, colours=_COLOURS)
            told = panel_words("Amplified and reduced", group, [p for p in pieces if "said" in p])
            panels.append(Panel(group, spec, told, len(drawn)))
    columns: dict[str, Callable[[Estimate], Any]] = {ratios.line_head: ratios.line_of}
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
    known = listing(sorted(set(frame["source"].drop_nulls())), most=3)
    reads = (
        f"Upper bar of a model: scenarios in which {value} is the majority in the reference; lower: those "
        f"in which it is the minority. {prose.reads} The table has it, as “by chance”."
    )
    notes = [f"Source: {known}.", *notes_of(frame, 0, 0, dots=False)]
    return scenario_figure(ratios, frame, "amplified_share", panels, table=table, reads=reads, notes=notes)


def _pieces(ratios: Ratios, row: Estimate) -> list[dict[str, Any]]:
    """The two pieces of a bar, and what stands behind it."""
    part, grown, n = ratios.part_of(row), row["numerator"], row["denominator"]
    place = {"line": ratios.line_of(row), "series": part}
    tip = f"{ratios.line_of(row)}, {part} in the reference"
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
    """How far each scenario lies from its reference: violins, or histograms; the mean as it is stored."""
    panels, material = [], ratios.material
    rows = single.filter(pl.col("value").is_not_null())
    mean_of = {(ratios.line_of(r), ratios.group_of(r)): r for r in means.iter_rows(named=True)}
    end = _widest(rows["value"])
    each = rows.height <= _MOST_TICKS
    smooth = end * _SMOOTH if each else None
    for group, of in ratios.by_place(rows) if rows.height else ():
        by_model: dict[str, list[Estimate]] = {}
        for row in of:
            by_model.setdefault(ratios.line_of(row), []).append(row)
        values = _ticks(ratios, by_model) if each else _bins(by_model, end)
        for line, model in enumerate(by_model):
            mean = mean_of.get((model, group))
            if mean is not None and mean["value"] is not None:
                said = estimate_text(material, mean, places=2)
                values.append(
                    {"line": line, "mean": mean["value"], "tip": f"{model}: mean {said}, n = {mean['n']}"}
                )
                values.append({"line": line, "right": f"{said}, n = {mean['n']}", "short_right": said})
        spec = histograms(
            values,
            lines=[*by_model],
            domain=(-end, end),
            middle=0.0,
            ticks=(-end, -end / 2, 0.0, end / 2, end),
            unit=material.explain("amplification").unit,
            smooth=smooth,
        )
        told = [row for row in values if "mean" in row]
        panels.append(Panel(group, spec, panel_words("The differences", group, told), 2 * len(by_model)))
    drawn = (
        f"A tick a scenario, and how densely they lie, smoothed by a normal curve of standard deviation "
        f"{smooth:g} that is the same for every model"
        if smooth
        else f"One histogram a model, in {_BINS} bins"
    )
    reads = f"{drawn}; ▲ the mean, with its interval at the right. {material.explain('amplification').reads}"
    frame = means if means.height else single
    return scenario_figure(ratios, frame, str(frame["measure"][0]), panels, reads=reads)


def _ticks(ratios: Ratios, by_model: Mapping[str, Sequence[Estimate]]) -> list[dict[str, Any]]:
    """A value a scenario of each model."""
    return [
        {
            "line": line,
            "at": row["value"],
            "tip": f"{model}, {row[ratios.over]}: {estimate_text(ratios.material, row, places=2)}",
        }
        for line, (model, of) in enumerate(by_model.items())
        for row in of
    ]


def _bins(by_model: Mapping[str, Sequence[Estimate]], end: float) -> list[dict[str, Any]]:
    """The bars of each model's histogram."""
    binned = {
        model: Binned.of(pl.Series([row["value"] for row in of]), -end, end, _BINS)
        for model, of in by_model.items()
    }
    most = max(one.highest for one in binned.values())
    return [
        row
        for line, (model, bins) in enumerate(binned.items())
        for row in bins.rows(line, model, most, (-end, end))
    ]


def _widest(values: pl.Series) -> float:
    """The end of an axis around 0 that holds all differences."""
    most = max((abs(v) for v in values), default=1.0)
    return next((end for end in (0.25, 0.5) if most <= end), 1.0)
