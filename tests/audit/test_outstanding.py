"""What a run would still do, before, half-way and after."""

import itertools
import threading
import time

import pytest

from stereotrope.audit import Audit
from stereotrope.audit.outstanding import Work, outstanding
from stereotrope.errors import Interrupted, RunDamaged
from stereotrope.generate import CalibratedGenerator

AUDIT = """\
suite: objects
objects: [cup]
dimensions: {gender: [women]}
images_per_prompt: 4
generators: [{calibrated: , size: 64}]
annotators: [blank, duplicates]
measures: [refusal_rate]
"""


def test_of_a_new_run_everything_is_to_do_and_every_picture_is_looked_at(tmp_path):
    work = outstanding(Audit.from_text(AUDIT).plan(), tmp_path / "none")
    assert work == [
        Work("generate", "calibrated", 8, 0),
        Work("annotate", "blank", 8, 0),
        Work("annotate", "duplicates", 8, 0),
    ]
    assert not (tmp_path / "none").exists()


def test_a_stopped_run_counts_what_it_has_and_what_is_not_drawn_yet(tmp_path, monkeypatch):
    stop, calls, draw = threading.Event(), itertools.count(1), CalibratedGenerator.process

    def process(self, request):
        if next(calls) >= 3:
            stop.set()
            time.sleep(0.05)  # Longer than what a lane records together.
        return draw(self, request)

    monkeypatch.setattr(CalibratedGenerator, "process", process)
    # What is patched is drawn in this process.
    monkeypatch.setattr("stereotrope.run.engine.computer.processors", lambda: 1)
    audit = Audit.from_text(AUDIT.replace("images_per_prompt: 4", "images_per_prompt: 100"))
    with pytest.raises(Interrupted):
        audit.run(tmp_path / "run", stop=stop)
    generate, blank, _ = outstanding(audit.plan(), tmp_path / "run")
    assert 3 <= generate.done < generate.total == 200
    assert blank == Work("annotate", "blank", 200, 0)


def test_of_a_finished_run_nothing_is_to_do(tmp_path):
    audit = Audit.from_text(AUDIT)
    audit.run(tmp_path / "run")
    assert all(row.done == row.total == 8 for row in outstanding(audit.plan(), tmp_path / "run"))
    more = Audit.from_text(AUDIT.replace("[women]", "[women, men]")).plan()
    assert [(row.total, row.done) for row in outstanding(more, tmp_path / "run")] == [(12, 8)] * 3


def test_a_plan_does_not_reckon_with_paying_again_where_the_ledger_is_lost(tmp_path):
    audit = Audit.from_text(AUDIT)
    audit.run(tmp_path / "run")
    (tmp_path / "run" / "ledger.db").unlink()
    with pytest.raises(RunDamaged, match="put it back"):
        outstanding(audit.plan(), tmp_path / "run")
    with pytest.raises(RunDamaged, match="put it back"):
        audit.run(tmp_path / "run")
