"""Prediction-powered shares and differences from tidy labels."""

from __future__ import annotations

import json
import tracemalloc
from itertools import product

import numpy as np
import polars as pl
import pytest

from stereotrope.errors import UsageError
from stereotrope.measure import findings, ppi_difference, ppi_share, share_difference
from stereotrope.measure import share as labelled_share
from stereotrope.stats import newcombe, prediction_powered_share, wilson


def said(values: list[str], **more: object) -> pl.DataFrame:
    ids = [f"i{at}" for at in range(len(values))]
    return pl.DataFrame({"image_id": ids, "attribute": "hue", "value": values, "generator": "m", **more})


def test_a_share_is_that_of_the_counts() -> None:
    # People saw the first 20: 10 red, of which the annotator found 8, and one red that is none.
    machine = said(["red"] * 8 + ["blue"] * 2 + ["red"] + ["blue"] * 9 + ["red"] * 50 + ["blue"] * 50)
    people = machine.head(20).with_columns(value=pl.Series(["red"] * 10 + ["blue"] * 10))
    row = ppi_share(machine, people, value="red").row(0, named=True)
    value, n, _ = prediction_powered_share([[[9, 1], [2, 8]]], [[50, 50]])
    assert row["value"] == pytest.approx(float(value))
    assert (row["low"], row["high"]) == pytest.approx([float(x) for x in wilson(value * n, n)])
    assert (row["n"], row["n_reference"], row["definition"]) == (120, 20, "ppi")
    assert row["holds_for"] == "these prompts"


def test_a_picture_of_which_one_cannot_say_is_left_out_with_the_reason() -> None:
    machine = said(["red", "unclear", "red", "blue", "blue", "red"])
    people = said(["red", "red", "unclear", "blue"])
    row = ppi_share(machine, people, value="red").row(0, named=True)
    assert (row["n"], row["n_reference"]) == (4, 2)
    assert json.loads(row["excluded"]) == {"label: unclear": 1, "reference: unclear": 1}
    of = ppi_share(said(["red", "grey", "blue", "red"]), people, value="red", of=["red", "blue"])
    assert json.loads(of["excluded"][0]) == {"labelled grey": 1, "reference: unclear": 1}


def test_every_value_that_one_of_both_shows_has_a_row_and_a_cell_without_people_none() -> None:
    machine = said(["red", "blue"] * 5, generator=["a"] * 8 + ["b"] * 2)
    found = ppi_share(machine, said(["grey"] * 5))
    assert found["category"].to_list() == ["blue", "grey", "red"] * 2
    assert found["undefined"].to_list() == [None] * 3 + ["no usable label of the reference"] * 3
    assert found.filter(generator="b")["value"].null_count() == 3


def test_of_fewer_than_five_pictures_that_people_labelled_there_is_no_number() -> None:
    """One picture a side gave differences of ±1, beside the number of pictures of the annotator."""
    machine = said(["red", "blue"] * 20, group=["women", "base"] * 20, object="car")
    for n, reason in (
        (0, "no usable label of the reference"),
        (4, "fewer than 5 pictures labelled by people"),
    ):
        some = said(["red"] * 20).gather_every(2).head(n)
        people = pl.concat([some, said(["red"] * 40).gather_every(2, 1)])
        difference = ppi_difference(machine, people, value="red").row(0, named=True)
        share = ppi_share(machine, people, value="red", by=["group"]).filter(group="women").row(0, named=True)
        for row in (difference, share):
            assert (row["value"], row["undefined"]) == (None, reason)
    enough = pl.concat([said(["red"] * 10).gather_every(2), said(["red"] * 40).gather_every(2, 1)])
    assert ppi_difference(machine, enough, value="red")["value"].null_count() == 0


