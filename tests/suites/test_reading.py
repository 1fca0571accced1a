"""What a package may write in the files of a suite, and one message for a mistake in them."""

import pytest

import stereotrope as st
from stereotrope.cli.catalogue import print_suites
from stereotrope.commands import Settings
from stereotrope.errors import AuditFileError, PluginError
from stereotrope.suites import SUITES, Suite
from stereotrope.suites.file import SuiteSpec
from stereotrope.suites.published import published
from stereotrope.suites.reading import audit_template, load_suite

LAMPS = {
    "summary": "Lamps",
    "source": "ours",
    "prompts": "[{prompt: cup, text: A cup}]",
    "annotators": "[colour]",
    "measures": "[refusal_rate]",
}


@pytest.fixture
def lamps(tmp_path, monkeypatch):
    """Writes the ``suite.yaml`` of a package."""
    monkeypatch.setattr(SUITES, "_plugins", {**SUITES, "lamps": Suite("lamps", tmp_path)})
    monkeypatch.setattr(SUITES, "_origins", {**SUITES._origins, "lamps": "lighting"})
    file = tmp_path / "suite.yaml"

    def written(text=None, **more):
        keys = {key: value for key, value in {**LAMPS, **more}.items() if value is not None}
        lines = "".join(f"{key}: {value}\n" for key, value in keys.items())
        file.write_text(lines if text is None else text)
        return f"suite 'lamps' of the package lighting: {file}"

    return written


def plan(**more):
    asked = "".join(f"{key}: {value}\n" for key, value in more.items())
    return st.Audit.from_text(f"suite: lamps\ngenerators: [calibrated]\n{asked}").plan()


def test_a_suite_says_what_its_file_says_and_nothing_more(lamps):
    lamps()
    assert load_suite("lamps") == {
        "summary": "Lamps",
        "source": "ours",
        "prompts": [{"prompt": "cup", "text": "A cup"}],
        "annotators": ["colour"],
        "measures": ["refusal_rate"],
    }


WRONG = {
    "summary": "[]",
    "source": "{}",
    "objects": "5",
    "dimensions": "[gender]",
    "templates": "a thing",
    "phrasings": "for",
    "mitigations": "5",
    "prompts": "5",
    "images_per_prompt": "many",
    "annotators": "{colour: }",
    "measures": "5",
    "known_phrasings": "{}",
    "known_mitigations": "yes",
    "measures_as_published": "share",
}


def test_every_key_of_a_suite_is_tried():
    assert set(WRONG) == set(SuiteSpec.model_fields)


@pytest.mark.parametrize(("key", "value"), WRONG.items())
def test_a_value_of_another_type_is_told_with_the_line(lamps, key, value):
    where = lamps(**{key: value})
    line = [*LAMPS, key].index(key) + 1
    with pytest.raises(PluginError) as refused:
        load_suite("lamps")
    assert str(refused.value).startswith(f"{where}:{line}: {key} ")
    assert "\n" not in str(refused.value)
    with pytest.raises(PluginError, match="lamps"):
        plan()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source: ours", ":1: summary is missing; add it: write it as docs/how-to/write-a-suite.md does"),
        (
            "summary: Lamps\nsource: ours\nmeasure: [share]",
            ":3: unknown key 'measure'; did you mean 'measures'?",
        ),
        ("summary: Lamps\nsource: ours\nmeasures: [share, 5.5, [a]]", ":3: entry 3 of measures "),
        ("[", ":1: not readable as YAML: "),
        ("a list", ":1: it must be a mapping"),
        ("", ":1: it must be a mapping"),
        ("5", ":1: it must be a mapping"),
    ],
)
def test_a_file_that_is_no_suite_is_told_with_the_line(lamps, text, message):
    where = lamps(text)
    with pytest.raises(PluginError) as refused:
        load_suite("lamps")
    assert str(refused.value).startswith(f"{where}{message}")


def test_a_file_that_is_not_there_is_told_with_the_package(lamps):
    for read in (load_suite, audit_template):
        with pytest.raises(PluginError, match="suites: 'lamps' of the package lighting fails"):
            read("lamps")


def test_published_tables_that_cannot_be_read_are_told_with_the_package(lamps, tmp_path):
    lamps()
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "tables.yaml").write_text("table: []\n")
    with pytest.raises(
        PluginError, match=r"suites: 'lamps' of the package lighting fails \(KeyError: 'tables'\)"
    ):
        published("lamps")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"prompts": "[5]"}, "suite: "),
        ({"prompts": None, "objects": "[cup]"}, "objects: need `templates"),
        ({"mitigations": "[odd]"}, "mitigations: 'odd' has no wording"),
        ({"annotators": "[odd]"}, "annotator 'odd' is unknown"),
    ],
)
def test_what_does_not_fit_together_in_a_suite_is_a_mistake_of_the_audit(lamps, more, message):
    lamps(**more)
    with pytest.raises(AuditFileError) as refused:
        plan()
    assert str(refused.value).startswith(f"audit.yaml:1: {message}")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("vacc", "no measure 'vacc'; did you mean 'vac'?; mend the package"),
        ("{share: , of: {a: b}}", "measure 'share': of must be "),
        ("{share: , atribute: colour}", "measure 'share': unknown key 'atribute'; did you mean 'attribute'?"),
    ],
)
def test_a_measure_of_a_suite_that_there_is_not_is_a_mistake_of_its_package(lamps, entry, message):
    where = lamps(measures=f"\n  - refusal_rate\n  - {entry}")
    with pytest.raises(PluginError) as refused:
        plan()
    assert str(refused.value).startswith(f"{where}:7: {message}")


def test_mitigations_that_a_suite_lists_are_those_that_it_knows(lamps):
    templates = '{baseline: "{object}", cue: "{object} {phrasing} {group}"}'
    known = {"known_mitigations": "{bright: bright light}", "objects": "[cup]", "templates": templates}
    lamps(prompts=None, mitigations="[bright]", dimensions="{age: [old]}", **known)
    assert plan().prompts["text"].to_list() == ["cup, bright light", "cup for old, bright light"]
    lamps(prompts=None, mitigations="[dark]", **known)
    with pytest.raises(AuditFileError, match="mitigations: 'dark' has no wording; known are bright"):
        plan()


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        ({}, ["cup: A cup", "Annotators: colour", "Measures: refusal_rate"]),
        ({"prompts": "[{thing: cup, text: a cup}]", "annotators": None, "measures": None}, ["cup: a cup"]),
        ({"prompts": "lamps.csv"}, ["lamps.csv"]),
        ({"prompts": None, "objects": "[cup, car]"}, ["Objects: cup, car"]),
        (
            {"dimensions": "{age: {old: old people}}", "known_phrasings": "[for]"},
            ["age: old", "Phrasings: for"],
        ),
        ({"known_mitigations": "{none: '', bright: in light}"}, ["Mitigations: bright (in light)"]),
    ],
)
def test_a_suite_is_shown_with_what_it_has(lamps, capsys, more, lines):
    lamps(**more)
    print_suites("lamps", Settings())
    shown = capsys.readouterr().out.splitlines()
    assert set(lines) <= set(shown)
