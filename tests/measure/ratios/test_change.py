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
    alike = measure.ratio_change(both(ratios, [0.0, 0.0], [0.0, 0.0])).row(1, named=True)
    assert (alike["value"], alike["floor"], alike["p_value"], alike["flags"]) == (0, 0, None, "no_variation")


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
