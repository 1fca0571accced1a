"""The paper's formulas on whole words equal an independent implementation."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from stereotrope.suites.biasbench.captions_file import read_captions
from stereotrope.suites.biasbench.diagnosis import diagnose
from stereotrope.suites.biasbench.formulas import paper_values
from stereotrope.suites.biasbench.released import PROMPTS
from stereotrope.suites.biasbench.wordlists import WordLists, read_wordlists

NAMES = {
    "PD": "parity_difference",
    "BA": "bias_amplification",
    "H": "shannon_entropy",
    "KL": "kl_from_uniform",
    "CAS": "cas",
    "GMR": "gmr",
    "IEMR": "iemr",
    "HS": "hallucination",
    "VendiNorm": "vendi",
    "CPS": "clip_proxy",
    "CBS": "cbs",
    "CDS": "contextual_diversity",
    "CAR": "car",
}


@pytest.fixture(scope="module")
def lists(shared: Path) -> WordLists:
    """The authors' lists with the texts of the prompts, which these lists do not hold."""
    paper = (shared / "papers" / "t2i-biasbench.txt").read_text("utf-8")
    pattern = r"^(Beauty|Doctor|Culture|Animal|Nature)[^“\n]{1,4}“([^”]+)”"
    texts = dict(re.findall(pattern, paper, re.MULTILINE))
    found = read_wordlists(shared / "data" / "biasbench" / "lexicon_authors.json")
    prompts = {
        name: replace(entry, text=texts[name.title()]) for name, entry in found.lexicon.prompts.items()
    }
    return replace(found, lexicon=replace(found.lexicon, prompts=prompts))


@pytest.mark.parametrize("model", ["sd", "bksdm"])
def test_every_value_equals_the_independent_one(shared: Path, lists: WordLists, model: str) -> None:
    data = shared / "data" / "biasbench"
    (found,) = diagnose(read_captions(data / f"captions_{model}.csv"))
    values = paper_values({p: [r.caption for r in found.rows if r.prompt == p] for p in PROMPTS}, lists)
    with (data / "paper_vs_released.csv").open() as handle:
        rows = [row for row in csv.DictReader(handle) if row["model"] == model]
    theirs = {
        (r["prompt"].lower(), NAMES[r["metric"]], ""): float(r["paper_formula_wordboundary"]) for r in rows
    }
    assert len(theirs) == len(rows) == 52
    assert {key: values.get(key) for key in theirs} == pytest.approx(theirs, abs=1e-4)


def test_without_captions_there_is_no_value(lists: WordLists) -> None:
    assert paper_values({"beauty": []}, lists) == {}
    assert paper_values({}, lists) == {}
