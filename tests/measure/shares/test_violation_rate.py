"""Pictures that break what the prompt asks."""

from __future__ import annotations

import json

import polars as pl
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import TableError, UsageError
from stereotrope.measure import tidy_labels, violation_rate
from stereotrope.stats import newcombe, wilson


def pictures(*answers: tuple[str | None, str | None, int], group: str = "base") -> pl.DataFrame:
    """Pictures by (people, several products, how many)."""
    rows = [
        (f"{group}{kind}-{i}", attribute, value)
        for kind, (people, several, n) in enumerate(answers)
        for i in range(n)
        for attribute, value in (("people_present", people), ("several_products", several))
    ]
    schema = dict.fromkeys(("image_id", "attribute", "value"), pl.String)
    labels = pl.DataFrame(rows, schema=schema, orient="row")
    return labels.with_columns(generator=pl.lit("m"), group=pl.lit(group))


def only(found: pl.DataFrame, attribute: str = "all", measure: str = "violation_rate", **levels: str) -> dict:
    chosen = found.filter(attribute=attribute, measure=measure, **levels)
    assert chosen.height == 1
    return chosen.row(0, named=True)


def test_a_case_worked_by_hand() -> None:
    labels = pictures(("yes", "no", 3), ("yes", "yes", 1), ("no", "yes", 2), ("no", "no", 14))
    found = violation_rate(labels)
    assert found["attribute"].to_list() == ["all", "people_present", "several_products"]
    assert [row["value"] for row in found.iter_rows(named=True)] == [6 / 20, 4 / 20, 3 / 20]
    low, high = wilson(6, 20)
    row = only(found)
    assert (row["low"], row["high"]) == (pytest.approx(float(low)), pytest.approx(float(high)))
    assert (row["definition"], row["category"], row["n"]) == ("violation", None, 20)


def test_it_agrees_with_a_plain_implementation() -> None:
    kinds = [
        (people, several, n)
        for n, (people, several) in enumerate(
            ((p, s) for p in ("yes", "no", "unclear", None) for s in ("yes", "no", "invalid", None)), start=1
        )
    ]
    broken = sum(n for p, s, n in kinds if "yes" in (p, s))
    kept = sum(n for p, s, n in kinds if (p, s) == ("no", "no"))
    row = only(violation_rate(pictures(*kinds)))
    assert row["value"] == broken / (broken + kept)
    assert row["n"] == broken + kept
    assert row["n_excluded"] == sum(n for *_, n in kinds) - broken - kept
    assert set(json.loads(row["excluded"])) == {"unclear", "invalid", "missing"}


def test_bounds_are_given_where_much_is_not_known() -> None:
    row = only(violation_rate(pictures(("yes", "no", 5), ("no", "no", 5), ("no", "unclear", 10))))
    assert (row["value"], row["bound_low"], row["bound_high"]) == (0.5, 0.25, 0.75)


def test_a_group_gives_rates_and_differences_with_p_and_q() -> None:
    labels = pl.concat(
        [pictures(("no", "no", 20)), pictures(("yes", "no", 8), ("no", "no", 12), group="women")]
    )
    found = violation_rate(labels, "group")
    row = only(found, measure="violation_rate_difference", group="women")
    assert (row["reference"], row["value"]) == ("base", 0.4)
    low, high = newcombe(8, 20, 0, 20)
    assert (row["low"], row["high"]) == (pytest.approx(float(low)), pytest.approx(float(high)))
    assert row["p_value"] == pytest.approx(scipy_stats.fisher_exact([[8, 12], [0, 20]])[1])
    differences = found.filter(measure="violation_rate_difference")
    expected = scipy_stats.false_discovery_control(differences["p_value"].to_numpy())
    assert differences["q_value"].to_list() == pytest.approx(expected.tolist())


def test_a_picture_without_a_label_of_one_constraint_is_left_out_unless_it_breaks_the_other() -> None:
    labels = pictures(("yes", "no", 2), ("no", "no", 2))
    gone = (pl.col("attribute") == "several_products") & pl.col("image_id").str.ends_with("-0")
    row = only(violation_rate(labels.filter(~gone)))
    assert (row["value"], row["n"], row["excluded"]) == (2 / 3, 3, '{"not labelled": 1}')


def test_one_constraint_alone_is_the_whole() -> None:
    labels = pictures(("yes", "no", 1), ("no", "no", 3)).filter(attribute="people_present")
    assert violation_rate(labels)["value"].to_list() == [0.25, 0.25]


def test_refused_and_unanswered_pictures_keep_their_reason() -> None:
    prompts = pl.DataFrame({"prompt_id": ["p"], "object": ["car"], "text": ["a car"]})
    images = pl.DataFrame(
        {
            "image_id": list("abcd"),
            "prompt_id": "p",
            "generator": "m",
            "status": ["ok", "ok", "ok", "refused"],
        }
    )
    said = pl.DataFrame(
        {
            "subject_kind": "image",
            "subject_id": ["a", "a", "b", "b"],
            "attribute": ["people_present", "several_products"] * 2,
            "value": ["yes", "no", "no", None],
            "annotator": "judge",
            "status": ["ok", "ok", "ok", "unclear"],
        }
    )
    row = only(violation_rate(tidy_labels(prompts, images, said)))
    assert (row["value"], row["n"]) == (1.0, 1)
    assert json.loads(row["excluded"]) == {"unclear": 1, "not labelled": 1, "refused by the generator": 1}


def test_words_other_than_yes_and_no_do_not_count() -> None:
    row = only(violation_rate(pictures(("true", "no", 2), ("no", "no", 2))))
    assert (row["value"], row["excluded"]) == (0.0, '{"neither yes nor no": 2}')


def test_nothing_known_gives_no_rate() -> None:
    row = only(violation_rate(pictures(("unclear", "unclear", 3))))
    assert (row["value"], row["undefined"], row["n_excluded"]) == (None, "no usable label", 3)


def test_images_of_several_prompts_widen_the_interval() -> None:
    labels = pictures(("yes", "no", 10), ("no", "no", 10))
    half = pl.concat_str(pl.col("image_id").str.head(5), pl.col("image_id").str.tail(1).cast(pl.Int64) % 2)
    row, plain = (only(violation_rate(x)) for x in (labels.with_columns(prompt_id=half), labels))
    assert row["high"] - row["low"] > plain["high"] - plain["low"]
    assert row["flags"] == "clustered"


def test_what_does_not_fit_is_refused() -> None:
    labels = pictures(("no", "no", 3))
    with pytest.raises(TableError, match="no label of 'people_present' or 'several_products'"):
        violation_rate(labels.with_columns(attribute=pl.lit("colour")))
    with pytest.raises(TableError, match="no column 'generator'"):
        violation_rate(labels.drop("generator"))
    with pytest.raises(UsageError, match="'group' is compared and cannot be in by"):
        violation_rate(labels, "group", by=("group",))
    with pytest.raises(UsageError, match="no group 'plain'; found 'base'"):
        violation_rate(labels, "group", baseline="plain")
    with pytest.raises(TableError, match="two labels of attribute 'people_present'"):
        violation_rate(pl.concat([labels, labels]))
