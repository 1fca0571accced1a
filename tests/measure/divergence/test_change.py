"""Sensitivity and mitigation."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import DefinitionError, TableError, UsageError
from stereotrope.measure import cds, change, vac
from stereotrope.stats import js_divergence

Scores = dict[tuple[str, str, str | None, str], float | None]
THINGS = ("car", "sofa", "cup", "clock", "toaster", "laptop")
COLUMNS = ("generator", "object", "dimension", "mitigation")


def by_value(estimates: pl.DataFrame, *given, **more) -> pl.DataFrame:
    return change(estimates, *given, **{"score": "value"} | more)


def frame(scores: Scores, measure: str = "cds", columns: tuple[str, ...] = COLUMNS, **more) -> pl.DataFrame:
    rows = [{**dict(zip(columns, key, strict=True)), "value": value} for key, value in scores.items()]
    base = {"measure": measure, "definition": "paper", "attribute": "all"} | more
    schema = {**dict.fromkeys(columns, pl.String), "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema).with_columns(**{k: pl.lit(v) for k, v in base.items()})


def only(found: pl.DataFrame, measure: str = "cds_change", **levels: str | None) -> dict:
    chosen = found.filter(
        pl.col("measure") == measure, *(pl.col(c).eq_missing(pl.lit(v)) for c, v in levels.items())
    )
    assert chosen.height == 1
    return chosen.row(0, named=True)


@pytest.fixture
def scores() -> Scores:
    rng = np.random.default_rng(1)
    found: Scores = {}
    for generator, thing, dimension in itertools.product("abc", THINGS, ("age", "gender")):
        before = rng.uniform(0.3, 0.6)
        found[generator, thing, dimension, "none"] = before
        found[generator, thing, dimension, "avoiding"] = before * 0.7 + rng.normal(0, 0.02)
    return found


def test_a_case_worked_by_hand() -> None:
    before, after = [0.4, 0.6] * 3, [0.3, 0.4] * 3
    table = frame(
        {
            ("m", f"{at}", "age", level): values[at]
            for level, values in (("none", before), ("avoiding", after))
            for at in range(6)
        }
    )
    # Means 0.5 and 0.35; differences −0.1 and −0.2, three times: t = −0.15/√(0.003/6), 5 degrees.
    row = only(by_value(table, "mitigation"), "cds_change_t", generator=None, dimension=None)
    assert row["value"] == pytest.approx(-0.3)
    assert row["holds_for"] == "prompts like these"
    assert row["p_value"] == pytest.approx(2 * scipy_stats.t.sf(0.15 / (0.003 / 6) ** 0.5, 5))
    assert (row["n"], row["contrast"], row["reference"], row["mitigation"]) == (
        6,
        "mitigation",
        "none",
        "avoiding",
    )


def test_it_agrees_with_a_plain_implementation(scores: Scores) -> None:
    found = by_value(frame(scores), "mitigation")
    pairs = list(itertools.product("abc", THINGS))
    for dimension in ("age", "gender", None):
        for generator in ("a", "b", "c", None):
            mine = [p for p in pairs if generator in (None, p[0])]
            inside = [dimension] if dimension else ["age", "gender"]
            old, new = (
                [np.mean([scores[*p, d, level] for d in inside]) for p in mine]
                for level in ("none", "avoiding")
            )
            row = only(found, "cds_change_t", generator=generator, dimension=dimension)
            assert row["value"] == pytest.approx(np.mean(new) / np.mean(old) - 1)
            assert row["p_value"] == pytest.approx(scipy_stats.ttest_rel(old, new).pvalue)
            assert row["n"] == len(mine)
            alone = only(found, generator=generator, dimension=dimension)
            assert (alone["value"], alone["low"], alone["p_value"]) == (row["value"], None, None)
            assert "no interval: a raw score falls to its floor" in alone["method"]
            ranks = only(found, "cds_change_wilcoxon", generator=generator, dimension=dimension)
            assert ranks["value"] == row["value"]
            assert ranks["p_value"] == pytest.approx(scipy_stats.wilcoxon(old, new, method="exact").pvalue)
            assert ranks["low"] is None


def test_q_values_are_over_the_rows_of_one_measure(scores: Scores) -> None:
    found = by_value(frame(scores), "mitigation")
    for name in ("cds_change_t", "cds_change_wilcoxon"):
        rows = found.filter(measure=name)
        expected = scipy_stats.false_discovery_control(rows["p_value"].to_numpy())
        assert rows["q_value"].to_list() == pytest.approx(expected.tolist())


def test_cds_and_vac_come_out_of_one_frame(scores: Scores) -> None:
    groups = frame(
        {
            ("a", o, g, m): 0.5 + 0.1 * (m == "avoiding")
            for o in THINGS
            for g in ("men", "base")
            for m in ("none", "avoiding")
        },
        "vac",
        ("generator", "object", "group", "mitigation"),
    )
    found = by_value(pl.concat([frame(scores), groups], how="diagonal"), "mitigation")
    assert set(found["measure"]) == {
        "cds_change",
        "cds_change_t",
        "cds_change_wilcoxon",
        "vac_change",
        "vac_change_t",
        "vac_change_wilcoxon",
    }
    row = only(found, "vac_change_t", generator="a", dimension=None)
    assert (row["value"], row["low"], row["p_value"]) == (pytest.approx(0.2), None, None)
    assert row["flags"] == "no_variation"


def test_the_baseline_is_left_out_of_the_mean() -> None:
    columns = ("generator", "object", "group", "mitigation")
    scores = {
        ("m", o, g, m): v
        for o, x in (("car", 0.0), ("sofa", 0.1))
        for g, m, v in (
            ("men", "none", 0.4 + x),
            ("men", "avoiding", 0.5 + x),
            ("base", "none", 0.4),
            ("base", "avoiding", 0.1),
        )
    }
    table = frame(scores, "vac", columns)
    assert only(by_value(table, "mitigation"), "vac_change", generator="m")["value"] == pytest.approx(
        0.1 / 0.45
    )
    with_it = by_value(table, "mitigation", baseline=None)
    assert only(with_it, "vac_change", generator="m")["value"] == pytest.approx(-0.1 / 0.425)


def test_a_score_that_one_side_lacks_is_left_out_on_both_and_said(scores: Scores) -> None:
    scores["a", "car", "age", "avoiding"] = None
    scores["b", "car", "age", "none"] = None
    scores["b", "car", "gender", "none"] = None
    row = only(by_value(frame(scores), "mitigation"), generator=None, dimension=None)
    assert (row["n"], row["n_excluded"], row["flags"]) == (17, 3, "few_pairs")
    assert row["excluded"] == '{"without a score": 1, "without a score of the original": 2}'
    old = [np.mean([scores[p, o, d, "none"] for d in ds]) for p, o, ds in _left()]
    new = [np.mean([scores[p, o, d, "avoiding"] for d in ds]) for p, o, ds in _left()]
    assert row["value"] == pytest.approx(np.mean(new) / np.mean(old) - 1)
    single = only(by_value(frame(scores), "mitigation"), "cds_change_t", generator="b", dimension="age")
    assert (single["n"], single["flags"], single["p_value"]) == (5, "few_pairs", None)
    alone = frame({key: value for key, value in scores.items() if key[1] in ("car", "sofa")})
    single = only(by_value(alone, "mitigation"), generator="b", dimension="age")
    assert (single["value"], single["undefined"], single["n"]) == (None, "fewer than two pairs", 1)


def _left() -> list[tuple[str, str, list[str]]]:
    both = ["age", "gender"]
    every = {(g, o): both for g in "abc" for o in THINGS} | {("a", "car"): ["gender"]}
    del every["b", "car"]
    return [(*pair, dimensions) for pair, dimensions in every.items()]


def test_an_object_without_the_new_level_is_no_pair(scores: Scores) -> None:
    scores |= {(g, "cup", "age", "none"): 0.9 for g in "abc"}
    row = only(by_value(frame(scores), "mitigation"), generator=None, dimension="age")
    assert (row["n"], row["n_excluded"], row["flags"]) == (18, 0, None)


def test_a_mean_of_0_has_no_relative_change() -> None:
    scores = {("m", o, "age", m): 0.0 if m == "none" else 0.2 for o in ("car", "sofa") for m in ("none", "x")}
    row = only(by_value(frame(scores), "mitigation"), generator="m", dimension="age")
    assert (row["value"], row["undefined"]) == (None, "the mean of the original is not above 0")
    assert row["p_value"] is None


def test_judges_are_never_put_together(scores: Scores) -> None:
    both = pl.concat(
        [
            frame(scores).with_columns(annotator=pl.lit("one")),
            frame(scores).with_columns(annotator=pl.lit("two"), value=pl.col("value") ** 2),
        ]
    )
    found = by_value(both, "mitigation", within=("generator", "annotator", "object"))
    assert only(found, annotator="one", generator=None, dimension=None)["n"] == 18
    one, two = (only(found, annotator=a, generator=None, dimension=None)["value"] for a in ("one", "two"))
    assert one != two


def test_pairs_of_groups_are_matched_where_they_are_given() -> None:
    rng = np.random.default_rng(2)
    rows = []
    for thing, phrasing in itertools.product(("car", "sofa"), ("for", "targeted at")):
        groups = ("young", "middle", "elderly") if phrasing == "for" else ("middle", "elderly")
        for group, i in itertools.product(groups, range(20)):
            shade = {"young": 0.5, "middle": 0.1, "elderly": 0.9}[group]
            value = "bright" if rng.uniform() < shade else "dark"
            rows.append((f"{thing}{phrasing}{group}{i}", "colour", value, "m", thing, phrasing, "age", group))
    names = ["image_id", "attribute", "value", "generator", "object", "phrasing", "dimension", "group"]
    labels = pl.DataFrame(rows, schema=names, orient="row")
    within = ("generator", "object", "phrasing")
    quick = {"n_permutations": 99, "n_bootstrap": 99}
    uneven = by_value(cds(labels, within=within, **quick))
    like = cds(labels.filter(pl.col("group") != "young"), within=within, **quick)
    paired = by_value(cds(labels, within=within, pairs=True, **quick))
    expected = only(by_value(like), generator="m", dimension="age")["value"]
    assert only(paired, generator="m", dimension="age")["value"] == pytest.approx(expected)
    row = only(uneven, generator="m", dimension="age")
    assert row["value"] != pytest.approx(expected)
    assert "uneven_n" in row["flags"]


def test_vac_of_phrasings_is_compared_on_one_scale(make_labels) -> None:
    counts = {
        ("m", thing, phrasing, "women"): ({"red": 10, "blue": 10} if phrasing == "for" else {"red": 20})
        for thing in ("car", "cup")
        for phrasing in ("for", "targeted at")
    }
    counts["m", "car", "for", "base"] = {"green": 20}
    labels = make_labels(counts, factors=("generator", "object", "phrasing", "group"))
    scores = vac(labels, within=("generator", "object", "phrasing"), n_bootstrap=200)
    row = only(by_value(scores), "vac_change", generator="m")
    # car: 1 − 1/log2(3) to 1; cup has no third value, so its score goes from 0 to 1.
    assert row["value"] == pytest.approx(2 / (1 - 1 / np.log2(3)) - 1)


def test_the_excess_over_the_floor_can_be_compared(scores: Scores) -> None:
    table = frame(scores).with_columns(excess=pl.col("value") - 0.08)
    found = change(table, "mitigation")
    row = only(found, generator=None, dimension=None)
    assert row["value"] < only(by_value(table, "mitigation"), generator=None, dimension=None)["value"]
    assert row["method"].startswith("change of the mean excess over 18 pairs")


def test_two_definitions_are_not_mixed(scores: Scores) -> None:
    table = pl.concat([frame(scores), frame(scores, definition="released")])
    with pytest.raises(DefinitionError, match="cds: scores under the definitions 'paper', 'released'"):
        by_value(table, "mitigation")


def test_the_mean_of_table_6_cannot_be_that_of_table_5_but_a_pooled_mean_can() -> None:
    # SODA, Tables 5 and 6, “avoiding stereotypical styles”: GPT, Flux and Qwen, then all three.
    for each, pooled in (((-0.328, -0.347, -0.246), -0.309), ((0.099, -0.055, 0.193), 0.084)):
        assert abs(np.mean(each) - pooled) > 0.001
        assert min(each) < pooled < max(each)
        originals = np.array([0.45, 0.6, 0.4])
        new = originals * (1 + np.array(each))
        table = frame(
            {
                ("abc"[i], f"{o}", "age", m): float(v[i])
                for i in range(3)
                for o in range(2)
                for m, v in (("none", originals), ("avoiding", new))
            }
        )
        row = only(by_value(table, "mitigation"), generator=None, dimension="age")
        assert row["value"] == pytest.approx(float(np.average(each, weights=originals)))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"over": "style"}, TableError, "no column 'style'"),
        ({"over": "object"}, UsageError, "'object' has no usual original; name one with original="),
        (
            {"over": "mitigation", "original": "plain"},
            UsageError,
            "no row has mitigation = 'plain'; found 'avo",
        ),
        ({"over": "mitigation", "within": "object"}, UsageError, "within must be a list of factors"),
        ({"over": "mitigation", "within": ["mitigation"]}, UsageError, "'mitigation' is compared"),
        ({"over": "mitigation", "within": ["thing"]}, TableError, "no column 'thing'"),
        ({"over": "mitigation", "by": ["size"]}, UsageError, "by must list factors of within, found 'size'"),
        ({"over": "mitigation", "score": "z"}, UsageError, "score must be 'value' or 'excess', found 'z'"),
        ({"over": "value", "original": "x"}, UsageError, "'value' is a column of every estimate"),
        ({"over": "mitigation", "level": 1}, UsageError, "level must lie between 0 and 1"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(scores: Scores, arguments, error, message: str) -> None:
    with pytest.raises(error, match=message):
        by_value(frame(scores), **arguments)


def test_frames_of_another_kind_are_refused(scores: Scores) -> None:
    with pytest.raises(TableError, match="no row of measure 'cds' or 'vac'"):
        by_value(frame(scores, "bds"), "mitigation")
    with pytest.raises(TableError, match="several scores of one combination and mitigation"):
        by_value(pl.concat([frame(scores)] * 2), "mitigation")


def with_excess(rows: list[tuple[str, str, float, float, float]]) -> pl.DataFrame:
    """CDS of pairs: mitigation, object, value, floor, lower end; the interval is of equal reach."""
    names = ["mitigation", "object", "value", "floor", "low"]
    table = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        excess=pl.col("value") - pl.col("floor"), high=2 * pl.col("value") - pl.col("low"), level=0.95
    )
    return table.with_columns(
        measure=pl.lit("cds"), definition=pl.lit("paper"), attribute=pl.lit("all"), generator=pl.lit("m")
    )


AT_FLOOR = "the original is not told from its noise floor"


@pytest.mark.parametrize("score", ["value", "excess"])
@pytest.mark.parametrize("pairs", [2, 3, 6, 12])
@pytest.mark.parametrize("above", [-0.02, -0.001, 0.0, 0.001])
def test_an_original_at_its_floor_has_no_change(score, pairs: int, above: float) -> None:
    noise = np.tile([0.004, -0.004], pairs)
    rows = [("none", f"o{i}", 0.06 + above + noise[i], 0.06, 0.03) for i in range(pairs)]
    rows += [("avoiding", f"o{i}", 0.4 + noise[-i - 1], 0.06, 0.3) for i in range(pairs)]
    found = change(with_excess(rows), "mitigation", score=score)
    assert found["value"].to_list() == [None] * 6
    assert found["undefined"].unique().to_list() == [AT_FLOOR]
    assert found["p_value"].null_count() == found["low"].null_count() == 6


def test_the_interval_is_of_the_pictures_from_two_pairs_on() -> None:
    two = [("none", f"o{i}", 0.3 + i / 10, 0.06, 0.2 + i / 10) for i in range(2)]
    two += [("avoiding", f"o{i}", 0.2 + i / 10, 0.06, 0.14 + i / 10) for i in range(2)]
    found = change(with_excess(two), "mitigation")
    row = only(found, generator=None)
    # By hand: means 0.29 and 0.19, variances (0.1/z)²/2 and (0.06/z)²/2.
    assert row["value"] == pytest.approx(0.19 / 0.29 - 1)
    a, b, c = 0.29**2 - 0.1**2 / 2, 0.29 * 0.19, 0.19**2 - 0.06**2 / 2
    ends = sorted(np.roots([a, -2 * b, c]) - 1)
    assert (row["low"], row["high"]) == pytest.approx(tuple(ends))
    p = 2 * scipy_stats.norm.sf(0.1 / np.sqrt((0.1**2 + 0.06**2) / 2) * scipy_stats.norm.ppf(0.975))
    assert row["p_value"] == pytest.approx(p)
    assert (row["holds_for"], row["flags"], row["definition"]) == ("these prompts", "few_pairs", "excess")
    pairs = only(found, "cds_change_t", generator=None)
    assert (pairs["p_value"], pairs["holds_for"]) == (None, None)
    assert pairs["method"].endswith("fewer than 6 pairs: no test")


@pytest.mark.parametrize(("like", "scope"), [(4, "prompts like these"), (3, "these prompts")])
def test_the_interval_holds_for_what_all_scores_hold_for(like: int, scope: str) -> None:
    two = [("none", f"o{i}", 0.3 + i / 10, 0.06, 0.2 + i / 10) for i in range(2)]
    two += [("avoiding", f"o{i}", 0.2 + i / 10, 0.06, 0.14 + i / 10) for i in range(2)]
    every = ["prompts like these"] * like + ["these prompts"] * (4 - like)
    scores = with_excess(two).with_columns(holds_for=pl.Series(every))
    row = only(change(scores, "mitigation"), generator=None)
    assert row["low"] is not None
    assert row["holds_for"] == scope


def test_errors_of_pairs_of_groups_that_share_pictures_are_not_taken_as_independent() -> None:
    two = [("none", f"o{i}", 0.3, 0.06, 0.2) for i in range(2)]
    two += [("avoiding", f"o{i}", 0.2, 0.06, 0.1) for i in range(2)]
    table = with_excess(two).with_columns(group=pl.lit("a"), reference=pl.lit("b"))
    of_pairs = pl.concat([table, table.with_columns(reference=pl.lit("c"))])
    apart = of_pairs.with_columns(group="reference", reference=None)
    one, both, free = (
        only(change(x, "mitigation"), generator=None)
        for x in (table, of_pairs, apart.cast({"reference": str}))
    )
    assert (both["low"], both["high"]) == pytest.approx((one["low"], one["high"]))
    assert free["high"] - free["low"] < one["high"] - one["low"]


def test_scores_without_intervals_are_told_from_their_floor_over_six_pairs_and_have_none() -> None:
    eight = [("none", f"o{i}", 0.10 + i / 1000, 0.06, 0.05) for i in range(8)]
    eight += [("avoiding", f"o{i}", 0.08 + i / 900, 0.06, 0.03) for i in range(8)]
    found = change(with_excess(eight).drop("low"), "mitigation")
    row = only(found, generator=None)
    assert row["value"] < -0.4
    assert (row["low"], row["p_value"]) == (None, None)
    assert "a score has none" in row["method"]
    assert only(found, "cds_change_t", generator=None)["p_value"] < 1e-6
    few = with_excess([r for r in eight if r[1] < "o3"]).drop("low")
    assert only(change(few, "mitigation"), generator=None)["undefined"] == AT_FLOOR


def test_raw_scores_of_unlike_numbers_of_images_are_not_tested(scores: Scores) -> None:
    table = frame(scores).with_columns(n=pl.when(mitigation="none").then(20).otherwise(10))
    row = only(by_value(table, "mitigation"), "cds_change_t", generator=None, dimension=None)
    assert (row["p_value"], row["flags"]) == (None, "uneven_n")
    assert "no test: the floors of unlike numbers of images differ" in row["method"]


SHARES = np.random.default_rng(4).dirichlet(np.ones(4), (12, 3))
"""Shares of the values of three attributes that pictures of an object have without a cue."""


def mitigated_run(
    seed: int, things: int, n: tuple[int, int], cue: tuple[float, float], prompts: int = 0, icc: float = 0.0
) -> pl.DataFrame:
    """Pictures of three groups, each with its own values in a share ``cue`` of them, before and after.

    prompts, icc: Prompts of each condition, where these differ, and how alike their pictures are in the cue.
    """
    rng, each = np.random.default_rng(seed), icc and (1 - icc) / icc
    columns: dict[str, list[str]] = {c: [] for c in ("image_id", "attribute", "value", "object", "group")}
    columns["mitigation"] = []
    sides = zip(("none", "avoiding"), n, cue, strict=True)
    for (level, size, share), thing, group in itertools.product(sides, range(things), range(3)):
        prompt = np.arange(size) * prompts // size
        for name in range(3):
            of = rng.beta(share * each, (1 - share) * each, prompts)[prompt] if icc else share
            typical = rng.random(size) < of
            drawn = np.where(typical, (group + name) % 4, rng.choice(4, size, p=SHARES[thing, name]))
            columns["image_id"] += [f"{level}{thing}{group}{i}" for i in range(size)]
            columns["attribute"] += [f"a{name}"] * size
            columns["value"] += [f"v{value}" for value in drawn]
            columns["object"] += [f"o{thing}"] * size
            columns["group"] += [f"g{group}"] * size
            columns["mitigation"] += [level] * size
            if prompts:
                asked = [f"{level}{thing}{group}-{p}" for p in prompt]
                columns.setdefault("prompt_id", []).extend(asked)
    return pl.DataFrame(columns).with_columns(generator=pl.lit("m"), dimension=pl.lit("d"))


def true_change(things: int, cue: tuple[float, float]) -> float:
    def disparity(share: float) -> float:
        own = np.stack([[np.eye(4)[(g + a) % 4] for a in range(3)] for g in range(3)])
        p = (1 - share) * SHARES[:things, None] + share * own
        return float(np.mean([js_divergence(p[:, g], p[:, h]) for g, h in ((0, 1), (0, 2), (1, 2))]))

    return disparity(cue[1]) / disparity(cue[0]) - 1


REMEDIES = [
    # things, pictures before and after, shares of the cue before and after
    (8, (20, 20), (0.6, 0.32)),
    (8, (20, 10), (0.6, 0.32)),
    (6, (20, 10), (0.5, 0.42)),
    (3, (20, 10), (0.6, 0.4)),
    (12, (10, 10), (0.5, 0.4)),
]


def judged(
    things: int, n: tuple[int, int], cue: tuple[float, float], runs: int, **alike: float
) -> tuple[float, float, float, int]:
    """Truth, mean estimate, coverage and the number of runs in which a remedy is called a harm."""
    true, values, held, harms = true_change(things, cue), [], [], 0
    quick = {"within": ("generator", "object", "mitigation"), "n_permutations": 0, "n_bootstrap": 100}
    for seed in range(runs):
        found = change(
            cds(mitigated_run(seed, things, n, cue, **alike), **quick), "mitigation", dimension=None
        )
        row = only(found, generator="m")
        if row["value"] is None:
            continue
        values.append(row["value"])
        held.append(row["low"] <= true <= row["high"])
        upward = (found["q_value"] <= 0.05) & (found["value"] > 0)
        harms += bool(row["low"] > 0 or upward.any())
    assert len(values) > 0.9 * runs
    return true, float(np.mean(values)), float(np.mean(held)), harms


@pytest.mark.parametrize(
    ("things", "n", "cue"),
    [REMEDIES[1], *(pytest.param(*of, marks=pytest.mark.slow) for of in (REMEDIES[0], *REMEDIES[2:]))],
)
def test_changes_of_pictures_are_near_the_truth_and_held(things, n, cue) -> None:
    true, mean, coverage, harms = judged(things, n, cue, 30)
    assert true <= -0.2
    assert mean == pytest.approx(true, abs=0.1)
    assert coverage >= 0.92 - 3 * np.sqrt(0.92 * 0.08 / 30)
    assert harms == 0


@pytest.mark.slow
@pytest.mark.parametrize(("things", "n", "cue"), REMEDIES)
def test_no_remedy_is_called_a_harm_in_a_thousand_runs(things, n, cue) -> None:
    true, mean, coverage, harms = judged(things, n, cue, 200)
    assert mean == pytest.approx(true, abs=0.1)
    assert coverage >= 0.92 - 2 * np.sqrt(0.92 * 0.08 / 200)
    assert harms == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prompts", "icc", "after", "runs"),
    [*((p, icc, 0.3, 400) for p in (5, 10) for icc in (0.1, 0.3)), (5, 0.3, 0.5, 1_000)],
)
def test_changes_over_prompts_are_held(prompts: int, icc: float, after: float, runs: int, capsys) -> None:
    n = (4 * prompts, 4 * prompts)
    true, mean, coverage, harms = judged(4, n, (0.6, after), runs, prompts=prompts, icc=icc)
    with capsys.disabled():
        print(f"\n{prompts} prompts, {icc}: true {true:.2f}, mean {mean:.2f}, held {coverage:.3f}", end="")
    assert true <= -0.2
    assert mean == pytest.approx(true, abs=0.1)
    assert coverage >= 0.92
    assert harms == 0


def null_run(seed: int, things: int) -> pl.DataFrame:
    """Pictures of three groups, each drawn both ways, in which neither cue nor suffix does anything."""
    rng = np.random.default_rng(seed)
    keys = itertools.product(
        range(things), ("none", "avoiding"), ("x", "y", "z"), range(12), ("colour", "kind")
    )
    rows = [
        (f"{thing}{level}{group}{i}", name, str(rng.integers(6)), "m", f"o{thing}", level, group, "d")
        for thing, level, group, i, name in keys
    ]
    names = ["image_id", "attribute", "value", "generator", "object", "mitigation", "group", "dimension"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.parametrize("things", [2, 8])
def test_runs_without_any_effect_show_no_change_of_either_score(things: int) -> None:
    quick = {"within": ("generator", "object", "mitigation"), "n_bootstrap": 99}
    for seed in range(6):
        labels = null_run(seed, things)
        listed = {name: [str(i) for i in range(6)] for name in ("colour", "kind")}
        scores = [cds(labels, n_permutations=99, **quick), vac(labels, taxonomy=listed, **quick)]
        found = pl.concat([change(one, "mitigation", dimension=None) for one in scores])
        assert found["undefined"].unique().to_list() == [AT_FLOOR]


def test_vac_without_its_rarefied_score_has_no_excess(make_labels) -> None:
    counts = {("m", o, p, "women"): {"a": 9, "b": 3} for o in THINGS for p in ("for", "targeted at")}
    labels = make_labels(counts, factors=("generator", "object", "phrasing", "group"))
    scores = vac(labels, within=("generator", "object", "phrasing"), definition="released", n_bootstrap=20)
    with pytest.raises(TableError, match=r"'vac' has no noise floor of its own.*or set score='value'"):
        change(scores)
    assert only(by_value(scores), "vac_change", generator="m")["definition"] == "released"


def test_the_excess_of_vac_is_its_rarefied_score(make_labels) -> None:
    counts = {
        ("m", o, p, "women"): ({"a": 10 + at, "b": 6} if p == "for" else {"a": 14 + at, "b": 2})
        for at, o in enumerate(THINGS)
        for p in ("for", "targeted at")
    }
    labels = make_labels(counts, factors=("generator", "object", "phrasing", "group"))
    listed = {"product_colour": list("abcd")}
    scores = vac(labels, within=("generator", "object", "phrasing"), taxonomy=listed, n_bootstrap=200)
    row = only(change(scores), "vac_change", generator="m")
    whole = scores.filter(measure="vac_rarefied", attribute="all")
    before, after = (whole.filter(phrasing=p)["value"].mean() for p in ("for", "targeted at"))
    assert row["value"] == pytest.approx(after / before - 1)
    assert row["value"] != pytest.approx(only(by_value(scores), "vac_change", generator="m")["value"])


def uneven_run(seed: int, before: int, after: int) -> pl.DataFrame:
    """Four equally frequent values everywhere, in more pictures without the suffix than with it."""
    rng = np.random.default_rng(seed)
    keys = itertools.product(range(6), ("none", "avoiding"), ("x", "y"), range(max(before, after)))
    rows = [
        (f"{thing}{level}{group}{i}", "kind", str(rng.integers(4)), "m", f"o{thing}", level, group)
        for thing, level, group, i in keys
        if i < (before if level == "none" else after)
    ]
    names = ["image_id", "attribute", "value", "generator", "object", "mitigation", "group"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.parametrize("n", [(30, 12), (12, 30), (30, 30)])
def test_vac_of_values_without_end_does_not_change_by_the_number_of_images(n: tuple[int, int]) -> None:
    values = []
    for seed in range(8):
        scores = vac(uneven_run(seed, *n), within=("generator", "object", "mitigation"), n_bootstrap=99)
        row = only(change(scores, "mitigation"), "vac_change", generator="m")
        values.append(row["value"])
        assert row["flags"] == ("uneven_n" if n[0] != n[1] else None)
    assert abs(np.mean(values)) < 0.06


def test_vac_of_equally_frequent_listed_values_has_no_change() -> None:
    listed = {"kind": [str(i) for i in range(4)]}
    within = ("generator", "object", "mitigation")
    for seed in range(8):
        scores = vac(uneven_run(seed, 30, 12), within=within, taxonomy=listed, n_bootstrap=99)
        assert change(scores, "mitigation")["undefined"].unique().to_list() == [AT_FLOOR]


def test_vac_of_fewer_images_than_it_is_rarefied_to_has_no_change() -> None:
    scores = vac(uneven_run(1, 30, 8), within=("generator", "object", "mitigation"), n_bootstrap=99)
    row = only(change(scores, "mitigation"), "vac_change", generator="m")
    assert (row["value"], row["undefined"], row["n_excluded"]) == (None, "fewer than two pairs", 12)


@pytest.mark.parametrize("pairs", [2, 6])
@pytest.mark.parametrize(("left", "interval"), [(-0.005, True), (-0.2, False)])
def test_nothing_falls_by_more_than_all_of_it(pairs: int, left: float, interval: bool) -> None:
    rows = [("none", f"o{i}", 0.40 + i / 100, 0.06, 0.3) for i in range(pairs)]
    rows += [("avoiding", f"o{i}", 0.06 + left, 0.06, 0.03 + left) for i in range(pairs)]
    row = only(change(with_excess(rows), "mitigation"), generator=None)
    assert row["value"] == -1.0
    assert "cut at −1" in row["method"]
    if interval:
        assert row["low"] == -1.0 < row["high"] < -0.9
    else:
        assert (row["low"], row["high"]) == (None, None)
        assert "below_scale" in row["flags"]
        assert row["p_value"] < 0.001
