"""Phrases worded by a model: what is asked, which answers do, and what the rules word."""

import polars as pl
import pytest

from stereotrope.design import scenario_prompts, wording_of
from stereotrope.design.wording import worded_by, wording_problems, wording_question
from stereotrope.errors import MetadataError, UsageError

TEMPLATE = "{subject} who is {phrase}"
GROUPS = {"doing": {"form": "activity", "template": TEMPLATE, "phrases": ["bake bread", "call mom", "ski"]}}


@pytest.mark.parametrize(
    ("form", "phrase", "text", "words"),
    [
        ("activity", "clean the house", "a person is cleaning the house", "cleaning the house"),
        ("activity", "brush one's teeth", "'A person is brushing their teeth.'", "brushing their teeth"),
        ("activity", "call mom", "a person is calling mom", "calling mom"),
        ("place", "alley", "a person in the alley", "in the alley"),
        ("place", "church", " ‘a person in front of the church’ ", "in front of the church"),
        ("thing", "skis", "a person and skis", "skis"),
        ("thing", "airplane", "a person and an airplane", "an airplane"),
        (
            "job",
            "Carpet, floor, and tile installers and finishers",
            "'carpet installer'",
            "a carpet installer",
        ),
        (
            "job",
            "Embalmers, crematory operators, and funeral attendants",
            "funeral attendant",
            "a funeral attendant",
        ),
    ],
)
def test_answers_of_the_papers_kind_become_words_of_a_prompt(form, phrase, text, words):
    assert wording_problems({"text": text}, form=form, phrase=phrase) == []
    assert worded_by(form, text) == words


@pytest.mark.parametrize(
    ("form", "phrase", "text", "match"),
    [
        (
            "activity",
            "bake bread",
            "someone is baking bread",
            "must begin with 'a person is' and go on, found",
        ),
        ("activity", "bake bread", "a person is", "must begin with 'a person is' and go on"),
        ("activity", "bake bread", "a person is baking her bread", "must name no gender .* found 'her'"),
        ("activity", "call mom", "a person is calling mom and dad", "must name no gender .* found 'dad'"),
        ("activity", "ski", "a person is skiing\nHere you are", "must be one line of plain text"),
        ("activity", "ski", "a person is skiing " + "very " * 20, "must have at most 9 words, found 21"),
        ("activity", "ski", "a person is cooking", "must say the same, found no word of the phrase"),
        ("activity", "ski", "a person is =HYPERLINK(0,ski)", "must go on with a letter or a digit, found"),
        ("job", "Cooks", "+cook", "must go on with a letter or a digit, found"),
        ("place", "alley", "in the alley", "must begin with 'a person' and go on"),
        ("job", "Cooks", "", "must not be empty"),
    ],
)
def test_answers_that_break_a_rule_are_told_so(form, phrase, text, match):
    (problem,) = wording_problems({"text": text}, form=form, phrase=phrase)
    with pytest.raises(ValueError, match=match):
        raise ValueError(str(problem))


def test_joiners_and_quotes_within_words_are_kept_and_soft_hyphens_left_out():
    text = 'reading a p\u00adoem with \u0686\u200c\u0647 and "joy"'
    problems = wording_problems({"text": f"a person is {text}"}, form="activity", phrase="reading a poem")
    assert problems == []
    words = worded_by("activity", f'"a person is {text}".')
    assert words == 'reading a poem with \u0686\u200c\u0647 and "joy"'


def test_the_question_is_the_papers_with_its_examples_and_the_phrase():
    asked = wording_question("activity", "bake   bread")
    assert asked.system == "You are a helpful assistant that writes short sentences."
    assert "- 'a person is sleep' -> 'a person is sleeping'" in asked.text
    assert asked.text.endswith("'a person is bake bread' ->")
    assert wording_question("job", "Cooks").text.endswith("'Cooks' ->")


