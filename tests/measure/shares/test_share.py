from __future__ import annotations

import polars as pl
import pytest

from stereotrope.errors import TableError, UsageError
from stereotrope.measure import female_ratio, share
from stereotrope.stats import cluster_share_interval, wilson


def test_share_by_hand(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"pink": 15, "grey": 5}})
    found = share(labels, "product_colour", by=("generator", "group"))
    assert found.select("category", "value", "n").rows() == [("pink", 0.75, 20), ("grey", 0.25, 20)]
    low, high = wilson(15, 20)
    assert found.select("low", "high").row(0) == (float(low), float(high))
    assert found.columns[:5] == ["measure", "definition", "generator", "group", "contrast"]


def test_a_value_other_cells_show_has_share_0_with_an_interval(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"pink": 20}, ("m", "car", "base"): {"grey": 20}})
    row = share(labels, value="pink", by=("group",)).filter(group="base").row(0, named=True)
    assert row["value"] == 0.0
    assert row["low"] == 0.0
    assert row["high"] == pytest.approx(0.161, abs=1e-3)


@pytest.mark.parametrize("simultaneous", [False, True])
def test_of_very_many_values_rare_ones_have_rows_where_they_are_seen(make_labels, simultaneous) -> None:
    many = {f"v{at:03}": 3 if at < 100 else 1 for at in range(150)}
    women, nobody = {"v000": 1, "v149": 2}, {"unclear": 3}
    sides = {"base": many, "women": women, "nobody": nobody}
    labels = make_labels({("m", "car", group): seen for group, seen in sides.items()})
    found = share(labels, by=("group",), simultaneous=simultaneous)
    # The most frequent hundred: v149 is seen three times, and v099 last of those that are by name.
    frequent = ["v000", *(f"v{at:03}" for at in range(1, 99)), "v099"]
    rare = [f"v{at:03}" for at in range(100, 149)]
    assert found.filter(group="base")["category"].to_list() == [*frequent, "v149", *rare]
    assert found.filter(group="women")["category"].to_list() == [*frequent, "v149"]
    assert found.filter(group="nobody")["category"].to_list() == frequent
    assert found.filter(group="women")["numerator"].to_list() == [1, *[0] * 99, 2]
    # A row says what it would if its value were asked for.
    every = [*frequent, "v149", *rare]
    named = share(labels, value=every, by=("group",), simultaneous=simultaneous)
    assert named.height == 3 * 150
    keys = ["group", "category"]
    assert found.equals(named.join(found.select(keys), on=keys, how="semi"), null_equal=True)


def test_share_is_undefined_without_usable_labels(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"unclear": 4, None: 1}, ("m", "car", "base"): {"grey": 1}})
    row = share(labels, by=("group",)).filter(group="women").row(0, named=True)
    assert row["value"] is None
    assert (row["low"], row["high"]) == (None, None)
    assert row["undefined"] == "no usable label"
    assert row["excluded"] == '{"missing": 1, "unclear": 4}'
    assert (row["n"], row["n_excluded"]) == (0, 5)


def test_an_attribute_nobody_could_label_is_one_undefined_row(make_labels) -> None:
    found = share(make_labels({("m", "car", "women"): {None: 3}}))
    assert found.select("category", "value", "undefined").rows() == [(None, None, "no usable label")]


def test_one_image_gives_a_wide_interval_and_a_flag(make_labels) -> None:
    row = share(make_labels({("m", "car", "women"): {"pink": 1}})).row(0, named=True)
    assert row["value"] == 1.0
    assert row["low"] == pytest.approx(0.2065, abs=1e-4)
    assert row["flags"] == "no_prompt_id,small_n"


def test_of_restricts_the_denominator(make_labels) -> None:
    labels = make_labels({("m", "ceo", "base"): {"female": 3, "male": 1, "both": 6}}, "gender")
    row = share(labels, "gender", value="female", of=["female", "male"]).row(0, named=True)
    assert (row["value"], row["n"], row["excluded"]) == (0.75, 4, '{"labelled both": 6}')


def test_a_counted_value_outside_of_is_refused(make_labels) -> None:
    labels = make_labels({("m", "ceo", "base"): {"female": 3}}, "gender")
    with pytest.raises(UsageError, match=r"value 'both' is not in of=\['female', 'male'\]"):
        share(labels, "gender", value="both", of=["female", "male"])


def test_simultaneous_intervals_are_goodmans(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"pink": 12, "grey": 5, "red": 3}})
    found = share(labels, simultaneous=True)
    low, high = wilson([12, 5, 3], 20, level=1 - 0.05 / 3)
    assert found["low"].to_list() == pytest.approx(low.tolist())
    assert found["high"].to_list() == pytest.approx(high.tolist())
    assert found["method"][0].startswith("Goodman, simultaneous over 3 categories")


