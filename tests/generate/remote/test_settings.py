from __future__ import annotations

import pytest
from tests.generate.remote.asking import SECRET

from stereotrope.errors import UsageError
from stereotrope.generate import create


def sd35(**options):
    return create({"images": "openai:sd35", "base_url": "http://localhost:8091/v1", **options})


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("seeds", "seed"),
        ("batchs", "batch"),
        ("prices", "price"),
        ("base-url", "base_url"),
        ("requests_per_min", "requests_per_minute"),
        ("Name", "name"),
        ("timout", "timeout"),
        ("negatives", "negative"),
        ("n", "batch"),
        ("negative_prompt", "negative"),
    ],
)
def test_a_key_near_ours_is_refused_and_can_stand_under_parameters(key, meant):
    with pytest.raises(UsageError, match=rf"unknown key '{key}'; did you mean '{meant}'\? .*parameters"):
        sd35(**{key: 1})
    if key != "n":
        assert sd35(parameters={key: 1}).parameters == {key: 1}


@pytest.mark.parametrize(
    "key",
    ["steps", "size", "quality", "style", "num_inference_steps", "guidance_scale", "guidance", "width",
     "height", "aspect_ratio", "image_size", "resolution", "background", "moderation", "output_format",
     "scheduler", "refine", "strength", "safety_tolerance", "lora", "user", "true_cfg_scale"],
)  # fmt: skip
def test_parameters_of_known_models_are_taken_for_what_they_are(key):
    assert sd35(**{key: 1}).parameters == {key: 1}


@pytest.mark.parametrize("key", ["api_key", "token", "API_KEY", "secret", "authorization"])
def test_a_key_in_the_audit_file_is_refused_and_not_repeated(key):
    with pytest.raises(UsageError, match="put the key into an environment variable") as raised:
        sd35(**{key: SECRET})
    assert SECRET not in str(raised.value)


def test_a_key_where_a_variable_belongs_is_refused_and_not_repeated():
    with pytest.raises(UsageError) as raised:
        sd35(key="sk-" + SECRET)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("key", ["prompt", "stream", "seed", "n", "sampleCount"])
def test_a_parameter_cannot_take_what_the_audit_decides(key):
    with pytest.raises(UsageError, match=f"'{key}' cannot be set as a parameter: .*; remove it"):
        sd35(parameters={key: 1})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"seed": 7}, "seed must be true or false, found 7; seeds are numbered"),
        ({"negative": "blurry"}, "negative must be true or false, found 'blurry'; correct it"),
        ({"batch": 0}, "batch must be at least 1, found 0; raise it"),
        ({"batch": True}, "batch must be a whole number, found True"),
        ({"batch": 4}, "`batch` needs `seed: false`"),
        ({"batch": 11, "seed": False}, "brings at most 10 pictures, `batch` is 11"),
        ({"name": ["a"]}, "name must be a text"),
        ({"parameters": [1]}, "parameters must be a mapping"),
        ({"style": float("nan")}, "parameter 'style' must be a JSON value"),
        ({"style": {1, 2}}, "parameter 'style' must be a JSON value .* found set"),
        ({7: 1}, "a key must be a text, found 7"),
        ({"base_url": "ftp://x"}, "base_url must be the http or https"),
        ({"price": 0.04}, "price must be 0 or a mapping"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(options, said):
    with pytest.raises(UsageError, match=said):
        create({"images": "openai:sd35", "base_url": "http://localhost:8091/v1"} | options)


@pytest.mark.parametrize(
    ("key", "meant"), [("rpm", "requests_per_minute"), ("max_retries", "tries"), ("url", "base_url")]
)
def test_another_word_for_an_option_of_the_endpoint_is_refused_and_can_stand_under_parameters(key, meant):
    with pytest.raises(UsageError, match=f"there is no option '{key}'; write '{meant}'"):
        sd35(**{key: 1})
    assert sd35(parameters={key: 1}).parameters == {key: 1}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (None, r"images is missing; add it: write \{images: openai:"),
        (7, "a model is named provider:model, such as .* found '7'"),
        (["openai:x"], "images must be a text"),
    ],
)
def test_an_entry_without_a_model_is_refused(spec, said):
    with pytest.raises(UsageError, match=said):
        create({"images": spec})


def test_an_unknown_provider_names_the_nearest():
    with pytest.raises(UsageError, match="openai"):
        create("opnai:gpt-image-1")


def test_the_name_is_the_models_unless_given():
    assert create("openai:gpt-image-1").name == "gpt-image-1"
    assert sd35(name="ours").name == "ours"
