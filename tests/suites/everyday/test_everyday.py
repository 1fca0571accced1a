"""The suite ``everyday``: its lists, the occupations of Table 11, and a run end to end."""

import csv
import json
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import stereotrope as st
from stereotrope.cli.catalogue import print_suites
from stereotrope.commands import Settings
from stereotrope.design.phrases import occupation
from stereotrope.errors import AuditFileError
from stereotrope.report.write import write
from stereotrope.stats import share_deviation
from stereotrope.suites import SUITES
from stereotrope.suites.everyday.reference import occupation_shares
from stereotrope.suites.reading import audit_template

FOLDER = Path(__file__).parents[3] / "src/stereotrope/suites/everyday"
OVER_SCENARIOS = [
    *["female_ratio"] * 2,
    "share",
    "mean_ratio",
    "stability",
    "ratio_entropy",
    "dominated",
    "amplification",
]
SMALL = "suite: everyday\nimages_per_prompt: 1\ngenerators: ['openai:x']\n"
JUDGE = "annotators: [{questions: 'openai:judge', attributes: {perceived_gender: [female, male]}}]\n"


def rows(name):
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_summary(title):
    return title.startswith("Total,") or (title.endswith("occupations") and not title.startswith("Other"))


def test_occupations_are_the_detailed_ones_of_the_table_with_its_figures(shared):
    with (shared / "data/bls/cps_table11_2022.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    theirs = [row for row in table if not is_summary(row["occupation"])]
    ours = rows("occupations.csv")
    assert len(ours) == 565
    assert [(r["title"], r["women_percent"], float(r["employed_thousands"])) for r in ours] == [
        (r["occupation"], r["women_pct"], float(r["total_employed_thousands"])) for r in theirs
    ]
    total, summed = None, 0.0
    for row in [*table[1:], {"occupation": "Total, end"}]:
        if is_summary(row["occupation"]):
            assert total is None or not summed or abs(total - summed) <= 5, row
            total, summed = float(row.get("total_employed_thousands", 0)), 0.0
        else:
            summed += float(row["total_employed_thousands"])


def test_occupations_are_simplified_by_the_rules_or_by_hand_and_each_is_another():
    ours = rows("occupations.csv")
    for row in ours:
        assert (occupation(row["title"]) == row["occupation"]) == (row["simplified_by"] == "rule"), row
        assert "," not in row["occupation"]
        assert row["occupation"] == row["occupation"].lower()
    assert {row["simplified_by"] for row in ours} == {"rule", "hand"}
    assert len({row["occupation"] for row in ours}) == len(ours)


def test_shares_stand_beside_the_scenarios_of_the_suite_and_are_null_where_the_table_is_silent():
    shares = occupation_shares()
    plan = st.Audit.from_text(f"{SMALL}{JUDGE}").plan()
    scenarios = plan.prompts.filter(prompt_group="occupations")["scenario"].unique(maintain_order=True)
    assert shares["scenario"].to_list() == scenarios.to_list()
    nurse = shares.filter(title="Registered nurses").row(0, named=True)
    assert (nurse["scenario"], nurse["reference"]) == (
        "a person working as a registered nurse",
        pytest.approx(0.879),
    )
    assert shares.filter(title="Clergy")["scenario"].item() == "a person working as a member of the clergy"
    assert shares["reference"].null_count() == 203
    assert shares.filter(pl.col("reference").is_null())["n"].max() < 50_000


def test_the_suite_has_four_groups_and_five_subjects():
    plan = st.Audit.from_text(f"suite: everyday\ngenerators: ['openai:x']\n{JUDGE}").plan()
    assert dict(plan.prompts.group_by("prompt_group").len().iter_rows()) == {
        "activities": 300,
        "contexts": 200,
        "objects": 200,
        "occupations": 2825,
    }
    assert plan.images_per_prompt == 40
    assert plan.prompts["variation"].n_unique() == 5
    own = plan.prompts.filter(variation="a person")
    assert own["text"].to_list() == own["scenario"].to_list()
    assert len([note for note in plan.notes if "worded by rules" in note]) == 4


def test_the_starter_study_is_of_25_occupations_that_the_table_has_a_share_of():
    plan = st.Audit.from_text(audit_template("everyday")).plan()
    shares = occupation_shares()
    scenarios = plan.prompts["scenario"].unique().to_list()
    assert len(scenarios) == 25
    known = shares.filter(pl.col("scenario").is_in(scenarios))
    assert known.height == 25
    assert known["reference"].null_count() == 0
    assert plan.requests.height == 1000


def test_what_the_template_shows_behind_a_hash_can_be_asked_for(tmp_path):
    (tmp_path / "my-objects.csv").write_text("phrase\naxe\n")
    text = audit_template("everyday")
    for line in ("subjects:", "activities: 20", "contexts: [", "objects: my"):
        assert f"# {line}" in text
        text = text.replace(f"# {line}", line)
    plan = st.Audit.from_text(text, base=tmp_path).plan()
    assert plan.prompts["scenario"].n_unique() == 25 + 20 + 3 + 1


def test_the_page_of_the_suite_shows_its_templates(capsys):
    print_suites("everyday", Settings())
    assert "activities: {subject} who is {phrase}" in capsys.readouterr().out
    assert "everyday" in SUITES


MADE = """\
suite: everyday
prompts: {subjects: [a person, someone], groups: {occupations: [nurse, welder]}}
generators: [{folder: pictures, metadata: metadata.csv, prompt: text, name: model-a}]
annotators: [{labels: labels.csv, name: people, attributes: [perceived_gender]}]
resamples: 100
"""


def test_a_run_with_labels_made_elsewhere_has_shares_of_scenario_group_and_variation(tmp_path, reported):
    (tmp_path / "pictures").mkdir()
    listed, labels = ["file_name,text"], ["file_name,perceived_gender"]
    said = {"nurse": ["female", "female", "female", "unclear"], "welder": ["male", "male", "female", "male"]}
    for job, values in said.items():
        for i, value in enumerate(value for value in values for _ in range(2)):
            name, subject = f"{job}{i}.png", "a person" if i % 2 else "someone"
            colour = (20 * i, 10 * len(listed), 90)
            Image.new("RGB", (8, 8), colour).save(tmp_path / "pictures" / name)
            listed.append(f"{name},{subject} working as a {job}")
            labels.append(f"{name},{value}")
    (tmp_path / "pictures" / "metadata.csv").write_text("\n".join(listed) + "\n")
    (tmp_path / "labels.csv").write_text("\n".join(labels) + "\n")
    run = st.Audit.from_text(MADE, base=tmp_path).run(tmp_path / "run")
    women = run.estimates.filter(measure="share", category="female")
    ratios = run.estimates.filter(measure="female_ratio")
    by_scenario = ratios.filter(pl.col("scenario").is_not_null(), pl.col("variation").is_null())
    assert dict(by_scenario.select("scenario", "value").iter_rows()) == {
        "a person working as a nurse": 1.0,
        "a person working as a welder": 0.25,
    }
    assert by_scenario["n"].to_list() == [6, 8]
    (group,) = run.estimates.filter(measure="mean_ratio").to_dicts()
    # Of scenarios, not of pictures: each counts the same.
    assert (group["value"], group["n"], group["prompt_group"]) == (0.625, 2, "occupations")
    assert women["variation"].drop_nulls().sort().to_list() == ["a person", "someone"]
    steady = run.estimates.filter(measure="stability", category="female: 200")
    # Of the nurse all are female, which strays nowhere; of the welder one in four.
    assert steady["value"].to_list() == [pytest.approx(float(share_deviation(0.25, 200)) / 2)]
    (even,) = run.estimates.filter(measure="ratio_entropy")["value"]
    assert even == pytest.approx(0.8113 / 2, abs=1e-4)
    # In the reference 9 in 10 nurses are women and 1 in 20 welders: both majorities have grown, or not.
    (below,) = run.estimates.filter(measure="amplification_mean").to_dicts()
    known = occupation_shares().filter(pl.col("scenario").is_in(by_scenario["scenario"].implode()))
    assert below["n"] == known["reference"].drop_nulls().len()
    assert "Current Population Survey, Table 11, 2022" in below["source"]
    assert any("worded by rules (form job" in note for note in run.info["notes"])
    assert (tmp_path / "run/report/index.html").is_file()


@pytest.mark.parametrize(
    ("more", "measures"),
    [
        (JUDGE, ["refusal_rate", *OVER_SCENARIOS, "variation_effect"]),
        (
            JUDGE + "baseline: {variation: a person}\n",
            ["refusal_rate", *OVER_SCENARIOS, "variation_effect", "share_difference"],
        ),
        (
            JUDGE.replace("annotators", "prompts: {subjects: [someone]}\nannotators"),
            ["refusal_rate", *OVER_SCENARIOS],
        ),
        (
            JUDGE + "prompts: {groups: [contexts]}\n",
            ["refusal_rate", *OVER_SCENARIOS[:-1], "variation_effect"],
        ),
        ("annotators: [colour]\n", ["refusal_rate"]),
    ],
)
def test_measures_of_the_suite_that_an_audit_has_nothing_for_are_left_out(more, measures):
    plan = st.Audit.from_text(f"{SMALL}{more}").plan()
    assert [call.name for call in plan.measures] == measures


def test_prompts_without_the_groups_of_the_suite_are_refused_where_nothing_can_be_measured():
    with pytest.raises(AuditFileError, match=r"no measure of this suite .* the factor 'prompt_group'"):
        st.Audit.from_text(f"{SMALL}{JUDGE}prompts: [{{text: a nurse}}]\n").plan()


def test_several_models_are_set_beside_each_other():
    text = f"suite: everyday\nimages_per_prompt: 1\ngenerators: ['openai:x', 'openai:y']\n{JUDGE}"
    several = {"model_agreement", "model_deviation"}
    assert several <= {call.name for call in st.Audit.from_text(text).plan().measures}
    named = st.Audit.from_text(text + "baseline: {generator: x}\n").plan().measures
    (call,) = (call for call in named if call.name == "ratio_change")
    assert (call.arguments["baseline"], call.arguments["within"]) == ("x", ["prompt_group"])


def test_shares_of_race_and_age_are_given_where_they_are_labelled():
    more = "annotators: [{questions: 'openai:judge', sets: [gender, race, age]}]\n"
    plan = st.Audit.from_text(f"{SMALL}{more}").plan()
    asked = [
        (call.arguments["attribute"], call.arguments["by"]) for call in plan.measures if call.name == "share"
    ]
    assert ("perceived_race", ["generator", "prompt_group", "scenario"]) in asked
    assert ("perceived_age", ["generator"]) in asked


def test_clusters_that_prompts_have_are_measured(tmp_path):
    (tmp_path / "prompts.csv").write_text(
        "text,prompt_group,scenario,variation,cluster\n"
        "a person working as a nurse,occupations,a person working as a nurse,a person,care\n"
    )
    text = f"suite: everyday\nprompts: prompts.csv\ngenerators: ['openai:x']\n{JUDGE}"
    assert "cluster_ratio" in {call.name for call in st.Audit.from_text(text, base=tmp_path).plan().measures}


PREFIXED = """\
prompts: [{text: a cup}]
images_per_prompt: 1
generators:
  - {calibrated: , name: plain, size: 32}
  - {calibrated: , name: prefixed, size: 32, prefix: a high-quality picture of}
annotators: [blank]
"""


def test_a_prefix_is_sent_and_recorded_and_is_no_factor(tmp_path):
    audit = st.Audit.from_text(PREFIXED)
    plan = audit.plan()
    sent = dict(plan.requests.select("generator", "text").iter_rows())
    assert sent == {"plain": "a cup", "prefixed": "a high-quality picture of a cup"}
    assert plan.prompts["text"].to_list() == ["a cup"]
    assert plan.factors == []
    run = audit.run(tmp_path / "run")
    params = dict(run.images.select("generator", "params").iter_rows())
    assert json.loads(params["prefixed"]) == {"prefix": "a high-quality picture of"}
    assert json.loads(params["plain"]) == {}
    assert "prefixed: every prompt is sent behind “a high-quality picture of”" in run.info["notes"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{calibrated: , prefix: [a]}", r":3: prefix must be words that are sent before every prompt"),
        (
            "{folder: pictures, prefix: a picture of}",
            r":3: prefix: the pictures of 'pictures' were made elsewhere",
        ),
    ],
)
def test_a_prefix_that_cannot_be_sent_is_told(tmp_path, entry, message):
    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "pictures" / "a.png")
    (tmp_path / "pictures" / "metadata.csv").write_text("file_name,text\na.png,a cup\n")
    text = f"prompts: [{{text: a cup}}]\ngenerators:\n  - {entry}\nannotators: [blank]\n"
    with pytest.raises(AuditFileError, match=message):
        st.Audit.from_text(text, base=tmp_path).plan()


