"""The section of ratios over scenarios as a browser shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.report.sections.scenarios.made_up_scenarios import make_scenarios
from tests.report.test_page_in_browser import CUT

from stereotrope import report


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = [f"a model with a rather long name, version {i}" for i in range(5)]
    run = make_scenarios(tmp_path_factory.mktemp("scenarios"), models=models)
    return report.write(run, figures=False)


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_its_charts_are_drawn_whole_at_every_width(visit: Any, page: Path, width: int, scheme: str) -> None:
    v = visit(page, viewport={"width": width, "height": 844}, color_scheme=scheme).opened()
    charts = v.page.locator("#scenarios .chart")
    assert charts.count() == v.page.locator("#scenarios .chart > svg").count() > 10
    assert v.page.evaluate(f"{CUT}.length") == 0
    assert v.page.evaluate("document.documentElement.scrollWidth") <= width
    assert v.said == []


def test_what_waits_opens_with_the_keyboard(visit: Any, page: Path) -> None:
    v = visit(page)
    line = v.page.locator("#scenarios details.further > summary").first
    line.focus()
    v.page.keyboard.press("Enter")
    v.page.locator("#scenarios details.further[open] .chart > svg").first.wait_for()
    assert v.said == []


def test_every_chart_and_every_bar_says_what_it_shows(visit: Any, page: Path) -> None:
    v = visit(page).drawn()
    labels = v.page.eval_on_selector_all(
        "#scenarios .chart", "all => all.map(c => c.getAttribute('aria-label'))"
    )
    assert all(labels)
    bars = v.page.locator("#chart-scenarios-1 path[aria-roledescription]")
    told = bars.evaluate_all("all => all.map(b => b.getAttribute('aria-label'))")
    assert told
    assert all("scenario" in text for text in told)
