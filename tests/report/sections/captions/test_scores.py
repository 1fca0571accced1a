from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.report.sections.captions.made_up_gallery import gallery_run

from stereotrope.measure import measure_words
from stereotrope.report.material import Material
from stereotrope.report.prose import Prose
from stereotrope.report.sections.captions.scores import (
    band_of,
    edges_text,
    reach,
    score_grids,
    warnings,
)
from stereotrope.tables import BANDS

PROSE = Prose(measure_words())


def estimate(value: float | None, low: float | None, high: float | None, flags: str | None = None) -> Any:
    return {"value": value, "low": low, "high": high, "flags": flags}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (estimate(0.2, 0.1, 0.3), "low"),
        (estimate(0.3, 0.1, 0.31), "low, up to moderate"),
        (estimate(0.61, 0.53, 0.68), "high, down to moderate"),
        (estimate(0.4, 0.2, 0.7), "moderate, down to low and up to high"),
        (estimate(0.7, None, None), "high"),
        (estimate(None, None, None), ""),
    ],
)
def test_the_band_says_what_else_the_interval_reaches(row: Any, said: str) -> None:
    assert ", ".join(reach(row)) == said


def test_the_band_is_the_one_that_the_row_carries() -> None:
    assert band_of({**estimate(0.301, None, None, "small_n"), "band": "low"}) == 0
    assert band_of({**estimate(0.301, None, None), "band": "nothing"}) == 1


def test_edges_of_all_bands_are_the_numbers_of_the_table() -> None:
    assert [edges_text(band) for band in BANDS] == ["up to 0.30", "above 0.30, up to 0.55", "above 0.55"]


def test_the_two_scores_have_names_that_tell_them_apart_and_their_sense() -> None:
    assert PROSE.explain("cbs").abbreviation == "CBS"
    assert PROSE.explain("contextual_diversity").abbreviation == "Contextual diversity"
    assert PROSE.explain("cbs").sense == ""
    assert PROSE.explain("contextual_diversity").sense == "high is low diversity"


def test_warnings_leave_out_the_doubt_that_stands_beside_a_band() -> None:
    row = estimate(0.4, None, None, "small_n,mostly_unknown")
    assert warnings(row) == "small n, mostly unknown"
    assert warnings(row, banded=True) == "small n"


def test_definitions_and_further_factors_are_parts_of_their_own(tmp_path: Path) -> None:
    run = gallery_run(
        tmp_path, phrasings=("plain", "with diversity"), definitions=("paper", "released"), with_profile=False
    )
    material = Material(run)
    scores = run.estimates.filter(run.estimates["measure"].is_in(["cbs", "contextual_diversity"]))
    parts = score_grids(material, scores)
    assert {part.lines[0] for part in parts} == {"prompt"}
    assert [part.named for part in parts] == [
        "plain, definition paper",
        "with diversity, definition paper",
        "plain, definition released",
        "with diversity, definition released",
    ]
    assert [part.frame.height for part in parts] == [8, 8, 8, 8]


def test_a_factor_that_tells_texts_of_one_prompt_apart_makes_lines_and_no_parts(tmp_path: Path) -> None:
    run = gallery_run(tmp_path, with_profile=False)
    finer = run.estimates.with_columns(text_of=run.estimates["prompt"] + " first")
    prompts = run.prompts.with_columns(text_of=run.prompts["prompt"] + " first")
    run.estimates, run.prompts = finer, prompts
    scores = finer.filter(finer["measure"].is_in(["cbs", "contextual_diversity"]))
    (part,) = score_grids(Material(run), scores)
    assert part.lines[0] == "prompt"
