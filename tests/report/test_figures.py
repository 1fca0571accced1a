from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from stereotrope.measure import measure_words
from stereotrope.report.arrangement import _strongest
from stereotrope.report.charts.dots import cramped, dots
from stereotrope.report.datatable import table_of
from stereotrope.report.figures import figures_of
from stereotrope.report.material import Material
from stereotrope.report.panels import Figure, n_text, notes_of, row_labels, safe_name
from stereotrope.report.prose import ALL_ZERO, Prose
from stereotrope.report.series import Series

PROSE = Prose(measure_words())
BDS = Series("bds")
PLACES = {"divergence": 0, "shares": 1, "other": 2}


def drawn(figure: Figure) -> list[dict[str, Any]]:
    return [v for panel in figure.panels for v in panel.spec["data"]["values"]]


def test_rows_are_sorted_and_the_floor_is_drawn(objects_run: Any) -> None:
    figure = figures_of(Material(objects_run), BDS)[0]
    assert [p.title for p in figure.panels] == ["laptop", "cup"]
    for panel in figure.panels:
        values = [v["value"] for v in panel.spec["data"]["values"]]
        assert values == sorted(values, reverse=True)
        assert all(v["floor"] > 0 for v in panel.spec["data"]["values"])


def test_certainty_is_a_form_and_not_only_a_colour(objects_run: Any) -> None:
    figure = figures_of(Material(objects_run), BDS)[0]
    for v in drawn(figure):
        assert v["sure"] == ("q < 0.001" in v["text"])
    assert "● q ≤ 0.05: 4 of 10 rows" in figure.notes[0]
    assert figure.notes[1].startswith("q counts this measure's own tests. That of a finding may be larger or")
    assert "among the comparisons of all measures that could have shown as small a p" in figure.notes[1]


def test_attributes_stand_side_by_side_with_undefined_ones_marked(objects_run: Any) -> None:
    heat = figures_of(Material(objects_run), BDS)[1]
    cells = drawn(heat)
    assert len(cells) == 40
    undefined = [c for c in cells if "value" not in c]
    assert [c["text"] for c in undefined] == ["n. d.", "n. d."]
    assert all("not defined: only one value" in c["tip"] for c in undefined)


def test_two_levels_become_two_series_with_a_shape_each(people_run: Any) -> None:
    figure = figures_of(Material(people_run), Series("share"))[0]
    assert figure.title.endswith("gender, female")
    assert [p.title for p in figure.panels] == ["dall_e_3", "imagen-4", "sd-3.5"]
    assert {v["series"] for v in drawn(figure)} == {"plain", "with diversity"}
    shapes = [
        layer["encoding"]["shape"] for layer in figure.panels[0].spec["layer"] if "shape" in layer["encoding"]
    ]
    assert shapes[0]["scale"]["range"] == ["circle", "square"]


def test_what_is_of_all_models_is_told_from_what_is_of_one() -> None:
    records = [{"generator": "a", "group": "men"}, {"generator": None, "group": "men"}]
    assert row_labels(records, ["generator", "group"], [None, None]) == ["a, men", "all models, men"]
    assert row_labels(records[1:], ["generator", "group"], [None]) == ["men"]


def test_how_many_rows_chance_would_bring_is_told_as_a_number_of_rows(objects_run: Any) -> None:
    tested = objects_run.estimates.filter(pl.col("q_value").is_not_null()).head(1)
    assert "about 580 would" in notes_of(pl.concat([tested] * 11_600), 0, 0)[0]
    assert "of 11\u202f600 rows" in notes_of(pl.concat([tested] * 11_600), 0, 0)[0]
    assert "about 0.05 would" in notes_of(tested, 0, 0)[0]


def test_averages_stand_apart_on_their_own_axis(objects_run: Any) -> None:
    bds = objects_run.estimates.filter(measure="bds")
    mean = bds.filter(object="laptop", attribute="all").with_columns(
        aggregate=pl.lit("object"), object=pl.lit(None, pl.String), low=pl.lit(-3.0)
    )
    material = Material(replace(objects_run, estimates=pl.concat([bds, mean])))
    (first, *_), (last,) = figures_of(material, BDS), figures_of(material, replace(BDS, mean=True))
    assert last.title == f"{first.title}, on average"
    assert len(drawn(last)) == 5
    assert min(v["low"] for v in drawn(first)) >= 0


