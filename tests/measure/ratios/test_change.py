"""How far ratios change between two settings."""

from __future__ import annotations

import time

import numpy as np
import polars as pl
import pytest
from scipy import stats as sps

import stereotrope as st
from stereotrope import measure
from stereotrope.errors import TableError
from stereotrope.stats import newcombe


def both(ratios, before: list[float | None], after: list[float | None], **columns) -> pl.DataFrame:
    return pl.concat(
        [ratios(before, generator="usual", **columns), ratios(after, generator="off", **columns)]
    )


def test_changes_are_those_counted_by_hand(ratios) -> None:
    before, after = [0.5, 0.2, 0.9], [0.7, 0.1, 0.9]
    signed, absolute = measure.ratio_change(both(ratios, before, after), baseline="usual").iter_rows(
        named=True
    )
    assert (signed["generator"], signed["reference"], signed["contrast"]) == ("off", "usual", "generator")
    assert signed["value"] == pytest.approx(0.1 / 3)
    # 0.2 and −0.1: no other way to exchange the two of a scenario has a sum nearer to 0.
    assert signed["p_value"] == pytest.approx(1.0)
    assert absolute["value"] == pytest.approx(0.1)
    expected = 0.0
    for a, b in zip(before, after, strict=True):
        whole = sps.hypergeom(400, round(200 * (a + b)), 200)
        x = np.arange(201)
        expected += (whole.pmf(x) * np.abs(x / 200 - (200 * (a + b) - x) / 200)).sum() / 3
    assert absolute["floor"] == pytest.approx(expected)
    assert absolute["excess"] == pytest.approx(0.1 - expected)
    assert (absolute["n"], absolute["holds_for"]) == (3, "these prompts")


def test_the_floor_and_p_are_those_of_shuffles(ratios) -> None:
    rng = np.random.default_rng(1)
    shares = rng.beta(0.7, 0.9, 12)
    k, j = rng.binomial(20, shares), rng.binomial(20, np.clip(shares + 0.04, 0, 1))
    row = measure.ratio_change(both(ratios, (k / 20).tolist(), (j / 20).tolist(), n=20)).row(1, named=True)
    drawn = rng.hypergeometric(k + j, 40 - k - j, 20, size=(40_000, 12))
    apart = np.abs(2 * drawn - k - j).mean(axis=1) / 20
    assert row["floor"] == pytest.approx(apart.mean(), abs=4 * apart.std() / 200)
    assert row["z"] == pytest.approx((row["value"] - apart.mean()) / apart.std(), abs=0.05)
    equal = np.abs(apart - row["value"]) < 1e-9
    mid_p = (apart > row["value"] + 1e-9).mean() + equal.mean() / 2
    assert row["p_value"] == pytest.approx(mid_p, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("m", "n"), [(3, 20), (10, 200), (60, 20)])
def test_settings_alike_are_called_changed_no_more_often_than_they_may(ratios, m: int, n: int) -> None:
    rng, studies = np.random.default_rng(2), 250
    shares = rng.beta(0.5, 0.8, (studies, m))
    drawn = ((rng.binomial(n, shares) / n).ravel().tolist() for _ in range(2))
    scenario, study = [f"s{i}" for i in range(m)] * studies, np.repeat(np.arange(studies), m).tolist()
    frame = both(ratios, *drawn, n=n, scenario=scenario, study=study)
    found = measure.ratio_change(frame, within=["study"])
    ps = found.filter(measure="ratio_change_absolute")["p_value"]
    assert len(ps) == studies
    rejected = (ps.fill_null(1.0) <= 0.05).mean()
    assert rejected < 0.05 + 3 * np.sqrt(0.05 * 0.95 / studies)


def test_levels_are_compared_with_the_baseline_or_with_each_other(ratios) -> None:
    frame = pl.concat([ratios([0.5, 0.3], generator=name) for name in ("a", "b", "c")])
    pairs = ["generator", "reference"]
    with_one = measure.ratio_change(frame, baseline="b").filter(measure="ratio_change")
    assert with_one.select(pairs).rows() == [("a", "b"), ("c", "b")]
    every = measure.ratio_change(frame).filter(measure="ratio_change")
    assert every.select(pairs).rows() == [("b", "a"), ("c", "a"), ("c", "b")]
    with pytest.raises(TableError, match="no level 'd' of 'generator' to compare with; found 'a', 'b', 'c'"):
        measure.ratio_change(frame, baseline="d")


