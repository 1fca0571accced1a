"""Paired comparisons of a mitigation with the original, query by query."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from stereotrope.errors import DefinitionError, TableError, UsageError
from stereotrope.measure import paired_difference

QUERIES = [f"q{i}" for i in range(12)]


def scores(
    before: np.ndarray, after: np.ndarray, level: str = "refine", measure: str = "share", **more: object
) -> pl.DataFrame:
    """One row a query and level; ``before`` and ``after`` are arrays, NaN for what has no score."""
    n = len(before)
    frame = pl.DataFrame(
        {
            "measure": measure,
            "definition": "paper",
            "attribute": "all",
            "generator": "m",
            "query": QUERIES[:n] * 2,
            "mitigation": ["none"] * n + [level] * n,
            "value": [*before, *after],
            "n": 1,
        }
    ).with_columns(pl.col("value").fill_nan(None))
    return frame.with_columns(pl.lit(value).alias(name) for name, value in more.items())


def made(seed: int, n: int = 12, share: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    before = rng.integers(1, 8, size=n) / 9
    return before, np.clip(before * share + rng.integers(-1, 2, size=n) / 9, 0, 1)


def row(found: pl.DataFrame, measure: str, **where: object) -> dict[str, object]:
    where = {"mitigation": "refine", **where}
    held = [pl.col(name).eq_missing(pl.lit(value)) for name, value in where.items()]
    return found.filter(pl.col("measure") == measure, *held).row(0, named=True)


def test_numbers_are_those_of_scipy() -> None:
    before, after = made(1)
    found = paired_difference(scores(before, after))
    one = row(found, "paired_difference", generator="m")
    test = stats.ttest_rel(after, before)
    low, high = test.confidence_interval()
    assert one["value"] == pytest.approx((after - before).mean())
    assert (one["low"], one["high"], one["p_value"]) == pytest.approx((low, high, test.pvalue))
    assert (one["definition"], one["contrast"], one["reference"], one["n"]) == (
        "share",
        "mitigation",
        "none",
        12,
    )
    assert one["holds_for"] == "prompts like these"
    change = after - before
    effect = row(found, "paired_effect", generator="m")
    assert effect["value"] == pytest.approx(change.mean() / change.std(ddof=1))
    assert effect["p_value"] is None
    ranks = row(found, "paired_ranks", generator="m")
    kept = change[np.abs(change) > 1e-9]
    order = stats.rankdata(np.round(np.abs(kept), 9))
    assert ranks["value"] == pytest.approx((order[kept > 0].sum() - order[kept < 0].sum()) / order.sum())
    assert row(found, "paired_change", generator="m")["value"] == pytest.approx(
        after.mean() / before.mean() - 1
    )
    means = {
        name: row(found, "paired_mean", generator="m", mitigation=name)["value"]
        for name in ("none", "refine")
    }
    assert means == pytest.approx({"none": before.mean(), "refine": after.mean()})


def test_wilcoxons_p_is_scipys_exact_one_without_ties() -> None:
    rng = np.random.default_rng(4)
    before, after = rng.uniform(size=12), rng.uniform(size=12) * 0.6
    found = row(paired_difference(scores(before, after)), "paired_ranks", generator="m")
    assert found["p_value"] == pytest.approx(stats.wilcoxon(after, before, method="exact").pvalue)


def test_models_of_one_query_are_one_pair_over_all_and_apart_by_model() -> None:
    (a, b), (c, d) = made(1), made(2)
    table = pl.concat([scores(a, b), scores(c, d).with_columns(generator=pl.lit("n"))])
    found = paired_difference(table)
    whole = row(found, "paired_difference", generator=None)
    expected = stats.ttest_rel((b + d) / 2, (a + c) / 2)
    assert (whole["n"], whole["p_value"]) == (12, pytest.approx(expected.pvalue))
    assert row(found, "paired_difference", generator="n")["value"] == pytest.approx((d - c).mean())


def test_families_and_models_have_rows_of_their_own_and_q_goes_over_all() -> None:
    table = scores(*made(1)).with_columns(
        family=pl.when(pl.col("query").str.slice(1).cast(pl.Int64) < 6)
        .then(pl.lit("a"))
        .otherwise(pl.lit("b"))
    )
    found = paired_difference(table, each=("generator", "family")).filter(measure="paired_difference")
    scopes = found.select("generator", "family", "n").rows()
    assert scopes == [
        (None, None, 12),
        ("m", None, 12),
        (None, "a", 6),
        (None, "b", 6),
        ("m", "a", 6),
        ("m", "b", 6),
    ]
    q = stats.false_discovery_control(found["p_value"].to_numpy())
    assert found["q_value"].to_list() == pytest.approx(q.tolist())


def test_what_one_side_lacks_is_left_out_on_both_and_counted() -> None:
    before, after = made(3)
    before[0], after[1], after[2] = np.nan, np.nan, np.nan
    one = row(paired_difference(scores(before, after)), "paired_difference", generator="m")
    kept = slice(3, None)
    assert one["value"] == pytest.approx((after - before)[kept].mean())
    assert (one["n"], one["n_excluded"]) == (9, 3)
    assert one["excluded"] == '{"without a score": 2, "without a score of the original": 1}'
    table = scores(*made(3)).filter((pl.col("query") != "q0") | (pl.col("mitigation") == "none"))
    assert row(paired_difference(table), "paired_difference", generator="m")["n_excluded"] == 1


def test_items_that_are_never_positive_change_by_nothing_and_have_no_effect_size() -> None:
    found = paired_difference(scores(np.zeros(12), np.zeros(12)))
    one = row(found, "paired_difference", generator="m")
    assert (one["value"], one["low"], one["p_value"], one["flags"]) == (0.0, None, None, "no_variation")
    undefined = {
        name: row(found, name, generator="m")["undefined"] for name in ("paired_effect", "paired_ranks")
    }
    assert undefined == {"paired_effect": "all queries change alike", "paired_ranks": "no query changes"}
    reason = row(found, "paired_change", generator="m")["undefined"]
    assert reason == "the mean of the original is not told from 0"


def test_equal_changes_have_ranks_and_no_t() -> None:
    before = np.arange(1, 9) / 10
    found = paired_difference(scores(before, before - 0.1))
    assert row(found, "paired_difference", generator="m")["flags"] == "no_variation"
    assert row(found, "paired_ranks", generator="m")["value"] == -1.0
    assert row(found, "paired_ranks", generator="m")["p_value"] == pytest.approx(2 / 2**8)


@pytest.mark.parametrize("n", [1, 5])
def test_a_family_of_few_queries_has_values_and_no_test(n: int) -> None:
    before, after = made(5, n)
    found = paired_difference(scores(before, after)).filter(generator="m")
    assert (
        found.select("low", "high", "p_value", "q_value", "holds_for").null_count().row(0)
        == (found.height,) * 5
    )
    assert all("few_pairs" in flags for flags in found["flags"])
    assert found.filter(measure="paired_difference")["value"][0] == pytest.approx((after - before).mean())


def test_no_common_query_is_undefined_with_its_reason() -> None:
    nothing = np.full(3, np.nan)
    found = paired_difference(scores(np.array([0.1, 0.2, 0.3]), nothing))
    assert set(found["undefined"]) == {"no query has a score on both sides"}
    assert found["value"].null_count() == found.height


def test_an_original_that_may_be_0_gives_no_proportion() -> None:
    before = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3])
    found = paired_difference(scores(before, before + 0.1 + np.arange(8) / 100))
    assert (
        row(found, "paired_change", generator="m")["undefined"]
        == "the mean of the original is not told from 0"
    )
    assert row(found, "paired_difference", generator="m")["p_value"] is not None


def test_a_score_that_may_be_negative_has_no_proportion() -> None:
    found = paired_difference(scores(*made(1), measure="mean_similarity"))
    assert "paired_change" not in set(found["measure"])
    assert set(found["definition"]) == {"mean_similarity"}


def test_the_excess_over_a_floor_is_compared_where_there_is_one() -> None:
    before, after = made(6)
    floors = np.linspace(0.05, 0.1, 24)
    table = scores(before, after, measure="cds").with_columns(excess=pl.col("value") - pl.Series(floors))
    one = row(paired_difference(table), "paired_difference", generator="m")
    assert one["value"] == pytest.approx(((after - floors[12:]) - (before - floors[:12])).mean())
    raw = row(paired_difference(table, score="value"), "paired_difference", generator="m")
    assert raw["value"] == pytest.approx((after - before).mean())


def test_what_was_drawn_again_unchanged_is_compared_with_too_and_alone_gives_nothing_more() -> None:
    (before, after), (_, again) = made(1), made(2, share=0.9)
    plain = paired_difference(scores(before, after))
    alone = paired_difference(scores(before, again, level="redraw"))
    assert set(alone.filter(measure="paired_difference")["reference"]) == {"none"}
    both = pl.concat([scores(before, after), scores(before, again, level="redraw")]).unique(
        maintain_order=True
    )
    found = paired_difference(both)
    beside = found.filter(measure="paired_difference", generator="m").select(
        "mitigation", "reference", "value"
    )
    assert beside.rows() == [
        ("redraw", "none", pytest.approx((again - before).mean())),
        ("refine", "none", pytest.approx((after - before).mean())),
        ("refine", "redraw", pytest.approx((after - again).mean())),
    ]
    same = found.filter(mitigation="refine", reference="none").drop("q_value")
    assert same.equals(plain.filter(mitigation="refine").drop("q_value"))
    against = found.filter(measure="paired_difference", reference="redraw", generator="m")
    assert against["p_value"].item() == pytest.approx(stats.ttest_rel(after, again).pvalue)
    named = both.with_columns(pl.col("mitigation").replace("redraw", "again"))
    assert "again" not in set(paired_difference(named).filter(measure="paired_difference")["reference"])
    other = paired_difference(named, control="again").filter(measure="paired_difference", reference="again")
    assert (
        other["value"].to_list()
        == found.filter(measure="paired_difference", reference="redraw")["value"].to_list()
    )


def test_unlike_numbers_of_pictures_are_flagged() -> None:
    table = scores(*made(1)).with_columns(n=pl.when(pl.col("mitigation") == "none").then(20).otherwise(15))
    assert row(paired_difference(table), "paired_difference", generator="m")["flags"] == "uneven_n"


def test_rows_over_several_queries_are_left_out_by_the_name_of_the_query() -> None:
    table = scores(*made(1))
    pooled = table.filter(query="q0").with_columns(query=pl.lit(None, pl.String), value=pl.lit(0.9))
    found = paired_difference(pl.concat([table, pooled]), query="query")
    assert found.equals(paired_difference(table))


def test_what_cannot_be_compared_is_refused() -> None:
    table = scores(*made(1))
    with pytest.raises(
        UsageError, match="no row has mitigation = 'plain'; found 'none', 'refine'; name the orig"
    ):
        paired_difference(table, original="plain")
    with pytest.raises(UsageError, match="'attribute' is a column of every estimate; name a factor"):
        paired_difference(table, "attribute")
    with pytest.raises(UsageError, match="score must be 'value' or 'excess', found 'floor'"):
        paired_difference(table, score="floor")
    with pytest.raises(
        TableError, match="several scores of one combination and mitigation; keep one row each, or"
    ):
        paired_difference(pl.concat([table, table]))
    with pytest.raises(DefinitionError, match="cannot be compared"):
        paired_difference(pl.concat([table, table.with_columns(definition=pl.lit("released"))]))
