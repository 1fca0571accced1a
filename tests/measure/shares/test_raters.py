"""Agreement of several annotators: `agreement` without a reference."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from stereotrope.errors import TableError
from stereotrope.measure import agreement

COEFFICIENTS = ["observed", "krippendorff_alpha", "fleiss_kappa", "gwet_ac1"]


def rated(*raters: str, attribute: str = "text", images_a_prompt: int | None = None) -> pl.DataFrame:
    """A frame of raters who give each image a letter; ``?`` is unclear, a blank no label."""
    rows = [
        (f"i{at}", None if images_a_prompt is None else f"p{at // images_a_prompt}", f"rater-{number}", value)
        for number, given in enumerate(raters)
        for at, value in enumerate(given)
        if value != " "
    ]
    frame = pl.DataFrame(rows, schema=["image_id", "prompt_id", "annotator", "value"], orient="row")
    return frame.with_columns(attribute=pl.lit(attribute), value=pl.col("value").replace("?", "unclear"))


def test_two_raters_by_hand() -> None:
    # p_a = 3/4. Labels: 3 y and 5 n. α: D_o = 1/4, D_e = 2·3·5/(8·7). Fleiss: π = 3/8, 5/8.
    found = agreement(rated("yynn", "ynnn"))
    assert found["definition"].to_list() == COEFFICIENTS
    fleiss, gwet = (9 + 25) / 64, 2 * 15 / 64
    expected = [0.75, 1 - 0.25 / (30 / 56), (0.75 - fleiss) / (1 - fleiss), (0.75 - gwet) / (1 - gwet)]
    assert found["value"].to_list() == pytest.approx(expected)
    assert set(found["n"]) == {4}
    assert found["n_categories"].to_list() == [None, None, None, 2]


def test_images_without_two_usable_labels_are_counted_by_what_they_lack() -> None:
    found = agreement(rated("yyn?y?", "ynn?  ", "y n   ")).row(0, named=True)
    assert found["n"] == 3
    assert json.loads(found["excluded"]) == {"labelled once": 1, "unclear": 2}


def test_nothing_in_common_and_one_value_throughout_are_undefined() -> None:
    found = agreement(rated("y?", "?n"))
    assert found["value"].to_list() == [None] * 4
    assert set(found["undefined"]) == {"no image with two usable labels"}
    found = agreement(rated("yyyy", "yyyy"))
    assert found["value"].to_list() == [1.0, None, None, None]
    assert found["undefined"].to_list()[1:] == ["all gave one value throughout"] * 3
    assert found["flags"][0] == "no_prompt_id,small_n"
    # With a value that nobody gave, chance alone does not explain them.
    listed = agreement(rated("yyyy", "yyyy"), taxonomy={"text": ["y", "n"]})
    assert listed.filter(definition="gwet_ac1")["value"].to_list() == [1.0]


def test_full_agreement_and_none_have_an_interval_of_the_share_that_may_differ() -> None:
    full = agreement(rated("yn" * 10, "yn" * 10)).to_dicts()
    # By hand: n / (n + z²) of 20 pictures.
    assert (full[0]["value"], full[0]["high"]) == (1.0, 1.0)
    assert full[0]["low"] == pytest.approx(20 / (20 + 1.959964**2))
    assert full[0]["holds_for"] == "these prompts"
    for row in full[1:]:  # of what lies between chance and 1 nothing is known
        assert (row["value"], row["low"], row["high"]) == (1.0, None, None)
        assert "no_variation" in row["flags"]
    none = agreement(rated("y" * 20, "n" * 20)).row(0, named=True)
    assert (none["low"], none["high"]) == pytest.approx((0.0, 1 - full[0]["low"]))
    prompts = agreement(rated("yn" * 10, "yn" * 10, images_a_prompt=4)).row(0, named=True)
    assert prompts["low"] < full[0]["low"]
    assert prompts["method"].startswith("2 annotators; Wilson; effective n ")
    assert prompts["holds_for"] == "prompts like these"


def test_full_agreement_covers_where_raters_seldom_differ() -> None:
    rng = np.random.default_rng(3)
    studies = ["".join(np.where(rng.random(20) < 0.03, "n", "y")) for _ in range(200)]
    frames = [rated("y" * 20, other, attribute=f"text {i}") for i, other in enumerate(studies)]
    found = agreement(pl.concat(frames)).filter(definition="observed")
    assert found.height == 200
    assert ((found["low"] <= 0.97) & (found["high"] >= 0.97)).sum() >= 180


def test_an_attribute_of_one_rater_is_left_out() -> None:
    both = pl.concat([rated("yn", "yn"), rated("ab", attribute="hue")])
    assert set(agreement(both)["attribute"]) == {"text"}
    assert agreement(rated("yn")).height == 0
    with pytest.raises(TableError, match="no attribute 'age'"):
        agreement(both, attribute="age")


def test_an_order_gives_a_further_alpha_and_a_value_outside_it_none() -> None:
    labels = rated("abcabc", "abbabc")
    near = agreement(labels, ordinal={"text": ["a", "b", "c"]})
    far = agreement(labels, ordinal={"text": ["b", "a", "c"]})
    assert near["definition"].to_list() == [*COEFFICIENTS, "krippendorff_alpha_ordinal"]
    assert near["value"][4] > far["value"][4]
    lacking = agreement(labels, ordinal={"text": ["a", "b"]}).row(4, named=True)
    assert (lacking["value"], lacking["undefined"]) == (None, "not in the order given: c")
    with pytest.raises(TableError, match="ordinal: no attribute 'age' is labelled"):
        agreement(labels, ordinal={"age": ["a"]})


def test_whole_prompts_are_the_units_from_four_on() -> None:
    one, other = "yyyynnnnyyyynnnn", "yyyynnnnnnnnnnnn"
    alone = agreement(rated(one, other)).row(1, named=True)
    few = agreement(rated(one, other, images_a_prompt=8)).row(1, named=True)
    many = agreement(rated(one, other, images_a_prompt=4)).row(1, named=True)
    assert alone["holds_for"] == few["holds_for"] == "these prompts"
    assert many["holds_for"] == "prompts like these"
    assert (few["low"], few["high"]) == (alone["low"], alone["high"])
    assert many["high"] - many["low"] > alone["high"] - alone["low"]


def test_annotators_named_as_reference_are_compared_one_by_one() -> None:
    found = agreement(rated("yynn", "ynnn", "yynn"), "rater-0")
    assert set(found["contrast"]) == {"annotator"}
    assert set(found["reference"]) == {"rater-0"}
    accuracy = found.filter(definition="accuracy").select("annotator", "value").rows()
    assert accuracy == [("rater-1", 0.75), ("rater-2", 1.0)]


def simulated(rng: np.random.Generator, prompts: int, size: int, raters: int, icc: float) -> pl.DataFrame:
    """Raters right with probability 0.85 on three values; both shares and accuracy vary between prompts."""
    shares = np.tile([0.5, 0.3, 0.2], (prompts, 1))
    right = np.full(prompts, 0.85)
    if icc:
        spread = 1 / icc - 1
        shares = rng.dirichlet(shares[0] * spread, size=prompts)
        right = rng.beta(0.85 * spread, 0.15 * spread, size=prompts)
    true = (rng.random((prompts, size, 1)) > shares.cumsum(axis=1)[:, None, :2]).sum(axis=-1)
    given = np.where(
        rng.random((prompts, size, raters)) < right[:, None, None],
        true[..., None],
        rng.integers(0, 3, (prompts, size, raters)),
    )
    prompt, image, rater = (axis.ravel() for axis in np.indices(given.shape))
    return pl.DataFrame({"p": prompt, "i": image, "r": rater, "v": given.ravel()}).select(
        image_id=pl.format("{}-{}", "p", "i"),
        prompt_id=pl.col("p").cast(pl.String),
        annotator=pl.col("r").cast(pl.String),
        attribute=pl.lit("text"),
        value=pl.col("v").cast(pl.String),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prompts", "size", "clustered", "repeats"),
    [
        (6, 12, 0.1, 150),
        *(pytest.param(*case, 150, marks=pytest.mark.slow) for case in [(20, 1, 0.0), (12, 8, 0.3)]),
        *[
            pytest.param(*case, 1_000, marks=pytest.mark.slow)
            for case in [(20, 1, 0.0), (80, 1, 0.0), (4, 20, 0.1), (6, 12, 0.1), (6, 12, 0.3), (20, 10, 0.3)]
        ],
    ],
)
def test_intervals_cover(prompts: int, size: int, clustered: float, repeats: int) -> None:
    rng = np.random.default_rng(7)
    # Twenty thousand prompts give the values that an endless study would have.
    truth = agreement(simulated(rng, 20_000, min(size, 3), 3, clustered))["value"].to_numpy()
    studies = [
        simulated(rng, prompts, size, 3, clustered).with_columns(attribute=pl.lit(f"text {i:04d}"))
        for i in range(repeats)
    ]
    found = agreement(pl.concat(studies))
    low, high = (found[end].to_numpy().reshape(repeats, 4) for end in ("low", "high"))
    held = np.where(np.isnan(low), np.nan, (low <= truth) & (truth <= high))
    covered = np.nanmean(held, axis=0)
    slack = 3 * np.sqrt(0.05 * 0.95 / repeats)
    assert (covered > 0.93 - slack).all(), covered
    assert (covered < 0.98 + slack).all(), covered
