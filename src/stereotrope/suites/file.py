"""What a suite file may say: what stands in where an audit file is silent."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from stereotrope.inputs.options import Item, Options, Text, Texts, distinct, text, texts


def _groups(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {text(key): text(words) for key, words in value.items()}
    if isinstance(value, list):
        return distinct([text(item) for item in value])
    raise ValueError("must be a list of names, or a mapping name: wording")


def _suffixes(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {text(key): "" if words in (None, "") else text(words) for key, words in value.items()}
    return texts(value)


def _prompts(value: Any) -> Any:
    if isinstance(value, (Mapping, list, str)) and value:
        return value
    raise ValueError(
        "must be a mapping with a template or groups of phrases, a list of {text: …, factor: level}, or the "
        "name of a CSV file"
    )


GroupLevels = Annotated[list[str] | dict[str, str], BeforeValidator(_groups)]
Suffixes = Annotated[list[str] | dict[str, str], BeforeValidator(_suffixes)]


class TemplatesSpec(Options):
    """How the baseline and a cue are worded."""

    baseline: Text = Field(description="template with {object}")
    cue: Text = Field(description="template with {object}, {phrasing} and {group}")


class DesignSpec(Options):
    """The design, annotators and measures of an audit or a suite."""

    objects: Texts | None = Field(None, description="what is drawn")
    dimensions: dict[Text, GroupLevels] | None = Field(
        None, min_length=1, description="dimension: groups that a prompt names"
    )
    templates: TemplatesSpec | None = Field(None, description="wording of baseline and cue")
    phrasings: Texts | None = Field(None, description="words between object and group, a factor")
    mitigations: Suffixes | None = Field(
        None, description="suffixes, or strategies that see no picture: a factor"
    )
    prompts: Annotated[Any, BeforeValidator(_prompts)] = Field(
        None,
        description="prompts of your own: {template, factors…}, a list, a CSV file, {file, factors}, "
        "{subjects, groups} of phrases, or `listed`: those that the generators' files list",
    )
    images_per_prompt: int = Field(20, ge=1, le=100_000, description="pictures of each prompt")
    annotators: list[Item] | None = Field(None, description="who looks at the pictures")
    measures: list[Item] | None = Field(None, description="what is computed from the labels")


class SuiteSpec(DesignSpec):
    """Everything a suite file may say."""

    summary: Text
    source: Text
    known_phrasings: Texts | None = None
    known_mitigations: Suffixes | None = None
    measures_as_published: list[Item] | None = None
