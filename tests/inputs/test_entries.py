from pathlib import Path
from typing import Self

import pytest
from pydantic import Field, model_validator

from stereotrope.clients import Account
from stereotrope.errors import UsageError
from stereotrope.inputs import Context, Entry, File, ModelOptions, Name, Options, Texts, read_entry
from stereotrope.inputs.entries import entries_of
from stereotrope.inputs.options import options_of
from stereotrope.plugins import Registry

CONTEXT = Context(Path(), Account())


class Colour(Options):
    colour: Texts | None = None


class Labels(Options):
    labels: File
    name: Name
    caption: str | None = None
    size: int = Field(4, ge=1)


class Caption(ModelOptions):
    decided = {"messages": "the entry asks; remove it"}  # noqa: RUF012
    slips = {"model": "did you mean 'caption'?"}  # noqa: RUF012
    caption: str


def entry(name, options, example):
    return Entry(name, "a line", options, lambda options, context: (options, context), example)


ENTRIES = Registry("annotators")
for one in (
    entry("colour", Colour, "colour"),
    entry("labels", Labels, "{labels: human.csv, name: rater-1}"),
    entry("caption", Caption, "{caption: openai:gpt-4o}"),
):
    ENTRIES.add(one.name, one)


def read(item):
    return read_entry(item, ENTRIES, "annotator", model="caption")


@pytest.mark.parametrize(
    ("item", "name", "options"),
    [
        ("colour", "colour", {"colour": None}),
        ({"colour": None}, "colour", {"colour": None}),
        ({"colour": ["background_colour"]}, "colour", {"colour": ["background_colour"]}),
        (
            {"labels": Path("a.csv"), "name": 7},
            "labels",
            {"labels": "a.csv", "name": "7", "caption": None, "size": 4},
        ),
        (
            {"labels": "a", "name": "n", "caption": "b"},
            "labels",
            {"labels": "a", "name": "n", "caption": "b", "size": 4},
        ),
    ],
)
def test_an_item_is_the_entry_whose_key_it_has(item, name, options):
    found, given = read(item)
    assert (found.name, given.model_dump()) == (name, options)
    assert found.make(given, CONTEXT) == (given, CONTEXT)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("color", r"^annotator 'color' is unknown; did you mean 'colour'\?$"),
        ("xyzzy", r"^annotator 'xyzzy' is unknown; known are caption, colour, labels, and PROVIDER:MODEL"),
        ({}, "^annotator an empty one is unknown"),
        ({"label": "a", "name": "b"}, r"^annotator 'label', 'name' is unknown; did you mean 'labels'\?$"),
        ({"colour": None, "labels": "a"}, "^annotator: an entry is one of them, found colour and labels;"),
        ("opanai:gpt-4o", "unknown provider 'opanai'; did you mean 'openai'"),
        (
            "labels",
            r"^annotator labels: labels is missing; add it: write \{labels: human.csv, name: rater-1\}",
        ),
        ({"labels": "a"}, r"labels: name is missing; add it: write \{labels: human.csv, name: rater-1\}$"),
        (
            {"labels": "", "name": "r"},
            "^annotator labels: labels must not be empty, found ''; write {labels: ",
        ),
        ({"labels": "a", "name": "a\x1bb"}, r"name must be printable, found 'a\\x1bb'; rename it$"),
        ({"labels": "a", "name": "b", "nam": "c"}, r"labels: unknown key 'nam'; did you mean 'name'\?$"),
        ({"labels": "a", "name": "b", "size": 0}, "size must be at least 1, found 0; raise it$"),
        (
            {"colour": "red"},
            r"^annotator colour: colour must be a list, for example \[car, cup\], found 'red'; write colour$",
        ),
    ],
)
def test_a_mistake_is_named_with_what_to_write(item, message):
    with pytest.raises(UsageError, match=message):
        read(item)


class Coupled(Options):
    labels: File | None = None

    @model_validator(mode="after")
    def _needs_a_file(self) -> Self:
        if self.labels is None:
            raise ValueError("must name a file; write labels: human.csv")
        return self


def test_a_mistake_of_no_key_alone_is_named_too():
    with pytest.raises(UsageError, match=r"annotator labels: it must name a file, found {}; write"):
        options_of(Coupled, {}, "annotator labels", example="{labels: human.csv}")


def served(options):
    given = read({"caption": "openai:gpt-4o"} | options)[1]
    return given.served(given.caption)


def test_a_bare_model_is_the_entry_for_models():
    found, options = read("ollama:qwen3-vl:8b")
    assert (found.name, options.caption) == ("caption", "ollama:qwen3-vl:8b")


def test_keys_of_a_model_are_the_endpoints_and_parameters():
    made = served({"concurrency": 3, "top_p": 0.5, "parameters": {"name": "x"}, "price": 0})
    assert (made.provider, made.model, made.endpoint.concurrency) == ("openai", "gpt-4o", 3)
    assert (made.parameters, made.price.call) == ({"top_p": 0.5, "name": "x"}, 0.0)
    assert served({}).parameters == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"vesion": "x"},
            r"unknown key 'vesion'; did you mean 'version'\? A parameter .* `parameters: \{vesion: …\}`",
        ),
        ({"base-url": "x"}, "did you mean 'base_url'"),
        ({"model": "x"}, "unknown key 'model'; did you mean 'caption'"),
        ({7: 1}, "a key must be a text, found 7"),
        ({"messages": []}, "'messages' cannot be set as a parameter: the entry asks; remove it"),
        ({"parameters": {"messages": []}}, "'messages' cannot be set as a parameter"),
        ({"parameters": [1]}, r"parameters must be a mapping, found \[1\]"),
        ({"top_p": float("nan")}, "parameter 'top_p' must be a JSON value .*, found float"),
    ],
)
def test_a_key_that_no_model_takes_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        served(options)


def test_a_secret_is_never_repeated():
    with pytest.raises(UsageError, match="annotator: 'token' does not belong") as caught:
        served({"token": "sentinel4711", "name": []})
    assert "sentinel" not in str(caught.value)


@pytest.mark.parametrize("options", [Options, object, None, {"lamp": None}])
def test_an_entry_whose_options_have_no_place_for_its_name_is_refused(options):
    def lamp(chosen, context):
        """Is not registered."""

    with pytest.raises(
        ValueError, match=r"^options of 'lamp' must be a class of .*Options with a field 'lamp'"
    ):
        entries_of(Registry("lamps"))(options, summary="", example="lamp")(lamp)
