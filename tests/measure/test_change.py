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
COLUMNS = ("generator", "object", "dimension", "mitigation")


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
    for generator, thing, dimension in itertools.product("abc", ("car", "sofa"), ("age", "gender")):
        before = rng.uniform(0.3, 0.6)
        found[generator, thing, dimension, "none"] = before
        found[generator, thing, dimension, "avoiding"] = before * 0.7 + rng.normal(0, 0.02)
    return found


def test_a_case_worked_by_hand() -> None:
    table = frame(
        {
            ("m", "car", "age", "none"): 0.4,
            ("m", "sofa", "age", "none"): 0.6,
            ("m", "car", "age", "avoiding"): 0.3,
            ("m", "sofa", "age", "avoiding"): 0.4,
        }
    )
    # Means 0.5 and 0.35; differences −0.1 and −0.2: t = −0.15/0.05 = −3 on 1 degree of freedom.
    row = only(change(table, "mitigation"), generator=None, dimension=None)
    assert row["value"] == pytest.approx(-0.3)
    assert row["p_value"] == pytest.approx(2 * scipy_stats.t.sf(3, 1))
    assert (row["n"], row["contrast"], row["reference"], row["mitigation"]) == (
        2,
        "mitigation",
        "none",
        "avoiding",
    )


def test_it_agrees_with_a_plain_implementation(scores: Scores) -> None:
    found = change(frame(scores), "mitigation")
    pairs = list(itertools.product("abc", ("car", "sofa")))
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
    found = change(frame(scores), "mitigation")
    for name in ("cds_change", "cds_change_wilcoxon"):
        rows = found.filter(measure=name)
        expected = scipy_stats.false_discovery_control(rows["p_value"].to_numpy())
        assert rows["q_value"].to_list() == pytest.approx(expected.tolist())


def test_cds_and_vac_come_out_of_one_frame(scores: Scores) -> None:
    groups = frame(
        {
            ("a", o, g, m): 0.5 + 0.1 * (m == "avoiding")
            for o in ("car", "sofa")
            for g in ("men", "base")
            for m in ("none", "avoiding")
        },
        "vac",
        ("generator", "object", "group", "mitigation"),
    )
    found = change(pl.concat([frame(scores), groups], how="diagonal"), "mitigation")
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
    assert only(change(table, "mitigation"), "vac_change", generator="m")["value"] == pytest.approx(
        0.1 / 0.45
    )
    with_it = change(table, "mitigation", baseline=None)
    assert only(with_it, "vac_change", generator="m")["value"] == pytest.approx(-0.1 / 0.425)


def test_a_score_that_one_side_lacks_is_left_out_on_both_and_said(scores: Scores) -> None:
    scores["a", "car", "age", "avoiding"] = None
    scores["b", "car", "age", "none"] = None
    scores["b", "car", "gender", "none"] = None
    row = only(change(frame(scores), "mitigation"), generator=None, dimension=None)
    assert (row["n"], row["n_excluded"], row["flags"]) == (5, 3, "few_pairs")
    assert row["excluded"] == '{"without a score": 1, "without a score of the original": 2}'
    old = [np.mean([scores[p, o, d, "none"] for d in ds]) for p, o, ds in _left()]
    new = [np.mean([scores[p, o, d, "avoiding"] for d in ds]) for p, o, ds in _left()]
    assert row["value"] == pytest.approx(np.mean(new) / np.mean(old) - 1)
    single = only(change(frame(scores), "mitigation"), generator="b", dimension="age")
    assert (single["value"], single["undefined"], single["n"]) == (None, "fewer than two pairs", 1)


def _left() -> list[tuple[str, str, list[str]]]:
    both = ["age", "gender"]
    return [
        ("a", "car", ["gender"]),
        ("a", "sofa", both),
        ("b", "sofa", both),
        ("c", "car", both),
        ("c", "sofa", both),
    ]


