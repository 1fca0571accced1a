"""``stereotrope run --plan``: what it says of prices, keys and steps."""

from __future__ import annotations

import re

import pytest

from stereotrope.audit import Audit
from stereotrope.audit.work import Silent
from stereotrope.cli.catalogue import print_generators
from stereotrope.cli.planning import print_plan
from stereotrope.commands import Settings
from stereotrope.errors import AuditFileError, BudgetError, InputError
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


def said(capsys, folder, text=AUDIT, *, max_cost=None, verbose=False):
    settings = Settings()
    settings.verbose = verbose
    print_plan(Audit.from_text(text).plan(), folder, settings, max_cost=max_cost)
    return capsys.readouterr().out


PRICED = AUDIT.replace("discover: true, price: 0", "attributes: {colour: [red, blue]}, price: {call: 0.01}")


def test_the_first_and_the_last_prompt_are_printed_and_all_when_asked_for(capsys, tmp_path):
    text = AUDIT.replace("[cup]", "[car, cup, sofa]")
    out = said(capsys, tmp_path, text)
    assert "6 prompts, factors: object, dimension, group" in out
    assert "First prompt: car, one product only, no people" in out
    assert "Last prompt: sofa for women, one product only, no people" in out
    assert "4 further prompts; `stereotrope --verbose run … --plan` prints all" in out
    assert "cup for women" not in out
    out = said(capsys, tmp_path, text, verbose=True)
    assert [f"Prompt {i}: " in out for i in range(1, 8)] == [True] * 6 + [False]
    assert "Prompt 4: cup for women, one product only, no people" in out
    assert said(capsys, tmp_path).count("Prompt: ") == 2


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_the_tables_are_no_wider_than_the_terminal_and_break_no_number(capsys, monkeypatch, tmp_path, width):
    monkeypatch.setenv("COLUMNS", str(width))
    judge = "qwen/qwen2.5-vl-72b-instruct-of-a-long-name"
    text = AUDIT.replace("openai:judge", f"openai:{judge}").replace(
        "images_per_prompt: 2", "images_per_prompt: 9000"
    )
    text = text.replace("price: 0}", "price: {input: 250, output: 1000}, requests_per_minute: 1}").replace(
        "discover: true", "attributes: {colour: [red, blue]}"
    )
    out = said(capsys, tmp_path, text)
    tables = out[out.index("generate") : out.index("\nPrice: ")].splitlines()
    assert max(map(len, tables)) <= width
    for whole in ("18000", "$900.00", "300.0 h", "no limit given"):
        assert any(whole in line for line in tables), whole
    assert any(re.search(r"\$[\d.,]+–\$[\d.,]+", line) for line in tables)
    assert "What the calls take" in tables


def test_a_hostile_prompt_is_inert(capsys, tmp_path):
    text = AUDIT.replace("objects: [cup]", 'objects: ["\\e[31mcup"]')
    assert "\x1b" not in said(capsys, tmp_path, text)


@pytest.mark.parametrize(
    ("cap", "told"),
    [
        (
            0.05,
            "Warning: `--max-cost 0.05` ends before the first label: it takes up to $0.06 for a picture",
        ),
        (0.05, "Nothing is drawn that could not be judged; raise it to at least $0.06."),
        (0.06, "`--max-cost 0.06` lasts for at least 1 of 4 pictures with their labels;"),
        (0.2, "`--max-cost 0.2` lasts for at least 3 of 4 pictures with their labels;"),
        (0.24, "`--max-cost 0.24` lasts for all of it."),
    ],
)
def test_a_cap_that_ends_before_the_first_label_is_a_warning_with_the_least_that_does_not(
    capsys, tmp_path, cap, told
):
    assert told in said(capsys, tmp_path, PRICED, max_cost=cap)


def test_discovering_attributes_comes_before_the_first_label(capsys, tmp_path):
    text = AUDIT.replace("discover: true, price: 0", "discover: true, price: {call: 0.5}")
    out = said(capsys, tmp_path, text, max_cost=0.6)
    assert "ends before the first label: it takes up to $0.55 for a picture and its labels after $0.50" in out


def test_a_cap_without_a_price_cannot_be_kept(capsys, tmp_path):
    out = said(capsys, tmp_path, AUDIT.replace(", price: {image: 0.05}", ""), max_cost=3)
    assert "`--max-cost 3` cannot be kept without a price of every model." in out


def test_of_a_started_run_the_cap_counts_what_was_spent(capsys, tmp_path):
    with Loopback() as server:
        text = PRICED.replace("http://127.0.0.1:1/v1", server.url).replace(", key: PAINTER_KEY", "")
        text = text.replace(", key: JUDGE_KEY", "")
        with pytest.raises(BudgetError):
            Audit.from_text(text).run(tmp_path / "run", max_cost=0.12)
        out = said(capsys, tmp_path / "run", text, max_cost=0.12)
        assert "Warning: `--max-cost 0.12` ends before the first label" in out
        assert "raise it to at least $0.18." in out
        assert "lasts for at least 1 of 2 pictures" in said(capsys, tmp_path / "run", text, max_cost=0.18)


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
