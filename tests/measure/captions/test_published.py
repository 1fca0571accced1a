"""The measures on the authors' captions: an independent implementation's values, and the published ones."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest
from tests.measure.captions.authors import ATTRIBUTE, Authors, Mode

from stereotrope.measure.captions import caption_measures

MEASURES = {
    "PD": "parity_difference",
    "BA": "bias_amplification",
    "H": "shannon_entropy",
    "KL": "kl_from_uniform",
    "CAS": "cas",
    "GMR": "gmr",
    "IEMR": "iemr",
    "HS": "hallucination",
    "VendiNorm": "vendi_normalised",
    "CPS": "clip_proxy",
    "CBS": "cbs",
    "CDS": "contextual_diversity",
    "CAR": "car",
}


@pytest.fixture(scope="module")
def authors(shared: Path) -> Authors:
    return Authors(shared / "data" / "biasbench")


def found(estimates: pl.DataFrame, prompt: str, measure: str) -> float | None:
    """The score of a cell: not of single elements or pairs, but of the sides declared (they come first)."""
    names = ("cbs", "cbs_without_association") if measure == "cbs" else (measure,)
    rows = estimates.filter(pl.col("prompt") == prompt, pl.col("measure").is_in(names))
    if measure in ("gmr", "iemr"):
        rows = rows.filter(pl.col("category").is_null())
    return rows["value"][0] if rows.height else None


@pytest.mark.parametrize("model", ["sd", "bksdm"])
@pytest.mark.parametrize(
    ("mode", "definition", "column"),
    [
        ("substring", "paper", "paper_formula"),
        ("word", "paper", "paper_formula_wordboundary"),
        ("split", "paper", "paper_formula_casesplit_wordboundary"),
        ("substring", "released", "released_code"),
    ],
)
def test_scores_equal_those_of_an_independent_implementation(
    authors: Authors, model: str, mode: Mode, definition: str, column: str
) -> None:
    frame = authors.frame(model, mode)
    estimates = caption_measures(frame, authors.lexicon, definition=definition, n_bootstrap=0)
    with (authors.folder / "paper_vs_released.csv").open(encoding="utf-8", newline="") as file:
        expected = [row for row in csv.DictReader(file) if row["model"] == model and row[column]]
    assert len(expected) >= 40
    wrong = []
    for row in expected:
        value = found(estimates, row["prompt"].lower(), MEASURES[row["metric"]])
        if value is None or abs(value - float(row[column])) > 1e-4:
            wrong.append((row["prompt"], row["metric"], row[column], value))
    assert wrong == []


@pytest.mark.parametrize("model", ["sd", "bksdm"])
def test_k_is_the_number_of_declared_groups_with_unknown(authors: Authors, model: str) -> None:
    estimates = caption_measures(authors.frame(model, "substring"), authors.lexicon, n_bootstrap=0)
    k = {"beauty": 7, "doctor": 3, "animal": 13, "nature": 12, "culture": 4}
    rows = estimates.filter(pl.col("measure") == "shannon_entropy")
    assert dict(rows.select("prompt", "attribute").rows()) == ATTRIBUTE
    assert dict(rows.select("prompt", "n_categories").rows()) == k
    assert rows["method"].str.starts_with("groups declared, unknown in").all()
