"""The section of ratios over scenarios: what it says, where, and that it says it once."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.report.made_up import FakeRun
from tests.report.sections.scenarios.made_up_scenarios import (
    CALLS,
    FACTORS,
    MODELS,
    N,
    derived,
    make_scenarios,
    ratio_row,
    ratio_rows,
)
from tests.report.test_injection import MARK, TEXTS, Tags

from stereotrope import measure, report
from stereotrope.measure.estimates import estimate_frame
from stereotrope.report.material import Material
from stereotrope.report.sections.scenarios import beside
from stereotrope.report.sections.scenarios.clusters import cluster_line
from stereotrope.report.sections.scenarios.ends import named_figure
from stereotrope.report.sections.scenarios.further import further_lines
from stereotrope.report.sections.scenarios.kept import kept_line
from stereotrope.report.sections.scenarios.ratios import Ratios
from stereotrope.report.sections.scenarios.shares import share_lines
from stereotrope.report.sections.scenarios.spread import Binned, sentences, spread_figure


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    return make_scenarios(tmp_path_factory.mktemp("scenarios"))


@pytest.fixture(scope="module")
def page(run: FakeRun) -> str:
    return report.write(run, figures=False).read_text(encoding="utf-8")


def section(page: str) -> str:
    return page.partition('<section id="scenarios"')[2].partition("</section>")[0]


def shown(run: FakeRun, out: Path) -> str:
    return section(report.write(run, out=out, figures=False).read_text(encoding="utf-8"))


def charts(page: str) -> dict[str, Any]:
    told = re.search(r'<script type="application/json" id="charts">(.*?)</script>', page, re.DOTALL)
    assert told is not None
    return dict(json.loads(told[1])["charts"])


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ([0.0, 0.05, 0.1, 1.0], [3, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        ([0.3, 0.31, 0.69, 0.7], [0, 0, 1, 1, 0, 0, 1, 1, 0, 0]),
        ([0.5, 0.5, 0.5], [0, 0, 0, 0, 1.5, 1.5, 0, 0, 0, 0]),
        ([], [0] * 10),
    ],
)
def test_what_lies_on_an_edge_counts_to_the_bin_farther_out(values: list[float], counts: list[float]) -> None:
    assert Binned.of(pl.Series(values, dtype=pl.Float64), 0.0, 1.0, 10).counts == counts


def test_bars_beyond_the_thresholds_hold_as_many_scenarios_as_are_dominated(run: FakeRun) -> None:
    material = Material(run)
    (ratios,) = Ratios.of(material)
    for cell in ratios.cells:
        counts = Binned.of(cell.shown["value"], 0.0, 1.0, 10).counts
        stored = {
            ratios.part_of(r): r["numerator"]
            for r in ratios.stored("dominated").iter_rows(named=True)
            if (r["generator"], r["prompt_group"]) == (cell.line, cell.group)
        }
        assert (sum(counts[:3]), sum(counts[7:])) == (stored["at most 0.3"], stored["at least 0.7"])


def test_a_group_is_a_panel_and_a_model_a_line(run: FakeRun) -> None:
    (ratios,) = Ratios.of(Material(run))
    figure = spread_figure(ratios)
    assert [panel.title for panel in figure.panels] == ["activities", "occupations"]
    for panel in figure.panels:
        axis = panel.spec["layer"][0]["encoding"]["y"]["axis"]["labelExpr"]
        assert json.loads(axis.partition("]")[0] + "]") == list(MODELS)
    heights = [r["height"] for panel in figure.panels for r in panel.spec["data"]["values"] if "height" in r]
    assert max(heights) == 1
    assert figure.table.total == len(MODELS) * 2


def test_the_alternative_text_says_the_mean_and_both_counts(run: FakeRun) -> None:
    (ratios,) = Ratios.of(Material(run))
    alt = spread_figure(ratios).panels[0].alt
    assert "model-a: mean 0.50 [0.26, 0.74] of 9 scenarios, 3 (2 for certain) at most 0.3" in alt


def test_a_sentence_a_model_adds_up_its_groups(run: FakeRun) -> None:
    (ratios,) = Ratios.of(Material(run))
    told = sentences(ratios)
    assert [line.partition(":")[0] for line in told] == list(MODELS)
    said = (
        "of 18 scenarios 5 have at least 0.7 of their counted pictures labelled female (3 for certain) and 7"
    )
    assert said in told[0]
    assert "left out" not in told[0]


def test_a_single_group_is_told_with_its_interval(tmp_path: Path) -> None:
    run = make_scenarios(tmp_path, models=["m"], groups=["activities"])
    (line,) = report.headline(run)["sections"][0]["sentences"]
    assert re.search(r"labelled female \(share 0\.\d\d \[0\.\d\d, 0\.\d\d\], 2 for certain\)", line)


def test_the_headline_has_a_row_a_model_and_group_with_intervals(run: FakeRun) -> None:
    told = next(s for s in report.headline(run)["sections"] if s["id"] == "scenarios")
    table, ends = told["tables"]
    assert ends["columns"] == ["model", "scenario", "ratio [interval]", "n"]
    assert len(ends["rows"]) == 3 * 4
    assert len(table["rows"]) == 6
    assert table["columns"][:2] == ["model", "group"]
    assert all("[" in text for text in table["rows"][0][2:4])
    assert {row["measure"] for row in table["estimates"]} == {"dominated", "dominated_at_least"}


def test_scenarios_of_too_few_labels_are_not_drawn_but_counted(tmp_path: Path) -> None:
    of = {"generator": "m", "prompt_group": "activities"}
    rows = [
        ratio_row({**of, "scenario": "scenario 0 (activities)"}, 10),
        ratio_row({**of, "scenario": "scenario 1 (activities)"}, 2, 4, left=36),
        ratio_row({**of, "scenario": "scenario 2 (activities)"}, None, left=40),
    ]
    run = make_scenarios(tmp_path, models=["m"], groups=["activities"], rows=rows)
    told = shown(run, tmp_path / "out")
    few = "with a definite label of less than 50% of the pictures"
    notes = ["Not defined: 1 of 3 ratios: no usable label (1).", f"Not shown: 1 of 3 ratios, {few}."]
    assert all(note in told for note in notes)
    (table,) = [t for s in report.headline(run)["sections"] for t in s["tables"] if t["what"] == "ends"]
    assert (len(table["rows"]), table["notes"]) == (1, notes)
    assert "2 scenarios left out (1 a definite label of less than 50% of the pictures and 1 no share)" in told


def test_counts_of_other_scenarios_than_the_bars_are_told(tmp_path: Path) -> None:
    of = {"generator": "m", "prompt_group": "activities"}
    rows = [ratio_row({**of, "scenario": f"scenario {i} (activities)"}, 2, 4, left=36 * i) for i in (0, 1)]
    ratios = estimate_frame(rows, factors=list(FACTORS))
    counted = measure.dominated(ratios, within=["generator", "prompt_group"], kept=0.0)
    estimates = pl.concat([ratios, counted], how="diagonal")
    run = make_scenarios(tmp_path, models=["m"], groups=["activities"], estimates=estimates)
    assert "of other scenarios than the bars in 1 line" in shown(run, tmp_path / "out")


def test_every_line_waits_once_and_nothing_is_drawn_twice(page: str) -> None:
    told = section(page)
    summaries = re.findall(r'<details class="further"><summary>(.*?)</summary>', told)
    assert summaries == [
        "How the ratios of the scenarios are spread",
        "Beside the reference: which majorities grow",
        "Clusters of scenarios at both ends",
        "Agreement between models",
        "Which model shows it more often than the others",
        "How even the ratios are",
        "How far ratios change between two settings",
        "What the wording of the subject does",
        "How many pictures a ratio needs",
    ]
    elsewhere = re.findall(r'id="(figure-[^"]+)"', page.replace(told, ""))
    assert elsewhere == []


def test_a_measure_with_rows_that_are_not_shown_here_is_drawn_elsewhere_too(tmp_path: Path) -> None:
    ratios = estimate_frame(ratio_rows(MODELS, ["activities"], ["a", "b", "c"]), factors=list(FACTORS))
    varied = ratios.filter(pl.col("variation").is_not_null())
    other = measure.ratio_entropy(varied, within=["generator", "prompt_group", "variation"])
    run = make_scenarios(
        tmp_path, groups=["activities"], estimates=pl.concat([derived(ratios), other], how="diagonal")
    )
    page = report.write(run, figures=False).read_text(encoding="utf-8")
    assert 'id="figure-ratio_entropy' in page.replace(section(page), "")


def test_amplified_and_reduced_scenarios_stand_in_a_table_with_their_test(page: str) -> None:
    told = section(page)
    head = re.search(r"<tr>(?:(?!</tr>).)*>reduced<(?:(?!</tr>).)*</tr>", told)
    assert head is not None
    columns = re.findall(r"<th[^>]*>([^<]*)</th>", head[0])
    assert columns[2:6] == ["female in the reference", "amplified", "reduced", "share amplified [interval]"]
    assert columns[-4:] == ["p", "q", "n", "left out"]


def test_charts_hold_bins_not_scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "_MOST_TICKS", 50)
    many = [f"s{i}" for i in range(101)]
    ratios = estimate_frame(
        [r for r in ratio_rows(MODELS, ["activities"], many) if "variation" not in r], factors=list(FACTORS)
    )
    run = make_scenarios(tmp_path, groups=["activities"], scenarios=many, estimates=derived(ratios))
    page = report.write(run, figures=False).read_text(encoding="utf-8")
    mine = {name: c["values"] for name, c in charts(page).items() if name.startswith("chart-scenarios")}
    assert max(map(len, mine.values())) <= 3 * 23
    assert "The first 40 of 303 rows; all are in the file tables/female_ratio.csv." in section(page)


def test_the_files_hold_every_bin(run: FakeRun, page: str) -> None:
    bins = pl.read_parquet(run.path / "report" / "tables" / "scenario_histograms.parquet")
    assert bins.height == len(MODELS) * 2 * 10
    assert bins["scenarios"].sum() == len(MODELS) * 2 * 9


def test_changes_between_models_are_pairs_in_the_direction_that_is_stored(run: FakeRun) -> None:
    (ratios,) = Ratios.of(Material(run))
    (line,) = [one for one in further_lines(ratios) if one.title.startswith("How far ratios change")]
    signed, absolute = line.figures
    stored = run.estimates.filter(measure="ratio_change", prompt_group="activities")
    told = [(r["line"], r["column"], r["value"]) for r in signed.panels[0].spec["data"]["values"]]
    assert told == stored.select("generator", "reference", "value").rows()
    assert len(absolute.panels[0].spec["data"]["values"]) == 2 * stored.height
    assert absolute.notes[0].endswith("The numbers include the noise floor, which the table gives.")


def test_ratios_and_shares_of_all_pictures_wait_here_and_nowhere_else(tmp_path: Path) -> None:
    of = {"generator": "m", "prompt_group": "activities"}
    rows = [ratio_row({**of, "scenario": f"scenario {i} (activities)"}, 4 * i) for i in range(9)]
    whole = [ratio_row(of, 20)]
    told = {"measure": "share", "definition": "share", "attribute": "perceived_age", "n": N, "level": 0.95}
    shares = [{**of, **told, "category": age, "value": v} for age, v in (("20-29", 0.7), ("70+", 0.3))]
    single = [{**row, "scenario": "scenario 0 (activities)"} for row in shares]
    estimates = estimate_frame([*rows, *whole, *shares, *single], factors=list(FACTORS))
    run = make_scenarios(tmp_path, models=["m"], groups=["activities"], estimates=estimates)
    page = report.write(run, figures=False).read_text(encoding="utf-8")
    told_here = section(page)
    assert "<summary>Ratios of all pictures together</summary>" in told_here
    assert "<summary>Shares of labels: perceived age</summary>" in told_here
    assert "The scenarios with the largest share of each perceived age" in told_here
    assert not re.findall(r'id="figure-[^"]+"', page.replace(told_here, ""))


def test_clusters_stand_by_their_mean_over_all_models_with_spread_and_rank(run: FakeRun) -> None:
    (ratios,) = Ratios.of(Material(run))
    line = cluster_line(ratios)
    assert line is not None
    (figure,) = line.figures
    rows = figure.panels[0].spec["data"]["values"]
    stored = run.estimates.filter(
        pl.col("generator").is_null(), measure="cluster_ratio", prompt_group="activities"
    )
    order = stored.sort("value", descending=True)["cluster"].to_list()
    assert list(dict.fromkeys(row["line"] for row in rows)) == order
    assert {row["column"] for row in rows} == {"all models", *MODELS}
    assert all("±" in row["text"] for row in rows if "1 scenario" not in row["tip"].split(", ")[-1])
    assert figure.table.columns[3:6] == ["mean [interval]", "standard deviation", "rank [interval]"]
    assert figure.table.total == 2 * 5 * 4


def test_two_clusterings_have_a_figure_each(run: FakeRun) -> None:
    material = Material(run)
    other = material.estimates.filter(pl.col("measure").str.starts_with("cluster_"))
    topic = run.prompts.with_columns(chore_cluster="cluster")
    again = other.rename({"cluster": "chore_cluster"})
    run = replace(run, prompts=topic, estimates=pl.concat([run.estimates, again], how="diagonal"))
    (ratios,) = Ratios.of(Material(run))
    line = cluster_line(ratios)
    assert line is not None
    titles = [figure.title for figure in line.figures]
    assert [title.partition(" by ")[2] for title in titles] == ["cluster", "chore cluster"]
    assert len({figure.name for figure in line.figures}) == 2
    assert line.figures[0].table.rows == line.figures[1].table.rows


def test_of_many_clusters_the_ends_are_drawn(tmp_path: Path) -> None:
    many = [f"s{i}" for i in range(30)]
    ratios = estimate_frame(ratio_rows(["m"], ["activities"], many), factors=list(FACTORS))
    whole = ratios.filter(pl.col("variation").is_null())
    named = pl.DataFrame({"scenario": whole["scenario"], "cluster": [f"c{i // 2}" for i in range(30)]})
    both = [ratios, measure.cluster_ratio(whole, named, within=["prompt_group"])]
    run = make_scenarios(
        tmp_path,
        models=["m"],
        groups=["activities"],
        scenarios=many,
        estimates=pl.concat(both, how="diagonal"),
    )
    told = shown(run, tmp_path / "out")
    assert "Not drawn: 3 clusters between the ends; the table has them." in told


def test_the_stored_mean_is_marked_with_its_interval(run: FakeRun) -> None:
    (ratios,) = Ratios.of(Material(run))
    stored = run.estimates.filter(measure="mean_ratio", prompt_group="activities").sort("generator")
    marked = [r for r in spread_figure(ratios).panels[0].spec["data"]["values"] if "mean" in r]
    assert [r["mean"] for r in marked] == stored["value"].to_list()
    assert [(r["low"], r["high"]) for r in marked] == list(zip(stored["low"], stored["high"], strict=True))


@pytest.mark.parametrize("scenarios", [["only"], ["a", "b"]])
def test_one_model_one_group_and_few_scenarios_are_enough(tmp_path: Path, scenarios: list[str]) -> None:
    run = make_scenarios(tmp_path, models=["m"], groups=["activities"], scenarios=scenarios)
    told = shown(run, tmp_path / "out")
    assert 'id="chart-scenarios-1"' in told
    assert "Agreement between models" in told


def crossed(tmp_path: Path, models: tuple[str, ...] = ("m",)) -> FakeRun:
    """Ratios by job and instruction: every job is asked for with each, and nothing is called a scenario."""
    rows = [
        ratio_row({"generator": m, "instruction": how, "job": f"a person working as a job {i}"}, k, N - 4, 4)
        for m in models
        for i in range(5)
        for how, k in (("diverse", 18), ("plain", 8 * i))
    ]
    ratios = estimate_frame(
        [{**row, "excluded": {"several values": 3, "nothing clear": 1}} for row in rows],
        factors=["generator", "instruction", "job"],
    )
    within = ["generator", "instruction"]
    told = [ratios, measure.dominated(ratios, "job", within=within)]
    call = {"measure": "dominated", "on": "female_ratio", "over": "job", "within": within}
    run = make_scenarios(tmp_path, models=models, estimates=pl.concat(told, how="diagonal"), measures=[call])
    jobs = [
        (f"{i}-{how}", f"a person working as a job {i}", how, "t", None)
        for i in range(5)
        for how in ("plain", "diverse")
    ]
    columns = dict.fromkeys(("prompt_id", "job", "instruction", "text", "negative"), pl.String)
    run.prompts = pl.DataFrame(jobs, schema=columns, orient="row")
    run.images = run.images.head(10).with_columns(prompt_id=run.prompts["prompt_id"])
    return run


def test_what_crosses_scenarios_is_a_line_and_any_factor_may_tell_them_apart(tmp_path: Path) -> None:
    (ratios,) = Ratios.of(Material(crossed(tmp_path, ("a", "b"))))
    assert (ratios.over, ratios.groups, ratios.crossing) == ("job", [], ["instruction"])
    assert ratios.lines == ["a, plain", "a, diverse", "b, plain", "b, diverse"]
    assert [cell.shown.height for cell in ratios.cells] == [5, 5, 5, 5]
    assert {name.partition(":")[0] for name in sentences(ratios)} == set(ratios.lines)
    assert "(here each job)" in shown(crossed(tmp_path / "again"), tmp_path / "out")


def test_of_one_model_what_crosses_scenarios_names_the_lines(tmp_path: Path) -> None:
    (ratios,) = Ratios.of(Material(crossed(tmp_path)))
    assert ratios.lines == ["plain", "diverse"]
    tables = [t for s in report.headline(ratios.material.run)["sections"] for t in s["tables"]]
    assert {table["columns"][0] for table in tables} == {"condition"}


def test_a_small_study_shows_every_scenario_by_name_first(tmp_path: Path) -> None:
    run = crossed(tmp_path)
    told = shown(run, tmp_path / "out")
    assert told.index("labelled female in each scenario") < told.index(
        "How the ratios of the scenarios are spread"
    )
    (ratios,) = Ratios.of(Material(run))
    (panel,) = named_figure(ratios, []).panels
    assert panel.title == "a person working as a job …"
    rows = panel.spec["data"]["values"]
    assert [row["label"] for row in rows][::2] == ["4", "3", "2", "1", "0"]
    assert all("[" in row["text"] for row in rows)


def test_a_stroke_is_the_share_in_the_reference_which_is_named(run: FakeRun) -> None:
    (ratios,) = Ratios.of(Material(run))
    figure = named_figure(ratios, [])
    rows = figure.panels[0].spec["data"]["values"]
    stored = run.estimates.filter(measure="amplification", prompt_group="activities", generator="model-a")
    known = {r["scenario"]: r["value"] for r in stored.iter_rows(named=True)}
    assert len(known) == 9
    own = {r["label"]: r["mark"] - r["value"] for r in rows if r["series"] == "model-a"}
    assert own == {name: pytest.approx(gap, abs=1e-12) for name, gap in known.items()}
    assert "Source of the strokes: everyday gender, eq. 4; reference: a survey, 2022." in figure.notes
    assert figure.table.columns[-1] == "in the reference"


def test_pictures_that_do_not_count_are_told_by_reason(tmp_path: Path) -> None:
    (ratios,) = Ratios.of(Material(crossed(tmp_path)))
    line = kept_line(ratios)
    assert line is not None
    (figure,) = line.figures
    assert figure.n == "400 pictures"
    assert "not random" in figure.reads
    pieces = [p for p in figure.panels[0].spec["data"]["values"] if "group" in p]
    assert [(p["group"], p["text"]) for p in pieces[:3]] == [
        ("counted", "0.90"),
        ("several values", "0.07"),
        ("nothing clear", "0.03"),
    ]
    assert figure.table.columns == [
        "condition",
        "pictures",
        "counted",
        "several values",
        "nothing clear",
        "scenarios",
        "not drawn",
    ]


def test_where_nothing_was_compared_the_first_screen_says_what_was_measured(run: FakeRun, page: str) -> None:
    first = page.partition('<section id="findings"')[2].partition("</section>")[0]
    (ratios,) = Ratios.of(Material(run))
    assert '<a href="#scenarios">Whom the models draw' in first
    assert all(line.partition(" (")[0] in first for line in sentences(ratios))
    assert "<p>model-a: of 18" not in section(page)


def test_no_measure_over_scenarios_no_section(tmp_path: Path) -> None:
    rows = [ratio_row({"generator": "m", "scenario": f"scenario {i} (activities)"}, 4 * i) for i in range(9)]
    ratios = estimate_frame(rows, factors=["generator", "scenario"])
    run = make_scenarios(tmp_path, models=["m"], groups=["activities"], estimates=ratios, measures=[])
    assert shown(run, tmp_path / "out") == ""


def test_shares_of_other_labels_stand_by_model_and_by_the_scenarios_that_show_most(tmp_path: Path) -> None:
    races = ("A", "B", "C")
    told = {"measure": "share", "definition": "share", "attribute": "perceived_race", "n": N, "level": 0.95}
    ends = {"low": 0.1, "high": 0.4}
    by_model = [{**told, **ends, "generator": m, "category": r, "value": 0.3} for m in MODELS for r in races]
    single = [
        {**told, "generator": m, "prompt_group": "activities", "scenario": f"scenario {i} (activities)"}
        | {"category": r, "value": (i + j) % 9 / 10}
        for m in MODELS
        for i in range(9)
        for j, r in enumerate(races)
    ]
    ratios = estimate_frame(
        [*ratio_rows(MODELS, ["activities"], [f"scenario {i}" for i in range(9)]), *by_model, *single],
        factors=list(FACTORS),
    )
    run = make_scenarios(tmp_path, groups=["activities"], estimates=ratios)
    (ratio,) = Ratios.of(Material(run))
    (line,) = share_lines(ratio, {"gender"})
    shares, tops = line.figures
    (panel,) = shares.panels
    assert not shares.stacked  # it fits a phone
    rows = panel.spec["data"]["values"]
    assert [(r["label"], r["series"]) for r in rows[:4]] == [("A", m) for m in MODELS] + [("B", MODELS[0])]
    assert rows[0]["text"] == "0.30 [0.10, 0.40]"
    first = tops.panels[0].spec["data"]["values"]
    assert [cell["text"] for cell in first[:3]] == ["0.80"] * 3
    assert len(tops.panels) == 3
    assert "The first 40 of" not in tops.table.caption


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["20-29", "70+", "less than 20", "30-39"], ["less than 20", "20-29", "30-39", "70+"]),
        (["Black", "White", "Indian"], ["Indian", "White", "Black"]),
    ],
)
def test_values_that_nobody_listed_stand_by_their_number_or_their_share(
    tmp_path: Path, values: list[str], order: list[str]
) -> None:
    told = {"measure": "share", "definition": "share", "attribute": "seen", "n": N, "level": 0.95}
    shares = [{**told, "generator": "m", "category": v, "value": (i + 1) / 10} for i, v in enumerate(values)]
    ratios = estimate_frame([*ratio_rows(["m"], ["activities"], ["a", "b"]), *shares], factors=list(FACTORS))
    run = make_scenarios(tmp_path, models=["m"], groups=["activities"], estimates=ratios)
    (ratio,) = Ratios.of(Material(run))
    (line,) = share_lines(ratio, {"gender"})
    assert [row["label"] for row in line.figures[0].panels[0].spec["data"]["values"]] == order


def test_ratios_without_groups_are_one_panel(tmp_path: Path) -> None:
    rows = [ratio_row({"generator": "m", "scenario": f"scenario {i} (activities)"}, 4 * i) for i in range(9)]
    ratios = estimate_frame(rows, factors=["generator", "scenario"])
    run = make_scenarios(tmp_path, models=["m"], groups=["activities"], estimates=ratios)
    (found,) = Ratios.of(Material(run))
    assert found.groups == []
    assert [p.title for p in spread_figure(found).panels] == [""]


@pytest.mark.parametrize("group", [{}, {"prompt_group": "activities"}])
def test_where_nothing_is_defined_it_says_so(tmp_path: Path, group: dict[str, str]) -> None:
    of = {"generator": "m", **group}
    rows = [ratio_row({**of, "scenario": f"scenario {i} (activities)"}, None, left=40) for i in range(3)]
    told = shown(make_scenarios(tmp_path, models=["m"], groups=["activities"], rows=rows), tmp_path / "out")
    assert "No scenario has a ratio that could be drawn." in told
    assert 'class="chart"' not in told


def test_a_run_without_scenarios_has_no_such_section(make_run: Any, tmp_path: Path) -> None:
    plain = make_run()
    assert shown(plain, tmp_path) == ""
    assert not [s for s in report.headline(plain)["sections"] if s["id"] == "scenarios"]


def test_ratios_of_two_annotators_are_two_figures(tmp_path: Path) -> None:
    rows = [
        {**r, "annotator": who}
        for who in ("judge", "people")
        for r in ratio_rows(["m"], ["activities"], "ab")
    ]
    ratios = estimate_frame(rows, factors=[*FACTORS, "annotator"])
    run = make_scenarios(tmp_path, models=["m"], groups=["activities"], scenarios="ab", estimates=ratios)
    told = shown(run, tmp_path / "out")
    assert "in each scenario (judge)" in told
    assert "in each scenario (people)" in told


@pytest.mark.parametrize(
    "kind",
    [
        # All are set in pages of every kind of table in tests/report/test_injection.py.
        pytest.param(kind, marks=[pytest.mark.slow] * (kind not in ("end of script", "markup")))
        for kind in sorted(set(TEXTS) - {"long"})
    ],
)
def test_names_of_others_stay_text(tmp_path: Path, kind: str) -> None:
    text = TEXTS[kind]
    run = make_scenarios(
        tmp_path, models=[text, "m"], groups=[text], scenarios=[f"{text}{i}" for i in range(4)]
    )
    page = report.write(run, figures=kind == "vega").read_text(encoding="utf-8")
    told = Tags(section(page))
    assert told.scripts == told.images == 0
    assert not [a for a in told.attributes if a.startswith("on") or MARK in a]
    charts(page)


def test_the_section_makes_no_promise(page: str) -> None:
    told = section(page).lower()
    assert "perceived presentation as an annotator labelled it, never identity" in told
    assert not re.search(r"\b(fair|unbiased|debiased|compliant)\b", told)


def test_a_run_that_does_not_say_what_was_read_is_to_be_measured_again(
    run: FakeRun, page: str, tmp_path: Path
) -> None:
    before = [{k: v for k, v in call.items() if k != "on"} for call in CALLS]
    told = shown(replace(run, info={**run.info, "measures": before}), tmp_path)
    assert "`stereotrope measure`" in told or "<code>stereotrope measure</code>" in told
    assert "did not note which ratios its scores over scenarios are of" in told
    assert "did not note" not in section(page)


def differences(run: FakeRun) -> Any:
    (ratios,) = Ratios.of(Material(run))
    line = next(one for one in further_lines(ratios) if one.title.startswith("Beside the reference"))
    return line.figures[-1]


def test_differences_of_few_scenarios_are_violins_with_a_tick_each(run: FakeRun) -> None:
    figure = differences(run)
    stored = run.estimates.filter(measure="amplification", prompt_group="activities")
    rows = figure.panels[0].spec["data"]["values"]
    ticks = [row for row in rows if "at" in row]
    assert sorted(row["at"] for row in ticks) == sorted(stored["value"])
    assert any(row["tip"].startswith("model-a, scenario 3 (activities): ") for row in ticks)
    curves = [step for one in figure.panels[0].spec["layer"] for step in one.get("transform", ())]
    assert [step["groupby"] for step in curves if "density" in step] == [["line"], ["line"]]
    assert "standard deviation 0.02 that is the same for every model" in figure.reads


def test_differences_of_many_scenarios_are_histograms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "_MOST_TICKS", 50)
    many = [f"s{i}" for i in range(30)]
    figure = differences(make_scenarios(tmp_path, groups=["activities"], scenarios=many))
    rows = figure.panels[0].spec["data"]["values"]
    assert not [row for row in rows if "at" in row]
    assert len([row for row in rows if "height" in row]) <= 3 * 20
    assert "One histogram a model, in 20 bins" in figure.reads
