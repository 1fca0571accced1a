from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from tests.measure.listed import findings

from stereotrope.errors import TableError
from stereotrope.measure import (
    agreement,
    bds,
    deterministic_share,
    dominance_shift,
    estimate_frame,
    refusal_rate,
    share,
    share_difference,
    tidy_labels,
    with_factors,
)
from stereotrope.measure import findings as measure_findings
from stereotrope.stats import newcombe
from stereotrope.tables import FINDINGS


def stacked(*frames: pl.DataFrame) -> pl.DataFrame:
    return pl.concat(frames, how="diagonal")


@pytest.fixture
def labels(make_labels) -> pl.DataFrame:
    return make_labels(
        {
            ("m", "car", "base"): {"silver": 18, "pink": 2},
            ("m", "car", "women"): {"pink": 20},
            ("m", "car", "men"): {"silver": 17, "pink": 3},
            ("m", "cup", "base"): {"white": 10, "red": 10},
            ("m", "cup", "women"): {"white": 1, "red": 19},
            ("m", "cup", "men"): {"white": 10, "red": 10},
        }
    )


@pytest.fixture
def estimates(labels) -> pl.DataFrame:
    return stacked(
        bds(labels, n_permutations=499, n_bootstrap=50),
        deterministic_share(labels),
        dominance_shift(labels),
        share_difference(labels),
    )


def test_one_finding_a_condition_ranked_by_effect(labels, estimates) -> None:
    found = findings(estimates, labels)
    assert found.columns == [c.name for c in FINDINGS]
    assert found["rank"].to_list() == [1, 2]
    assert found["kind"].to_list() == ["dominance_shift", "divergence"]
    assert found["sentence"][0] == (
        "In 20 of 20 pictures for women the product colour of the car is “pink”; in the baseline it is in 2 "
        "of 20, where “silver” is in 18; the difference is 0.90 [0.54–0.98] (q < 0.001)."
    )
    assert found["sentence"][1].startswith(
        "In 19 of 20 pictures for women the product colour of the cup is “red”; in the baseline "
        "it is in 10 of 20; the divergence is 0.21 bits, where 0.02 is expected by chance"
    )
    counted = ("category", "numerator", "n", "numerator_reference", "n_reference")
    assert found.select(counted).rows() == [("pink", 20, 20, 2, 20), ("red", 19, 20, 10, 20)]
    assert json.loads(found["scope"][0]) == {"generator": "m", "object": "car", "group": "women"}


def test_the_images_are_those_that_show_it(labels, estimates) -> None:
    shown = json.loads(findings(estimates, labels)["image_ids"][0])
    rows = labels.filter(pl.col("image_id").is_in(shown))
    assert rows.height == 20
    assert rows.select("object", "group", "value").unique().rows() == [("car", "women", "pink")]


def test_differences_of_pictures_whose_prompt_nobody_said_come_with_a_warning(labels) -> None:
    def warned(frame: pl.DataFrame) -> list[str]:
        found = measure_findings(share_difference(frame), frame)
        assert found.filter(list="difference").height
        sentences = found.filter(list="instrument")["sentence"].to_list()
        return [one for one in sentences if one.startswith("The labels do not say which pictures are of")]

    (sentence,) = warned(labels)
    assert sentence.endswith("add the column prompt_id.")
    assert warned(labels.with_columns(prompt_id=pl.concat_str("object", "group"))) == []


def test_a_large_effect_goes_before_a_smaller_p(make_labels) -> None:
    labels = make_labels(
        {
            ("m", "car", "base"): {"x": 100, "y": 300},
            ("m", "car", "women"): {"x": 180, "y": 220},
            ("m", "cup", "base"): {"x": 12},
            ("m", "cup", "women"): {"y": 12},
        }
    )
    table = share_difference(labels, value="y")
    p = dict(table.select("object", "p_value").iter_rows())
    assert p["car"] < p["cup"] < 0.05
    assert [json.loads(s)["object"] for s in findings(table, labels)["scope"]] == ["cup", "car"]


def test_of_two_definitions_only_the_papers_is_told_and_ranked(labels, estimates) -> None:
    """The distance is a root, so it reads larger than the divergence of the same pictures."""
    released = bds(labels, definition="released", n_permutations=499, n_bootstrap=50)
    assert findings(stacked(estimates, released), labels).equals(findings(estimates, labels))
    (alone,) = findings(released.filter(object="cup"), labels)["sentence"].to_list()
    assert "; the distance is 0.38 nats" in alone


