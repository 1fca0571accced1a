from __future__ import annotations

import json
import math

import pytest
from tests.clients.conftest import GOOD, SCHEMA

from stereotrope.clients import Problem
from stereotrope.clients.structured import confidences_of, read_answer

TEXT = json.dumps(GOOD)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"  \n{TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```",
        f"Here it is:\n```json\n{TEXT}\n```\nAnything else?",
        f"<think>It {{may}} be red. ```no```</think>\n{TEXT}",
    ],
)
def test_an_object_is_found_and_unwrapped(text):
    found = read_answer(text, SCHEMA)
    assert (found.content, found.problems) == (GOOD, ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("I see a red cup.", "not JSON"),
        (TEXT[:-4], "not JSON"),
        (f"{TEXT}{TEXT}", "not JSON"),
        (f"Sure: {TEXT}", "not JSON"),
        (f"```json\n{TEXT}", "not JSON"),
        ("", "empty"),
        ("  \n", "empty"),
        ('{"colour": NaN, "text": "absent"}', "NaN is no number in JSON"),
        ('{"colour": Infinity, "text": "absent"}', "Infinity is no number in JSON"),
        ("[1, 2]", "must be a JSON object, found a list"),
        ('"red"', "must be a JSON object, found a text"),
        ("null", "must be a JSON object, found null"),
        ("true", "must be a JSON object, found true or false"),
        ("7", "must be a JSON object, found a number"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_object_has_no_content(text, problem):
    found = read_answer(text, SCHEMA)
    assert found.content is None
    assert problem in str(found.problems[0])
    assert found.problems[0].path == ()


def test_each_problem_says_where_it_is():
    found = read_answer('{"colour": "mauve", "size": 3}', SCHEMA)
    assert set(found.problems) == {
        Problem(("colour",), 'must be one of "red", "blue", "unclear"; found "mauve"'),
        Problem(("size",), "not asked for"),
        Problem(("text",), "missing"),
    }
    assert found.content == {"colour": "mauve", "size": 3}


def test_of_many_problems_no_property_loses_all_of_its_own():
    """What stands behind the hundredth mistake is no less wrong for it."""
    part = {"type": "array", "items": {"type": "integer"}}
    schema = {"type": "object", "properties": dict.fromkeys("abc", part)}
    content = {"a": ["x"] * 500, "A": 1, "b": ["x"] * 500, **{f"b{i}": 1 for i in range(500)}, "c": "x"}
    problems = read_answer(json.dumps(content), schema | {"additionalProperties": False}).problems
    assert {"a", "b", "c"} <= {problem.path[0] for problem in problems}
    assert len(problems) < 80


def test_a_missing_item_leaves_the_others_sound():
    found = read_answer('{"colour": "red"}', SCHEMA)
    assert found.problems == (Problem(("text",), "missing"),)


def test_a_wrong_type_is_named():
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}
    assert read_answer('{"n": "one"}', schema).problems == (
        Problem(("n",), "must be of type integer, found a text"),
    )
    assert "breaks the rule minimum 1; found 0" in str(read_answer('{"n": 0}', schema).problems[0])


def test_names_given_twice_are_a_problem_and_the_first_counts():
    found = read_answer('{"colour": "red", "text": "absent", "colour": "blue"}', SCHEMA)
    assert found.problems == (Problem(("colour",), "given more than once"),)
    assert found.content["colour"] == "red"


def test_names_given_twice_inside_are_a_problem_too():
    found = read_answer('{"a": {"b": 1, "b": 2}}', {"type": "object"})
    assert found.problems == (Problem(("b",), "given more than once"),)


def test_a_cut_answer_is_a_problem_whatever_it_says():
    assert read_answer(TEXT, SCHEMA, cut=True).problems == (Problem((), "cut at max_tokens"),)
    assert len(read_answer(TEXT[:9], SCHEMA, cut=True).problems) == 2


def test_problems_are_inert_and_few():
    text = json.dumps({f"\x1b[31m{number}" + "y" * 500: 1 for number in range(500)})
    found = read_answer(text, SCHEMA)
    assert len(found.problems) <= 50
    assert all(str(problem).isprintable() and len(str(problem)) < 700 for problem in found.problems)


def tokens(*pairs):
    return [{"token": token, "logprob": logprob} for token, logprob in pairs]


def test_the_probability_of_a_value_is_that_of_its_tokens():
    text = '{"colour": "dark red", "n": 12, "ok": true}'
    found = confidences_of(
        text,
        tokens(
            ('{"', -9), ("colour", -9), ('": "', -9), ("dark", -0.1), (" red", -0.2), ('", "', -9),
            ("n", -9), ('": ', -9), ("1", -0.3), ("2", -0.4), (', "ok": ', -9), ("true", -0.5), ("}", -9),
        ),
    )  # fmt: skip
    assert found == pytest.approx({"colour": math.exp(-0.3), "n": math.exp(-0.7), "ok": math.exp(-0.5)})


def test_tokens_within_a_letter_are_counted_by_their_bytes():
    text = '{"a": "é", "b": "x"}'
    pieces = [b'{"a": "', b"\xc3", b"\xa9", b'", "b": "', b"x", b'"}']
    given = [{"token": "?", "bytes": list(piece), "logprob": -0.5} for piece in pieces]
    assert confidences_of(text, given) == pytest.approx({"a": math.exp(-1), "b": math.exp(-0.5)})


def test_a_fenced_answer_has_probabilities_too():
    text = '```json\n{"a": "red"}\n```'
    given = tokens(("```json\n", -9), ('{"a": "', -9), ("red", -0.25), ('"}\n```', -9))
    assert confidences_of(text, given) == pytest.approx({"a": math.exp(-0.25)})


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        tokens(("something else", -1)),
        [{"token": TEXT}],
        [{"token": TEXT, "logprob": None}],
        [{"token": TEXT, "logprob": float("nan")}],
        ["text"],
    ],
)
def test_without_fitting_tokens_there_is_no_probability(given):
    assert confidences_of(TEXT, given) == {}


