"""Sensitivity and mitigation."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import DefinitionError, TableError, UsageError
from stereotrope.measure import cds, change, vac
from stereotrope.stats import relative_change

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
    row = only(by_value(table, "mitigation"), generator=None, dimension=None)
    assert row["value"] == pytest.approx(-0.3)
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
            row = only(found, generator=generator, dimension=dimension)
            assert row["value"] == pytest.approx(np.mean(new) / np.mean(old) - 1)
            assert row["p_value"] == pytest.approx(scipy_stats.ttest_rel(old, new).pvalue)
            assert row["n"] == len(mine)
            _, low, high = relative_change(old, new)
            if np.isnan(low):
                assert (row["low"], row["flags"]) == (None, "unbounded")
            else:
                assert (row["low"], row["high"]) == (pytest.approx(low), pytest.approx(high))
            ranks = only(found, "cds_change_wilcoxon", generator=generator, dimension=dimension)
            assert ranks["value"] == row["value"]
            assert ranks["p_value"] == pytest.approx(scipy_stats.wilcoxon(old, new, method="exact").pvalue)
            assert ranks["low"] is None


def test_q_values_are_over_the_rows_of_one_measure(scores: Scores) -> None:
    found = by_value(frame(scores), "mitigation")
    for name in ("cds_change", "cds_change_wilcoxon"):
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
        "cds_change_wilcoxon",
        "vac_change",
        "vac_change_wilcoxon",
    }
    row = only(found, "vac_change", generator="a", dimension=None)
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
    single = only(by_value(frame(scores), "mitigation"), generator="b", dimension="age")
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
    """CDS of pairs: mitigation, object, value, floor, lower end."""
    names = ["mitigation", "object", "value", "floor", "low"]
    table = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        excess=pl.col("value") - pl.col("floor")
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
    assert found["value"].to_list() == [None] * 4
    assert found["undefined"].unique().to_list() == [AT_FLOOR]
    assert found["p_value"].null_count() == found["low"].null_count() == 4


def test_an_original_above_its_floor_is_told_by_its_intervals_or_over_six_pairs() -> None:
    two = [("none", f"o{i}", 0.3 + i / 10, 0.06, 0.2) for i in range(2)]
    two += [("avoiding", f"o{i}", 0.2 + i / 10, 0.06, 0.1) for i in range(2)]
    row = only(change(with_excess(two), "mitigation"), generator=None)
    assert row["value"] == pytest.approx(0.19 / 0.29 - 1)
    assert (row["low"], row["high"], row["p_value"], row["q_value"], row["flags"]) == (
        *[None] * 4,
        "few_pairs",
    )
    # Each alone reaches down below its floor; eight alike do not leave it to chance.
    eight = [("none", f"o{i}", 0.10 + i / 1000, 0.06, 0.05) for i in range(8)]
    eight += [("avoiding", f"o{i}", 0.08 + i / 900, 0.06, 0.03) for i in range(8)]
    row = only(change(with_excess(eight), "mitigation"), generator=None)
    assert row["value"] < -0.4
    assert row["low"] < row["value"] < row["high"] < 0
    assert row["definition"] == "excess"


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
        scores = [cds(labels, n_permutations=99, **quick), vac(labels, **quick)]
        found = pl.concat([change(one, "mitigation", dimension=None) for one in scores])
        assert found["undefined"].unique().to_list() == [AT_FLOOR]


def test_vac_without_its_corrected_score_has_no_excess(make_labels) -> None:
    counts = {("m", o, p, "women"): {"a": 9, "b": 3} for o in THINGS for p in ("for", "targeted at")}
    labels = make_labels(counts, factors=("generator", "object", "phrasing", "group"))
    scores = vac(labels, within=("generator", "object", "phrasing"), definition="released", n_bootstrap=20)
    with pytest.raises(TableError, match=r"'vac' has no noise floor of its own.*or set score='value'"):
        change(scores)
    assert only(by_value(scores), "vac_change", generator="m")["definition"] == "released"


def test_the_excess_of_vac_is_its_corrected_score(make_labels) -> None:
    counts = {
        ("m", o, p, "women"): ({"a": 10 + at, "b": 6} if p == "for" else {"a": 14 + at, "b": 2})
        for at, o in enumerate(THINGS)
        for p in ("for", "targeted at")
    }
    labels = make_labels(counts, factors=("generator", "object", "phrasing", "group"))
    listed = {"product_colour": list("abcd")}
    scores = vac(labels, within=("generator", "object", "phrasing"), taxonomy=listed, n_bootstrap=200)
    row = only(change(scores), "vac_change", generator="m")
    whole = scores.filter(measure="vac_chao_shen", attribute="all")
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


@pytest.mark.parametrize("n", [(30, 8), (8, 30), (30, 30)])
def test_vac_of_equally_frequent_values_has_no_change(n: tuple[int, int]) -> None:
    """Chao and Shen's entropy leaves a little of nothing, and another little at another n."""
    for seed in range(8):
        scores = vac(uneven_run(seed, *n), within=("generator", "object", "mitigation"), n_bootstrap=99)
        assert change(scores, "mitigation")["undefined"].unique().to_list() == [AT_FLOOR]


