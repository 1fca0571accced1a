"""Differences of scores by scenario and query, drawn with the same seeds on both sides."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import special

from stereotrope import measure
from stereotrope.measure.seeds import MeanGap

SHARE = 0.4
Design = tuple[int, int, int]
"""Levels, scenarios, seeds."""


def labels_of(
    studies: int, design: Design, *, of_seed: float, alike: bool = False, shift: float = 0.0
) -> pl.DataFrame:
    """Studies, an attribute each, of levels with the same shares; a seed does something of its own to each
    level, or the same to all where they are ``alike``."""
    levels, scenarios, seeds = design
    rng = np.random.default_rng([levels, scenarios, seeds, round(100 * of_seed)])
    shape = (studies, levels, scenarios, seeds)
    scenario = np.sqrt(0.3) * rng.normal(size=(studies, 1, scenarios, 1))
    seed = np.sqrt(of_seed) * rng.normal(size=(studies, 1 if alike else levels, 1, seeds))
    drawn = scenario + seed + np.sqrt(0.7 - of_seed) * rng.normal(size=shape)
    study, level, of, number = (at.ravel() for at in np.indices(shape))
    cut = special.ndtri(SHARE) + shift * (level == 0)
    return pl.DataFrame(
        {
            "image_id": np.arange(drawn.size).astype(str),
            "attribute": pl.Series(study).cast(pl.String),
            "value": np.where(drawn.ravel() < cut, "pink", "grey"),
            "generator": pl.select(pl.format("m{}", pl.Series(level))).to_series(),
            "scenario": pl.select(pl.format("s{}", pl.Series(of))).to_series(),
            "prompt_id": pl.select(pl.format("p{}", pl.Series(of))).to_series(),
            "seed": number,
        }
    )


def shares(labels: pl.DataFrame) -> pl.DataFrame:
    return measure.share(labels, value="pink", by=["generator", "scenario"])


def deviations(labels: pl.DataFrame) -> pl.DataFrame:
    return measure.model_deviation(shares(labels)).filter(generator="m0")


def changes(labels: pl.DataFrame) -> pl.DataFrame:
    return measure.ratio_change(shares(labels), baseline="m1").filter(generator="m0", measure="ratio_change")


def pairs(labels: pl.DataFrame) -> pl.DataFrame:
    """The share of a scenario as the score of a query, with a mitigation and without."""
    made = labels.with_columns(mitigation=pl.col("generator").replace({"m0": "refine", "m1": "none"}))
    made = made.with_columns(generator=pl.lit("m"))
    by_query = measure.share(made, value="pink", by=["generator", "mitigation", "scenario"])
    found = measure.paired_difference(by_query, query="scenario")
    return found.filter(measure="paired_difference", generator="m")


READERS = {"model_deviation": deviations, "ratio_change": changes, "paired_difference": pairs}
CASES = {
    "model_deviation": (2, 40, 10),
    "of three": (3, 40, 10),
    "ratio_change": (2, 40, 10),
    "paired_difference": (2, 40, 10),
}


def held(rows: pl.DataFrame) -> float:
    return float(rows.select(((pl.col("low") <= 0) & (pl.col("high") >= 0)).mean()).item())


def rejected(rows: pl.DataFrame) -> float:
    return float(rows.select((pl.col("p_value") <= 0.05).mean()).item())


@pytest.mark.parametrize("case", CASES)
def test_what_seeds_do_to_one_side_alone_is_counted(case: str) -> None:
    reader, design = READERS.get(case, deviations), CASES[case]
    labels = labels_of(40, design, of_seed=0.1)
    rows, without = reader(labels), reader(labels.drop("seed"))
    assert held(rows) >= 0.9
    assert rejected(rows) <= 0.1
    assert held(without) <= 0.8
    assert rejected(without) >= 0.2
    assert rows["value"].to_list() == without["value"].to_list()
    assert rows["method"].str.contains("shared seeds counted").all()
    assert not without["method"].str.contains("seed").any()


@pytest.mark.parametrize("case", CASES)
def test_what_seeds_do_to_all_sides_alike_widens_little(case: str) -> None:
    reader = READERS.get(case, deviations)
    labels = labels_of(15, CASES[case], of_seed=0.1, alike=True)
    wide, narrow = (
        (rows["high"] - rows["low"]).mean() for rows in map(reader, (labels, labels.drop("seed")))
    )
    assert 1 <= wide / narrow < 1.15


@pytest.mark.parametrize("case", CASES)
def test_a_difference_is_found_still(case: str) -> None:
    rows = READERS.get(case, deviations)(labels_of(20, CASES[case], of_seed=0.05, shift=0.9))
    assert rejected(rows) >= 0.9


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("own", [False, True])
def test_without_shared_seeds_all_is_as_it_was(case: str, own: bool) -> None:
    labels = labels_of(3, CASES[case], of_seed=0.1)
    own_seeds = pl.int_range(pl.len()).over("attribute", "generator")
    told = labels.with_columns(seed=own_seeds if own else pl.lit(None, pl.Int64))
    reader = READERS.get(case, deviations)
    assert_frame_equal(reader(told), reader(labels.drop("seed")), check_exact=True)
    assert shares(told)["by_seed"].null_count() == shares(told).height


@pytest.mark.parametrize("case", CASES)
def test_of_fewer_than_four_seeds_it_says_so(case: str) -> None:
    levels, scenarios, _ = CASES[case]
    labels = labels_of(3, (levels, scenarios, 3), of_seed=0.1)
    reader = READERS.get(case, deviations)
    rows, without = reader(labels), reader(labels.drop("seed"))
    assert rows["flags"].str.contains("few_seeds").all()
    assert rows["method"].str.contains("with 3 shared seeds alone").all()
    numbers = ["value", "low", "high", "p_value"]
    assert_frame_equal(rows.select(numbers), without.select(numbers), check_exact=True)


def test_a_share_says_what_each_seed_shows() -> None:
    labels = labels_of(1, (2, 4, 5), of_seed=0.1)
    row = shares(labels).row(0, named=True)
    here = labels.filter(generator=row["generator"], scenario=row["scenario"])
    told = json.loads(row["by_seed"])
    assert told == [
        [seed, here.filter(seed=seed, value="pink").height, here.filter(seed=seed).height]
        for seed in range(5)
    ]
    assert sum(k for _, k, _ in told) / sum(n for *_, n in told) == row["value"]


def sets(n_sets: int, *, shift: float = 0.0, studies: int = 1) -> list[pl.DataFrame]:
    """Sets of 20 queries with two settings; set i of each is of seed i, which does something to each."""
    rng, found = np.random.default_rng(n_sets), []
    for _ in range(studies):
        query = rng.normal(size=(20, 1, 4))
        parts = []
        for setting in ("none", "refine"):
            drawn = np.sqrt(0.2) * query + np.sqrt(0.25) * rng.normal(size=(1, n_sets, 4))
            drawn = drawn + np.sqrt(0.55) * rng.normal(size=(20, n_sets, 4))
            shown = drawn < special.ndtri(0.3) + shift * (setting == "none")
            of, at, item = (index.ravel() for index in np.indices(shown.shape))
            parts.append(
                pl.DataFrame({"of": of, "seed": at, "item": item, "shown": shown.ravel()}).select(
                    "seed",
                    image_id=pl.format("{}-{}-{}", pl.lit(setting), "of", "seed"),
                    attribute=pl.format("Q{}", "item"),
                    value=pl.when("shown").then(pl.lit("yes")).otherwise(pl.lit("no")),
                    generator=pl.lit("m"),
                    mitigation=pl.lit(setting),
                    query=pl.format("q{}", "of"),
                    prompt_id=pl.format("{}{}", "of", pl.lit(setting)),
                )
            )
        found.append(pl.concat(parts))
    return found


def compared(labels: pl.DataFrame) -> pl.DataFrame:
    scores = measure.ssi(labels, by=["generator", "query", "mitigation"], query="query")
    return measure.paired_difference(scores, query="query")


def test_sets_of_queries_that_share_seeds_are_compared_with_these_counted() -> None:
    def found(labels: pl.DataFrame) -> pl.DataFrame:
        return compared(labels).filter(measure="paired_difference", generator="m")

    studies = sets(5, studies=20)
    rows, without = (pl.concat(map(found, some)) for some in (studies, [s.drop("seed") for s in studies]))
    assert rejected(rows) <= 0.1
    assert held(rows) >= 0.9
    assert rejected(without) >= 0.2
    assert rows["method"].str.contains("shared seeds counted").all()


def test_other_scores_of_pairs_reach_as_much_further() -> None:
    labels = sets(5, shift=0.4)[0]
    rows, without = (
        {row["measure"]: row for row in compared(of).filter(generator="m").iter_rows(named=True)}
        for of in (labels, labels.drop("seed"))
    )

    def reach(name: str) -> float:
        ends = [row[name]["high"] - row[name]["low"] for row in (rows, without)]
        return ends[0] / ends[1]

    assert reach("paired_difference") > 1
    for name in ("paired_effect", "paired_change"):
        assert reach(name) == pytest.approx(reach("paired_difference"))
    assert rows["paired_ranks"]["p_value"] > without["paired_ranks"]["p_value"]


def test_a_difference_of_one_set_a_query_is_told_with_a_doubt() -> None:
    labels = sets(1, shift=0.9)[0]
    rows = compared(labels)
    tested = rows.filter(pl.col("p_value").is_not_null())
    assert tested["flags"].str.contains("few_seeds").all()
    assert tested["method"].str.contains("with 1 shared seed alone").all()
    scores = measure.ssi(labels, by=["generator", "query", "mitigation"], query="query")
    found = measure.findings(pl.concat([scores, rows], how="diagonal"), labels)
    told = found.filter(list="difference")["sentence"]
    assert told.len() == 1
    assert told[0].endswith("the same seeds, fewer than four, which might have made it.")
    warnings = found.filter(list="instrument")["sentence"].to_list()
    assert sum("was drawn with the same seeds throughout" in one for one in warnings) == 1


def test_units_of_one_seed_each_are_as_alike_as_those_of_their_seed() -> None:
    rng = np.random.default_rng(0)
    n = 400
    drawn = pl.DataFrame(
        {
            "unit": np.repeat(np.arange(n), 2),
            "side": np.tile([0, 1], n),
            "seed": np.repeat(np.arange(n) % 8, 2),
            "n": 1,
            "sum": rng.integers(0, 2, 2 * n),
            "weight": np.tile([1 / n, -1 / n], n),
        }
    )
    assert 1 <= MeanGap.of(drawn, level=0.95).reach < 1.3
    each = np.tile([1, 0, 0, 0, 0, 1, 1, 1], n // 8)
    apart = drawn.with_columns(sum=pl.Series(np.stack([each, 1 - each], axis=1).ravel()))
    assert MeanGap.of(apart, level=0.95).reach > 3


def test_units_that_share_no_seed_or_are_few_are_left_as_they_are() -> None:
    drawn = pl.DataFrame(
        {
            "unit": [0, 0, 1, 1, 2, 2],
            "side": [0, 1] * 3,
            "seed": 0,
            "n": 1,
            "sum": 1,
            "weight": [0.3, -0.3] * 3,
        }
    )
    assert MeanGap.of(drawn, level=0.95) == MeanGap()
    assert MeanGap.of(drawn.clear(), level=0.95) == MeanGap()