def test_a_difference_among_some_values_is_told_by_the_counts_of_its_estimate(make_labels) -> None:
    labels = make_labels(
        {
            ("m", "car", "base"): {"red": 20, "blue": 20, "grey": 20},
            ("m", "car", "women"): {"red": 29, "blue": 1, "grey": 30},
        }
    )
    (sentence,) = findings(share_difference(labels, value="red", of=["red", "blue"]), labels)["sentence"]
    assert sentence == (
        "In 29 of 30 counted pictures for women the product colour of the car is “red”; in the "
        "baseline it is in 20 of 40; the difference is 0.47 [0.22–0.65] (q < 0.001)."
    )


def test_a_value_that_annotators_write_otherwise_is_told_by_the_counts_of_its_estimates(make_labels) -> None:
    counts = {("m", "car", "base"): {"1": 5, "2": 35}, ("m", "car", "women"): {"1": 30, "2": 10}}
    whole = make_labels(counts, attribute="wheels").with_columns(annotator=pl.lit("b"))
    points = whole.with_columns(pl.col("value") + ".0", annotator=pl.lit("a"))
    labels = stacked(points, whole)
    table = share_difference(labels, value="1", within=["generator", "object", "annotator"])
    (sentence,) = findings(table, labels)["sentence"]
    assert sentence.startswith("In 30 of 40 pictures for women (annotator “a”) the wheels of the car is “1”")
    assert "; in the baseline it is in 5 of 40;" in sentence
    assert sentence.endswith("; by “b” in 30 of 40 and 5 of 40.")


def test_a_level_of_a_pair_is_called_no_baseline(make_labels) -> None:
    labels = make_labels(
        {
            ("m", "car", "base"): {"red": 20, "blue": 20},
            ("m", "car", "women"): {"red": 38, "blue": 2},
            ("m", "car", "men"): {"red": 2, "blue": 38},
            ("m", "car", "elderly"): {"red": 20, "blue": 20},
        }
    )
    pairs = share_difference(labels, value="red", baseline=None, pairs=True)
    told = findings(pairs, labels)["sentence"].to_list()
    assert "in the baseline" not in " ".join(told)
    assert told[0].startswith("In 38 of 40 pictures for women the product colour of the car is “red”")
    assert "; for men it is in 2 of 40; the difference is 0.90" in told[0]
    beside = findings(share_difference(labels, value="red", pairs=True), labels)["sentence"].to_list()
    assert len(beside) == 2
    assert all("; in the baseline it is in 20 of 40" in sentence for sentence in beside)


def test_a_picture_with_several_labels_counts_once_among_those_without_a_label() -> None:
    labels = pl.DataFrame(
        {
            "image_id": ["a", "a", "a", "b", "b", "c"],
            "attribute": "slot",
            "value": ["left", "right", None, "left", "right", None],
            "excluded": [None, None, "invalid", None, None, "not labelled"],
            "generator": "m",
        }
    )
    (sentence,) = findings(estimate_frame([], factors=("generator",)), labels)["sentence"]
    assert sentence == "1 of 3 pictures has no label of the slot that can be used (not labelled: 1)."


def test_annotators_that_disagree_with_the_reference_are_named(make_labels) -> None:
    labels = make_labels({("m", "car", "base"): {"x": 20}})
    truth = labels.select("image_id", "attribute", value=pl.Series(["x"] * 10 + ["y"] * 10))
    said = stacked(*(labels.with_columns(annotator=pl.lit(name)) for name in ("a", "b")))
    table = agreement(said, truth, by=("attribute", "annotator"))
    told = findings(table, said)["sentence"].to_list()
    assert [sentence.split(" agree with ")[0] for sentence in told] == [
        "The labels of the product colour by the annotator “a”",
        "The labels of the product colour by the annotator “b”",
    ]


def test_what_is_not_significant_or_undefined_makes_no_finding(make_labels) -> None:
    labels = make_labels(
        {
            ("m", "car", "base"): {"x": 5, "y": 5},
            ("m", "car", "women"): {"x": 6, "y": 4},
            ("m", "cup", "base"): {"x": 5},
            ("m", "cup", "women"): {None: 3},
        }
    )
    table = stacked(share_difference(labels), bds(labels, n_permutations=99, n_bootstrap=20))
    assert findings(table, labels.filter(object="car")).height == 0


def test_a_deterministic_baseline_is_told_as_such(make_labels) -> None:
    labels = make_labels(
        {("m", "car", "base"): {"silver": 12}, ("m", "car", "women"): {"silver": 6, "red": 6}}
    )
    found = findings(stacked(dominance_shift(labels), deterministic_share(labels)), labels)
    assert found["sentence"].to_list() == [
        "In 12 of 12 pictures in the baseline the product colour of the car is “silver” [0.70–1.00]."
    ]


