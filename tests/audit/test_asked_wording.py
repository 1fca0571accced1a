"""Phrases worded by a model on the loopback server, then clustered and drawn: one command, one file each."""

import re

import pytest
from typer.testing import CliRunner

import stereotrope as st
from stereotrope.cli import app
from stereotrope.errors import AuditFileError, IncompleteError
from stereotrope.testing import Loopback

AUDIT = """\
prompts:
  wording: {file: words.csv, model: 'openai:m', tries: 1, base_url: 'URL', price: {call: 0.01}}
  groups:
    things:
      form: thing
      template: '{subject} and {phrase}'
      phrases: [cup, car, sofa]
generators: [calibrated]
annotators: [colour]
images_per_prompt: 1
measures: [{refusal_rate: {by: [generator]}}]
"""


def answer(question):
    phrase = re.findall(r"'a person and a (\w+)' ->", question.text)[-1]
    return {"text": f"a person and one {phrase}" if phrase != "sofa" else "a man and a sofa"}


@pytest.fixture
def served(tmp_path):
    with Loopback(judge=answer) as server:
        (tmp_path / "audit.yaml").write_text(AUDIT.replace("URL", server.url))
        yield server, tmp_path / "audit.yaml"


def test_the_words_of_the_model_make_the_prompts_and_are_asked_for_once(served):
    server, file = served
    with pytest.raises(
        AuditFileError, match=r"no file 'words.csv' .* `stereotrope design AUDIT.yaml` makes it"
    ):
        st.Audit.from_yaml(file).plan()
    run = CliRunner().invoke(app, ["design", str(file), "--plan"])
    assert "Price: $0.03" in run.output
    assert not server.received
    notes = st.Audit.from_yaml(file).design()
    assert notes[0].startswith(
        "words.csv: 2 phrases worded by m, 1 left to the rules (1 × text: must begin with"
    )
    plan = st.Audit.from_yaml(file).plan()
    assert plan.prompts["text"].to_list() == [
        "a person and one cup",
        "a person and one car",
        "a person and a sofa",
    ]
    assert any(
        note.endswith("1 worded by rules (form thing, lemminflect 0.2.3), 2 of words.csv")
        for note in plan.notes
    )
    asked = len(server.received)
    assert asked == 4
    assert st.Audit.from_yaml(file).design() == ["words.csv: every one of 3 phrases has its row"]
    assert len(server.received) == asked


def test_a_person_edits_the_words_and_runs(served):
    _, file = served
    st.Audit.from_yaml(file).design()
    words = file.parent / "words.csv"
    words.write_text(words.read_text().replace("one car", "a fast car"))
    run = st.Audit.from_yaml(file).run(file.parent / "run")
    assert "a person and a fast car" in run.prompts["text"].to_list()


def test_a_model_of_wording_that_cannot_be_asked_is_told_with_its_line(served):
    _, file = served
    file.write_text(file.read_text().replace("model: 'openai:m'", "model: gpt"))
    with pytest.raises(AuditFileError, match=r"audit.yaml:2: prompts: a model is named provider:model"):
        st.Audit.from_yaml(file).design()


def test_what_people_wrote_into_the_file_stays_where_phrases_come_to_it(served):
    _, file = served
    words = file.parent / "words.csv"
    written = "prompt_group,phrase,words,mine\nthings,cup,a blue cup,look again\nthings,,,later\n"
    words.write_text(written)
    st.Audit.from_yaml(file).design()
    assert words.read_text().splitlines() == [
        "prompt_group,phrase,words,mine,worded",
        "things,cup,a blue cup,look again,",
        "things,,,later,",
        "things,car,one car,,model",
        "things,sofa,,,rules",
    ]


def test_a_file_without_a_column_of_ours_is_not_written_over(served):
    server, file = served
    words = file.parent / "words.csv"
    words.write_text("prompt_group,phrase,wording\nthings,cup,a blue cup\n")
    with pytest.raises(AuditFileError, match=r"words.csv: must have the columns .* name 'words' so again"):
        st.Audit.from_yaml(file).design()
    assert words.read_text().endswith("a blue cup\n")
    assert not server.received


def test_a_file_that_is_saved_while_a_model_is_asked_is_left_alone(served):
    server, file = served
    words = file.parent / "words.csv"
    given = server.judge

    def meanwhile(question):
        words.write_text("prompt_group,phrase,words\nthings,cup,a blue cup\n")
        return given(question)

    server.judge = meanwhile
    with pytest.raises(IncompleteError, match=r"words.csv: was changed while it was being made"):
        st.Audit.from_yaml(file).design()
    server.judge, asked = given, len(server.received)
    st.Audit.from_yaml(file).design()
    assert len(server.received) == asked
    assert "things,cup,a blue cup" in words.read_text()
