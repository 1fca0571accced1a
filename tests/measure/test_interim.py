"""Looking more than once at an audit that grows: its level, its power, and what stays told."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl
import pytest
from tests.measure.made_audits import Made, Place, listed, made_labels
from tests.measure.test_differences import measured, two_sided

from stereotrope import measure
from stereotrope.measure import InterimLook, RunFindings
from stereotrope.measure.interim import place_key
from stereotrope.stats import look_alpha

Rule = str | int | None
"""``naive`` (5% at each look), looks planned, or None for any number."""


def first_pictures(labels: pl.DataFrame, n: int) -> pl.DataFrame:
    """The audit as it was when every condition had ``n`` pictures."""
    return labels.filter(pl.col("image_id").str.extract(r"(\d+)$").cast(pl.Int64) < n)


def told_by_looks(labels: pl.DataFrame, sizes: list[int], rule: Rule, tables=measured) -> list[set[Place]]:
    """Where each look at a growing audit tells of a difference."""
    spent, before, lists = 0.0, dict[str, float](), []
    for number, n in enumerate(sizes, start=1):
        alpha = 0.05 if rule == "naive" else look_alpha(spent, planned=rule)  # type: ignore[arg-type]
        spent += alpha
        part = first_pictures(labels, n)
        look = InterimLook(number, None, dict(before))
        compared = RunFindings.of(tables(part), part, alpha=alpha, look=look)
        differences = compared.differences
        before = {**{differences.places[p].key: q for p, q in differences.q.items()}, **before}
        lists.append(listed(compared.findings(100_000)))
    return lists


def shares_alone(labels: pl.DataFrame) -> pl.DataFrame:
    return measure.share_difference(labels)


SIZES = [8, 16, 24, 32, 40]
SMALL = Made(n=40, models=1, objects=1, groups=3, attributes=2, values=(2, 2), concentration=20)


@pytest.mark.parametrize(
    ("sizes", "audits", "most"), [(SIZES[::2], 4, 1), pytest.param(SIZES, 36, 4, marks=pytest.mark.slow)]
)
def test_null_audits_looked_at_several_times_keep_their_level(
    sizes: list[int], audits: int, most: int
) -> None:
    false: dict[Rule, int] = dict.fromkeys(("naive", None), 0)
    for seed in range(audits):
        labels, _ = made_labels(SMALL, seed)
        for rule in false:
            false[rule] += bool(told_by_looks(labels, sizes, rule, shares_alone)[-1])
    # At a level of 0.05 so many and one more would come once in 30 (of 36) or 50 times (of 12).
    assert false[None] <= most, false
    assert false["naive"] >= false[None], false


def test_what_a_look_told_stays_told_with_the_numbers_of_the_present_pictures() -> None:
    now = two_sided(21, 15, 40)
    table = measure.share_difference(now)
    alone = RunFindings.of(table, now, alpha=0.005)
    assert not listed(alone.findings())
    (key,) = [one.key for one in alone.differences.places.values()]
    again = RunFindings.of(table, now, alpha=0.005, look=InterimLook(2, None, {key: 0.031}))
    summary, row = again.findings().filter(pl.col("list").is_in(["summary", "difference"])).to_dicts()
    assert summary["sentence"].startswith(
        "Second look at this run: no difference beyond chance in 1 comparison;"
    )
    assert "1 was found at an earlier look." in summary["sentence"]
    assert row["q_value"] == 0.031
    assert row["p_value"] == alone.comparisons()["p_value"][0]
    assert abs(row["value"]) == pytest.approx(6 / 40)
    # Of two values one is named.
    assert row["level"] == pytest.approx(1 - 0.005 / 2)
    assert row["sentence"].endswith("(q = 0.031, at an earlier look).")
    assert again.comparisons().select("verdict", "q_value").row(0) == ("differs", 0.031)


def test_a_look_with_no_error_left_tells_nothing_new_and_says_what_to_do() -> None:
    labels = two_sided(200, 0, 200)
    table = measure.share_difference(labels)
    (key,) = [one.key for one in RunFindings.of(table, labels).differences.places.values()]
    nothing = RunFindings.of(table, labels, alpha=0.0, look=InterimLook(3, 2))
    assert not listed(nothing.findings())
    assert nothing.findings()["sentence"][0] == (
        "The 2 planned looks have spent the whole error of this run, so this one tells no new difference, "
        "and intervals have no error left. What was told stays. To test what is new, run the audit with "
        "another seed into a new folder."
    )
    assert nothing.comparisons().select("verdict", "low", "level").row(0) == ("not enough", None, None)
    kept = RunFindings.of(table, labels, alpha=0.0, look=InterimLook(3, None, {key: 0.001}))
    row = kept.findings().filter(list="difference").row(0, named=True)
    assert (abs(row["value"]), row["low"], row["level"], row["q_value"]) == (1.0, None, None, 0.001)
    assert kept.findings()["sentence"][0].startswith("The looks before this one have spent the whole error")
    told, same = kept.comparisons().row(0, named=True), ("category", "value", "finding_id")
    assert [told[name] for name in same] == [row[name] for name in same]


def test_a_summary_names_the_look_where_there_are_several() -> None:
    labels = two_sided(10, 10, 20)
    table = measure.share_difference(labels)

    def lead(look: InterimLook) -> str:
        return measure.findings(table, labels, look=look)["sentence"][0].partition(":")[0]

    assert lead(InterimLook(1, 1)).startswith("No difference")
    assert lead(InterimLook(1, 3)) == "First of 3 planned looks at this run"
    assert lead(InterimLook(3, 3)) == "Third of 3 planned looks at this run"
    assert lead(InterimLook(4, 3)) == "Fourth look at this run"
    assert lead(InterimLook(12)) == "Look 12 at this run"


def test_a_place_keeps_its_key_while_the_design_grows_around_it() -> None:
    before = place_key((("m", "women"),), "group", "base", "colour", factors=("generator", "group"))
    names = ("generator", "object", "group")
    assert before == place_key((("m", None, "women"),), "group", "base", "colour", factors=names)
    assert before != place_key((("m", "car", "women"),), "group", "base", "colour", factors=names)
    assert before != place_key((("m", "men"),), "group", "base", "colour", factors=("generator", "group"))
    pair = (("m", "women"), ("n", "women"))
    assert place_key(pair, factors=("generator", "group")) == place_key(
        pair[::-1], factors=("generator", "group")
    )


def test_the_alpha_of_a_look_is_that_of_its_list_and_of_alike() -> None:
    labels = two_sided(100, 102, 200)
    table = measure.share_difference(labels)
    whole, part = (measure.comparisons(table, labels, alpha=a).row(0, named=True) for a in (0.05, 0.005))
    assert whole["verdict"] == "alike"
    assert part["level"] == pytest.approx(1 - 1.7 * 0.005)
    assert part["high"] - part["low"] > whole["high"] - whole["low"]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["naive", None, 5], ids=["5% each", "open", "5 planned"])
@pytest.mark.parametrize("made", [SMALL, replace(SMALL, groups=5, attributes=4)], ids=["4", "16 comparisons"])
def test_whole_null_audits_looked_at_five_times(made: Made, rule: Rule, capsys) -> None:
    n = 200
    audits = (made_labels(made, seed)[0] for seed in range(n))
    share = sum(bool(told_by_looks(labels, SIZES, rule)[-1]) for labels in audits) / n
    with capsys.disabled():
        print(f"\n{rule}: a difference told in {share:.3f} of {n} null audits looked at five times")
    if rule != "naive":
        assert share <= 0.05 + 1.65 * math.sqrt(0.05 * 0.95 / n)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [None, 5], ids=["open", "5 planned"])
def test_what_is_planted_is_found_by_looks_as_by_one(rule: Rule, capsys) -> None:
    made = Made(n=40, models=2, objects=3, groups=5, attributes=4, planted=0.1, shift=0.5)
    false, power, single = [], [], []
    for seed in range(12):
        labels, truth = made_labels(made, seed)
        *_, last = told_by_looks(labels, SIZES, rule)
        one = told_by_looks(labels, SIZES[-1:], 1)[0]
        false.append(len(last - truth) / max(1, len(last)))
        power.append(len(last & truth) / max(1, len(truth)))
        single.append(len(one & truth) / max(1, len(truth)))
    mean = {name: sum(x) / len(x) for name, x in (("false", false), ("power", power), ("single", single))}
    with capsys.disabled():
        print(f"\n{rule}: {mean}")
    assert mean["false"] <= 0.05 + 2 * 0.05
    assert mean["power"] >= 0.65 * mean["single"]
