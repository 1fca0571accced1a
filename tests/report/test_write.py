from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stereotrope as st
from stereotrope import report

VOID = {"meta", "img", "input", "br", "rect"}


class Reader(HTMLParser):
    """Tags with their attributes, the headings, and whether every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.texts))


@pytest.fixture(scope="module")
def page(objects_report: Path) -> Reader:
    return Reader(objects_report.read_text(encoding="utf-8"))


def test_every_element_is_closed(page: Reader) -> None:
    assert page.open == []


def test_nothing_is_loaded_from_elsewhere(page: Reader) -> None:
    for tag, attributes in page.tags:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            target = attributes.get(name)
            assert target is None or target.startswith(("#", "data:image/webp;base64,")), (tag, name, target)
    assert not [tag for tag, _ in page.tags if tag in ("link", "iframe", "object", "embed", "base", "form")]


def test_the_content_security_policy_allows_two_hashes_and_data_pictures(page: Reader) -> None:
    policies = [
        a["content"] for t, a in page.tags if t == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert len(policies) == 1
    rules = dict(part.strip().split(" ", 1) for part in str(policies[0]).split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rules["script-src"])
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rules["style-src"])


def test_no_inline_handler_or_style(page: Reader) -> None:
    assert not [
        (t, a) for t, attributes in page.tags for a in attributes if a.startswith("on") or a == "style"
    ]


def test_headings_do_not_skip_a_level(page: Reader) -> None:
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


def test_links_lead_to_something(page: Reader) -> None:
    ids = [a["id"] for _, a in page.tags if a.get("id")]
    assert len(ids) == len(set(ids))
    assert {a["href"] for t, a in page.tags if t == "a"} <= {f"#{i}" for i in ids}


def test_pictures_and_charts_have_words(page: Reader) -> None:
    assert all(a.get("alt") for t, a in page.tags if t == "img")
    assert all(a.get("aria-label") for _, a in page.tags if a.get("role") == "img")
    assert all(a.get("scope") for t, a in page.tags if t == "th")


def test_every_measure_has_a_figure_and_a_table(objects_run: Any, page: Reader, tmp_path: Path) -> None:
    folder = report.write(objects_run, out=tmp_path).parent
    figures = {a["id"] for _, a in page.tags if (a.get("id") or "").startswith("figure-")}
    for measure in objects_run.estimates["measure"].unique():
        assert [f for f in figures if str(f).startswith(f"figure-{measure}")], measure
        for ending in ("csv", "md", "tex", "parquet"):
            assert (folder / "tables" / f"{measure}.{ending}").stat().st_size > 0
        assert list((folder / "figures").glob(f"{measure}*.svg"))
        assert list((folder / "figures").glob(f"{measure}*.png"))


def test_a_finding_of_the_first_screen_is_not_told_again_below(page: Reader, objects_run: Any) -> None:
    first = objects_run.findings.sort("rank")["sentence"][0]
    assert page.text.count(" ".join(first.split())) == 1


def test_a_measure_without_words_of_its_own_is_shown(make_run: Callable[..., Any], tmp_path: Path) -> None:
    run = make_run()
    run.estimates = run.estimates.with_columns(measure=pl.lit("newly_invented"))
    page = Reader(report.write(run, out=tmp_path / "r", figures=False).read_text(encoding="utf-8"))
    assert "Newly invented" in page.text
    assert "0.40 [0.30, 0.50]" in page.text


def test_undefined_is_said_with_its_reason_and_never_a_number(objects_run: Any, page: Reader) -> None:
    undefined = objects_run.estimates.filter(pl.col("value").is_null())
    assert undefined.height == 2
    assert page.text.count("not defined: only one value was seen in both conditions") >= undefined.height


def test_files_of_others_stay_where_a_report_is_to_be_written(
    make_run: Callable[..., Any], tmp_path: Path
) -> None:
    mine = tmp_path / "site" / "figures" / "index.html"
    mine.parent.mkdir(parents=True)
    mine.write_text("<html>mine")
    for name in (mine.parent, tmp_path / "site"):
        with pytest.raises(
            st.errors.RunError, match=r"must be empty, or a report .*found 'index.html' in it;"
        ):
            report.write(make_run(), out=name, figures=False)
    assert [path for path in (tmp_path / "site").rglob("*") if path.is_file()] == [mine]
    mine.rename(tmp_path / "site" / ".tmp-0-index.html")  # as a killed report leaves it
    for _ in range(2):
        report.write(make_run(), out=tmp_path / "site", figures=False)


def test_an_estimate_without_value_stays_empty_in_the_files(objects_report: Path) -> None:
    frame = pl.read_csv(objects_report.parent / "tables" / "bds.csv")
    assert frame.filter(pl.col("undefined").is_not_null())["value"].null_count() == 2


def test_missing_comes_before_the_first_score(page: Reader) -> None:
    ids = [a["id"] for t, a in page.tags if t == "section"]
    assert ids[:3] == ["findings", "missing", "divergence"]
    assert "3 of 240 requests were refused by a model" in page.text


def test_the_words_on_people_are_there_and_no_promise_is_made(page: Reader, people_report: Path) -> None:
    for text in (page.text, Reader(people_report.read_text(encoding="utf-8")).text):
        assert "never identity" in text
        assert not re.search(r"\b(fair|unbiased|compliant|debiased)\b", text, re.IGNORECASE)


def test_the_same_run_gives_the_same_bytes(make_run: Callable[..., Any], tmp_path: Path) -> None:
    folders = [report.write(make_run(), out=tmp_path / name).parent for name in ("a", "b")]
    files = [{p.relative_to(f): p.read_bytes() for p in f.rglob("*") if p.is_file()} for f in folders]
    assert files[0] == files[1]
    assert len(files[0]) > 10


def test_an_earlier_report_leaves_nothing_behind_in_the_run_folder(make_run: Callable[..., Any]) -> None:
    run = make_run()
    index = report.write(run, figures=False)
    stale = index.parent / "tables" / "vac.csv"
    stale.write_text("old")
    foreign = index.parent / "tables" / "notes.txt"
    foreign.write_text("mine")
    assert report.write(run, figures=False) == index
    assert not stale.exists()
    assert foreign.exists()


def test_a_run_without_estimates_or_findings_has_a_page(objects_run: Any, tmp_path: Path) -> None:
    run = replace(objects_run, estimates=objects_run.estimates.clear(), findings=objects_run.findings.clear())
    page = Reader(report.write(run, out=tmp_path, figures=False).read_text(encoding="utf-8"))
    assert "The measures of this audit compare nothing, so that no difference was looked for" in page.text


def test_a_run_whose_every_request_was_refused_has_a_page(
    make_run: Callable[..., Any], tmp_path: Path
) -> None:
    run = make_run()
    run.images = run.images.with_columns(status=pl.lit("refused"), reason=pl.lit("no"))
    run.labels = run.labels.clear()
    page = Reader(report.write(run, out=tmp_path, figures=False).read_text(encoding="utf-8"))
    assert "4 of 4 requests were refused" in page.text


def test_sensitive_pictures_are_blurred_until_asked_for(people_report: Path) -> None:
    text = people_report.read_text(encoding="utf-8")
    page = Reader(text)
    assert ("body", {"class": "sensitive"}) in page.tags
    assert [
        a for t, a in page.tags if t == "input" and a.get("type") == "checkbox" and a["id"] == "show-pictures"
    ]
    assert ".sensitive img { filter: blur" in text


def test_pictures_beyond_the_budget_are_left_out_and_said(objects_run: Any, tmp_path: Path) -> None:
    index = report.write(objects_run, out=tmp_path, figures=False, budget=60_000)
    page = Reader(index.read_text(encoding="utf-8"))
    shown = [a["src"] for t, a in page.tags if t == "img"]
    assert sum(len(str(s)) for s in set(shown)) <= 60_000
    assert "the first of every condition before any further one" in page.text


def test_a_torn_picture_is_said_and_does_not_stop_the_report(
    make_run: Callable[..., Any], tmp_path: Path
) -> None:
    run = make_run()
    run.pictures = {image: data[:60] for image, data in run.pictures.items()}
    page = Reader(report.write(run, out=tmp_path, figures=False).read_text(encoding="utf-8"))
    assert "this picture can no longer be read" in page.text


@pytest.mark.parametrize("n", [1, 4])
def test_lost_pictures_are_counted_apart_from_refused_requests(
    make_run: Callable[..., Any], tmp_path: Path, n: int
) -> None:
    run = make_run(missing=[], notes=[])
    run.images = run.images.with_columns(status=pl.lit("ok"), reason=pl.lit(None, pl.String))
    kept = next(iter(run.pictures.values()))
    ids = run.images["image_id"].to_list()
    run.pictures = dict.fromkeys(ids, kept)
    said: list[str] = []
    whole = Reader(report.write(run, out=tmp_path / "a", say=said.append).read_text(encoding="utf-8"))
    assert "Nothing is missing: all 4 pictures could be used" in whole.text
    assert said == []
    run.pictures |= dict.fromkeys(ids[:n], kept[:60])
    page = Reader(report.write(run, out=tmp_path / "b", say=said.append).read_text(encoding="utf-8"))
    assert said[0].startswith(f"{n} of 4 pictures that were looked at can no longer be read: lost")
    assert said[0] in page.text
    assert "Nothing is missing" not in page.text
    assert "All 4 pictures could be used" in page.text


def test_labels_of_two_annotators_stand_side_by_side(objects_run: Any, tmp_path: Path) -> None:
    again = objects_run.labels.filter(pl.col("attribute") == "text_presence").with_columns(
        annotator=pl.lit("rater")
    )
    run = replace(objects_run, labels=pl.concat([objects_run.labels, again]))
    page = Reader(report.write(run, out=tmp_path, figures=False).read_text(encoding="utf-8"))
    assert "text presence (rater)" in page.text
    assert "text presence (text)" in page.text


def test_labels_with_characters_beyond_the_basic_plane_are_drawn(objects_run: Any, tmp_path: Path) -> None:
    long = "x" + "\N{SLIGHTLY SMILING FACE}" * 50
    labels = objects_run.labels.with_columns(
        value=pl.when(pl.col("value").is_not_null()).then(pl.lit(long)).otherwise(None)
    )
    estimates = objects_run.estimates.with_columns(
        category=pl.when(pl.col("category").is_not_null()).then(pl.lit(long)).otherwise(None)
    )
    page = report.write(replace(objects_run, labels=labels, estimates=estimates), out=tmp_path)
    assert long in page.read_text(encoding="utf-8")
    assert list((tmp_path / "figures").glob("*.svg"))


def test_methods_that_differ_in_a_count_alone_are_told_once(make_run: Any, tmp_path: Path) -> None:
    from tests.report.sections.captions.made_up_captions import row

    from stereotrope.measure.estimates import estimate_frame

    ways = {
        "n_categories": "groups declared; interval: Wilson",
        "numerator": "term hits; interval: bootstrap",
    }
    run = make_run()
    rows = [
        row("cas", 0.5, generator="m", method=way, **{column: i})
        for column, way in ways.items()
        for i in range(6)
    ]
    run = replace(run, estimates=estimate_frame(rows, factors=["generator"]))
    told = re.findall(
        "Intervals and tests: ([^<]*)<",
        report.write(run, out=tmp_path / "r", figures=False).read_text("utf-8"),
    )
    assert told == ["groups declared; interval: Wilson; or term hits; interval: bootstrap."]
