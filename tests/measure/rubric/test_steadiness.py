"""Flip rates and controls: by hand, and where there is nothing to compare."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from stereotrope import measure
from stereotrope.errors import AuditFileError
from stereotrope.measure.estimates import estimate_frame


def answers(said: dict[tuple[str, str], str], annotator: str = "judge", query: str = "") -> pl.DataFrame:
    """(set, item) → a letter a repetition: y, n, or r for a refusal."""
    words = {"y": "yes", "n": "no", "r": "refused"}
    rows = [
        (f"{one}-{k}", one, query or one, item, words[letter], annotator)
        for (one, item), letters in said.items()
        for k, letter in enumerate(letters)
    ]
    schema = ["image_id", "images", "prompt_id", "attribute", "value", "annotator"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_it_is_the_share_of_pairs_of_answers_that_differ() -> None:
    said = {("a", "x"): "yyn", ("b", "x"): "nnn", ("a", "z"): "ynn", ("b", "z"): "yny"}
    found = measure.item_flip_rate(answers(said))
    shares = {
        key: np.mean([one != other for one, other in combinations(letters, 2)])
        for key, letters in said.items()
    }
    expected = {"all": np.mean(list(shares.values())), "x": 1 / 3, "z": 2 / 3}
    assert dict(found.select("attribute", "value").iter_rows()) == pytest.approx(expected)
    assert found["n"].to_list() == [2, 2, 2]


def test_a_mean_over_items_is_known_better_than_one_item_where_queries_differ() -> None:
    """Two to five of twenty items of six queries flip: no item tells, together they do."""
    items = [f"q{i}" for i in range(20)]
    flips = dict(zip("abcdef", (2, 3, 3, 4, 4, 5), strict=True))
    said = {
        (query, item): "yn" if (at + 7 * ord(query)) % 20 < n else "yy"
        for query, n in flips.items()
        for at, item in enumerate(items)
    }
    rows = measure.item_flip_rate(answers(said))
    whole, single = rows.filter(attribute="all"), rows.filter(pl.col("attribute") != "all")
    shares = np.array(list(flips.values())) / 20
    assert whole["value"].item() == pytest.approx(shares.mean())
    away = stats.t.ppf(0.975, 5) * shares.std(ddof=1) / np.sqrt(6)
    for end, t in (("low", shares.mean() - away), ("high", shares.mean() + away)):
        assert whole[end].item() == pytest.approx(t, abs=0.02)
    assert single["low"].max() < 0.12
    assert single["method"].unique().to_list() == ["Wilson over 6 queries"]
    steady = measure.item_flip_rate(answers(dict.fromkeys(said, "yy"))).filter(attribute="all")
    assert steady.select("value", "low").row(0) == (0.0, 0.0)
    assert 0.3 < steady["high"].item() < 0.5


def test_sets_judged_once_have_no_flip_rate_and_lost_answers_are_counted() -> None:
    found = measure.item_flip_rate(answers({("a", "x"): "y", ("b", "x"): "n"}))
    assert found["undefined"].to_list() == ["no set with two usable answers"] * 2
    lost = measure.item_flip_rate(answers({("a", "x"): "yrn", ("b", "x"): "yr"}))
    assert lost["value"].to_list() == [1.0, 1.0]
    assert lost["n"].to_list() == [1, 1]
    assert lost["excluded"].to_list() == ['{"refused": 2}'] * 2


@pytest.mark.parametrize(
    ("name", "definition", "value", "low", "high", "words"),
    [
        ("item_flip_rate", "paper", 0.18, 0.09, 0.38, None),
        ("item_flip_rate", "paper", 0.30, 0.11, 0.50, "be it by the order or by chance"),
        ("control_share", "blind", 0.10, 0.04, 0.20, None),
        ("control_share", "blind", 0.10, 0.06, 0.20, "that is nothing it sees"),
        ("control_difference", "painted", -0.2, -0.4, -0.04, None),
        ("control_difference", "painted", -0.2, -0.4, -0.06, "with an instruction"),
        ("control_difference", "painted", -1.0, None, None, "with an instruction"),
        ("control_difference", "neutral", 0.2, 0.04, 0.4, None),
        ("control_difference", "neutral", 0.2, 0.11, 0.4, "goes with the query's words"),
        ("set_agreement", "accuracy", 0.75, 0.6, 0.81, None),
        ("set_agreement", "accuracy", 0.75, 0.6, 0.79, "its index carries that error"),
    ],
)
def test_a_judge_is_named_where_the_whole_interval_lies_beyond_the_threshold(
    name, definition, value, low, high, words
) -> None:
    row = {"measure": name, "definition": definition, "attribute": "all", "annotator": "judge", "n": 12}
    row |= {"value": value, "low": low, "high": high, "reference": "control", "generator": "m"}
    estimates = estimate_frame([row], factors=("annotator", "generator"))
    told = measure.findings(estimates, answers({("a", "x"): "y"})).filter(list="instrument")["sentence"]
    assert len(told) == (words is not None)
    assert all(words.lower() in one.lower() for one in told)


def test_a_control_is_compared_set_by_set() -> None:
    rng = np.random.default_rng(1)
    names, items = [f"s{k}" for k in range(8)], ("x", "z")
    mine = {(one, item): "yn"[int(rng.uniform() < 0.4)] for one in names for item in items}
    theirs = {key: "yn"[int(rng.uniform() < 0.7)] for key in mine}
    both = pl.concat([answers(mine), answers(theirs, "judge (neutral)")])
    found = measure.control_difference(
        both, {"judge (neutral)": "judge"}, kinds={"judge (neutral)": "neutral"}
    )
    queries = np.array(
        [np.mean([(mine[s, i] == "y") - (theirs[s, i] == "y") for i in items]) for s in names], float
    )
    row = found.filter(measure="control_difference", attribute="all").row(0, named=True)
    assert row["value"] == pytest.approx(queries.mean())
    mid = queries.mean()
    reach = stats.t.ppf(0.975, 7) * stats.sem(queries) * (1 / (mid + 1) + 1 / (1 - mid))
    ends = 2 / (1 + np.exp(-(np.log((mid + 1) / (1 - mid)) + np.array([-reach, reach])))) - 1
    assert (row["low"], row["high"]) == pytest.approx(tuple(ends))
    assert (row["annotator"], row["contrast"], row["reference"]) == ("judge", "annotator", "judge (neutral)")
    assert set(found["definition"]) == {"neutral"}
    share = found.filter(measure="control_share", attribute="all")["value"][0]
    assert share == pytest.approx(np.mean([said == "y" for said in theirs.values()]))


def test_sets_that_one_side_did_not_answer_do_not_enter() -> None:
    both = pl.concat(
        [answers({("a", "x"): "y", ("b", "x"): "y"}), answers({("a", "x"): "r", ("b", "x"): "n"}, "c")]
    )
    found = measure.control_difference(both, {"c": "judge"}).filter(measure="control_difference")
    assert found["value"].to_list() == [1.0, 1.0]
    assert found["n"].to_list() == [1, 1]
    gone = measure.control_difference(both.filter(images="a"), {"c": "judge"})
    assert set(gone["undefined"]) == {"no set with a usable answer from both"}


def test_an_audit_without_a_control_is_told_what_to_add() -> None:
    import stereotrope as st

    audit = """\
prompts: [{text: A photo of a CEO, family: occupational}]
generators: ['openai:x']
images_per_prompt: 4
annotators: [{judge: 'openai:y', rubric: occupational}]
measures: [control_difference]
"""
    with pytest.raises(AuditFileError, match="compares judges with their controls, and there is none; add"):
        st.Audit.from_text(audit).plan()