def test_a_mean_over_two_is_tabled_and_not_drawn(objects_run: Any) -> None:
    mean = objects_run.estimates.filter(measure="bds", object="laptop", attribute="all").with_columns(
        aggregate=pl.lit("object"), object=pl.lit(None, pl.String), n=pl.lit(2, pl.Int64)
    )
    (figure,) = figures_of(Material(replace(objects_run, estimates=mean)), replace(BDS, mean=True))
    assert figure.panels == []
    assert figure.table.total == 5
    assert any("fewer than three" in note for note in figure.notes)


def test_a_mean_stands_after_what_it_is_the_mean_of() -> None:
    mean = replace(BDS, mean=True)
    present = [Series("vac"), Series("odd"), mean, Series("cds"), BDS]
    assert [s.name for s in PROSE.in_order(present, PLACES)] == ["bds", "bds_average", "cds", "vac", "odd"]
    assert PROSE.explain(mean).section == PROSE.explain("bds").section
    assert PROSE.explain(Series("odd", mean=True)).short == "odd average"
    assert PROSE.explain(Series("cbs", difference=True)).section == PROSE.explain("cbs").section
    less = PROSE.explain(Series("composite_mean", difference=True))
    assert "less that of the baseline model" in less.title


def test_many_differences_are_cut_to_the_largest_and_said(objects_run: Any) -> None:
    rows = objects_run.estimates.filter(measure="share_difference")
    many = [rows.with_columns(category=pl.lit(f"colour {i}"), value=pl.lit(i / 10)) for i in range(5)]
    figure = figures_of(
        Material(replace(objects_run, estimates=pl.concat(many))), Series("share_difference")
    )[0]
    assert [len(p.spec["data"]["values"]) for p in figure.panels] == [12, 12]
    assert any("Not drawn: 26 rows" in note for note in figure.notes)
    assert figure.table.total == 50


def test_of_two_values_the_one_that_says_something_is_drawn(objects_run: Any) -> None:
    rows = objects_run.estimates.filter(measure="share", category="black")
    both = [
        rows.with_columns(category=pl.lit(c), attribute=pl.lit("text_presence"))
        for c in ("present", "absent")
    ]
    figure = figures_of(Material(replace(objects_run, estimates=pl.concat(both))), Series("share"))[0]
    assert figure.title.endswith("text presence, present")
    assert any("“absent”; its rows are in the files" in note for note in figure.notes)


def test_refusals_that_are_all_0_are_a_table_and_no_chart(objects_run: Any) -> None:
    none = objects_run.estimates.filter(measure="refusal_rate").with_columns(value=pl.lit(0.0))
    figure = figures_of(Material(replace(objects_run, estimates=none)), Series("refusal_rate"))[0]
    assert figure.panels == []
    assert figure.table.total == 10


def test_two_definitions_are_two_figures_that_say_so(objects_run: Any) -> None:
    bds = objects_run.estimates.filter(measure="bds", attribute="all")
    both = pl.concat([bds, bds.with_columns(definition=pl.lit("released"))])
    figures = figures_of(Material(replace(objects_run, estimates=both)), BDS)
    assert [f.title[-11:] for f in figures] == ["ine (paper)", " (released)"]
    assert len({f.name for f in figures}) == 2


@pytest.mark.parametrize("measure", ["bds", "share", "default_rank", "refusal_rate"])
def test_every_panel_has_words_for_those_who_cannot_see_it(objects_run: Any, measure: str) -> None:
    for figure in figures_of(Material(objects_run), Series(measure)):
        assert all(len(p.alt) > 40 for p in figure.panels)


@pytest.mark.parametrize(
    "names",
    [
        ["share-grade+", "share-grade-", "share-grade", "share-grade_"],
        ["share-пол", "share-рас", "share-___"],
        [f"share-{'a' * 90}{end}" for end in "bc"],
        ["share-a\ud800", "share-a\ud801"],
    ],
)
def test_figures_of_attributes_of_other_signs_or_scripts_have_names_of_their_own(names: list[str]) -> None:
    made = [safe_name(name) for name in names]
    assert len(set(made)) == len(names)
    assert all(name.isascii() and len(name) <= 80 and set(name) <= _SAFE for name in made)
    assert safe_name("share-product_colour") == "share-product_colour"


_SAFE = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


