"""What did not change is not made again, and what is made again has the bytes of a fresh report."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import polars as pl
import pytest
from tests.report.made_up import FakeRun, draw

from stereotrope import report
from stereotrope.report.charts import engine
from stereotrope.report.charts.engine import Chart, DrawnChart
from stereotrope.report.charts.lanes import draw_charts
from stereotrope.report.kept import KeptTexts

Make = Callable[..., FakeRun]
PLANTED = b"<svg>planted</svg>"


def files(run: FakeRun) -> dict[str, bytes]:
    folder = run.path / "report"
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def written(run: FakeRun) -> dict[str, tuple[int, int]]:
    told = {p.name: p.stat() for p in (run.path / "report").rglob("*") if p.is_file()}
    return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in told.items()}


def test_a_process_that_draws_ends_quietly_when_who_asked_is_gone() -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", engine.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stdin as asked:
        asked.write(json.dumps(Chart("no chart", False)).encode() + b"\n")
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


def plant_figures(run: FakeRun) -> None:
    """Put another drawing into every SVG, as if the last report had drawn it."""
    cache, figures = run.path / "cache" / "figures", run.path / "report" / "figures"
    before = {p.name: digest(p.read_bytes()) for p in figures.glob("*.svg")}
    for file in figures.glob("*.svg"):
        file.write_bytes(PLANTED)
    kept = KeptTexts(cache)
    with kept.saved():
        for line in cache.read_text().splitlines()[1:]:
            key, of = line.split(" ", 1)
            svg, *png = of.split()
            assert svg in before.values()
            kept.put(key, " ".join([digest(PLANTED), *png]))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def planted(run: FakeRun) -> set[str]:
    return {name for name, data in files(run).items() if data == PLANTED}


def test_a_report_made_of_what_is_kept_has_the_bytes_of_a_fresh_one(make_run: Make) -> None:
    run = make_run()
    report.write(run)
    fresh, first = files(run), written(run)
    report.write(run)
    assert files(run) == fresh
    assert written(run) == first
    shutil.rmtree(run.path / "cache")
    shutil.rmtree(run.path / "report")
    report.write(run)
    assert files(run) == fresh


def test_figures_that_did_not_change_are_not_drawn_again(make_run: Make) -> None:
    run = make_run()
    report.write(run)
    every = {name for name in files(run) if name.endswith(".svg")}
    plant_figures(run)
    report.write(run)
    assert planted(run) == every
    changed = pl.when(pl.col("measure") == "bds").then(0.35).otherwise("value").alias("value")
    run.estimates = run.estimates.with_columns(changed)
    report.write(run)
    assert every - planted(run) == {"figures/bds.svg", "figures/published-bds.svg"}


def test_figures_for_elsewhere_are_taken_from_the_report_of_the_run(make_run: Make, tmp_path: Path) -> None:
    run = make_run()
    report.write(run)
    plant_figures(run)
    before = (run.path / "cache" / "figures").read_bytes()
    report.write(run, out=tmp_path)
    assert {file.read_bytes() for file in (tmp_path / "figures").glob("*.svg")} == {PLANTED}
    assert (run.path / "cache" / "figures").read_bytes() == before


def test_a_figure_that_was_changed_is_drawn_anew(make_run: Make) -> None:
    run = make_run()
    report.write(run)
    fresh = files(run)
    for name in ("figures/bds.svg", "figures/bds.png"):
        (run.path / "report" / name).write_bytes(fresh[name][:-9])
        report.write(run)
        assert files(run) == fresh
        (run.path / "report" / name).unlink()
        report.write(run)
        assert files(run) == fresh


def test_a_thumbnail_is_drawn_once_for_one_picture(make_run: Make) -> None:
    run = make_run()
    page = report.write(run, figures=False)
    cache = run.path / "cache" / "thumbnails"
    kept = KeptTexts(cache)
    with kept.saved():
        for line in cache.read_text().splitlines()[1:]:
            kept.put(line.split(" ", 1)[0], "data:image/webp;base64,PLANTED")
    report.write(run, figures=False)
    assert "base64,PLANTED" in page.read_text("utf-8")
    run.pictures = {image: draw("#00ff00", "#000000", 2) for image in run.pictures}
    report.write(run, figures=False)
    assert "base64,PLANTED" not in page.read_text("utf-8")


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b[:-3],
        pytest.param(lambda b: b"", marks=pytest.mark.slow),
        pytest.param(lambda b: b[70:], marks=pytest.mark.slow),
        lambda b: b"\xff" * 99,
    ],
)
def test_what_is_torn_is_made_anew(make_run: Make, damage: Callable[[bytes], bytes]) -> None:
    run = make_run()
    report.write(run)
    fresh = files(run)
    kept = {file: file.read_bytes() for file in (run.path / "cache").iterdir()}
    assert {file.name for file in kept} == {"figures", "thumbnails"}
    for file, data in kept.items():
        file.write_bytes(damage(data))
    report.write(run)
    assert files(run) == fresh
    assert {file: file.read_bytes() for file in kept} == kept


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_under_the_name_of_what_is_kept_or_written_is_not_waited_for(make_run: Make) -> None:
    run = make_run()
    page = report.write(run, figures=False)
    fresh = files(run)
    for file in (run.path / "cache" / "thumbnails", next((page.parent / "tables").glob("*.csv"))):
        file.unlink()
        os.mkfifo(file)
    report.write(run, figures=False)
    assert files(run) == fresh


def test_where_nothing_can_be_kept_the_report_is_the_same(make_run: Make) -> None:
    run = make_run()
    (run.path / "cache").write_text("no folder")
    page = report.write(run)
    assert page.is_file()
    assert (run.path / "cache").read_text() == "no folder"


def test_work_that_was_stopped_keeps_what_it_did_not_come_to(tmp_path: Path) -> None:
    file = tmp_path / "cache" / "texts"
    with (first := KeptTexts(file)).saved():
        first.put("a", "1")
        first.put("b", "2")

    def stopped(kept: KeptTexts) -> None:
        with kept.saved():
            kept.put("c", "3")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped(KeptTexts(file))
    with (third := KeptTexts(file)).saved():
        assert [third.get(key) for key in "abc"] == ["1", "2", "3"]
    with (fourth := KeptTexts(file)).saved():
        assert fourth.get("b") == "2"
    assert [KeptTexts(file).get(key) for key in "abc"] == [None, "2", None]


def charts(n: int) -> list[Chart]:
    spec = {"mark": "bar", "encoding": {"x": {"field": "a", "type": "quantitative"}}}
    return [Chart(json.dumps({**spec, "data": {"values": [{"a": i}]}}), i % 2 == 0) for i in range(n)]


def children() -> set[str]:
    return set("".join(p.read_text() for p in Path("/proc/self/task").glob("*/children")).split())


@pytest.mark.skipif(sys.platform != "linux", reason="counts processes in /proc")
def test_charts_drawn_side_by_side_are_those_drawn_one_by_one() -> None:
    asked, before = charts(12), children()
    asked[7] = Chart("{", png=True)
    alone = list(draw_charts(asked, most=1))
    assert children() == before
    seen: set[str] = set()

    async def beside() -> list[DrawnChart | ValueError]:
        made = []
        for one in draw_charts(asked, most=2):
            made.append(one)
            seen.update(children() - before)
        return made

    made = asyncio.run(beside())
    assert len(seen) == 2
    assert children() == before
    assert isinstance(made[7], ValueError)
    assert [str(one) if isinstance(one, ValueError) else one for one in made] == [
        str(one) if isinstance(one, ValueError) else one for one in alone
    ]
    assert [one.png is not None for one in made if isinstance(one, DrawnChart)] == [
        chart.png for chart in asked if chart.text != "{"
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="counts processes in /proc")
def test_drawing_that_is_stopped_leaves_no_process() -> None:
    before, drawing = children(), draw_charts(charts(24), most=2)
    next(drawing)
    assert len(children() - before) == 2
    drawing.close()
    assert children() == before


@pytest.mark.skipif(sys.platform != "linux", reason="kills processes of /proc")
def test_a_process_that_was_killed_has_a_successor() -> None:
    before, drawing = children(), draw_charts(charts(400), most=2)
    next(drawing)
    for one in children() - before:
        os.kill(int(one), signal.SIGKILL)
    rest: list[Any] = list(drawing)
    assert len(rest) == 399
    assert all(isinstance(one, DrawnChart) for one in rest)
    assert children() == before


@pytest.mark.skipif(sys.platform != "linux", reason="counts processes in /proc")
def test_a_chart_that_ends_every_process_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    before, ask = children(), engine.ask

    def ended(chart: Chart, to: IO[bytes], by: IO[bytes]) -> DrawnChart:
        if chart is asked[5]:
            raise EOFError("the process that draws has ended")
        return ask(chart, to, by)

    monkeypatch.setattr(engine, "ask", ended)
    asked = charts(12)
    made = list(draw_charts(asked, most=2))
    assert [at for at, one in enumerate(made) if isinstance(one, ValueError)] == [5]
    assert str(made[5]) == "the process that draws has ended"
    assert children() == before
