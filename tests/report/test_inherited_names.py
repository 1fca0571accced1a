"""Names that every object of JavaScript has, wherever a chart holds a text of others."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stereotrope import Audit
from stereotrope.errors import RunError
from stereotrope.report.charts.curves import curves
from stereotrope.report.charts.dots import dots
from stereotrope.report.charts.drawing import inert_chart, side_by_side
from stereotrope.report.charts.engine import Chart, DrawnChart
from stereotrope.report.charts.heat import heat, strips
from stereotrope.report.charts.histograms import histograms
from stereotrope.report.charts.lanes import draw_charts
from stereotrope.report.charts.radar import matrix, plane, radar
from stereotrope.report.charts.scatter import scatter
from stereotrope.report.charts.stacks import stacks
from stereotrope.report.document import asset
from stereotrope.report.exports import DrawnFigures, Exports, write_figures

OFTEN = ("constructor", "toString", "__proto__")
RARE = (
    *("valueOf", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString"),
    *("__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"),
)
NAMES = [*OFTEN, *(pytest.param(name, marks=pytest.mark.slow) for name in RARE)]


AUDIT = """
generators: [{labels: l.csv, name_from: model, factors: [occ, cond]}]
annotators: [{labels: l.csv, name: p, attributes: [NAME]}]
baseline: {cond: plain}
measures: [{share: NAME}, {bds: NAME}, {share_difference: NAME}]
permutations: 99
resamples: 100
"""


def audited(name: str, folder: Path) -> Path:
    """The page of an audit in which a level, a model, a value and an attribute have a name."""
    rows = [f"file_name,model,occ,cond,{name}"]
    for k in range(64):
        model, level, condition = ("m", name)[k % 2], ("nurse", name)[k // 2 % 2], ("plain", "x")[k // 4 % 2]
        rows.append(
            f"{k}.png,{model},{level},{condition},{(name, 'b')[k // 8 % 2 if k < 32 else k // 4 % 2]}"
        )
    (folder / "l.csv").write_text("\n".join(rows))
    (folder / "audit.yaml").write_text(AUDIT.replace("NAME", name))
    Audit.from_yaml(folder / "audit.yaml").run(folder / "run")
    return folder / "run" / "report" / "index.html"


@pytest.mark.parametrize("name", NAMES)
def test_such_a_name_as_level_model_value_and_attribute_is_drawn(name: str, tmp_path: Path) -> None:
    figures = audited(name, tmp_path).parent / "figures"
    for stem in ("bds", f"bds-{name}", f"share-{name}", f"share_difference-{name}", "distribution-1"):
        svg = (figures / f"{stem}.svg").read_text(encoding="utf-8")
        assert f">{name}" in svg
        assert re.search('<path aria-label="|aria-roledescription="(rect|bar|point)"', svg)
        assert (figures / f"{stem}.png").stat().st_size > 20_000


def every_chart(name: str) -> Iterator[dict[str, Any]]:
    """Each kind of chart with a text wherever it takes one."""
    for label, series in ((name, "b"), ("a", name)):
        both = [{"label": label, "series": s, "value": 0.5, "text": name} for s in (series, "c")]
        yield dots(both, unit=name, series=[series, "c"], apart=[label], wrapped=24)
    cells = [{"line": a, "column": b, "value": 0.3, "text": name} for a in (name, "q") for b in (name, "r")]
    yield heat(cells, columns=[name, "r"], lines=[name, "q"])
    ways = [{"series": s, "at": i, "value": 0.2, "tip": name} for s in (name, "v") for i in (1, 2)]
    yield curves(ways, series=[name, "v"], across=name, top=1, band=True)
    points = [{"label": name, "series": s, "x": 0.2, "value": 0.2, "named": True} for s in (name, "v")]
    yield scatter(points, across=name, upright=name, series=[name, "v"], top=1, right=1)
    pieces = [
        {"line": line, "series": s, "group": group, "start": start, "end": start + 0.5, "text": "t"}
        for line in (name, "l")
        for s in (name, "s")
        for group, start in ((name, 0.0), ("g", 0.5))
    ]
    colours = {name: "#123456", "g": "var(--group-5)"}
    yield stacks(pieces, lines=[name, "l"], series=[name, "s"], colours=colours)
    sides = {"line": 0, "left": name, "right": name, "short_left": name, "short_right": name}
    yield histograms([sides], lines=[name], domain=(0.0, 1.0), middle=0.5, ticks=[0, 1], unit=name)
    own = [{"value": 0.5, "low": 0.4, "high": 0.6, "text": name, "tip": name}] * 3
    yield radar([name, "a", "b"], own, {name: [0.1, 0.2, 0.3]}, place=0)
    models = [{"name": n, "x": 0.3, "y": 0.3, "tip": name} for n in (name, "n")]
    yield plane(models, x_title=[name], y_title=[name], names=[name, "n"])
    cell = {"line": name, "column": name, "band": 0, "texts": [name], "tip": name}
    yield matrix([cell], columns=[name], lines=[name])
    strip = {"line": name, "column": name, "value": name, "start": 0.0, "end": 1.0, "colour": "#123456"}
    yield strips([strip], lines=[name], columns=[name], title=name)


def drawn(name: str) -> list[tuple[int, int, int]]:
    """How many texts and marks each chart has, and how many texts begin with the name."""
    charts = [c if "hconcat" in c else side_by_side([(name, c)], title=name) for c in every_chart(name)]
    made = draw_charts([Chart(json.dumps(inert_chart(chart)), png=False) for chart in charts])
    svgs = [one.svg.decode() for one in made if isinstance(one, DrawnChart)]
    assert len(svgs) == len(charts)
    return [(svg.count("<text"), svg.count("<path"), svg.count(f">{name[:6]}")) for svg in svgs]


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_chart_draws_such_a_name_as_any_other(name: str) -> None:
    assert drawn(name) == drawn(name[::-1])


def test_a_name_and_the_same_with_a_space_stay_apart() -> None:
    spec = {"title": ["constructor", "constructor ", "a constructor"], "data": {"values": [{"a": "valueOf"}]}}
    assert inert_chart(spec) == {
        "title": ["constructor ", "constructor  ", "a constructor"],
        "data": {"values": [{"a": "valueOf "}]},
    }


def test_a_name_within_an_expression_is_the_one_of_the_data() -> None:
    said = 'say "toString"'
    before = json.dumps(["toString", "a", "toString ", said])
    after = json.dumps(["toString ", "a", "toString  ", said])
    code = "indexof({}, toString(datum.value))"
    assert inert_chart({"test": code.format(before)}) == {"test": code.format(after)}


LOGGED = {
    "data": {"values": [{"a": "z"}]},
    "concat": [{"mark": "point", "title": "toString", "encoding": {"y": {"field": "a", "type": "nominal"}}}],
}
"""A chart of which Vega logs an error and draws what there is, which is nothing."""


@pytest.mark.parametrize(
    "said",
    [
        "figure chart: cannot be drawn",
        "Operator not defined",
        "a fault of stereotrope, please report it; with `report: {figures: false}`",
    ],
)
def test_a_chart_that_the_renderer_refuses_is_named_with_what_it_said(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("stereotrope.report.exports.inert_chart", lambda spec: spec)
    style, kept = asset("style.css"), DrawnFigures(tmp_path)
    with pytest.raises(RunError, match=said) as raised:
        write_figures([], {"chart": LOGGED}, Exports(tmp_path), style=style, drawn=kept)
    assert "memory" not in str(raised.value)
    assert capfd.readouterr().err == ""


def test_what_vega_logs_is_an_error_of_its_chart_alone(capfd: pytest.CaptureFixture[str]) -> None:
    charts = [Chart(json.dumps(spec), png=False) for spec in (LOGGED, inert_chart(LOGGED))]
    first, second = draw_charts(charts)
    assert isinstance(first, ValueError)
    assert "Error: Operator not defined" in str(first)
    assert isinstance(second, DrawnChart)
    assert capfd.readouterr().err == ""


def test_charts_are_drawn_where_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr("stereotrope.report.charts.lanes.subprocess.Popen", fail)
    first, second = draw_charts([Chart(json.dumps(inert_chart(LOGGED)), png=True), Chart("{", png=False)])
    assert isinstance(first, DrawnChart)
    assert isinstance(second, ValueError)


@pytest.mark.parametrize("name", OFTEN[::2])
def test_the_page_draws_such_a_name_and_its_console_is_silent(visit: Any, name: str, tmp_path: Path) -> None:
    v = visit(audited(name, tmp_path)).opened().drawn()
    assert v.page.locator(".chart").count() == v.page.locator(".chart > svg").count() > 0
    assert v.page.locator(".chart text", has_text=re.compile(f"^{name}$")).count()
    assert v.page.locator(".chart path[aria-roledescription=point]").count()
    assert v.said == []
