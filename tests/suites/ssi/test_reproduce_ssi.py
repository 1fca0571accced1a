"""What `reproduce ssi` says of the paper's tables."""

from __future__ import annotations

import json

import polars as pl
import pytest
from scipy import stats

from stereotrope.suites.check import FigureCheck, Reproduction
from stereotrope.suites.published import published
from stereotrope.suites.ssi.reproduce import reproduce_ssi


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce_ssi()


@pytest.fixture(scope="module")
def checks(found: Reproduction) -> dict[str, FigureCheck]:
    return {check.key: check for check in found.checks}


def test_every_check_has_a_verdict_and_an_explanation_and_all_of_it_is_json(found: Reproduction) -> None:
    assert len({check.key for check in found.checks}) == len(found.checks) == 23
    for check in found.checks:
        assert check.explanation.endswith(".")
        assert "{" not in check.explanation
        assert check.recomputed or check.verdict == "cannot be recomputed"
        assert check.published or check.verdict == "not in the paper"
        assert len({tuple(row) for row in check.details}) <= 1, check.key
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert data["counts"] == found.counts()


@pytest.mark.parametrize(
    ("key", "verdict", "recomputed"),
    [
        ("table-5-means", "agrees", "12 of 12"),
        ("table-5-percent", "agrees", "36 of 36"),
        ("reductions-abstract", "agrees", "58.3%, 65.7%, 52.8%"),
        ("reductions-introduction", "differs", "58.3%, 65.7%, 52.8%"),
        ("average-reduction", "differs", "58.9%"),
        ("lowest", "agrees in part", "3 of 3 overall, 6 of 9 by model"),
        ("consistent", "agrees", "3 of 3"),
        ("against-baselines", "cannot be recomputed", ""),
        ("felon", "agrees in part", "7 of 9 = 0.7778, 3 of 9 = 0.3333"),
        ("table-4-means", "agrees", "6 of 6"),
        ("mean-accuracy", "differs", "87.69%"),
        ("sets", "agrees", "5 × 18 = 90"),
        ("answers", "not in the paper", "811 of 926 = 87.58%"),
        ("begins", "agrees in part", "9 of 10"),
        ("example", "differs", "the text's does not begin with the query"),
        ("images", "agrees", "34 + 33 + 33 = 100 queries; 1200 images"),
        ("rapid-fire", "agrees", "72 refined, 66 initial, 15 similar; 153 in all"),
        ("rapid-fire-chance", "not in the paper", "sign test of refined against initial: p = 0.67"),
    ],
)
def test_verdicts(checks: dict[str, FigureCheck], key: str, verdict: str, recomputed: str) -> None:
    assert (checks[key].verdict, checks[key].recomputed) == (verdict, recomputed)


def test_no_rounding_gives_the_introduction_its_61_and_69_per_cent(checks: dict[str, FigureCheck]) -> None:
    allowed = "rounding allows the introduction's"
    told = {row["family"]: row[allowed] for row in checks["reductions-introduction"].details}
    assert told == {"geocultural": "no", "occupational": "no", "adjectival": "yes"}
    # 0.145 / 0.365 and 0.115 / 0.355 are the least that the printed digits leave.
    assert 100 * (1 - 0.145 / 0.365) < 60.5
    assert 100 * (1 - 0.115 / 0.355) < 68.5


def test_models_in_which_a_baseline_is_as_low_or_lower_are_listed(checks: dict[str, FigureCheck]) -> None:
    told = [(row["model"], row["our approach"], row["lowest other"]) for row in checks["lowest"].details]
    assert told == [
        ("Midjourney", "0.13", "FairCritic 0.13"),
        ("Midjourney", "0.16", "FairCritic 0.15"),
        ("Stability AI", "0.20", "FairCritic 0.16"),
    ]


def test_one_star_needs_queries_and_models_as_pairs_and_a_kind_rounding(
    checks: dict[str, FigureCheck],
) -> None:
    check = checks["stars"]
    row = next(row for row in check.details if row["t"] == "1.98*")
    assert float(row["p, queries as pairs"]) == pytest.approx(2 * stats.t.sf(1.98, 33), rel=5e-3)
    assert float(row["p, queries × models as pairs"]) == pytest.approx(2 * stats.t.sf(1.98, 101), rel=5e-3)
    assert stats.t.ppf(0.975, 101) == pytest.approx(1.984, abs=5e-4)
    assert check.verdict == "agrees in part"


def test_implied_sizes_are_those_of_their_t(checks: dict[str, FigureCheck]) -> None:
    p = [2 * stats.t.sf(t, n - 1) for t, n in zip(_T, _PAIRS, strict=True)]
    q = stats.false_discovery_control(p)
    for row, t, n, own in zip(checks["sizes"].details, _T, _PAIRS, q, strict=True):
        assert row["d_z"] == f"{-t / n**0.5:+.2f}".replace("-", "−")
        assert float(row["q"]) == pytest.approx(own, rel=0.05)


_T = (6.44, 1.98, 12.55, 5.05, 7.53, 15.19, 1.96, 6.02, 16.35)
_PAIRS = (102,) * 3 + (99,) * 6


def test_every_accuracy_is_a_whole_number_of_answers(checks: dict[str, FigureCheck]) -> None:
    table = published("ssi").filter(table="4").drop_nulls("generator")
    shown = [tuple(map(int, row["right"].split(" of "))) for row in checks["answers"].details]
    for value, (k, n) in zip(table["value"], shown, strict=True):
        assert value == pytest.approx(k / n, abs=5.1e-5)
    assert sorted({n for _, n in shown}) == [44, 45, 50, 59, 60]


def test_a_judge_that_always_says_no_could_be_as_accurate(
    checks: dict[str, FigureCheck],
) -> None:
    check = checks["always-no"]
    assert check.recomputed == "as good in 3 of 6 cells, at best"
    row = check.details[1]
    assert (row["accuracy"], row["SSI by people"], row["always “no” is right"]) == (
        "86.58%", "0.02 to 0.28", "72% to 98%",
    )  # fmt: skip


def test_every_figure_of_the_tables_is_there_with_its_source() -> None:
    figures = published("ssi")
    assert dict(figures["table"].value_counts().iter_rows()) == {"4": 24, "5": 48}
    assert figures["source"].unique().sort().to_list() == [
        f"SSI (Barve et al. 2026), Table {n}, CC BY 4.0" for n in (4, 5)
    ]
    assert figures["value"].is_between(0, 1).all()
    assert set(figures["family"]) == {"geocultural", "occupational", "adjectival"}
    assert set(figures.filter(table="5")["mitigation"]) == {"none", "ethical", "faircritic", "refine"}
    one = figures.filter(pl.col("generator").is_null(), table="5", family="adjectival", mitigation="refine")
    assert one["value"].item() == 0.17
