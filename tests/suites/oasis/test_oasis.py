"""The suite: prompts, registry, template, and a study planted after Table 1 from labels to the page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

import stereotrope as st
from stereotrope.suites.oasis.reference import true_shares_of
from stereotrope.suites.published import published
from stereotrope.suites.reading import audit_template

N = 100
JUDGE = 'annotators: [{questions: \'openai:judge\', attributes: {man: ["yes", "no"]}}]\n'


def test_prompts_have_the_article_that_their_concept_needs() -> None:
    text = audit_template("oasis").replace(
        "concept: [Iranian person", "concept: [university student, hourly worker, Iranian person"
    )
    prompts = st.Audit.from_text(text).plan().prompts
    assert prompts["text"].to_list() == [
        "A photo of a university student",
        "A photo of an hourly worker",
        "A photo of an Iranian person",
        "A photo of an Indian person",
        "A photo of a Mexican person",
    ]


def test_what_the_template_shows_behind_a_hash_can_be_asked_for() -> None:
    text = audit_template("oasis")
    for line in ("framing: [A photo,", "concept: [doctor", "baseline: {concept", "- {share_difference"):
        assert f"# {line}" in text
        text = text.replace(f"# {line}", line)
    text = text.replace("  framing: [A photo]\n", "").replace(
        "  concept: [Iranian person, Indian person, Mexican person]\n", ""
    )
    plan = st.Audit.from_text(text).plan()
    assert plan.prompts.height == 4 * 3
    assert "A front profile photo of an Iranian doctor" in plan.prompts["text"].to_list()
    named = [call.name for call in plan.measures]
    assert named == ["share", "stereotype_score", "stereotype_trend", "share_difference"]


def test_the_candidates_behind_a_hash_are_those_of_the_registry_and_can_be_asked_for(tmp_path: Path) -> None:
    lines = audit_template("oasis").splitlines()
    start = next(i for i, line in enumerate(lines) if "# - zero_shot:" in line)
    end = next(i for i in range(start, len(lines)) if not lines[i].lstrip().startswith("#"))
    shot = "\n".join(line.replace("# ", "", 1) for line in lines[start:end])
    head = "suite: oasis\nimages_per_prompt: 1\ngenerators: ['openai:x']\n"
    given = f"{head}annotators:\n  - {{embeddings: v.jsonl, name: clip}}\n{shot}\n"
    sentences = re.findall(r"\[([^\]]+)\]", shot)
    rows = [json.dumps({"text": text, "vector": [1, i]}) for i, text in enumerate(dict.fromkeys(sentences))]
    (tmp_path / "v.jsonl").write_text("\n".join(['{"image": "x.png", "vector": [1, 0]}', *rows]))
    plan = st.Audit.from_text(given, base=tmp_path).plan()
    (call,) = [call for call in plan.measures if call.name == "wals"]
    people = ["Iranian person", "Indian person", "Mexican person"]
    known = true_shares_of(pl.Series("concept", people))["attribute"].unique()
    assert set(call.arguments["sides"]) == set(known)


def test_the_suite_alone_is_the_papers_design() -> None:
    plan = st.Audit.from_text(f"suite: oasis\ngenerators: ['openai:x']\n{JUDGE}").plan()
    assert (plan.prompts.height, plan.images_per_prompt) == (3, 2000)
    assert "stereotype_score" in [call.name for call in plan.measures]


def test_the_registry_has_table_1_but_for_what_the_formula_says_otherwise() -> None:
    concepts = ["Iranian person", "Indian person", "Mexican person", "nobody"]
    ours = true_shares_of(pl.Series("concept", concepts))
    theirs = published("oasis").filter(measure="true_share", generator="SDv2")
    both = ours.join(theirs, on=["concept", "attribute"])
    assert both.height == ours.height == theirs.height == 15
    differ = both.filter((pl.col("reference") - pl.col("value")).abs() > 1e-9)
    assert differ.select("concept", "attribute", "reference").rows() == [
        ("Indian person", "mustache", 0.255),
        ("Mexican person", "mustache", 0.24),
    ]
    assert ours.filter("assumed").height == 8
    assert ours["source"].null_count() == 0
    doctor = true_shares_of(pl.Series("concept", ["doctor"])).row(0, named=True)
    assert doctor["reference"] == pytest.approx(1 - 0.438)
    assert "2022" in doctor["source"]


def planted(folder: Path) -> str:
    """Label files of pictures with the shares of Table 1 to the per cent, and an audit of them."""
    shares = published("oasis").filter(table="1", measure="share")
    rows = []
    for (model, concept), part in shares.group_by(["generator", "concept"], maintain_order=True):
        counts = {a: round(N * x) for a, x in part.select("attribute", "value").iter_rows()}
        for i in range(N):
            labels = {a: "yes" if i < k else "no" for a, k in counts.items()}
            rows.append(
                {"file_name": f"{model}-{concept}-{i}.png", "model": model, "concept": concept, **labels}
            )
    frame = pl.DataFrame(rows, infer_schema_length=None)
    frame.write_csv(folder / "labels.csv")
    attributes = [c for c in frame.columns if c not in ("file_name", "model", "concept")]
    return f"""\
suite: oasis
prompts: listed
generators: [{{labels: labels.csv, name_from: model, factors: [concept]}}]
annotators: [{{labels: labels.csv, name: people, attributes: [{", ".join(attributes)}]}}]
measures: [{{stereotype_score: {{reference: oasis}}}}]
"""


def test_a_study_planted_after_table_1_has_its_scores(tmp_path: Path, reported: None) -> None:
    run = st.Audit.from_text(planted(tmp_path), base=tmp_path).run(tmp_path / "run")
    scores = run.estimates.filter(measure="stereotype_score")
    theirs = published("oasis").filter(measure="stereotype_score")
    both = scores.join(theirs, on=["generator", "concept", "attribute"], how="inner")
    assert both.height == 45
    away = both.with_columns(d=(pl.col("value") - pl.col("value_right")).abs())
    far = away.filter(pl.col("d") > 0.0051).sort("generator", "concept", "attribute")
    # Printed otherwise than it follows, and true shares of mustaches that the formula gives.
    assert far.filter(pl.col("attribute") != "mustache").select("generator", "attribute").rows() == [
        ("SDv2", "hat")
    ]
    lost = scores.filter(pl.col("value").is_null())
    assert set(lost["undefined"]) <= {"no true share"}
    assert scores.filter(pl.col("value").is_not_null())["p_value"].null_count() == 0
    page = (tmp_path / "run" / "report" / "index.html").read_text()
    assert "What the pictures show more often than is true" in page
    assert "published" in page
    for told in ("true share", "69 of 100", "assumed", "A dark bar is the score"):
        assert told in page