def worded(folder, text):
    (folder / "words.csv").write_text(text)
    return scenario_prompts({"groups": GROUPS, "wording": "words.csv"}, folder)


def test_words_of_the_file_are_taken_and_the_rules_word_the_rest(tmp_path):
    made = worded(
        tmp_path, "prompt_group,phrase,words,worded\ndoing,bake bread,baking a loaf,model\ndoing,ski,,rules\n"
    )
    assert made.prompts["text"].to_list() == [
        "a person who is baking a loaf",
        "a person who is calling mom",
        "a person who is skiing",
    ]
    assert made.notes[0].startswith("prompts doing: 3 phrases, 2 worded by rules (form activity, lemminflect")
    assert made.notes[0].endswith("1 of words.csv")


def test_words_that_stand_beside_a_phrase_come_first(tmp_path):
    (tmp_path / "words.csv").write_text("prompt_group,phrase,words\ndoing,ski,skating\n")
    groups = {"doing": {**GROUPS["doing"], "phrases": {"ski": "skiing downhill"}}}
    made = scenario_prompts({"groups": groups, "wording": "words.csv"}, tmp_path)
    assert made.prompts["text"].to_list() == ["a person who is skiing downhill"]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("phrase,words\nski,skiing\n", r"words.csv:1: no column 'prompt_group' \(words for phrases\)"),
        (
            "prompt_group,phrase,words\n,ski,skiing\n",
            r"words.csv:2: columns 'prompt_group' and 'phrase' must be",
        ),
    ],
)
def test_a_file_of_words_that_cannot_be_used_is_told_with_its_line(tmp_path, text, match):
    with pytest.raises(MetadataError, match=match):
        worded(tmp_path, text)


def test_a_file_that_is_not_there_and_a_wording_without_one_are_refused(tmp_path):
    with pytest.raises(UsageError, match=r"no file 'none.csv' .* `stereotrope design AUDIT.yaml` makes it"):
        scenario_prompts({"groups": GROUPS, "wording": "none.csv"}, tmp_path)
    with pytest.raises(
        UsageError, match=r"wording must name a file, found \{'model': 'openai:m'\}; write wording"
    ):
        wording_of({"wording": {"model": "openai:m"}}, tmp_path)


def test_only_phrases_without_a_row_are_asked_about_and_what_is_left_to_the_rules_is_counted():
    answers = {
        "bake bread": {"status": "ok", "content": {"text": "a person is baking bread"}, "reason": None},
        "ski": {"status": "refused", "content": None, "reason": "no"},
    }
    seen = []

    def ask(asker, items, then=()):
        seen.extend(items.values())
        return {
            key: next(answer for phrase, answer in answers.items() if f"is {phrase}'" in question.text)
            for key, question in items.items()
        }

    words = wording_of({"wording": {"file": "words.csv", "model": "openai:m"}}, ".")
    phrases = pl.DataFrame(
        [("doing", "activity", "bake bread"), ("doing", "activity", "ski"), ("own", "as_written", "x")],
        schema=["prompt_group", "form", "phrase"],
        orient="row",
    )
    made = words.make(phrases, None, ask)
    assert made.rows.rows() == [
        ("doing", "bake bread", "baking bread", "model"),
        ("doing", "ski", None, "rules"),
    ]
    assert made.notes == ("words.csv: 1 phrases worded by m, 1 left to the rules (1 × no)",)
    again = words.make(phrases, made.rows, ask)
    assert again.rows is None
    assert len(seen) == 2


def test_a_phrase_with_two_different_words_is_told_by_its_line(tmp_path):
    text = "prompt_group,phrase,words\ndoing,ski,skiing\ndoing,ski,\ndoing,ski,{}\n"
    assert worded(tmp_path, text.format("skiing")).prompts["text"].to_list()[-1].endswith("is skiing")
    with pytest.raises(
        MetadataError, match=r"words\.csv:4: 'ski' has the words 'skiing' already; leave one of"
    ):
        worded(tmp_path, text.format("going to ski"))
