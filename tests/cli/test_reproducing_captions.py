"""``stereotrope reproduce biasbench --captions``: oddities stand before numbers, and JSON holds it all."""

import json

import pytest

from stereotrope.cli.app import Settings
from stereotrope.cli.reproducing import run_reproduction
from stereotrope.errors import UsageError
from stereotrope.suites import reproduce_captions


@pytest.fixture
def made(tmp_path):
    captions, lexicon = tmp_path / "captions.csv", tmp_path / "own.yaml"
    captions.write_text(
        "model,prompt,image,caption\nsd,doctor,Gender_1,a [red]man[/red]\nsd,doctor,Gender_2,\n",
        encoding="utf-8",
    )
    lexicon.write_text(
        "attributes: {gender: {groups: {female: [woman], male: [man]}, of: [doctor]}}\n"
        "prompts: {doctor: {path: demographic}}\n",
        encoding="utf-8",
    )
    return {"captions": captions, "lexicon": lexicon}


def test_what_is_odd_stands_before_any_number(capsys, monkeypatch, made):
    monkeypatch.setenv("COLUMNS", "120")
    run_reproduction("biasbench", Settings(), as_json=False, **made)
    text = capsys.readouterr().out
    assert text.index("empty caption (line 3)") < text.index("representation_parity male")
    assert "sd: 1 captions, in the paper SD v1.5" in text
    assert "not the authors' lists" in text
    assert "other lexicon" in text
    assert "cas" not in text.split("doctor, n = 1")[0]


def test_json_of_captions_holds_what_the_function_gives(capsys, made):
    run_reproduction("biasbench", Settings(), as_json=True, **made)
    given = json.loads(capsys.readouterr().out)
    assert given == json.loads(json.dumps(reproduce_captions("biasbench", **made).as_dict()))


def test_a_lexicon_without_captions_is_refused(made):
    with pytest.raises(UsageError, match="--lexicon counts captions; give them with --captions FILE"):
        run_reproduction("biasbench", Settings(), as_json=False, lexicon=made["lexicon"])


def test_the_released_file_is_diagnosed_in_full(capsys, monkeypatch, shared):
    monkeypatch.setenv("COLUMNS", "120")
    data = shared / "data" / "biasbench"
    run_reproduction(
        "biasbench",
        Settings(),
        as_json=False,
        captions=data / "captions_bksdm_asreleased.csv",
        lexicon=data / "lexicon_authors.json",
    )
    before, _, _ = capsys.readouterr().out.partition("beauty, n = 100")
    for kind in (
        "stray header row (line 172)",
        "mislabelled rows (lines 443",
        "header eaten as data (line 2)",
    ):
        assert kind in before
