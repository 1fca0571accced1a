"""Audits that read inside a pipeline while it draws: the same pictures, what was read, and no draw twice."""

import threading

import pytest
from tests.conftest import DEVICE
from tests.run import kill

import stereotrope as st
from stereotrope.audit import Audit
from stereotrope.audit.outstanding import outstanding
from stereotrope.cli.planning import print_plan
from stereotrope.commands import Settings
from stereotrope.errors import AuditFileError, IncompleteError, Interrupted
from stereotrope.generate import DiffusersGenerator
from stereotrope.probe import spi_curves

AUDIT = """\
prompts: [{thing: cup, text: a red cup}, {thing: doctor, text: a photo of a doctor}]
images_per_prompt: 3
generators:
  - {diffusers: FOLDER, name: tiny, steps: 2, width: 32, height: 32, batch: 2, device: DEVICE, PROBE}
annotators: [blank]
measures: [refusal_rate]
report: {figures: false}
""".replace("DEVICE", DEVICE)
HAT = "candidates: {hat: {positive: [a man], negative: [a woman]}}"
PROBED = f"probe: {{{HAT}, previews: [0], images_per_prompt: 2}}"


def audit(folder, probe=PROBED):
    return Audit.from_text(AUDIT.replace("FOLDER", str(folder)).replace("PROBE", probe))


@pytest.fixture
def drawn(monkeypatch):
    """How many pictures were drawn each time, and what is called after it."""
    batches, after = [], []

    def noted(name):
        work = getattr(DiffusersGenerator, name)

        def wrapped(self, requests):
            results = work(self, requests)
            batches.append((name, len(requests)))
            for each in after:
                each()
            return results

        monkeypatch.setattr(DiffusersGenerator, name, wrapped)

    noted("process_batch")
    noted("probe_batch")
    return batches, after


def test_what_is_read_stands_in_a_table_and_the_pictures_are_those_without(
    tmp_path, pipelines, drawn, reported
):
    batches, _ = drawn
    plain = audit(pipelines("sd3"), "slicing: false").run(tmp_path / "plain")
    del batches[:]
    run = audit(pipelines("sd3")).run(tmp_path / "run")
    assert batches == [("probe_batch", 2), ("probe_batch", 2), ("process_batch", 2)]
    assert run.images.equals(plain.images)
    probes = run.table("probes")
    spi = probes.filter(probe="spi")
    assert spi.height == 4 * 2 * 2  # pictures, steps, conditional and guided
    assert spi["undefined"].null_count() == spi.height
    assert set(probes["same_picture"]) == {"yes"}
    assert set(spi["quantity"]) == {"velocity"}
    previews = probes.filter(probe="predisposition")
    assert previews.height == 4
    assert all((run.path / path).read_bytes()[:4] == b"\x89PNG" for path in previews["path"])
    curves = run.table("probe_curves")
    assert (curves.height, set(curves["n"])) == (2 * 2 * 2, {2})
    assert curves.equals(spi_curves(probes).select(curves.columns))
    page, without = ((one.path / "report" / "index.html").read_text("utf-8") for one in (run, plain))
    assert "tiny: cup; hat, on the velocity" in page
    assert page.count("expected at step 0; then the picture") == 2
    assert "What the models do while they draw" not in without
    assert plain.table("probes").height == plain.table("probe_curves").height == 0
    del batches[:]
    again = audit(pipelines("sd3")).run(tmp_path / "run")
    measured = audit(pipelines("sd3")).measure(tmp_path / "run")
    assert batches == []
    assert again.table("probes").equals(probes)
    assert measured.table("probes").equals(probes)
    assert measured.table("probe_curves").equals(curves)
    assert st.open(tmp_path / "run").info["tables"]["probes"]["from"] == "stereotrope"


def test_a_probe_that_is_added_reads_the_pictures_that_are_there(tmp_path, pipelines, drawn):
    batches, _ = drawn
    before = audit(pipelines("flux"), "slicing: false").run(tmp_path / "run")
    del batches[:]
    run = audit(pipelines("flux")).run(tmp_path / "run")
    assert batches == [("probe_batch", 2)] * 2
    assert run.images.equals(before.images)
    probes = run.table("probes")
    assert set(probes["same_picture"]) == {"yes"}
    assert set(probes["prediction"].drop_nulls()) == {"conditional"}
    other = audit(pipelines("flux"), PROBED.replace("a woman", "a cup")).run(tmp_path / "run")
    assert other.table("probes").height == probes.height
    assert not other.table("probes").equals(probes)


