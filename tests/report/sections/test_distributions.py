from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.report.sections.captions.made_up_captions import row

from stereotrope.measure.estimates import estimate_frame
from stereotrope.report.material import Material
from stereotrope.report.sections.distributions import distributions


def test_one_figure_an_object_with_one_line_a_group(objects_run: Any) -> None:
    made = distributions(Material(objects_run))
    assert [d.title for d in made] == ["laptop", "cup"]
    assert [line.title for line in made[0].lines] == [
        "base",
        "men",
        "women",
        "young adults",
        "middle-aged",
        "elderly",
    ]


def test_strips_count_the_labels_and_fill_their_width(objects_run: Any) -> None:
    for d in distributions(Material(objects_run)):
        for line in d.lines:
            for strip in line.strips:
                assert sum(s.count for s in strip.segments) == strip.n
                assert sum(s.width for s in strip.segments) == pytest.approx(d.width, abs=0.1)


def test_labels_without_value_are_counted_apart(objects_run: Any) -> None:
    lines = {line.title: line for line in distributions(Material(objects_run))[0].lines}
    strip = lines["women"].strips[2]
    assert strip.n + strip.left_out == 20
    assert strip.left_out == 2
    assert "2 labels without a value" in strip.said


def test_a_colour_is_drawn_as_itself_and_an_unknown_one_is_not(make_run: Any) -> None:
    for value, colour in (("Rose Gold", "#dca3a0"), ("zany", None)):
        segment = distributions(Material(make_run(value=value)))[0].lines[0].strips[0].segments[0]
        assert segment.colour == colour
        assert bool(segment.css) == (colour is None)


def test_gender_is_never_pink_or_blue(people_run: Any) -> None:
    key = dict(distributions(Material(people_run))[0].keys)["gender"]
    assert {s.css for s in key} <= {"g-1", "g-2", "g-4", "g-6"}


def test_values_keep_their_order_and_colour_in_every_strip(people_run: Any) -> None:
    made = distributions(Material(people_run))
    orders = {
        tuple(s.value for s in strip.segments) for d in made for line in d.lines for strip in line.strips[:1]
    }
    assert orders <= {("male", "female"), ("male",), ("female",)}
    assert len({(s.value, s.css) for d in made for s in dict(d.keys)["race"]}) == 4


def test_groups_of_captions_have_the_colours_of_the_figure_of_their_shares(people_run: Any) -> None:
    from dataclasses import replace

    groups = sorted(people_run.labels.filter(attribute="race")["value"].unique())
    declared = [groups[2], groups[0]]
    rows = [row("representation_parity", 0.5, attribute="race", category=g) for g in declared]
    shares = estimate_frame(rows, factors=["generator"])
    material = Material(replace(people_run, estimates=shares))
    key = dict(distributions(material)[0].keys)["race"]
    assert [(s.value, s.css) for s in key[:2]] == [(declared[0], "g-1"), (declared[1], "g-2")]
    assert len({s.css for s in key}) == len(key)


def test_groups_have_the_colours_of_the_shares_by_their_own_lexicon(people_run: Any) -> None:
    from dataclasses import replace

    who = people_run.labels.filter(attribute="race")["annotator"][0]
    groups = sorted(people_run.labels.filter(attribute="race")["value"].unique())
    rows = [
        row("representation_parity", 0.5, attribute="race", category=g, annotator=a)
        for a, g in (("another", groups[0]), (who, groups[1]))
    ]
    shares = estimate_frame(rows, factors=["generator", "annotator"])
    key = dict(distributions(Material(replace(people_run, estimates=shares)))[0].keys)["race"]
    assert (key[0].value, key[0].css) == (groups[1], "g-1")


def test_values_are_shown_as_words(make_run: Any) -> None:
    made = distributions(Material(make_run(value="south_asian")))[0]
    strip = made.lines[0].strips[0]
    assert strip.segments[0].value == "south asian"
    assert "south asian" in strip.said
    assert "south asian" in [s.value for _, key in made.keys for s in key]


def test_what_is_read_in_captions_is_not_called_what_pictures_show(people_run: Any, tmp_path: Path) -> None:
    from dataclasses import replace

    from stereotrope import report

    names = people_run.labels["annotator"].unique().to_list()
    pairs = people_run.labels.select("attribute", "annotator").unique().rows()
    readers = [{"name": name, "kind": "LexiconAnnotator"} for name in names]
    read = replace(people_run, info={**people_run.info, "annotators": readers})
    assert all(d.of_captions for d in distributions(Material(read)))
    page = report.write(read, out=tmp_path / "read", figures=False).read_text(encoding="utf-8")
    assert '<a href="#distributions">What captions name</a>' in page
    assert "hat the pictures show" not in page
    assert "share of captions read as that value" in page
    own = people_run.labels.with_columns(
        annotator=pl.when(pl.col("attribute") == pairs[0][0])
        .then(pl.lit("a lexicon"))
        .otherwise(pl.col("annotator"))
    )
    info = {**people_run.info, "annotators": [{"name": "a lexicon", "kind": "LexiconAnnotator"}]}
    mixed = replace(people_run, labels=own, info=info)
    page = report.write(mixed, out=tmp_path / "mixed", figures=False).read_text(encoding="utf-8")
    assert '<h2 id="distributions-title">What the pictures show</h2>' in page
    assert f"Read in captions, and so not labels of the pictures: {pairs[0][0]};" in page


def test_rare_values_are_merged_and_counted(objects_run: Any) -> None:
    from dataclasses import replace

    import polars as pl

    many = objects_run.labels.with_columns(
        value=pl.when(pl.col("attribute") == "text_presence")
        .then(pl.int_range(pl.len()).floordiv(4).mod(12).cast(pl.String))
        .otherwise("value")
    )
    d = distributions(Material(replace(objects_run, labels=many)))[0]
    key = dict(d.keys)["text presence"]
    assert [s.value for s in key][-1] == "other values"
    assert len(key) == 8