def test_images_that_share_prompts_widen_the_interval(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"pink": 30, "grey": 30}})
    prompts = [f"p{i // 10}" for i in range(60)]
    plain = share(labels, value="pink").row(0, named=True)
    row = share(labels.with_columns(prompt_id=pl.Series(prompts)), value="pink").row(0, named=True)
    assert row["value"] == plain["value"]
    assert row["high"] - row["low"] > 1.5 * (plain["high"] - plain["low"])
    assert row["flags"] == "clustered"
    assert "6 units" in row["method"]


def test_a_cell_that_stands_alone_has_the_interval_of_its_own_prompts(make_labels) -> None:
    counts = {("m", "car", g): {"pink": 5, "grey": 15} for g in ("women", "men")}
    labels = make_labels(counts).with_columns(prompt_id=pl.concat_str("group", pl.int_range(pl.len()) % 4))
    women = share(labels.filter(group="women"), value="pink", by=("group",)).row(0, named=True)
    k = labels.filter(group="women").group_by("prompt_id").agg((pl.col("value") == "pink").sum())["value"]
    assert (women["low"], women["high"]) == cluster_share_interval(k, [5] * 4)
    assert women["method"] == "Beta-binomial; likelihood over 4 units"
    both = share(labels, value="pink", by=("group",))
    assert both["method"].str.starts_with("Wilson; effective n").all()


def test_a_frame_that_cannot_tell_is_flagged_and_one_that_can_is_wider(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"pink": 160, "grey": 240}})
    labels = labels.with_columns(prompt_id=pl.int_range(pl.len()) // 40)
    known, unknown = (
        share(frame, value="pink").row(0, named=True) for frame in (labels, labels.drop("prompt_id"))
    )
    assert (known["flags"], known["holds_for"]) == ("clustered", "prompts like these")
    assert (unknown["flags"], unknown["holds_for"]) == ("no_prompt_id", "these prompts")
    assert known["low"] < 0.2
    assert unknown["low"] > 0.35


def test_share_reads_any_frame(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"pink": 12, "grey": 5}})
    for other in (labels.to_pandas(), labels.to_arrow(), labels.lazy()):
        assert share(other).equals(share(labels))


def test_share_names_the_missing_column(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"pink": 1}})
    with pytest.raises(TableError, match="no column 'phrasing'"):
        share(labels, by=("phrasing",))
    with pytest.raises(TableError, match="no attribute 'colour'"):
        share(labels, "colour")


def test_female_ratio_counts_only_the_two_values(make_labels) -> None:
    labels = make_labels({("m", "ceo", "base"): {"female": 7, "male": 3, "both": 2, "unclear": 1}}, "gender")
    row = female_ratio(labels).row(0, named=True)
    assert (row["measure"], row["value"], row["n"]) == ("female_ratio", 0.7, 10)
    assert row["excluded"] == '{"labelled both": 2, "unclear": 1}'


def test_female_ratio_without_either_value_is_undefined_and_not_a_half(make_labels) -> None:
    row = female_ratio(make_labels({("m", "ceo", "base"): {"both": 5}}, "gender")).row(0, named=True)
    assert row["value"] is None
    assert row["undefined"].startswith("no label is 'female' or 'male'; there are 'both': name those")


def test_female_ratio_equals_the_published_table(shared) -> None:
    folder = shared / "data" / "occupations"
    labels = pl.read_csv(folder / "labels.csv").select(
        image_id="file_name",
        generator="model",
        occupation="occupation",
        condition="condition",
        value="gender",
        attribute=pl.lit("gender"),
    )
    found = female_ratio(labels, by=("generator", "occupation", "condition"))
    ours = {
        row[:3]: (round(row[3] * row[4]), row[4])
        for row in found.select("generator", "occupation", "condition", "value", "n").iter_rows()
    }
    published = pl.read_csv(folder / "published_gender.csv")
    assert published.height == 15
    for row in published.iter_rows(named=True):
        for condition in ("Baseline", "Controlled"):
            female, male = map(int, row[f"{condition} (F/M, %F)"].split()[0].split("/"))
            key = (row["model"], row["Occupation"].lower(), condition.lower())
            assert ours[key] == (female, female + male), key


def test_a_share_may_be_taken_over_everything(make_labels) -> None:
    labels = make_labels({("m", "car", "women"): {"pink": 15}, ("m", "cup", "men"): {"grey": 5}})
    assert share(labels, by=[]).select("category", "value", "n").rows() == [
        ("pink", 0.75, 20),
        ("grey", 0.25, 20),
    ]