@pytest.mark.parametrize("prompts", [pytest.param(1, marks=pytest.mark.slow), 6])
def test_what_is_described_is_held_though_it_was_chosen_among_many(make_labels, prompts: int) -> None:
    """200 things, each shown in 0.7 of pictures: those of one value alone were chosen by chance."""
    told = held = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        shown = {f"thing {i}": int(rng.binomial(12, 0.7)) for i in range(200)}
        cells = {("m", thing, "base"): {"x": k, "y": 12 - k} for thing, k in shown.items()}
        labels = make_labels(cells).with_columns(prompt_id=pl.lit(None, pl.String))
        if prompts > 1:
            of = pl.int_range(pl.len()).over("object") % prompts
            labels = labels.with_columns(prompt_id=pl.format("{} {}", "object", of))
        found = findings(deterministic_share(labels), labels).filter(list="common")
        ends = found["sentence"].str.extract_groups(r"“x” \[([\d.]+)–([\d.]+)\]").struct.unnest()
        ends = ends.cast(pl.Float64)
        told += ends.height
        held += ends.filter(pl.col("1") <= 0.7, pl.col("2") >= 0.7).height
        assert (found["level"] > 0.99).all()
    assert told >= 10
    assert held >= 0.95 * told


def test_a_divergence_is_told_by_the_value_that_came(make_labels) -> None:
    before, after = {"grey": 16, "beige": 4}, {"brown": 10, "beige": 10}
    labels = make_labels({("m", "car", "base"): before, ("m", "car", "women"): after})
    (sentence,) = findings(bds(labels), labels)["sentence"].to_list()
    assert "In 10 of 20 pictures for women the product colour of the car is “brown”" in sentence


def test_a_divergence_names_a_value_that_is_told_to_differ_before_the_one_that_came_most(make_labels) -> None:
    before, after = {"red": 23, "blue": 17}, {"red": 31, "blue": 3, "black": 2, "white": 2, "green": 2}
    labels = make_labels({("m", "cup", "base"): before, ("m", "cup", "women"): after})
    (sentence,) = findings(bds(labels), labels)["sentence"].to_list()
    assert "In 3 of 40 pictures for women the product colour of the cup is “blue”" in sentence
    assert "the difference is −0.35 [−0." in sentence


@pytest.mark.parametrize(
    ("prompts", "alone"), [((10, 10), ""), ((3, 3), ""), ((10, 3), "3 prompts"), ((1, 4), "1 prompt")]
)
def test_a_side_of_too_few_prompts_to_speak_of_others_is_told_as_such(
    make_labels, prompts: tuple[int, int], alone: str
) -> None:
    labels = make_labels(
        {("m", "car", "base"): {"x": 90, "y": 30}, ("m", "car", "women"): {"x": 30, "y": 90}}
    )
    of = pl.when(group="base").then(prompts[0]).otherwise(prompts[1])
    number = pl.col("image_id").str.slice(1).cast(pl.Int64) % of
    labels = labels.with_columns(prompt_id=pl.format("{} {}", "group", number))
    (sentence,) = findings(bds(labels), labels)["sentence"].to_list()
    told = f"; one side has {alone}, so that it is of these prompts alone."
    assert sentence.endswith(told) if alone else "these prompts alone" not in sentence


def test_a_value_that_gave_way_to_many_is_told_as_gone(make_labels) -> None:
    after = {f"colour {i}": 4 for i in range(5)}
    labels = make_labels({("m", "car", "base"): {"grey": 20}, ("m", "car", "women"): after})
    (sentence,) = findings(bds(labels), labels)["sentence"].to_list()
    assert "In 0 of 20 pictures for women the product colour of the car is “grey”" in sentence


def test_what_is_deterministic_with_and_without_the_cue_is_told_once(make_labels) -> None:
    labels = make_labels({("m", "car", "base"): {"silver": 12}, ("m", "car", "women"): {"silver": 12}})
    found = findings(stacked(dominance_shift(labels), deterministic_share(labels)), labels)
    assert found["sentence"].to_list() == [
        "In 12 of 12 pictures in the baseline the product colour of the car is “silver” [0.70–1.00]."
    ]


