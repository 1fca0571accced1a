from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import DefinitionError, TableError, UsageError
from stereotrope.measure import average
from stereotrope.stats import wilson
from stereotrope.tables import plain_scores

# Table 2 of the SODA paper (arXiv text): young, mid, elderly, men, women, white, black, asian, latinx.
TABLE_2 = {
    "GPT Image-1": (0.300, 0.242, 0.382, 0.327, 0.385, 0.253, 0.325, 0.302, 0.317),
    "Imagen 4": (0.317, 0.240, 0.320, 0.306, 0.324, 0.279, 0.322, 0.320, 0.326),
    "FLUX 2 Pro": (0.281, 0.230, 0.330, 0.317, 0.286, 0.186, 0.301, 0.271, 0.259),
    "Qwen Image": (0.247, 0.196, 0.264, 0.189, 0.251, 0.239, 0.247, 0.233, 0.304),
    "SDXL": (0.203, 0.203, 0.214, 0.190, 0.230, 0.211, 0.225, 0.217, 0.250),
}
OVERALL = (0.270, 0.222, 0.302, 0.266, 0.295, 0.234, 0.284, 0.269, 0.291)


def scores(*values: float | None, **more: object) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "measure": "bds",
            "definition": "paper",
            "generator": "m",
            "attribute": "all",
            "object": [f"o{i}" for i in range(len(values))],
            "value": list(values),
            **more,
        },
        schema_overrides={"value": pl.Float64},
    )


def test_an_interval_of_a_mean_speaks_of_prompts_like_these() -> None:
    assert average(scores(0.2, 0.4, 0.3, 0.1))["holds_for"].to_list() == ["prompts like these"]
    assert average(scores(0.2))["holds_for"].to_list() == [None]


def test_all_54_cells_of_table_2_follow_from_table_11(shared) -> None:
    wide = pl.read_csv(shared / "data" / "soda" / "table11_bds.csv")
    groups = wide.columns[2:]
    estimates = (
        wide.rename({"model": "generator"})
        .unpivot(groups, index=["generator", "object"], variable_name="group")
        .with_columns(measure=pl.lit("bds"), definition=pl.lit("released"), attribute=pl.lit("all"))
    )
    by_model = average(estimates, "object")
    overall = average(by_model, "generator")
    assert (by_model.height, overall.height) == (45, 9)
    ours = {(g, d): v for g, d, v in by_model.select("generator", "group", "value").iter_rows()}
    off = [
        (model, group, ours[model, group], published)
        for model, row in TABLE_2.items()
        for group, published in zip(groups, row, strict=True)
        if abs(ours[model, group] - published) > 0.0005 + 1e-9
    ]
    total = dict(overall.select("group", "value").iter_rows())
    off += [
        ("overall", group, total[group], published)
        for group, published in zip(groups, OVERALL, strict=True)
        if abs(total[group] - published) > 0.0005 + 1e-9
    ]
    assert off == []
    assert by_model["n"].unique().to_list() == [8]


def test_mean_and_t_interval() -> None:
    row = average(scores(0.1, 0.3, 0.3, 0.5)).row(0, named=True)
    # By hand: logit(0.3) = −0.8473; t = 3.1824 times sd/√4 = 0.08165, over 0.3 · 0.7: ± 1.2374.
    assert (row["value"], row["low"], row["high"]) == pytest.approx((0.3, 0.11059, 0.59630), abs=1e-5)
    assert row["method"].endswith("interval over levels: t on the logit scale")
    assert (row["n"], row["n_excluded"], "object" in row) == (4, 0, False)


OWN = {"low": [0.1, 0.3], "high": [0.4, 0.5], "level": 0.95}


def test_so_few_levels_speak_of_themselves_by_their_own_intervals() -> None:
    row = average(scores(0.2, 0.4, **OWN)).row(0, named=True)
    # By hand: √(0.1² + 0.1²)/2 = 0.0707 below, √(0.2² + 0.1²)/2 = 0.1118 above.
    assert (row["value"], row["low"], row["high"]) == pytest.approx((0.3, 0.22929, 0.41180), abs=1e-5)
    assert (row["holds_for"], row["flags"]) == ("these prompts", None)
    assert row["method"] == (
        "mean over 2 levels of object; interval: square-and-add of each level's own, of these levels alone"
    )
    # Of a divergence that may lie at its floor what is left above this counts in full.
    floored = average(scores(0.2, 0.4, floor=[0.1, 0.1], **OWN)).row(0, named=True)
    assert floored["low"] == pytest.approx(0.3 - (0.1 + 0.1) / 2)
    assert floored["method"].endswith("of these levels alone, noise floors and all")
    # The same where an own interval ends with the scale.
    assert average(scores(0.2, 0.4, **OWN | {"low": [0.0, 0.3]})).row(0, named=True)["low"] == pytest.approx(
        0.15
    )


