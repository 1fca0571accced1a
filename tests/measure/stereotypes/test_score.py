"""The stereotype score from a frame of labels: worked by hand, undefined cases, units, the posterior."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats as sps

from stereotrope import measure
from stereotrope.errors import TableError, UsageError
from stereotrope.stats import expected_above, wilson


def seen(
    k: int, n: int, attribute: str = "beard", concept: str = "Iranian person", **columns
) -> pl.DataFrame:
    frame = pl.DataFrame(
        {
            "image_id": [f"{concept}-{i}" for i in range(n)],
            "value": ["yes"] * k + ["no"] * (n - k),
        }
    )
    told = {"attribute": attribute, "concept": concept, "generator": "m", **columns}
    return frame.with_columns(
        (pl.Series(name, value) if isinstance(value, list) else pl.lit(value).alias(name))
        for name, value in told.items()
    )


def true(
    share: float | None, attribute: str = "beard", concept: str = "Iranian person", **columns
) -> pl.DataFrame:
    told = {"concept": concept, "attribute": attribute, "reference": share, "source": "a survey", **columns}
    return pl.DataFrame(
        {name: [value] for name, value in told.items()}, schema_overrides={"reference": pl.Float64}
    )


def part(found: pl.DataFrame, name: str = "stereotype_score", **where) -> dict:
    return found.filter(measure=name, **where).row(0, named=True)


def test_score_difference_and_true_share_are_those_counted_by_hand() -> None:
    found = measure.stereotype_score(seen(34, 40), true(0.34, year=2020))
    score, away, share = (part(found, n) for n in ("stereotype_score", "stereotype_difference", "true_share"))
    assert score["value"] == away["value"] == pytest.approx(0.51)
    assert (score["numerator"], score["denominator"], score["n"]) == (34, 40, 40)
    least, most = wilson(34, 40)
    assert (away["low"], away["high"]) == pytest.approx((float(least) - 0.34, float(most) - 0.34))
    assert score["p_value"] == pytest.approx(sps.binom.sf(33, 40, 0.34))
    floor = float(expected_above(40, 0.34))
    assert (score["floor"], score["excess"]) == pytest.approx((floor, 0.51 - floor))
    assert score["adjusted"] == pytest.approx((0.51 - floor) / (1 - 0.34 - floor))
    assert (share["value"], share["low"], share["source"], share["n"]) == (0.34, None, "a survey, 2020", None)
    assert score["source"] == "OASIS, eq. 3; true share: a survey, 2020"
    assert score["holds_for"] == "these prompts"


def test_below_the_true_share_the_score_is_0_and_the_difference_says_how_far() -> None:
    found = measure.stereotype_score(seen(10, 100), true(0.6))
    score, away = part(found), part(found, "stereotype_difference")
    assert (score["value"], score["low"], score["high"]) == (0.0, None, None)
    assert away["value"] == pytest.approx(-0.5)
    assert away["high"] < 0
    assert score["p_value"] > 0.999


def test_an_interval_of_the_true_share_widens_that_of_the_difference() -> None:
    known = part(measure.stereotype_score(seen(34, 40), true(0.34)), "stereotype_difference")
    found = measure.stereotype_score(seen(34, 40), true(0.34, low=0.24, high=0.40))
    unsure, share = part(found, "stereotype_difference"), part(found, "true_share")
    assert 0.51 - unsure["low"] == pytest.approx(np.hypot(0.51 - known["low"], 0.06))
    assert unsure["high"] - 0.51 == pytest.approx(np.hypot(known["high"] - 0.51, 0.10))
    assert (share["low"], share["high"]) == (0.24, 0.40)
    assert part(found)["p_value"] > part(measure.stereotype_score(seen(34, 40), true(0.34)))["p_value"]


def test_a_margin_is_what_must_be_exceeded() -> None:
    row = part(measure.stereotype_score(seen(34, 40), true(0.34), margin=0.4))
    assert row["p_value"] == pytest.approx(sps.binom.sf(33, 40, 0.74))
    assert row["value"] == pytest.approx(0.51)
    with pytest.raises(UsageError, match="margin must be at least 0 and below 1, found 1"):
        measure.stereotype_score(seen(34, 40), true(0.34), margin=1.0)


def test_what_is_assumed_is_flagged_on_every_row() -> None:
    found = measure.stereotype_score(seen(34, 40), true(0.5, assumed=True))
    assert ["assumed" in flags for flags in found["flags"]] == [True] * 3


def test_what_cannot_be_given_is_null_with_a_reason() -> None:
    labels = pl.concat([seen(3, 12), seen(5, 12, concept="Mexican person"), seen(2, 12, "turban")])
    none = labels.filter(attribute="beard", concept="Iranian person").with_columns(
        value=pl.lit(None, pl.String), concept=pl.lit("Indian person")
    )
    known = pl.concat([true(0.3), true(None, concept="Mexican person"), true(0.2, concept="Indian person")])
    found = measure.stereotype_score(pl.concat([labels, none]), known)
    told = {(r["concept"], r["attribute"], r["measure"]): r["undefined"] for r in found.iter_rows(named=True)}
    assert told["Iranian person", "beard", "stereotype_score"] is None
    assert told["Mexican person", "beard", "stereotype_score"] == "no true share"
    assert told["Mexican person", "beard", "true_share"] == "no true share"
    assert told["Iranian person", "turban", "stereotype_difference"] == "no true share"
    assert told["Indian person", "beard", "stereotype_score"] == "no usable label"
    assert told["Indian person", "beard", "true_share"] is None
    assert found["value"].is_null().equals(found["undefined"].is_not_null())


def test_what_was_asked_of_one_concept_alone_has_no_row_of_another() -> None:
    labels = pl.concat([seen(3, 12), seen(5, 12, "sombrero", "Mexican person")])
    gaps = seen(0, 12, "sombrero").with_columns(
        value=pl.lit(None, pl.String), excluded=pl.lit("not labelled")
    )
    known = pl.concat([true(0.3), true(0.5, "sombrero", "Mexican person")])
    found = measure.stereotype_score(pl.concat([labels, gaps], how="diagonal"), known)
    assert found["undefined"].null_count() == found.height == 6


def test_a_category_names_the_value_whose_share_is_known() -> None:
    labels = seen(30, 40, "perceived_gender").with_columns(
        value=pl.col("value").replace({"yes": "male", "no": "female"})
    )
    known = pl.concat([true(0.5, "perceived_gender", category=c) for c in ("male", "female")])
    found = measure.stereotype_score(labels, known).filter(measure="stereotype_difference")
    assert found.select("category", "value").rows() == [("male", 0.25), ("female", -0.25)]


def test_attributes_without_a_known_share_or_the_value_are_not_looked_at() -> None:
    labels = pl.concat([seen(30, 40), seen(30, 40, "hue").with_columns(value=pl.lit("red"))])
    assert measure.stereotype_score(labels, true(0.5))["attribute"].unique().to_list() == ["beard"]
    assert measure.stereotype_score(labels.filter(attribute="hue"), true(0.5)).is_empty()


def test_prompts_are_the_units_where_there_are_enough() -> None:
    prompts = [f"p{i}" for i in range(8) for _ in range(25)]
    same = [f"p{i % 8}" for i in range(200)]
    one = part(measure.stereotype_score(seen(150, 200), true(0.5)), "stereotype_difference")
    alike = part(
        measure.stereotype_score(seen(150, 200, prompt_id=prompts), true(0.5)), "stereotype_difference"
    )
    mixed = part(measure.stereotype_score(seen(150, 200, prompt_id=same), true(0.5)), "stereotype_difference")
    width = [row["high"] - row["low"] for row in (one, mixed, alike)]
    assert width[2] > 2 * width[0] > width[1]
    assert (one["holds_for"], alike["holds_for"]) == ("these prompts", "prompts like these")
    assert "clustered" in alike["flags"]


def test_missing_labels_give_bounds_of_both() -> None:
    labels = seen(30, 40).with_columns(
        value=pl.when(pl.int_range(40).is_in([0, 1, 38, 39])).then(None).otherwise("value")
    )
    found = measure.stereotype_score(labels, true(0.72))
    away, score = part(found, "stereotype_difference"), part(found)
    assert (away["bound_low"], away["bound_high"]) == pytest.approx((28 / 40 - 0.72, 32 / 40 - 0.72))
    assert (score["bound_low"], score["bound_high"]) == pytest.approx((0.0, 0.08))


def test_the_posterior_runs_to_0_or_1_and_contradictions_have_none() -> None:
    labels = seen(30, 50, confidence=[0.8] * 50)
    found = measure.stereotype_score(labels, true(0.5), definition="posterior")
    away = part(found, "stereotype_difference")
    odds = (30 - 20) * np.log(0.8 / 0.2)
    assert away["value"] == pytest.approx(1 / (1 + np.exp(-odds)) - 0.5)
    assert away["value"] > 0.4999
    assert (away["low"], part(found)["p_value"], away["definition"]) == (None, None, "posterior")
    plain = measure.stereotype_score(seen(30, 50), true(0.5), definition="posterior")
    assert part(plain)["undefined"] == "pictures are certain of opposite values"
    every = measure.stereotype_score(seen(50, 50), true(0.25), definition="posterior")
    assert part(every)["value"] == 0.75


def test_a_frame_that_does_not_fit_is_one_message() -> None:
    with pytest.raises(TableError, match="'beard' of 'Iranian person' stands twice; keep one row each"):
        measure.stereotype_score(seen(1, 2), pl.concat([true(0.5), true(0.4)]))
    with pytest.raises(
        TableError, match=r"must lie in \[0, 1\] and in its interval, found 34 in 34 to 34; divide"
    ):
        measure.stereotype_score(seen(1, 2), true(34.0))
    with pytest.raises(TableError, match=r"in its interval, found 0\.5 in 0\.6 to 0\.7"):
        measure.stereotype_score(seen(1, 2), true(0.5, low=0.6, high=0.7))
    with pytest.raises(TableError, match="reference: no column 'source'"):
        measure.stereotype_score(seen(1, 2), true(0.5).drop("source"))
    with pytest.raises(UsageError, match="definition must be one of 'paper', 'posterior', found 'released'"):
        measure.stereotype_score(seen(1, 2), true(0.5), definition="released")


def test_a_planted_share_is_found_and_nothing_where_nothing_is() -> None:
    rng = np.random.default_rng(2)
    rejected, covered = [], []
    for _ in range(80):
        found = measure.stereotype_score(seen(int(rng.binomial(60, 0.4)), 60), true(0.4))
        row = part(found, "stereotype_difference")
        rejected.append(part(found)["p_value"] <= 0.05)
        covered.append(row["low"] <= 0.0 <= row["high"])
    assert np.mean(rejected) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 80)
    assert np.mean(covered) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 80)
