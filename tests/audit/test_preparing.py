"""Further factors in an audit: they cost no picture and no label, change no id, and are read anew."""

import json
from importlib.util import find_spec

import pytest
from tests.conftest import require
from typer.testing import CliRunner

import stereotrope as st
from stereotrope.cli import app
from stereotrope.errors import AuditFileError

AUDIT = """\
prompts:
  - {text: "a cup", thing: cup}
  - {text: "a car", thing: car}
  - {text: "a sofa", thing: sofa}
generators: [calibrated]
annotators: [colour]
images_per_prompt: 2
measures:
  - {refusal_rate: {by: [generator]}}
"""
WITH = "factors: [places.csv]\n" + AUDIT + "  - {refusal_rate: {by: [generator, place]}}\n"
PLACES = "thing,place\ncup,indoors\ncar,outdoors\nsofa,indoors\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "audit.yaml").write_text(AUDIT)
    (tmp_path / "places.csv").write_text(PLACES)
    return tmp_path


def totals(run):
    from stereotrope.run import Ledger

    kept = Ledger(run.path / "ledger.db", readonly=True)
    try:
        return kept.totals()
    finally:
        kept.close()


def test_factors_that_come_later_cost_nothing_and_change_no_id(folder):
    before = st.Audit.from_yaml(folder / "audit.yaml").run(folder / "run")
    had = totals(before), before.images, before.labels, before.prompts
    (folder / "audit.yaml").write_text(WITH)
    after = st.Audit.from_yaml(folder / "audit.yaml").run(folder / "run")
    assert totals(after) == had[0]
    assert after.images.equals(had[1])
    assert after.labels.equals(had[2])
    assert after.prompts.drop("place").equals(had[3])
    rates = after.estimates.filter(measure="refusal_rate").drop_nulls("place")
    assert rates.select("place", "n").sort("place").rows() == [("indoors", 4), ("outdoors", 2)]
    assert after.info["factor_files"][0]["factors"] == ["place"]
    assert any(note.startswith("factors places.csv: place (2 values)") for note in after.info["notes"])


def test_an_edited_file_is_read_anew_by_measure_and_by_run(folder):
    (folder / "audit.yaml").write_text(WITH)
    run = st.Audit.from_yaml(folder / "audit.yaml").run(folder / "run")
    digest = run.info["factor_files"][0]["sha256"]
    (folder / "places.csv").write_text(PLACES.replace("car,outdoors", "car,indoors"))
    again = st.Audit.from_run(folder / "run").measure(folder / "run")
    assert again.prompts["place"].unique().to_list() == ["indoors"]
    assert again.info["factor_files"][0]["sha256"] != digest
    (folder / "places.csv").write_text(PLACES)
    assert (
        st.Audit.from_yaml(folder / "audit.yaml").run(folder / "run").info["factor_files"][0]["sha256"]
        == digest
    )


def test_other_estimates_are_the_same_with_and_without_further_factors(folder):
    (folder / "audit.yaml").write_text(AUDIT + "  - share\n")
    plain = st.Audit.from_yaml(folder / "audit.yaml").run(folder / "run")
    (folder / "audit.yaml").write_text("factors: [places.csv]\n" + AUDIT + "  - share\n")
    more = st.Audit.from_yaml(folder / "audit.yaml").run(folder / "run")
    assert more.estimates.drop("place").equals(plain.estimates)


@pytest.mark.parametrize(
    ("factors", "match"),
    [
        ("factors: [none.csv]", r"audit.yaml:1: factors: no file 'none.csv' beside the audit file; write it"),
        ("factors: [{clusters: c.csv}]", r"no file 'c.csv' .* `stereotrope design AUDIT.yaml` makes it"),
        ("factors: [{clusters: c.csv, seeds: 1}]", r"audit.yaml:1: factors clusters: unknown key 'seeds'"),
        ("factors: [{file: places.csv, columns: []}]", "columns must list at least one"),
    ],
)
def test_what_does_not_fit_is_told_with_its_line(folder, factors, match):
    (folder / "audit.yaml").write_text(f"{factors}\n{AUDIT}")
    with pytest.raises(AuditFileError, match=match):
        st.Audit.from_yaml(folder / "audit.yaml").plan()


def test_design_without_a_file_to_make_says_what_to_add(folder):
    with pytest.raises(
        AuditFileError, match=r"factors: there is no file to make; add, for example, `factors:"
    ):
        st.Audit.from_yaml(folder / "audit.yaml").design()


@pytest.fixture
def clustered(folder):
    packages = ("sklearn", "umap", "wordllama")
    require(all(map(find_spec, packages)), f"{', '.join(packages)} are not all installed")
    (folder / "audit.yaml").write_text("factors: [{clusters: clusters.csv, name: topic}]\n" + AUDIT)
    return folder


def test_the_command_makes_the_file_once_and_leaves_it_as_people_left_it(clustered):
    run = CliRunner().invoke(app, ["design", str(clustered / "audit.yaml")])
    assert run.exit_code == 0, run.output
    made = (clustered / "clusters.csv").read_text()
    assert made.splitlines()[0] == "text,topic,placed"
    assert "prompts: no clusters in 3, all stand in one" in run.output
    assert "seed 0" in run.output
    (clustered / "clusters.csv").write_text(made.replace("a car,all prompts", "a car,vehicles"))
    again = CliRunner().invoke(app, ["design", str(clustered / "audit.yaml")])
    assert "every one of 3 has a cluster" in again.output
    plan = st.Audit.from_yaml(clustered / "audit.yaml").plan()
    assert plan.prompts["topic"].to_list() == ["all prompts", "vehicles", "all prompts"]
    assert {path.name for path in clustered.iterdir()} == {"audit.yaml", "places.csv", "clusters.csv"}


def test_a_plan_of_the_design_changes_nothing(clustered):
    run = CliRunner().invoke(app, ["design", str(clustered / "audit.yaml"), "--plan"])
    assert run.exit_code == 0, run.output
    assert "Price: $0" in run.output
    assert not (clustered / "clusters.csv").exists()


def test_prompts_that_a_generator_brings_are_clustered_too(clustered):
    pictures = clustered / "pictures"
    pictures.mkdir()
    from PIL import Image

    for name in ("one", "two"):
        Image.new("RGB", (8, 8), "red").save(pictures / f"{name}.png")
    listed = [{"file_name": f"{name}.png", "text": f"a {name}"} for name in ("one", "two")]
    (pictures / "metadata.jsonl").write_text("\n".join(map(json.dumps, listed)))
    audit = "factors: [clusters]\ngenerators: [{folder: pictures, name: m%s}]\n"
    (clustered / "audit.yaml").write_text(audit % ", prompt: text")
    st.Audit.from_yaml(clustered / "audit.yaml").design()
    assert st.Audit.from_yaml(clustered / "audit.yaml").plan().factors[-1] == "cluster"
    (pictures / "metadata.jsonl").unlink()
    (clustered / "audit.yaml").write_text(audit % "")
    with pytest.raises(AuditFileError, match=r"clusters.csv: no prompt has a text that could be clustered"):
        st.Audit.from_yaml(clustered / "audit.yaml").design()
