"""Captions of a corpus that name all that a scenario names: which, how many, and which are kept."""

from __future__ import annotations

import errno
import json
import os
import re

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from stereotrope.cli.app import app
from stereotrope.errors import MetadataError, TableError, UsageError
from stereotrope.suites.everyday import corpus
from stereotrope.suites.everyday.corpus import match_captions, scenario_words, word_forms

CAPTIONS = [
    "A woman bakes two cakes at home",
    "man riding a horse",
    "They baked a CAKE, stock photo",
    "cake stand",
    None,
    "",
    "a horse that was ridden by a boy",
    "bakery cake",
    "the plant was watered; plants in a pot",
]
SCENARIOS = {
    "a person who is baking a cake": {0, 2},
    "a person who is riding a horse": {1, 6},
    "a person who is watering their plants": {8},
    "a person who is knitting": set(),
}


def prompts(names=tuple(SCENARIOS)):
    return pl.DataFrame({"scenario": names, "text": names, "variation": "a person"})


def written(folder, captions=CAPTIONS, kind=".csv", **more):
    path = folder / f"corpus{kind}"
    frame = pl.DataFrame({"caption": captions, "url": [f"u{i}" for i in range(len(captions))], **more})
    {".csv": frame.write_csv, ".parquet": frame.write_parquet, ".jsonl": frame.write_ndjson}[kind](path)
    return path


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".jsonl"])
def test_a_caption_matches_where_it_holds_every_word_in_any_form(tmp_path, kind):
    found = match_captions([written(tmp_path, kind=kind)], prompts())
    told = {name: set(found.kept.filter(scenario=name)["row"]) for name in SCENARIOS}
    assert told == SCENARIOS
    assert dict(found.counts.select("scenario", "matched").iter_rows()) == {
        name: len(rows) for name, rows in SCENARIOS.items()
    }
    assert found.n_captions == len(CAPTIONS)
    assert found.kept["url"].to_list() == [f"u{row}" for row in found.kept["row"]]


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".jsonl"])
def test_a_name_with_signs_of_a_pattern_is_that_of_one_file(tmp_path, kind):
    written(tmp_path, kind=kind).rename(tmp_path / f"corpus[1]{kind}")
    written(tmp_path, ["another"], kind=kind).rename(tmp_path / f"corpus1{kind}")
    assert match_captions([tmp_path / f"corpus[1]{kind}"], prompts()).n_captions == len(CAPTIONS)


