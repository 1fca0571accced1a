from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import polars as pl
import pytest

from stereotrope import measure
from stereotrope.errors import TableError, UsageError
from stereotrope.measure import REGISTRY

MODULES = sorted((Path(measure.__file__).parent).glob("*.py"))


def test_every_measure_is_a_function_of_the_package_under_its_name() -> None:
    assert "bds" in REGISTRY
    assert set(dir(measure)) == {*measure.__all__, *REGISTRY}
    for name, info in REGISTRY.items():
        assert info.name == name
        assert info.function is getattr(measure, name)
        assert REGISTRY.origin(name) == "stereotrope"
    with pytest.raises(AttributeError, match="no attribute 'bsd'"):
        measure.bsd  # noqa: B018


def test_public_names_are_sorted_and_there() -> None:
    assert list(measure.__all__) == sorted(
        measure.__all__, key=lambda n: (not n.isupper(), not n[0].isupper(), n)
    )
    assert all(hasattr(measure, name) for name in measure.__all__)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_measure_documents_what_a_reader_must_know(name: str) -> None:
    text = inspect.getdoc(REGISTRY[name].function) or ""
    for section in ("Formula", "Parameters", "Returns", "Undefined", "Notes", "References", "Examples"):
        assert f"\n{section}\n{'-' * len(section)}\n" in text, section
    for parameter in inspect.signature(REGISTRY[name].function).parameters:
        assert parameter in text, parameter


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_measure_takes_at_most_three_positional_arguments_and_returns_estimates(name: str) -> None:
    signature = inspect.signature(REGISTRY[name].function, eval_str=True)
    positional = [p for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert len(positional) <= 3
    assert signature.return_annotation is pl.DataFrame


@pytest.mark.parametrize("name", sorted(n for n in dir(measure) if inspect.isfunction(getattr(measure, n))))
def test_examples_run(name: str) -> None:
    function = getattr(measure, name)
    (case,) = doctest.DocTestFinder(recurse=False).find(function, name, globs={name: function})
    result = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(case)
    assert result.failed == 0
    if name in REGISTRY:
        assert result.attempted > 1


def test_bounds_are_in_order_and_summaries_are_sentences() -> None:
    for info in REGISTRY.values():
        low, high = info.bounds
        assert low is None or high is None or low < high
        assert info.summary.endswith(".")
        assert info.direction
        assert info.source


def test_no_file_of_the_package_is_longer_than_500_lines() -> None:
    assert {p.name: n for p in MODULES if (n := len(p.read_text(encoding="utf-8").splitlines())) >= 500} == {}


def test_an_empty_frame_gives_an_empty_frame() -> None:
    columns = dict.fromkeys(("image_id", "attribute", "value", "generator", "object", "group"), pl.String)
    found = measure.share(pl.DataFrame(schema=columns))
    assert found.height == 0
    assert "undefined" in found.columns


LABELLED = [name for name, info in REGISTRY.items() if info.needs == "labels"]
LABELLED_TWICE = pl.DataFrame(
    {
        "image_id": ["i", "i", "j"],
        "attribute": "hue",
        "value": ["red", "blue", "red"],
        "annotator": ["a", "b", "a"],
        "generator": "m",
        "object": "car",
        "dimension": "d",
        "group": ["base", "base", "women"],
        "prompt_id": "p",
        "confidence": 0.5,
    }
)
_TRUE = pl.DataFrame(
    {"group": ["base"], "attribute": "hue", "category": "red", "reference": 0.5, "source": "a survey"}
)
FURTHER = {
    "agreement": {"reference": LABELLED_TWICE.filter(annotator="a")},
    "answer_probability": {"attribute": "hue"},
    "class_agreement": {"reference": LABELLED_TWICE.filter(annotator="a")},
    "control_difference": {"controls": {"b": "a"}},
    "corrected_share": {
        "confusion": pl.DataFrame({"attribute": "hue", "reference_value": "red", "value": "red", "n": [3]})
    },
    "injection_rate": {"plain": LABELLED_TWICE.head(0), "claims": LABELLED_TWICE.head(0)},
    "order_flip_rate": {"reordered": LABELLED_TWICE.head(0)},
    "female_ratio": {"attribute": "hue"},
    "ppi_difference": {"reference": LABELLED_TWICE.filter(annotator="a")},
    "ppi_share": {"reference": LABELLED_TWICE.filter(annotator="a")},
    "ppi_ssi": {"reference": "a"},
    "ppi_stereotype_score": {
        "people": LABELLED_TWICE.filter(annotator="a"),
        "attribute": "hue",
        "reference": _TRUE,
        "over": "group",
    },
    "set_agreement": {"reference": "a"},
    "share_difference": {"baseline": "base"},
    "stereotype_score": {"reference": _TRUE, "over": "group"},
    "unfounded_rate": {"known": None},
}


def parameters_of(name: str) -> list[str]:
    return list(inspect.signature(REGISTRY[name].function).parameters)


@pytest.mark.parametrize(
    "name", sorted(set(LABELLED) - {"answer_probability", "control_difference", "ppi_ssi", "set_agreement"})
)  # these tell annotators apart themselves
def test_a_hint_names_an_argument_that_the_measure_has(name: str) -> None:
    function, further = REGISTRY[name].function, FURTHER.get(name, {})
    with pytest.raises(TableError, match="two annotators label it: filter to one, or add 'ann") as said:
        function(LABELLED_TWICE, **further)
    (argument,) = re.findall(r"`(\w+)`", str(said.value))
    assert argument in parameters_of(name)
    scope = inspect.signature(function).parameters[argument].default
    function(LABELLED_TWICE, **{**further, argument: [*scope, "annotator"]})


@pytest.mark.parametrize(
    ("name", "argument"),
    [(n, a) for n in LABELLED for a in ("by", "within", "pooled") if a in parameters_of(n)],
)
def test_a_list_of_factors_given_as_one_text_is_named_by_its_argument(name: str, argument: str) -> None:
    with pytest.raises(UsageError, match=rf"^\w+: {argument} must be a list of factors, found the string"):
        REGISTRY[name].function(LABELLED_TWICE, **{**FURTHER.get(name, {}), argument: "x"})
