"""What `reproduce oasis` says of the paper's tables."""

from __future__ import annotations

import json

import pytest

from stereotrope.suites.check import FigureCheck, Reproduction
from stereotrope.suites.oasis.reproduce import reproduce_oasis
from stereotrope.suites.published import published


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce_oasis()


@pytest.fixture(scope="module")
def checks(found: Reproduction) -> dict[str, FigureCheck]:
    return {check.key: check for check in found.checks}


def test_every_check_has_a_verdict_and_an_explanation_and_all_of_it_is_json(found: Reproduction) -> None:
    assert len({check.key for check in found.checks}) == len(found.checks) == 13
    for check in found.checks:
        assert check.explanation.endswith(".")
        assert "{" not in check.explanation
        assert check.recomputed or check.verdict == "cannot be recomputed"
        assert check.published or check.verdict == "not in the paper"
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert data["counts"] == found.counts()


def test_one_cell_of_table_1_does_not_follow_and_is_listed(checks: dict[str, FigureCheck]) -> None:
    check = checks["table-1"]
    assert (check.verdict, check.recomputed) == ("agrees in part", "44 of 45")
    (row,) = check.details
    assert dict(row) == {
        "model": "SDv2",
        "concept": "Mexican person",
        "attribute": "hat",
        "P": "77.3",
        "P*": "50.0",
        "printed": "22.3",
        "follows": "27.3",
    }


def test_all_differences_of_table_2_follow(checks: dict[str, FigureCheck]) -> None:
    assert checks["table-2"].verdict == "agrees"
    assert checks["table-2"].recomputed == "6 of 6: +4, +5, +20, +22, +7, +7"
    by = {(row["model"], row["concept"]): float(row["p"]) for row in checks["table-2-chance"].details}
    assert {pair for pair, p in by.items() if p > 0.05} == {
        ("SDv2", "Indian doctor"),
        ("SDv2", "Iranian doctor"),
    }


@pytest.mark.parametrize(
    ("key", "verdict", "recomputed"),
    [
        ("mustache", "differs", "0.5 × 0.48 = 0.24"),
        ("newer-models", "agrees in part", "SDv2 29.2, SDv3 24.4, FLUX.1 23.6"),
        ("flux-men", "agrees", "33.6, 0.0, 2.1"),
        ("mustache-text", "agrees", "84.7, 77.8, 34.1"),
        ("classifier", "not in the paper", "2 of 21 cells"),
        ("table-2-sdv3", "agrees", "78 < 93"),
        ("internet", "agrees in part", "4 of 6 orders"),
        ("accuracies", "cannot be recomputed", ""),
    ],
)
def test_verdicts(checks: dict[str, FigureCheck], key: str, verdict: str, recomputed: str) -> None:
    assert (checks[key].verdict, checks[key].recomputed) == (verdict, recomputed)


def test_flux_shows_mexican_people_more_stereotypically_than_iranian_people(
    checks: dict[str, FigureCheck],
) -> None:
    rows = [row for row in checks["internet"].details if row["falls"] == "no"]
    assert {(row["model"], row["score"]) for row in rows} == {("FLUX.1", "greatest"), ("FLUX.1", "mean")}
    assert "Mexican 59.7, Iranian 49.5" in rows[0]["from most users to fewest"]


def test_every_figure_of_the_tables_is_there_with_its_source() -> None:
    figures = published("oasis")
    assert dict(figures["table"].value_counts().iter_rows()) == {"1": 135, "2": 18, "4": 3, "5": 4}
    assert figures["source"].unique().sort().to_list() == [
        f"OASIS (arXiv:2501.00962), Table {n}" for n in (1, 2, 4, 5)
    ]
    assert figures["generator"].drop_nulls().unique().sort().to_list() == ["FLUX.1", "SDv2", "SDv3"]
    given = figures.drop_nulls("value")
    assert given["value"].is_between(0, 1).all()
    assert figures.height - given.height == 3
