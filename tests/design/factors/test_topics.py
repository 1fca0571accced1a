"""Topics: which questions are asked of which scenarios, once, and what stays as people left it."""

from importlib.util import find_spec

import pytest
from tests.conftest import require
from typer.testing import CliRunner

import stereotrope as st
from stereotrope.cli import app
from stereotrope.design import scenario_prompts
from stereotrope.design.factors import factor_file
from stereotrope.errors import AuditFileError, IncompleteError, UsageError
from stereotrope.testing import Loopback

CHORES = ("washing the dishes", "mopping the floor")
AUDIT = """\
prompts:
  groups:
    activities:
      form: activity
      template: '{subject} who is {phrase}'
      phrases: [wash the dishes, mop the floor, ski, teach a class]
    contexts: {form: place, template: '{subject} {phrase}', phrases: [office, beach]}
    objects: {form: thing, template: '{subject} and {phrase}', phrases: [cup, car]}
factors:
  - topics: topics.csv
    model: {model: 'openai:m', tries: 1, base_url: 'URL', price: {call: 0.01}}
generators: [{images: 'openai:x', base_url: 'URL', price: 0}]
"""


def judged(question):
    if "household chore" in question.text:
        return {"answer": "yes" if any(chore in question.text for chore in CHORES) else "no"}
    if "office work" in question.text:
        return {"answer": "yes" if "in the office" in question.text else "no"}
    return (
        None
        if "at the beach" in question.text
        else {"answer": "yes" if "teaching" in question.text else "no"}
    )


@pytest.fixture
def served(tmp_path):
    with Loopback(judge=judged) as server:
        (tmp_path / "audit.yaml").write_text(AUDIT.replace("URL", server.url))
        yield server, tmp_path / "audit.yaml"


def test_each_group_is_asked_its_questions_and_the_answers_are_factors(served):
    server, file = served
    notes = st.Audit.from_yaml(file).design()
    assert len(server.received) == 2 * 4 + 2 * 2
    prompts = st.Audit.from_yaml(file).plan().prompts
    of = {row["scenario"]: row for row in prompts.iter_rows(named=True)}
    levels = {name: [row[name] for row in of.values()] for name in ("household_chore", "paid_work", "office")}
    assert levels == {
        "household_chore": ["yes", "yes", "no", "no", *["not asked"] * 4],
        "paid_work": ["no", "no", "no", "yes", "no", "unclear", *["not asked"] * 2],
        "office": [*["not asked"] * 4, "yes", "no", *["not asked"] * 2],
    }
    assert notes[0].startswith("topics.csv: 12 questions answered by m, 1 of them unclear (1 × I'm sorry")
    assert notes[1] == "topics.csv: household_chore: 2 yes, 2 no, 0 unclear, 4 not asked"


def test_the_questions_are_those_of_the_paper_about_the_words_of_a_scenario(served):
    server, file = served
    st.Audit.from_yaml(file).design()
    asked = {tuple(m["content"] for m in each.body["messages"]) for each in server.received}
    system = "You are a helpful assistant that writes short sentences."
    assert (
        system,
        "Is the following activity considered a household chore: skiing.\nAnswer yes or no",
    ) in asked
    assert (
        system,
        "Is the following place related to paid work or money-making (not household work, shopping, or "
        "hobbies): in the office. Answer yes or no.",
    ) in asked


def test_nothing_is_asked_twice_and_a_file_that_is_whole_is_left_alone(served):
    server, file = served
    st.Audit.from_yaml(file).design()
    made = (file.parent / "topics.csv").read_text()
    asked = len(server.received)
    edited = made.replace("teaching a class,no,yes", "teaching a class,no,no")
    assert edited != made
    (file.parent / "topics.csv").write_text(edited)
    assert st.Audit.from_yaml(file).design() == ["topics.csv: every one of 8 is answered"]
    assert (file.parent / "topics.csv").read_text() == edited
    (file.parent / "topics.csv").unlink()
    st.Audit.from_yaml(file).design()
    assert (file.parent / "topics.csv").read_text() == made
    assert len(server.received) == asked


