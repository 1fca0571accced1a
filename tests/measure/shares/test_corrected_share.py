"""Shares corrected for the annotator's errors."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from stereotrope.errors import TableError, UsageError
from stereotrope.measure import confusion, corrected_share, share


def labelled(counts: dict[str, int], generator: str = "m", attribute: str = "text") -> pl.DataFrame:
    values = [value for value, n in counts.items() for _ in range(n)]
    return pl.DataFrame(
        {
            "image_id": [f"{generator}{i}" for i in range(len(values))],
            "attribute": attribute,
            "value": values,
            "generator": generator,
        },
        schema_overrides={"value": pl.String},
    )


def checked(table: dict[tuple[str, str], int], attribute: str = "text") -> pl.DataFrame:
    rows = [(attribute, truth, label, n) for (truth, label), n in table.items()]
    return pl.DataFrame(rows, schema=["attribute", "reference_value", "value", "n"], orient="row")


TWO = checked({("yes", "yes"): 90, ("yes", "no"): 10, ("no", "yes"): 20, ("no", "no"): 80})


def only(found: pl.DataFrame, category: str, measure: str = "corrected_share", **levels: str) -> dict:
    chosen = found.filter(category=category, measure=measure, **levels)
    assert chosen.height == 1
    return chosen.row(0, named=True)


def test_a_case_worked_by_hand() -> None:
    found = corrected_share(labelled({"yes": 55, "no": 45}), TWO)
    # (0.55 + 0.80 − 1) / (0.90 + 0.80 − 1) = 0.5
    row = only(found, "yes")
    assert row["value"] == pytest.approx(0.5)
    assert row["low"] < 0.5 < row["high"]
    assert (row["n"], row["n_reference"], row["flags"]) == (100, 200, "no_prompt_id")


def test_the_raw_share_stands_beside_it() -> None:
    labels = labelled({"yes": 55, "no": 45, "unclear": 3})
    found = corrected_share(labels, TWO).filter(measure="raw_share").drop("measure", "source")
    expected = share(labels).sort("category").drop("measure", "source")
    columns = ["category", "value", "low", "high", "n", "n_excluded", "excluded"]
    assert found.select(columns).sort("category").equals(expected.select(columns))


def test_it_agrees_with_a_plain_inverse_for_three_values() -> None:
    values = ("a", "b", "c")
    table = np.array([[40, 6, 4], [2, 30, 8], [5, 5, 60]])
    known = checked({(t, v): int(table[i, j]) for i, t in enumerate(values) for j, v in enumerate(values)})
    seen = np.array([30, 50, 40])
    found = corrected_share(labelled(dict(zip(values, seen.tolist(), strict=True))), known)
    rates = table / table.sum(axis=1, keepdims=True)
    expected = np.linalg.solve(rates.T, seen / seen.sum())
    assert [only(found, v)["value"] for v in values] == pytest.approx(expected.tolist())
    assert sum(only(found, v)["value"] for v in values) == pytest.approx(1)


def test_the_confusion_of_a_check_fits_as_it_is() -> None:
    truth = labelled({"yes": 60, "no": 60})
    flip = pl.when(pl.col("image_id").str.extract(r"(\d+)").cast(pl.Int64) % 6 == 0)
    said = truth.with_columns(flip.then(pl.lit("no")).otherwise("value").alias("value"))
    blank = pl.when(pl.col("image_id") == "m119").then(pl.lit("unclear")).otherwise("value")
    found = corrected_share(said, confusion(said.with_columns(blank.alias("value")), truth))
    assert only(found, "yes")["value"] == pytest.approx(0.5)
    assert only(found, "yes")["n_reference"] == 119


def test_more_labels_do_not_outweigh_few_checks() -> None:
    few = checked({("yes", "yes"): 9, ("yes", "no"): 1, ("no", "yes"): 2, ("no", "no"): 8})
    widths = []
    for n in (100, 100_000):
        row = only(corrected_share(labelled({"yes": n // 2, "no": n // 2}), few), "yes")
        widths.append(row["high"] - row["low"])
    assert widths[1] > 0.6 * widths[0]
    perfect = checked({("yes", "yes"): 10_000, ("no", "no"): 10_000})
    row = only(corrected_share(labelled({"yes": 50, "no": 50}), perfect), "yes")
    assert row["high"] - row["low"] == pytest.approx(0.19, abs=0.02)


def test_errors_that_were_never_seen_still_give_a_width() -> None:
    clean = checked({("yes", "yes"): 20, ("no", "no"): 20})
    row = only(corrected_share(labelled({"yes": 20}), clean), "yes")
    assert (row["value"], row["high"]) == (1.0, 1.0)
    assert 0.6 < row["low"] < 0.95


@pytest.mark.parametrize(
    ("counts", "known", "reason"),
    [
        ({"yes": 5, "maybe": 5}, TWO, "never checked: maybe"),
        (
            {"yes": 5, "no": 5},
            checked({("yes", "yes"): 5, ("yes", "no"): 5, ("no", "yes"): 9, ("no", "no"): 9}),
            "the confusion matrix cannot be inverted",
        ),
        ({"unclear": 5}, TWO, "no usable label"),
        ({"no": 5}, checked({("yes", "yes"): 9, ("yes", "no"): 1}), "never checked: no"),
    ],
)
def test_a_share_that_cannot_be_corrected_says_why(counts, known, reason: str) -> None:
    found = corrected_share(labelled(counts), known)
    corrected = found.filter(measure="corrected_share")
    assert corrected.height > 0
    assert corrected["value"].null_count() == corrected.height
    assert set(corrected["undefined"]) == {reason}
    raw = found.filter(measure="raw_share")
    assert (raw["value"].null_count() == 0) == (reason != "no usable label")


def test_each_cell_is_corrected_by_itself() -> None:
    labels = pl.concat([labelled({"yes": 55, "no": 45}), labelled({"yes": 5, "huh": 5}, "n")])
    found = corrected_share(labels, TWO)
    assert only(found, "yes", generator="m")["value"] == pytest.approx(0.5)
    assert only(found, "yes", generator="n")["undefined"] == "never checked: huh"


def test_attributes_that_were_not_checked_are_passed_over() -> None:
    labels = pl.concat([labelled({"yes": 6, "no": 4}), labelled({"red": 3}, attribute="colour")])
    assert corrected_share(labels, TWO)["attribute"].unique().to_list() == ["text"]
    with pytest.raises(TableError, match="attribute 'colour' was never checked; checked are 'text'"):
        corrected_share(labels, TWO, "colour")


def test_few_checks_of_a_value_are_flagged() -> None:
    few = checked({("yes", "yes"): 90, ("yes", "no"): 10, ("no", "no"): 9})
    assert (
        only(corrected_share(labelled({"yes": 15, "no": 15}), few), "yes")["flags"]
        == "no_prompt_id,few_checked"
    )


def test_images_of_several_prompts_widen_the_interval() -> None:
    labels = labelled({"yes": 20, "no": 20})
    prompts = pl.concat_str("value", pl.int_range(pl.len()) % 2)
    row, plain = (
        only(corrected_share(x, TWO), "yes") for x in (labels.with_columns(prompt_id=prompts), labels)
    )
    assert row["high"] - row["low"] > plain["high"] - plain["low"]
    assert "clustered" in row["flags"]


def test_corrected_intervals_cover_where_raw_ones_do_not() -> None:
    rng = np.random.default_rng(1)
    planted, runs = 0.15, 80
    held = {"corrected_share": 0, "raw_share": 0}
    for seed in range(runs):
        yes = int(rng.binomial(150, planted * 0.85 + (1 - planted) * 0.25))
        hits, misses = int(rng.binomial(80, 0.85)), int(rng.binomial(80, 0.25))
        known = checked(
            {("yes", "yes"): hits, ("yes", "no"): 80 - hits, ("no", "yes"): misses, ("no", "no"): 80 - misses}
        )
        found = corrected_share(labelled({"yes": yes, "no": 150 - yes}), known, n_bootstrap=300, seed=seed)
        for name in held:
            row = only(found, "yes", name)
            held[name] += bool(row["low"] <= planted <= row["high"])
    assert held["corrected_share"] / runs >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)
    assert held["raw_share"] / runs < 0.1


def test_what_does_not_fit_is_refused() -> None:
    labels = labelled({"yes": 6, "no": 4})
    with pytest.raises(TableError, match="confusion: no column 'reference_value'"):
        corrected_share(labels, TWO.drop("reference_value"))
    with pytest.raises(TableError, match="a pair of values stands twice"):
        corrected_share(labels, pl.concat([TWO, TWO]))
    with pytest.raises(TableError, match="n must be 0 or more"):
        corrected_share(labels, TWO.with_columns(n=-pl.col("n")))
    with pytest.raises(UsageError, match="n_bootstrap must be at least 1, found 0"):
        corrected_share(labels, TWO, n_bootstrap=0)
    with pytest.raises(UsageError, match="level must lie between 0 and 1"):
        corrected_share(labels, TWO, level=1)


def test_errors_of_each_group_correct_its_own_cells() -> None:
    # Of women the annotator misses nothing and makes up one in five; of men it is the other way round.
    errors = {"women": [(100, 0), (20, 80)], "men": [(80, 20), (0, 100)]}
    rows = [
        ("text", group, truth, label, n)
        for group, counts in errors.items()
        for truth, row in zip(("yes", "no"), counts, strict=True)
        for label, n in zip(("yes", "no"), row, strict=True)
    ]
    names = ["attribute", "group", "reference_value", "value", "n"]
    known = pl.DataFrame(rows, schema=names, orient="row")
    labels = pl.DataFrame(
        {
            "image_id": [str(at) for at in range(300)],
            "attribute": "text",
            "value": (["yes"] * 60 + ["no"] * 40) * 3,
            "group": ["women"] * 100 + ["men"] * 100 + ["others"] * 100,
        }
    )
    found = corrected_share(labels, known, by=["group"]).filter(measure="corrected_share", category="yes")
    by_group = {row["group"]: row for row in found.rows(named=True)}
    assert by_group["women"]["value"] == pytest.approx((0.6 - 0.2) / 0.8)
    assert by_group["men"]["value"] == pytest.approx(0.6 / 0.8)
    assert by_group["others"]["undefined"] == "never checked: no, yes"
    with pytest.raises(TableError, match="name the factor that tells them apart in by"):
        corrected_share(labels.with_columns(generator=pl.lit("m")), known)


def test_a_confusion_can_be_counted_by_group() -> None:
    labels = pl.DataFrame(
        {"image_id": ["a", "b"], "attribute": "text", "value": ["yes", "no"], "group": ["women", "men"]}
    )
    known = labels.drop("group").with_columns(value=pl.lit("yes"))
    assert confusion(labels, known, by=["group"]).rows() == [
        ("text", "men", "yes", "no", 1),
        ("text", "women", "yes", "yes", 1),
    ]