def test_the_same_is_found_one_caption_at_a_time(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    words = ["bake", "baking", "cake", "cakes", "horse", "riding", "rode", "plant", "watered", "with", "red"]
    captions = [" ".join(rng.choice(words, rng.integers(1, 7))) for _ in range(700)]
    monkeypatch.setattr(corpus, "_BATCH", 64)
    found = match_captions([written(tmp_path, captions)], prompts())
    wanted = {name: told for name, told in scenario_words(prompts()).items() if told}
    for name, each in wanted.items():
        rows = [
            row
            for row, caption in enumerate(captions)
            if all(set(re.findall(r"\w+", caption)) & word_forms(word) for word in each)
        ]
        assert found.kept.filter(scenario=name)["row"].to_list() == rows
        assert found.counts.filter(scenario=name)["matched"].item() == len(rows)
    assert found.kept.height > 50


def test_of_many_a_random_sample_is_kept_whatever_the_batches_are(tmp_path, monkeypatch):
    captions = ["baking a cake"] * 3000
    whole = match_captions([written(tmp_path, captions)], prompts(), most=500)
    kept = whole.kept["row"].to_numpy()
    assert len(kept) == 500
    assert whole.counts["matched"].max() == 3000
    assert abs(kept.mean() - 1500) < 4 * 3000 / np.sqrt(12 * 500)
    assert np.bincount(kept // 300, minlength=10).min() > 25
    other = match_captions([written(tmp_path, captions)], prompts(), most=500, seed=1).kept["row"]
    assert len(set(other) & set(kept)) < 150
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    parts = [written(tmp_path / "a", captions[:1234]), written(tmp_path / "b", captions[1234:])]
    monkeypatch.setattr(corpus, "_BATCH", 40)
    again = match_captions(parts, prompts(), most=500)
    assert again.kept["row"].to_list() == kept.tolist()


def test_words_are_those_beside_the_subject_and_stop_words():
    frame = pl.DataFrame(
        {
            "scenario": ["s", "s", "t"],
            "text": ["a friend who is at the doctor's", "someone who is there", "someone with their own car"],
            "variation": ["a friend", "someone", "someone"],
        }
    )
    assert scenario_words(frame) == {"s": ("doctor's",), "t": ("car",)}
    with pytest.raises(TableError, match="column 'scenario' is missing; prompts of scenarios have it"):
        scenario_words(pl.DataFrame({"text": ["x"], "variation": ["y"]}))


def test_a_scenario_that_names_nothing_is_told_and_matches_nothing(tmp_path):
    found = match_captions([written(tmp_path)], prompts(["a person who is there", *SCENARIOS]))
    assert found.without_words == ("a person who is there",)
    assert found.counts.filter(scenario="a person who is there").row(0)[1:] == (0, 0)


def test_mistakes_are_named(tmp_path):
    good = written(tmp_path)
    with pytest.raises(MetadataError, match=r"no column 'captoin', .*did you mean 'caption'"):
        match_captions([good], prompts(), caption="captoin")
    with pytest.raises(UsageError, match=r"must end in \.parquet, \.csv"):
        match_captions([tmp_path / "x.txt"], prompts())
    with pytest.raises(UsageError, match="no file there"):
        match_captions([tmp_path / "x.csv"], prompts())
    with pytest.raises(UsageError, match="most must be at least 1, found 0"):
        match_captions([good], prompts(), most=0)
    with pytest.raises(UsageError, match="there is no scenario"):
        match_captions([good], prompts([]))
    torn = written(tmp_path, kind=".parquet")
    torn.write_bytes(torn.read_bytes()[:200])
    with pytest.raises(MetadataError, match="cannot be read"):
        match_captions([torn], prompts())


def test_columns_of_the_corpus_stay_and_a_column_called_scenario_gives_way(tmp_path):
    path = written(tmp_path, scenario=["theirs"] * len(CAPTIONS), width=range(len(CAPTIONS)))
    kept = match_captions([path], prompts()).kept
    assert kept.columns == ["scenario", "row", "caption", "url", "width"]
    assert set(kept["scenario"]) <= set(SCENARIOS)


def test_the_command_writes_what_is_kept_and_says_how_much(tmp_path):
    names = tmp_path / "scenarios.csv"
    pl.DataFrame({"scenario": list(SCENARIOS)}).write_csv(names)
    given = [str(written(tmp_path)), "--scenarios", str(names), "-o", str(tmp_path / "m.csv")]
    told = CliRunner().invoke(app, ["corpus", "match", *given])
    assert told.exit_code == 0
    assert "0 of 4 scenarios have 50 captions or more, of 9; 5 rows in" in " ".join(told.output.split())
    assert pl.read_csv(tmp_path / "m.csv").height == 5
    data = json.loads(CliRunner().invoke(app, ["corpus", "match", *given, "--json"]).output)
    assert data["captions"] == 9
    assert {row["scenario"]: row["matched"] for row in data["scenarios"]} == {
        name: len(rows) for name, rows in SCENARIOS.items()
    }
    own = CliRunner().invoke(app, ["corpus", "match", given[0], "-o", str(tmp_path / "own.parquet")])
    assert own.exit_code == 0
    assert "of 705 scenarios" in " ".join(own.output.split())
    wrong = CliRunner().invoke(app, ["corpus", "match", given[0], "-o", str(tmp_path / "m.txt")])
    assert isinstance(wrong.exception, UsageError)


CAKE = "she is baking a cake"


@pytest.mark.parametrize(
    "rows",
    [
        [{"caption": CAKE, "n": 1}, {"caption": CAKE, "n": "x"}, {"caption": CAKE, "n": 2.5}],
        [{"caption": None, "n": None}, {"caption": CAKE, "n": "x"}],
        [{"n": 1}, {"caption": CAKE, "n": 3}],
    ],
)
def test_values_of_another_kind_further_down_are_read(tmp_path, rows):
    path = tmp_path / "c.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows[:1] * 300 + rows[1:]))
    found = match_captions([path], prompts())
    assert found.n_captions == 299 + len(rows)
    assert found.kept["caption"].unique().to_list() == [CAKE]
    assert found.kept.height == sum(row.get("caption") == CAKE for row in rows[:1] * 300 + rows[1:])


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("c.jsonl", f'{{"caption": "{CAKE}"}}\n' * 300 + '{"caption": "a nur', 301),
        ("c.jsonl", f'{{"caption": "{CAKE}"}}\n[1]\n', 2),
        ("c.csv", f"caption,u\n{CAKE},1\n{CAKE} \udcff,2\n", 3),
        ("c.csv", "url,caption\n" + f"x,{CAKE}\n" * 300 + f"x,{CAKE},more\n", None),
    ],
)
def test_a_torn_corpus_is_named_with_its_line_and_what_to_do(tmp_path, name, text, line):
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    place = "" if line is None else f":{line}"
    with pytest.raises(
        MetadataError, match=rf"{name}{place}: cannot be read to its end \(.*\); mend it there"
    ):
        match_captions([tmp_path / name], prompts())


