"""``stereotrope reproduce biasbench --captions``: oddities stand before numbers, and JSON holds it all."""

import json

import pytest

from stereotrope.errors import UsageError
from stereotrope.suites.biasbench.compare import compare_captions
from stereotrope.suites.biasbench.printing import run_reproduction


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
    run_reproduction(**made)
    text = capsys.readouterr().out
    assert text.index("empty caption (line 3)") < text.index("share male")
    assert "sd: 1 caption, in the paper SD v1.5" in text
    assert "not the authors' lists" in text
    assert "other lexicon" in text
    assert "cas" not in text.split("doctor, n = 1")[0]


def test_json_of_captions_holds_what_the_function_gives(capsys, made):
    run_reproduction(as_json=True, **made)
    given = json.loads(capsys.readouterr().out)
    assert given == json.loads(json.dumps(compare_captions(**made).as_dict()))


@pytest.mark.parametrize(
    ("option", "value"), [("lexicon", "own.yaml"), ("matching", "word"), ("report", "a.html")]
)
def test_an_option_for_captions_is_refused_without_them(option, value):
    with pytest.raises(UsageError, match=f"--{option} is for counting captions; give them with --captions"):
        run_reproduction(**{"captions": None, "lexicon": None, option: value})


def test_a_way_to_find_terms_that_is_none_names_those_there_are(made):
    with pytest.raises(UsageError, match="--matching: no 'lettrs'; did you mean 'letters'"):
        run_reproduction(matching="lettrs", **made)


def test_the_paper_formula_is_shown_by_the_matching_asked_for(capsys, monkeypatch, made):
    monkeypatch.setenv("COLUMNS", "120")
    rows = "image,caption\nGender_1,romance\nGender_2,SurgeonMan\nGender_3,a person\n"
    made["captions"].write_text(rows, encoding="utf-8")
    shares = {}
    for matching in ("letters", "word", "split", "all"):
        run_reproduction(matching=matching, **made)
        lines = capsys.readouterr().out.splitlines()
        head = next(line for line in lines if line.startswith("measure"))
        shares[matching] = next(line for line in lines if line.startswith("share male")).split()[2:]
        assert ("interval" in head) == (matching != "all")
    assert [shares[m][0] for m in ("letters", "word", "split")] == ["0.667", "0.000", "0.333"]
    assert shares["all"][:3] == ["0.667", "0.000", "0.333"]


def test_a_page_is_written_and_what_comes_out_is_said(capsys, tmp_path, made):
    page = tmp_path / "page.html"
    run_reproduction(report=page, **made)
    text = capsys.readouterr().out
    assert "Page: " in text
    assert "measure " not in text
    written = page.read_text("utf-8")
    assert "--captions captions.csv --lexicon own.yaml --report page.html" in written
    assert str(tmp_path) not in written
    run_reproduction(as_json=True, report=page, **made)
    assert json.loads(capsys.readouterr().out)["suite"] == "biasbench"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("captions.csv", "must end in .html, found 'captions.csv'"),
        ("no/page.html", "there is no folder"),
        ("folder.html", "is a folder; name a file in it"),
    ],
)
def test_a_page_that_cannot_be_is_refused_before_anything_is_counted(tmp_path, made, name, message):
    (tmp_path / "folder.html").mkdir()
    made["captions"] = tmp_path / "absent.csv"
    with pytest.raises(UsageError, match=message):
        run_reproduction(report=tmp_path / name, **made)


def test_a_page_does_not_take_the_place_of_what_is_read(tmp_path, made):
    captions = made["captions"].rename(tmp_path / "captions.html")
    with pytest.raises(UsageError, match="is what is read; name another file"):
        run_reproduction(captions=captions, lexicon=None, report=captions)


@pytest.mark.parametrize("width", [80, pytest.param(100, marks=pytest.mark.slow), 120])
def test_tables_fit_a_terminal(capsys, monkeypatch, shared, width):
    monkeypatch.setenv("COLUMNS", str(width))
    data = shared / "data" / "biasbench"
    given = {"captions": data / "captions_sd.csv", "lexicon": data / "lexicon_authors.json"}
    run_reproduction(**given)
    text = capsys.readouterr().out
    tables = [block for block in text.split("\n\n") if "\nmeasure " in block]
    assert len(tables) == 5
    assert all(
        len(line.rstrip()) <= width for block in tables for line in block.splitlines() if ":" not in line
    )
    assert ("interval  " in tables[0]) == (width > 80)


def test_the_released_file_is_diagnosed_in_full(capsys, monkeypatch, shared):
    monkeypatch.setenv("COLUMNS", "120")
    data = shared / "data" / "biasbench"
    run_reproduction(
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
