"""Ratios beside a reference distribution, from a frame and from an audit file."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats as sps

import stereotrope as st
from stereotrope import measure
from stereotrope.errors import AuditFileError, MetadataError, TableError
from stereotrope.suites.everyday.reference import occupation_shares


def known(shares: list[float | None], **columns) -> pl.DataFrame:
    frame = pl.DataFrame(
        {"scenario": [f"s{i}" for i in range(len(shares))], "reference": shares},
        schema_overrides={"reference": pl.Float64},
    )
    told = {"source": "a survey", "year": 2022, **columns}
    return frame.with_columns(
        (pl.Series(name, value) if isinstance(value, list) else pl.lit(value).alias(name))
        for name, value in told.items()
    )


def part(found: pl.DataFrame, name: str, category: str | None = None) -> dict:
    rows = found.filter(measure=name)
    return (rows if category is None else rows.filter(category=category)).row(0, named=True)


def test_differences_and_shares_are_those_counted_by_hand(ratios) -> None:
    seen = [1.0, 0.7, 0.4, 0.1, 0.6, 0.0]
    there = [0.9, 0.8, 0.3, 0.2, 0.6, 0.05]
    found = measure.amplification(ratios(seen), known(there))
    each = found.filter(measure="amplification")
    assert each["value"].to_list() == pytest.approx(np.subtract(there, seen).tolist())
    assert each["scenario"].to_list() == [f"s{i}" for i in range(6)]
    mean = part(found, "amplification_mean")
    assert mean["value"] == pytest.approx(np.subtract(there, seen).mean())
    assert mean["p_value"] == pytest.approx(sps.ttest_rel(there, seen).pvalue)
    # Majority: 0.9 grew, 0.8 shrank, 0.6 is unchanged. Minority: 0.3 grew, 0.2 and 0.05 shrank, their
    # majorities so are amplified twice.
    more, less = (part(found, "amplified_share", f"female: {name}") for name in ("majority", "minority"))
    assert (more["numerator"], more["denominator"], more["value"]) == (1, 2, 0.5)
    assert (less["numerator"], less["denominator"]) == (2, 3)
    assert more["excluded"] == '{"the other majority": 3, "unchanged": 1}'
    assert less["p_value"] == pytest.approx(sps.binomtest(2, 3).pvalue)
    # Three scenarios do not show how scenarios differ: p is of the pictures of these.
    assert (less["low"], less["flags"], less["holds_for"]) == (None, "few_levels", "these prompts")
    four = measure.amplification(ratios([0.1] * 4), known([0.2, 0.3, 0.2, 0.05]))
    four = part(four, "amplified_share", "female: minority")
    ci = sps.binomtest(3, 4).proportion_ci(method="wilson")
    assert (four["low"], four["high"]) == pytest.approx((ci.low, ci.high))
    assert mean["source"] == "everyday gender, eq. 4; reference: a survey, 2022"


def test_the_interval_of_a_scenario_is_that_of_its_ratio_turned_round(ratios) -> None:
    row = part(measure.amplification(ratios([0.4]), known([0.5])), "amplification")
    ci = sps.binomtest(80, 200).proportion_ci(method="wilson")
    assert (row["low"], row["high"]) == pytest.approx((0.5 - ci.high, 0.5 - ci.low))
    assert (row["n"], row["holds_for"]) == (200, "these prompts")
    frame = ratios([0.4], low=[0.1], high=[0.7])
    wider = part(measure.amplification(frame, known([0.5]), unit="prompt"), "amplification")
    assert (wider["low"], wider["high"]) == pytest.approx((-0.2, 0.4))


def test_what_has_no_reference_is_left_out_and_counted(ratios) -> None:
    reference = known([0.8, None, 0.4, 0.5], n=[1000, 1000, 49, 1000])
    found = measure.amplification(ratios([0.9, 0.9, 0.1, 0.7, 0.2, None]), reference)
    mean = part(found, "amplification_mean")
    assert mean["n"] == 2
    assert mean["excluded"] == (
        '{"fewer than 50 in the reference": 1, "no share": 1, "no share in the reference": 2}'
    )
    more = part(found, "amplified_share", "female: majority")
    assert (more["n"], '"no majority": 1' in more["excluded"]) == (1, True)
    less = part(found, "amplified_share", "female: minority")
    assert less["undefined"] == "no scenario with that majority that differs"
    assert found.filter(measure="amplification")["n_reference"].to_list() == [1000, 1000]
    assert part(measure.amplification(ratios([0.9] * 3), reference, least=49), "amplification_mean")["n"] == 2


@pytest.mark.parametrize(
    ("values", "shares", "undefined"),
    [([None], [0.5], "no scenario has a share"), ([0.5], [None], "no scenario has a share in the reference")],
)
def test_a_cell_without_any_is_one_row_that_says_why(ratios, values, shares, undefined) -> None:
    found = measure.amplification(ratios(values), known(shares))
    assert found.select("measure", "value", "undefined").rows() == [("amplification_mean", None, undefined)]


def test_one_scenario_and_equal_ones_have_no_interval_of_the_mean(ratios) -> None:
    one = part(measure.amplification(ratios([0.25]), known([0.75])), "amplification_mean")
    assert (one["value"], one["low"], one["p_value"], one["flags"]) == (0.5, None, None, "one_level")
    two = part(measure.amplification(ratios([0.25, 0.5]), known([0.5, 0.75])), "amplification_mean")
    # By hand: Wilson's of 50 and 100 of 200 are 0.0548 and 0.0644, 0.0687 and 0.0687 away.
    assert (two["low"], two["high"]) == pytest.approx((0.25 - 0.04708, 0.25 + 0.04394), abs=1e-4)
    assert (two["p_value"], two["flags"], two["holds_for"]) == (None, None, "these prompts")
    four = part(measure.amplification(ratios([0.25, 0.5] * 2), known([0.5, 0.75] * 2)), "amplification_mean")
    assert (four["low"], four["flags"]) == (None, "no_variation")


def test_the_floor_is_what_pictures_with_the_shares_of_the_reference_read(ratios) -> None:
    shares, n = [0.03, 0.2, 0.45, 0.6, 0.97, 0.0], [20, 40, 7, 50, 30, 20]
    found = measure.amplification(ratios([0.5] * 6, n=n), known(shares))
    for name in ("majority", "minority"):
        grown = changed = 0.0
        for share, m in zip(shares, n, strict=True):
            if (share > 0.5) == (name == "majority"):
                ks = np.arange(m + 1)
                odds = sps.binom.pmf(ks, m, share)
                away = ks / m - share if share > 0.5 else share - ks / m
                grown += odds[away > 1e-9].sum()
                changed += odds[np.abs(away) > 1e-9].sum()
        row = part(found, "amplified_share", f"female: {name}")
        assert row["floor"] == pytest.approx(grown / changed, abs=1e-12)


def test_the_floor_is_what_simulated_pictures_read_and_is_not_one_half(ratios) -> None:
    rng = np.random.default_rng(3)
    shares = np.full(4000, 0.03)
    seen = (rng.binomial(20, shares) / 20).tolist()
    row = part(
        measure.amplification(ratios(seen, n=20), known(shares.tolist())),
        "amplified_share",
        "female: minority",
    )
    assert row["value"] == pytest.approx(row["floor"], abs=4 * np.sqrt(0.25 / 4000))
    assert row["floor"] > 0.53


@pytest.mark.slow
def test_pictures_with_the_shares_of_the_reference_are_not_called_amplified(ratios) -> None:
    rng = np.random.default_rng(4)
    shares = rng.beta(1, 6, 150) / 2
    found = []
    for _ in range(120):
        seen = (rng.binomial(10, shares) / 10).tolist()
        row = part(
            measure.amplification(ratios(seen, n=10), known(shares.tolist())),
            "amplified_share",
            "female: minority",
        )
        found.append((row["p_value"], sps.binomtest(row["numerator"], row["denominator"]).pvalue))
    ours, against_half = (np.mean(np.array(each) <= 0.05) for each in zip(*found, strict=True))
    assert ours <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 120)
    assert against_half > 0.3


def test_values_that_are_counted_need_a_reference_of_their_own(ratios) -> None:
    both = pl.concat([ratios([0.25]), ratios([0.75], category="male")])
    with pytest.raises(TableError, match="does not say whether its shares are of 'female' or 'male'"):
        measure.amplification(both, known([0.5]))
    reference = pl.concat([known([0.5], category="female"), known([0.375], category="male")])
    found = measure.amplification(both, reference).filter(measure="amplification")
    assert found.select("category", "value").rows() == [("female", 0.25), ("male", -0.375)]


def test_a_reference_that_does_not_fit_is_one_message(ratios) -> None:
    with pytest.raises(TableError, match=r"shares in 'reference' must lie in \[0, 1\], found 88; divide"):
        measure.amplification(ratios([0.5]), known([88.0]))
    with pytest.raises(TableError, match="scenario 's0' stands twice"):
        measure.amplification(ratios([0.5]), pl.concat([known([0.5]), known([0.4])]))
    with pytest.raises(TableError, match="reference: no column 'year'"):
        measure.amplification(ratios([0.5]), known([0.5]).drop("year"))


def test_every_scenario_of_a_study_of_the_published_size_is_set_beside_its_reference(ratios) -> None:
    rng = np.random.default_rng(4)
    shares = rng.beta(0.5, 0.8, 3217)
    frames = [ratios((rng.binomial(200, shares) / 200).tolist(), generator=f"m{k}") for k in range(5)]
    frame, reference = pl.concat(frames), known(shares.tolist())
    assert measure.amplification(frame, reference).height == 5 * 3217 + 15


AUDIT = """\
prompts:
  subjects: [a person]
  groups: {jobs: {form: job, template: "{subject} working as {phrase}", phrases: [nurse]}}
