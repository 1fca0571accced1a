from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.run.conftest import png

from stereotrope.errors import PictureError, RunDamaged, RunError
from stereotrope.run import PictureStore


def test_a_picture_lies_under_its_content_with_its_original_bytes(tmp_path: Path) -> None:
    data = png(1)
    stored = PictureStore(tmp_path).put(data)
    assert stored.sha256 == hashlib.sha256(data).hexdigest()
    assert stored.path == f"pictures/{stored.sha256[:2]}/{stored.sha256}.png"
    assert (tmp_path / stored.path).read_bytes() == PictureStore(tmp_path).get(stored.path) == data


def test_the_second_time_nothing_is_written(tmp_path: Path) -> None:
    store = PictureStore(tmp_path)
    stored = store.put(png(1))
    os.utime(tmp_path / stored.path, (1, 1))
    assert store.put(png(1)) == stored
    assert (tmp_path / stored.path).stat().st_mtime == 1


def test_a_run_folder_that_was_moved_is_not_made_anew_for_a_picture(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    store = PictureStore(tmp_path / "run")
    store.put(png(1))
    (tmp_path / "run").rename(tmp_path / "moved")
    with pytest.raises(RunError, match="run: the run folder was moved or removed while it is written; run"):
        store.put(png(2))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("place", [None, "file://{}"])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_folder_in_the_place_of_a_picture_makes_room_for_it(
    tmp_path: Path, place: str | None, is_known: bool
) -> None:
    store = PictureStore(tmp_path, place and place.format(tmp_path))
    stored = store.put(png(1))
    (tmp_path / stored.path).unlink()
    (tmp_path / stored.path).mkdir()
    if is_known:
        store.remove_damaged(store.damaged([stored.path]))
    assert store.put(png(1)) == stored
    assert [entry.name for entry in (tmp_path / "quarantine").iterdir()] == [f"1-{stored.sha256}.png"]
    assert store.get(stored.path) == png(1)


def test_a_torn_picture_is_replaced(tmp_path: Path) -> None:
    store = PictureStore(tmp_path)
    stored = store.put(png(1))
    os.truncate(tmp_path / stored.path, 10)
    store.put(png(1))
    assert store.get(stored.path) == png(1)


def test_the_same_picture_from_many_threads_is_one_whole_file(tmp_path: Path) -> None:
    store = PictureStore(tmp_path)
    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(lambda _: store.put(png(2)), range(64)))) == 1
    assert [p.suffix for p in tmp_path.rglob("*") if p.is_file()] == [".png"]


def test_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PictureError):
        PictureStore(tmp_path).put(b"<html>")
    assert not (tmp_path / "pictures").exists()


@pytest.mark.parametrize(
    "path",
    [
        "../secret.png",
        "/etc/passwd",
        "pictures/ab/../../x.png",
        "pictures/ab/" + "ab" * 32 + ".svg",
        "",
        "pictures/ab/" + "cd" * 32 + ".png",
    ],
)
def test_only_paths_of_pictures_are_read(tmp_path: Path, path: str) -> None:
    with pytest.raises(RunDamaged, match="is not the path of a picture"):
        PictureStore(tmp_path).get(path)


def test_a_missing_and_a_changed_picture_are_not_handed_out(tmp_path: Path) -> None:
    store = PictureStore(tmp_path)
    stored = store.put(png(1))
    (tmp_path / stored.path).write_bytes(png(2))
    with pytest.raises(RunDamaged, match="was changed since it was stored; run the same command again"):
        store.get(stored.path)
    (tmp_path / stored.path).unlink()
    with pytest.raises(RunDamaged, match="the picture is missing; run the same command again"):
        store.get(stored.path)


def test_damaged_pictures_are_named_with_the_reason(tmp_path: Path) -> None:
    store = PictureStore(tmp_path)
    paths = [store.put(png(i)).path for i in range(5)]
    (tmp_path / paths[1]).unlink()
    (tmp_path / paths[2]).write_bytes(b"")
    (tmp_path / paths[3]).write_bytes(png(99))
    assert store.damaged([*paths, "../x"]) == {
        paths[1]: "missing",
        paths[2]: "changed",
        paths[3]: "changed",
        "../x": "no path of a picture",
    }
    store.remove_damaged(store.damaged(paths))
    assert len(list((tmp_path / "quarantine").iterdir())) == 2
    assert not (tmp_path / paths[3]).exists()


def test_a_full_disk_leaves_no_half_picture(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom stereotrope.errors import RunError\nfrom stereotrope.run import PictureStore\n"
        f"data = open({str(tmp_path / 'big.png')!r}, 'rb').read()\n"
        f"try: PictureStore({str(tmp_path)!r}).put(data)\n"
        "except RunError as error: print(error)\n"
    )
    (tmp_path / "big.png").write_bytes(png(1) + b"\0" * 50_000)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000)),
    )
    assert "cannot be written (File too large" in done.stdout, done.stderr
    assert "make room" in done.stdout
    assert [p for p in (tmp_path / "pictures").rglob("*") if p.is_file()] == []


def test_no_space_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("stereotrope.run.disk.os.fsync", full)
    with pytest.raises(RunError, match=r"No space left on device; .* MB free .* is kept; make room"):
        PictureStore(tmp_path).put(png(1))
    assert [p for p in (tmp_path).rglob("*") if p.is_file()] == []
