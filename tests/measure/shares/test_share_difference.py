from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import UsageError
from stereotrope.measure import share_difference
from stereotrope.stats import benjamini_hochberg, cluster_permutation_test, newcombe


def test_difference_by_hand(make_labels) -> None:
    labels = make_labels(
        {("m", "car", "women"): {"pink": 12, "grey": 8}, ("m", "car", "base"): {"pink": 4, "grey": 16}}
    )
    row = share_difference(labels, value="pink").row(0, named=True)
    assert row["value"] == pytest.approx(0.4)
    assert (row["low"], row["high"]) == pytest.approx([float(x) for x in newcombe(12, 20, 4, 20)])
    assert row["p_value"] == pytest.approx(scipy_stats.fisher_exact([[12, 8], [4, 16]])[1])
    assert (row["group"], row["contrast"], row["reference"]) == ("women", "group", "base")
    assert (row["n"], row["n_reference"]) == (20, 20)


def test_only_values_that_a_side_shows_are_listed_and_q_is_over_the_table(make_labels) -> None:
    labels = make_labels(
        {
            ("m", "car", "women"): {"pink": 12, "grey": 8},
            ("m", "car", "base"): {"grey": 20},
            ("m", "cup", "women"): {"red": 20},
            ("m", "cup", "base"): {"red": 19, "teal": 1},
        }
    )
    found = share_difference(labels)
    assert found.select("object", "category").rows() == [
        ("car", "grey"),
        ("car", "pink"),
        ("cup", "red"),
        ("cup", "teal"),
    ]
    assert found["q_value"].to_list() == pytest.approx(
        benjamini_hochberg(found["p_value"].to_numpy()).tolist()
    )
    assert "over 4 tests" in found["method"][0]


def test_a_baseline_without_a_phrasing_serves_every_phrasing(make_labels) -> None:
    labels = make_labels(
        {
            ("m", "for", "women"): {"pink": 10},
            ("m", "targeted at", "women"): {"pink": 5, "grey": 5},
            ("m", None, "base"): {"grey": 10},
        },
        factors=("generator", "phrasing", "group"),
    )
    found = share_difference(labels, value="pink", within=("generator", "phrasing"))
    assert found.select("phrasing", "value").rows() == [("for", 1.0), ("targeted at", 0.5)]


def test_sides_without_usable_labels_are_undefined_by_name(make_labels) -> None:
    labels = make_labels(
        {
            ("m", "car", "women"): {None: 3},
            ("m", "car", "base"): {"grey": 3},
            ("m", "cup", "women"): {"grey": 3},
            ("m", "cup", "base"): {"unclear": 3},
            ("m", "sofa", "women"): {"grey": 3},
        }
    )
    found = share_difference(labels, value="grey")
    assert found.select("object", "value", "p_value", "undefined").rows() == [
        ("car", None, None, "no usable label"),
        ("cup", None, None, "no usable label of the reference"),
        ("sofa", None, None, "no usable label of the reference"),
    ]


def test_pairs_stay_inside_their_dimension(make_labels) -> None:
    labels = make_labels(
        {
            ("m", "gender", "women"): {"pink": 5},
            ("m", "gender", "men"): {"grey": 5},
            ("m", "age", "elderly"): {"grey": 5},
            ("m", None, "base"): {"grey": 5},
        },
        factors=("generator", "dimension", "group"),
    )
    found = share_difference(labels, value="pink", within=("generator",), pairs=True, dimension="dimension")
    assert found.select("dimension", "group", "reference", "value").rows() == [
        ("gender", "women", "base", 1.0),
        ("gender", "men", "base", 0.0),
        ("age", "elderly", "base", 0.0),
        ("gender", "women", "men", 1.0),
    ]


