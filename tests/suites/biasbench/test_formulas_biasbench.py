"""The paper's formulas equal an independent implementation, however terms are found."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from stereotrope.lexicon import lexicon_from
from stereotrope.suites.biasbench.captions_file import read_benchmark_captions
from stereotrope.suites.biasbench.diagnosis import diagnose
from stereotrope.suites.biasbench.formulas import MATCHINGS, paper_values, split_words
from stereotrope.suites.biasbench.prompts import BENCHMARK_PROMPTS, prompt_texts
from stereotrope.suites.biasbench.wordlists import WordLists, from_lexicon, read_wordlists

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


COLUMNS = {
    "letters": "paper_formula",
    "word": "paper_formula_wordboundary",
    "split": "paper_formula_casesplit_wordboundary",
}


@pytest.fixture(scope="module")
def lists(shared: Path) -> WordLists:
    return read_wordlists(shared / "data" / "biasbench" / "lexicon_authors.json")


def test_the_ways_to_find_a_term_are_all_compared() -> None:
    assert set(COLUMNS) == set(MATCHINGS)


@pytest.mark.parametrize("matching", COLUMNS)
@pytest.mark.parametrize("model", ["sd", "bksdm"])
def test_every_value_equals_the_independent_one(
    shared: Path, lists: WordLists, model: str, matching: str
) -> None:
    data = shared / "data" / "biasbench"
    (found,) = diagnose(read_benchmark_captions(data / f"captions_{model}.csv"))
    captions = {p: [r.caption for r in found.rows if r.prompt == p] for p in BENCHMARK_PROMPTS}
    values = paper_values(captions, lists, matching, n_bootstrap=0)
    with (data / "paper_vs_released.csv").open() as handle:
        rows = [row for row in csv.DictReader(handle) if row["model"] == model]
    theirs = {(r["prompt"].lower(), NAMES[r["metric"]], ""): float(r[COLUMNS[matching]]) for r in rows}
    assert len(theirs) == len(rows) == 52
    assert {key: values[key].value for key in theirs} == pytest.approx(theirs, abs=1e-4)


def test_a_value_has_the_interval_and_count_of_its_measure(shared: Path, lists: WordLists) -> None:
    (found,) = diagnose(read_benchmark_captions(shared / "data" / "biasbench" / "captions_sd.csv"))
    doctor = {"doctor": [r.caption for r in found.rows if r.prompt == "doctor"]}
    values = paper_values(doctor, lists)
    male = values["doctor", "representation_parity", "male"]
    assert (male.value, male.n) == (0.24, 100)
    assert (male.low, male.high) == (pytest.approx(0.1669, abs=1e-4), pytest.approx(0.3323, abs=1e-4))
    cbs = values["doctor", "cbs", ""]
    assert cbs.low is not None
    assert cbs.high is not None
    assert cbs.value is not None
    assert cbs.low <= cbs.value <= cbs.high


def test_the_prompts_need_no_text_from_the_user(lists: WordLists) -> None:
    assert {name: entry.text for name, entry in lists.lexicon.prompts.items()} == prompt_texts()
    own = lexicon_from({"name": "own", "prompts": {"Nature": {"lists": {"keyword": ["insect"]}}}})
    assert from_lexicon(own).lexicon.prompts["nature"].text == prompt_texts()["nature"]
    mine = lexicon_from(
        {"name": "own", "prompts": {"nature": {"text": "bees", "lists": {"keyword": ["insect"]}}}}
    )
    assert from_lexicon(mine).lexicon.prompts["nature"].text == "bees"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SurgeonMaleFair", "Surgeon Male Fair"),
        ("Female20sLong", "Female 20s Long"),
        ("age20Fair", "age 20 Fair"),
        ("DogN/A and NASA", "DogN/A and NASA"),
        ("éÉté", "é Été"),
        ("", ""),
    ],
)
def test_words_run_together_are_split_where_a_small_letter_ends(text: str, expected: str) -> None:
    assert split_words(text) == expected


def test_without_captions_there_is_no_value(lists: WordLists) -> None:
    assert paper_values({"beauty": []}, lists) == {}
    assert paper_values({}, lists) == {}
