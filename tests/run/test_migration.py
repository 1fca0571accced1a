"""Runs of format 1 are read as format 2."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from stereotrope.errors import RunFormatError
from stereotrope.run import FORMAT_VERSION
from stereotrope.run.folder import read_info
from stereotrope.run.migration import estimates_of_format_1, with_own_definitions
from stereotrope.tables import ESTIMATES, MARKS, plain_scores

MEAN = "mean over 3 levels of object; t interval over levels"


def told(measure: str, **row: str | None) -> dict[str, object]:
    """What format 2 says of a row of format 1."""
    new = ("sides", *MARKS, "band", "numerator", "denominator", "n_categories", "instrument")
    types = {c.name: pl.String for c in ESTIMATES if c.name not in new}
    old = pl.DataFrame([{"measure": measure, **row}], schema=types | {"generator": pl.String})
    made = estimates_of_format_1(old)
    assert made.columns == ["measure", "definition", "generator", *[c.name for c in ESTIMATES][2:]]
    assert estimates_of_format_1(made).equals(made)
    return {name: value for name, value in made.row(0, named=True).items() if value is not None}


@pytest.mark.parametrize(
    ("measure", "row", "columns"),
    [
        ("bds", {"flags": "small_n"}, {"flags": "small_n"}),
        ("bds_average", {"method": MEAN}, {"aggregate": "object", "method": MEAN}),
        (
            "bds_average",
            {"undefined": "no level of object has a score"},
            {"aggregate": "object", "undefined": "no level of object has a score"},
        ),
        ("bds_average", {}, {"aggregate": "levels"}),
        ("bds_without_violations", {}, {"subset": "without_violations"}),
        (
            "bds_without_violations_average",
            {"method": MEAN},
            {"subset": "without_violations", "aggregate": "object", "method": MEAN},
        ),
        ("bds_delta", {"reference": "sd"}, {"reference": "sd", "baseline": "sd"}),
        ("bds", {"flags": "small_n,band=low"}, {"flags": "small_n", "band": "low"}),
        (
            "bds",
            {"flags": "sides=declared", "category": "a + b", "reference": "others"},
            {"category": "a + b", "reference": "others", "sides": '[["a", "b"], ["others"]]'},
        ),
        (
            "bds_delta",
            {"flags": "sides=declared", "category": "a + b against c", "reference": "sd"},
            {
                "category": "a + b against c",
                "reference": "sd",
                "baseline": "sd",
                "sides": '[["a", "b"], ["c"]]',
            },
        ),
        (
            "bds",
            {"method": "S = 3, D = 1 term hits; interval: percentile"},
            {"method": "term hits; interval: percentile", "numerator": 3, "denominator": 4},
        ),
        (
            "bds",
            {"method": "k = 7 groups declared, unknown in"},
            {"method": "groups declared, unknown in", "n_categories": 7},
        ),
        ("bds", {"method": "5 elements declared"}, {"method": "elements declared", "n_categories": 5}),
        (
            "bds",
            {"flags": "dominance=0.70,reference_dominance=0.40", "method": "threshold 0.7"},
            {"method": "threshold 0.7; dominance 0.70, in the reference 0.40"},
        ),
    ],
)
def test_names_flags_and_methods_of_format_1_become_columns(measure, row, columns) -> None:
    assert told(measure, **row) == {"measure": "bds", **columns}


def test_no_name_of_a_plain_measure_is_changed() -> None:
    for name in ("radar_area_any_order", "cds_change_wilcoxon", "cbs_without_occluded", "composite_mean"):
        assert told(name) == {"measure": name}


def test_plain_scores_are_neither_means_nor_of_a_subset_nor_differences() -> None:
    rows = [{"measure": "bds"}, *({"measure": "bds", mark: "x"} for mark in MARKS)]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(("measure", *MARKS), pl.String))
    assert plain_scores(frame).height == 1
    assert plain_scores(frame.drop(MARKS)).height == 4


def write(folder: Path, **info: object) -> Path:
    (folder / "run.json").write_text(json.dumps({"stereotrope_version": "0.0.9", **info}))
    return folder


def test_a_factor_that_has_the_name_of_a_new_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFormatError, match=r"has a factor 'band'.*read it with the stereotrope.*0\.0\.9"):
        read_info(write(tmp_path, format_version=1, factors=["object", "band"]))


def test_published_means_of_format_1_say_that_they_are_means(tmp_path: Path) -> None:
    rows = [{"measure": "bds_average", "value": 0.2}, {"measure": "bds"}]
    old = read_info(write(tmp_path, format_version=1, published=rows))
    assert old["published"] == [{"measure": "bds", "aggregate": "levels", "value": 0.2}, {"measure": "bds"}]
    assert read_info(write(tmp_path, format_version=FORMAT_VERSION, published=rows))["published"] == rows


def test_vac_that_divided_by_no_more_values_than_images_is_called_capped() -> None:
    names = ["measure", "definition", "method"]
    old = [
        ("bds", "paper", "floor: closed form"),
        ("vac", "paper", "H_max: the mean over attributes; interval: normal bootstrap"),
        ("vac", "paper", "H_max: 5 values listed, of which 20 images could show 5"),
        ("vac", "paper", "mean over 3 levels of object; t interval over levels"),
        ("vac_chao_shen", "paper", None),
        ("vac_change", "excess", "change of the mean excess over 6 pairs"),
        ("cbs", "paper", "mean of PD and 1 − H; groups declared, unknown in"),
        ("cbs", "paper", "mean of PD, 1 − H and CAS; groups declared, unknown in"),
        ("cbs", "released", "mean of PD and 1 − H; groups seen, unknown in"),
        ("vac", "released", "H_max: 3 values seen in the condition, of which 20 images could show 3"),
    ]
    read = with_own_definitions(pl.DataFrame(old, schema=names, orient="row"))
    assert read["definition"].to_list() == [
        "paper", *["capped"] * 4, "excess", "paper", "paper", "released", "released",
    ]  # fmt: skip
    assert read["measure"].to_list()[6:9] == ["cbs_without_association", "cbs", "cbs"]
    assert with_own_definitions(read).equals(read)
    new = pl.DataFrame([("vac", "paper", "H_max = log2 5: 5 values listed")], schema=names, orient="row")
    assert with_own_definitions(new).equals(new)
