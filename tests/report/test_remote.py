"""A run made with model servers: what is missing, its cost, judges, published figures, definitions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.report.made_up_remote import DEAD, DISCOVERED, make_remote

from stereotrope import report
from stereotrope.measure import measure_words
from stereotrope.report.figures import MOST_FIGURES, figures_of
from stereotrope.report.material import Material
from stereotrope.report.prose import Prose
from stereotrope.report.sections.distributions import distributions
from stereotrope.report.sections.methods import cost_blocks, judge_cards
from stereotrope.report.sections.published import corrected_figures, published_beside
from stereotrope.report.series import Series

PROSE = Prose(measure_words())
PLACES = {"divergence": 0, "shares": 1, "other": 2}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return make_remote(tmp_path_factory.mktemp("remote"))


@pytest.fixture(scope="module")
def head(run: Any) -> Mapping[str, Any]:
    return report.headline(run)


@pytest.fixture(scope="module")
def page(run: Any) -> str:
    text = report.write(run, figures=False).read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", text)


def section(page: str, name: str) -> str:
    return re.sub("<[^>]+>", " ", page.partition(f'<section id="{name}"')[2].partition("</section>")[0])


def drawn(figure: Any) -> list[dict[str, Any]]:
    return [v for panel in figure.panels for v in panel.spec["data"]["values"]]


def test_a_dead_model_is_named_first_and_counted_as_asked(head: Mapping[str, Any], page: str) -> None:
    dead = (
        "gpt-image-1: 100 of 100 pictures were not made: HTTP 401: Incorrect API key provided; set "
        "OPENAI_API_KEY."
    )
    assert head["missing"]["items"][0] == dead
    assert head["summary"].startswith(
        "400 pictures asked of 4 models under 10 conditions; 100 were not made, 296"
    )
    assert DEAD in head["asked"][0]["text"]
    assert dead in section(page, "missing")
    assert section(page, "missing").index(dead) < section(page, "missing").index("were refused by a model")


def test_nothing_is_missing_is_not_said_where_a_stage_did_not_finish(run: Any) -> None:
    images = run.images.with_columns(status=pl.lit("ok"))
    labels = run.labels.filter(pl.col("status") == "ok")
    whole = replace(run, images=images, labels=labels)
    assert not report.headline(whole)["missing"]["sentence"].startswith("Nothing is missing")
    done = replace(whole, info=run.info | {"missing": []})
    assert report.headline(done)["missing"]["sentence"].startswith("Nothing is missing: all 300 pictures")


def test_a_run_of_which_no_picture_was_made_has_a_page(run: Any, tmp_path: Path) -> None:
    none = replace(
        run, images=run.images.clear(), labels=run.labels.clear(), estimates=run.estimates.clear(),
        findings=run.findings.clear(),
    )  # fmt: skip
    text = report.write(none, out=tmp_path, figures=False).read_text(encoding="utf-8")
    assert "No picture was made." in text
    assert "100 of 100 pictures were not made" in text


def test_cost_is_a_sum_of_what_is_known_and_unknown_is_not_0(
    head: Mapping[str, Any], run: Any, page: str
) -> None:
    (cost,) = [s for s in head["sections"] if s["id"] == "cost"]
    (sentence,) = cost["sentences"]
    assert sentence == (
        "1540 calls went to 5 models. They cost at least $13.60. The price of 100 calls is unknown "
        "(vllm:sdxl); unknown is not 0. Of 2 calls nothing came back before the program was stopped; "
        "they may have been charged."
    )
    _, table, _ = cost_blocks(Material(run), None)
    rows = {row[0].text: [cell.text for cell in row] for row in table.content.rows}
    assert rows["vllm:sdxl"][-1] == "unknown"
    assert rows["google:imagen-4.0-generate-001"][-1] == "≥ $3.84"
    assert rows["openai:gpt-4o"][2:] == [
        "1204", "1180", "3", "21", "0", "1\u202f310\u202f221", "98\u202f412", "–", "$4.26",
    ]  # fmt: skip
    assert sentence in section(page, "cost")


def test_an_offline_run_has_no_section_on_cost(objects_run: Any, objects_report: Path) -> None:
    assert cost_blocks(Material(objects_run), None) == []
    text = objects_report.read_text(encoding="utf-8")
    assert 'id="cost"' not in text
    assert 'id="judges"' not in text
    assert 'id="published"' not in text


def test_a_run_without_any_known_price_names_no_sum(run: Any) -> None:
    unknown = run.spending.filter(pl.col("model") == "sdxl")
    text, *_ = cost_blocks(Material(replace(run, spending=unknown)), None)
    assert text.content == [
        "100 calls went to 1 model. Of no call the price is known (vllm:sdxl); unknown is not 0."
    ]


def test_unfit_judges_come_first_with_their_failed_checks_first(run: Any, page: str) -> None:
    unfit, fit = judge_cards(Material(run))
    assert (unfit["state"], fit["state"]) == ("unfit", "fit")
    assert [row[2].text for row in unfit["table"].rows] == ["fails"] * 10
    assert [cell.text for cell in fit["table"].rows[0]] == [
        "accuracy", "product colour", "keeps", "0.970 [0.950, 1.000]", "at least 0.900", "160",
    ]  # fmt: skip
    text = section(page, "judges")
    assert "gemini-2.5-flash: unfit" in text
    assert text.index("gemini") < text.index("gpt-4o")


def test_a_judge_without_enough_evidence_is_neither_and_an_undefined_check_says_why(run: Any) -> None:
    row = {"check": "accuracy", "attribute": "eye_style", "value": None, "n": 0, "verdict": "insufficient"}
    card = {
        "annotator": "j",
        "fit": None,
        "sentence": "",
        "checked_on": "",
        "rows": [row | {"reason": "no label"}],
    }
    (made,) = judge_cards(Material(replace(run, info=run.info | {"judge_cards": [card]})))
    assert made["state"] == "not enough evidence"
    assert made["table"].rows[0][3].text == "not defined: no label"


def test_published_figures_stand_beside_equal_definitions_only(run: Any, page: str) -> None:
    (figure,), notes = published_beside(Material(run))
    assert figure.prose.unit == "distance in nats, 0 to 0.83"
    assert figure.table.total == 16
    values = drawn(figure)
    assert {v["series"] for v in values} == {"this run", "published"}
    assert not [v for v in values if v["series"] == "published" and "low" in v]
    assert figure.panels[0].title == "imagen-4 · car"
    other, elsewhere = notes
    assert "follow the definition “released”, this run “paper”" in other
    assert "are of other conditions than the scores of this run" in elsewhere
    assert "another annotator all lie between the two" in section(page, "published")


def test_a_published_figure_of_a_measure_the_run_has_not_is_not_mentioned(run: Any) -> None:
    row = {"measure": "never_measured", "definition": "paper", "value": 0.1, "source": "x"}
    assert published_beside(Material(replace(run, info=run.info | {"published": [row]}))) == ([], [])


def test_what_a_published_table_need_not_say_is_no_difference(run: Any) -> None:
    (row, *_) = run.info["published"]
    bare = {k: v for k, v in row.items() if k != "dimension"}
    (figure,), _ = published_beside(Material(replace(run, info=run.info | {"published": [bare]})))
    assert figure.table.total == 1
    named = bare | {"phrasing": "targeted at"}
    assert not published_beside(Material(replace(run, info=run.info | {"published": [named]})))[0]


def test_scores_without_a_column_of_the_dimension_are_found(run: Any) -> None:
    material = Material(replace(run, estimates=run.estimates.drop("dimension")))
    assert published_beside(material)[0][0].table.total == 16


def test_a_mean_over_all_is_not_taken_for_one_of_its_parts(run: Any) -> None:
    change = run.estimates.filter(measure="cds_change")
    parts = [change, change.with_columns(dimension=pl.lit("age"), value=pl.lit(0.9))]
    row = {"measure": "cds_change", "definition": "paper", "attribute": "all", "mitigation": "no stereotypes"}
    info = run.info | {"published": [row | {"value": -0.309, "source": "Table 5"}]}
    for order in (parts, parts[::-1]):
        (figure,), _ = published_beside(Material(replace(run, estimates=pl.concat(order), info=info)))
        assert [cell.text for cell in figure.table.rows[0][:2]] == ["−0.20 [−0.45, 0.20]", "−0.309"]


def test_corrected_shares_stand_beside_shares_as_labelled(run: Any, page: str) -> None:
    (figure,) = corrected_figures(Material(run))
    assert figure.title.endswith("text presence, present")
    values = drawn(figure)
    assert {v["series"] for v in values} == {"corrected", "as labelled"}
    assert len(values) == 30
    assert figure.table.columns[-4:] == ["corrected [interval]", "as labelled [interval]", "n", "pictures"]
    assert 'id="figure-raw_share' not in page


KEPT = Series("bds", "without_violations")


def test_a_series_says_what_a_score_was_made_of(run: Any) -> None:
    both = PROSE.explain(replace(KEPT, mean=True))
    assert both.short == "Baseline divergence (BDS), without violations, average"
    assert both.section == PROSE.explain("bds").section
    assert "break their prompt" in PROSE.explain(replace(KEPT, measure="vac")).definition
    assert PROSE.explain(replace(KEPT, measure="odd")).short == "odd without violations"
    mean = Series("bds", mean=True)
    ordered = [Series("bds"), mean, KEPT, replace(KEPT, mean=True), Series("cds")]
    assert PROSE.in_order([ordered[i] for i in (3, 4, 2, 1, 0)], PLACES) == ordered
    assert ordered[3].name == "bds_without_violations_average"


def test_no_chart_or_table_mixes_series_or_definitions(run: Any) -> None:
    material = Material(run)
    for series in (Series("bds"), Series("bds", mean=True), KEPT, replace(KEPT, mean=True)):
        rows = series.rows(run.estimates)
        for figure in figures_of(material, series):
            names = rows["definition"].unique().to_list()
            assert figure.prose.name == series.name
            assert any(f"({name})" in figure.title for name in names) == (len(names) > 1)
            of = [n for n in names if f"({n})" in figure.title] or names
            assert figure.table.total <= rows.filter(pl.col("definition").is_in(of)).height
    units = {f.prose.unit for f in figures_of(material, Series("bds"))}
    assert units == {"bits, 0 to 1", "distance in nats, 0 to 0.83"}


def test_the_headline_has_one_table_a_definition(head: Mapping[str, Any]) -> None:
    tables = {(t["name"], t["follows"]): t for t in head["tables"]}
    assert tables["bds", "released"]["title"] == "Baseline divergence (BDS) (released)"
    assert (
        tables["bds_without_violations", "paper"]["title"] == "Baseline divergence (BDS), without violations"
    )
    for (_, follows), table in tables.items():
        assert {e["definition"] for e in table["estimates"]} == {follows}
    assert json.loads(json.dumps(head, allow_nan=False)) == head


def test_methods_explain_each_definition(page: str) -> None:
    text = section(page, "methods")
    assert "Baseline divergence (BDS) (paper)" in text
    assert (
        "BDS as the authors&#39; scripts compute it" in text
        or "BDS as the authors' scripts compute it" in text
    )


def test_attributes_of_each_model_and_object_have_strips_of_their_own(run: Any) -> None:
    made = {d.title: d for d in distributions(Material(run))}
    for (generator, thing), found in DISCOVERED.items():
        d = made[f"{generator} · {thing}"]
        assert set(d.attributes[4:]) == {a.replace("_", " ") for a in found}
        assert d.width * len(d.attributes) < 700
        assert not {"people present", "several products"} & set(d.attributes)


def test_of_very_many_attributes_the_most_shared_have_figures(run: Any) -> None:
    figures = figures_of(Material(run), Series("share"))
    assert len(figures) == MOST_FIGURES
    assert "3 further attributes have no figure of their own" in figures[-1].notes[-1]
    single = next(f for f in figures if "wheel rim style" in f.title)
    assert single.title.endswith("wheel rim style (imagen-4, car)")


def test_a_test_by_ranks_of_the_same_change_is_not_drawn_twice(run: Any) -> None:
    (figure,) = figures_of(Material(run), Series("cds_change_wilcoxon"))
    assert figure.panels == []
    assert any("only the test differs" in note for note in figure.notes)
