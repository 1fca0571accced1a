"""Groups of phrases under ``prompts``: what stands there, what the suite gives, and mistakes."""

import pytest

import stereotrope as st
from stereotrope.design import SCENARIO_FACTORS, scenario_prompts
from stereotrope.errors import AuditFileError, MetadataError, UsageError

TEMPLATE = "{subject} who is {phrase}"
SUITE = {
    "subjects": ["a person", "someone"],
    "groups": {
        "doing": {"form": "activity", "template": TEMPLATE, "phrases": "doing.csv"},
        "with": {"form": "thing", "template": "{subject} and {phrase}", "phrases": ["axe", "skis"]},
    },
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "doing.csv").write_text("phrase\nbake a cake\nrun\nlie down\nsing\n")
    return tmp_path


def test_each_phrase_is_said_of_each_subject_and_the_first_names_the_scenario():
    made = scenario_prompts(
        {"subjects": ["a person", "a friend"], "groups": {"g": SUITE["groups"]["with"]}}, "."
    )
    assert tuple(made.prompts.columns[1:4]) == SCENARIO_FACTORS
    assert made.prompts.select(*SCENARIO_FACTORS, "text").rows() == [
        ("g", "a person and an axe", "a person", "a person and an axe"),
        ("g", "a person and an axe", "a friend", "a friend and an axe"),
        ("g", "a person and skis", "a person", "a person and skis"),
        ("g", "a person and skis", "a friend", "a friend and skis"),
    ]


def test_what_is_silent_is_the_suites(folder):
    made = scenario_prompts({}, ".", suite=SUITE, suite_base=folder)
    assert made.prompts["scenario"].n_unique() == 6
    assert made.prompts.height == 12
    assert scenario_prompts({"groups": ["with"]}, ".", suite=SUITE, suite_base=folder).prompts.height == 4
    own = scenario_prompts(
        {"subjects": ["I"], "groups": {"with": ["cups"]}}, ".", suite=SUITE, suite_base=folder
    )
    assert own.prompts["text"].to_list() == ["I and cups"]


def test_a_number_takes_phrases_evenly_from_the_suites_list(folder):
    made = scenario_prompts({"groups": {"doing": 2}}, ".", suite=SUITE, suite_base=folder)
    assert made.prompts["scenario"].unique(maintain_order=True).to_list() == [
        "a person who is baking a cake",
        "a person who is lying down",
    ]


def test_words_that_are_given_are_taken_as_they_are_and_a_note_says_which_way(folder):
    given = {"groups": {"doing": {"phrases": {"bake": "bakes no bread"}}, "with": ["axe"]}}
    made = scenario_prompts(given, ".", suite=SUITE, suite_base=folder)
    assert made.prompts["text"][0] == "a person who is bakes no bread"
    assert made.notes[0] == "prompts doing: 1 phrase, words given"
    assert made.notes[1].startswith("prompts with: 1 phrase, worded by rules (form thing, lemminflect ")


def test_a_file_beside_the_audit_may_name_its_column(folder):
    (folder / "own.csv").write_text("what,why\nski,fun\nrun,by running\n")
    given = {
        "groups": {"doing": {"phrases": {"file": "own.csv", "column": "what"}}},
        "subjects": ["a person"],
    }
    made = scenario_prompts(given, folder, suite=SUITE, suite_base=folder)
    assert made.prompts["text"].to_list() == ["a person who is skiing", "a person who is running"]
    given["groups"]["doing"]["phrases"]["words"] = "why"
    made = scenario_prompts(given, folder, suite=SUITE, suite_base=folder)
    assert made.prompts["text"].to_list() == ["a person who is fun", "a person who is by running"]


