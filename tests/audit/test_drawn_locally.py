"""Audits whose pictures a pipeline on this computer draws: stopped, continued, refused, measured again."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.conftest import DEVICE
from tests.run import kill

from stereotrope.audit import Audit
from stereotrope.errors import AuditFileError, IncompleteError, Interrupted
from stereotrope.generate import DiffusersGenerator

HERE = Path(__file__).resolve().parent
AUDIT = """\
prompts: [{thing: cup, text: a red cup}, {thing: doctor, text: a photo of a doctor, negative: a man}]
images_per_prompt: 3
generators: [{diffusers: FOLDER, name: tiny, steps: 2, width: 32, height: 32, batch: 2, device: DEVICE}]
annotators: [blank]
measures: [refusal_rate]
report: {figures: false}
""".replace("DEVICE", DEVICE)


def audit(folder, **options):
    more = "".join(f", {key}: {value}" for key, value in options.items())
    return Audit.from_text(AUDIT.replace("FOLDER", f"{folder}{more}"))


@pytest.fixture
def drawn(monkeypatch):
    """Seeds of each batch that was drawn, and what is called after it."""
    batches, after = [], []
    process = DiffusersGenerator.process_batch

    def noted(self, requests):
        results = process(self, requests)
        batches.append([request.seed for request in requests])
        for each in after:
            each()
        return results

    monkeypatch.setattr(DiffusersGenerator, "process_batch", noted)
    return batches, after


def test_a_run_that_was_stopped_draws_the_rest_and_ends_in_the_same_tables(tmp_path, pipelines, drawn):
    batches, after = drawn
    calm = audit(pipelines("sd3")).run(tmp_path / "calm")
    assert calm.images["status"].to_list() == ["ok"] * 6
    assert calm.images["sha256"].n_unique() == 6
    undisturbed = [list(batch) for batch in batches]
    assert list(map(len, undisturbed)) == [2, 2, 2]
    del batches[:]
    stop = threading.Event()
    after.append(stop.set)
    with pytest.raises(Interrupted, match="stopped after 4 of 6"):
        audit(pipelines("sd3")).run(tmp_path / "stopped", stop=stop)
    after.clear()
    audit(pipelines("sd3")).run(tmp_path / "stopped")
    assert sorted(batches) == sorted(undisturbed)
    assert kill.tables(tmp_path / "stopped") == kill.tables(tmp_path / "calm")
    del batches[:]
    again = audit(pipelines("sd3")).run(tmp_path / "stopped")
    measured = audit(pipelines("sd3")).measure(tmp_path / "stopped")
    assert batches == []
    assert measured.info == again.info
    (told,) = again.info["generators"]
    assert (told["kind"], told["note"]) == ("diffusers", None)
    assert {"torch", "diffusers"} <= set(told["versions"])


def test_a_picture_that_the_safety_checker_hides_is_counted_as_refused(tmp_path, pipelines, monkeypatch):
    from diffusers.pipelines.stable_diffusion import StableDiffusionSafetyChecker

    def first(self, clip_input, images):
        return images * 0, [True, False]

    monkeypatch.setattr(StableDiffusionSafetyChecker, "forward", first)
    run = audit(pipelines("sd1")).run(tmp_path / "run")
    refused = run.images.filter(status="refused")
    assert refused["reason"].to_list() == ["the pipeline's safety checker hid the picture"] * 4
    assert run.estimates.filter(measure="refusal_rate", thing="cup")["numerator"].to_list() == [2]


def test_what_the_pipeline_cannot_do_ends_the_audit_with_one_message(tmp_path, pipelines):
    with pytest.raises(AuditFileError, match="'nothing' cannot be given to a StableDiffusion3Pipeline"):
        audit(pipelines("sd3"), parameters="{nothing: 1}").run(tmp_path / "run")
    with pytest.raises(IncompleteError, match="guidance_scale is above 1, it is 1"):
        audit(pipelines("sd3"), guidance=1).run(tmp_path / "half")
    with pytest.raises(AuditFileError, match=r"audit.yaml:3: generator 'tiny': .*no pipeline is there"):
        audit("./nothing").plan()


@pytest.mark.slow
def test_a_run_that_is_killed_draws_the_rest_and_ends_in_the_same_tables(tmp_path, pipelines):
    (tmp_path / "audit.yaml").write_text(AUDIT.replace("FOLDER", str(pipelines("sd3"))))

    def start(batch: int, folder: str) -> int:
        script = [sys.executable, str(HERE / "killed_batches.py"), f"{folder}.log", str(batch), "--quiet"]
        command = [*script, "run", "audit.yaml", "-o", folder]
        return subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).returncode

    assert start(0, "calm") == 0
    assert start(2, "killed") == -9
    assert start(0, "killed") == 0
    assert kill.tables(tmp_path / "killed") == kill.tables(tmp_path / "calm")
    sizes = (tmp_path / "killed.log").read_text().split()  # the two batches in flight may be drawn again
    assert sizes in (["2"] * n for n in (4, 5))
