"""A run of the paper's size keeps its bounds, and what is left out is said."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from PIL import Image
from tests.report.made_up import FakeRun
from tests.report.made_up_large import ATTRIBUTES, GROUPS, MODELS, OBJECTS, make_large

from stereotrope import report
from stereotrope.report.charts.engine import MOST_PIXELS
from stereotrope.report.exports import MOST_TEXT_ROWS
from stereotrope.report.figures import figures_of
from stereotrope.report.material import Material
from stereotrope.report.panels import MOST_PANELS
from stereotrope.report.sections import distributions
from stereotrope.report.series import Series, series_in

_URI = re.compile(r"data:image/webp;base64,[A-Za-z0-9+/=]+")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    return make_large(tmp_path_factory.mktemp("large"))


@pytest.fixture(scope="module")
def folder(run: FakeRun) -> Path:
    return report.write(run, figures=False).parent


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=pytest.mark.slow)])
def figures(run: FakeRun, request: pytest.FixtureRequest) -> Path:
    """The figures of one measure and one model, or all."""
    few = replace(
        run,
        estimates=run.estimates.filter(measure="bds"),
        images=run.images.filter(generator=MODELS[0]),
    )
    return (
        report.write(run if request.param else few, out=run.path / f"drawn-{request.param}").parent
        / "figures"
    )


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "index.html").read_text(encoding="utf-8")


def test_the_page_stays_small(page: str) -> None:
    assert len(_URI.sub("", page).encode()) < 4_000_000


def test_the_figures_stay_small(figures: Path) -> None:
    files = list(figures.iterdir())
    assert len(files) < 60
    assert sum(path.stat().st_size for path in files) < 25_000_000
    for path in figures.glob("*.png"):
        with Image.open(path) as picture:
            assert picture.width * picture.height <= 1.01 * MOST_PIXELS, path.name


def test_every_row_is_in_the_files(run: FakeRun, folder: Path) -> None:
    for series in series_in(run.estimates):
        n, file = series.rows(run.estimates).height, folder / "tables" / series.name
        assert pl.read_parquet(f"{file}.parquet").height == n
        assert pl.scan_csv(f"{file}.csv").select(pl.len()).collect().item() == n


def test_long_tables_are_no_text_and_the_folder_says_which(run: FakeRun, folder: Path) -> None:
    said = (folder / "tables" / "README.txt").read_text(encoding="utf-8")
    for series in series_in(run.estimates):
        measure, long = series.name, series.rows(run.estimates).height > MOST_TEXT_ROWS
        assert (folder / "tables" / f"{measure}.tex").exists() != long
        assert (f"{measure}.csv, {measure}.parquet" in said.splitlines()) == long


def test_figures_without_a_png_are_named(figures: Path) -> None:
    alone = {p.name for p in figures.glob("*.svg") if not p.with_suffix(".png").exists()}
    assert alone
    assert alone == set((figures / "README.txt").read_text(encoding="utf-8").split("\n\n")[1].split())
    assert (figures / "bds.png").exists()


def test_one_overview_a_model_holds_every_score(run: FakeRun) -> None:
    bds = figures_of(Material(run), Series("bds"))[0]
    assert [p.title for p in bds.panels] == list(MODELS)
    assert [len(p.spec["data"]["values"]) for p in bds.panels] == [len(OBJECTS) * len(GROUPS)] * len(MODELS)
    assert any("all 360 rows are in the files tables/bds.csv and .parquet" in note for note in bds.notes)


def test_the_mean_over_objects_stands_before_the_overview(page: str) -> None:
    assert 0 < page.index('id="figure-bds_average"') < page.index('id="figure-bds"')


def test_every_cut_says_how_many_and_where_the_rest_is(run: FakeRun) -> None:
    material = Material(run)
    attributes = figures_of(material, Series("bds"))[1]
    assert attributes.panels == []
    assert "2880 cells in 40 panels, one a model and object" in attributes.notes[-1]
    assert "All 2880 rows are in the files tables/bds.csv and .parquet" in attributes.notes[-1]
    (dominant,) = figures_of(material, Series("dominant_share"))
    assert len(dominant.panels) == len(OBJECTS)
    assert "Drawn: 8 of 40 panels, one a model and object: those of model model A." in dominant.reads
    shares = figures_of(material, Series("share"))[-1]
    assert shares.panels == []
    assert "which would be 240 panels" in shares.notes[0]
    assert "all 14 400 rows" in shares.notes[0].replace("\u202f", " ")


@pytest.mark.slow
def test_a_panel_of_more_cells_than_anyone_reads_is_not_drawn(run: FakeRun) -> None:
    dominant = run.estimates.filter(pl.col("measure") == "dominant_share", pl.col("object") == OBJECTS[0])
    groups = dominant.with_columns(pl.format("{}-{}", "group", pl.col("group").cum_count()))
    many = pl.concat([groups.with_columns(pl.format("{} {}", "group", pl.lit(i))) for i in range(60)])
    larger = replace(run, estimates=many)
    (figure,) = figures_of(Material(larger), Series("dominant_share"))
    assert figure.panels == []
    assert "too many to be read. All" in figure.notes[-1]
    page = report.write(larger, out=run.path / "crowded", figures=False).read_text()
    assert "too many to be read. All" in page


def test_no_figure_has_more_panels_than_anyone_reads(run: FakeRun) -> None:
    material = Material(run)
    for series in series_in(run.estimates):
        for figure in figures_of(material, series):
            assert len(figure.panels) <= MOST_PANELS


def test_of_many_differences_the_largest_of_each_model_are_drawn(run: FakeRun) -> None:
    figures = figures_of(Material(run), Series("share_difference"))
    assert len(figures) == len(ATTRIBUTES)
    colour = next(f for f in figures if "product colour" in f.title)
    assert [p.title for p in colour.panels] == list(MODELS)
    assert [p.rows for p in colour.panels] == [12] * len(MODELS)
    assert any("Not drawn: 660 rows" in note and "share_difference.csv" in note for note in colour.notes)


def test_of_many_distributions_those_that_findings_show_come_in(page: str) -> None:
    assert "Shown: 8 of 40 figures, one a model and object" in page
    assert page.count('<table class="strips">') == 8
    assert "model E · clock: what the pictures show" in page


def test_of_very_many_conditions_those_that_findings_show_come_in_first(
    run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    material = Material(run)
    whole = distributions.distributions(material)
    monkeypatch.setattr(distributions, "_MOST_LINES", 3)
    few = distributions.distributions(material)
    assert [len(d.lines) for d in few] == [3] * len(whole)
    assert [d.more for d in few] == [len(d.lines) - 3 for d in whole]
    shown = {line.anchor for d in few for line in d.lines}
    assert set(material.highlighted) <= shown
    assert [d.keys for d in few] == [d.keys for d in whole]
    page = report.write(run, out=run.path / "few", figures=False).read_text()
    assert "7 further conditions have no line here" in page


@pytest.mark.slow
def test_of_very_many_attributes_some_have_strips_and_the_others_are_counted(
    run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    material = Material(run)
    whole = distributions.distributions(material)
    monkeypatch.setattr(distributions, "_MOST_COLUMNS", 2)
    few = distributions.distributions(material)
    assert {len(d.attributes) for d in few} == {2}
    assert [d.more_columns for d in few] == [len(d.attributes) - 2 for d in whole]
    assert all(len(line.strips) == 2 for d in few for line in d.lines)
    page = report.write(run, out=run.path / "few columns", figures=False).read_text()
    assert f"{whole[0].more_columns + len(whole[0].attributes) - 2} further attribute" in page


def test_pictures_of_very_many_conditions_wait_behind_a_disclosure(page: str) -> None:
    assert page.count('<details class="sheets">') == len(MODELS)
    assert page.count('class="sheet wide"') == 400