generators: ['openai:x']
annotators: [{questions: 'openai:judge', attributes: {perceived_gender: [female, male]}}]
measures:
  - {female_ratio: {attribute: perceived_gender, by: [generator, prompt_group, scenario]}}
  - {amplification: female_ratio, within: [generator, prompt_group], MORE}
"""


def planned(tmp_path, more: str, text: str = ""):
    (tmp_path / "jobs.csv").write_text(
        text or "scenario,share,source,year\na person working as a nurse,0.88,CPS,2022\n"
    )
    return st.Audit.from_text(AUDIT.replace("MORE", more), base=tmp_path).plan()


def test_an_audit_names_a_file_or_what_comes_with_stereotrope(tmp_path) -> None:
    call = planned(tmp_path, "reference: jobs.csv, column: share").measures[-1]
    assert call.arguments["reference"] == "jobs.csv"
    assert call.tables["reference"]["share"].to_list() == [0.88]
    nurse = AUDIT.replace("[nurse]", "[registered nurse]").replace("MORE", "reference: cps_2022")
    call = st.Audit.from_text(nurse).plan().measures[-1]
    told = occupation_shares().filter(occupation="registered nurse")
    assert call.tables["reference"].select(told.columns).equals(told)


COLUMNS = "scenario,reference,source,year\n"
NURSE = "a person working as a nurse"
MINE = "reference: jobs.csv"


@pytest.mark.parametrize(
    ("more", "text", "error", "message"),
    [
        ("kept: 0.5", "", AuditFileError, r":8: measure 'amplification': needs `reference:`, .* found none"),
        ("reference: cps_2021", "", AuditFileError, r"no file 'cps_2021' there; did you mean 'cps_2022'"),
        (
            "reference: cps_2022",
            "",
            AuditFileError,
            "no scenario that is asked for, such as 'a person working as a nurse'; w",
        ),
        (
            MINE,
            f"{COLUMNS}nurse,0.9,CPS,2022\n",
            AuditFileError,
            "such as 'a person .* nurse', but 'nurse'; wri",
        ),
        (MINE, "", MetadataError, r"jobs\.csv:1: no column 'reference' \(the share there\)"),
        (
            MINE,
            f"scenario,reference,source\n{NURSE},0.9,CPS\n",
            MetadataError,
            "jobs.csv:1: no column 'year'",
        ),
        (MINE, f"{COLUMNS}{NURSE},88,CPS,2022\n", MetadataError, r"csv:2: .* in \[0, 1\], found 88; divide"),
        (MINE, f"{COLUMNS}{NURSE},most,CPS,2022\n", MetadataError, "csv:2: .* hold a number, found 'most'"),
    ],
)
def test_what_an_audit_cannot_compare_with_is_told_with_its_line(
    tmp_path, more, text, error, message
) -> None:
    with pytest.raises(error, match=message):
        planned(tmp_path, more, text)