@pytest.mark.parametrize(
    "own",
    [{}, OWN | {"level": 0.9}, OWN | {"low": [0.1, None]}, {"low": [0.1, 0.3], "high": [0.4, 0.5]}],
)
def test_so_few_levels_without_intervals_of_this_level_have_none(own: dict[str, object]) -> None:
    for interval in ("t", "bootstrap"):
        row = average(scores(0.2, 0.4, **own), interval=interval).row(0, named=True)
        assert (row["low"], row["high"], row["holds_for"], row["flags"]) == (None, None, None, "few_levels")
        assert row["method"].endswith("no interval: fewer than 4 levels, and not each has one of its own")


@pytest.mark.parametrize(
    ("levels", "n"),
    [
        pytest.param(levels, n, marks=[] if (levels, n) == (2, 20) else pytest.mark.slow)
        for levels in (2, 3)
        for n in (20, 50, 100)
    ],
)
def test_means_of_so_few_shares_are_held(levels: int, n: int) -> None:
    rng, studies = np.random.default_rng([levels, n]), 1_000
    true = rng.choice([0.05, 0.1, 0.3, 0.5, 0.8, 0.95], (studies, levels))
    shown = rng.binomial(n, true)
    low, high = wilson(shown, n)
    frame = pl.DataFrame(
        {
            "measure": "share",
            "definition": "share",
            "study": np.repeat(np.arange(studies), levels).astype(str),
            "object": np.tile(np.arange(levels), studies).astype(str),
            "value": (shown / n).ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
            "level": 0.95,
        }
    )
    found = average(frame)
    assert set(found["holds_for"]) == {"these prompts"}
    mean = true.mean(axis=1)
    assert 0.93 < ((found["low"] <= mean) & (found["high"] >= mean)).mean() < 0.975


@pytest.mark.parametrize(
    ("measure", "definition", "values", "low", "high"),
    [
        ("bds", "paper", (0.4, 0.5, 1.0), 0.0, 1.0),
        ("bds", "released", (0.5, 0.6, 0.83), 0.0, np.sqrt(np.log(2))),
        ("share_difference", "share", (-0.9, 0.2, 0.9), -1.0, 1.0),
        ("violation_rate_difference", "violation", (-0.9, 0.2, 0.9), -1.0, 1.0),
        ("vac_chao_shen", "paper", (-0.2, 0.5, 1.0), None, 1.0),
        ("default_rank", "paper", (1.0, 2.0, 9.0), 1.0, None),
        ("vendi_normalised", "paper", (0.0, 0.1, 0.9), 0.0, 1.0),
        ("a_score_of_somebody_else", "paper", (-0.9, 0.2, 0.9), None, None),
    ],
)
def test_an_interval_ends_where_its_scale_does(measure, definition, values, low, high) -> None:
    values = values * 2
    row = average(scores(*values, measure=measure, definition=definition)).row(0, named=True)
    if low is not None and high is not None:
        mean, span = np.mean(values), high - low
        assert low < row["low"] < mean < row["high"] < high
        # To first order the logit scale moves the mean by as much as the t interval.
        many = average(scores(*values * 200, measure=measure, definition=definition)).row(0, named=True)
        plain = scipy_stats.t.interval(0.95, 1199, mean, scipy_stats.sem(values * 200))
        assert (many["low"], many["high"]) == pytest.approx(plain, abs=0.005 * span)
        return
    wide = scipy_stats.t.interval(0.95, 5, np.mean(values), scipy_stats.sem(values))
    assert row["low"] == pytest.approx(wide[0] if low is None else max(low, wide[0]))
    assert row["high"] == pytest.approx(wide[1] if high is None else min(high, wide[1]))


def test_means_of_differences_end_where_these_do() -> None:
    row = average(scores(-0.9, 0.1, 0.2, 0.9, measure="cbs", baseline="sd")).row(0, named=True)
    assert -1.0 < row["low"] < -0.7
    assert 0.7 < row["high"] < 1.0
    assert (row["baseline"], row["aggregate"]) == ("sd", "object")


def test_a_mean_that_holds_a_score_of_one_picture_is_flagged() -> None:
    four = scores(0.1, 0.2, 0.3, 0.2, flags=[None, "several_prompts,small_n", None, None], n=[20, 1, 20, 20])
    assert average(four)["flags"].to_list() == ["small_n"]
    assert average(four.drop("flags"))["flags"].to_list() == ["small_n"]
    assert average(four.filter(object="o0"))["flags"].to_list() == ["one_level"]
    # A score that is undefined does not enter.
    without = four.with_columns(value=pl.Series([0.1, None, 0.3, 0.2]))
    assert average(without)["flags"].to_list() == ["few_levels"]