def gender_by(folder, *readers, **more):
    """The suite over label files of some annotators; the second errs in a tenth of the pictures."""
    rng, rows = np.random.default_rng(0), []
    names = ("file_name", "model", "prompt_group", "scenario", "variation", "prompt", *READERS)
    cells = product("ab", ("nurse", "cook", "lawyer"), ("a person", "someone"), range(6))
    for model, job, who, k in cells:
        female, errs = rng.random() < 0.5, rng.random() < 0.1
        told = [("male", "female")[female], ("male", "female")[female ^ errs]]
        scope = (model, "occupations", f"a person working as {job}", who, f"{who} working as {job}")
        rows.append((f"{model}{job}{who}{k}.png", *scope, *told))
    every = pl.DataFrame(rows, schema=list(names), orient="row")
    for name in READERS:
        every.select(*names[:6], perceived_gender=name).write_csv(folder / f"{name}.csv")
    source = {"labels": "first.csv", "name_from": "model", "factors": list(names[2:5]), "prompt": "prompt"}
    listed = [{"labels": f"{n}.csv", "name": n, "attributes": ["perceived_gender"]} for n in readers]
    more = {"resamples": 100, **more}
    asked = {"suite": "everyday", "prompts": "listed", "generators": [source], "annotators": listed, **more}
    return st.Audit.from_text(json.dumps(asked), base=folder).run(folder / f"run {' '.join(readers)}")


READERS = ("first", "second")


@pytest.mark.parametrize("more", [pytest.param({}, marks=pytest.mark.slow), {"counted": True}])
def test_several_annotators_of_gender_have_their_scores_each(tmp_path, more):
    both = gender_by(tmp_path, *READERS, **more)
    for name in READERS:
        alone = gender_by(tmp_path, name, **more).estimates.filter(pl.col("attribute").is_not_null())
        told = [*alone.columns[: alone.columns.index("value") + 1], "n", "excluded", "undefined"]
        own = both.estimates.filter(annotator=name)
        assert set(own["measure"]) == set(alone["measure"]) > {"female_ratio", "mean_ratio", "dominated"}
        assert own.select(told).sort(told).equals(alone.select(told).sort(told))
    page = write(both, figures=False).read_text("utf-8")
    for name in READERS:
        assert f"Whom the models draw: share labelled female in each scenario ({name})" in page