def test_swapping_the_groups_flips_the_sign(make_labels) -> None:
    labels = make_labels(
        {("m", "car", "a"): {"pink": 7, "grey": 5}, ("m", "car", "b"): {"pink": 2, "grey": 9}}
    )
    one = share_difference(labels, value="pink", baseline="a").row(0, named=True)
    two = share_difference(labels, value="pink", baseline="b").row(0, named=True)
    assert one["value"] == pytest.approx(-two["value"])
    assert (one["low"], one["high"]) == pytest.approx((-two["high"], -two["low"]))
    assert one["p_value"] == pytest.approx(two["p_value"])


def test_shared_prompts_make_the_test_more_careful(make_labels) -> None:
    labels = make_labels(
        {("m", "car", "a"): {"pink": 30, "grey": 10}, ("m", "car", "b"): {"pink": 15, "grey": 25}}
    )
    grouped = labels.with_columns(prompt_id=pl.Series([f"{i // 40}-{i % 40 // 10}" for i in range(80)]))
    plain = share_difference(labels, value="pink", baseline="b").row(0, named=True)
    row = share_difference(grouped, value="pink", baseline="b").row(0, named=True)
    assert row["value"] == plain["value"]
    assert row["p_value"] > plain["p_value"]
    assert row["flags"] == "clustered"
    assert row["low"] < plain["low"]


FIVES = [5] * 4


def over_prompts(counts: dict[str, list[int]], n: int, *, apart: bool) -> pl.DataFrame:
    """Pictures of prompts, of ``n`` so many pink: each level with prompts of its own, or with the same."""
    rows = [
        (f"{level}{prompt}-{i}", level, f"{level if apart else ''}{prompt}", "pink" if i < k else "grey")
        for level, hits in counts.items()
        for prompt, k in enumerate(hits)
        for i in range(n)
    ]
    frame = pl.DataFrame(rows, schema=["image_id", "generator", "prompt_id", "value"], orient="row")
    return frame.with_columns(attribute=pl.lit("colour"))


def compared(labels: pl.DataFrame) -> dict:
    return share_difference(labels, group="generator", baseline="a", value="pink", within=()).row(
        0, named=True
    )


def test_four_prompts_a_side_are_the_units_and_three_are_not() -> None:
    row = compared(over_prompts({"a": [5] * 4, "b": [0] * 4}, 5, apart=True))
    # No more than half as many digits again as 2/70, by which the exchange of prompts tells them apart.
    assert (2 / 70) ** 1.5 <= row["p_value"] == row["p_least"] < 0.01
    assert (row["holds_for"], row["flags"]) == ("prompts like these", "clustered")
    row = compared(over_prompts({"a": [5, 5, 5, 2], "b": [3, 0, 0, 0]}, 5, apart=True))
    assert row["p_value"] == pytest.approx(
        cluster_permutation_test([3, 0, 0, 0], FIVES, [5, 5, 5, 2], FIVES)[0]
    )
    row = compared(over_prompts({"a": [5] * 4, "b": [0] * 3}, 5, apart=True))
    exact = scipy_stats.fisher_exact([[0, 15], [20, 0]])[1]
    assert (row["p_value"], row["p_least"]) == pytest.approx((exact, exact))
    assert (row["holds_for"], row["flags"]) == ("these prompts", None)
    assert (row["low"], row["high"]) == pytest.approx([float(x) for x in newcombe(0, 15, 20, 20)])


def test_sides_of_the_same_prompts_are_matched() -> None:
    counts = {"a": [1, 2, 4, 6, 7, 8, 9, 10], "b": [0, 1, 2, 5, 5, 6, 8, 9]}
    same, apart = (compared(over_prompts(counts, 10, apart=apart)) for apart in (False, True))
    assert same["value"] == apart["value"]
    # Other prompts would read so as often as not: that these are the same is all that tells the sides apart.
    assert same["p_value"] == pytest.approx(2 / 2**8)
    assert same["p_least"] < same["p_value"]
    assert apart["p_value"] > 0.3
    assert same["high"] - same["low"] < 0.6 * (apart["high"] - apart["low"])


