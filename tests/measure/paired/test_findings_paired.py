"""What a mitigation is paid for with, told where tests support it and nowhere else."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from tests.measure import listed

from stereotrope.measure import comparisons, paired_difference, ssi
from stereotrope.measure.sentences import from_to

QUERIES = [f"q{i}" for i in range(20)]
SCORES = {
    "ssi": (0.4, 0.1),
    "mean_similarity": (0.6, 0.05),
    "query_alignment": (0.3, 0.02),
    "refusal_rate": (0.1, 0.05),
}
"""Mean and spread of every score without mitigation."""


def findings(*frames: pl.DataFrame, **options: object) -> pl.DataFrame:
    """What mitigations are paid for with, but variety alone."""
    alone = pl.col("kind").is_in(["stereotype_change", "variety_change"])
    return listed.findings(*frames, **options).filter(~alone)


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
    assert "over 20 queries; the change of the former is −0.2" in sentence
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


def test_a_planted_loss_of_fidelity_is_told_and_so_is_a_gain() -> None:
    found = told({"ssi": -0.2, "query_alignment": -0.06})
    assert found["kind"].to_list() == ["fidelity_change"]
    sentence = found["sentence"][0]
    assert "the pictures keep less of what was asked for: Alignment with the query −0.0" in sentence
    assert "from 0.3" in sentence
    gained = told({"query_alignment": 0.06})
    assert gained["kind"].to_list() == ["fidelity_change"]
    assert "the pictures keep more of what was asked for: Alignment with the query +0.0" in str(
        gained["sentence"][0]
    )


def test_a_planted_rise_of_refusals_is_told_and_so_is_a_fall() -> None:
    found = told({"refusal_rate": 0.3})
    assert found["kind"].to_list() == ["refusal_change"]
    assert "more of what is asked for is refused: Refusals +0.29" in found["sentence"][0]
    assert "the change is 0.29" in found["sentence"][0]
    fallen = told({"refusal_rate": -0.1})["sentence"][0]
    assert "less of what is asked for is refused: Refusals −0.0" in fallen


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
    assert "refusal_change" not in kinds
    # Of another model, or without a p, they are no test of this one.
    for other in (by_pictures.with_columns(generator=pl.lit("n")), by_pictures.with_columns(p_value=None)):
        kinds = findings(pl.concat([table, other], how="diagonal_relaxed"), labels())["kind"].to_list()
        assert "refusal_change" in kinds


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
    assert found["kind"].to_list() == ["fidelity_change"]
    assert "keep less of what was asked for: Broken constraints +0.25" in found["sentence"][0]
    assert "+0.25 [0.10–0.40], from 10 of 80 to 30 of 80 pictures; the change is" in found["sentence"][0]
    better = table.with_columns(
        value=pl.when(pl.col("measure") == row["measure"]).then(-0.25).otherwise("value")
    )
    assert (
        "keep more of what was asked for: Broken constraints −0.25"
        in findings(better, labels())["sentence"][0]
    )


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


def test_variety_that_falls_alone_is_told_and_nothing_of_it_is_called_alike() -> None:
    table = estimates({"mean_similarity": 0.3})
    (told_of,) = listed.findings(table, labels()).to_dicts()
    assert told_of["kind"] == "variety_change"
    assert "the pictures of each query repeat each other more: Mean similarity +0." in told_of["sentence"]
    ends = dict(comparisons(table, labels()).select("scores", "verdict").iter_rows())
    assert ends["mean_similarity"] == "differs"
    assert ends["ssi, mean_similarity"] == "not enough"
    less = listed.findings(estimates({"mean_similarity": -0.3}), labels())["sentence"][0]
    assert "the pictures of each query repeat each other less: Mean similarity −0." in less


def scored(score: str, before: list[float], after: list[float], **named: str) -> pl.DataFrame:
    """The paired comparison of one score of one model."""
    rows = [
        (score, "paper", None, "m", q, level, value, *named.values())
        for level, values in (("none", before), ("refine", after))
        for q, value in zip(QUERIES, values, strict=True)
    ]
    names = ["measure", "definition", "attribute", "generator", "query", "mitigation", "value", *named]
    return paired_difference(
        pl.DataFrame(rows, schema=names, orient="row").with_columns(n=pl.lit(4, pl.Int64))
    )


def about(mean: float, spread: float, seed: int) -> list[float]:
    return np.random.default_rng(seed).normal(mean, spread, len(QUERIES)).tolist()


def test_only_differences_of_shares_can_be_alike() -> None:
    """BDS that all but vanishes changes by less than 0.2 bits, and is not alike for that."""
    frames = [
        scored(score, about(0.075, 0.05, seed), about(0.06, 0.05, 9 + seed))
        for seed, score in enumerate(("bds", "cds", "vac", "mean_similarity", "query_alignment", "ssi"))
    ]
    compared = comparisons(pl.concat(frames, how="diagonal"), labels())
    ends = {row["scores"]: (row["verdict"], row["margin"]) for row in compared.to_dicts()}
    assert ends["ssi"] == ("alike", 0.2)
    assert {ends[name] for name in ends.keys() - {"ssi"}} == {("not enough", None)}
    of = compared.filter(kind="stereotype_change")
    assert set(of["scores"]) == {"bds", "cds", "ssi"}
    assert set(of["measure"]) == {"paired_difference"}


def test_a_score_beyond_one_keeps_its_size() -> None:
    found = listed.findings(scored("image_vendi", about(3, 0.1, 1), about(6, 0.1, 2)), labels()).row(
        0, named=True
    )
    assert 2.8 < found["low"] < found["value"] < found["high"] < 3.2


def test_a_change_that_starts_from_the_floor_is_told_where_no_test_by_pictures_is() -> None:
    """A change of CDS that is undefined, or another model's, hides nothing."""
    paired = scored("cds", about(0.0, 0.01, 1), about(0.2, 0.02, 2))
    other = {
        "measure": "cds_change",
        "definition": "excess",
        "generator": "m",
        "mitigation": "refine",
        "contrast": "mitigation",
        "reference": "none",
        "attribute": "all",
        "value": -0.3,
        "low": -0.4,
        "high": -0.2,
        "level": 0.95,
        "p_value": 0.001,
        "n": 20,
    }
    undefined = other | dict.fromkeys(("value", "low", "high", "p_value"))
    for row in (undefined, other | {"generator": "n"}, other | {"mitigation": "ethical"}):
        table = pl.concat([paired, pl.DataFrame([row])], how="diagonal_relaxed")
        found = [one["sentence"] for one in changed(table, labels()) if '"m"' in str(one["scope"])]
        assert any("stereotypes rise: Cross-group divergence (CDS) +0.2" in text for text in found), row
    table = pl.concat([paired, pl.DataFrame([other])], how="diagonal_relaxed")
    (told_of,) = changed(table, labels())
    assert "the groups differ less" in str(told_of["sentence"])