def requests_of(colours: list[str], asked: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two conditions asked as often, the last of the second refused, and labels of the others."""
    prompts = pl.DataFrame(
        {"prompt_id": ["p", "q"], "object": "car", "group": ["base", "women"], "text": "t"}
    )
    images = pl.DataFrame(
        {
            "image_id": [f"i{k}" for k in range(2 * asked)],
            "prompt_id": ["p"] * asked + ["q"] * asked,
            "generator": "m",
            "status": ["ok"] * len(colours) + ["refused"] * (2 * asked - len(colours)),
            "sha256": [str(k) for k in range(2 * asked - 2)] + ["0", "1"],
        }
    )
    said = pl.DataFrame(
        {
            "subject_kind": "image",
            "subject_id": [f"i{k}" for k in range(len(colours))],
            "attribute": "colour",
            "value": colours,
            "annotator": "x",
            "status": "ok",
        }
    )
    refusals = refusal_rate(with_factors(prompts, images), "group", by=("generator", "object"))
    return refusals, tidy_labels(prompts, images, said)


def test_refusals_that_differ_are_found_with_their_requests() -> None:
    found = findings(*requests_of(["red"] * 30, 20))
    assert found["kind"].to_list() == ["refusal"]
    assert found["sentence"][0] == (
        "10 of 20 requests for the car for women are refused; "
        "in the baseline 0 of 20; the difference is 0.50 [0.24–0.70] (q < 0.001)."
    )
    assert json.loads(found["image_ids"][0]) == [f"i{k}" for k in range(30, 40)]


def test_refusals_need_no_check_of_an_instrument_to_lead() -> None:
    """They stood behind every difference of an annotator that a check found right."""
    refusals, tidy = requests_of(["red"] * 100 + ["blue"] * 100 + ["red"] * 90 + ["blue"] * 30, 200)
    tables = stacked(refusals, share_difference(tidy, value="red"))
    told = findings(tables, tidy, proven=[("x", "colour")]).filter(list="difference")
    assert told["kind"].to_list() == ["refusal", "share_difference"]


@pytest.mark.parametrize("counted", [False, True])
def test_labels_that_one_group_lacks_are_told_though_few_are_missing_in_all(make_labels, counted) -> None:
    sides = {("m", "car", f"g{at}"): {"x": 100} for at in range(20)}
    sides["m", "car", "old"] = {"x": 60, "unclear": 40}
    labels = make_labels(sides).with_columns(
        excluded=pl.when(pl.col("value") == "unclear").then(pl.lit("unclear"))
    )
    if counted:
        alike = [name for name in labels.columns if name != "image_id"]
        labels = labels.group_by(alike, maintain_order=True).agg(n_subjects=pl.len())
    (told,) = findings(share(labels), labels).filter(kind="instrument")["sentence"].to_list()
    assert told == (
        "40 of 2100 pictures have no label of the product colour that can be used (unclear: 40); 40 of 100 "
        "with group “old”, but 0 of 100 with group “g0”."
    )


def test_attributes_that_lack_the_same_pictures_are_one_finding(make_labels) -> None:
    labels = make_labels({("m", "car", "base"): {"x": 15, "unclear": 5}}).with_columns(
        annotator=pl.lit("lexicon"), excluded=pl.when(pl.col("value") == "unclear").then(pl.lit("unclear"))
    )
    more = [labels.with_columns(attribute=pl.lit(name)) for name in ("age", "skin_tone")]
    truth = labels.select("image_id", "attribute", "value")
    found = findings(agreement(labels, truth), pl.concat([labels, *more]))
    assert found["sentence"].to_list() == [
        "5 of 20 pictures have no label of each of age, product colour and skin tone by the annotator "
        "“lexicon” that can be used (unclear: 5)."
    ]
    assert found["attribute"].to_list() == [None]


@pytest.mark.parametrize("counted", [False, True])
def test_labels_that_are_missing_of_one_model_are_told_of_it(make_labels, counted) -> None:
    seen = {"a": {"x": 58, "unclear": 2}, "b": {"x": 36, "unclear": 24}, "c": {"x": 50, "unclear": 10}}
    sides = {(model, "car", group): n for model, n in seen.items() for group in ("base", "women")}
    labels = make_labels(sides).with_columns(
        excluded=pl.when(pl.col("value") == "unclear").then(pl.lit("unclear")),
        lost=pl.col("group"),  # a factor may have any name
        k=pl.col("group"),
    )
    if counted:
        alike = [name for name in labels.columns if name != "image_id"]
        labels = labels.group_by(alike, maintain_order=True).agg(n_subjects=pl.len())
    (told,) = findings(share(labels), labels).filter(kind="instrument")["sentence"].to_list()
    assert told == (
        "72 of 360 pictures have no label of the product colour that can be used (unclear: 72); 48 of 120 "
        "with generator “b”, but 4 of 120 with generator “a”."
    )


def test_labels_that_are_missing_as_often_everywhere_are_told_of_none(make_labels) -> None:
    sides = {(model, "car", "base"): {"x": 45 + at, "unclear": 15 - at} for at, model in enumerate("abc")}
    labels = make_labels(sides).with_columns(
        excluded=pl.when(pl.col("value") == "unclear").then(pl.lit("unclear"))
    )
    (told,) = findings(share(labels), labels).filter(kind="instrument")["sentence"].to_list()
    assert told.endswith("that can be used (unclear: 42).")


def test_a_sample_by_people_is_no_failure_to_label_the_rest(make_labels) -> None:
    labels = make_labels({("m", "car", "base"): {"x": 4, "unclear": 2, "none": 14}}).with_columns(
        annotator=pl.lit("people"),
        excluded=pl.col("value").replace_strict({"none": "not labelled", "unclear": "unclear"}, default=None),
    )
    truth = labels.select("image_id", "attribute", "value")
    table = agreement(labels, truth)
    told = "16 of 20 pictures have no label of the product colour by the annotator “people” that can be used "
    assert findings(table, labels)["sentence"].to_list() == [f"{told}(not labelled: 14, unclear: 2)."]
    sample = findings(table, labels, proven=[("people", "product_colour")])
    assert sample["sentence"].to_list() == [f"{told}(unclear: 2).".replace("16 of 20", "2 of 6")]


def test_an_annotator_that_reads_too_little_or_too_badly_is_found(make_labels) -> None:
    labels = make_labels({("m", "car", "base"): {"x": 17, "unclear": 2, "invalid": 1}})
    labels = labels.with_columns(
        annotator=pl.lit("judge"),
        excluded=pl.when(pl.col("value").is_in(["unclear", "invalid"])).then("value"),
    )
    truth = labels.select("image_id", "attribute", value=pl.Series(["x"] * 10 + ["y"] * 10))
    found = findings(agreement(labels, truth), labels)
    assert found["kind"].to_list() == ["instrument"] * 2
    assert found["sentence"].to_list() == [
        "3 of 20 pictures have no label of the product colour by the annotator “judge” that can be used "
        "(unclear: 2, invalid: 1).",
        "The labels of the product colour agree with the reference on 10 of 17 pictures [0.36–0.78]; "
        "measures of it carry that error.",
    ]


@pytest.mark.parametrize(("n", "told"), [(1, 0), (3, 0), (4, 1), (10, 1)])
def test_an_annotator_is_named_for_disagreeing_where_its_pictures_are_enough(make_labels, n, told) -> None:
    labels = make_labels({("m", "car", "base"): {"x": n}}).with_columns(annotator=pl.lit("judge"))
    truth = labels.select("image_id", "attribute", value=pl.lit("y"))
    named = findings(agreement(labels, truth), labels)["sentence"].to_list()
    assert [f"agree with the reference on 0 of {n} picture" in one for one in named] == [True] * told


def test_copies_are_found_and_warnings_survive_the_limit(labels, estimates) -> None:
    images = pl.DataFrame(
        {"image_id": ["a", "b", "c"], "generator": "m", "status": "ok", "sha256": ["1", "1", "2"]}
    )
    found = findings(estimates, labels, images=images, limit=2)
    assert found["kind"].to_list() == ["dominance_shift", "instrument"]
    assert found["sentence"][1].startswith("m: 1 of 3 pictures are byte-for-byte copies of another one")
    assert json.loads(found["image_ids"][1]) == ["b"]


@pytest.mark.parametrize(
    ("prompts", "seeds", "told"),
    [(5, [7], "5 prompts were drawn with the same one seed"), (4, [1, 2, 3], "the same 3 seeds"),
     (5, [1, 2, 3, 4], None), (3, [7], None), (5, [None], None)],
)  # fmt: skip
def test_prompts_that_share_fewer_seeds_than_show_what_they_do_are_named(
    labels, estimates, prompts, seeds, told
) -> None:
    pairs = [(f"p{prompt}", seed) for prompt in range(prompts) for seed in seeds]
    images = pl.DataFrame(pairs, schema=["prompt_id", "seed"], orient="row").with_columns(
        image_id=pl.int_range(pl.len()).cast(pl.String), generator=pl.lit("m"), status=pl.lit("ok"),
        sha256=pl.int_range(pl.len()).cast(pl.String),
    )  # fmt: skip
    found = findings(estimates, labels, images=images).filter(kind="instrument")["sentence"].to_list()
    assert [told in one for one in found if told] == [True] * (told is not None)
    assert len(found) == (told is not None)


def test_each_prompt_with_a_seed_of_its_own_shares_none(labels, estimates) -> None:
    numbers = {"prompt_id": ["p", "q", "r", "s", "t"], "seed": [1, 2, 3, 1, None]}
    images = pl.DataFrame(numbers).with_columns(
        image_id="prompt_id", generator=pl.lit("m"), status=pl.lit("ok"), sha256="prompt_id"
    )
    assert findings(estimates, labels, images=images).filter(kind="instrument").height == 1
    apart = images.with_columns(seed=pl.int_range(5))
    assert findings(estimates, labels, images=apart).filter(kind="instrument").height == 0


def test_values_are_quoted_as_data(make_labels) -> None:
    evil = "<script>\x1b[31m” is fair"
    labels = make_labels({("m", "car", "base"): {"x": 12}, ("m", "car", "women"): {evil: 12}})
    sentence = findings(dominance_shift(labels), labels)["sentence"][0]
    assert "“<script> [31m’ is fair”" in sentence
    assert "\x1b" not in sentence


def test_nothing_to_find_is_an_empty_table(make_labels) -> None:
    labels = make_labels({("m", "car", "base"): {"x": 5}})
    found = findings(deterministic_share(labels), labels)
    assert found.height == 0
    assert found.schema["rank"] == pl.Int64


def test_the_same_input_gives_the_same_findings(labels, estimates) -> None:
    shuffled = findings(estimates.reverse(), labels.sample(fraction=1, shuffle=True, seed=1))
    plain = findings(estimates, labels)
    assert shuffled.drop("image_ids").equals(plain.drop("image_ids"))
    assert plain["finding_id"].n_unique() == plain.height


def test_frames_of_another_kind_are_refused(labels) -> None:
    with pytest.raises(TableError, match="estimates: no column 'measure'"):
        findings(labels, labels)
    with pytest.raises(TableError, match="labels: no column 'image_id'"):
        findings(dominance_shift(labels), labels.drop("image_id"))


def test_each_compared_factor_is_told_in_its_own_words(make_labels) -> None:
    factors = ("generator", "style", "group")
    labels = make_labels(
        {
            ("m", "plain", "base"): {"x": 20},
            ("m", "plain", "women"): {"y": 20},
            ("m", "photo", "base"): {"z": 20},
        },
        factors=factors,
    )
    by_group = share_difference(labels.filter(style="plain"), value="y", within=("generator", "style"))
    by_style = share_difference(
        labels.filter(group="base"), value="z", group="style", baseline="plain", within=("generator", "group")
    )
    sentences = findings(stacked(by_group, by_style), labels)["sentence"].to_list()
    assert len(sentences) == 2
    assert any(
        "for women (style “plain”) the product colour is “y”" in s and "in the baseline" in s
        for s in sentences
    )
    assert any(
        "with style “photo” (group “base”)" in s and "with style “plain” (same group) it is in 0 of 20" in s
        for s in sentences
    )


def judged(make_labels, by: dict[str, tuple[dict, dict]], thing: str = "car") -> pl.DataFrame:
    """Labels of several annotators of the same pictures: annotator → counts in the baseline and for women."""
    frames = []
    for name, (base, women) in by.items():
        labels = make_labels({("m", thing, "base"): base, ("m", thing, "women"): women})
        number = pl.int_range(pl.len()).over("group").cast(pl.String)
        frames.append(labels.with_columns(image_id=pl.col("group") + thing + number, annotator=pl.lit(name)))
    return pl.concat(frames)


def compared(labels: pl.DataFrame) -> pl.DataFrame:
    within = ("generator", "object", "annotator")
    return stacked(
        bds(labels, within=within, n_permutations=499, n_bootstrap=50),
        dominance_shift(labels, within=within),
        share_difference(labels, within=within),
    )


def test_what_several_annotators_find_alike_is_one_finding_with_the_counts_of_each(make_labels) -> None:
    seen = {
        "colour": ({"x": 20}, {"y": 20}),
        "openai:a": ({"x": 19, "y": 1}, {"y": 20}),
        "openai:b": ({"x": 20}, {"y": 19, "x": 1}),
        "openai:c": ({"dark": 20}, {"light": 18, "dark": 2}),
    }
    labels = judged(make_labels, seen)
    found = findings(compared(labels), labels)
    assert found["sentence"].to_list() == [
        "In 20 of 20 pictures for women (annotator “colour”) the product colour of the car is “y”; "
        "in the baseline it is in 0 of 20, where “x” is in 20; the difference is 1.00 [0.72–1.00] "
        "(q < 0.001); by “openai:a” in "
        "20 of 20 and 1 of 20; by “openai:b” in 19 of 20 and 0 of 20; by “openai:c” it is “light” in 18 "
        "of 20 and 0 of 20."
    ]
    assert json.loads(found["scope"][0])["annotator"] == "colour"


def test_a_count_is_of_the_value_that_is_told_and_other_words_are_no_difference(make_labels) -> None:
    """“a” names z, and “b” writes X for x and Y for y, of which too little came to be told."""
    seen = {
        "colour": ({"x": 20}, {"y": 20}),
        "a": ({"x": 20}, {"y": 8, "z": 12}),
        "b": ({"X": 10, "Y": 10}, {"X": 8, "Y": 12}),
        "c": ({"x": 20}, {"y": 20}),
    }
    labels = judged(make_labels, seen)
    (sentence,) = findings(compared(labels), labels)["sentence"]
    assert sentence.endswith(
        "; by “colour” in 20 of 20 and 0 of 20; by “a” it is “z” in 12 of 20 and 0 of 20; by “b” it is “Y” "
        "in 12 of 20 and 10 of 20."
    )


def test_an_annotator_that_sees_no_such_thing_differs_and_lowers_the_rank(make_labels) -> None:
    half = {"x": 10, "y": 10}
    lone = {"a": ({"x": 20}, {"y": 20}), "b": (half, {"x": 9, "y": 11}), "c": (half, half)}
    both = {name: ({"x": 20}, {"y": 15, "x": 5}) for name in "abc"}
    labels = pl.concat([judged(make_labels, lone), judged(make_labels, both, "cup")])
    sentences = findings(compared(labels), labels)["sentence"].to_list()
    assert len(sentences) == 2
    assert "the product colour of the cup is “y”" in sentences[0]
    assert sentences[0].endswith("; by “b” in 15 of 20 and 0 of 20; by “c” in 15 of 20 and 0 of 20.")
    assert sentences[1].endswith(
        "; by “b”, which differs, in 11 of 20 and 10 of 20; by “c”, which differs, in 10 of 20 and 10 of 20."
    )


def test_annotators_of_other_attributes_and_of_other_conditions_are_left_alone(make_labels) -> None:
    one = judged(make_labels, {"a": ({"x": 20}, {"y": 20})})
    other = judged(make_labels, {"b": ({"x": 20}, {"y": 20})}, "cup")
    third = judged(make_labels, {"c": ({"x": 20}, {"y": 20})}).with_columns(attribute=pl.lit("shape"))
    labels = pl.concat([one, other, third])
    sentences = findings(compared(labels), labels)["sentence"].to_list()
    assert len(sentences) == 3
    assert not any("; by" in sentence for sentence in sentences)


def test_measures_that_scope_the_same_pictures_differently_make_one_finding(make_labels) -> None:
    labels = make_labels(
        {("m", None, "base"): {"x": 20}, ("m", "gender", "women"): {"y": 20}},
        factors=("generator", "dimension", "group"),
    )
    table = stacked(
        share_difference(labels, within=("generator",), dimension="dimension"),
        dominance_shift(labels, within=("generator",)),
    )
    assert findings(table, labels)["kind"].to_list() == ["dominance_shift"]


@pytest.fixture
def strong_and_weak(make_labels) -> pl.DataFrame:
    """A larger shift of the car's colour and a smaller one of the cup's."""
    return make_labels(
        {
            ("m", "car", "base"): {"x": 20},
            ("m", "car", "women"): {"y": 20},
            ("m", "cup", "base"): {"x": 18, "y": 2},
            ("m", "cup", "women"): {"x": 4, "y": 16},
        }
    )


def first_and_last(found: pl.DataFrame) -> tuple[str, str]:
    sentences = found.filter(pl.col("kind") != "instrument")["sentence"].to_list()
    assert len(sentences) == 2
    return sentences[0], sentences[1]


def test_without_a_doubt_the_larger_effect_leads(strong_and_weak) -> None:
    table = share_difference(strong_and_weak, value="y")
    first, last = first_and_last(findings(table, strong_and_weak))
    assert "the product colour of the car" in first
    assert "the product colour of the cup" in last


def test_copies_of_few_pictures_do_not_lead(strong_and_weak) -> None:
    table = share_difference(strong_and_weak, value="y")
    copied = (pl.col("object") == "car") & (pl.col("group") == "women")
    number = pl.int_range(pl.len()).cast(pl.String)
    images = strong_and_weak.select(
        "image_id",
        "generator",
        status=pl.lit("ok"),
        sha256=pl.when(copied).then((pl.int_range(pl.len()) % 3).cast(pl.String)).otherwise(number),
    )
    first, last = first_and_last(findings(table, strong_and_weak, images=images))
    assert "the product colour of the cup" in first
    assert last.endswith("; it rests on 3 distinct pictures.")


def test_fewer_than_ten_pictures_do_not_lead_though_a_test_supports_them(make_labels) -> None:
    labels = make_labels(
        {
            ("m", "car", "base"): {"x": 7},
            ("m", "car", "women"): {"y": 8},
            ("m", "cup", "base"): {"x": 18, "y": 2},
            ("m", "cup", "women"): {"x": 4, "y": 16},
        }
    )
    first, last = first_and_last(findings(share_difference(labels, value="y"), labels))
    assert "the product colour of the cup" in first
    assert last.endswith("; it rests on 8 pictures.")


@pytest.mark.parametrize("how", ["reference", "card", "card of another attribute", "card of all"])
def test_an_annotator_that_failed_its_check_does_not_lead(strong_and_weak, how: str) -> None:
    car = strong_and_weak.with_columns(annotator=pl.lit("judge"))
    labels = car.with_columns(
        attribute=pl.when(pl.col("object") == "car").then(pl.lit("shape")).otherwise(pl.lit("product_colour"))
    )
    within = ("generator", "object", "annotator")
    table = share_difference(labels, value="y", within=within)
    failed = {
        "reference": set(),
        "card": {("judge", "shape")},
        "card of another attribute": {("judge", "size"), ("other", "shape")},
        "card of all": {("judge", None)},
    }[how]
    if how == "reference":
        flipped = pl.col("value").replace({"x": "y", "y": "x"})
        wrong = pl.when(pl.col("attribute") == "shape").then(flipped).otherwise("value")
        known = labels.select("image_id", "attribute", value=wrong)
        table = stacked(table, agreement(labels, known, by=("attribute", "annotator")))
    first, last = first_and_last(findings(table, labels, failed=failed))
    assert ("of the car" in first) == (how in ("card of another attribute", "card of all"))
    assert last.endswith("; the annotator failed a check of it.") == (how != "card of another attribute")


def marked(
    generator: str, annotator: str, marks: list[dict[str, str]], of: int = 1
) -> dict[str, pl.DataFrame]:
    """Pictures of a model and the table of labels, by which the first of them have a mark."""
    ids = [f"i{n}" for n in range(of)]
    seen = [{"subject_id": i, "attribute": "text_presence", "value": "absent"} for i in ids]
    seen += [{"subject_id": i, "attribute": "text_mark", **mark} for i, mark in zip(ids, marks, strict=False)]
    read = pl.DataFrame(seen).with_columns(annotator=pl.lit(annotator), status=pl.lit("ok"))
    images = pl.DataFrame({"image_id": ids, "sha256": ids, "generator": generator, "status": "ok"})
    return {"images": images, "read": read}


def test_text_that_a_judge_reads_in_pictures_with_a_mark_does_not_lead(strong_and_weak) -> None:
    labels = strong_and_weak.with_columns(
        annotator=pl.lit("judge"),
        attribute=pl.when(pl.col("object") == "car").then(pl.lit("text_presence")).otherwise("attribute"),
    )
    table = share_difference(labels, value="y", within=("generator", "object", "annotator"))
    mark = {"value": "ACME", "written": "ACME", "rationale": "bottom right"}
    for generator, annotator, leads in (("m", "text", "cup"), ("n", "text", "car"), ("m", "judge", "car")):
        run = marked(generator, annotator, [mark])
        first, last = first_and_last(findings(table, labels, **run))
        assert f"of the {leads}" in first
        assert last.endswith("which may be what is read.") == (leads == "cup")


def test_a_mark_that_is_read_otherwise_each_time_is_quoted_so(labels) -> None:
    words = ["a b", "a b", "c\u202ed", "e", "f“", "g"]
    run = marked(
        "m", "text", [{"value": "a b", "written": w, "rationale": "bottom right"} for w in words], of=9
    )
    (sentence,) = findings(share_difference(labels).clear(), labels, **run)["sentence"].to_list()
    assert sentence == (
        "m: the text read in 6 of 9 pictures is a mark at one place (bottom right), read as “a b”, “c d”, "
        "“e” and otherwise; it is not counted as text of the pictures."
    )


def test_the_baseline_of_a_finding_is_that_of_the_same_mitigation_and_is_said_to_be(make_labels) -> None:
    factors = ("generator", "object", "group", "phrasing", "mitigation")
    before = {"none": 2, "avoid": 4}
    base = {("m", "car", "base", None, m): {"pink": k, "grey": 20 - k} for m, k in before.items()}
    women = {("m", "car", "women", p, m): {"pink": 20} for p in ("for", "from") for m in before}
    labels = make_labels(base | women, factors=factors)
    within = ("generator", "object", "phrasing", "mitigation")
    found = findings(dominance_shift(labels, within=within), labels)
    assert found.height == 4
    for scope, sentence in found.select("scope", "sentence").iter_rows():
        k = before[json.loads(scope)["mitigation"]]
        assert f"; in the baseline (no phrasing, same mitigation) it is in {k} of 20 " in sentence
    pooled = findings(dominance_shift(labels, within=("generator", "object", "mitigation")), labels)
    assert all("; in the baseline (same mitigation) it is in" in sentence for sentence in pooled["sentence"])
    averaged = findings(dominance_shift(labels, within=("generator", "object")), labels)
    assert "; in the baseline it is in 6 of 40 " in averaged["sentence"][0]


@pytest.mark.parametrize("n", [40, 60])
def test_an_interval_of_a_finding_is_made_again_with_the_level_beside_it(make_labels, n) -> None:
    """Where one of several values is named, its interval has the part of the error that it has."""
    counts = {("m", "cup", "base"): {"grey": n}, ("m", "cup", "women"): {"pink": n - 9, "grey": 9}}
    labels = make_labels(counts)
    (row,) = findings(bds(labels, n_permutations=500), labels).filter(list="difference").to_dicts()
    low, high = newcombe(n - 9, n, 0, n, level=row["level"])
    assert (row["low"], row["high"]) == pytest.approx((low, high))
