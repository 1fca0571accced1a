"""Trouble that passes is no property of a picture: missing now, tried again, and done once it is over."""

import errno
import json
import os

import numpy as np
import pytest
from PIL import Image

from stereotrope import pictures
from stereotrope.annotate import Encoder, Picture
from stereotrope.audit import Audit
from stereotrope.audit.work import ANNOTATE, GENERATE
from stereotrope.errors import IncompleteError, PictureUnavailable, RunDamaged
from stereotrope.pictures import room
from stereotrope.run import Ledger

AUDIT = """\
prompts: [{text: a cup}]
generators: [{folder: made, factors: []}]
annotators: [blank, colour]
measures: [share]
resamples: 100
"""
N = 6


@pytest.fixture
def study(tmp_path):
    (tmp_path / "made").mkdir()
    rng = np.random.default_rng(0)
    for i in range(N):
        noise = rng.integers(0, 256, (64, 64, 3)).astype(np.uint8)
        Image.fromarray(noise).save(tmp_path / "made" / f"{i}.png")
    return tmp_path


def audit(study):
    return Audit.from_text(AUDIT, base=study)


class At:
    """A watcher that does something when a stage begins."""

    def __init__(self, stage, act):
        self.at, self.act = stage, act

    def stage(self, name, total, done):
        if name.startswith(self.at):
            self.act()

    def advance(self, name, done):
        pass

    def doing(self, name, what):
        pass

    def say(self, message):
        pass


def tables(run):
    return run.images.drop("latency"), run.labels, run.estimates


def assert_heals(study):
    """The same command ends in the tables of a run that met no trouble."""
    healed = audit(study).run(study / "run")
    calm = audit(study).run(study / "calm")
    assert all(a.equals(b) for a, b in zip(tables(healed), tables(calm), strict=True))
    assert healed.images["status"].to_list() == ["ok"] * N


def test_a_folder_that_is_renamed_away_for_a_moment_is_one_message_and_read_when_it_is_back(study):
    away = At("generate", lambda: (study / "made").rename(study / "away"))
    with pytest.raises(
        PictureUnavailable, match=r"6 of 6 missing: folder .*made: is not there any more"
    ) as error:
        audit(study).run(study / "run", watcher=away)
    assert error.value.exit_code == 3
    assert str(error.value).count("is not there any more") == 1
    (study / "away").rename(study / "made")
    assert_heals(study)