def test_further_scenarios_and_questions_are_asked_alone(served):
    server, file = served
    st.Audit.from_yaml(file).design()
    asked = len(server.received)
    text = file.read_text().replace("ski, teach", "ski, iron a shirt, teach")
    chore = "household_chore: {activities: 'Is it a household chore: {phrase}?'}"
    more = f"    questions: {{{chore}, red: 'Is {{phrase}} red?'}}\n"
    file.write_text(text.replace("generators:", f"{more}generators:"))
    server.judge = lambda question: {"answer": "no"}
    st.Audit.from_yaml(file).design()
    assert len(server.received) - asked == 1 + 9
    rows = (file.parent / "topics.csv").read_text().splitlines()
    assert rows[0] == "prompt_group,scenario,household_chore,paid_work,office,red"
    assert "activities,a person who is washing the dishes,yes,no,not asked,no" in rows


def test_a_plan_says_how_many_questions_and_their_price(served):
    server, file = served
    run = CliRunner().invoke(app, ["design", str(file), "--plan"])
    assert run.exit_code == 0, run.output
    assert "Price: $0.12 for what is left" in run.output
    assert not server.received


def test_a_server_that_fails_changes_no_file_and_the_same_command_goes_on(served):
    server, file = served
    server.misbehave("server_error", times=3)
    with pytest.raises(IncompleteError, match=r"3 of 12 missing: .* the same command tries again"):
        st.Audit.from_yaml(file).design()
    assert not (file.parent / "topics.csv").exists()
    st.Audit.from_yaml(file).design()
    assert len(server.received) == 12 + 3


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (
            "questions: [household]",
            r"questions must list ready questions, found .* there is: household_chore, paid_work",
        ),
        ("questions: {red: 'Is it red?'}", r"questions must hold \{phrase\} in every question, found"),
        ("questions: 3", "questions must be a list of ready questions, or a mapping"),
    ],
)
def test_questions_that_cannot_be_asked_are_told(more, match):
    import ruamel.yaml

    entry = {"topics": "t.csv", "model": "openai:m", **ruamel.yaml.YAML(typ="safe").load(more)}
    with pytest.raises(UsageError, match=match):
        factor_file(entry)


def test_a_model_is_needed(served):
    _, file = served
    text = file.read_text()
    start, end = text.index("    model:"), text.index("generators:")
    file.write_text(text[:start] + text[end:])
    with pytest.raises(AuditFileError, match=r"audit.yaml:\d+: factors topics: model is missing"):
        st.Audit.from_yaml(file).design()


def test_prompts_that_have_nothing_to_ask_about_are_refused():
    prompts = scenario_prompts(
        {"groups": {"g": {"template": "{subject} {phrase}", "phrases": ["x"]}}}, "."
    ).prompts.with_columns(scenario=None)
    with pytest.raises(UsageError, match=r"topics.csv: no prompt has a scenario to ask about"):
        factor_file({"topics": "topics.csv", "model": "openai:m"}).make(prompts, None, None)


def test_what_a_topic_holds_is_clustered_by_itself_and_edits_of_either_file_count(served):
    require(all(map(find_spec, ("sklearn", "wordllama"))), "scikit-learn and wordllama are not installed")
    server, file = served
    more = "  - {clusters: chores.csv, name: household_chore_cluster, where: {household_chore: yes}}\n"
    file.write_text(file.read_text().replace("generators:", f"{more}generators:"))
    told = CliRunner().invoke(app, ["design", str(file), "--plan"])
    assert told.exit_code == 0, told.output
    notes = st.Audit.from_yaml(file).design()
    assert "chores.csv: activities: no clusters in 2, all stand in one" in notes
    table = file.parent / "chores.csv"
    assert table.read_text().splitlines()[1:] == [
        "activities,a person who is washing the dishes,all activities,none",
        "activities,a person who is mopping the floor,all activities,none",
    ]
    topics = file.parent / "topics.csv"
    topics.write_text(topics.read_text().replace("skiing,no", "skiing,yes"))
    table.write_text(table.read_text().replace("dishes,all activities", "dishes,wet chores"))
    notes = st.Audit.from_yaml(file).design()
    assert "chores.csv: activities: 1 added to 1 clusters that are there" in notes
    prompts = st.Audit.from_yaml(file).plan().prompts
    placed = dict(prompts.select("scenario", "household_chore_cluster").drop_nulls().iter_rows())
    assert placed["a person who is washing the dishes"] == "wet chores"
    assert len(placed) == 3
    assert len(server.received) == 12
    topics.write_text(topics.read_text().replace("skiing,yes", "skiing,no"))
    prompts = st.Audit.from_yaml(file).plan().prompts
    assert prompts["household_chore_cluster"].drop_nulls().n_unique() == 2
