"""Pictures at a URL, with the real fsspec: in memory, and in another folder."""

from __future__ import annotations

import shutil
from io import BytesIO
from pathlib import Path
from typing import Any

import fsspec
import pytest
from PIL import Image
from tests.run.kill import tables

import stereotrope as st
from stereotrope.cli import main
from stereotrope.errors import PictureUnavailable, RunDamaged, RunError, UsageError
from stereotrope.pictures import decode
from stereotrope.run import PictureStore, RunFolder
from stereotrope.run.place import RECORD, PicturePlace

AUDIT = """\
prompts:
  - {text: a photo of a cup, object: cup}
  - {text: a photo of a car, object: car}
images_per_prompt: 2
generators: [calibrated]
annotators: [{colour: [product_colour]}]
measures: [{share: product_colour}]
report: {figures: false}
"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"memory://{tmp_path}"


def png(shade: int) -> bytes:
    sink = BytesIO()
    Image.new("RGB", (8, 8), (shade, 0, 0)).save(sink, "PNG")
    return sink.getvalue()


def test_pictures_are_kept_and_read_where_the_url_says_and_checked_against_their_names(
    tmp_path: Path, url: str
) -> None:
    store, data = PictureStore(tmp_path, url), png(1)
    stored, other = store.put(data), store.put(png(2))
    assert store.put(data) == stored
    assert PictureStore(tmp_path, url).get(stored.path) == data
    assert not list(tmp_path.iterdir())
    files = fsspec.filesystem("memory")
    files.rm(f"{tmp_path}/{other.path}")
    store = PictureStore(tmp_path, url)
    assert store.damaged([stored.path, other.path]) == {other.path: "missing"}
    with pytest.raises(RunDamaged, match="the picture is missing"):
        store.get(other.path)
    files.pipe_file(f"{tmp_path}/{stored.path}", b"else")
    with pytest.raises(
        RunDamaged, match=rf"{url}/{stored.path}: the picture was changed .*; remove it there, and run"
    ):
        store.get(stored.path)


def test_a_run_with_pictures_elsewhere_has_the_tables_of_any_and_remembers_where_they_lie(
    tmp_path: Path,
) -> None:
    audit, there = st.Audit.from_text(AUDIT), tmp_path / "bucket"
    plain = audit.run(tmp_path / "plain")
    run = audit.run(tmp_path / "run", pictures=f"file://{there}/first/")
    assert (run.path / RECORD).read_text() == f"file://{there}/first\n"
    assert not (run.path / "pictures").exists()

    def without_pictures(folder: Path) -> dict[str, str]:
        return {name: one for name, one in tables(folder).items() if not name.startswith("pictures/")}

    assert without_pictures(run.path) == without_pictures(plain.path)
    image = run.images["image_id"][0]
    assert decode(run.picture(image)).tolist() == decode(plain.picture(image)).tolist()
    assert (run.path / "report" / "index.html").read_text().count("data:image/") >= 4

    lost = there / "first" / run.images["path"][0]
    lost.unlink()
    said: list[str] = []
    again = audit.run(run.path, watcher=Saying(said))
    assert any("was missing; it is made again" in one for one in said)
    assert lost.is_file()
    assert without_pictures(again.path) == without_pictures(plain.path)

    shutil.rmtree(there)
    with pytest.raises(RunDamaged, match=f"file://{there}/first: the folder with 4 pictures"):
        audit.run(run.path)


class Saying:
    """Keeps what a run says."""

    def __init__(self, said: list[str]) -> None:
        self.said = said

    def stage(self, *_: Any, **__: Any) -> None:
        """Nothing."""

    advance = doing = stage

    def say(self, message: str) -> None:
        self.said.append(message)


def test_where_pictures_lie_cannot_be_changed(tmp_path: Path, url: str) -> None:
    with RunFolder(tmp_path / "run", pictures=url) as run:
        stored = run.store.put(png(1))
    with RunFolder(tmp_path / "run", pictures=f"{url}/") as run:
        assert run.store.get(stored.path) == png(1)
    with (
        pytest.raises(UsageError, match=rf"its pictures lie at {url}, and --pictures says {url}/b; leave"),
        RunFolder(tmp_path / "run", pictures=f"{url}/b"),
    ):
        pass
    with RunFolder(tmp_path / "here") as run:
        run.store.put(png(1))
    with (
        pytest.raises(UsageError, match="its pictures lie in its folder, and --pictures says"),
        RunFolder(tmp_path / "here", pictures=url),
    ):
        pass


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("file://", "'file://' is no URL; write"),
        ("s3://[x/y", "is no URL that fsspec knows: Invalid IPv6"),
        ("pictures", "'pictures' is no URL; write s3://bucket/first, say"),
        ("nowhere://bucket", "'nowhere://bucket' is no URL that fsspec knows: Protocol not known: nowhere"),
        ("sftp://me:secret@host/a", "must hold no password; leave it out"),
        ("abfs://box/first", "needs a package that is not installed .*pip install fsspec, and"),
    ],
)
def test_a_url_that_cannot_be_used_is_told_before_anything_is_made(
    tmp_path: Path, url: str, match: str
) -> None:
    with pytest.raises(UsageError, match=match):
        st.Audit.from_text(AUDIT).run(tmp_path / "run", pictures=url)
    assert not (tmp_path / "run").exists()


def test_a_place_that_fails_is_told_and_nothing_is_lost(tmp_path: Path, url: str) -> None:
    place, failing = PicturePlace(url), OSError("503 slow down")

    def fail(*_: Any, **__: Any) -> None:
        raise failing

    place._files = type("Failing", (), {"pipe_file": fail, "cat_file": fail, "find": fail})()
    with pytest.raises(RunError, match=r"cannot be written \(503 slow down\). Everything finished before is"):
        place.check()
    for read in (lambda: place.read("a"), place.names):
        with pytest.raises(PictureUnavailable, match=r"\(503 slow down\); the same command tries again"):
            read()


def test_a_run_whose_ledger_is_lost_is_refused_wherever_its_pictures_lie(tmp_path: Path, url: str) -> None:
    with RunFolder(tmp_path / "run", pictures=url) as run:
        stored = run.store.put(png(1))
        assert [*run.store.paths] == [stored.path]
    (tmp_path / "run" / "ledger.db").unlink()
    with pytest.raises(RunDamaged, match="its pictures are there; put it back"), RunFolder(tmp_path / "run"):
        pass


def test_a_folder_is_kept_with_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with RunFolder("run", pictures="file://out/pictures") as run:
        stored = run.store.put(png(1))
    assert (tmp_path / "run" / RECORD).read_text() == f"file://{tmp_path}/out/pictures\n"
    monkeypatch.chdir("/")
    with RunFolder(tmp_path / "run") as run:
        assert run.store.get(stored.path) == png(1)


def test_a_place_that_cannot_be_reached_or_ends_with_the_command_is_refused(tmp_path: Path, capsys) -> None:
    with pytest.raises(UsageError, match=r"pictures: ftp://nowhere\.invalid cannot be reached"):
        PicturePlace("ftp://nowhere.invalid")
    (tmp_path / "audit.yaml").write_text(AUDIT)
    where = [str(tmp_path / "audit.yaml"), "-o", str(tmp_path / "run")]
    with pytest.raises(SystemExit, match="2"):
        main(["run", *where, "--pictures", "memory://x"])
    assert "memory ends with this command" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_picture_that_is_not_at_its_place_has_no_stamp_and_all_have_one_where_that_cannot_be_asked(
    tmp_path: Path, url: str
) -> None:
    store, other = PictureStore(tmp_path, url), f"pictures/00/{'0' * 64}.png"
    path = store.put(png(1)).path
    assert (store.stamp(path) is None, store.stamp(other)) == (False, None)

    def fail(*_: object, **__: object) -> None:
        raise OSError("503 slow down")

    away = PictureStore(tmp_path, url)
    assert away.place is not None
    away.place._files = type("Failing", (), {"find": fail})()
    assert away.stamp(other) is not None