def test_a_difference_that_only_the_annotators_errors_make_goes() -> None:
    # The annotator finds 20 of 100 reds that are none, among women alone.
    true = (["red"] * 50 + ["blue"] * 50) * 2
    seen = ["red"] * 70 + ["blue"] * 30 + ["red"] * 50 + ["blue"] * 50
    more = {"group": ["women"] * 100 + ["base"] * 100, "object": "car"}
    machine, people = said(seen, **more), said(true, **more).gather_every(2)
    row = ppi_difference(machine, people, value="red").row(0, named=True)
    assert row["value"] == pytest.approx(0, abs=0.02)
    assert (row["contrast"], row["reference"], row["n"], row["n_reference"]) == ("group", "base", 100, 100)
    sides = [
        prediction_powered_share([t], [u])
        for t, u in (([[15, 10], [0, 25]], [15, 35]), ([[25, 0], [0, 25]], [25, 25]))
    ]
    counts = [x for side in sides for x in (side.value * side.n_effective, side.n_effective)]
    low, high = newcombe(*counts)
    assert (row["low"], row["high"]) == pytest.approx((float(low), float(high)), abs=0.02)


@pytest.mark.slow
def test_p_of_a_difference_agrees_with_its_interval_and_keeps_its_level() -> None:
    """120 comparisons of sides that are alike, of which the annotator errs on one alone."""
    rng, parts = np.random.default_rng(11), []
    for side, wrong in (("women", 0.3), ("base", 0.05)):
        true = rng.random((120, 150)) < 0.4
        seen = true ^ (rng.random(true.shape) < wrong)
        at, number = (of.ravel() for of in np.indices(true.shape))
        word = [np.where(of.ravel(), "red", "blue") for of in (true, seen)]
        ids = [f"{side}-{a}-{i}" for a, i in zip(at, number, strict=True)]
        parts.append(
            pl.DataFrame(
                {"image_id": ids, "object": at, "true": word[0], "value": word[1], "number": number}
            ).with_columns(group=pl.lit(side), attribute=pl.lit("hue"), generator=pl.lit("m"))
        )
    machine = pl.concat(parts)
    people = machine.filter(pl.col("number") < 40).with_columns(value="true")
    found = ppi_difference(machine.drop("true"), people, value="red")
    out = (found["low"] > 0) | (found["high"] < 0)
    assert (out == (found["p_value"] <= 0.05)).all()
    assert out.mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 120)
    assert (found["q_value"] >= found["p_value"]).all()
    assert "p: where this interval reaches 0" in found["method"][0]


def test_prompts_are_the_units_where_people_labelled_four() -> None:
    values = (["red"] * 10 + ["blue"] * 10) * 4
    prompts = [f"p{at // 10}" for at in range(80)]
    people = said(values).gather_every(3)
    alone = ppi_share(said(values), people, value="red").row(0, named=True)
    many = ppi_share(said(values, prompt_id=prompts), people, value="red").row(0, named=True)
    assert (alone["holds_for"], many["holds_for"]) == ("these prompts", "prompts like these")
    assert many["high"] - many["low"] > alone["high"] - alone["low"]


def test_intervals_of_the_measure_cover_whatever_the_annotators_errors() -> None:
    rng = np.random.default_rng(4)
    hits = []
    for _ in range(120):
        true = rng.random(400) < 0.3
        seen = np.where(rng.random(400) < np.where(true, 0.9, 0.75), true, ~true)
        machine, people = (said(np.where(x, "red", "blue").tolist()) for x in (seen, true))
        row = ppi_share(machine, people.sample(40, seed=int(rng.integers(1e6))), value="red").row(
            0, named=True
        )
        hits.append(row["low"] <= 0.3 <= row["high"])
    assert 0.91 < np.mean(hits) < 0.99