def test_a_column_called_row_gives_way(tmp_path):
    path = written(tmp_path, row=range(len(CAPTIONS)))
    assert match_captions([path], prompts()).kept.columns == ["scenario", "row", "caption", "url"]


def test_what_is_read_is_never_written_over(tmp_path):
    path = written(tmp_path)
    (tmp_path / "link.csv").symlink_to(path)
    before = path.read_bytes()
    for output in (path, tmp_path / "link.csv"):
        told = CliRunner().invoke(app, ["corpus", "match", str(path), "-o", str(output)])
        assert isinstance(told.exception, UsageError)
        assert re.search("is read from, and would be written over; choose another", str(told.exception))
    assert path.read_bytes() == before


def test_captions_that_a_spreadsheet_would_run_are_inert_and_numbers_stay(tmp_path):
    captions = ["=HYPERLINK(baking, cake)", "-cmd baking cake", "baking cake \x1b[31m", "baking cake"]
    path = tmp_path / "c.csv"
    hashes = ["-7204", "+1e-5", "@x", "-7204"]
    pl.DataFrame({"caption": captions, "hash": hashes}).write_csv(path)
    names = tmp_path / "s.csv"
    names.write_text("scenario\na person who is baking a cake\n")
    for out in ("m.csv", "m.parquet"):
        given = [str(path), "-o", str(tmp_path / out), "--scenarios", str(names)]
        assert CliRunner().invoke(app, ["corpus", "match", *given]).exit_code == 0
    kept = pl.read_csv(tmp_path / "m.csv", infer_schema=False)
    assert kept["caption"].to_list() == [
        "'=HYPERLINK(baking, cake)",
        "'-cmd baking cake",
        "baking cake ‹U+001B›[31m",
        "baking cake",
    ]
    assert kept["hash"].to_list() == ["-7204", "+1e-5", "'@x", "-7204"]
    assert pl.read_parquet(tmp_path / "m.parquet")["caption"].to_list() == captions


def test_a_disk_that_is_full_leaves_the_matches_of_before(tmp_path, monkeypatch):
    path, out = written(tmp_path), tmp_path / "m.csv"
    out.write_text("before")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    told = CliRunner().invoke(app, ["corpus", "match", str(path), "-o", str(out)])
    assert re.search("m.csv: cannot be written .*; make room", str(told.exception))
    assert out.read_text() == "before"
    assert {one.name for one in tmp_path.iterdir()} == {"corpus.csv", "m.csv"}
