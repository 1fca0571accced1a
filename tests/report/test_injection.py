"""Texts that others wrote, in every field the report shows and in every format it writes."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stereotrope import report
from stereotrope.report.document import asset
from stereotrope.report.exports import DrawnFigures, Exports, write_figures

MARK = "zq9"
TEXTS = {
    "markup": f"<script>{MARK}()</script><img src=x onerror={MARK}()>\"' onmouseover={MARK} x='",
    "end of script": f"</script><script>{MARK}()</script><!--{MARK}",
    "template": MARK + "{{7*7}}{%if 1%}",
    "formula": f'=HYPERLINK("http://evil.example/{MARK}")',
    "latex": rf"\input{{{MARK}}} % $x^2$ & \\",
    "terminal": f"\x1b[31m{MARK}\x1b]0;t\x07\x9b2J",
    "direction": f"\u202e{MARK}\u2066\u200f",
    "markdown": f"{MARK} | [x](javascript:{MARK}) **b** <u>",
    "long": MARK + "x" * 1_000_000,
    "variable": f"var(--{MARK})",
    "vega": f"{MARK} datum.value; toString.constructor('alert(1)')()",
}


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts = self.images = 0
        self.attributes: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.images += tag == "img"
        self.attributes += [name for name, _ in attrs]


OFTEN = ("markup", "formula", "latex", "terminal", "markdown", "vega")
"""Texts of which each is a danger to another format."""


@pytest.fixture(
    params=[
        pytest.param(text, id=kind, marks=[pytest.mark.slow] * (kind not in OFTEN))
        for kind, text in TEXTS.items()
    ],
    scope="module",
)
def nasty(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(nasty: str, make_run: Callable[..., Any]) -> Path:
    return report.write(make_run(nasty, nasty, name=nasty, level=nasty), figures=len(nasty) < 1000).parent


def test_the_page_and_the_files_hold_the_text_and_nothing_of_it_is_live(folder: Path, nasty: str) -> None:
    html = (folder / "index.html").read_text(encoding="utf-8")
    tags = Tags(html)
    assert MARK in html
    assert tags.scripts == 2
    assert not [name for name in tags.attributes if name.startswith("on")]
    assert "49" + "{%" not in html
    assert len(html) < 3_000_000
    for section in ("missing", "judges", "published", "cost"):
        assert MARK in html.partition(f'<section id="{section}"')[2].partition("</section>")[0], section
    for path in folder.rglob("*"):
        if path.suffix in (".html", ".csv", ".md", ".tex", ".svg"):
            text = path.read_text(encoding="utf-8")
            if path.suffix != ".html":
                assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2066\u200f]", text), path.name
        if path.suffix == ".svg":
            assert Tags(text).scripts == 0
            assert Tags(text).images == 0
            assert not [a for a in Tags(text).attributes if a.startswith("on")]


def test_csv_cells_are_no_formulas(folder: Path) -> None:
    for path in (folder / "tables").glob("*.csv"):
        for column in pl.read_csv(path, infer_schema=False):
            assert not [v for v in column if v and v[0] in "=+@\t\r"], path.name


def test_latex_tables_run_no_command_of_the_text(folder: Path) -> None:
    for path in (folder / "tables").glob("*.tex"):
        text = path.read_text(encoding="utf-8")
        assert "\\input" not in text
        assert not re.search(r"(?<!\\)[$#](?!-\$)", text.replace("$-$", "")), path.name


def test_markdown_tables_keep_their_columns(folder: Path) -> None:
    for path in (folder / "tables").glob("*.md"):
        rows = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1, path.name


def test_the_sentences_of_a_terminal_are_inert(nasty: str, make_run: Callable[..., Any]) -> None:
    head = report.headline(make_run(nasty, nasty, name=nasty, level=nasty))
    for line in (*head["missing"]["items"], *(line for s in head["sections"] for line in s["sentences"])):
        shown = report.escape.terminal(line)
        assert MARK in line
        assert len(shown) < 400
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202e\u2066\u200f]", shown)


def test_parquet_holds_the_text_untouched(nasty: str, folder: Path) -> None:
    assert pl.read_parquet(folder / "tables" / "findings.parquet")["sentence"].to_list() == [nasty]


def test_only_colours_of_a_chart_are_variables(tmp_path: Path) -> None:
    names = ["var(--evil)", "var(--ink)"]
    colour = {"field": "color", "legend": {"title": names[1]}, "scale": {"domain": names, "range": names[1:]}}
    spec = {
        "data": {"values": [{"color": name, "text": f"{name} {MARK}"} for name in names]},
        "title": names[1],
        "mark": {"type": "text", "stroke": "var(--paper)"},
        "encoding": {"y": {"field": "color"}, "text": {"field": "text"}, "color": colour},
    }
    drawn = DrawnFigures(tmp_path / "run")
    write_figures([], {"chart": spec}, Exports(tmp_path), style=asset("style.css"), drawn=drawn)
    drawn = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", drawn)
    assert sorted(shown) == sorted(
        [*names * 2, "color", *[f"{name} {MARK}" for name in names], *names[1:] * 2]
    )
    painted = re.findall(r'(?:fill|stroke)="([^"]*)"', drawn)
    assert not [value for value in painted if value.startswith("var(")]
    assert "#1c1c1a" in painted
