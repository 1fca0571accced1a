"""A difference that was told, looked at in other ways."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest

from stereotrope import measure
from stereotrope.measure.findings import RunFindings
from stereotrope.measure.robustness import unlike_levels
from stereotrope.stats import newcombe

SIDES = ("base", "women")


def looks(
    counts: dict[str, tuple[int, int]], annotator: str = "judge", phrasing: str = "for"
) -> pl.DataFrame:
    """Labels of 30 pictures a side: value → pictures of the baseline and of the group."""
    rows = []
    for place, side in enumerate(SIDES):
        values = [value for value, n in counts.items() for _ in range(n[place])]
        rows += [(f"{phrasing}-{side}-{i}", side, value) for i, value in enumerate(values)]
    frame = pl.DataFrame(rows, schema=["image_id", "group", "value"], orient="row")
    facts = {"attribute": "colour", "generator": "m", "annotator": annotator, "phrasing": phrasing}
    return frame.with_columns(pl.lit(fact).alias(name) for name, fact in facts.items())


def robust(
    labels: pl.DataFrame, within: tuple[str, ...] = ("generator",), **further: Any
) -> list[dict[str, Any]]:
    table = measure.share_difference(labels, within=within)
    tables = RunFindings.of(table, labels, **further).tables()
    (told,) = tables["findings"].filter(list="difference")["finding_id"].unique().to_list()
    assert set(tables["robustness"]["finding_id"]) <= {told}
    return tables["robustness"].to_dicts()


def read(labels: pl.DataFrame, **changed: Any) -> pl.DataFrame:
    facts = {"subject_kind": pl.lit("image"), "subject_id": "image_id", "written": pl.lit(None, pl.String)}
    return labels.select("attribute", "value", "annotator", **{**facts, **changed})


def test_a_difference_that_can_be_looked_at_in_one_way_only_has_no_table() -> None:
    assert robust(looks({"pink": (2, 25), "grey": (28, 5)})) == []


def test_an_annotator_with_words_of_its_own_is_no_other_way() -> None:
    one, other = looks({"pink": (2, 25), "grey": (28, 5)}), looks({"rosa": (4, 6), "grau": (26, 24)}, "other")
    assert robust(pl.concat([one, other]), within=("generator", "annotator")) == []


def test_each_annotator_counts_by_itself() -> None:
    one, other = looks({"pink": (2, 25), "grey": (28, 5)}), looks({"pink": (4, 6), "grey": (26, 24)}, "other")
    rows = robust(pl.concat([one, other]), within=("generator", "annotator"))
    assert [(row["way"], row["level_of"]) for row in rows] == [
        ("as told", None),
        ("annotator", "judge"),
        ("annotator", "other"),
    ]
    counts = [(r["numerator"], r["n"], r["numerator_reference"], r["n_reference"]) for r in rows]
    assert counts == [(25, 30, 2, 30), (25, 30, 2, 30), (6, 30, 4, 30)]
    low, high = newcombe(6, 30, 4, 30, level=0.95)
    assert (rows[2]["value"], rows[2]["low"], rows[2]["high"]) == pytest.approx((2 / 30, low, high))


def test_a_phrasing_alone_may_carry_a_difference() -> None:
    strong, none = (
        looks({"pink": (2, 28), "grey": (28, 2)}),
        looks({"pink": (3, 3), "grey": (27, 27)}, phrasing="to"),
    )
    rows = robust(pl.concat([strong, none]))
    assert [(r["way"], r["level_of"], round(r["value"], 2)) for r in rows] == [
        ("as told", None, 0.43),
        ("phrasing", "for", 0.87),
        ("phrasing", "to", 0.0),
    ]


def sentences(*labels: pl.DataFrame) -> list[str]:
    frame = pl.concat(labels)
    found = measure.findings(measure.share_difference(frame, within=("generator",)), frame)
    return found.filter(list="difference")["sentence"].to_list()


def test_a_difference_that_is_another_by_phrasing_is_told_with_both() -> None:
    strong = looks({"pink": (2, 28), "grey": (28, 2)})
    none = looks({"pink": (3, 3), "grey": (27, 27)}, phrasing="to")
    (told,) = sentences(strong, none)
    assert "by “phrasing” it is from 0.00 (“to”) to 0.87 (“for”)" in told
    # What is told of one phrasing is not told by phrasing, though the table has the others.
    labels = pl.concat([strong, none])
    table = measure.share_difference(labels, within=("generator", "phrasing"))
    tables = RunFindings.of(table, labels).tables()
    (told,) = tables["findings"].filter(list="difference")["sentence"].to_list()
    assert "it is from" not in told
    assert {"for", "to"} <= set(tables["robustness"]["level_of"])


def test_a_difference_that_is_the_same_in_every_phrasing_is_told_as_one() -> None:
    """At 0.05 over all pairs and findings one of 20 audits with three phrasings may be said to depend."""
    rng, told = np.random.default_rng(2), 0
    for _ in range(20):
        parts = []
        for phrasing in ("for", "to", "of"):
            k, j = rng.binomial(30, 0.3), rng.binomial(30, 0.8)
            parts.append(looks({"pink": (k, j), "grey": (30 - k, 30 - j)}, phrasing=phrasing))
        told += any("it is from" in one for one in sentences(*parts))
    assert told <= 3


def test_levels_of_few_pictures_are_not_set_against_each_other() -> None:
    rows = [
        {
            "way": "phrasing",
            "level_of": of,
            "n": 9,
            "n_reference": 9,
            "value": d,
            "low": d,
            "high": d,
            "level": 0.95,
        }
        for of, d in (("a", 0.0), ("b", 0.9))
    ]
    assert unlike_levels({"x": rows}) == {}
    assert unlike_levels({"x": [row | {"n": 10, "n_reference": 10} for row in rows]}) == {
        "x": "by “phrasing” it is from 0.00 (“a”) to 0.90 (“b”)"
    }
    assert unlike_levels({"x": [row | {"way": "annotator"} for row in rows]}) == {}


def test_pictures_that_break_their_prompt_are_left_out() -> None:
    labels = looks({"pink": (2, 25), "grey": (28, 5)})
    broken = labels.filter(pl.col("value") == "pink", group="women").head(20)
    said = broken.with_columns(attribute=pl.lit("people_present"), value=pl.lit("yes"))
    rows = robust(labels, read=pl.concat([read(labels), read(said)]))
    assert [(r["way"], r["numerator"], r["n"]) for r in rows] == [
        ("as told", 25, 30),
        ("without violations", 5, 10),
    ]


def test_words_count_as_they_were_written() -> None:
    labels = looks({"pink": (2, 25), "grey": (28, 5)})
    number = pl.col("image_id").str.extract(r"(\d+)$").cast(pl.Int64)
    rose = (pl.col("value") == "pink") & (number % 5 == 0)
    rows = robust(labels, read=read(labels, written=pl.when(rose).then(pl.lit("rose"))))
    assert [(r["way"], r["level_of"], r["numerator"], r["numerator_reference"]) for r in rows] == [
        ("as told", None, 25, 2),
        ("as written", "pink", 20, 1),
    ]


def test_labels_that_are_missing_on_one_side_are_told_with_what_they_allow() -> None:
    labels = looks({"red": (30, 30), "blue": (30, 0), "unclear": (0, 30)})
    found = measure.findings(measure.share_difference(labels, within=("generator",)), labels)
    (told,) = found.filter(list="difference")["sentence"].to_list()
    assert "labels are missing, and with these it may be between" in told
    assert told.endswith("; the labels that are missing could undo it.")


def test_what_missing_labels_allow_holds_what_was_drawn_though_others_were_told() -> None:
    told = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        # Nothing differs in what is drawn; of the group half of what shows it could not be told.
        base, drawn = rng.binomial(80, 0.5, size=2)
        untold, others = rng.binomial(drawn, 0.5), rng.binomial(80 - drawn, 0.05)
        counts = {
            "yes": (base, drawn - untold),
            "no": (80 - base, 80 - drawn - others),
            "unclear": (0, untold + others),
        }
        labels = looks(counts)
        found = measure.findings(measure.share_difference(labels, within=("generator",)), labels)
        told += found.filter(list="difference")["sentence"].to_list()
    assert len(told) > 5
    ends = [
        re.search(r"it may be between (\S+) and (\d[\d.]*)", one.replace("−", "-")).groups() for one in told
    ]
    assert np.mean([float(low) <= 0 <= float(high) for low, high in ends]) >= 0.95
    assert all(one.endswith("; the labels that are missing could undo it.") for one in told)


@pytest.mark.parametrize("unlike", "abc")
def test_each_pair_of_models_has_a_finding_and_other_ways_of_its_own(unlike: str) -> None:
    """One model is compared with each of the others, under the same scope."""
    pink = {"a": 2, "b": 3, "c": 4, unlike: 27}
    rows = [
        (f"{model}-{phrasing}-{i}", model, phrasing, "pink" if i < n else "grey")
        for model, n in pink.items()
        for phrasing in ("for", "to")
        for i in range(30)
    ]
    labels = pl.DataFrame(rows, schema=["image_id", "generator", "phrasing", "value"], orient="row")
    labels = labels.with_columns(attribute=pl.lit("colour"))
    pairs = {"group": "generator", "baseline": None, "pairs": True, "within": ()}
    tables = RunFindings.of(measure.share_difference(labels, **pairs), labels).tables()
    told = tables["findings"].filter(list="difference")
    assert told.height == told["finding_id"].n_unique() == 2
    by = {name: frame for (name,), frame in tables["robustness"].group_by("finding_id")}
    assert set(by) == set(told["finding_id"])
    for row in told.iter_rows(named=True):
        as_told = by[row["finding_id"]].filter(way="as told")
        assert as_told["value"].to_list() == pytest.approx([row["value"]])
