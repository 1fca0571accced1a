"""Agreement of two annotators on divergences."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import DefinitionError, TableError, UsageError
from stereotrope.measure import judge_correlation
from stereotrope.stats import expected_js, js_divergence

GROUPS = tuple("abcdefghi")
COMBINATIONS = (("m1", "car"), ("m2", "cup"))


@pytest.fixture
def scores() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    rows = []
    for (generator, thing), group in itertools.product(COMBINATIONS, GROUPS):
        truth = rng.uniform(0.1, 0.6)
        for judge in ("gemini", "gpt", "qwen"):
            rows.append((generator, thing, group, judge, truth + rng.normal(0, 0.06)))
    names = ["generator", "object", "group", "annotator", "value"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    return table.with_columns(measure=pl.lit("bds"), definition=pl.lit("paper"), attribute=pl.lit("all"))


def halved(table: pl.DataFrame) -> pl.DataFrame:
    """The scores as those of either half: r over halves is then that of the scores."""
    return pl.concat([table.with_columns(half=pl.lit(half)) for half in ("one", "other")])


def only(found: pl.DataFrame, **levels: str | None) -> dict:
    chosen = found.filter(pl.col(c).eq_missing(pl.lit(v)) for c, v in levels.items())
    assert chosen.height == 1
    return chosen.row(0, named=True)


def test_a_case_worked_by_hand() -> None:
    table = pl.DataFrame(
        {
            "measure": "bds",
            "definition": "paper",
            "attribute": "all",
            "annotator": ["a"] * 4 + ["b"] * 4,
            "group": list("wxyz") * 2,
            "value": [1.0, 2.0, 3.0, 4.0, 2.0, 1.0, 4.0, 5.0],
        }
    )
    # Deviations (−1.5, −0.5, 0.5, 1.5) and (−1, −2, 1, 2): 6 / √(5 · 10).
    same = only(judge_correlation(table, within=(), score="value"), annotator="a", reference="b")
    assert (same["value"], same["p_value"], same["low"]) == (pytest.approx(6 / np.sqrt(50)), None, None)
    assert same["flags"] == "same_pictures"
    row = only(judge_correlation(halved(table), within=(), half="half", score="value"), annotator="a")
    assert row["value"] == pytest.approx(6 / np.sqrt(50))
    centre = np.arctanh(6 / np.sqrt(50))
    assert row["low"] == pytest.approx(np.tanh(centre - 1.959964), abs=1e-6)
    assert (row["n"], row["contrast"], row["attribute"]) == (4, "annotator", "all")


def test_it_agrees_with_scipy_for_each_combination_and_is_their_mean_over_all(scores: pl.DataFrame) -> None:
    found = judge_correlation(halved(scores), half="half", score="value")
    assert found.height == 3 * 3
    for one, other in itertools.combinations(("gemini", "gpt", "qwen"), 2):
        each = []
        for generator, thing in COMBINATIONS:
            mine = scores.filter(generator=generator, object=thing)
            x, y = (mine.filter(annotator=judge)["value"].to_numpy() for judge in (one, other))
            expected = scipy_stats.pearsonr(x, y)
            row = only(found, annotator=one, reference=other, generator=generator, object=thing)
            assert row["value"] == pytest.approx(expected.statistic)
            assert row["p_value"] == pytest.approx(expected.pvalue)
            interval = expected.confidence_interval(0.95)
            assert (row["low"], row["high"]) == (pytest.approx(interval.low), pytest.approx(interval.high))
            assert row["n"] == len(x)
            each.append(expected.statistic)
        row = only(found, annotator=one, reference=other, generator=None, object=None)
        assert (row["value"], row["n"]) == (pytest.approx(np.mean(each)), 18)
        # Two means are taken off: 16 are free, as of 17 points of one combination.
        t = row["value"] * np.sqrt(15 / (1 - row["value"] ** 2))
        assert row["p_value"] == pytest.approx(2 * scipy_stats.t.sf(t, 15))
    expected_q = scipy_stats.false_discovery_control(found["p_value"].to_numpy())
    assert found["q_value"].to_list() == pytest.approx(expected_q.tolist())


def test_the_one_is_read_from_one_half_and_the_other_from_the_other(scores: pl.DataFrame) -> None:
    table, rng = halved(scores), np.random.default_rng(4)
    table = table.with_columns(value=pl.col("value") + rng.normal(0, 0.1, table.height))
    row = only(judge_correlation(table, half="half", score="value"), annotator="gpt", generator="m1")
    mine = table.filter(generator="m1").sort("group")

    def of(judge: str, half: str) -> np.ndarray:
        return mine.filter(annotator=judge, half=half)["value"].to_numpy()

    ways = [("one", "other"), ("other", "one")]
    each = [scipy_stats.pearsonr(of("gpt", a), of("qwen", b)).statistic for a, b in ways]
    assert row["value"] == pytest.approx(np.mean(each))


def test_what_differs_between_combinations_is_no_agreement(scores: pl.DataFrame) -> None:
    far = scores.with_columns(value=pl.col("value") + 5 * (pl.col("generator") == "m1"))
    for table in (scores, far):
        row = only(judge_correlation(table, score="value"), annotator="gpt", reference="qwen", generator=None)
        assert row["value"] == pytest.approx(
            only(judge_correlation(scores, score="value"), annotator="gpt", reference="qwen", generator=None)[
                "value"
            ]
        )


def null_scores(rng: np.random.Generator) -> pl.DataFrame:
    """Two annotators that read without a mistake, in pictures that nothing was done to, by halves."""
    rows = []
    for thing in range(8):
        k = int(rng.integers(2, 25))
        shares = rng.dirichlet(np.ones(k))
        drawn = rng.multinomial(10, shares, (2, 10))
        for half, counts in zip(("one", "other"), drawn, strict=True):
            js = js_divergence(counts[1:], counts[0])
            excess = js - expected_js(counts[1:] + counts[0], 10, 10)
            for judge in ("gpt", "qwen"):
                rows += [
                    ("m", str(thing), g, judge, half, v, e)
                    for g, v, e in zip(GROUPS, js, excess, strict=True)
                ]
    names = ["generator", "object", "group", "annotator", "half", "value", "excess"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    return table.with_columns(measure=pl.lit("bds"), definition=pl.lit("paper"), attribute=pl.lit("all"))


@pytest.mark.slow
def test_what_chance_made_of_pictures_is_no_agreement_over_halves() -> None:
    rng, told, pooled = np.random.default_rng(5), 0, []
    for _ in range(40):
        table = null_scores(rng)
        row = only(judge_correlation(table, half="half"), generator=None)
        told += row["p_value"] <= 0.05
        halves = [table.filter(annotator="gpt", half=half)["value"] for half in ("one", "other")]
        pooled.append(np.corrcoef(*halves)[0, 1])
    # At 0.05, six or more of 40 would come once in 70 times.
    assert told < 6
    assert np.mean(pooled) > 0.5


def test_a_score_that_one_lacks_is_left_out_and_counted(scores: pl.DataFrame) -> None:
    lost = (pl.col("annotator") == "gpt") & (pl.col("group") == "a") & (pl.col("generator") == "m1")
    null = scores.with_columns(pl.when(~lost).then("value").alias("value"))
    for table in (null, scores.filter(~lost)):
        row = only(
            judge_correlation(table, score="value"), annotator="gemini", reference="gpt", generator="m1"
        )
        assert (row["n"], row["n_excluded"], row["excluded"]) == (8, 1, '{"without a score from both": 1}')
    untouched = only(
        judge_correlation(null, score="value"), annotator="gemini", reference="qwen", generator="m1"
    )
    assert untouched["n"] == 9


def test_few_points_and_scores_that_do_not_vary_give_none(scores: pl.DataFrame) -> None:
    few = scores.filter(pl.col("group").is_in(["a", "b", "c"]), generator="m1")
    row = only(judge_correlation(few, score="value"), annotator="gemini", reference="gpt", generator="m1")
    assert (row["value"], row["undefined"], row["n"]) == (None, "fewer than 4 scores known from both", 3)
    flat = scores.with_columns(
        pl.when(pl.col("annotator") == "gpt").then(0.1).otherwise("value").alias("value")
    )
    row = only(judge_correlation(flat, score="value"), annotator="gemini", reference="gpt", generator="m1")
    assert (row["value"], row["undefined"]) == (None, "the scores of one do not vary")


def test_scores_on_a_line_have_no_interval(scores: pl.DataFrame) -> None:
    truth = scores.filter(annotator="gpt")
    line = pl.concat([truth, truth.with_columns(annotator=pl.lit("x"), value=2 * pl.col("value"))])
    row = only(judge_correlation(halved(line), half="half", score="value"), annotator="gpt", generator=None)
    assert (row["value"], row["low"], row["flags"]) == (1.0, None, "no_variation")
    # Two annotators that agree throughout are no evidence of infinite strength.
    assert (row["p_value"], row["q_value"]) == (None, None)


def test_the_p_values_of_table_9_follow_from_its_correlations() -> None:
    # SODA, appendix E: nine groups a combination, 27 pooled; the scores themselves are not published.
    each = [0.961, 0.916, 0.951, 0.942, 0.934, 0.971, 0.816, 0.768, 0.807]
    for r, n, most in [(r, 9, 0.05) for r in each] + [(r, 27, 0.0001) for r in (0.866, 0.855, 0.895)]:
        x = np.random.default_rng(1).normal(size=n)
        noise = np.random.default_rng(2).normal(size=n)
        x = (x - x.mean()) / np.linalg.norm(x - x.mean())
        noise -= noise.mean() + (noise @ x) * x
        y = r * x + np.sqrt(1 - r * r) * noise / np.linalg.norm(noise)
        table = pl.DataFrame(
            {
                "measure": "bds",
                "definition": "released",
                "attribute": "all",
                "annotator": ["gpt"] * n + ["qwen"] * n,
                "group": [str(i) for i in range(n)] * 2,
                "value": [*x, *y],
            }
        )
        row = only(judge_correlation(halved(table), within=(), half="half", score="value"), annotator="gpt")
        assert row["value"] == pytest.approx(r, abs=1e-9)
        assert row["p_value"] < most


def test_what_does_not_fit_is_refused(scores: pl.DataFrame) -> None:
    with pytest.raises(UsageError, match="two annotators are needed, found 'gpt'"):
        judge_correlation(scores.filter(annotator="gpt"), score="value")
    with pytest.raises(UsageError, match="'annotator' is compared and cannot be in within"):
        judge_correlation(scores, within=("annotator",))
    with pytest.raises(UsageError, match="score must be 'value', 'excess' or 'adjusted', found 'z'"):
        judge_correlation(scores, score="z")
    with pytest.raises(TableError, match="no column 'annotator'"):
        judge_correlation(scores.drop("annotator"), score="value")
    with pytest.raises(TableError, match="no row of measure 'bds' for attribute 'all'"):
        judge_correlation(scores.with_columns(measure=pl.lit("cds")), score="value")
    with pytest.raises(TableError, match="several scores of one combination and annotator"):
        judge_correlation(pl.concat([scores, scores]), score="value")
    with pytest.raises(DefinitionError, match="cannot be compared"):
        judge_correlation(
            pl.concat([scores, scores.with_columns(definition=pl.lit("released"))]), score="value"
        )
    with pytest.raises(UsageError, match="'half' must part pictures in two halves, found 'one'"):
        judge_correlation(halved(scores).filter(half="one"), half="half", score="value")