def test_an_object_without_the_new_level_is_no_pair(scores: Scores) -> None:
    scores |= {(g, "cup", "age", "none"): 0.9 for g in "abc"}
    row = only(change(frame(scores), "mitigation"), generator=None, dimension="age")
    assert (row["n"], row["n_excluded"], row["flags"]) == (6, 0, None)


def test_a_mean_of_0_has_no_relative_change() -> None:
    scores = {("m", o, "age", m): 0.0 if m == "none" else 0.2 for o in ("car", "sofa") for m in ("none", "x")}
    row = only(change(frame(scores), "mitigation"), generator="m", dimension="age")
    assert (row["value"], row["undefined"]) == (None, "the mean of the original is not above 0")
    assert row["p_value"] is None


def test_judges_are_never_put_together(scores: Scores) -> None:
    both = pl.concat(
        [
            frame(scores).with_columns(annotator=pl.lit("one")),
            frame(scores).with_columns(annotator=pl.lit("two"), value=pl.col("value") ** 2),
        ]
    )
    found = change(both, "mitigation", within=("generator", "annotator", "object"))
    assert only(found, annotator="one", generator=None, dimension=None)["n"] == 6
    one, two = (only(found, annotator=a, generator=None, dimension=None)["value"] for a in ("one", "two"))
    assert one != two


def test_pairs_of_groups_are_matched_where_they_are_given() -> None:
    rng = np.random.default_rng(2)
    rows = []
    for thing, phrasing in itertools.product(("car", "sofa"), ("for", "targeted at")):
        groups = ("young", "middle", "elderly") if phrasing == "for" else ("middle", "elderly")
        for group, i in itertools.product(groups, range(20)):
            shade = {"young": 0.9, "middle": 0.2, "elderly": 0.3}[group]
            value = "bright" if rng.uniform() < shade else "dark"
            rows.append((f"{thing}{phrasing}{group}{i}", "colour", value, "m", thing, phrasing, "age", group))
    names = ["image_id", "attribute", "value", "generator", "object", "phrasing", "dimension", "group"]
    labels = pl.DataFrame(rows, schema=names, orient="row")
    within = ("generator", "object", "phrasing")
    quick = {"n_permutations": 20, "n_bootstrap": 20}
    uneven = change(cds(labels, within=within, **quick))
    like = cds(labels.filter(pl.col("group") != "young"), within=within, **quick)
    paired = change(cds(labels, within=within, pairs=True, **quick))
    expected = only(change(like), generator="m", dimension="age")["value"]
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
    scores = vac(labels, within=("generator", "object", "phrasing"), n_bootstrap=0)
    row = only(change(scores), "vac_change", generator="m")
    # car: 1 − 1/log2(3) to 1; cup has no third value, so its score goes from 0 to 1.
    assert row["value"] == pytest.approx(2 / (1 - 1 / np.log2(3)) - 1)


def test_the_excess_over_the_floor_can_be_compared(scores: Scores) -> None:
    table = frame(scores).with_columns(excess=pl.col("value") - 0.08)
    found = change(table, "mitigation", score="excess")
    row = only(found, generator=None, dimension=None)
    assert row["value"] < only(change(table, "mitigation"), generator=None, dimension=None)["value"]
    assert row["method"].startswith("change of the mean excess over 6 pairs")


def test_two_definitions_are_not_mixed(scores: Scores) -> None:
    table = pl.concat([frame(scores), frame(scores, definition="released")])
    with pytest.raises(DefinitionError, match="cds: scores under the definitions 'paper', 'released'"):
        change(table, "mitigation")


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
        row = only(change(table, "mitigation"), generator=None, dimension="age")
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
        change(frame(scores), **arguments)


def test_frames_of_another_kind_are_refused(scores: Scores) -> None:
    with pytest.raises(TableError, match="no row of measure 'cds' or 'vac'"):
        change(frame(scores, "bds"), "mitigation")
    with pytest.raises(TableError, match="several scores of one combination and mitigation"):
        change(pl.concat([frame(scores)] * 2), "mitigation")