def test_missing_levels_are_counted_and_never_0() -> None:
    both = pl.concat(
        [
            scores(0.2, None, 0.4, undefined=[None, "no usable label", None], group="a"),
            scores(0.2, 0.3, undefined=None, group="b").with_columns(pl.col("undefined").cast(pl.String)),
        ]
    )
    found = average(both)
    assert found["value"].to_list() == pytest.approx([0.3, 0.25])
    assert found["excluded"].to_list() == ['{"no usable label": 1}', '{"combination missing": 1}']


def test_no_score_at_all_is_undefined_and_one_level_has_no_interval() -> None:
    row = average(scores(None, None)).row(0, named=True)
    assert (row["value"], row["undefined"]) == (None, "no level of object has a score")
    row = average(scores(0.4)).row(0, named=True)
    assert (row["value"], row["low"], row["high"], row["flags"]) == (0.4, None, None, "one_level")
    assert average(scores(*[0.4] * 4)).row(0, named=True)["flags"] == "no_variation"


def test_floor_and_adjusted_are_averaged_unclipped() -> None:
    parts = {"floor": [0.2] * 4, "excess": [-0.1, 0.1] * 2, "adjusted": [-0.125, 0.125] * 2}
    row = average(scores(0.1, 0.3, 0.1, 0.3, **parts)).row(0, named=True)
    assert (row["floor"], row["excess"], row["adjusted"]) == pytest.approx((0.2, 0.0, 0.0))
    assert row["adjusted_low"] < 0 < row["adjusted_high"]
    two = {name: column[:2] for name, column in parts.items()}
    own = {"adjusted_low": [-0.125, 0.0], "adjusted_high": [0.2, 0.4], "level": 0.95}
    row = average(scores(0.1, 0.3, **two, **own)).row(0, named=True)
    assert (row["low"], row["adjusted_low"]) == (None, pytest.approx(-0.125 / 2))
    assert row["adjusted_high"] == pytest.approx(np.hypot(0.325, 0.275) / 2)


@pytest.mark.parametrize(
    ("levels", "a", "b"),
    [
        pytest.param(levels, *shape, marks=[] if (i, j) == (1, 2) else pytest.mark.slow)
        for i, levels in enumerate((4, 5, 8))
        for j, shape in enumerate([(6.0, 14.0), (1.0, 4.0), (5.0, 1.0), (0.5, 4.5)])
    ],
)
def test_intervals_cover_the_mean_over_objects_of_skewed_scores(levels: int, a: float, b: float) -> None:
    draws = np.random.default_rng(5).beta(a, b, size=(500, levels))
    things = [f"o{i}" for i in range(levels)]
    wide = pl.DataFrame(draws, schema=things).with_columns(run=pl.int_range(pl.len()).cast(pl.String))
    frame = wide.unpivot(things, index="run", variable_name="object")
    constants = {"measure": "bds", "definition": "paper", "attribute": "all"}
    found = average(frame.with_columns(**{name: pl.lit(word) for name, word in constants.items()}))
    mean = a / (a + b)
    assert 0.93 < ((found["low"] <= mean) & (found["high"] >= mean)).mean() < 0.99
    assert 0 < found["low"].min() < found["high"].max() < 1


def test_the_bootstrap_is_stated_with_its_seed() -> None:
    row = average(scores(0.1, 0.2, 0.3, 0.6), interval="bootstrap", n_bootstrap=300, seed=4).row(
        0, named=True
    )
    assert row["low"] < 0.3 < row["high"]
    assert "300 resamples, seed 4" in row["method"]


def test_what_cannot_be_averaged_is_refused() -> None:
    two = pl.concat([scores(0.1), scores(0.2).with_columns(definition=pl.lit("released"))])
    with pytest.raises(DefinitionError, match="cannot be compared"):
        average(two)
    with pytest.raises(TableError, match="a level of 'object' stands twice"):
        average(pl.concat([scores(0.1), scores(0.2)]))
    with pytest.raises(TableError, match="no column 'thing'"):
        average(scores(0.1), "thing")
    with pytest.raises(UsageError, match="'attribute' is a column of every estimate"):
        average(scores(0.1), "attribute")
    with pytest.raises(UsageError, match="interval must be 't' or 'bootstrap'"):
        average(scores(0.1), interval="z")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="level must lie between 0 and 1, found 95"):
        average(scores(0.1, 0.2), level=95)


def test_means_say_over_what_and_of_which_pictures() -> None:
    once = average(scores(0.1, 0.2, generator=["m", "n"]))
    assert once.select("measure", "aggregate").unique().rows() == [("bds", "object")]
    both = pl.concat([scores(0.1, 0.2), once.drop_nulls("value")], how="diagonal")
    assert plain_scores(both).height == 2
    twice = average(once, "generator")
    assert twice.select("measure", "aggregate").rows() == [("bds", "object, generator")]
    part = average(pl.concat([scores(0.1, 0.2), scores(0.5, 0.7, subset="some")], how="diagonal"))
    assert part.select("subset", "value").rows() == [
        (None, pytest.approx(0.15)),
        ("some", pytest.approx(0.6)),
    ]
