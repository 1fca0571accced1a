from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from tests.report.sections.captions.made_up_captions import captions_material, captions_run

from stereotrope.report.material import Material
from stereotrope.report.panels import Figure
from stereotrope.report.sections.captions.groups import sides_words
from stereotrope.report.sections.captions.measured import measured_blocks


def figure(tmp_path: Path, **of: Any) -> Figure:
    return drawn(captions_material(tmp_path, **of))


def drawn(material: Material) -> Figure:
    figures = [figure for block in measured_blocks(material) for figure in block.figures]
    return next(figure for figure in figures if figure.name == "captions-parity")


def labels(made: Figure) -> set[str]:
    return {v["label"].replace("\n", " ") for p in made.panels for v in p.spec["data"]["values"]}


def test_only_declared_sides_are_drawn_with_their_sides_in_words(tmp_path: Path) -> None:
    made = figure(tmp_path, prompts=1)
    assert labels(made) == {"female less male", "dark + medium less all other groups"}
    assert all(v["value"] < 0 for p in made.panels for v in p.spec["data"]["values"])


def test_the_other_pairs_are_counted_with_their_file(tmp_path: Path) -> None:
    note = next(n for n in figure(tmp_path).notes if "other pairs" in n)
    assert note.startswith("8 other pairs of groups")
    assert "tables/signed_parity.csv" in note


def test_the_table_has_the_difference_with_and_without_its_sign(tmp_path: Path) -> None:
    made = figure(tmp_path)
    assert {r[0].text for r in made.table.rows} == {"Signed parity", "Parity difference"}
    assert made.table.total == 16


def test_without_declared_sides_every_pair_is_drawn(tmp_path: Path) -> None:
    run = captions_run(tmp_path, prompts=1)
    run.estimates = run.estimates.with_columns(sides=pl.lit(None, pl.String))
    assert len(labels(drawn(Material(run)))) == 4


def test_of_many_prompts_each_attribute_gets_a_panel(tmp_path: Path) -> None:
    made = figure(tmp_path, prompts=10)
    assert [p.title for p in made.panels] == ["gender", "skin tone"]


def test_the_rest_is_named_for_what_it_holds() -> None:
    assert sides_words({"category": "white", "reference": "rest"}) == "white less all others and unknown"
    assert sides_words({"category": "white", "reference": "south_asian"}) == "white less south asian"
