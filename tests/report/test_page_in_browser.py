"""The page as a browser shows it: silent, offline, drawn, usable with the keyboard."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.report.made_up_large import make_large
from tests.report.made_up_objects import make_objects
from tests.report.made_up_people import make_people
from tests.report.made_up_remote import make_remote

from stereotrope.tables import ROBUSTNESS, polars_types

CUT = """[...document.querySelectorAll(".chart text")].filter((text) => {
  const of = text.getBoundingClientRect(), chart = text.closest(".chart").getBoundingClientRect();
  return of.width && (of.left < chart.left - 1 || of.right > chart.right + 1);
})"""
"""Texts of charts that reach beyond their chart."""


def test_the_console_is_silent_and_no_request_leaves_the_file(visit: Any, objects_report: Path) -> None:
    v = visit(objects_report).drawn()
    v.page.locator(".chart path[aria-roledescription=point]").first.hover()
    v.page.locator("#vg-tooltip-element.visible").wait_for()
    assert v.said == []
    assert [u for u in v.asked if not u.startswith("data:")] == [objects_report.as_uri()]


def test_every_chart_is_drawn_within_the_page_at_every_width(visit: Any, people_report: Path) -> None:
    for width in (1280, 390):
        v = visit(people_report, viewport={"width": width, "height": 844}).opened()
        boxes = v.page.locator(".chart")
        assert boxes.count() == v.page.locator(".chart > svg").count() > 0
        assert v.page.evaluate("document.documentElement.scrollWidth") <= width
        assert v.said == []


def test_no_text_of_a_chart_is_cut_when_the_width_changes(visit: Any, people_report: Path) -> None:
    v = visit(people_report, viewport={"width": 390, "height": 844}).opened()
    for width in (390, 1280, 390):
        v.page.set_viewport_size({"width": width, "height": 844})
        v.page.wait_for_function(f"{CUT}.length === 0")


def test_long_names_in_legends_fit_a_phone(visit: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    from stereotrope import report

    run = make_people(tmp_path_factory.mktemp("people"))
    long = {
        "plain": "plain photograph without any mention",
        "with diversity": "with a long instruction to vary",
    }
    frames = {f.name: getattr(run, f.name) for f in fields(run)}
    renamed = {
        name: frame.with_columns(pl.col(pl.String).replace(long))
        for name, frame in frames.items()
        if isinstance(frame, pl.DataFrame)
    }
    v = visit(
        report.write(replace(run, **renamed), figures=False), viewport={"width": 390, "height": 844}
    ).opened()
    assert v.page.locator(".role-legend").count()
    assert v.page.evaluate(f"{CUT}.length") == 0


def test_other_ways_of_a_finding_fit_a_phone(visit: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    from stereotrope import report

    run = make_objects(tmp_path_factory.mktemp("objects"), n=4)
    counts = {"numerator": 17, "n": 20, "numerator_reference": 0, "n_reference": 20}
    sizes = {"value": -0.85, "low": -0.96, "high": -0.44, "level": 0.95}
    rows = [
        {"finding_id": name, "way": "annotator", "level_of": "gemini-2.5-flash-preview", **counts, **sizes}
        for name in run.findings["finding_id"]
    ]
    told = replace(run, robustness=pl.DataFrame(rows, schema=polars_types(ROBUSTNESS)))
    v = visit(report.write(told, figures=False), viewport={"width": 390, "height": 844}).opened()
    tables = "[...document.querySelectorAll('.findings .scroll')]"
    assert v.page.evaluate(f"{tables}.length")
    assert v.page.evaluate(f"{tables}.filter((t) => t.scrollWidth > t.clientWidth).length") == 0


@pytest.fixture(scope="module")
def remote_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from stereotrope import report

    return report.write(make_remote(tmp_path_factory.mktemp("remote"), n=4), figures=False)


@pytest.mark.parametrize(
    ("width", "scheme"), [pytest.param(1280, "light", marks=pytest.mark.slow), (390, "dark")]
)
def test_a_page_with_everything_of_a_remote_run_fits_every_width(
    visit: Any, remote_report: Path, width: int, scheme: str
) -> None:
    v = visit(remote_report, viewport={"width": width, "height": 844}, color_scheme=scheme).opened()
    assert v.page.evaluate("document.documentElement.scrollWidth") <= width
    assert v.page.locator(".chart").count() == v.page.locator(".chart > svg").count() > 0
    for name in ("missing", "judges", "published", "cost"):
        assert v.page.locator(f".contents a[href='#{name}']").count() == 1
        assert v.page.locator(f"#{name} > h2").is_visible()
    assert v.said == []
    assert [u for u in v.asked if not u.startswith("data:")] == [remote_report.as_uri()]


def test_the_strips_of_a_remote_run_fit_a_screen(visit: Any, remote_report: Path) -> None:
    v = visit(remote_report)
    cells = v.page.locator("#distribution-1 table.strips")
    assert cells.evaluate("t => t.scrollWidth <= t.parentElement.clientWidth + 1")


def test_charts_below_the_fold_wait(visit: Any, objects_report: Path) -> None:
    page = visit(objects_report).page
    page.wait_for_selector("html[data-charts=drawn]", state="attached")
    assert page.evaluate("[...document.images].every(i => i.loading === 'lazy')")


def test_without_a_script_the_tables_remain(visit: Any, objects_report: Path) -> None:
    page = visit(objects_report, java_script_enabled=False).page
    assert page.locator("#figure-bds noscript").inner_text().startswith("The chart is drawn by a script")
    page.locator("#figure-bds summary").click()
    assert page.locator("#figure-bds table tbody tr").count() == 10


def test_the_first_tab_skips_to_the_report(visit: Any, objects_report: Path) -> None:
    page = visit(objects_report).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def luminance(colour: str) -> float:
    parts = [float(c) / 255 for c in re.findall(r"[\d.]+", colour)[:3]]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_contrast_is_at_least_4_5(visit: Any, objects_report: Path, scheme: str) -> None:
    page = visit(objects_report, color_scheme=scheme).drawn().page
    paper = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert (paper < 0.05) == (scheme == "dark")
    colours = page.evaluate(
        """[...document.querySelectorAll('h1,h2,h3,p,a,dt,dd,td,th,summary,button')]
           .map(e => getComputedStyle(e).color)
           .concat([...document.querySelectorAll('.role-axis text, #figure-bds .mark-text text')]
           .map(e => getComputedStyle(e).fill))"""
    )
    for colour in set(colours):
        bright, dark = max(paper, luminance(colour)), min(paper, luminance(colour))
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, colour


def test_the_theme_button_turns_the_page_over(visit: Any, objects_report: Path) -> None:
    page = visit(objects_report).page
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_sensitive_pictures_are_shown_when_asked_for(visit: Any, people_report: Path) -> None:
    page = visit(people_report).page
    blur = "getComputedStyle(document.querySelector('.thumbs img')).filter"
    assert page.evaluate(blur).startswith("blur")
    page.locator("#show-pictures").check()
    assert page.evaluate(blur) == "none"


def test_untrusted_text_stays_text_in_the_browser(visit: Any, make_run: Any, tmp_path: Path) -> None:
    from stereotrope import report

    nasty = "</script><script>window.hit=1</script><img src=x onerror='window.hit=1'>"
    v = visit(
        report.write(make_run(nasty, nasty, name=nasty, level=nasty), out=tmp_path / "o", figures=False)
    ).drawn()
    v.page.locator(".chart path[aria-roledescription=point]").first.hover()
    v.page.locator("#vg-tooltip-element.visible").wait_for()
    assert v.page.evaluate("window.hit") is None
    assert v.said == []
    assert "<script>window.hit=1</script>" in v.page.locator("h1").inner_text()


def test_a_link_to_pictures_that_wait_opens_them(visit: Any, tmp_path: Path) -> None:
    from stereotrope import report

    v = visit(report.write(make_large(tmp_path, n=1), figures=False))
    sheet = v.page.locator("#sheet-60")
    assert not sheet.is_visible()
    v.page.evaluate("location.hash = '#sheet-60'")
    sheet.wait_for()
    picture = sheet.locator("img").first
    picture.hover()
    assert picture.get_attribute("title") == picture.get_attribute("alt")
    v.page.set_viewport_size({"width": 390, "height": 844})
    assert v.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert v.said == []


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_it_prints(visit: Any, make_run: Any, objects_report: Path, tmp_path: Path, whole: bool) -> None:
    from stereotrope import report

    index = objects_report if whole else report.write(make_run(), out=tmp_path, figures=False)
    assert visit(index, color_scheme="dark").drawn().page.pdf(format="A4").startswith(b"%PDF")
