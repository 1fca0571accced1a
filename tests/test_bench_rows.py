"""The table of times that the benchmarks print."""

import json
import subprocess
from dataclasses import asdict
from importlib import import_module

import pytest
from bench import pictures
from bench.__main__ import BENCHMARKS, main
from bench.rows import Row, by_name, in_turns, table


def test_rows_say_ratios_and_how_they_grow():
    rows = [
        Row("draw", 0.5, 5.0, 0.25, 100),
        Row("draw", 2.0, 40.0, None, 200, times=10),
        Row("count", 1.0, None, 1.0, 400, mb=1_234.5),
    ]
    head, first, second, third = (line.split() for line in table(rows))
    assert head == ["n", "ours", "reference", "ratio", "limit", "ours/limit", "growth", "MB"]
    assert first == ["draw", "100", "0.5000", "5.00", "10.0×", "0.2500", "2.0×", "–", "–"]
    assert second == ["200", "2.00", "40.00*", "20.0×", "–", "–", "2.00", "–"]
    assert third == ["count", "400", "1.00", "–", "–", "1.00", "1.0×", "–", "1,234"]


def test_a_row_is_made_of_calls_that_take_turns_the_short_ones_repeated(monkeypatch):
    called, clock = [], [0]

    def taking(name, milliseconds):
        def call():
            called.append(name)
            clock[0] += milliseconds

        return call

    monkeypatch.setattr("bench.rows.time.process_time", lambda: clock[0] / 1000)
    row = in_turns("x", 3, ours=taking("o", 4), reference=taking("r", 10), rounds=2, times=5)
    assert called == ["o", "o", "r"] * 2
    assert (row.n, row.limit, row.times) == (3, None, 5)
    assert (row.ours, row.reference) == pytest.approx((0.004, 0.05))


def test_pictures_of_a_folder_are_taken_and_kept_each_turn(tmp_path):
    row = pictures.folder(pictures.drawn()[:2], tmp_path)
    assert row.n == 2
    assert row.limit > 0
    assert row.ours > 0
    assert len([*(tmp_path / "run").glob("pictures/*/*")]) == 2


def test_rows_of_one_name_come_together_by_size():
    rows = [Row("a", 1.0, None, None, 2), Row("b", 1.0, None, None, 1), Row("a", 1.0, None, None, 1)]
    assert [(row.name, row.n) for row in by_name(rows)] == [("a", 1), ("a", 2), ("b", 1)]


def test_every_benchmark_gives_rows_and_what_is_wrong():
    for name in BENCHMARKS:
        assert callable(import_module(f"bench.{name}").bench), name


def test_one_command_runs_a_benchmark_apart_and_prints_its_rows(monkeypatch, capsys):
    told = json.dumps({"rows": [asdict(Row("draw", 1.0, 9.0, None, 10))], "wrong": ["TOO SLOW  draw"]})
    done = subprocess.CompletedProcess([], 0, stdout=f"noise\n{told}\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert main(["shares"]) == 1
    told = capsys.readouterr().out
    assert "draw" in told
    assert "9.0×" in told
    assert told.endswith("TOO SLOW  draw\n")


def test_an_unknown_benchmark_is_refused_by_name():
    with pytest.raises(SystemExit, match="no benchmark 'share'; there are divergences, shares"):
        main(["share"])
