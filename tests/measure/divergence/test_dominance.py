from __future__ import annotations

from itertools import combinations

import pytest

from stereotrope.errors import UsageError
from stereotrope.measure import deterministic_share, dominance_shift


def test_share_counts_cells_that_show_one_value(make_labels) -> None:
    labels = make_labels(
        {
            ("m", "car", "women"): {"pink": 20},
            ("m", "car", "men"): {"grey": 19, "red": 1},
            ("m", "cup", "women"): {"red": 12},
            ("m", "cup", "men"): {"red": 9},
        }
    )
    row = (
        deterministic_share(labels).filter(measure="deterministic_share", attribute="all").row(0, named=True)
    )
    assert row["value"] == pytest.approx(2 / 3)
    assert (row["n"], row["n_excluded"]) == (3, 1)
    assert row["excluded"] == '{"cell with fewer than 10 usable labels": 1}'
    assert row["low"] < row["value"] < row["high"]


def test_the_floor_is_the_chance_that_shuffled_images_agree(make_labels) -> None:
    labels = make_labels({("m", "car", "a"): {"x": 3}, ("m", "car", "b"): {"x": 1, "y": 2}})
    row = deterministic_share(labels, min_n=3).filter(attribute="all").row(0, named=True)
    pool = "xxxxyy"
    draws = [{pool[i] for i in chosen} for chosen in combinations(range(6), 3)]
    assert row["floor"] == pytest.approx(sum(len(d) == 1 for d in draws) / len(draws))
    assert row["excess"] == pytest.approx(0.5 - row["floor"])


def test_a_cell_as_large_as_a_value_is_frequent_can_be_deterministic_by_chance(make_labels) -> None:
    labels = make_labels({("m", "car", "a"): {"x": 3}, ("m", "car", "b"): {"y": 3}})
    row = deterministic_share(labels, min_n=3).filter(attribute="all").row(0, named=True)
    # Of the 20 ways to choose 3 of xxxyyy two agree.
    assert (row["value"], row["floor"]) == (1.0, pytest.approx(0.1))


def test_a_value_that_rules_everywhere_is_all_floor(make_labels) -> None:
    labels = make_labels({("m", "car", g): {"absent": 20} for g in ("base", "women")}, "text_presence")
    row = deterministic_share(labels).filter(attribute="all").row(0, named=True)
    assert (row["value"], row["floor"], row["adjusted"]) == (1.0, pytest.approx(1.0), None)
    assert row["flags"] == "floor_at_maximum"


def test_20_of_20_is_shown_with_its_lower_limit(make_labels) -> None:
    found = deterministic_share(make_labels({("m", "car", "women"): {"pink": 20}}))
    row = found.filter(measure="dominant_share").row(0, named=True)
    assert (row["category"], row["value"], row["high"]) == ("pink", 1.0, 1.0)
    assert row["flags"] == "deterministic,no_prompt_id"
    assert round(row["low"], 2) == 0.84


def test_dominant_share_says_tie_small_and_undefined(make_labels) -> None:
    labels = make_labels({("m", "car", "a"): {"x": 2, "y": 2}, ("m", "car", "b"): {None: 5}})
    found = deterministic_share(labels)
    rows = (
        found.filter(measure="dominant_share")
        .select("group", "category", "value", "flags", "undefined")
        .rows()
    )
    assert rows[0] == ("a", "x", 0.5, "tie,no_prompt_id,small_n", None)
    assert rows[1] == ("b", None, None, None, "no usable label")
    share = found.filter(measure="deterministic_share", attribute="all").row(0, named=True)
    assert (share["value"], share["undefined"]) == (None, "no cell with enough usable labels")


@pytest.mark.parametrize(
    ("base", "group", "shifted"),
    [
        ({"silver": 18, "pink": 2}, {"pink": 14, "silver": 6}, 1.0),
        ({"silver": 18, "pink": 2}, {"silver": 20}, 0.0),
        ({"silver": 13, "pink": 7}, {"pink": 20}, 0.0),
        ({"silver": 20}, {"pink": 13, "grey": 7}, 0.0),
    ],
)
def test_a_shift_needs_another_value_and_both_dominances(make_labels, base, group, shifted) -> None:
    labels = make_labels({("m", "car", "base"): base, ("m", "car", "women"): group})
    assert dominance_shift(labels)["value"].to_list() == [shifted]


def test_a_shift_names_both_values_and_both_shares(make_labels) -> None:
    labels = make_labels(
        {("m", "car", "base"): {"silver": 18, "pink": 2}, ("m", "car", "women"): {"rose gold": 20}}
    )
    row = dominance_shift(labels).row(0, named=True)
    assert row["category"] == "silver → rose gold"
    assert row["method"] == "threshold 0.7; dominance 1.00, in the reference 0.90"


def test_a_shift_is_undefined_with_its_reason(make_labels) -> None:
    labels = make_labels(
        {
            ("m", "car", "base"): {"silver": 18},
            ("m", "car", "a"): {None: 3},
            ("m", "car", "b"): {"pink": 9},
            ("m", "cup", "a"): {"pink": 20},
        }
    )
    found = dominance_shift(labels)
    assert found["value"].to_list() == [None, None, None]
    assert found["undefined"].to_list() == [
        "no usable label",
        "fewer than 10 usable labels",
        "no usable label of the reference",
    ]


def test_shares_may_be_taken_over_everything_and_by_no_other_factor(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"pink": 20}, ("m", "car", "base"): {"grey": 15, "red": 5}})
    found = deterministic_share(labels.drop("generator"), within=["object"], by=[])
    assert found.filter(measure="deterministic_share", attribute="all")["value"].to_list() == [0.5]
    with pytest.raises(UsageError, match=r"found 'generator' beside within=\['object'\]; give by= some of"):
        deterministic_share(labels, within=["object"])


def test_arguments_that_do_not_fit_are_refused(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"pink": 20}, ("m", "car", "base"): {"grey": 20}})
    with pytest.raises(UsageError, match="no group 'none'; found 'base', 'women'; name it with baseline="):
        dominance_shift(labels, baseline="none")
    with pytest.raises(UsageError, match="threshold must lie above 0 and at most at 1, found 70"):
        dominance_shift(labels, threshold=70)
    for measure in (dominance_shift, deterministic_share):
        with pytest.raises(UsageError, match="min_n must be at least 1, found 0"):
            measure(labels, min_n=0)
        with pytest.raises(UsageError, match="'group' is compared and cannot be in within"):
            measure(labels, within=["object", "group"])


def test_a_floor_is_the_same_to_the_last_bit_each_time(make_labels) -> None:
    seen = {f"v{at:03}": 2 + at % 5 for at in range(300)}
    counts = {("m", "car", group): seen for group in ("base", "women")}
    labels = make_labels(counts | {("m", "car", f"g{at}"): {"v001": 2} for at in range(4)})
    floors = {deterministic_share(labels, min_n=1)["floor"].to_numpy().tobytes() for _ in range(12)}
    assert len(floors) == 1
