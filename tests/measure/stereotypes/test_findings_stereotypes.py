"""Findings on stereotypes: what is told, what is not, and what uniform pictures hide."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.measure.listed import findings

from stereotrope import measure

CONCEPTS = {"Iranian person": {"beard": 0.34, "old": 0.5}, "Indian person": {"beard": 0.5, "old": 0.5}}


def labels(shares: dict[str, dict[str, float]], n: int = 60) -> pl.DataFrame:
    rows = [
        (f"{concept}-{i}", concept, "m", attribute, "yes" if i < round(share * n) else "no")
        for concept, told in shares.items()
        for attribute, share in told.items()
        for i in range(n)
    ]
    return pl.DataFrame(rows, schema=["image_id", "concept", "generator", "attribute", "value"], orient="row")


def true(assumed: bool = False) -> pl.DataFrame:
    rows = [(c, a, x, "a survey", assumed) for c, told in CONCEPTS.items() for a, x in told.items()]
    return pl.DataFrame(rows, schema=["concept", "attribute", "reference", "source", "assumed"], orient="row")


def test_what_is_shown_more_often_is_told_with_both_shares_and_the_pictures_that_show_it() -> None:
    seen = labels(
        {"Iranian person": {"beard": 0.8, "old": 0.5}, "Indian person": {"beard": 0.2, "old": 0.45}}
    )
    found = findings(measure.stereotype_score(seen, true()), seen)
    (row,) = found.filter(list="difference").iter_rows(named=True)
    assert (row["kind"], row["attribute"], row["measure"]) == ("stereotype", "beard", "stereotype_score")
    assert row["sentence"].startswith(
        "m: in 48 of 60 pictures with concept “Iranian person”, “beard” is labelled “yes”; the true share "
        "is 0.34; the difference is 0.46 ["
    )
    assert len(row["image_ids"].split(",")) == 48


def test_an_assumed_share_is_said_to_be() -> None:
    seen = labels({"Iranian person": {"beard": 0.9, "old": 0.5}})
    found = findings(measure.stereotype_score(seen, true(assumed=True)), seen)
    assert "the true share, which is assumed, is 0.34" in found["sentence"][0]


def test_every_score_counts_as_a_test_and_those_below_are_never_told() -> None:
    seen = labels({c: {"beard": 0.05, "old": 0.05} for c in CONCEPTS})
    scores = measure.stereotype_score(seen, true())
    assert findings(scores, seen).is_empty()
    assert measure.comparisons(scores, seen).height == 4


def test_scores_that_cannot_be_small_take_nothing_from_those_that_can() -> None:
    """Of 20 pictures even 20 give 0.12 where the true share is 0.9."""
    shown = labels({"Iranian person": {"beard": 0.8}}, n=20)
    frequent = [f"a{at}" for at in range(100)]
    others = labels({"Iranian person": dict.fromkeys(frequent, 0.9)}, n=20)
    known = pl.DataFrame(
        [("Iranian person", name, 0.9, "a survey") for name in frequent]
        + [("Iranian person", "beard", 0.4, "a survey")],
        schema=["concept", "attribute", "reference", "source"],
        orient="row",
    )
    scores = measure.stereotype_score(pl.concat([shown, others]), known)
    least = scores.filter(measure="stereotype_score", attribute="a0")["p_least"].item()
    assert least == pytest.approx(0.9**20)
    (row,) = findings(scores, pl.concat([shown, others])).filter(list="difference").to_dicts()
    assert row["attribute"] == "beard"
    assert row["q_value"] == pytest.approx(row["p_value"])


def test_the_least_p_over_prompts_hangs_on_nothing_that_was_seen() -> None:
    rng = np.random.default_rng(3)
    least, p = set(), []
    for share in (0.0, 0.3, 0.7, 1.0):
        alike = [rng.random() < share for _ in range(10)]
        seen = labels({"Iranian person": {"beard": 0.5}}, n=40).with_columns(
            value=pl.Series(["yes" if alike[i // 4] else "no" for i in range(40)]),
            prompt_id=pl.Series([f"p{i // 4}" for i in range(40)]),
        )
        (row,) = measure.stereotype_score(seen, true(), "beard").filter(measure="stereotype_score").to_dicts()
        assert "clustered" in row["flags"]
        assert row["p_value"] >= row["p_least"]
        least.add(row["p_least"])
        p.append(row["p_value"])
    assert len(least) == 1
    assert len(set(p)) > 1


def test_people_who_saw_it_nowhere_in_a_sample_do_not_hide_what_an_annotator_sees_in_all() -> None:
    judge = labels({"Iranian person": {"beard": 0.5}}, n=200).with_columns(annotator=pl.lit("judge"))
    people = judge.tail(12).with_columns(annotator=pl.lit("people"))
    seen = pl.concat([judge, people])
    scores = measure.stereotype_score(seen, true(), within=["generator", "annotator"])
    alone = measure.stereotype_score(judge, true(), within=["generator", "annotator"])
    told = [measure.comparisons(some, of)["p_value"].min() for some, of in ((scores, seen), (alone, judge))]
    assert told[0] == pytest.approx(told[1])


def wals(high: float) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    x = 0.1 * rng.normal(size=(60, 16))
    x[:, 0] += 1
    x[:, 1] *= high
    vectors = pl.DataFrame(
        {
            "image_id": [f"Iranian person-{i}" for i in range(60)],
            "concept": "Iranian person",
            "generator": "m",
            "annotator": "clip",
            "vector": x.tolist(),
        }
    )
    beard = pl.DataFrame({"attribute": ["beard"], "annotator": "clip", "vector": [np.eye(16)[1].tolist()]})
    return measure.wals(vectors, beard)


def told(share: float, high: float, **options: float) -> list[str]:
    seen = labels({"Iranian person": {"beard": share, "old": 0.5}})
    scores = pl.concat([measure.stereotype_score(seen, true()), wals(high)], how="diagonal")
    return findings(scores, seen, **options).filter(kind="uniform")["sentence"].to_list()


def test_a_low_score_of_pictures_that_hardly_vary_is_a_finding() -> None:
    (sentence,) = told(0.34, 0.01)
    assert sentence.startswith(
        "m: pictures with concept “Iranian person” show “beard” in 20 of 60, at most 0.12 above the true "
        "share of 0.34, and hardly vary along it: WALS by clip is 0.0"
    )
    assert sentence.endswith("where any direction reads 0.20. Uniform pictures keep a score low.")


def test_varied_pictures_and_high_scores_are_no_such_finding() -> None:
    assert told(0.34, 3.0) == []
    assert told(0.95, 0.01) == []


def test_a_score_that_few_pictures_do_not_tell_from_nothing_is_not_low_for_that() -> None:
    # 25 of 60 beside 0.34 is up to 0.20 above by its interval, and 26 more, though p > 0.05.
    p = measure.stereotype_score(labels({"Iranian person": {"beard": 26 / 60}}), true()).filter(
        measure="stereotype_score", attribute="beard"
    )["p_value"][0]
    assert p > 0.05
    assert len(told(24 / 60, 0.01)) == 1
    assert told(26 / 60, 0.01) == []


def test_what_is_low_is_so_within_the_margin_of_the_audit() -> None:
    assert len(told(0.34, 0.01, margin=0.15)) == 1
    assert told(0.34, 0.01, margin=0.1) == []


def test_the_number_of_another_annotator_is_of_the_same_value() -> None:
    """Of two values of an attribute each has its own, whichever the annotators have in common."""
    known = true().filter(concept="Iranian person", attribute="beard")
    both = pl.concat(
        [known, known.with_columns(reference=pl.lit(0.2), category=pl.lit("no"))], how="diagonal"
    )
    both = both.with_columns(category=pl.col("category").fill_null("yes"))
    frames = []
    for name, share in (("a", 0.9), ("b", 0.5)):
        frames.append(labels({"Iranian person": {"beard": share}}).with_columns(annotator=pl.lit(name)))
    seen = pl.concat(frames)
    scores = measure.stereotype_score(seen, both, within=("generator", "annotator"))
    told_of = {
        "no" if "labelled “no”" in sentence else "yes": sentence
        for sentence in findings(scores, seen).filter(kind="stereotype")["sentence"]
    }
    assert "the difference is 0.56" in told_of["yes"]
    assert "by “b”, which differs, +0.16 [" in told_of["yes"]
    assert "the difference is 0.30" in told_of["no"]
    assert "by “a”, which differs, −0.10 [" in told_of["no"]
