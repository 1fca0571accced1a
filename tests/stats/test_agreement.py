from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import UsageError
from stereotrope.stats import (
    agreement_interval,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    pearson,
    rater_agreement,
    spearman,
)
from stereotrope.stats.arrays import mid_ranks


def test_kappa_by_hand() -> None:
    # p_o = 35/50, p_e = 0.5·0.6 + 0.5·0.4 = 0.5.
    assert float(cohen_kappa([[20, 5], [10, 15]])) == pytest.approx(0.4)


def test_kappa_is_1_in_full_agreement_and_0_in_expectation_by_chance() -> None:
    assert float(cohen_kappa([[3, 0], [0, 4]])) == pytest.approx(1.0)
    rows, columns = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])
    assert float(cohen_kappa(np.outer(rows, columns))) == pytest.approx(0.0, abs=1e-12)


def test_kappa_works_over_leading_axes() -> None:
    stack = np.array([[[20, 5], [10, 15]], [[3, 0], [0, 4]]])
    assert cohen_kappa(stack).tolist() == pytest.approx([0.4, 1.0])


@pytest.mark.parametrize("table", [[[0, 0], [0, 0]], [[9, 0], [0, 0]]])
def test_kappa_is_undefined_without_pairs_or_variation(table: list[list[int]]) -> None:
    assert np.isnan(cohen_kappa(table))


def test_what_is_no_confusion_matrix_is_refused() -> None:
    with pytest.raises(UsageError, match=r"as many rows as columns, found the shape \(1, 2\)"):
        cohen_kappa([[1, 2]])
    with pytest.raises(UsageError, match="found a negative one"):
        cohen_kappa([[1, -2], [0, 0]])


@pytest.mark.parametrize("shape", [(5,), (1,), (300,), (0,), (0, 4), (3, 0), (1000, 1), (200, 9)])
def test_ranks_are_those_of_scipy_with_ties_and_without(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    for table in (rng.integers(0, 4, shape).astype(float), rng.normal(size=shape), np.full(shape, -0.0)):
        assert np.array_equal(mid_ranks(table), scipy_stats.rankdata(table, axis=-1) if table.size else table)


def test_correlations_agree_with_scipy_with_ties() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 6, size=40), rng.integers(0, 6, size=40)
    assert pearson(x, y) == pytest.approx(scipy_stats.pearsonr(x, y).statistic)
    assert spearman(x, y) == pytest.approx(scipy_stats.spearmanr(x, y).statistic)


def test_pairs_with_a_missing_side_are_left_out_before_ranking() -> None:
    assert spearman([1, 2, np.nan, 3], [1, 2, 99, 3]) == pytest.approx(1.0)
    assert pearson([1, 2, 3, 4], [1, 2, 3, np.nan]) == pytest.approx(1.0)


@pytest.mark.parametrize("correlate", [pearson, spearman])
@pytest.mark.parametrize(("x", "y"), [([], []), ([1], [2]), ([1, 1, 1], [1, 2, 3]), ([0.1] * 3, [1, 2, 3])])
def test_correlation_is_undefined_where_nothing_varies(correlate, x, y) -> None:
    assert np.isnan(correlate(x, y))


@pytest.mark.parametrize("correlate", [pearson, spearman])
def test_values_that_do_not_pair_up_are_refused(correlate) -> None:
    with pytest.raises(UsageError, match="found 2 and 1 values"):
        correlate([1, 2], [1])


# Krippendorff (2011), section C: four observers, twelve units.
OBSERVERS = """
    1 2 3 3 2 1 4 1 2 . . .
    1 2 3 3 2 2 4 1 2 5 . 3
    . 3 3 3 2 3 4 2 2 5 1 .
    1 2 3 3 2 4 4 1 2 5 1 .
"""
# Fleiss (1971), table 1: 30 patients, six psychiatrists, five diagnoses.
PATIENTS = """
    00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
    00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""


def observed_twice() -> np.ndarray:
    rows = [line.split() for line in OBSERVERS.strip().splitlines()]
    counts = np.zeros((12, 5))
    for row in rows:
        for unit, value in enumerate(row):
            if value != ".":
                counts[unit, int(value) - 1] += 1
    return counts


def diagnoses() -> np.ndarray:
    return np.array([[int(n) for n in patient] for patient in PATIENTS.split()], float)


def test_alpha_of_the_published_example() -> None:
    assert float(krippendorff_alpha(observed_twice())) == pytest.approx(0.743, abs=5e-4)
    assert float(krippendorff_alpha(observed_twice(), ordinal=True)) == pytest.approx(0.815, abs=5e-4)


def test_fleiss_kappa_of_the_published_table() -> None:
    counts = diagnoses()
    assert counts.sum(axis=0).tolist() == [26, 26, 30, 55, 43]
    assert float(rater_agreement(counts)) == pytest.approx(0.5556, abs=5e-5)
    assert float(fleiss_kappa(counts)) == pytest.approx(0.430, abs=5e-4)


def test_unequal_numbers_of_raters_give_the_published_coefficients_of_gwet() -> None:
    # The package irrCAC of Gwet prints these of the same observers (cac.raw4raters).
    assert float(fleiss_kappa(observed_twice())) == pytest.approx(0.76117, abs=5e-6)
    assert float(gwet_ac1(observed_twice())) == pytest.approx(0.77544, abs=5e-6)


def test_ac1_keeps_its_meaning_where_one_value_is_rare() -> None:
    # 118 of 125 pairs alike, 7 not: κ is below 0 (Gwet 2008, section 2: the paradox of κ).
    counts = np.repeat([[2.0, 0.0], [1.0, 1.0]], [118, 7], axis=0)
    assert float(gwet_ac1(counts)) == pytest.approx((0.944 - 0.054432) / (1 - 0.054432))
    assert float(fleiss_kappa(counts)) < 0
    assert float(cohen_kappa([[118, 5], [2, 0]])) == pytest.approx(-0.0234, abs=5e-5)


def by_pairs_of_labels(counts: np.ndarray, ordinal: bool) -> float:
    """α from every pair of labels, as Krippendorff defines it, without a coincidence matrix."""
    units = [[v for v, n in enumerate(row) for _ in range(int(n))] for row in counts]
    units = [unit for unit in units if len(unit) > 1]
    pooled = [v for unit in units for v in unit]
    totals = [pooled.count(v) for v in range(counts.shape[1])]

    def apart(a: int, b: int) -> float:
        low, high = sorted((a, b))
        steps = sum(totals[low : high + 1]) - (totals[low] + totals[high]) / 2
        return steps**2 if ordinal else float(a != b)

    n = len(pooled)
    seen = sum(
        apart(a, b) / (len(unit) - 1)
        for unit in units
        for i, a in enumerate(unit)
        for j, b in enumerate(unit)
        if i != j
    )
    chance = sum(apart(a, b) for i, a in enumerate(pooled) for j, b in enumerate(pooled) if i != j)
    return 1 - (seen / n) / (chance / (n * (n - 1)))


def by_loops(counts: np.ndarray) -> tuple[float, float]:
    """Fleiss' κ and AC1 from their sums."""
    several = [row for row in counts if row.sum() > 1]
    observed = sum(sum(n * (n - 1) for n in row) / (row.sum() * (row.sum() - 1)) for row in several)
    observed /= len(several)
    rated = [row / row.sum() for row in counts if row.sum() > 0]
    shares = [sum(row[v] for row in rated) / len(rated) for v in range(counts.shape[1])]
    fleiss, gwet = sum(p * p for p in shares), sum(p * (1 - p) for p in shares) / (len(shares) - 1)
    return (observed - fleiss) / (1 - fleiss), (observed - gwet) / (1 - gwet)


