"""The tutorial of the suite everyday, carried out on the labels it speaks of: every number of its tables."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from scipy import stats

import stereotrope as st
from stereotrope.suites.everyday.reference import occupation_shares

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
MODELS = {"DALL·E 3": "dall_e_3", "FLUX.1-dev": "flux_dev", "SDXL-Turbo": "sdxl_turbo"}
NUMBER = r"[+−]?\d+(?:\.\d+)?"


@pytest.fixture(scope="module")
def data(shared):
    return shared / "data" / "occupations"


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("labour-market")
    (folder / "occupations").mkdir()
    shutil.copy(data / "labels.csv", folder / "occupations")
    for name in ("labour-market.yaml", "labour-market.csv"):
        shutil.copy(TUTORIALS / name, folder)
    return st.Audit.from_yaml(folder / "labour-market.yaml").run(folder / "run")


@pytest.fixture(scope="module")
def estimates(run):
    return run.estimates


def table(heading):
    """Rows of the table under a heading: cells as texts."""
    text = (TUTORIALS / "labour-market.md").read_text(encoding="utf-8").split(f"## {heading}")[1]
    rows = [line for line in text.split("\n## ")[0].splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def numbers(cell):
    return [float(number.replace("−", "-")) for number in re.findall(NUMBER, cell)]


def scenarios():
    """Occupation of the study → scenario."""
    return dict(pl.read_csv(TUTORIALS / "labour-market.csv").iter_rows())


def published(data):
    with (data / "published_gender.csv").open(encoding="utf-8") as file:
        return {(row["model"], row["Occupation"].lower()): row for row in csv.DictReader(file)}


def test_published_p_stand_beside_exact_ones_with_q(estimates, data):
    theirs, rows = published(data), table("3.")
    assert len(rows) == len(theirs) == 15
    for model, occupation, plain, diverse, difference, of_study, exact, q in rows:
        row = theirs[MODELS[model], occupation]
        assert [plain, diverse] == [
            row[f"{name} (F/M, %F)"].split()[0] for name in ("Baseline", "Controlled")
        ]
        a, b, c, d = (int(n) for side in (plain, diverse) for n in side.split("/"))
        p = float(row["p-value"])
        assert float(of_study) == pytest.approx(p, rel=0.02, abs=5e-4)
        if (a + c) * (b + d):
            chi2 = stats.chi2_contingency([[a, b], [c, d]], correction=False).pvalue
            assert p == pytest.approx(chi2, rel=1e-9)
        ours = estimates.filter(
            measure="share_difference", generator=MODELS[model], occupation=occupation
        ).row(0, named=True)
        assert ours["p_value"] == pytest.approx(stats.fisher_exact([[a, b], [c, d]]).pvalue, rel=1e-9)
        assert float(exact) == pytest.approx(ours["p_value"], rel=0.03, abs=5e-4)
        assert float(q) == pytest.approx(ours["q_value"], rel=0.03, abs=5e-4)
        value, low, high = numbers(difference)
        assert (value, low, high) == pytest.approx((ours["value"], ours["low"], ours["high"]), abs=0.0051)
    p = [float(row["p-value"]) for row in theirs.values()]
    found = estimates.filter(measure="share_difference")
    assert sum(each < 0.05 for each in p) == 3
    assert found.filter(pl.col("p_value") < 0.05).height == 2
    assert found.filter(pl.col("q_value") <= 0.05)["occupation"].to_list() == ["athlete"]


def test_ratios_have_the_published_counts_and_both_is_excluded(estimates, data):
    found = estimates.filter(measure="female_ratio")
    assert found.height == 30
    for (model, occupation), row in published(data).items():
        for condition, name in (("baseline", "Baseline"), ("controlled", "Controlled")):
            female, male = map(int, row[f"{name} (F/M, %F)"].split()[0].split("/"))
            of = {"generator": model, "condition": condition, "scenario": scenarios()[occupation]}
            ours = found.filter(**of).row(0, named=True)
            assert (ours["numerator"], ours["denominator"]) == (female, female + male)
            interval = stats.binomtest(female, female + male).proportion_ci(method="wilson")
            assert (ours["low"], ours["high"]) == pytest.approx(tuple(interval), abs=1e-12)
    told = [json.loads(reasons) for reasons in found["excluded"].drop_nulls()]
    assert sum(n for reasons in told for reason, n in reasons.items() if "both" in reason) == 32


def test_the_four_occupations_with_a_share_stand_beside_it(estimates):
    rows, shares = table("4."), dict(occupation_shares().select("scenario", "reference").iter_rows())
    known = {name: share for name, one in scenarios().items() if (share := shares[one]) is not None}
    assert {row[1] for row in rows} == set(known)
    for model, occupation, employed, *both in rows:
        assert float(employed.rstrip("%")) == pytest.approx(100 * known[occupation], abs=0.51)
        for cell, condition in zip(both, ("baseline", "controlled"), strict=True):
            ours = estimates.filter(
                measure="amplification",
                generator=MODELS[model],
                scenario=scenarios()[occupation],
                condition=condition,
            )
            if cell == "too few labels":
                assert not ours.height
                continue
            row = ours.row(0, named=True)
            assert numbers(cell) == pytest.approx([row["value"], row["low"], row["high"]], abs=0.0051)
    mean = estimates.filter(measure="amplification_mean")
    assert all(json.loads(reasons)["no share in the reference"] == 1 for reasons in mean["excluded"])


def test_the_page_answers_by_occupation_with_a_line_a_model_and_condition(run):
    page = (run.path / "report" / "index.html").read_text(encoding="utf-8")
    told = page.partition('<section id="scenarios"')[2].partition("</section>")[0]
    assert told.index("share labelled female in each scenario") < told.index(
        "sdxl_turbo, controlled: of 5 scenarios"
    )
    assert "Source: everyday gender, eq. 4; reference: U.S. Bureau of Labor Statistics" in told
    assert 'id="figure-dominated' not in page


def test_the_terminal_says_what_the_tutorial_quotes(run):
    text = (TUTORIALS / "labour-market.md").read_text(encoding="utf-8")
    quoted = " ".join(text.partition("```text\nsdxl_turbo")[2].partition("```")[0].split())
    section = next(s for s in st.report.headline(run)["sections"] if s["id"] == "scenarios")
    assert f"sdxl_turbo{quoted}" in section["sentences"]