def over_prompts(
    rng: np.random.Generator, shares: tuple[float, float], rights: tuple[float, float],
    *, prompts: int, icc: float, repetitions: int, asked: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:  # fmt: skip
    """An annotator's labels, and people's of some: two sides, 40 pictures a prompt; repetitions are objects.

    Prompts' shares, and the annotator's accuracy on them, differ.
    """
    parts, shape, spread = [], (repetitions, prompts, 40), 1 / icc - 1
    for side, share, right in zip(("women", "base"), shares, rights, strict=True):
        true = rng.random(shape) < rng.beta(share * spread, (1 - share) * spread, (*shape[:2], 1))
        seen = true ^ (rng.random(shape) >= rng.beta(right * 20, (1 - right) * 20, (*shape[:2], 1)))
        number = rng.random((repetitions, prompts * 40)).argsort(axis=1).ravel()
        thing, prompt, _ = (of.ravel() for of in np.indices(shape))
        words = {name: np.where(of.ravel(), "red", "blue") for name, of in (("true", true), ("value", seen))}
        frame = pl.DataFrame({"object": thing, "prompt": prompt, "asked": number < asked, **words})
        frame = frame.with_columns(
            prompt_id=pl.format("{}-{}-{}", pl.lit(side), "object", "prompt"), group=pl.lit(side),
            image_id=pl.format("{}-{}", pl.lit(side), pl.int_range(pl.len())),
        )  # fmt: skip
        parts.append(frame.drop("prompt"))
    both = pl.concat(parts).with_columns(attribute=pl.lit("hue"), generator=pl.lit("m"))
    people = both.filter("asked").select("image_id", "attribute", value="true")
    return both.drop("true", "asked"), people


@pytest.mark.parametrize(
    ("prompts", "icc", "rights", "repetitions"),
    [
        (6, 0.3, (0.9, 0.7), 60),
        *(
            pytest.param(prompts, icc, rights, 300, marks=pytest.mark.slow)
            for prompts in (4, 10)
            for icc in (0.1, 0.3)
            for rights in ((0.6, 0.6), (0.9, 0.7), (0.99, 0.99))
        ),
    ],
)
def test_shares_and_differences_over_prompts_cover(
    prompts: int, icc: float, rights: tuple[float, float], repetitions: int, capsys
) -> None:
    """From labels to rows, whether the annotator errs as often on one side as on the other or not."""
    rng = np.random.default_rng([prompts, int(10 * icc), int(100 * rights[0])])
    how = {"prompts": prompts, "icc": icc, "repetitions": repetitions, "asked": 30}
    machine, people = over_prompts(rng, (0.3, 0.5), rights, **how)
    differences = ppi_difference(machine, people, value="red")
    shares = ppi_share(machine, people, value="red", by=["object", "group"])
    least = (0.92 if prompts < 8 else 0.93) - 3 * np.sqrt(0.05 * 0.95 / repetitions)
    told = (shares.filter(group="women"), 0.3), (shares.filter(group="base"), 0.5), (differences, -0.2)
    covered = [float(((of["low"] <= true) & (of["high"] >= true)).mean()) for of, true in told]
    if repetitions > 100:
        with capsys.disabled():
            print(f"\n{prompts} prompts, {icc}, {rights}: {np.round(covered, 3)}", end="")
    assert min(covered) > least, covered
    assert (differences["holds_for"] == "prompts like these").mean() > 0.98


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match="value 'red' is not in of="):
        ppi_share(said(["red"]), said(["red"]), value="red", of=["blue"])
    with pytest.raises(UsageError, match="no group 'base'; name the level compared with as baseline"):
        ppi_difference(said(["red"], group="women", object="car"), said(["red"]))


def test_a_named_value_is_found_however_each_side_writes_it() -> None:
    machine = said(["Female"] * 8 + ["male"] * 12 + ["Female"] * 40 + ["male"] * 40)
    people = said(["female"] * 10 + ["male"] * 10)
    found = ppi_share(machine, people, value="female").row(0, named=True)
    alike = machine.with_columns(pl.col("value").str.to_lowercase())
    assert found["value"] == ppi_share(alike, people, value="female")["value"][0]
    lost = ppi_share(machine, said(["f"] * 10 + ["m"] * 10), value="female").row(0, named=True)
    assert lost["value"] is None
    assert lost["undefined"].startswith("no label is 'female', and 'f' is")