def corrected(before: list[float], after: list[float], n: tuple[int, int]) -> pl.DataFrame:
    names = ["mitigation", "object", "value", "low", "n"]
    sides = (("none", before, n[0]), ("avoiding", after, n[1]))
    rows = [(side, f"o{i}", v, v - 0.1, size) for side, values, size in sides for i, v in enumerate(values)]
    table = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        definition=pl.lit("paper"), attribute=pl.lit("all"), generator=pl.lit("m")
    )
    return pl.concat([table.with_columns(measure=pl.lit(name)) for name in ("vac", "vac_chao_shen")])


@pytest.mark.parametrize(
    ("n", "reason"),
    [
        ((20, 20), None),
        ((40, 20), None),
        ((12, 12), None),
        ((20, 12), "the sides rest on unlike numbers of images, which VAC reads otherwise"),
        ((8, 20), "the sides rest on unlike numbers of images, which VAC reads otherwise"),
    ],
)
def test_vac_of_few_images_is_not_compared_with_that_of_more(n: tuple[int, int], reason: str | None) -> None:
    scores = corrected([0.4, 0.5, 0.4, 0.5, 0.4, 0.5], [0.3, 0.4, 0.35, 0.3, 0.4, 0.3], n)
    row = only(change(scores, "mitigation"), "vac_change", generator=None)
    assert row["undefined"] == reason
    assert (row["value"] is None) == (reason is not None)
    by_raw = only(by_value(scores, "mitigation"), "vac_change", generator=None)
    assert by_raw["value"] == pytest.approx(2.05 / 2.7 - 1)


@pytest.mark.parametrize("pairs", [2, 6])
@pytest.mark.parametrize(("left", "interval"), [(-0.005, True), (-0.2, False)])
def test_nothing_falls_by_more_than_all_of_it(pairs: int, left: float, interval: bool) -> None:
    rows = [("none", f"o{i}", 0.40 + i / 100, 0.06, 0.3) for i in range(pairs)]
    rows += [("avoiding", f"o{i}", 0.06 + left + (-1) ** i * 0.02, 0.06, 0.0) for i in range(pairs)]
    row = only(change(with_excess(rows), "mitigation"), generator=None)
    assert row["value"] == -1.0
    assert "cut at −1" in row["method"]
    if pairs < 6:
        assert (row["low"], row["high"], row["flags"]) == (None, None, "few_pairs")
    elif interval:
        assert row["low"] == -1.0 < row["high"] < -0.9
    else:
        assert (row["low"], row["high"], row["flags"]) == (None, None, "below_scale")
        assert row["p_value"] < 0.001
