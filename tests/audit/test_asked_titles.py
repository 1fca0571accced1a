"""Titles of clusters by a model on the loopback server: asked once, held to the rules, within a cap."""

from importlib.util import find_spec

import pytest
from tests.conftest import require
from tests.design.factors.planted import phrases
from typer.testing import CliRunner

import stereotrope as st
from stereotrope.cli import app
from stereotrope.errors import AuditFileError, BudgetError, IncompleteError
from stereotrope.testing import Loopback

TOPICS = {"cook": "Cooking", "bak": "Cooking", "clean": "Cleaning", "wash": "Cleaning", "fix": "Repair"}


def titled(question):
    """The server's title: by the first word that it knows, in one case or another."""
    words = next((title for word, title in TOPICS.items() if word in question.text.split("\n\n")[1]), "Other")
    return {"title": f"{words} activities"}


@pytest.fixture
def served(tmp_path, monkeypatch):
    packages = ("sklearn", "umap", "wordllama")
    require(all(map(find_spec, packages)), f"{', '.join(packages)} are not all installed")
    from stereotrope.design.factors import _reduction

    # Vectors are clustered as they are: UMAP takes half a minute to load, and tests/design/factors have it.
    monkeypatch.setattr(_reduction, "FEWEST", 1_000)
    with Loopback(judge=titled) as server:
        listed = ", ".join(phrases()[0])
        (tmp_path / "audit.yaml").write_text(
            "prompts:\n  groups:\n    activities:\n      form: activity\n"
            f"      template: '{{subject}} who is {{phrase}}'\n      phrases: [{listed}]\n"
            "generators: [calibrated]\n"
            "factors:\n  - clusters: clusters.csv\n    titles: {model: 'openai:m', tries: 1, "
            f"base_url: '{server.url}', price: {{call: 0.01}}}}\n"
        )
        yield server, tmp_path / "audit.yaml"


def n_calls(server):
    return sum(each.kind == "chat" for each in server.received)


def test_each_cluster_is_asked_about_once_and_equal_titles_are_one_cluster(served):
    server, file = served
    notes = st.Audit.from_yaml(file).design()
    rows = (file.parent / "clusters.csv").read_text().splitlines()
    titles = {row.split(",")[2] for row in rows[1:]}
    assert titles <= {f"{title} activities" for title in (*TOPICS.values(), "Other")}
    assert "clusters.csv: titles by m" in notes
    asked = n_calls(server)
    assert asked > len(titles)
    (file.parent / "clusters.csv").unlink()
    st.Audit.from_yaml(file).design()
    assert (file.parent / "clusters.csv").read_text().splitlines() == rows
    assert n_calls(server) == asked


def test_the_question_is_that_of_the_paper_with_the_phrases_a_line_each(served):
    server, file = served
    st.Audit.from_yaml(file).design()
    text = next(e for e in server.received if e.kind == "chat").body["messages"][-1]["content"]
    assert text.startswith("Consider the following activities:\n\n")
    assert "- The title should end with activities." in text
    assert text.endswith("Your summary:")
    assert "a person" not in text


def test_titles_that_break_the_rules_are_repaired_or_words_take_their_place(served):
    server, file = served
    answers = iter([{"title": "A much too long title of activities"}, {"title": "Good activities"}])
    server.judge = lambda question: next(answers, {"title": "=cmd activities"})
    notes = st.Audit.from_yaml(file).design()
    told = next(note for note in notes if "titles by m" in note)
    assert "by their words" in told
    assert "title: must begin with a letter or a digit" in told
    rows = (file.parent / "clusters.csv").read_text()
    assert "Good activities" in rows
    assert "=cmd" not in rows


def test_a_model_that_declines_leaves_the_titles_to_the_words(served):
    server, file = served
    server.judge = lambda question: None
    notes = st.Audit.from_yaml(file).design()
    assert any("× I'm sorry" in note for note in notes)
    assert (file.parent / "clusters.csv").is_file()


def test_a_plan_says_calls_and_price_and_asks_nothing(served):
    server, file = served
    run = CliRunner().invoke(app, ["design", str(file), "--plan"])
    assert run.exit_code == 0, run.output
    assert "design  m" in run.output
    assert "Price: $0." in run.output
    assert "`--max-cost` sets a cap" in run.output
    assert not server.received
    st.Audit.from_yaml(file).design()
    (file.parent / "clusters.csv").unlink()
    again = CliRunner().invoke(app, ["design", str(file), "--plan"])
    assert "Price: $0. No model has anything left to do." in again.output


def test_a_cap_keeps_what_was_paid_for_and_changes_no_file(served):
    server, file = served
    with pytest.raises(BudgetError, match=r"cap of 0.0300 US dollars .* What was answered is kept; the same"):
        st.Audit.from_yaml(file).design(max_cost=0.03)
    assert not (file.parent / "clusters.csv").exists()
    paid = n_calls(server)
    assert 0 < paid <= 3
    st.Audit.from_yaml(file).design(max_cost=1)
    whole = n_calls(server)
    (file.parent / "audit.answers.db").unlink()
    (file.parent / "clusters.csv").unlink()
    st.Audit.from_yaml(file).design()
    assert n_calls(server) == 2 * whole


def test_a_server_that_does_not_answer_leaves_the_file_as_it_was(served):
    server, file = served
    server.misbehave("server_error", times=1000)
    with pytest.raises(IncompleteError, match="What was answered is kept; the same command tries again"):
        st.Audit.from_yaml(file).design()
    assert not (file.parent / "clusters.csv").exists()


@pytest.mark.parametrize(
    ("titles", "match"),
    [
        ("gpt-4o", r"audit.yaml:\d+: a model is named provider:model, such as openai:gpt-4o; found 'gpt-4o'"),
        ("{base_url: x}", "titles: model is missing"),
        (
            "{model: 'openai:m', messages: []}",
            "'messages' cannot be set as a parameter: the question",
        ),
    ],
)
def test_a_model_that_cannot_be_asked_is_told_with_its_line(served, titles, match):
    _, file = served
    text = file.read_text()
    file.write_text(text[: text.index("    titles:")] + f"    titles: {titles}\n")
    with pytest.raises(AuditFileError, match=match):
        st.Audit.from_yaml(file).design()
