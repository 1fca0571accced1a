import asyncio
import json
import shutil
import threading

import polars as pl
import pytest

import stereotrope as st
from stereotrope import report
from stereotrope.audit import Audit
from stereotrope.audit.estimating import tidy_labels_of_run
from stereotrope.audit.subjects import Subjects
from stereotrope.errors import AuditFileError, IncompleteError, Interrupted, RunError
from stereotrope.measure.finder import FINDERS
from stereotrope.run import Ledger
from stereotrope.tables import QUALITY_ATTRIBUTES

AUDIT = """\
suite: objects
objects: [cup]
dimensions: {gender: [men, women]}
images_per_prompt: 4
generators: [{calibrated: , size: 128}]
annotators: [blank, duplicates, colour]
permutations: 199
resamples: 100
"""

TABLES = ("prompts", "images", "labels", "estimates", "findings")


def audit(text: str = AUDIT, **options) -> Audit:
    return Audit.from_text(text, **options)


class Recorder:
    """A watcher that keeps what it is told, and sets an event once so many items are finished."""

    def __init__(self, stop=None, after=0):
        self.todo, self.said, self.worked, self.stop, self.after = {}, [], [], stop, after

    def stage(self, name, total, done):
        self.todo[name] = total - done

    def advance(self, name, done):
        if self.stop is not None and done >= self.after:
            self.stop.set()

    def doing(self, name, what):
        self.worked.append((name, what))

    def say(self, message):
        self.said.append(message)


def bytes_of(folder):
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "first"
    audit().run(folder)
    return folder


def test_a_run_ends_in_five_tables_and_a_report(finished, tmp_path, reported):
    folder = shutil.copytree(finished, tmp_path / "run")
    run = audit().run(folder)
    assert run.prompts.height == 3
    assert run.images.height == 12
    assert set(run.images["status"]) == {"ok"}
    assert {"product_colour", "background_colour", "blank"} <= set(run.labels["attribute"])
    assert {"bds", "cds", "vac", "share"} <= set(run.estimates["measure"])
    assert (folder / "report" / "index.html").is_file()
    assert run.info["counts"]["images"] == 12


def test_figures_are_files_where_the_audit_asks_for_them(finished, tmp_path, drawn):
    folder = tmp_path / "plain"
    shutil.copytree(finished, folder)
    few = f"{AUDIT}measures: [bds]\n"
    figures, plain = folder / "report" / "figures", f"{few}report: {{figures: false}}\n"
    audit(few).measure(folder)
    drawings = {path.name for path in figures.iterdir()}
    assert {"bds.svg", "bds.png"} <= drawings
    audit(plain).measure(folder)
    assert not list(figures.iterdir())
    report.write(st.open(folder))
    assert {path.name for path in figures.iterdir()} == drawings


def test_the_same_command_again_does_nothing_and_leaves_the_same_bytes(finished, tmp_path):
    folder = tmp_path / "again"
    shutil.copytree(finished, folder)
    before, seen = bytes_of(folder), Recorder()
    audit().run(folder, watcher=seen)
    assert bytes_of(folder) == before
    assert seen.said == [] == seen.worked
    assert [todo for name, todo in seen.todo.items() if name != "report"] == [0, 0, 0, 0, 0]


def test_what_is_measured_is_told_by_name(finished, tmp_path):
    folder, seen = tmp_path / "again", Recorder()
    shutil.copytree(finished, folder, ignore=shutil.ignore_patterns("measured"))
    audit().run(folder, watcher=seen)
    assert bytes_of(folder) == bytes_of(finished)
    assert [what for name, what in seen.worked if name == "measure" and " of " not in what] == [
        *(call.name for call in audit().plan().measures),
        "findings",
        "",
    ]
    assert {name for name, _ in seen.worked} <= {"measure", "report"}


def test_another_folder_gives_the_same_bytes(finished, tmp_path):
    audit().run(tmp_path / "other")
    assert bytes_of(tmp_path / "other") == bytes_of(finished)