@pytest.mark.parametrize("spoil", ["missing", "changed", "half written", "a folder"])
def test_a_file_that_is_lost_while_the_audit_runs_is_missing_until_it_is_back(study, spoil):
    file = study / "made" / "2.png"
    before = file.read_bytes()

    def act():
        file.unlink()
        if spoil == "changed":
            file.write_bytes((study / "made" / "1.png").read_bytes())
        elif spoil == "half written":
            file.write_bytes(before[: len(before) // 2])
        elif spoil == "a folder":
            file.mkdir()

    with pytest.raises(IncompleteError, match=r"generate: made: 1 of 6 missing: .*2\.png") as error:
        audit(study).run(study / "run", watcher=At("generate", act))
    assert error.value.exit_code == 3
    if spoil == "a folder":
        file.rmdir()
    file.write_bytes(before)
    assert_heals(study)


@pytest.mark.parametrize("trouble", [errno.EIO, errno.EMFILE, errno.EACCES])
def test_files_that_cannot_be_read_are_missing_until_they_can(study, monkeypatch, trouble):
    opened = os.open

    def failing(path, *arguments, **options):
        if str(path).endswith(("1.png", "4.png")):
            raise OSError(trouble, os.strerror(trouble))
        return opened(path, *arguments, **options)

    for planned in (False, True):
        with monkeypatch.context() as patched:
            fail = lambda p=patched: p.setattr("stereotrope.generate.containment.os.open", failing)  # noqa: E731
            if planned:
                fail()
            with pytest.raises(IncompleteError, match=rf"2 of 6 missing: .*{os.strerror(trouble).lower()}"):
                audit(study).run(study / "run", watcher=At("generate", fail))
    assert_heals(study)


@pytest.mark.parametrize("stage", ["generate", "annotate:blank", "annotate:colour"])
def test_short_memory_is_missing_until_there_is_some(study, monkeypatch, stage):
    def short():
        def broken(*_, **__):
            raise OSError("broken data stream when reading image file")

        monkeypatch.setattr(Image, "open", broken)
        monkeypatch.setattr(room, "is_spare", lambda pixels: False)

    with pytest.raises((IncompleteError, PictureUnavailable), match=r"6 of 6 missing: memory is short"):
        audit(study).run(study / "run", watcher=At(stage, short))
    monkeypatch.undo()
    assert_heals(study)


def picture(study, name, n_pixels=0):
    return Picture(name, name, (study / "made" / name).read_bytes, n_pixels=n_pixels)


def test_an_encoder_gets_no_reason_for_a_picture_that_has_no_memory(study, monkeypatch):
    class Ones(Encoder):
        setup = print

        def encode_pictures(self, pixels):
            return [np.ones(2, dtype=np.float32) for _ in pixels]

    encoder = Ones("clip", "model", name="ones")
    assert "vector" in encoder.process(picture(study, "1.png"))
    monkeypatch.setattr(np, "empty", lambda *_, **__: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(PictureUnavailable, match="memory is short"):
        encoder.process(picture(study, "1.png"))


def test_very_large_pictures_of_a_batch_are_encoded_in_parts(study):
    seen = []

    class First(Encoder):
        setup = print

        def encode_pictures(self, pixels):
            seen.append(len(pixels))
            return [np.full(2, each[0, 0, 0], dtype=np.float32) for each in pixels]

    half = pictures.PIXELS_AT_ONCE // 2
    made = First("clip", "model", name="first").process_batch(
        [picture(study, f"{i}.png", half) for i in range(4)]
    )
    assert seen == [2, 2]
    assert len({json.dumps(one) for one in made}) == 4


def test_outcomes_that_an_earlier_version_kept_without_proof_are_tried_again(study):
    audit(study).run(study / "run")
    with Ledger(study / "run" / "ledger.db") as ledger:
        ids, looks = list(ledger.get_all(GENERATE)), list(ledger.get_all(ANNOTATE))
        ledger.forget(GENERATE, ids[:4])
        reasons = ["file is missing", "file was changed while the audit ran; run again", "truncated"]
        reasons.append("damaged: cannot be decoded")
        for key, reason in zip(ids, reasons, strict=False):
            ledger.put(GENERATE, key, {"status": "excluded", "reason": reason})
        ledger.forget(ANNOTATE, looks[:2])
        said = {
            "attribute": "blank",
            "status": "invalid",
            "rationale": "damaged: cannot be decoded",
            "value": None,
        }
        for key in looks[:2]:
            ledger.put(ANNOTATE, key, {"labels": [said]})
    assert_heals(study)


def test_a_file_that_the_bytes_prove_damaged_is_kept_and_not_read_again(study, monkeypatch):
    file = study / "made" / "3.png"
    file.write_bytes(file.read_bytes()[:90])
    with pytest.raises(IncompleteError, match="1 × truncated"):
        audit(study).run(study / "run")
    begun = []
    watcher = At("", lambda: None)
    watcher.stage = lambda name, total, done: begun.append((name, total - done))
    with pytest.raises(IncompleteError, match="1 × truncated"):
        audit(study).run(study / "run", watcher=watcher)
    assert ("generate", 0) in begun


def test_a_run_whose_pictures_were_moved_away_asks_for_them_and_draws_nothing_anew(study):
    audit(study).run(study / "run")
    (study / "run" / "pictures").rename(study / "kept")
    with pytest.raises(
        RunDamaged, match=r"pictures: the folder with 6 pictures of this run is missing; put it back"
    ):
        audit(study).run(study / "run")
    (study / "kept").rename(study / "run" / "pictures")
    assert_heals(study)


def test_an_annotator_that_asks_a_kept_picture_waits_for_its_disk(study, monkeypatch):
    from pathlib import Path

    read = Path.read_bytes

    def failing(path):
        if path.suffix == ".png":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return read(path)

    with monkeypatch.context() as patched:
        fail = lambda: patched.setattr(Path, "read_bytes", failing)  # noqa: E731
        with pytest.raises(
            IncompleteError, match=r"6 of 6 missing: .*\.png: cannot be read .input/output error"
        ):
            audit(study).run(study / "run", watcher=At("annotate:colour", fail))
    assert_heals(study)