def test_a_plan_counts_what_is_read_and_what_a_picture_takes(tmp_path, pipelines, capsys):
    def told():
        work = outstanding(audit(pipelines("sd3")).plan(), tmp_path / "run")
        return next(one for one in work if one.verb == "probe")

    first = told()
    assert (first.name, first.total, first.done, first.expected) == ("tiny", 4, 0, None)
    assert first.note == "2 predictions a step beside its own, 4 in 2 steps and 1 decoded preview"
    print_plan(audit(pipelines("sd3")).plan(), tmp_path / "run", Settings())
    said = " ".join(capsys.readouterr().out.split())
    assert "probe: tiny takes 2 predictions a step beside its own" in said
    assert "1 decoded preview for each of 4 pictures." in said
    audit(pipelines("sd3")).run(tmp_path / "run")
    assert (told().total, told().done) == (4, 4)


def test_two_models_in_one_run_are_loaded_and_read_apart(tmp_path, pipelines, reported):
    text = AUDIT.replace("PROBE", PROBED).replace("images_per_prompt: 3\n", "images_per_prompt: 1\n")
    (model,) = (line for line in text.splitlines(keepends=True) if "diffusers:" in line)
    models = [model.replace("FOLDER", str(pipelines(kind))).replace("tiny", kind) for kind in ("sd3", "sd1")]
    run = Audit.from_text(text.replace(model, "".join(models))).run(tmp_path / "run")
    assert set(run.images["status"]) == {"ok"}
    page = (run.path / "report" / "index.html").read_text("utf-8")
    assert "sd3: cup; hat, on the velocity" in page
    assert "sd1: cup; hat, on the predicted noise" in page


def test_a_run_that_was_stopped_reads_the_rest_and_ends_in_the_same_tables(tmp_path, pipelines, drawn):
    batches, after = drawn
    probed = PROBED.replace("images_per_prompt: 2", "images_per_prompt: 3")
    audit(pipelines("sd1"), probed).run(tmp_path / "calm")
    undisturbed = batches[:]
    del batches[:]
    stop = threading.Event()
    after.append(stop.set)
    with pytest.raises(Interrupted, match="probe: stopped after 4 of 6"):
        audit(pipelines("sd1"), probed).run(tmp_path / "stopped", stop=stop)
    after.clear()
    audit(pipelines("sd1"), probed).run(tmp_path / "stopped")
    assert batches == undisturbed
    assert kill.tables(tmp_path / "stopped") == kill.tables(tmp_path / "calm")


def test_a_pipeline_that_cannot_be_read_draws_all_the_same(tmp_path, pipelines, monkeypatch):
    from stereotrope.probe import _inside

    monkeypatch.setattr(_inside, "_KINDS", {})
    with pytest.raises(IncompleteError, match=r"probe: tiny: 4 of 4 missing: .*cannot be read inside; known"):
        audit(pipelines("sd3")).run(tmp_path / "run")
    assert st.open(tmp_path / "run").images["status"].to_list() == ["ok"] * 6


@pytest.mark.parametrize(
    ("probe", "match"),
    [
        ("probe: {}", "probe: give candidates as a file .`spi: candidates.yaml`. or under `candidates:`"),
        ("probe: {previews: [-1]}", r"probe.previews must list steps, counted from 0, .*found \[-1\]"),
        ("probe: {spi: nothing.yaml}", "nothing.yaml: no such file; write one"),
        ("probe: {spy: a.yaml}", "unknown key 'spy'; did you mean 'spi'"),
        (f"probe: {{{HAT.replace('a woman', 'a man')}}}", "negative must differ from the positive"),
    ],
)
def test_mistakes_in_a_probe_are_named(pipelines, probe, match):
    with pytest.raises(AuditFileError, match=match):
        audit("a/b", probe).plan()