def test_words_that_a_file_leaves_empty_are_made_by_rules(folder):
    (folder / "own.csv").write_text("phrase,words\nski,\nrun,jogging\n")
    given = {"groups": {"doing": {"phrases": {"file": "own.csv", "words": "words"}}}}
    made = scenario_prompts(given, folder, suite=SUITE, suite_base=folder)
    assert made.prompts["scenario"].unique(maintain_order=True).to_list() == [
        "a person who is skiing",
        "a person who is jogging",
    ]
    assert made.notes[0].startswith("prompts doing: 2 phrases, 1 worded by rules (form activity, lemminflect")
    assert made.notes[0].endswith("), 1 given")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": {"g": ["run"]}}, "group 'g' needs a template; write it as"),
        (
            {"groups": {"g": {"template": "{subject}", "phrases": ["run"]}}},
            "must hold {subject} and {phrase}",
        ),
        (
            {"groups": {"g": {"template": TEMPLATE, "form": "thong", "phrases": ["a"]}}},
            "no form 'thong'; there is",
        ),
        ({"groups": {"g": {"template": TEMPLATE}}}, "group 'g' has no phrases; list them"),
        ({"groups": {"g": {"template": TEMPLATE, "phrases": 3}}}, "group 'g' has no phrases; list them"),
        ({"groups": {"g": {"template": TEMPLATE, "phrases": 0}}}, "must be at least 1"),
        ({"groups": {"g": {"template": TEMPLATE, "phrases": ["run", "run"]}}}, "lists 'run' twice"),
        (
            {"groups": {"g": {"template": TEMPLATE, "phrases": "no.csv"}}},
            "no file 'no.csv' there; check the name",
        ),
        (
            {"groups": {"g": {"template": TEMPLATE, "phrases": {"file": "a", "col": "b"}}}},
            "takes file, column and words",
        ),
        ({"groups": {"g": {"template": TEMPLATE, "phrases": ["..."]}}}, "leaves no words"),
        ({"groups": {"g": {"template": TEMPLATE, "phrases": ["\u200b"]}}}, "leaves no words"),
        ({"groups": {"g": {"template": TEMPLATE, "phrases": {"ski": "- \u202e"}}}}, "leaves no words"),
        (
            {"groups": {"g": {"template": TEMPLATE, "phrase": ["a"]}}},
            "unknown key 'phrase'; did you mean 'phrases'",
        ),
        ({"subjects": ["x"]}, "there is no group of phrases"),
        ({"subject": ["x"], "groups": ["g"]}, "unknown key 'subject'; did you mean 'subjects'"),
    ],
)
def test_a_mistake_says_what_to_do(given, message):
    with pytest.raises(UsageError) as told:
        scenario_prompts(given, ".")
    assert message in str(told.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"groups": ["wiht"]},
            "group 'wiht' needs form, template and phrases, or a name of the suite's; did you mean",
        ),
        ({"groups": {"doing": 9}}, "the suite has 4 phrases, found 9; lower it"),
    ],
)
def test_a_group_that_the_suite_lacks_is_told(folder, given, message):
    with pytest.raises(UsageError) as told:
        scenario_prompts(given, ".", suite=SUITE, suite_base=folder)
    assert message in str(told.value)


def test_two_groups_cannot_make_one_prompt():
    group = SUITE["groups"]["with"]
    with pytest.raises(UsageError, match="stands for prompt_group=a"):
        scenario_prompts({"groups": {"a": group, "b": group}}, ".")


def test_a_file_with_an_empty_phrase_is_told_by_its_line(folder):
    (folder / "own.csv").write_text("phrase,note\nrun,\n,x\n")
    text = "suite: everyday\ngenerators: [calibrated]\nprompts: {groups: {activities: own.csv}}\n"
    with pytest.raises(AuditFileError, match=r"audit.yaml:3: prompts: own.csv:3: column 'phrase' must hold"):
        st.Audit.from_text(text, base=folder).plan()


def test_a_phrase_that_stands_twice_with_other_words_is_told_by_its_line(folder):
    (folder / "twice.csv").write_text("phrase,words\nski,skiing\nski,\nski,skiing\nski,going skiing\n")
    given = {"groups": {"g": {"template": TEMPLATE, "phrases": {"file": "twice.csv", "words": "words"}}}}
    with pytest.raises(
        MetadataError, match=r"twice\.csv:5: 'ski' stands in line 2 with other words; leave one"
    ):
        scenario_prompts(given, folder)
    (folder / "twice.csv").write_text("phrase,words\nski,\nski,skiing\n")
    assert scenario_prompts(given, folder).prompts["text"].to_list()[0].endswith("skiing")
