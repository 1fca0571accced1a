"""What a mitigation is paid for with, told where tests support it and nowhere else."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from tests.measure import listed

from stereotrope.measure import comparisons, paired_difference, ssi

QUERIES = [f"q{i}" for i in range(20)]
SCORES = {
    "ssi": (0.4, 0.1),
    "mean_similarity": (0.6, 0.05),
    "query_alignment": (0.3, 0.02),
    "refusal_rate": (0.1, 0.05),
}
"""Mean and spread of every score without mitigation."""


def findings(*frames: pl.DataFrame, **options: object) -> pl.DataFrame:
    """What mitigations are paid for with."""
    return listed.findings(*frames, **options).filter(pl.col("kind") != "stereotype_change")


def changed(*frames: pl.DataFrame, **options: object) -> list[dict[str, object]]:
    """What mitigations change of stereotypes."""
    return listed.findings(*frames, **options).filter(kind="stereotype_change").to_dicts()


def labels() -> pl.DataFrame:
    rows = [
        (f"{m}{q}{level}{i}", "look", "plain", m, q, level)
        for m in ("m", "n")
        for q in QUERIES
        for level in ("none", "refine")
        for i in range(4)
    ]
    names = ["image_id", "attribute", "value", "generator", "query", "mitigation"]
    return pl.DataFrame(rows, schema=names, orient="row")


def estimates(
    planted: dict[str, float], seed: int = 1, models: tuple[str, ...] = ("m",), redrawn: float | None = None
) -> pl.DataFrame:
    """Paired comparisons of scores that change by what is planted, with as much noise as they vary.

    redrawn: Change of the index of what was drawn again with nothing changed, where there is such a level.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for model in models:
        for score, (mean, spread) in SCORES.items():
            before = mean + rng.normal(0, spread, len(QUERIES))
            moved = planted.get(score, 0.0) if model == "m" else 0.0
            after = before + moved + rng.normal(0, spread, len(QUERIES))
            levels = [("none", before), ("refine", after)]
            if redrawn is not None:
                by_itself = redrawn if score == "ssi" else 0.0
                levels.append(("redraw", before + by_itself + rng.normal(0, spread, len(QUERIES))))
            for level, values in levels:
                rows += [
                    (score, "paper", None, model, q, level, float(np.clip(x, 0, 1)))
                    for q, x in zip(QUERIES, values, strict=True)
                ]
    names = ["measure", "definition", "attribute", "generator", "query", "mitigation", "value"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    parts = table.with_columns(n=pl.lit(4, pl.Int64)).partition_by("measure", maintain_order=True)
    return pl.concat([paired_difference(part) for part in parts], how="diagonal")


def told(planted: dict[str, float], seed: int = 1) -> pl.DataFrame:
    return findings(estimates(planted, seed), labels())


def test_a_planted_loss_of_variety_beside_falling_stereotypes_is_homogenisation() -> None:
    found = told({"ssi": -0.2, "mean_similarity": 0.15})
    assert found["kind"].to_list() == ["homogenisation"]
    sentence = found["sentence"][0]
    assert sentence.startswith(
        "With mitigation “refine” stereotypes fall and the pictures of each query repeat"
    )
    assert "Mean similarity +0.1" in sentence
    assert "over 20 queries; the fall of the former is 0.2" in sentence
    assert json.loads(found["scope"][0]) == {"generator": "m", "mitigation": "refine"}
    shown = labels().filter(pl.col("image_id").is_in(json.loads(found["image_ids"][0])))
    assert shown.select("generator", "mitigation").unique().rows() == [("m", "refine")]


def test_genuine_diversification_is_not_called_homogenisation() -> None:
    assert told({"ssi": -0.2, "mean_similarity": -0.15}).is_empty()
    assert told({"ssi": -0.2}).is_empty()


def test_stereotypes_that_fall_as_far_when_nothing_is_changed_are_no_homogenisation() -> None:
    planted = {"ssi": -0.2, "mean_similarity": 0.15}
    kinds = [
        findings(estimates(planted, redrawn=by), labels())["kind"].to_list() for by in (0.0, -0.2, -0.25)
    ]
    assert kinds == [["homogenisation"], [], []]


def test_less_variety_with_more_stereotypes_is_none_either() -> None:
    assert told({"ssi": 0.2, "mean_similarity": 0.15}).is_empty()


def test_a_planted_loss_of_fidelity_is_a_specificity_loss_and_a_gain_is_none() -> None:
    found = told({"ssi": -0.2, "query_alignment": -0.06})
    assert found["kind"].to_list() == ["specificity_loss"]
    sentence = found["sentence"][0]
    assert "the pictures keep less of what was asked for: Alignment with the query −0.0" in sentence
    assert "from 0.3" in sentence
    assert told({"query_alignment": 0.06}).is_empty()


def test_a_planted_rise_of_refusals_is_told_and_a_fall_is_none() -> None:
    found = told({"refusal_rate": 0.3})
    assert found["kind"].to_list() == ["refusal_increase"]
    assert "more of what is asked for is refused: Refusals +0.29" in found["sentence"][0]
    assert "the rise is 0.29" in found["sentence"][0]
    assert told({"refusal_rate": -0.1}).is_empty()


def test_only_the_model_that_pays_is_named() -> None:
    found = findings(estimates({"query_alignment": -0.06}, models=("m", "n")), labels())
    assert [sentence[:2] for sentence in found["sentence"]] == ["m:"]


def test_comparisons_say_what_a_mitigation_is_compared_with() -> None:
    compared = comparisons(estimates({"query_alignment": -0.06}), labels())
    assert compared.height
    assert set(compared["contrast"]) == {"mitigation"}
    assert set(compared["reference"]) == {"none"}


def test_refusals_that_are_tested_by_pictures_are_not_told_twice() -> None:
    table = estimates({"refusal_rate": 0.3})
    by_pictures = table.filter(
        measure="paired_difference", definition="refusal_rate", generator="m"
    ).with_columns(measure=pl.lit("refusal_rate_difference"), definition=pl.lit("share"))
    kinds = findings(pl.concat([table, by_pictures]), labels())["kind"].to_list()
    assert "refusal_increase" not in kinds


def test_violations_are_told_by_pictures_where_these_are_tested() -> None:
    row = {
        "measure": "violation_rate_difference",
        "definition": "violation",
        "generator": "m",
        "mitigation": "refine",
        "contrast": "mitigation",
        "reference": "none",
        "attribute": "all",
        "value": 0.25,
        "low": 0.1,
        "high": 0.4,
        "level": 0.95,
        "p_value": 1e-6,
        "n": 80,
        "n_reference": 80,
        "numerator": 30,
        "numerator_reference": 10,
    }
    table = pl.concat([estimates({}), pl.DataFrame([row])], how="diagonal")
    found = findings(table, labels())
    assert found["kind"].to_list() == ["specificity_loss"]
    assert "+0.25 [0.10–0.40], from 10 of 80 to 30 of 80 pictures; the loss is" in found["sentence"][0]
    better = table.with_columns(
        value=pl.when(pl.col("measure") == row["measure"]).then(-0.25).otherwise("value")
    )
    assert findings(better, labels()).is_empty()


@pytest.mark.parametrize(("by", "way"), [(-0.2, "fall"), (0.2, "rise")])
def test_stereotypes_that_fall_or_rise_are_told_and_nothing_where_they_do_neither(
    by: float, way: str
) -> None:
    (told_of,) = changed(estimates({"ssi": by}), labels())
    assert str(told_of["sentence"]).startswith(
        f"With mitigation “refine” stereotypes {way}: Social Stereotype"
    )
    assert "over 20 queries; the change is" in str(told_of["sentence"])
    assert (told_of["list"], told_of["low"] < by < told_of["high"]) == ("difference", True)
    assert json.loads(str(told_of["scope"])) == {"generator": "m", "mitigation": "refine"}
    assert changed(estimates({}), labels()) == []


def test_what_falls_as_far_when_nothing_is_changed_is_told_beside_its_control_alone() -> None:
    (told_of,) = changed(estimates({"ssi": -0.2}, redrawn=0.0), labels())
    assert "stereotypes fall beside “redraw”: Social Stereotype Index −0." in str(told_of["sentence"])
    compared = comparisons(estimates({"ssi": -0.2}, redrawn=-0.2), labels())
    of_index = compared.filter(pl.col("kind") == "stereotype_change")
    assert of_index.select("reference", "verdict").rows() == [("redraw", "alike")]
    assert changed(estimates({"ssi": -0.2}, redrawn=-0.2), labels()) == []


def test_a_level_that_keeps_pictures_is_no_test_without_its_control() -> None:
    pictures = labels()
    params = [
        json.dumps(
            {"kept_from": image.replace("refine", "none")} if "refine" in image and "q1" in image else {}
        )
        for image in pictures["image_id"]
    ]
    images = pictures.select("image_id", params=pl.Series(params))
    assert changed(estimates({"ssi": -0.2}), pictures, images=images) == []
    assert changed(estimates({"ssi": -0.2}, redrawn=0.0), pictures, images=images) != []


@pytest.mark.slow
@pytest.mark.parametrize("block", [0, 1])
def test_runs_in_which_nothing_changes_tell_nothing(block: int) -> None:
    # 4 tested places at a false discovery rate of 5%: of 30 runs at most 4 tell any with p > 0.98.
    made = (estimates({}, seed=100 + 30 * block + i) for i in range(30))
    told_in = [listed.findings(one, labels()).height > 0 for one in made]
    assert sum(told_in) <= 4


def judged_at_random(seed: int, spread: float) -> pl.DataFrame:
    """Answers to ten items of three levels of twenty queries; ``spread`` is that of the queries' log odds."""
    rng, rows = np.random.default_rng(seed), []
    for query in QUERIES:
        share = 1 / (1 + np.exp(0.5 - rng.normal(0, spread)))
        for level in ("none", "ethical", "refine"):
            for item in range(10):
                for look in range(2):
                    images, said = f"{query}{level}", "yes" if rng.uniform() < share else "no"
                    rows.append((f"{images}-{look}", images, f"Q{item}", said, "m", query, level))
    names = ["image_id", "images", "attribute", "value", "generator", "query", "mitigation"]
    return pl.DataFrame(rows, schema=names, orient="row")


def told_of_chance(seed: int, spread: float) -> bool:
    """Whether a run whose judge answers at random, whatever the mitigation, tells anything of one."""
    answers, rng = judged_at_random(seed, spread), np.random.default_rng(seed)
    index = ssi(answers, by=["generator", "query", "mitigation"], query="query").filter(measure="ssi")
    scores = [index]
    for name, (mean, sd) in list(SCORES.items())[1:]:
        values = pl.Series(rng.normal(mean, sd, index.height))
        scores.append(index.with_columns(measure=pl.lit(name), value=values))
    compared = pl.concat([paired_difference(one) for one in scores], how="diagonal")
    return listed.findings(compared, answers.unique("images", maintain_order=True)).height > 0


@pytest.mark.parametrize("spread", [pytest.param(0.0, marks=pytest.mark.slow), 1.0])
def test_a_judge_that_answers_at_random_tells_nothing_of_mitigations(spread: float) -> None:
    assert sum(told_of_chance(seed, spread) for seed in range(3)) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("spread", [pytest.param(0.0, marks=pytest.mark.slow), 1.0])
def test_a_judge_that_answers_at_random_holds_the_level(spread: float) -> None:
    # Of 100 runs at 5% more than 11 tell something in 4 of 1,000.
    assert sum(told_of_chance(seed, spread) for seed in range(1_000, 1_100)) <= 11
