"""Attributes of concepts named by a model on the loopback server: asked once, edited, used as labels."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import stereotrope as st
from stereotrope.cli import app
from stereotrope.errors import AuditFileError, BudgetError, IncompleteError
from stereotrope.inputs.candidates import read_candidates
from stereotrope.testing import Loopback

AUDIT = """\
suite: oasis
prompts: {template: "A photo of a/an {concept}", concept: [Iranian person, Mexican person]}
generators: [{folder: pictures, metadata: metadata.csv, name: m}]
annotators:
  - {embeddings: v.jsonl, name: clip}
  - zero_shot: {file: candidates.yaml, model: 'openai:m', tries: 1, base_url: 'URL', price: {call: 0.01}}
    encoder: clip
measures: [{stereotype_score: {reference: oasis}}]
report: {figures: false}
"""
D = 20


def named(question):
    """Fifteen attributes: one both concepts have alike, one each names otherwise."""
    concept = "Iranian" if "Iranian" in question.text else "Mexican"
    rows = [("Man", "a man", "a woman"), ("Traditional clothing", f"old {concept} clothes", "new clothes")]
    rows += [(f"{concept} thing {chr(97 + i)}", f"a {concept} thing {i}", "nothing of it") for i in range(13)]
    return {
        "candidates": [dict(zip(("attribute", "positive", "negative"), row, strict=True)) for row in rows]
    }


@pytest.fixture
def served(tmp_path):
    with Loopback(judge=named) as server:
        (tmp_path / "audit.yaml").write_text(AUDIT.replace("URL", server.url))
        rng = np.random.default_rng(2)
        (tmp_path / "pictures").mkdir()
        rows = ["file,concept"]
        for i in range(8):
            Image.fromarray(rng.integers(0, 255, (16, 16, 3), np.uint8)).save(
                tmp_path / "pictures" / f"{i}.png"
            )
            rows.append(f"{i}.png,{'Iranian person' if i < 4 else 'Mexican person'}")
        (tmp_path / "pictures" / "metadata.csv").write_text("\n".join(rows))
        (tmp_path / "v.jsonl").write_text('{"image": "0.png", "vector": [1, 0]}\n')
        yield server, tmp_path / "audit.yaml"


def test_named_attributes_are_labels_and_only_those_with_a_true_share_have_a_score(served):
    server, file = served
    with pytest.raises(AuditFileError, match=r"audit.yaml:6: .*no file 'candidates.yaml' .* makes it"):
        st.Audit.from_yaml(file).plan()
    notes = st.Audit.from_yaml(file).design()
    assert notes == [
        "candidates.yaml: 15 attributes of Iranian person by m",
        "candidates.yaml: 14 attributes of Mexican person by m",
    ]
    found = read_candidates(file.parent / "candidates.yaml")
    assert {"man", "traditional_clothing", "traditional_clothing_mexican_person"} <= set(found)
    assert "man_mexican_person" not in found
    assert found["man"].positive == ("a man",)
    sentences = {side for one in found.values() for side in (*one.positive, *one.negative)}
    rng = np.random.default_rng(5)
    rows = [{"text": text, "vector": rng.normal(size=D).tolist()} for text in sorted(sentences)]
    by_text = {row["text"]: np.array(row["vector"]) for row in rows}
    shown = [by_text["a man" if i % 4 < 3 else "a woman"] + 0.01 for i in range(8)]
    rows += [{"image": f"{i}.png", "vector": vector.tolist()} for i, vector in enumerate(shown)]
    (file.parent / "v.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run = st.Audit.from_yaml(file).run(file.parent / "run")
    scores = run.estimates.filter(measure="stereotype_score")
    men = {row["concept"]: row["value"] for row in scores.filter(attribute="man").iter_rows(named=True)}
    assert men == pytest.approx({"Iranian person": 0.75 - 0.5, "Mexican person": 0.75 - 0.48})
    theirs = scores.filter(scores["attribute"].str.contains("_thing_"))
    assert set(theirs["undefined"]) == {"no true share"}
    assert len(server.received) == 2


def test_what_people_wrote_stays_and_only_a_concept_without_attributes_is_asked_about(served):
    server, file = served
    sides = "    positive: [a guy]\n    negative: [a gal]\n"
    mine = f"candidates:\n  man:  # mine\n    concept: Iranian person\n{sides}"
    path = file.parent / "candidates.yaml"
    path.write_text(mine)
    notes = st.Audit.from_yaml(file).design()
    assert notes == ["candidates.yaml: 15 attributes of Mexican person by m"]
    assert path.read_text().startswith(mine)
    assert read_candidates(path)["man_mexican_person"].positive == ("a man",)
    assert len(server.received) == 1
    assert st.Audit.from_yaml(file).design() == ["candidates.yaml: each of 2 concepts has attributes"]
    path.write_text(mine.replace("negative", "negativ"))
    with pytest.raises(AuditFileError, match=r"candidates.yaml:5: unknown key 'negativ'"):
        st.Audit.from_yaml(file).design()


def test_a_plan_says_the_price_and_a_cap_keeps_what_was_paid_for(served):
    server, file = served
    run = CliRunner().invoke(app, ["design", str(file), "--plan"])
    assert run.exit_code == 0, run.output
    assert "Price: $0.02" in run.output
    assert not server.received
    with pytest.raises(BudgetError, match="What was answered is kept; the same command with a higher"):
        st.Audit.from_yaml(file).design(max_cost=0.01)
    assert not (file.parent / "candidates.yaml").exists()
    paid = len(server.received)
    st.Audit.from_yaml(file).design(max_cost=1)
    assert (paid, len(server.received)) == (1, 2)
    (file.parent / "candidates.yaml").unlink()
    st.Audit.from_yaml(file).design()
    assert len(server.received) == 2


def changed(at, **row):
    def answer(question):
        rows = named(question)["candidates"]
        return {"candidates": [*rows[:at], {**rows[at], **row}, *rows[at + 1 :]]}

    return answer


@pytest.mark.parametrize(
    ("judge", "why"),
    [
        (lambda question: "Certainly! 1. Hat", "not JSON"),
        (
            lambda question: {"candidates": named(question)["candidates"][1:]},
            "must be 15 to 40 attributes, found 14",
        ),
        (changed(2, attribute="man."), "must be named once, found 'man.' again"),
        (changed(3, negative="A man", positive="a man"), "must differ from the positive sentence"),
        (lambda question: None, "sorry"),
    ],
)
def test_an_answer_that_does_not_do_leaves_no_file_and_says_why(served, judge, why):
    server, file = served
    server.judge = judge
    notes = st.Audit.from_yaml(file).design()
    assert [why in note for note in notes] == [True, True]
    assert notes[0].startswith("candidates.yaml: no attributes of Iranian person (")
    assert not (file.parent / "candidates.yaml").exists()


def test_an_answer_that_breaks_the_rules_is_asked_for_once_more(served):
    server, file = served
    given, asked = server.judge, []
    server.judge = lambda question: (
        changed(0, attribute="1") if not asked and not asked.append(1) else given
    )(question)
    notes = st.Audit.from_yaml(file).design()
    assert all("by m" in note for note in notes)
    assert len(server.received) == 3


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("model: 'openai:m', ", "", r"audit.yaml:6: annotator 'zero_shot': model is missing"),
        ("'openai:m'", "gpt", r"audit.yaml:6: a model is named provider:model"),
        (
            "'openai:m',",
            "'openai:m', of: job,",
            r"audit.yaml:6: .*no factor 'job' of concepts; they have con",
        ),
    ],
)
def test_an_entry_that_cannot_be_asked_is_told_with_its_line(served, old, new, match):
    _, file = served
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(AuditFileError, match=match):
        st.Audit.from_yaml(file).design()


def test_a_server_that_does_not_answer_leaves_everything_as_it_was(served):
    server, file = served
    server.misbehave("server_error", times=1000)
    with pytest.raises(IncompleteError, match="the same command tries again"):
        st.Audit.from_yaml(file).design()
    assert not (file.parent / "candidates.yaml").exists()
