"""``stereotrope calibrate``: what it is asked, what it would cost, and what its exit code says."""

from __future__ import annotations

import json

import polars as pl
import pytest

from stereotrope.calibrate import Calibration
from stereotrope.cli import main
from stereotrope.cli.calibrating import CalibrationOptions, annotator_specs, run_calibration
from stereotrope.commands import Settings
from stereotrope.errors import IncompleteError, UsageError
from stereotrope.testing import Loopback


def calibration(fit):
    """A calibration with one card, whose sentence is given."""
    sentence = "text is what it is."
    row = {
        "check": "accuracy", "attribute": "text_presence", "value": 0.9, "low": 0.8, "high": 0.95,
        "n": 80, "limit": 0.9, "verdict": "insufficient", "reason": None,
    }  # fmt: skip
    undefined = {**row, "check": "order_flip", "value": None, "low": None, "high": None, "reason": "none"}
    card = {
        "annotator": "text", "fit": fit, "sentence": sentence, "checked_on": "80 pictures",
        "rows": [row, undefined],
        "confusion": [],
    }  # fmt: skip
    columns = ("annotator", "attribute", "reference_value", "value")
    confusion = pl.DataFrame(schema={**dict.fromkeys(columns, pl.String), "n": pl.Int64})
    shares = pl.DataFrame({"inside": [True]})
    divergences = pl.DataFrame(schema={"annotator": pl.String})
    return Calibration(None, [card], pl.DataFrame(), confusion, shares, divergences)


def quiet():
    settings = Settings()
    settings.quiet = True
    return settings


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (False, "text is what it is. Estimates made with it"),
        (None, "text is what it is. Ask for more with --images"),
    ],
)
def test_an_instrument_that_is_not_fit_ends_with_code_3_and_its_sentence(
    monkeypatch, tmp_path, capsys, fit, message
):
    monkeypatch.setattr("stereotrope.calibrate.calibrate", lambda *_, **__: calibration(fit))
    with pytest.raises(IncompleteError, match=message) as unfit:
        run_calibration(CalibrationOptions(["text"], tmp_path, as_json=True), quiet())
    assert unfit.value.exit_code == 3
    told = json.loads(capsys.readouterr().out)
    assert told["judge_cards"][0]["fit"] is fit
    assert told["unfit"] == (["text is what it is."] if fit is False else [])


def test_an_instrument_that_is_fit_is_no_error_and_its_card_is_shown(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("stereotrope.calibrate.calibrate", lambda *_, **__: calibration(True))
    run_calibration(CalibrationOptions(["text"], tmp_path), quiet())
    shown = capsys.readouterr().out
    assert "fit: text is what it is." in shown
    assert "Checked on 80 pictures." in shown
    assert "[0.800, 0.950]" in shown
    assert "not defined: none" in shown


def specs(*annotators, **options):
    return annotator_specs(CalibrationOptions(annotators, None, **options))


def test_options_for_models_go_to_every_model_and_to_nothing_else():
    found = specs(
        "colour",
        "openai:m",
        "{questions: vllm:other, base_url: http://localhost:2/v1}",
        base_url="http://localhost:1/v1",
        key="none",
        requests_per_minute=60.0,
    )
    given = {"base_url": "http://localhost:1/v1", "key": None, "requests_per_minute": 60.0}
    assert found == [
        "colour",
        {**given, "questions": "openai:m"},
        {**given, "questions": "vllm:other", "base_url": "http://localhost:2/v1"},
    ]


def test_a_model_alone_stays_as_it_is():
    assert specs("openai:gpt-4o", "{colour: [product_colour]}") == [
        "openai:gpt-4o",
        {"colour": ["product_colour"]},
    ]


@pytest.mark.parametrize(
    ("annotators", "options", "message"),
    [
        (["colour"], {"key": "A_KEY"}, r"--key: is for models, and none of the annotators \(colour\) is one"),
        (["{questions: openai:m"], {}, r"--annotator: is no YAML mapping \(.*\); write -a '\{questions:"),
        (["{" * 5000], {}, r"--annotator: is no YAML mapping that can be read; write -a"),
    ],
)
def test_a_mistake_is_told_before_anything_is_done(annotators, options, message):
    with pytest.raises(UsageError, match=message):
        specs(*annotators, **options)


def exit_code(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


def test_a_cap_without_a_price_names_the_option_and_no_file_of_ours(tmp_path, capsys):
    command = ("calibrate", "-a", "openai:judge", "--base-url", "http://127.0.0.1:1/v1", "--key", "none")
    assert exit_code(*command, "-o", tmp_path / "run", "--max-cost", "5") == 2
    assert capsys.readouterr().err.startswith("error: --annotator: openai:judge: a cap needs the price")


def test_a_judge_without_a_key_is_said_to_have_read_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("SURELY_NOT_SET", raising=False)
    command = ("calibrate", "-a", "openai:judge", "--base-url", "http://127.0.0.1:1/v1", "--images", "1")
    assert exit_code("-q", *command, "--key", "SURELY_NOT_SET", "-o", tmp_path / "run") == 3
    shown = capsys.readouterr()
    assert "Checked on 0 drawn pictures of known truth" in shown.out
    assert shown.err.count("SURELY_NOT_SET") == 1


def test_the_plan_says_calls_tokens_and_price_and_asks_nothing(tmp_path, capsys):
    asked = "{questions: openai:judge, price: {input: 2.5, output: 10}}"
    with Loopback() as server:
        model = ("-a", asked, "--base-url", server.url, "--key", "none")
        assert exit_code("calibrate", *model, "--plan", "-o", tmp_path / "run") == 0
        assert server.received == []
    assert not (tmp_path / "run").exists()
    shown = capsys.readouterr().out
    for name, calls in (("judge", 880), ("judge (reversed)", 80), ("judge (blind)", 80)):
        line = next(line for line in shown.splitlines() if line.startswith(f"annotate  {name}  "))
        assert line.removeprefix(f"annotate  {name}").split()[:4] == [str(calls), "0", str(calls), str(calls)]
    assert "Price: $" in shown


def test_a_cap_stops_a_calibration_with_code_4_and_shows_what_there_is(tmp_path, capsys):
    asked = "{questions: openai:judge, concurrency: 1, price: {call: 0.01}}"
    with Loopback() as server:
        model = ("-a", asked, "--base-url", server.url, "--key", "none", "--max-cost", 0.05)
        folder = ("--images", 1, "-o", tmp_path / "run", "--json")
        assert exit_code("--quiet", "calibrate", *model, *folder) == 4
        assert 1 <= len(server.received) <= 8
    assert json.loads(capsys.readouterr().out)["judge_cards"][0]["annotator"] == "judge"