def test_what_cannot_be_said_is_null(ratios) -> None:
    none = measure.ratio_change(both(ratios, [None, 0.5], [0.5, None]))
    assert none["undefined"].to_list() == ["no scenario is kept by both"] * 2
    assert none["excluded"].to_list() == ['{"not kept by both": 2}'] * 2
    signed, absolute = measure.ratio_change(both(ratios, [0.5], [0.25])).iter_rows(named=True)
    assert (signed["low"], signed["p_value"], signed["flags"]) == (None, None, "one_level")
    assert (absolute["low"], absolute["flags"]) == (None, "one_level")
    assert absolute["p_value"] < 1e-3
    alike = measure.ratio_change(both(ratios, [0.0] * 4, [0.0] * 4)).row(1, named=True)
    assert (alike["value"], alike["floor"], alike["p_value"], alike["flags"]) == (0, 0, None, "no_variation")


def test_so_few_scenarios_speak_of_themselves(ratios) -> None:
    frame = both(ratios, [0.5, 0.2], [0.8, 0.2], n=20)
    signed, absolute = measure.ratio_change(frame, baseline="usual").iter_rows(named=True)
    # Newcombe's differences of both, squared and added.
    ends = [newcombe(k, 20, j, 20) for k, j in ((16, 10), (4, 4))]
    low = 0.15 - np.hypot(0.3 - ends[0][0], 0.0 - ends[1][0]) / 2
    high = 0.15 + np.hypot(ends[0][1] - 0.3, ends[1][1]) / 2
    assert (signed["low"], signed["high"]) == pytest.approx((low, high))
    assert (signed["holds_for"], signed["flags"]) == ("these prompts", None)
    assert "square-and-add of each scenario's own, of these alone" in signed["method"]
    # Absolute changes are too high by chance in each scenario, and these errors do not cancel.
    assert (absolute["low"], absolute["flags"], absolute["holds_for"]) == (
        None,
        "few_levels",
        "these prompts",
    )
    deviation = measure.model_deviation(frame).filter(generator="off").row(0, named=True)
    assert (deviation["low"], deviation["high"]) == pytest.approx((low / 2, high / 2))
    assert (deviation["holds_for"], deviation["p_value"]) == ("these prompts", 1.0)


@pytest.mark.parametrize(
    ("m", "n"),
    [
        pytest.param(m, n, marks=[] if (m, n) == (3, 20) else pytest.mark.slow)
        for m in (2, 3)
        for n in (20, 50, 100)
    ],
)
def test_changes_of_so_few_scenarios_are_held(ratios, m: int, n: int) -> None:
    rng, studies = np.random.default_rng([m, n]), 600
    true = rng.choice([0.05, 0.1, 0.3, 0.5, 0.8, 0.95], (2, studies, m))
    drawn = ((rng.binomial(n, one) / n).ravel().tolist() for one in true)
    scenario, study = [f"s{i}" for i in range(m)] * studies, np.repeat(np.arange(studies), m).tolist()
    frame = both(ratios, *drawn, n=n, scenario=scenario, study=study)
    change = (true[1] - true[0]).mean(axis=1)
    rows = measure.ratio_change(frame, baseline="usual", within=["study"]).filter(measure="ratio_change")
    deviations = measure.model_deviation(frame, within=["study"]).filter(generator="off")
    for found, of in ((rows, change), (deviations, change / 2)):
        low, high = (found.sort(pl.col("study").cast(pl.Int64))[end].to_numpy() for end in ("low", "high"))
        assert 0.925 < ((low <= of) & (of <= high)).mean() < 0.985
        assert set(found["holds_for"]) == {"these prompts"}


def test_ratios_of_the_published_size_take_less_than_a_second(ratios) -> None:
    rng = np.random.default_rng(3)
    shares = rng.beta(0.5, 0.8, 3217)
    frame = pl.concat(
        [ratios((rng.binomial(200, shares) / 200).tolist(), generator=f"m{k}") for k in range(5)]
    )
    start = time.process_time()
    measure.ratio_change(frame, baseline="m0")
    assert time.process_time() - start < 1


AUDIT = """\
prompts: [{text: a nurse, scenario: nurse}, {text: a welder, scenario: welder}]
generators: ['openai:x', {images: 'openai:x', name: y, guidance: 0}]
annotators: [{questions: 'openai:judge', attributes: {perceived_gender: [female, male]}}]
baseline: {generator: x}
measures:
  - {female_ratio: {attribute: perceived_gender, by: [generator, scenario]}}
  - {ratio_change: female_ratio, group: generator}
"""


def test_an_audit_compares_with_the_model_that_it_names_or_every_two() -> None:
    every = st.Audit.from_text(AUDIT.replace("baseline: {generator: x}\n", "")).plan().measures[-1]
    assert (every.name, "baseline" in every.arguments) == ("ratio_change", False)
    named = st.Audit.from_text(AUDIT.replace("{generator: x}", "{generator: y}")).plan().measures[-1]
    assert named.arguments["baseline"] == "y"
