from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from stereotrope.errors import RunDamaged, RunError, RunFormatError
from stereotrope.run import Ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def fill(path: Path, n: int = 300, size: int = 40) -> dict[str, dict[str, object]]:
    """Write a ledger of ``n`` items and close it."""
    payloads: dict[str, dict[str, object]] = {
        f"key{i:05}": {"n": i, "text": "é" * (i % 7) + "x" * size} for i in range(n)
    }
    with Ledger(path) as ledger:
        ledger.put_many("images", payloads)
    return payloads


def test_missing_keeps_the_order_and_names_each_key_once(path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.put("images", "b", {})
        assert ledger.missing("images", ["c", "b", "a", "c"]) == ["c", "a"]
        assert ledger.missing("labels", ["b"]) == ["b"]


def test_a_stage_is_read_in_parts_and_searched_for_some_keys(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stereotrope.run.ledger._PART", 7)
    payloads = fill(path, 40)
    with Ledger(path) as ledger:
        ledger.put("labels", "key00003", {"of": "another stage"})
        ledger.forget("images", ["key00011"])
        del payloads["key00011"]
        parts = list(ledger.parts("images"))
        assert [len(part) for part in parts] == [7] * 5 + [4]
        assert {key: one for part in parts for key, one in part.items()} == payloads
        few = ["key00039", "key00011", "key00000"]
        assert ledger.get_some("images", few) == {key: payloads[key] for key in few if key in payloads}
        asked = pl.Series([*payloads, "key00011", "new", "key00011", "new"])
        assert asked.gather(ledger.missing_at("images", asked)).to_list() == ["key00011", "new"]
        assert ledger.missing_at("none", asked).len() == 41


def test_a_part_that_is_read_may_be_forgotten_meanwhile(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stereotrope.run.ledger._PART", 7)
    payloads = fill(path, 40)
    with Ledger(path) as ledger:
        seen = []
        for part in ledger.parts("images"):
            seen += part
            ledger.forget("images", part)
        assert seen == list(payloads)
        assert ledger.totals() == {}


def test_what_was_put_is_there_after_reopening(path: Path) -> None:
    payload = {"z": None, "text": 'ünï "code" \ud800 \0', "list": [1, 2.5], "nested": {"b": 1, "a": 2}}
    with Ledger(path) as ledger:
        ledger.put("images", "k", payload)
    with Ledger(path) as ledger:
        assert ledger.get_all("images") == {"k": payload}
        assert ledger.totals() == {"images": 1}
        assert ledger.notes == []


def test_payloads_are_stored_the_same_whatever_the_order_of_their_keys(path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.put("s", "a", {"x": 1, "y": 2})
        ledger.put("s", "b", {"y": 2, "x": 1})
    rows = sqlite3.connect(path).execute("SELECT payload FROM items").fetchall()
    assert rows[0] == rows[1] == ('{"x":1,"y":2}',)


def test_items_come_back_in_the_order_of_their_keys(path: Path) -> None:
    with Ledger(path) as ledger:
        for key in ("c", "a", "b"):
            ledger.put("s", key, {})
        assert list(ledger.get_all("s")) == ["a", "b", "c"]


def test_a_key_keeps_its_first_payload_until_it_is_forgotten(path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.put("s", "k", {"v": 1})
        ledger.put("s", "k", {"v": 2})
        assert ledger.get_all("s") == {"k": {"v": 1}}
        ledger.forget("s", ["k"])
        assert ledger.missing("s", ["k"]) == ["k"]
        ledger.put("s", "k", {"v": 3})
        assert ledger.get_all("s") == {"k": {"v": 3}}


def test_a_payload_that_is_no_json_is_refused_and_the_ledger_goes_on(path: Path) -> None:
    with Ledger(path) as ledger:
        with pytest.raises(ValueError, match="not JSON compliant"):
            ledger.put("s", "k", {"v": float("nan")})
        ledger.put("s", "k", {"v": 1})
        assert ledger.totals() == {"s": 1}


def test_puts_of_32_threads_share_commits(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups: list[int] = []
    commit = Ledger._commit
    monkeypatch.setattr(
        Ledger, "_commit", lambda self, group: (groups.append(len(group)), commit(self, group))[1]
    )
    with Ledger(path) as ledger, ThreadPoolExecutor(32) as pool:
        started = time.perf_counter()
        list(pool.map(lambda i: ledger.put("s", f"k{i}", {"i": i}), range(1600)))
        print(f"ledger: {1600 / (time.perf_counter() - started):,.0f} single puts/s from 32 threads")
        assert ledger.totals() == {"s": 1600}
    assert max(groups) > 1
    assert sum(groups) == 1600


def test_an_item_whose_writer_waits_no_longer_is_recorded(path: Path) -> None:
    with Ledger(path) as ledger:
        soon = ledger.put_soon("generate", {"a": {"n": 1}})
        assert not soon.cancel()
        ledger.put("generate", "b", {"n": 2})
        assert ledger.get_all("generate") == {"a": {"n": 1}, "b": {"n": 2}}


def test_bulk_writing_is_printed(path: Path) -> None:
    with Ledger(path) as ledger:
        started = time.perf_counter()
        for start in range(0, 20_000, 1_000):
            ledger.put_many("s", {f"{i:016x}": {"i": i} for i in range(start, start + 1_000)})
        print(f"ledger: {20_000 / (time.perf_counter() - started):,.0f} items/s at 1,000 a commit")
        assert ledger.totals() == {"s": 20_000}


def test_every_put_that_returned_survives_sigkill(path: Path) -> None:
    code = (
        "import sys, threading\n"
        "from stereotrope.run import Ledger\n"
        f"ledger = Ledger({str(path)!r})\n"
        "guard = threading.Lock()\n"
        "def work(lane):\n"
        "    for i in range(10**6):\n"
        "        ledger.put('s', f'{lane}-{i}', {'i': i})\n"
        "        with guard: print(f'{lane}-{i}', flush=True)\n"
        "[threading.Thread(target=work, args=(lane,)).start() for lane in range(8)]\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [process.stdout.readline().strip() for _ in range(400)]
    process.send_signal(signal.SIGKILL)
    told += [line.strip() for line in process.stdout if line.endswith("\n")]
    process.stdout.close()
    process.wait()
    with Ledger(path) as ledger:
        assert ledger.missing("s", told) == []
        assert ledger.notes == []


def test_a_reader_sees_each_commit_while_the_writer_writes(path: Path) -> None:
    with Ledger(path) as writer, Ledger(path, readonly=True) as reader:
        for i in range(50):
            writer.put("s", f"k{i}", {"i": i})
            assert reader.totals() == {"s": i + 1}


def test_readers_in_other_processes_never_fail_beside_a_writer(path: Path) -> None:
    code = (
        "import sys\nfrom stereotrope.run import Ledger\n"
        f"for _ in range(30):\n    with Ledger({str(path)!r}, readonly=True) as r: n = len(r.get_all('s'))\n"
        "print(n)\n"
    )
    stop = threading.Event()
    with Ledger(path) as ledger:
        reader = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        number = 0
        while reader.poll() is None and not stop.is_set():
            ledger.put("s", f"k{number}", {})
            number += 1
        _, errors = reader.communicate()
    assert (reader.returncode, errors) == (0, b"")


def test_a_ledger_that_cannot_be_written_is_still_read(path: Path) -> None:
    payloads = fill(path)
    os.chmod(path, 0o444)
    os.chmod(path.parent, 0o555)
    try:
        with Ledger(path, readonly=True) as ledger:
            assert ledger.get_all("images") == payloads
    finally:
        os.chmod(path.parent, 0o755)


def test_reading_refuses_to_write_and_a_missing_ledger(path: Path) -> None:
    with pytest.raises(RunError, match="there is no ledger here; start the run first"):
        Ledger(path, readonly=True)
    fill(path)
    with Ledger(path, readonly=True) as ledger, pytest.raises(RunError, match="open for reading"):
        ledger.put("s", "k", {})
    closed = Ledger(path)
    closed.close()
    with pytest.raises(RunError, match="is closed; nothing can be recorded"):
        closed.put("s", "k", {})


def test_a_later_ledger_is_refused_and_left_alone(path: Path) -> None:
    fill(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(RunFormatError, match="version 2, this stereotrope reads up to 1; install a newer"):
        Ledger(path)
    assert path.read_bytes() == before


def test_a_full_disk_stops_with_what_is_kept(path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.put("s", "kept", {"v": 1})
        pages = ledger._writing.execute("PRAGMA page_count").fetchone()[0]
        ledger._writing.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(
            RunError, match=r"full.*Everything finished before is kept; make room .* same command"
        ):
            ledger.put("s", "big", {"v": "x" * 100_000})
        with pytest.raises(RunError, match="Everything finished before is kept"):
            ledger.put("s", "later", {})
        assert list(ledger.get_all("s")) == ["kept"]
    with Ledger(path) as ledger:
        ledger.put("s", "big", {"v": "x" * 100_000})
        assert ledger.missing("s", ["kept", "big", "later"]) == ["later"]


def test_a_file_size_limit_stops_with_what_is_kept(path: Path) -> None:
    code = (
        "from stereotrope.errors import RunError\nfrom stereotrope.run import Ledger\n"
        f"ledger = Ledger({str(path)!r})\n"
        "for i in range(10**6):\n"
        "    try: ledger.put('s', f'k{i}', {'v': 'x' * 2000})\n"
        "    except RunError as error: print(i, error); break\n"
    )
    limit = 300_000
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    kept, _, message = done.stdout.partition(" ")
    assert "make room" in message, done.stderr
    with Ledger(path) as ledger:
        assert ledger.totals() == {"s": int(kept)}
        assert ledger.notes == []


def test_another_programs_lock_is_explained(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stereotrope.run.ledger._BUSY_SECONDS", 0.05)
    with Ledger(path) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RunError, match="another program has held it"):
            ledger.put("s", "k", {})
        other.close()


def spoil(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as handle:
        handle.seek(at)
        handle.write(content)


def sound(found: dict[str, dict[str, object]], payloads: dict[str, dict[str, object]]) -> bool:
    return all(payloads[key] == payload for key, payload in found.items())


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999])
def test_a_truncated_ledger_is_salvaged_and_said(path: Path, share: float) -> None:
    payloads = fill(path, 2_000)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with Ledger(path) as ledger:
        assert len(ledger.notes) == 1
        assert "was damaged" in ledger.notes[0]
        found = ledger.get_all("images")
        assert sound(found, payloads)
        # At most half of the file is the index, and one page holds about 40 rows.
        assert len(found) >= 2_000 * share * 0.5 - 40
        ledger.put_many("images", {key: payloads[key] for key in ledger.missing("images", payloads)})
        assert ledger.get_all("images") == payloads
    assert len(list((path.parent / "quarantine").iterdir())) == 1
    with Ledger(path) as ledger:
        assert ledger.notes == []


def test_garbage_anywhere_is_noticed_or_harmless(path: Path, tmp_path: Path) -> None:
    payloads = fill(path, 400)
    whole = path.read_bytes()
    rng = random.Random(5)
    noticed = 0
    for trial, at in enumerate([0, 16, 18, 60, 68, 100, *rng.sample(range(len(whole)), 40)]):
        copy = tmp_path / f"trial{trial}" / "ledger.db"
        copy.parent.mkdir()
        copy.write_bytes(whole)
        spoil(copy, at, rng.randbytes(rng.choice([1, 20, 600])))
        with Ledger(copy) as ledger:
            found = ledger.get_all("images")
            assert sound(found, payloads), at
            assert len(found) == 400 or ledger.notes, at
            assert ledger.missing("images", payloads) == [key for key in payloads if key not in found], at
            noticed += bool(ledger.notes)
            assert len(found) >= 200, at
        shutil.rmtree(copy.parent)
    assert noticed > 15


def test_a_destroyed_first_page_loses_nothing_that_lies_behind_it(path: Path) -> None:
    payloads = fill(path, 2_000)
    spoil(path, 0, b"\0" * 4096)
    with Ledger(path) as ledger:
        assert ledger.get_all("images") == payloads
        assert "2000 finished items were salvaged" in ledger.notes[0]


@pytest.mark.parametrize("size", [4_000, 4_061, 4_062, 4_063, 5_000, 9_000, 100_000])
def test_long_payloads_are_salvaged(path: Path, size: int) -> None:
    payloads = fill(path, 12, size)
    spoil(path, 0, b"\0" * 4096)
    with Ledger(path) as ledger:
        assert ledger.get_all("images") == payloads


def test_what_stands_in_the_log_only_is_salvaged(path: Path) -> None:
    code = (
        "import os, signal\nfrom stereotrope.run import Ledger\n"
        f"ledger = Ledger({str(path)!r})\n"
        "for i in range(100): ledger.put('images', f'k{i}', {'text': 'x' * (i * 100)})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    log = path.with_name("ledger.db-wal")
    assert log.stat().st_size > 100_000
    spoil(path, 0, b"\0" * 4096)
    with Ledger(path) as ledger:
        assert ledger.get_all("images") == {f"k{i}": {"text": "x" * (i * 100)} for i in range(100)}
    assert not log.exists()
    assert {p.name for p in (path.parent / "quarantine").iterdir()} == {"1-ledger.db", "1-ledger.db-wal"}


def test_a_torn_log_loses_only_what_was_torn_off(path: Path) -> None:
    code = (
        "import os, signal\nfrom stereotrope.run import Ledger\n"
        f"ledger = Ledger({str(path)!r})\n"
        "for i in range(100): ledger.put('images', f'k{i:03}', {'i': i})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    log = path.with_name("ledger.db-wal")
    os.truncate(log, log.stat().st_size * 2 // 3)
    with Ledger(path) as ledger:
        found = ledger.get_all("images")
    assert list(found) == [f"k{i:03}" for i in range(len(found))]
    assert 50 < len(found) < 100


def test_a_kill_during_salvage_ends_in_the_salvaged_ledger(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    payloads = fill(path, 500)
    spoil(path, 0, b"\0" * 4096)
    monkeypatch.setattr("stereotrope.run.salvage.finish", _first_call_passes(KeyError("killed")))
    with pytest.raises(KeyError, match="killed"):
        Ledger(path)
    monkeypatch.undo()
    (path.parent / "quarantine").mkdir()
    path.rename(path.parent / "quarantine" / "1-ledger.db")
    with Ledger(path) as ledger:
        assert ledger.get_all("images") == payloads


def _first_call_passes(error: Exception):  # type: ignore[no-untyped-def]
    calls = []

    def finish(path: Path) -> None:
        calls.append(path)
        if len(calls) > 1:
            raise error

    return finish


def test_another_database_is_set_aside(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    with Ledger(path) as ledger:
        assert "another program's database" in ledger.notes[0]
        assert ledger.totals() == {}


def test_damage_met_by_a_reader_is_explained(path: Path) -> None:
    fill(path, 2_000)
    spoil(path, 8192, b"\xff" * 200_000)
    with pytest.raises(
        RunDamaged, match=r"continue the run with `stereotrope run .*`: what is sound in it is salvaged"
    ):
        Ledger(path, readonly=True).get_all("images")


def test_a_file_that_may_not_be_written_is_told_as_that_and_nobody_waits(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(name: object, *_: object) -> int:
        raise PermissionError(13, "Permission denied", str(name))

    with Ledger(path) as ledger:
        ledger._writing.execute("PRAGMA query_only = 1")  # SQLite then says what it says of such a file
        monkeypatch.setattr("stereotrope.run.ledger.os.open", forbidden)
        for _ in range(2):
            with pytest.raises(PermissionError):
                ledger.put("images", "a", {})


@pytest.mark.parametrize(
    "change",
    [
        "DROP INDEX items_by_key",
        "CREATE TRIGGER t BEFORE INSERT ON items BEGIN SELECT raise(IGNORE); END",
        "ALTER TABLE items ADD COLUMN note TEXT",
        "CREATE TABLE notes (a)",
    ],
)
def test_a_ledger_that_somebody_rebuilt_is_made_anew_with_all_its_items(path: Path, change: str) -> None:
    payloads = fill(path, 20)
    connection = sqlite3.connect(path)
    connection.execute(change)
    connection.close()
    with Ledger(path) as ledger:
        assert "its tables, indexes or triggers are not those it was made with); 20 fin" in ledger.notes[0]
        ledger.put("images", "new", {"n": 1})
        assert ledger.get_all("images") == {**payloads, "new": {"n": 1}}


def test_a_ledger_that_was_analysed_is_as_it_was(path: Path) -> None:
    fill(path, 20)
    connection = sqlite3.connect(path)
    connection.execute("ANALYZE")
    connection.close()
    with Ledger(path) as ledger:
        assert ledger.notes == []


def test_the_payload_in_the_file_is_plain_json(path: Path) -> None:
    fill(path, 1)
    (text,) = sqlite3.connect(path).execute("SELECT payload FROM items").fetchone()
    assert json.loads(text)["n"] == 0


def write_until_told(ledger: Ledger, name: str, told: list[str]) -> None:
    try:
        for i in range(10_000):
            ledger.put("s", f"{name}-{i}", {})
    except RunError as error:
        told.append(str(error))


def test_who_writes_while_it_is_closed_is_told_and_never_waits(path: Path) -> None:
    for _ in range(20):
        path.unlink(missing_ok=True)
        ledger, told = Ledger(path), list[str]()
        threads = [
            threading.Thread(target=write_until_told, args=(ledger, name, told), daemon=True)
            for name in "abcd"
        ]
        for thread in threads:
            thread.start()
        while not ledger.totals():
            time.sleep(0)
        ledger.close()
        for thread in threads:
            thread.join(60)
        assert [thread.is_alive() for thread in threads] == [False] * 4
        assert len(told) == 4
        assert all("is closed; nothing can be recorded" in each for each in told)
