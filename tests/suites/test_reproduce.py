from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from stereotrope.suites.check import VERDICTS, FigureCheck, Reproduction
from stereotrope.suites.objects.populations import floors
from stereotrope.suites.objects.reproduce import reproduce_objects


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce_objects()


@pytest.fixture(scope="module")
def checks(found: Reproduction) -> dict[str, FigureCheck]:
    return {check.key: check for check in found.checks}


def rows(check: FigureCheck, **where: Any) -> list[dict[str, Any]]:
    return [dict(r) for r in check.details if all(r[k] == v for k, v in where.items())]


def test_every_check_has_a_verdict_an_explanation_and_a_key_of_its_own(found: Reproduction) -> None:
    assert {check.verdict for check in found.checks} == set(VERDICTS)
    assert all(check.explanation.endswith(".") for check in found.checks)
    assert len({check.key for check in found.checks}) == len(found.checks) == 28
    for check in found.checks:
        assert len({tuple(row) for row in check.details}) <= 1, check.key
        assert check.recomputed or check.verdict == "cannot be recomputed"
        assert check.published or check.verdict == "not in the paper"


def test_all_of_it_is_json(found: Reproduction) -> None:
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert data["counts"] == found.counts()
    assert sum(data["counts"].values()) == len(data["checks"])
    assert data["source"] == "arXiv:2508.03483v3"
    assert data["licence"] == "CC BY 4.0"


def test_all_54_cells_of_table_2_agree(checks: dict[str, FigureCheck]) -> None:
    check = checks["table-2"]
    assert (check.verdict, check.recomputed[:14]) == ("agrees", "54 of 54 cells")
    assert len(check.details) == 54
    assert rows(check, model="overall", group="elderly")[0]["Table 2"] == "0.302"


def test_852_is_of_cells_of_condition_and_attribute(checks: dict[str, FigureCheck]) -> None:
    check = checks["deterministic-share"]
    assert check.recomputed == "852 / 3200 = 26.6%"
    assert [row["cells"] for row in check.details] == [360, 2880, 3200]


@pytest.mark.parametrize(
    ("key", "verdict", "recomputed"),
    [
        ("table-4", "agrees", "5 of 5: 0.633, 0.547, 0.511, 0.401 and 0.343"),
        ("table-5-cds-change", "differs", "−30.7%"),
        ("table-5-vac-change", "differs", "+7.9%"),
        ("table-10", "agrees", "269; 74.7%; 70, 67, 62, 52, 18"),
        ("table-13-counts", "agrees", "109, of which Table 13 lists 25"),
        ("middle-aged-default", "agrees", "5 of 5 models"),
        ("white-default", "agrees", "GPT Image-1, Imagen 4 and FLUX 2 Pro"),
        ("figure-3", "agrees in part", "Qwen Image sofa, Black people: 0.383"),
        ("sdxl-ethnicity", "agrees", "14 of 18"),
        ("pooled-correlation", "cannot be recomputed", ""),
        ("correlation-range", "agrees", "0.768 to 0.971; largest p = 0.016"),
        ("table-3-bound", "differs", "at most √ln 2 = 0.8326; 2 of 30 values are above"),
        ("images", "agrees", "8000; 1600"),
    ],
)
def test_a_claim_gets_its_verdict(
    checks: dict[str, FigureCheck], key: str, verdict: str, recomputed: str
) -> None:
    assert (checks[key].verdict, checks[key].recomputed) == (verdict, recomputed)


def test_no_reading_of_table_11_gives_the_published_agreement(checks: dict[str, FigureCheck]) -> None:
    means = [(row["mean ρ"], row["SD"]) for row in checks["rank-agreement"].details]
    assert means == [("0.219", "0.334"), ("0.382", "0.289"), ("0.509", "0.291"), ("0.152", "0.340")]
    assert ("0.370", "0.300") not in means


def test_published_scores_fit_the_distance_and_not_the_divergence(checks: dict[str, FigureCheck]) -> None:
    check = checks["counts-argument"]
    bits = [row["of 72 above"] for row in rows(check, reading="divergence")]
    nats = [row["of 72 above"] for row in rows(check, reading="distance")]
    assert min(bits) >= 70
    assert min(nats) < 18 < max(nats)
    alike = min(rows(check, reading="distance"), key=lambda row: abs(float(row["VAC"]) - 0.401))
    assert abs(alike["of 72 above"] - 18) <= 3


def test_models_whose_counts_fit_neither_reading_are_named(checks: dict[str, FigureCheck]) -> None:
    told = checks["implied-limit"].explanation
    assert "Imagen 4 and SDXL fit a distance; GPT Image-1, FLUX 2 Pro and Qwen Image lie between" in told
    limits = {row["model"]: float(row["about"]) for row in checks["implied-limit"].details}
    assert {name for name, limit in limits.items() if 0.14 < limit < 0.21} == {
        "GPT Image-1", "FLUX 2 Pro", "Qwen Image"
    }  # fmt: skip


def test_sdxl_is_mostly_floor(checks: dict[str, FigureCheck]) -> None:
    shares = [int(row["floor in mean"][:-1]) for row in rows(checks["counts-argument"], reading="distance")]
    assert shares == sorted(shares)
    assert 68 <= min(shares) <= 76
    assert 94 <= max(shares) <= 100


def test_floors_agree_with_an_independent_simulation(shared: Any) -> None:
    theirs = pl.read_csv(shared / "data" / "soda" / "noise_floor.csv").filter(n=20)
    known = {row["set"]: row for row in theirs.iter_rows(named=True)}
    ours = {row["population"]: row for row in floors()}
    for name, k in (("three", 3), ("five", 5)):
        row = ours[f"eight attributes, {name} equal values"]
        assert row["divergence, bits"] == pytest.approx(known[f"uniform k={k} x8"]["js_bits"], abs=0.003)
        assert row["distance, nats"] == pytest.approx(known[f"uniform k={k} x8"]["dist_nats"], abs=0.006)
