from __future__ import annotations

import pytest

from stereotrope import annotate
from stereotrope.errors import InputError, UsageError


def made(**options):
    return annotate.create({"questions": "openai:gpt-4o", **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"questions": [7]},
            "annotator questions: questions must be a text, found \\[7\\]; put it in quotes",
        ),
        ({"questions": "gpt-4o"}, "a model is named provider:model"),
        ({"questions": "opanai:gpt-4o"}, "unknown provider 'opanai'; did you mean 'openai'"),
        ({"temprature": 0}, r"unknown key 'temprature'; did you mean 'temperature'\?"),
        ({"atributes": {}}, "unknown key 'atributes'; did you mean 'attributes'"),
        ({"basurl": "x", "base-url": "x"}, "unknown key"),
        ({7: 1}, "a key must be a text, found 7"),
        ({"constraints": "openai:gpt-4o"}, "an entry is one of them, found questions and constraints"),
        ({"api_key": "sk-secret"}, "'api_key' does not belong into an audit file"),
        ({"messages": []}, "'messages' cannot be set"),
        ({"parameters": {"stream": True}}, "'stream' cannot be set"),
        (
            {"response_format": "xml"},
            "response_format must be 'json_schema', 'json_object' or 'text', found 'xml'",
        ),
        ({"response_format": {"type": "text"}}, "response_format must be 'json_schema', "),
        ({"parameters": {"response_format": "text"}}, "cannot be set as a parameter: .*; write it there"),
        ({"parameters": [1]}, r"parameters must be a mapping, found \[1\]"),
        ({"top_p": float("nan")}, "parameter 'top_p' must be a JSON value .*, found float"),
        ({"stop": object()}, "parameter 'stop' must be a JSON value .*, found object"),
        (
            {"attributes": ["a"]},
            r"attributes must be a mapping, found \['a'\]; write attributes: \{body_type: ",
        ),
        (
            {"attributes": {"a": None}},
            "attributes has no values for 'a', found a mapping; list them, or write open",
        ),
        ({"attributes": {}}, "annotator 'gpt-4o': attributes: must name at least one attribute"),
        ({"attributes": {"a": ["x"]}}, "annotator 'gpt-4o': attributes: 'a': must list at least 2 values"),
        ({"discover": "yes"}, "discover must be true or false, found 'yes'"),
        ({"logprobs": 1}, "logprobs must be true or false, found 1"),
        ({"temperature": "hot"}, "temperature must be a number, found 'hot'"),
        (
            {"temperature": float("inf")},
            "temperature must be a finite number, found inf",
        ),
        ({"max_tokens": 0}, "max_tokens must be at least 1, found 0"),
        ({"seed": 1.5}, "seed must be a whole number, found 1.5"),
        ({"order_seed": True}, "order_seed must be a whole number, found True"),
        ({"max_side": 10}, "max_side must be at least 64, found 10"),
        ({"subject": [7]}, r"subject must be a text, found \[7\]"),
        ({"name": ""}, "name must not be empty, found ''"),
        ({"name": "a\u200bx"}, "name must be printable, found 'a"),
        ({"name": "a\x1b[2J"}, "name must be printable"),
        ({"price": "cheap"}, "price"),
        ({"concurrency": 0}, "concurrency must be a whole number from 1, found 0"),
        ({"base_url": "ftp://x"}, "base_url must be the http or https address"),
        ({"taxonomy": ""}, "taxonomy must not be empty"),
    ],
)
def test_mistakes_are_named(options, message):
    with pytest.raises(UsageError, match=message):
        annotate.create({"questions": "openai:gpt-4o", **options})


@pytest.mark.parametrize("kind", ["questions", "constraints", "caption"])
def test_the_format_can_be_set_and_is_part_of_the_instrument(kind):
    def annotator(**options):
        return annotate.create({kind: "openai:gpt-4o", **options})

    formats = ["json_schema", "json_object", "text"]
    prints = {annotator(response_format=each).fingerprint for each in formats}
    assert len(prints | {annotator().fingerprint}) == 4
    assert annotator(response_format=None).fingerprint == annotator(response_format="text").fingerprint


def test_a_secret_is_never_repeated():
    with pytest.raises(UsageError) as caught:
        made(key="sk-proj-sentinel4711sentinel4711")
    assert "sentinel" not in str(caught.value)
    with pytest.raises(UsageError) as caught:
        made(token="sentinel4711")
    assert "sentinel" not in str(caught.value)


def test_other_keys_go_to_the_model_as_parameters(judging):
    annotator = judging.annotator(
        top_p=0.5, reasoning_effort="low", parameters={"name": "x"}, max_tokens=77, seed=3
    )
    judging.labels(annotator)
    body = judging.bodies[-1]
    assert (body["top_p"], body["reasoning_effort"], body["name"]) == (0.5, "low", "x")
    assert (body["max_tokens"], body["seed"], body["temperature"]) == (77, 3, 0.0)
    assert annotator.name == "judge"


def test_names_default_to_the_model():
    assert annotate.create("ollama:qwen3-vl:8b").name == "qwen3-vl:8b"
    assert made(name="first judge").name == "first judge"


def test_a_temperature_can_be_left_to_the_model(judging):
    judging.labels(judging.annotator(temperature=None))
    assert "temperature" not in judging.bodies[-1]


def test_a_missing_file_of_taxonomies_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.yaml: no such file"):
        annotate.create({"questions": "openai:gpt-4o", "taxonomy": "none.yaml"}, relative_to=tmp_path)