def test_a_probability_is_at_most_one_and_minus_infinity_is_zero():
    assert confidences_of('{"a": 1}', tokens(('{"a": ', 0), ("1", 0.5), ("}", 0))) == {"a": 1.0}
    assert confidences_of('{"a": 1}', tokens(('{"a": ', 0), ("1", -math.inf), ("}", 0))) == {"a": 0.0}


def test_what_a_question_allows_is_never_taken_for_the_key_and_all_else_is():
    key = "light-skinned-middle-aged-woman"
    shade = {"type": "string", "enum": [key, "other"]}
    schema = {"type": "object", "properties": {"shade": shade, "note": {"type": "string"}}}
    said = {"shade": key, "note": f"the key is {key}", f"x{key}": 1}
    content = read_answer(json.dumps(said), schema, secret=key).content
    assert content == {"shade": key, "note": "the key is [key]", "x[key]": 1}


@pytest.mark.parametrize("word", ["red", "present", "e", "EMPTY", "12"])
def test_a_key_that_is_a_word_rewrites_no_answer(word):
    schema = {"type": "object", "properties": {"colour": {"type": "string"}}}
    said = {"colour": f"{word} and more of {word}"}
    assert read_answer(json.dumps(said), schema, secret=word).content == said


@pytest.mark.parametrize("number", ["1e999", "-1e400", "1e99999"])
def test_a_number_without_end_is_none(number):
    found = read_answer(f'{{"n": {number}}}', {"type": "object"})
    assert found.content is None
    assert f"{number} is no number in JSON" in str(found.problems[0])


@pytest.mark.parametrize(
    ("logprob", "confidence"),
    [(-(10**400), 0.0), (-1e308, 0.0), (10**400, None), (True, None), ("-0.5", None), ([], None), ({}, None)],
)
def test_no_log_probability_upsets_it(logprob, confidence):
    given = tokens(('{"a": ', 0), ("1", logprob), ("}", 0))
    assert confidences_of('{"a": 1}', given) == ({} if confidence is None else {"a": confidence})


@pytest.mark.parametrize("raw", [10**9, 10**400, [300], [-1], ["x"], {"1": 1}, "ab", 1.5])
def test_bytes_that_are_none_are_no_token(raw):
    given = [{"token": "x", "bytes": raw, "logprob": -1}]
    assert confidences_of('{"a": 1}', given) == {}