def test_one_picture_a_prompt_of_the_same_prompts_is_mcnemars_test() -> None:
    row = compared(over_prompts({"a": [1] * 12 + [0] * 8, "b": [1] * 4 + [0] * 16}, 1, apart=False))
    assert row["p_value"] == pytest.approx(scipy_stats.binomtest(8, 8).pvalue)
    assert (row["holds_for"], row["flags"]) == ("prompts like these", None)


def test_prompts_of_other_conditions_say_how_alike_pictures_of_a_prompt_are() -> None:
    """Five prompts a side are told from chance among many where pictures of a prompt are hardly alike."""
    rng = np.random.default_rng(4)
    frames, p = [], []
    for alike in (0.01, 0.6):
        frames = []
        for condition in range(60):
            of = 1 / alike - 1
            sides = {"a": 0.2, "b": 0.2 if condition else 0.7}
            counts = {
                s: rng.binomial(20, rng.beta(x * of, (1 - x) * of, 5)).tolist() for s, x in sides.items()
            }
            counts = {"a": [2, 6, 3, 5, 4], "b": [13, 17, 12, 16, 15]} if not condition else counts
            one = over_prompts(counts, 20, apart=True).with_columns(object=pl.lit(str(condition)))
            frames.append(one.with_columns(pl.col("image_id", "prompt_id") + f"/{condition}"))
        table = share_difference(
            pl.concat(frames), group="generator", baseline="a", value="pink", within=("object",)
        )
        p.append(table.filter(object="0")["p_value"].item())
    assert p[0] < 0.002
    # Two of 252 ways to exchange them, at which the exact test ends.
    assert 0.004 < p[1] <= 2 / 252


def test_mid_p_counts_the_tables_as_probable_by_half(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"pink": 3}, ("m", "car", "base"): {"grey": 3}})
    row = share_difference(labels, value="pink", mid_p=True).row(0, named=True)
    assert (row["p_value"], row["p_least"]) == pytest.approx((0.05, 0.05))
    assert row["method"].startswith("Newcombe; p: Fisher exact, mid-p")


def test_the_least_p_is_that_of_the_margins(make_labels) -> None:
    labels = make_labels(
        {("m", "car", "women"): {"pink": 2, "grey": 18}, ("m", "car", "base"): {"pink": 1, "grey": 19}}
    )
    row = share_difference(labels, value="pink").row(0, named=True)
    # At best all three pink ones are on one side.
    assert row["p_least"] == pytest.approx(scipy_stats.fisher_exact([[3, 17], [0, 20]])[1])


def test_1000_null_cells_hold_the_false_discovery_rate() -> None:
    rng = np.random.default_rng(30)
    runs_with_a_find, small = 0, []
    for _ in range(8):
        shares = rng.uniform(0.1, 0.9, size=1_000)
        values = rng.uniform(size=(1_000, 40)) < shares[:, None]
        frame = pl.DataFrame(
            {
                "image_id": np.arange(40_000).astype(str),
                "attribute": "text",
                "value": np.where(values.ravel(), "present", "absent"),
                "object": np.repeat(np.arange(1_000), 40).astype(str),
                "group": np.tile(np.repeat(["women", "base"], 20), 1_000),
            }
        )
        found = share_difference(frame, value="present", within=("object",))
        runs_with_a_find += bool((found["q_value"] <= 0.05).any())
        small.append((found["p_value"] <= 0.05).mean())
    # Under the full null the FDR is the chance of any find: at most 0.05, so hardly ever 3 of 8 runs.
    assert runs_with_a_find <= 2
    assert 0.005 < np.mean(small) <= 0.05


def test_what_cannot_be_compared_is_refused(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"pink": 1}})
    with pytest.raises(UsageError, match="no group 'base'; found 'women'"):
        share_difference(labels)
    with pytest.raises(UsageError, match="name a baseline or set pairs=True"):
        share_difference(labels, baseline=None)
    with pytest.raises(UsageError, match="'group' is compared and cannot be in within as well"):
        share_difference(labels, baseline="women", within=("group",))