def test_other_words_of_people_give_no_share_of_0() -> None:
    machine = said(["female"] * 30 + ["male"] * 30)
    found = ppi_share(machine, said(["F"] * 10 + ["M"] * 10))
    assert found["value"].null_count() == found.height
    told = "people and the annotator have no value in common (people F, M, the annotator female, male)"
    assert found["undefined"][0].startswith(told)


def test_people_who_saw_one_kind_of_pictures_only_are_flagged() -> None:
    said = ["x"] * 60 + ["y"] * 60
    labels = pl.DataFrame({"image_id": [str(i) for i in range(120)], "attribute": "a", "value": said})
    labels = labels.with_columns(generator=pl.lit("m"))
    one_kind, at_random = labels.head(30), labels.gather_every(4)
    for people, unlike in ((one_kind, True), (at_random, False)):
        row = ppi_share(labels, people, "a", value="x").row(0, named=True)
        assert ("sample_unlike" in (row["flags"] or "")) is unlike


def by_design(seed: int = 0, *, prompts: bool = True) -> pl.DataFrame:
    """Two groups of 12 objects, ten pictures a prompt, half of them red whatever the group."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"{o}-{g}-{i}", f"o{o}", g, f"{o} {g}", "red" if rng.random() < 0.5 else "blue")
        for o in range(12)
        for g in ("base", "women")
        for i in range(10)
    ]
    names = ["image_id", "object", "group", "prompt_id", "value"]
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        attribute=pl.lit("hue"), generator=pl.lit("m"), annotator=pl.lit("judge")
    )
    return frame if prompts else frame.drop("prompt_id")


def powered_by(labels: pl.DataFrame, sample: pl.DataFrame, **more) -> dict[str, object]:
    people = sample.select("image_id", "attribute", "value")
    return ppi_share(labels, people, value="red", **more).row(0, named=True)


@pytest.mark.parametrize("prompts", [True, False])
@pytest.mark.parametrize("how", ["pictures", "whole prompts"])
def test_people_who_saw_one_condition_alone_are_flagged_with_why(prompts: bool, how: str) -> None:
    labels = by_design(prompts=prompts)
    sample = labels.filter(group="base")
    sample = sample.sample(60, seed=5) if how == "pictures" else sample.head(80)
    row = powered_by(labels, sample)
    assert "sample_unlike" in row["flags"]
    why = f"people labelled 0 of 120 pictures with group “women”, but {sample.height} of 120 pictures"
    assert why in row["method"]
    # Of the baseline alone they are a random part, where they did not take some objects whole.
    if how == "pictures":
        assert "sample_unlike" not in powered_by(labels.filter(group="base"), sample)["flags"]


def test_people_who_labelled_few_of_many_prompts_are_flagged() -> None:
    labels = by_design()
    row = powered_by(labels, labels.filter(pl.col("prompt_id").is_in(["1 base", "5 women", "9 base"])))
    assert row["holds_for"] == "these prompts"
    assert "people labelled pictures of 3 of 24 prompts" in row["method"]


def test_pictures_chosen_by_what_they_show_are_flagged_within_prompts_and_by_whole_prompts() -> None:
    labels = by_design()
    shown = labels.filter((pl.col("value") == "red") | (pl.int_range(pl.len()) % 6 == 0)).sample(60, seed=2)
    assert "the annotator said “blue” of 10 of the 60" in powered_by(labels, shown)["method"]
    odd = pl.col("prompt_id").str.split(" ").list.first().cast(int) % 2 == 0
    told = labels.with_columns(value=pl.when(odd).then(pl.lit("red")).otherwise("value"))
    whole = told.filter(odd & (pl.col("object") != "o0"))
    assert "the annotator said “blue” of 0 of the 100" in powered_by(told, whole)["method"]


def test_random_pictures_and_random_whole_prompts_are_seldom_flagged() -> None:
    flagged = {"pictures": 0, "prompts": 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        mean = dict(zip(by_design()["prompt_id"].unique().sort(), rng.beta(2, 2, 24), strict=True))
        labels = by_design().with_columns(
            value=pl.Series(["red" if rng.random() < mean[p] else "blue" for p in by_design()["prompt_id"]])
        )
        some = rng.permutation(sorted(mean))[:8].tolist()
        samples = labels.sample(60, seed=seed), labels.filter(pl.col("prompt_id").is_in(some))
        for how, sample in zip(flagged, samples, strict=True):
            flagged[how] += "sample_unlike" in (powered_by(labels, sample)["flags"] or "")
    # Four tests at 0.01: five or more of 40 would come once in 50 times.
    assert max(flagged.values()) <= 4, flagged


def test_an_unlike_sample_is_a_warning_in_words() -> None:
    labels = by_design()
    people = labels.filter(group="base").sample(60, seed=5).select("image_id", "attribute", "value")
    found = ppi_share(labels, people, by=["generator", "annotator"])
    (told,) = findings(found, labels).filter(list="instrument")["sentence"].to_list()
    assert told == (
        "The pictures that people labelled are no random part of those of “judge” (hue, generator “m”): "
        "people labelled 0 of 120 pictures with group “women”, but 60 of 120 pictures with group “base”. "
        "What is put right by them speaks of such pictures alone; draw those to label by chance from all."
    )


def test_one_picture_a_prompt_is_not_independent_of_those_of_its_seed() -> None:
    machine = said(["red", "blue"] * 12).with_columns(prompt_id="image_id", seed=pl.int_range(24) % 4)
    row = ppi_share(machine, machine.head(16), value="red").row(0, named=True)
    assert row["method"].endswith("shared seeds counted")
    assert "clustered" in row["flags"]
    alone = ppi_share(machine.drop("seed"), machine.head(16), value="red").row(0, named=True)
    assert "clustered" not in (alone["flags"] or "")


def test_memory_does_not_grow_with_prompts_times_pictures() -> None:
    machine = said(["red", "blue"] * 3000).with_columns(prompt_id=pl.format("p{}", pl.int_range(6000) // 2))
    tracemalloc.start()
    ppi_share(machine, machine.gather_every(4), value="red")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 50e6


@pytest.mark.parametrize(
    ("prompts", "asked", "cells", "times"),
    [
        (4, 20, 1, 40),
        (10, 20, 12, 3),
        *(
            pytest.param(prompts, asked, cells, 400 // cells, marks=pytest.mark.slow)
            for prompts in (4, 6, 10, 20)
            for asked in (20, 50)
            for cells in (1, 2, 20)
        ),
    ],
)
def test_intervals_are_those_of_labels_alone_or_narrower(
    prompts: int, asked: int, cells: int, times: int, capsys
) -> None:
    """Cells that stand alone and those that learn of others, which attributes do not: each is an audit."""
    slack = 3 * np.sqrt(0.05 * 0.95 / (cells * times))
    for icc, (share, right) in product((0.1, 0.3), ((0.1, 0.95), (0.3, 0.6), (0.5, 0.99))):
        rng = np.random.default_rng([prompts, asked, cells, int(10 * icc), int(10 * share)])
        how = {"prompts": prompts, "icc": icc, "repetitions": cells * times, "asked": asked}
        machine, people = over_prompts(rng, (share, share), (right, right), **how)
        audit = pl.format("hue {}", pl.col("object") // cells)
        machine = machine.with_columns(attribute=audit)
        judged = people.drop("attribute").join(machine.drop("value"), on="image_id")
        by = ["object", "group"] if cells > 1 else ["object"]
        if cells == 1:
            machine, judged = (of.filter(group="women") for of in (machine, judged))
        sides = [(ppi_share(machine, judged, value="red", by=by), labelled_share(judged, value="red", by=by))]
        truths = [share]
        if cells > 1:
            sides.append(
                (ppi_difference(machine, judged, value="red"), share_difference(judged, value="red"))
            )
            truths.append(0.0)
        told = []
        for (powered, labels), true in zip(sides, truths, strict=True):
            widths = [(of["high"] - of["low"]).mean() for of in (powered, labels)]
            covered = [((of["low"] <= true) & (of["high"] >= true)).mean() for of in (powered, labels)]
            told.append((*covered, widths[0] / widths[1]))
            assert widths[0] <= 1.01 * widths[1], (icc, share, right, widths)
            assert covered[0] > min(0.93, covered[1]) - slack, (icc, share, right, covered)
        if times * cells > 100:
            with capsys.disabled():
                print(
                    f"\n{prompts} {asked} {cells} {icc} {share} {right}: {np.round(told, 3).tolist()}", end=""
                )


@pytest.mark.parametrize("groups", [["women"], ["base", "women"]])
def test_an_annotator_that_tells_nothing_leaves_the_interval_of_peoples_labels(groups: list[str]) -> None:
    machine, people = over_prompts(
        np.random.default_rng(3), (0.4, 0.4), (0.9, 0.9), prompts=6, icc=0.3, repetitions=1, asked=30
    )
    machine = machine.filter(pl.col("group").is_in(groups)).with_columns(value=pl.lit("red"))
    judged = people.join(machine.drop("value", "attribute"), on="image_id")
    ends = [
        of.filter(category="red").sort("group").select("value", "low", "high").rows()
        for of in (ppi_share(machine, judged, by=["group"]), labelled_share(judged, by=["group"]))
    ]
    assert np.array(ends[0]) == pytest.approx(np.array(ends[1]), abs=1e-6)


def test_people_and_an_annotator_who_write_a_value_in_other_words_have_no_share_of_0() -> None:
    machine = said(["female"] * 30 + ["male"] * 30)
    people = said(["female"] * 30 + ["man"] * 30).gather_every(3)
    found = ppi_share(machine, people)
    assert found["value"].null_count() == found.height == 3
    assert found["undefined"][0].startswith("people write 'man' and the annotator 'male', which may mean the")
    # A word that may be a kind of its own is none of these.
    girls = people.with_columns(pl.col("value").replace("man", "girl"))
    assert ppi_share(machine, girls)["value"].null_count() == 0


def test_pictures_that_people_could_not_tell_are_bounds_and_show_where_they_are_unlike() -> None:
    true = ["female"] * 40 + ["male"] * 40
    machine, people = said(true * 3), said(true)
    chosen = people.with_columns(value=pl.Series(["female"] * 40 + ["unclear"] * 34 + ["male"] * 6))
    row = ppi_share(machine, chosen, value="female").row(0, named=True)
    assert (row["bound_low"], row["bound_high"]) == pytest.approx(
        (row["value"] * 46 / 80, row["value"] * 46 / 80 + 34 / 80)
    )
    assert "sample_unlike" in row["flags"]
    assert "of 34 of the 34 of which they could not say" in row["method"] or "of 0 of the 34" in row["method"]
    every = ppi_share(said(true), chosen, value="female").row(0, named=True)
    assert "sample_unlike" in every["flags"]
    any_of_them = people.with_columns(
        value=pl.when(pl.int_range(pl.len()) % 10 == 0).then(pl.lit("unclear")).otherwise("value")
    )
    row = ppi_share(machine, any_of_them, value="female").row(0, named=True)
    assert row["bound_high"] - row["bound_low"] == pytest.approx(0.1)
    assert "sample_unlike" not in (row["flags"] or "")
    few = people.with_columns(
        value=pl.when(pl.int_range(pl.len()) % 40 == 0).then(pl.lit("unclear")).otherwise("value")
    )
    assert ppi_share(machine, few, value="female")["bound_low"].null_count() == 1
    sides = {"group": ["women"] * 120 + ["base"] * 120, "object": "car"}
    row = ppi_difference(said(true * 3, **sides), any_of_them, value="female")
    assert row["undefined"].to_list() == ["no usable label of the reference"]
    both = pl.concat([any_of_them, said(true * 3).slice(120, 80)])
    row = ppi_difference(said(true * 3, **sides), both, value="female").row(0, named=True)
    assert row["bound_high"] - row["bound_low"] == pytest.approx(0.1)
    assert row["bound_low"] < row["value"] < row["bound_high"]
