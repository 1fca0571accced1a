"""``stereotrope run --plan``: what it says of prices, keys and steps."""

from __future__ import annotations

import pytest

from stereotrope.audit import Audit
from stereotrope.audit.conductor import Silent
from stereotrope.cli.app import Settings
from stereotrope.cli.catalogue import print_generators
from stereotrope.cli.planning import print_plan
from stereotrope.errors import AuditFileError, InputError
from stereotrope.testing import Loopback

AUDIT = """\
suite: objects
objects: [cup]
dimensions: {gender: [women]}
images_per_prompt: 2
generators:
  - {images: openai:painter, base_url: "http://127.0.0.1:1/v1", key: PAINTER_KEY, price: {image: 0.05}}
annotators:
  - {questions: openai:judge, base_url: "http://127.0.0.1:1/v1", key: JUDGE_KEY, discover: true, price: 0}
  - {constraints: openai:judge, base_url: "http://127.0.0.1:1/v1", key: JUDGE_KEY, price: 0}
measures: [refusal_rate]
"""


def said(capsys, folder, text=AUDIT):
    print_plan(Audit.from_text(text).plan(), folder, Settings())
    return capsys.readouterr().out


def test_keys_that_this_shell_has_not_are_named_with_those_that_need_them(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("PAINTER_KEY", raising=False)
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    out = said(capsys, tmp_path)
    assert "Not set in this shell: PAINTER_KEY (needed by painter); JUDGE_KEY (needed by judge, " in out
    monkeypatch.setenv("PAINTER_KEY", "a-secret")
    monkeypatch.setenv("JUDGE_KEY", "a-secret")
    out = said(capsys, tmp_path)
    assert "Not set" not in out
    assert "a-secret" not in out


def test_a_sample_of_discovery_is_explained_where_there_is_one(capsys, tmp_path):
    assert "these samples are counted" in said(capsys, tmp_path)
    assert "these samples are counted" not in said(capsys, tmp_path, AUDIT.replace("discover: true, ", ""))


def test_of_a_finished_run_no_model_has_anything_left(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PAINTER_KEY", "a-secret")
    monkeypatch.setenv("JUDGE_KEY", "a-secret")
    with Loopback() as server:
        text = AUDIT.replace("http://127.0.0.1:1/v1", server.url)
        Audit.from_text(text).run(tmp_path / "run")
        monkeypatch.delenv("JUDGE_KEY")
        out = said(capsys, tmp_path / "run", text)
    assert "Price: $0. No model has anything left to do." in out
    assert "Spent in this run folder before: $0.20" in out
    assert "Not set" not in out


def test_the_cap_is_said_to_stop_new_calls_only(capsys, tmp_path):
    assert "`--max-cost` sets a cap: once it is spent, no call begins." in said(capsys, tmp_path)


def test_a_mistake_in_an_edited_list_is_said_before_anything_is_printed(capsys, tmp_path):
    (tmp_path / "taxonomies").mkdir()
    (tmp_path / "taxonomies" / "judge.yaml").write_text("taxonomies: 3\n")
    with pytest.raises(InputError, match=r"judge\.yaml"):
        said(capsys, tmp_path)
    assert capsys.readouterr().out == ""


def test_a_check_that_is_no_folder_names_the_key_and_the_line():
    text = AUDIT.replace("discover: true", "check: runs/nothing")
    with pytest.raises(AuditFileError, match=r"audit\.yaml:8: check: runs/nothing: there is no such folder"):
        Audit.from_text(text).plan()


def test_a_preset_is_spelled_as_yaml(capsys):
    print_generators("soda/sdxl", Settings())
    assert "negative: true" in capsys.readouterr().out


def test_a_key_that_is_a_word_is_said_once_before_the_run_and_in_it(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PAINTER_KEY", "k8-3f9c1b77aa04d2e1")
    monkeypatch.setenv("JUDGE_KEY", "red")
    remark = "the key in the environment variable JUDGE_KEY is short or made of words"
    out = " ".join(said(capsys, tmp_path).split())
    assert out.count(remark) == 1
    assert "PAINTER_KEY is short" not in out
    told = []

    class Watcher(Silent):
        def say(self, text):
            told.append(text)

    with Loopback() as server:
        text = AUDIT.replace("http://127.0.0.1:1/v1", server.url)
        Audit.from_text(text).run(tmp_path / "run", watcher=Watcher())
    assert sum(remark in line for line in told) == 1