@pytest.mark.parametrize("b", [-0.02, 0.05, 0.3])
def test_another_reader_is_told_by_its_number_and_never_by_the_sentence_of_the_first(b: float) -> None:
    frames = [scored("mean_similarity", about(0.5, 0.03, 1), about(0.7, 0.03, 2))]
    for seed, (name, by) in enumerate((("judge-a", -0.2), ("judge-b", b)), start=3):
        before = about(0.4, 0.04, seed)
        after = [x + by + e for x, e in zip(before, about(0, 0.02, 9 + seed), strict=True)]
        frames.append(scored("ssi", before, after, annotator=name))
    found = listed.findings(pl.concat(frames, how="diagonal"), labels())
    said = dict(found.select("kind", "sentence").iter_rows())
    # The pictures are as varied whoever judges, so that stereotypes fall with them by the first alone.
    assert said["homogenisation"].count("stereotypes fall") == 1
    assert "Index by “judge-a” −0." in said["homogenisation"]
    aside = f"; by “judge-b”, which differs, {'+' if b > 0 else '−'}0."
    assert aside in said["homogenisation"]
    rises = b > 0.2
    assert ("stereotypes rise" in said["stereotype_change"]) == rises
    assert ("; by “judge-a”, which differs, −0.2" if rises else aside) in said["stereotype_change"]


def test_of_two_encoders_the_one_by_which_variety_falls_makes_homogenisation() -> None:
    for names in (("a", "b"), ("b", "a")):
        frames = [scored("ssi", about(0.4, 0.04, 1), about(0.2, 0.04, 2))]
        for name, after in zip(names, (0.7, 0.2), strict=True):
            frames.append(
                scored("mean_similarity", about(0.5, 0.03, 3), about(after, 0.03, 4), annotator=name)
            )
        found = listed.findings(pl.concat(frames, how="diagonal"), labels())
        said = dict(found.select("kind", "sentence").iter_rows())
        assert f"Mean similarity by “{names[0]}” +0." in said["homogenisation"]
        assert said["homogenisation"].count("Mean similarity") == 1


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (0.114, 0.107, ", from 0.114 to 0.107"),
        (0.4, 0.2, ", from 0.40 to 0.20"),
        (0.1163, 0.1144, ", from 0.116 to 0.114"),
        (-0.02, 0.01, ", from −0.02 to 0.01"),
        (0.1, 0.1, ""),
    ],
)
def test_from_what_to_what_a_score_goes_shows_that_it_changed(before: float, after: float, said: str) -> None:
    assert from_to(before, after, after - before) == said


@pytest.mark.slow
@pytest.mark.parametrize("block", [0, 1])
def test_runs_in_which_nothing_changes_tell_nothing(block: int) -> None:
    # 5 tested places at a false discovery rate of 5%: of 30 runs at most 4 tell any with p > 0.98.
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
