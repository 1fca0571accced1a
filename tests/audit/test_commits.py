"""Models named as on the hub: the commit that the cache holds is recorded, and a change is told."""

import shutil

import pytest
from huggingface_hub import constants

from stereotrope import annotate, generate
from stereotrope.audit import Audit
from stereotrope.clients.local import hub_commit

FIRST, SECOND = "1" * 40, "2" * 40
AUDIT = """\
suite: objects
objects: [cup]
images_per_prompt: 1
generators: [calibrated]
annotators: [blank, {encoder: "clip:tiny/clip", device: cpu}]
measures: [refusal_rate]
report: {figures: false}
"""


@pytest.fixture
def cache(tmp_path, tiny_clip, monkeypatch):
    """A cache of the hub with a tiny CLIP at one commit, and no network."""
    folder = tmp_path / "cache"
    kept = folder / "models--tiny--clip"
    shutil.copytree(tiny_clip, kept / "snapshots" / FIRST)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(FIRST)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return kept


def test_the_commit_of_a_branch_or_of_itself_is_what_the_cache_holds(cache):
    assert hub_commit("tiny/clip", None) == hub_commit("tiny/clip", "main") == FIRST
    assert hub_commit("tiny/clip", FIRST) == FIRST
    assert hub_commit("tiny/clip", SECOND) is hub_commit("tiny/clip", "v2") is hub_commit("a/b", None) is None
    (cache / "refs" / "odd").write_text("no commit")
    assert hub_commit("tiny/clip", "odd") is None


def test_a_run_records_the_commit_and_says_where_the_cache_came_to_hold_another(cache, tmp_path, reported):
    audit = Audit.from_text(AUDIT)
    run = audit.run(tmp_path / "run")
    assert run.embeddings.height
    (entry,) = (one for one in run.info["annotators"] if one["kind"] == "Encoder")
    assert entry["commits"] == [FIRST]
    assert not any("commits" in one for one in run.info["generators"])
    assert not any("commits" in note for note in run.info["notes"])
    assert FIRST in (run.path / "report" / "index.html").read_text("utf-8")
    (cache / "refs" / "main").write_text(SECOND)
    again = audit.run(tmp_path / "run")
    (entry,) = (one for one in again.info["annotators"] if one["kind"] == "Encoder")
    assert entry["commits"] == [FIRST, SECOND]
    assert any("the cache held 2 commits of its model" in note for note in again.info["notes"])
    shutil.rmtree(cache)
    measured = audit.measure(tmp_path / "run")
    (entry,) = (one for one in measured.info["annotators"] if one["kind"] == "Encoder")
    assert entry["commits"] == [FIRST, SECOND]


def test_what_is_in_a_folder_or_at_a_server_has_no_commit(tiny_clip):
    assert annotate.create({"encoder": f"clip:{tiny_clip}"}).hub is None
    assert annotate.create("blank").hub is None
    assert generate.create("calibrated").hub is None
    made = generate.create({"diffusers": "some/model", "revision": "v1", "device": "cpu"})
    assert made.hub == ("some/model", "v1")
