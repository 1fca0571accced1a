"""The list of differences as a whole: its level, its power, and what is said of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom
from tests.measure.made_audits import Made, listed, made_audit, made_labels, place_of

from stereotrope import measure
from stereotrope.measure import places as measured_places
from stereotrope.measure.differences import _ONE_SIDED, Differences, differing
from stereotrope.measure.finder import Candidate
from stereotrope.measure.interim import InterimLook
from stereotrope.stats import benjamini_hochberg, clopper_pearson, fisher_exact, newcombe

SMALL = Made(models=2, objects=4, groups=5, attributes=4)


def measured(labels: pl.DataFrame, *, n_permutations: int = 999) -> pl.DataFrame:
    tables = [
        measure.bds(labels, n_permutations=n_permutations, n_bootstrap=0),
        measure.share_difference(labels),
        measure.deterministic_share(labels),
        measure.dominance_shift(labels),
    ]
    return pl.concat(tables, how="diagonal")


def found_in(labels: pl.DataFrame, **options) -> pl.DataFrame:
    return measure.findings(measured(labels), labels, limit=100_000, **options)


def by_fisher(labels: pl.DataFrame) -> set[tuple[str, ...]]:
    """What Fisher's test of each value with Benjamini and Hochberg's correction over all tells."""
    table = measure.share_difference(labels)
    p = fisher_exact(table["numerator"], table["n"], table["numerator_reference"], table["n_reference"])
    told = table.filter(pl.Series(benjamini_hochberg(p)) <= 0.05)
    return set(told.select("generator", "object", "group", "attribute").iter_rows())


def test_audits_without_any_effect_list_no_difference() -> None:
    told = [len(listed(found_in(made_labels(SMALL, seed)[0], margin=0.0))) for seed in range(4)]
    # At a level of 0.05 two of four would come once in 70 times.
    assert sum(n > 0 for n in told) <= 1, told


def test_audits_of_several_prompts_list_no_difference_where_there_is_none() -> None:
    """What could be told must not hang on what was seen: three of four told up to five where it did."""
    made = replace(SMALL, n=16, prompts=4, icc=0.3)
    told = [len(listed(found_in(made_labels(made, seed)[0], margin=0.0))) for seed in range(3)]
    # At a level of 0.05 two of three would come once in 140 times.
    assert sum(n > 0 for n in told) <= 1, told


def test_what_is_planted_in_several_prompts_is_listed_though_one_alone_could_not_be() -> None:
    labels, truth = made_labels(replace(SMALL, prompts=5, icc=0.1, planted=0.2, shift=0.7), 0)
    found = found_in(labels, margin=0.0)
    told = listed(found)
    assert len(told & truth) > 0.4 * len(truth)
    assert len(told - truth) <= 0.1 * len(told)
    shown = found.filter(list="difference")
    across = shown.filter(pl.col("low") <= 0, pl.col("high") >= 0)
    # The interval says what the test does: a quarter of them held 0 where each scope spoke for itself.
    assert across.height <= 0.1 * shown.height
    assert shown.filter(pl.col("sentence").str.contains("does not leave out 0")).equals(across)


def with_unclear(suit: int, other: int, unclear: int, group: str) -> pl.DataFrame:
    values = ["suit"] * suit + ["other"] * other + ["unclear"] * unclear
    return pl.DataFrame({"value": values}).with_columns(
        image_id=pl.format("{}{}", pl.lit(group), pl.int_range(pl.len())),
        generator=pl.lit("m"), object=pl.lit("job"), attribute=pl.lit("clothing"), group=pl.lit(group),
        excluded=pl.when(pl.col("value") == "unclear").then(pl.lit("unclear")),
    )  # fmt: skip


@pytest.mark.parametrize(("unclear", "verdict"), [(0, "alike"), (30, "alike"), (336, "not enough")])
def test_nothing_is_alike_that_labels_which_are_missing_could_undo(unclear: int, verdict: str) -> None:
    """Of 1,000 pictures of which 600 show suits, 336 unclear ones left 264 of 664: alike, it was said."""
    women = (264, 400) if unclear > 30 else (400 - unclear, 600)
    labels = pl.concat([with_unclear(400, 600, 0, "base"), with_unclear(*women, unclear, "women")])
    row = measure.comparisons(measure.share_difference(labels), labels, margin=0.1).row(0, named=True)
    assert (row["verdict"], row["margin"]) == (verdict, 0.1)
    assert row["low"] > -0.1
    assert row["high"] < 0.1
    assert (row["bound_low"] is None) == (unclear <= 30)
    if unclear > 30:
        assert row["bound_low"] < -0.13
        assert row["bound_high"] > 0.19


def test_how_many_of_what_is_alike_are_in_labels_is_said() -> None:
    labels = pl.concat([with_unclear(10, 10, 0, "base"), with_unclear(11, 9, 0, "women")])
    asked = labels.select("image_id", "generator", "object", "group", prompt_id="group", status=pl.lit("ok"))
    tables = [
        measure.share_difference(labels),
        measure.refusal_rate(asked, "group", by=("generator", "object")),
    ]
    said = measure.findings(pl.concat(tables, how="diagonal_relaxed"), labels, margin=0.3)["sentence"][0]
    assert (
        "1 is alike on average, within ±0.30, none of them in what is labelled. Of 1 these pictures" in said
    )


def test_how_many_must_differ_is_said_where_one_alone_could_not_be_told() -> None:
    found = differences_of(rows_of("made", [0.5] * 100, [0.0009] * 100, [str(i) for i in range(100)]))
    assert found.able
    assert found.sentence() == (
        "No difference beyond chance in 100 comparisons; one is told only where at least 2 differ as clearly "
        "as they can."
    )


def test_a_look_that_one_place_in_twenty_could_not_make_tell_tells_nothing() -> None:
    """Whatever is seen, so that a first handful of pictures spends no error."""
    found = differences_of(rows_of("made", [0.0098] * 30, [0.0098] * 30, [str(i) for i in range(30)]))
    assert not found.able
    assert not found.q
    assert found.sentence() == (
        "No difference could have been found in 30 comparisons: at least 6 would have to differ as clearly "
        "as they can."
    )
    later = replace(found, look=InterimLook(number=2)).sentence()
    assert later.startswith("Second look at this run: no difference could have been found in 30")
    assert later.endswith("as they can. It spends no error and is not counted.")


def test_what_is_planted_is_listed_with_few_others_and_more_than_fisher_finds() -> None:
    shown = false = found = planted = fisher = 0
    for seed in range(2):
        labels, truth = made_labels(Made(models=2, objects=4, groups=6, planted=0.1, shift=0.6), seed)
        told = listed(found_in(labels, margin=0.0))
        shown, false = shown + len(told), false + len(told - truth)
        found, planted = found + len(told & truth), planted + len(truth)
        fisher += len(by_fisher(labels) & truth)
    assert false <= 0.08 * shown, (false, shown)
    assert found >= fisher
    assert found > 0.4 * planted, (found, planted)


def test_an_annotator_that_sees_nothing_does_not_hide_what_another_sees() -> None:
    shown = false = planted = 0
    for seed in range(3):
        labels, truth = made_labels(replace(SMALL, planted=0.1, shift=0.6), seed)
        place = ("generator", "object", "attribute")
        blind = labels.with_columns(
            value=pl.col("value").shuffle(seed=seed).over(place), annotator=pl.lit("b")
        )
        both = pl.concat([labels.with_columns(annotator=pl.lit("a")), blind])
        table = measure.share_difference(both, within=("generator", "object", "annotator"))
        told = listed(measure.findings(table, both, limit=100_000, margin=0.0))
        shown, false, planted = shown + len(told), false + len(told - truth), planted + len(truth)
    assert false <= 0.1 * shown, (false, shown)
    assert shown > 0.5 * planted, (shown, planted)


def test_a_summary_leads_and_says_what_would_have_been_found() -> None:
    labels, _ = made_labels(SMALL, 1)
    found = found_in(labels)
    assert found.row(0, named=True)["list"] == "summary"
    assert found["rank"].to_list() == list(range(found.height))
    assert found["sentence"][0] == (
        "No difference beyond chance in 128 comparisons; with 20 pictures a condition only shifts above 0.68 "
        "would have been found; 18 could not have been told: too few pictures or prompts, or too "
        "much alike. 1 is alike on average, within ±0.20. Of 127 these pictures cannot say which."
    )


def test_the_summary_says_of_which_comparisons_it_speaks_and_how_many_could_not_have_been_told() -> None:
    pictures = [
        replace(c, n=(12, 12)) for c in rows_of("made", [0.3, 0.4, 0.5], [1e-5, 1e-5, 0.06], list("abc"))
    ]
    scenarios = rows_of("made", [0.5, 0.001], [1e-5, 1e-4], ["d", "e"])
    told = differences_of([*pictures, *scenarios]).sentence()
    assert told.startswith("1 of 5 comparisons differs beyond chance")
    assert "; in the 3 of single pictures, with 12 pictures a condition shifts above " in told
    assert "; 1 could not have been told: too few pictures or prompts, or too much alike." in told
    assert "in the" not in differences_of(pictures).sentence()


def test_where_no_difference_could_have_been_found_it_is_said() -> None:
    few = [replace(c, n=(3, 3)) for c in rows_of("made", [0.1, 1.0], [0.1, 0.1], ["a", "b"])]
    assert differences_of(few).sentence() == (
        "No difference could have been found in 2 comparisons: with 3 pictures a condition even a complete "
        "shift is not told from chance."
    )
    clustered = rows_of("made", [0.1, 1.0], [0.1, 0.1], ["a", "b"])
    assert (
        differences_of(clustered)
        .sentence()
        .endswith("even the most extreme counts could not be told from chance.")
    )


def test_intervals_of_what_is_told_are_widened_for_having_been_selected() -> None:
    labels, _ = made_labels(Made(models=2, objects=4, groups=6, planted=0.1, shift=0.8), 3)
    table = measured(labels)
    found = measure.findings(table, labels, limit=100_000).filter(list="difference")
    level = 1 - 0.05 * found.height / 320
    # Comparisons whose counts could not have mattered are not in the family.
    # Where one of two values or more is named, each has its part of the error.
    error = 2 * (1 - found["level"].to_numpy()).max()
    assert 1 - level <= error < 1 - level + 0.003
    n_values = error / (1 - found["level"].to_numpy())
    assert n_values == pytest.approx(np.round(n_values))
    rows = table.filter(measure="share_difference").select("value", "low", "high").unique()
    beside = found.join(rows, on="value", suffix="_of_row")
    assert beside.height
    assert (beside["low"] < beside["low_of_row"]).all()
    assert (found["q_value"] <= 0.05).all()


UNITS = {
    "independent": {},
    "5 prompts, 0.1": {"prompts": 5, "icc": 0.1},
    "5 prompts, 0.3": {"prompts": 5, "icc": 0.3},
    "10 prompts, 0.1": {"prompts": 10, "icc": 0.1},
    "10 prompts, 0.3": {"prompts": 10, "icc": 0.3},
}


def misses(made: Made, seed: int) -> tuple[int, int, int]:
    """How many differences are told, and outside of how many intervals, widened and plain, the truth lies."""
    audit = made_audit(made, seed)
    within = ("generator", "object", "group", "attribute", "category")
    plain = measure.share_difference(audit.labels).select(*within, "low", "high")
    usual = {tuple(row[:5]): row[5:] for row in plain.iter_rows()}
    n = missed = unwidened = 0
    for row in found_in(audit.labels, margin=0.0).filter(list="difference").iter_rows(named=True):
        place = place_of(row["scope"], row["attribute"])
        true = audit.difference(place, row["category"])
        low, high = usual[*place, row["category"]]
        n += 1
        missed += not row["low"] <= true <= row["high"]
        unwidened += not low <= true <= high
    return n, missed, unwidened


def test_selected_differences_lie_within_both_ends_of_their_intervals() -> None:
    small = Made(models=2, objects=4, groups=6, planted=0.1, shift=0.6)
    audits = [misses(small, seed) for seed in range(2)] + [misses(replace(small, prompts=5, icc=0.1), 0)]
    told, missed, plain = map(sum, zip(*audits, strict=True))
    assert told > 60
    assert missed <= binom.ppf(0.99, told, 0.05), (missed, told)
    assert 2 * missed < plain


@pytest.mark.slow
@pytest.mark.parametrize("units", UNITS)
def test_selected_differences_are_covered_by_their_intervals(units: str, capsys) -> None:
    """Of what is told, at most 5% lie outside of either end; of plain intervals far more do."""
    audits = []
    for n, shift in product((20, 50), (0.3, 0.45, 0.6)):
        made = Made(models=2, n=n, planted=0.1, shift=shift, **UNITS[units])
        line = np.array([misses(made, seed) for seed in range(4)])
        audits.append(line)
        told, missed, plain = line.sum(axis=0)
        with capsys.disabled():
            print(f"\n{units}, n = {n}, shift {shift}: {missed} of {told} outside, plain {plain}", end="")
        assert missed <= binom.ppf(0.999, told, 0.05)
    every = np.concatenate(audits)
    told, missed, plain = every.sum(axis=0)
    parts = every[:, 1] / np.maximum(1, every[:, 0])
    assert told > 100
    assert parts.mean() <= 0.05 + 2 * parts.std() / math.sqrt(len(parts))
    assert missed <= binom.ppf(0.99, told, 0.05)
    assert plain > missed


def rows_of(kind: str, p: list[float], least: list[float], attributes: list[str]) -> list[Candidate]:
    return [
        Candidate(
            kind, {"generator": "m", "group": "g"}, a, 0.0, "made", "It is so.", p=x, p_least=y, value=0.5
        )
        for x, y, a in zip(p, least, attributes, strict=True)
    ]


def differences_of(candidates: list[Candidate], alpha: float = 0.05) -> Differences:
    return differing(candidates, None, alpha=alpha)  # type: ignore[arg-type]


def test_several_tests_of_a_place_count_as_one_by_tarones_correction() -> None:
    p, least = [0.01, 0.3, 0.9], [0.001, 0.005, 0.2]
    found = differences_of(rows_of("made", p, least, ["a"] * 3))
    # Two of three could have given 0.01.
    assert [one.p for one in found.places.values()] == pytest.approx([0.02])
    assert (len(found.places), found.able) == (1, True)
    two = differences_of(rows_of("made", [0.01, 0.01], [0.001, 0.001], ["a"] * 2))
    assert [one.p for one in two.places.values()] == pytest.approx([0.01])


def test_a_sample_by_people_hides_nothing_that_all_pictures_show() -> None:
    """As few as one picture in five, whose interval is wide and whose p is large."""
    judge, people = two_sided(40, 14, 60), two_sided(6, 6, 12)
    same = two_sided(30, 30, 300).with_columns(attribute=pl.lit("b"))
    few = two_sided(2, 1, 20).with_columns(attribute=pl.lit("b"))
    of_judge = pl.concat([judge, same]).with_columns(annotator=pl.lit("judge"))
    both = pl.concat([of_judge, pl.concat([people, few]).with_columns(annotator=pl.lit("people"))])
    alone, beside = (
        measure.comparisons(measure.share_difference(x, within=("generator", "object", "annotator")), x)
        for x in (of_judge, both)
    )
    assert dict(beside.select("attribute", "verdict").iter_rows()) == {"a": "differs", "b": "alike"}
    columns = ("attribute", "verdict", "value", "low", "high", "p_value", "q_value")
    assert beside.select(columns).equals(alone.select(columns))


def test_a_sample_by_people_does_not_lead_what_all_pictures_show() -> None:
    """Even where it shows more: the p and the numbers of a finding are of the same annotator."""
    judge, people = two_sided(48, 14, 60), two_sided(12, 0, 12)
    both = pl.concat(
        [judge.with_columns(annotator=pl.lit("judge")), people.with_columns(annotator=pl.lit("anna"))]
    )
    table = measure.share_difference(both, within=("generator", "object", "annotator"))
    (finding,) = measure.findings(table, both).filter(list="difference").to_dicts()
    assert json.loads(finding["scope"])["annotator"] == "judge"
    assert (finding["numerator"], finding["n"]) == (12, 60)
    assert "by “anna” it is “x” in 12 of 12 and 0 of 12" in finding["sentence"]


def test_an_annotator_is_no_sample_where_one_of_its_measures_counts_few_values() -> None:
    """As a share of two values among many does: what is a sample is an annotator, not a measure."""
    (candidate,) = rows_of("made", [0.5], [0.001], ["a"])
    counts = {("bds", "judge"): 60, ("share", "judge"): 20, ("bds", "people"): 29, ("bds", "other"): 30}
    by = {key: [replace(candidate, labelled=(n, n + 5))] for key, n in counts.items()}
    assert list(measured_places.most_labelled(by)) == [key for key in counts if key[1] != "people"]


def test_how_many_pictures_a_condition_has_is_said_where_most_conditions_have_them() -> None:
    def tested(n: tuple[int, int] | None) -> measured_places.Tested:
        return measured_places.Tested(candidate, 0.5, 0.001, n, None, True, ("made",), (), "")

    (candidate,) = rows_of("made", [0.5], [0.001], ["a"])
    places = {("few",): tested((3, 7)), **{(str(i),): tested(None) for i in range(4)}}
    assert not Differences(places, {}, 0.05, 0.2).sizes
    assert Differences({("few",): tested((3, 7))}, {}, 0.05, 0.2).sizes == [(3, 7)]


def test_the_family_is_of_all_finders_and_of_what_could_have_mattered() -> None:
    made = rows_of("made", [0.001, 0.04, 0.5], [1e-9, 0.03, 0.4], ["a", "b", "c"])
    other = rows_of("other", [0.02], [math.nan], ["a"])
    found = differences_of([*made, *other])
    # Of 0.001 two could have been as small, of 0.02 two, of 0.04 three, of 0.5 four.
    assert sorted(found.every_q.values()) == pytest.approx([0.002, 0.02, 0.04, 0.5])
    assert sorted(found.q.values()) == pytest.approx([0.002, 0.02, 0.04])
    assert found.able
    assert found.level == pytest.approx(1 - 0.05 * 3 / 3)


def two_sided(k: int, j: int, n: int, m: int | None = None) -> pl.DataFrame:
    """One attribute of two values: ``k`` of ``n`` pictures of a group show x, ``j`` of ``m`` elsewhere."""
    m = n if m is None else m
    values = ["x"] * k + ["y"] * (n - k) + ["x"] * j + ["y"] * (m - j)
    groups = ["g"] * n + ["base"] * m
    told = {"value": values, "group": groups, "attribute": "a", "generator": "m", "object": "car"}
    return pl.DataFrame({"image_id": [f"i{i}" for i in range(n + m)], **told})


@pytest.mark.parametrize(
    ("k", "j", "n", "margin", "verdict"),
    [
        (180, 40, 200, 0.2, "differs"),
        (100, 102, 200, 0.2, "alike"),
        (100, 102, 200, 0.05, "not enough"),
        (10, 10, 20, 0.2, "not enough"),
        (40, 0, 400, 0.2, "differs"),
    ],
)
@pytest.mark.parametrize("by", ["share_difference", "bds"])
def test_every_comparison_ends_as_one_of_three(k, j, n, margin, verdict, by) -> None:
    labels = two_sided(k, j, n)
    few = {"n_permutations": 999, "n_bootstrap": 0} if by == "bds" else {}
    table = getattr(measure, by)(labels, **few)
    (row,) = measure.comparisons(table, labels, margin=margin).to_dicts()
    assert row["verdict"] == verdict
    assert abs(row["value"]) == pytest.approx(abs(k - j) / n)
    assert row["low"] <= row["value"] <= row["high"]


@pytest.mark.parametrize(("n", "m"), [(12, 50), (20, 400), (50, 50), (8, 8), (7, 200), (200, 20), (150, 400)])
@pytest.mark.parametrize("margin", [0.05, 0.2, 0.3])
def test_sides_that_differ_by_the_margin_are_alike_in_one_of_twenty_samples(n, m, margin) -> None:
    """Counted out over all samples, at the shares where it errs most."""
    k, j = np.arange(n + 1)[:, None], np.arange(m + 1)
    level = 1 - 2 * _ONE_SIDED * 0.05
    low, high = newcombe(k, n, j, m, level=level, limits=clopper_pearson)
    inside = ((low >= -margin) & (high <= margin)).astype(float)
    share = np.linspace(0, 1 - margin, 201)[:, None]

    def lies(more: float, less: float) -> float:
        one, other = binom.pmf(k.ravel(), n, share + more), binom.pmf(j, m, share + less)
        return float(((one @ inside) * other).sum(axis=1).max())

    assert max(lies(margin, 0.0), lies(0.0, margin)) <= 0.0501


@pytest.mark.parametrize("by", ["share_difference", "bds"])
def test_few_pictures_that_never_show_a_value_do_not_make_sides_alike(by) -> None:
    """None of 12 is seen in 7% of samples where one in five shows it."""
    few = {"n_permutations": 99, "n_bootstrap": 0} if by == "bds" else {}
    for n, verdict in ((12, "not enough"), (20, "alike")):
        labels = two_sided(0, 1, n, 50)
        (row,) = measure.comparisons(getattr(measure, by)(labels, **few), labels).to_dicts()
        assert row["verdict"] == verdict


WITHOUT_EFFECT = {
    "independent": Made(),
    "two values": Made(values=(2, 2)),
    "open values": Made(values=(8, 30), concentration=0.5),
    "shared seeds": Made(seeds=0.3),
    "icc 0.1": Made(prompts=5, icc=0.1),
    "icc 0.3": Made(prompts=5, icc=0.3),
    "10 prompts, icc 0.3": Made(n=40, prompts=10, icc=0.3),
    "8 prompts that share seeds": Made(n=40, prompts=8, icc=0.1, seeds=0.1),
}
NULL_AUDITS = 57
"""Of each kind."""


@cache
def told_without_effect(kind: str) -> tuple[int, ...]:
    """How many differences each null audit of a kind tells; made once for all tests of a process."""
    audits = (made_labels(WITHOUT_EFFECT[kind], seed)[0] for seed in range(NULL_AUDITS))
    return tuple(len(listed(measure.findings(measured(of), of, limit=100_000))) for of in audits)


@pytest.mark.slow
@pytest.mark.parametrize("kind", WITHOUT_EFFECT)
def test_whole_audits_without_any_effect_list_no_difference(kind: str, capsys, record_property) -> None:
    told = told_without_effect(kind)
    wrong = sum(number > 0 for number in told)
    record_property("told", told)
    with capsys.disabled():
        print(f"\n{kind}: {wrong} of {len(told)} audits told a difference: {sorted(filter(None, told))}")
    assert 1 - wrong / len(told) >= 0.95 - 1.65 * math.sqrt(0.05 * 0.95 / len(told))


@pytest.mark.slow
def test_all_kinds_of_audits_without_any_effect_together_keep_the_level(capsys, record_property) -> None:
    """57 of one kind would pass with one in eleven wrong; all 456 with one in thirteen."""
    told = {kind: told_without_effect(kind) for kind in WITHOUT_EFFECT}
    wrong = {kind: sum(number > 0 for number in of) for kind, of in told.items()}
    n = sum(map(len, told.values()))
    record_property("wrong", wrong)
    with capsys.disabled():
        print(f"\nall kinds: {sum(wrong.values())} of {n} audits told a difference: {wrong}")
    assert sum(wrong.values()) <= binom.ppf(0.99, n, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("planted", [0.005, 0.02, 0.1])
@pytest.mark.parametrize(("n", "shift"), [(20, 0.5), (50, 0.3)])
def test_what_is_planted_in_whole_audits_is_listed(planted: float, n: int, shift: float, capsys) -> None:
    false, power, fisher = [], [], []
    for seed in range(8):
        labels, truth = made_labels(Made(n=n, planted=planted, shift=shift), seed)
        told = listed(measure.findings(measured(labels), labels, limit=100_000))
        false.append(len(told - truth) / max(1, len(told)))
        power.append(len(told & truth) / max(1, len(truth)))
        fisher.append(len(by_fisher(labels) & truth) / max(1, len(truth)))
    with capsys.disabled():
        print(
            f"\nn = {n}, shift {shift}, {planted:.1%} planted: false {np.mean(false):.3f}, "
            f"power {np.mean(power):.3f}, by Fisher {np.mean(fisher):.3f}"
        )
    assert np.mean(false) <= 0.05 + 2 * np.std(false) / math.sqrt(len(false))
    assert np.mean(power) >= np.mean(fisher)
    assert planted < 0.1 or np.mean(power) >= 0.44


@pytest.mark.slow
@pytest.mark.parametrize(("prompts", "icc"), [(5, 0.1), (10, 0.3)])
def test_what_is_planted_in_several_prompts_of_whole_audits_is_listed(
    prompts: int, icc: float, capsys
) -> None:
    made = Made(prompts=prompts, icc=icc, planted=0.1, shift=0.6)
    false, power, n_told, n_false = [], [], 0, 0
    for seed in range(8):
        labels, truth = made_labels(made, seed)
        told = listed(measure.findings(measured(labels), labels, limit=100_000))
        n_told, n_false = n_told + len(told), n_false + len(told - truth)
        false.append(len(told - truth) / max(1, len(told)))
        power.append(len(told & truth) / max(1, len(truth)))
    with capsys.disabled():
        print(
            f"\n{prompts} prompts, {icc}: told {n_told}, of them false {n_false}, part {np.mean(false):.3f}"
        )
        print(f"standard error {np.std(false, ddof=1) / math.sqrt(8):.3f}, power {np.mean(power):.3f}")
    assert np.mean(false) <= 0.05 + 2 * np.std(false) / math.sqrt(len(false))
    assert np.mean(power) >= 0.44


def test_counts_that_could_not_differ_are_not_called_too_few_pictures() -> None:
    """20 red against 20 red could have shown nothing, but 20 pictures can: 20 blue would have."""
    labels = two_sided(20, 20, 20)
    found = measure.findings(measure.share_difference(labels), labels)
    assert found["sentence"][0].endswith(
        "1 comparison: even the most extreme counts could not be told from chance."
    )