@pytest.mark.parametrize("seed", range(12))
def test_coefficients_equal_those_of_their_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, raters = int(rng.integers(2, 6)), int(rng.integers(2, 7))
    given = rng.multinomial(raters, rng.dirichlet(np.ones(k)), size=25)
    counts = (given * (rng.random(given.shape) < 0.8)).astype(float)
    assert float(krippendorff_alpha(counts)) == pytest.approx(by_pairs_of_labels(counts, False), abs=1e-12)
    ordinal = krippendorff_alpha(counts, ordinal=True)
    assert float(ordinal) == pytest.approx(by_pairs_of_labels(counts, True), abs=1e-12)
    both = float(fleiss_kappa(counts)), float(gwet_ac1(counts))
    assert both == pytest.approx(by_loops(counts), abs=1e-12)


@pytest.mark.parametrize("score", [krippendorff_alpha, rater_agreement, fleiss_kappa, gwet_ac1])
def test_a_weight_is_how_often_a_unit_counts_over_leading_axes(score) -> None:
    rng = np.random.default_rng(2)
    counts = observed_twice()
    weights = rng.integers(0, 3, (7, 12))
    repeated = [float(score(np.repeat(counts, w, axis=0))) for w in weights]
    assert score(counts, weights=weights).tolist() == pytest.approx(repeated, abs=1e-12)
    stacked = score(np.stack([counts, counts[::-1]]), weights=np.stack([weights[0], weights[0][::-1]]))
    assert stacked.tolist() == pytest.approx([repeated[0]] * 2, abs=1e-12)


@pytest.mark.parametrize("score", [krippendorff_alpha, rater_agreement, fleiss_kappa, gwet_ac1])
def test_agreement_is_1_in_full_agreement_and_undefined_without_two_labels(score) -> None:
    assert float(score([[3, 0], [0, 3], [3, 0]])) == pytest.approx(1.0)
    assert np.isnan(score([[1, 0], [0, 1], [0, 0]]))
    assert np.isnan(score(np.zeros((0, 2))))


def test_without_variation_there_is_nothing_beyond_chance() -> None:
    alike = [[3, 0], [2, 0]]
    assert np.isnan(krippendorff_alpha(alike))
    assert np.isnan(krippendorff_alpha(alike, ordinal=True))
    assert np.isnan(fleiss_kappa(alike))
    assert float(gwet_ac1(alike)) == pytest.approx(1.0)
    assert np.isnan(gwet_ac1([[3], [2]]))


def test_what_is_no_table_of_counts_is_refused() -> None:
    with pytest.raises(UsageError, match=r"one row a unit and one column a value, found the shape \(2,\)"):
        krippendorff_alpha([1, 2])
    with pytest.raises(UsageError, match="found a negative count"):
        gwet_ac1([[1, -2]])
    with pytest.raises(UsageError, match=r"one number a unit, found the shape \(3,\) for 1 units"):
        fleiss_kappa([[1, 2]], weights=[1, 1, 1])


def test_the_interval_lies_below_1_and_is_undefined_where_nothing_varies() -> None:
    # Jackknife: left out 0.9, 0.8 and 0.7 around 0.8 give e = sqrt(2/3 · 0.02), t_2 = 4.3027.
    low, high = agreement_interval(0.8, [0.9, 0.8, 0.7])
    reach = 4.302653 * np.sqrt(2 / 3 * 0.02) / 0.2
    assert (low, high) == pytest.approx((1 - 0.2 * np.exp(reach), 1 - 0.2 * np.exp(-reach)), rel=1e-6)
    assert np.isnan(agreement_interval(1.0, [1.0, 1.0])).all()
    assert np.isnan(agreement_interval(0.5, [0.5, 0.5])).all()
    assert np.isnan(agreement_interval(0.5, [0.5])).all()