@pytest.mark.parametrize(
    ("series", "attribute", "told", "below"),
    [
        (BDS, "all", "labels: 2 unclear", "at most 2 labels left out"),
        (BDS, "product_colour", "pictures: 2 unclear", "at most 2 pictures left out"),
        (replace(BDS, mean=True), "all", "scores: 2 unclear", "at most 2 scores left out"),
        (Series("deterministic_share"), "all", "cells: 2 unclear", "at most 2 cells left out"),
        (Series("representation_parity"), "gender", "captions: 2 unclear", "at most 2 captions left out"),
        (Series("made_elsewhere"), "all", "2 unclear", "at most 2 left out"),
    ],
)
def test_what_is_left_out_is_named_by_what_it_is(objects_run: Any, series, attribute, told, below) -> None:
    rows = objects_run.estimates.filter(measure="bds", attribute="all").head(2)
    rows = rows.with_columns(
        measure=pl.lit(series.measure),
        aggregate=pl.lit("object" if series.mean else None, pl.String),
        attribute=pl.lit(attribute),
        n_excluded=pl.Series([2, None], dtype=pl.Int64),
        excluded=pl.Series(['{"unclear": 2}', None]),
    )
    table = table_of(Material(replace(objects_run, estimates=rows)), rows, "Scores")
    place = list(table.columns).index("left out")
    assert [row[place].text for row in table.rows] == [told, ""]
    assert n_text(Material(objects_run), rows).endswith(below)


NUMBERS = "0.40 [−0.30, 0.69]\u2003q = 1.00"


@pytest.mark.parametrize(
    ("label", "wrapped", "expected"),
    [
        ("cup", 0, False),
        ("a person working as an athlete", 0, True),
        ("a person working as a nurse", 18, True),
    ],
)
def test_panels_stand_below_each_other_where_labels_and_numbers_leave_no_room(
    label: str, wrapped: int, expected: bool
) -> None:
    assert cramped([{"label": label, "text": NUMBERS}], wrapped) is expected
    assert not cramped([{"label": label, "text": ""}], wrapped)


def test_long_labels_are_broken_and_not_cut(objects_run: Any) -> None:
    long = pl.when(pl.col("group") == "women").then(pl.lit("women who read at night in a library"))
    named = {"group": long.otherwise("group")}
    run = replace(
        objects_run,
        estimates=objects_run.estimates.with_columns(**named),
        prompts=objects_run.prompts.with_columns(**named),
    )
    (figure,) = [f for f in figures_of(Material(run), Series("bds")) if f.name == "bds"]
    labels = [row["label"] for row in drawn(figure)]
    assert "women who read at\nnight in a library" in labels
    assert figure.stacked
    assert figure.fits  # a phone, whose dots would else be off the screen


@pytest.mark.parametrize(("label", "lines"), [("men", 1), ("chief executive officer", 2)])
def test_the_title_of_an_axis_is_broken_where_labels_leave_a_narrow_page_little(
    label: str, lines: int
) -> None:
    spec = dots([{"label": label, "value": 0.5}], unit="difference of two shares, −1 to 1", wrapped=24)
    titles = [
        one["encoding"]["x"]["axis"]["title"] for one in spec["layer"] if "axis" in one["encoding"]["x"]
    ]
    assert {len(title) for title in titles} == {lines}


def test_a_stroke_of_a_label_goes_through_all_its_series() -> None:
    rows = [{"label": "a", "value": 0.5, "series": name, "mark": 0.4} for name in ("m", "n")]
    spec = dots(rows, series=["m", "n"])
    stroke = next(one["encoding"] for one in spec["layer"] if one["encoding"]["x"].get("field") == "mark")
    assert stroke["yOffset"] is None
    assert spec["encoding"]["yOffset"]["field"] == "series"


@pytest.mark.parametrize("value", [0.0, 0.01])
def test_where_every_value_is_0_nothing_is_drawn(objects_run: Any, value: float) -> None:
    """Also where a measure is not about what is missing, such as most frequent values that never changed."""
    rows = objects_run.estimates.filter(measure="bds").with_columns(value=pl.lit(0.0))
    first = pl.int_range(pl.len()) == 0
    rows = rows.with_columns(
        measure=pl.lit("dominance_shift"), value=pl.when(first).then(pl.lit(value)).otherwise("value")
    )
    material = Material(replace(objects_run, estimates=rows))
    figures = figures_of(material, Series("dominance_shift"))
    figures.append(_strongest(material, rows))
    assert any(f.panels for f in figures) == bool(value)
    assert all(f.panels or ALL_ZERO in f.notes for f in figures)