def test_an_added_group_draws_only_the_new_pictures(finished, tmp_path):
    folder = tmp_path / "more"
    shutil.copytree(finished, folder)
    seen = Recorder()
    run = audit(AUDIT.replace("[men, women]", "[men, women, non-binary people]")).run(folder, watcher=seen)
    assert seen.todo["generate"] == 4
    assert run.images.height == 16
    assert len(list(folder.glob("audit-*.yaml"))) == 1


def test_a_removed_group_leaves_the_tables_and_stays_in_the_ledger(finished, tmp_path):
    folder = tmp_path / "less"
    shutil.copytree(finished, folder)
    run = audit(AUDIT.replace("[men, women]", "[men]")).run(folder)
    assert run.images.height == 8
    ledger = Ledger(folder / "ledger.db", readonly=True)
    assert len(ledger.get_all("generate")) == 12


def test_measure_needs_neither_generator_nor_pictures(finished, tmp_path):
    folder = tmp_path / "measured"
    shutil.copytree(finished, folder)
    before = bytes_of(folder)
    Audit.from_run(folder).measure(folder)
    assert bytes_of(folder) == before


def test_measure_keeps_what_run_json_says_of_a_folder_of_pictures(finished, tmp_path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for name, source in zip(("a", "b", "c"), sorted(finished.glob("pictures/*/*")), strict=False):
        shutil.copy(source, pictures / f"{name}.png")
    (pictures / "metadata.csv").write_text("file_name,thing\na.png,cup\nb.png,car\n")
    text = "generators: [{folder: pictures, factors: [thing]}]\nannotators: [blank]\n"
    audit(text, base=tmp_path).run(tmp_path / "run")
    before = (tmp_path / "run" / "run.json").read_text()
    assert any("'c.png'" in note for note in json.loads(before)["notes"])
    Audit.from_run(tmp_path / "run").measure(tmp_path / "run")
    assert (tmp_path / "run" / "run.json").read_text() == before


def test_measure_finds_files_beside_the_audit_file_it_was_run_from(finished, tmp_path):
    ids = st.open(finished).images["image_id"]
    rows = "".join(f"{image_id},{'ab'[n % 2]}\n" for n, image_id in enumerate(ids))
    (tmp_path / "asked").mkdir()
    (tmp_path / "asked" / "people.csv").write_text(f"image_id,taste\n{rows}")
    text = AUDIT.replace("[blank, duplicates, colour]", "[blank, {labels: people.csv, name: people}]")
    audit(text, base=tmp_path / "asked").run(tmp_path / "runs" / "first")
    before = bytes_of(tmp_path / "runs" / "first")
    run = Audit.from_run(tmp_path / "runs" / "first").measure(tmp_path / "runs" / "first")
    assert run.labels.filter(annotator="people").height == 12
    assert bytes_of(tmp_path / "runs" / "first") == before


def test_measure_of_an_unfinished_run_says_so(tmp_path):
    with pytest.raises(RunError):
        audit().measure(tmp_path / "nothing")


def test_a_mistake_in_the_file_touches_nothing(finished, tmp_path):
    folder = tmp_path / "kept"
    shutil.copytree(finished, folder)
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    with pytest.raises(AuditFileError):
        audit(AUDIT.replace("objects: [cup]", "objects: [zeppelin]")).run(folder)
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before


def test_a_stopped_run_is_interrupted_and_continues_to_the_same_bytes(finished, tmp_path):
    stop = threading.Event()
    with pytest.raises(Interrupted, match="same command continues"):
        audit().run(tmp_path / "stopped", watcher=Recorder(stop, after=5), stop=stop)
    done = len(Ledger(tmp_path / "stopped" / "ledger.db", readonly=True).get_all("generate"))
    assert done >= 5
    audit().run(tmp_path / "stopped")
    assert bytes_of(tmp_path / "stopped") == bytes_of(finished)


class AtPart(Recorder):
    """Sets an event once a measure, or the findings, say that they are at a part."""

    def __init__(self, part, stop):
        super().__init__()
        self.part, self.stopping = part, stop

    def doing(self, name, what):
        super().doing(name, what)
        if what == self.part:
            self.stopping.set()


@pytest.mark.parametrize(
    ("part", "where"),
    [
        ("bds 1 of 4", r"after \d+ of \d+ measures, in bds"),
        ("findings 1 of {finders}", "after all measures, in findings"),
    ],
)
def test_a_measure_says_how_far_it_is_and_ends_between_two_of_its_parts(finished, tmp_path, part, where):
    folder, stop = shutil.copytree(finished, tmp_path / "again"), threading.Event()
    longer = audit(AUDIT.replace("[cup]", "[cup, car]"))
    seen = AtPart(part.format(finders=len(FINDERS)), stop)
    with pytest.raises(Interrupted, match=where):
        longer.run(folder, watcher=seen, stop=stop)
    assert seen.worked[-1] == ("measure", seen.part)
    assert bytes_of(folder) == bytes_of(finished)
    again = longer.run(folder)
    assert again.estimates.height > st.open(finished).estimates.height


def test_it_runs_inside_an_event_loop(finished, tmp_path):
    async def notebook():
        return audit().run(tmp_path / "loop")

    run = asyncio.run(notebook())
    assert run.images.height == 12


def test_a_damaged_picture_is_made_again_and_said(finished, tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(finished, folder)
    victim = next(folder.glob("pictures/*/*"))
    victim.write_bytes(victim.read_bytes()[:100])
    seen = Recorder()
    audit().run(folder, watcher=seen)
    assert bytes_of(folder) == bytes_of(finished)
    assert any("made again" in line for line in seen.said)


def test_refusals_are_rows_with_a_reason_and_are_measured(tmp_path):
    text = AUDIT.replace("{calibrated: , size: 128}", "{calibrated: , size: 128, refuse: {women: 0.5}}")
    run = audit(text.replace("images_per_prompt: 4", "images_per_prompt: 10")).run(tmp_path / "refusing")
    refused = run.images.filter(status="refused")
    assert refused.height > 0
    assert refused["sha256"].null_count() == refused.height
    assert refused["reason"].null_count() == 0
    rates = run.estimates.filter(measure="refusal_rate", group="women")
    assert rates["value"].item() == refused.height / 10


def test_too_many_unusable_pictures_end_incomplete_with_the_report_written(tmp_path, reported):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    (pictures / "bad.png").write_bytes(b"<html>not a picture</html>")
    (pictures / "metadata.csv").write_text("file_name,thing\nbad.png,cup\ngone.png,cup\n")
    text = "generators: [{folder: pictures, factors: [thing]}]\nannotators: [blank]\n"
    with pytest.raises(IncompleteError, match=r"2 of 2 pictures cannot be used"):
        audit(text, base=tmp_path).run(tmp_path / "run")
    run = st.open(tmp_path / "run")
    assert run.images["status"].to_list() == ["excluded", "excluded"]
    assert run.images["reason"].null_count() == 0
    assert (tmp_path / "run" / "report" / "index.html").is_file()


def test_what_a_generator_gives_and_is_no_picture_is_excluded_with_the_reason(tmp_path, monkeypatch):
    from stereotrope.generate import CalibratedGenerator, ImageResult

    monkeypatch.setattr(CalibratedGenerator, "process", lambda self, request: ImageResult(b"<html>", "ok"))
    with pytest.raises(IncompleteError, match="12 of 12 pictures cannot be used"):
        audit().run(tmp_path / "html")
    images = st.open(tmp_path / "html").images
    assert set(images["status"]) == {"excluded"}
    assert images["reason"].null_count() == 0
    assert images["path"].null_count() == 12


def test_a_run_whose_every_prompt_is_refused_ends_with_nulls_and_reasons(tmp_path, monkeypatch, reported):
    from stereotrope.generate import CalibratedGenerator, ImageResult

    declined = ImageResult(None, "refused", "declined")
    monkeypatch.setattr(CalibratedGenerator, "process", lambda self, request: declined)
    run = audit().run(tmp_path / "declined")
    assert set(run.estimates.filter(pl.col("contrast").is_null(), measure="refusal_rate")["value"]) == {1.0}
    for name in ("bds", "cds", "vac", "share", "share_difference", "dominance_shift", "default_rank"):
        rows = run.estimates.filter(measure=name)
        assert rows.height > 0, name
        assert rows["value"].null_count() == rows.height, name
        assert rows["undefined"].null_count() == 0, name
    assert (run.path / "report" / "index.html").is_file()


def test_run_json_holds_no_absolute_path_and_no_clock(finished, tmp_path):
    text = (finished / "run.json").read_text()
    assert str(finished) not in text
    assert "/tmp" not in text
    assert json.loads(text)["counts"]["ok"] == 12


def test_folded_values_are_measured_under_the_name_of_their_annotator(finished, tmp_path):
    run = st.open(finished)
    subjects = Subjects(audit().plan(), run.images)
    tidy = tidy_labels_of_run(subjects, run.labels)
    tidy = tidy.filter(~pl.col("attribute").is_in(QUALITY_ATTRIBUTES))
    assert set(tidy["annotator"]) == {"colour"}
    assert tidy.height == tidy.unique(["image_id", "attribute"]).height == 12 * 2


def test_every_label_is_of_an_image_of_the_run(finished):
    run = st.open(finished)
    assert set(run.labels["subject_id"]) <= set(run.images["image_id"])
    assert run.labels.filter((pl.col("status") == "ok") & pl.col("value").is_null()).height == 0


def test_a_picture_an_annotator_cannot_decode_has_invalid_labels_with_the_reason(tmp_path, monkeypatch):
    from stereotrope.annotate import ColourAnnotator
    from stereotrope.errors import PictureError

    def process(self, picture):
        raise PictureError("truncated")

    monkeypatch.setattr(ColourAnnotator, "process", process)
    with pytest.raises(IncompleteError, match=r"annotator 'colour': 24 of 24 .* most often: truncated"):
        audit().run(tmp_path / "undecodable")
    run = st.open(tmp_path / "undecodable")
    said = run.labels.filter(annotator="colour")
    assert set(said["status"]) == {"invalid"}
    assert set(said["rationale"]) == {"truncated"}
    scores = run.estimates.filter(measure="bds", attribute="all")
    assert scores["value"].null_count() == scores.height > 0
    assert scores["undefined"].null_count() == 0


def test_an_item_that_fails_leaves_the_rest_and_ends_incomplete(finished, tmp_path, monkeypatch):
    from stereotrope.errors import UsageError
    from stereotrope.generate import CalibratedGenerator

    process = CalibratedGenerator.process

    def failing(self, request):
        if request.seed == 2:
            raise UsageError("the pencil broke")
        return process(self, request)

    monkeypatch.setattr(CalibratedGenerator, "process", failing)
    with pytest.raises(IncompleteError, match=r"generate: calibrated: 3 of 12 missing: the pencil broke"):
        audit().run(tmp_path / "broken")
    assert st.open(tmp_path / "broken").images.height == 9
    monkeypatch.undo()
    audit().run(tmp_path / "broken")
    # So few pictures could have told nothing: what was read in between was no look at the run.
    assert bytes_of(tmp_path / "broken") == bytes_of(finished)


def test_an_attribute_taken_later_needs_no_second_look(tmp_path):
    some = AUDIT.replace("[blank, duplicates, colour]", "[{colour: [background_colour]}]")
    first = audit(some).run(tmp_path / "run")
    assert set(first.labels.filter(annotator="colour")["attribute"]) == {"background_colour"}
    seen = Recorder()
    more = audit(AUDIT.replace("[blank, duplicates, colour]", "[colour]")).run(tmp_path / "run", watcher=seen)
    assert seen.todo["annotate:colour"] == 0
    assert {"product_colour", "background_colour"} <= set(more.labels["attribute"])
