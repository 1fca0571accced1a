"""The exit code of ``stereotrope calibrate`` says whether an instrument may be used."""

import json

import polars as pl
import pytest

from stereotrope.calibrate import Calibration
from stereotrope.cli.app import Settings
from stereotrope.cli.calibrating import run_calibration
from stereotrope.errors import IncompleteError


def calibration(accuracy):
    rows = {
        "measure": "agreement", "definition": "accuracy", "attribute": ["product_colour", "text_presence"],
        "value": [0.99, accuracy], "low": 0.4, "high": 1.0, "n": 80,
    }  # fmt: skip
    none = pl.DataFrame()
    return Calibration(run=None, accuracy=pl.DataFrame(rows), confusion=none, shares=none, divergences=none)


@pytest.mark.parametrize("accuracy", [0.8999, None])
def test_an_attribute_read_badly_or_not_at_all_is_named_and_ends_with_code_3(
    monkeypatch, tmp_path, capsys, accuracy
):
    monkeypatch.setattr("stereotrope.calibrate.calibrate", lambda *_, **__: calibration(accuracy))
    settings = Settings()
    settings.quiet = True
    with pytest.raises(IncompleteError, match=r"less than 90% accuracy: text_presence;") as unfit:
        run_calibration(["text"], tmp_path, 1, settings, as_json=True)
    assert unfit.value.exit_code == 3
    assert json.loads(capsys.readouterr().out)["unfit"] == ["text_presence"]


def test_an_instrument_that_reads_well_enough_is_no_error(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("stereotrope.calibrate.calibrate", lambda *_, **__: calibration(0.90))
    settings = Settings()
    settings.quiet = True
    run_calibration(["text"], tmp_path, 1, settings, as_json=True)
    assert json.loads(capsys.readouterr().out)["unfit"] == []
