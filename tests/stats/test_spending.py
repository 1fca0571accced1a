"""How much of the error each look at growing data is given."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from stereotrope.errors import UsageError
from stereotrope.stats import look_alpha


def given(n: int, planned: int | None = None, alpha: float = 0.05) -> list[float]:
    found: list[float] = []
    for _ in range(n):
        found.append(look_alpha(sum(found), planned=planned, alpha=alpha))
    return found


def test_any_number_of_looks_spend_no_more_than_there_is() -> None:
    assert given(4) == pytest.approx([0.04, 0.005, 0.0025, 0.00125])
    assert sum(given(60)) <= 0.05
    assert min(given(20)) > 0


@pytest.mark.parametrize("planned", [1, 2, 3, 7])
def test_planned_looks_share_the_error_and_one_more_has_nothing(planned: int) -> None:
    *own, more = given(planned + 1, planned)
    assert own == pytest.approx([0.05 / planned] * planned)
    assert more == 0.0


def test_a_changed_plan_cannot_spend_what_is_gone() -> None:
    assert look_alpha(0.04, planned=5) == pytest.approx(0.01)
    assert look_alpha(0.05, planned=None) == 0.0
    assert look_alpha(0.05, planned=10) == 0.0
    assert look_alpha(0.025, planned=None) == pytest.approx(0.015)


def test_fewer_than_one_planned_look_is_refused() -> None:
    with pytest.raises(UsageError, match="planned must be at least 1, found 0; pass None for any number"):
        look_alpha(planned=0)


@pytest.mark.parametrize("sizes", [[1, 2, 3, 4, 5], [1, 2, 4, 8, 16], [10, 11, 12, 13, 14]])
def test_five_looks_at_growing_data_keep_their_level(sizes: list[int]) -> None:
    rng = np.random.default_rng(1)
    steps = np.diff([0, *sizes])
    sums = np.cumsum(rng.normal(size=(200_000, 5)) * np.sqrt(steps), axis=1)
    p = 2 * norm.sf(np.abs(sums) / np.sqrt(sizes))
    assert np.mean((p <= 0.05).any(axis=1)) > 0.075
    for planned in (None, 5):
        assert np.mean((p <= given(5, planned)).any(axis=1)) <= 0.046


def test_a_second_sample_of_the_worst_size_errs_as_the_docstring_says() -> None:
    def worst(first: float, second: float) -> float:
        """With z at the first look, the best share of old data is (z/c)²: Φ(−√(c² − z²)) remains."""
        c, d = norm.isf(first / 2), norm.isf(second / 2)
        upper = quad(lambda z: norm.pdf(z) * norm.sf(np.sqrt(max(d**2 - z**2, 0.0))), 0, min(c, d))[0]
        return float(first + 2 * (upper + norm.sf(d) * (norm.cdf(c) - 0.5)))

    assert worst(*given(2)) == pytest.approx(0.047, abs=5e-4)
    assert worst(*given(2, 2)) == pytest.approx(0.065, abs=5e-4)


def test_a_look_at_data_that_were_cut_short_leaves_nearly_all_to_the_whole() -> None:
    first = look_alpha(complete=0.1)
    assert first == pytest.approx(0.04 * 0.001)
    assert look_alpha(first) == pytest.approx(0.04 - first)
    nearly = look_alpha(complete=0.99)
    assert look_alpha(nearly) == pytest.approx((0.05 - nearly) / 2)
    assert look_alpha(planned=2, complete=0.5) == pytest.approx(0.025 / 8)
    assert look_alpha(complete=0.0) == 0.0


def told(p: np.ndarray, alpha: float) -> np.ndarray:
    """What Benjamini and Hochberg's procedure tells of each row of p-values."""
    m = p.shape[-1]
    ordered = np.sort(p, axis=-1)
    below = ordered <= alpha * np.arange(1, m + 1) / m
    last = m - 1 - np.argmax(below[..., ::-1], axis=-1, keepdims=True)
    limit = np.take_along_axis(ordered, last, axis=-1)
    return below.any(axis=-1, keepdims=True) & (p <= limit)


def grown(alphas: list[float], sizes: list[int], *, m: int, planted: float, n: int) -> tuple[float, ...]:
    """Of whole lists, tests of which correlate at one half: any false one, part of false ones, power."""
    rng = np.random.default_rng(5)
    true = rng.random((n, 1, m)) < planted
    noise = np.sqrt(0.5) * (rng.normal(size=(n, len(sizes), 1)) + rng.normal(size=(n, len(sizes), m)))
    steps = np.diff([0, *sizes])[:, None]
    sums = np.cumsum(noise * np.sqrt(steps) + 0.15 * true * steps, axis=1)
    p = 2 * norm.sf(np.abs(sums) / np.sqrt(sizes)[:, None])
    union = np.any([told(p[:, k], alpha) for k, alpha in enumerate(alphas)], axis=0)
    false, right, real = union & ~true[:, 0], union & true[:, 0], true[:, 0].sum(axis=1)
    part = false.sum(axis=1) / np.maximum(union.sum(axis=1), 1)
    power = right.sum(axis=1) / np.maximum(real, 1)
    return float(false.any(axis=1).mean()), float(part.mean()), float(power.mean())


def cut_short(sizes: list[int]) -> list[float]:
    found: list[float] = []
    for size in sizes:
        found.append(look_alpha(sum(found), complete=size / sizes[-1]))
    return found


def test_whole_lists_of_five_looks_keep_their_level() -> None:
    evenly, doubling = [20, 40, 60, 80, 100], [20, 40, 80, 160, 320]
    naive, _, _ = grown([0.05] * 5, evenly, m=20, planted=0, n=3_000)
    assert naive > 0.09
    for sizes in (evenly, doubling):
        for alphas in (given(5), given(5, 5), cut_short(sizes)):
            any_false, _, _ = grown(alphas, sizes, m=20, planted=0, n=3_000)
            assert any_false <= 0.05
            _, part, _ = grown(alphas, sizes, m=60, planted=0.1, n=1_000)
            assert part <= 0.05


def test_looks_that_were_planned_lose_less_than_any_number_of_them() -> None:
    sizes = [20, 40, 80, 160, 320]
    rules = ([0.0] * 4 + [0.05], cut_short(sizes), given(5, 5), given(5))
    power = [grown(alphas, sizes, m=60, planted=0.1, n=1_000)[2] for alphas in rules]
    assert power == sorted(power, reverse=True)
    assert power[1] > 0.85 * power[0]


@pytest.mark.slow
@pytest.mark.parametrize("m", [1, 20, 320])
@pytest.mark.parametrize("planted", [0.0, 0.1])
@pytest.mark.parametrize("sizes", [[20, 40, 60, 80, 100], [20, 40, 80, 160, 320]], ids=["evenly", "doubling"])
def test_five_looks_by_every_rule(m: int, planted: float, sizes: list[int], capsys) -> None:
    rules = {
        "one look": [0.0] * 4 + [0.05],
        "5% each": [0.05] * 5,
        "open": given(5),
        "5 planned": given(5, 5),
        "cut short": cut_short(sizes),
    }
    for name, alphas in rules.items():
        any_false, part, power = grown(alphas, sizes, m=m, planted=planted, n=3_000)
        with capsys.disabled():
            print(
                f"\n{m} tests, {planted:.0%} planted, {sizes}, {name}: {any_false:.3f} {part:.3f} {power:.3f}"
            )
        assert name == "5% each" or part <= 0.055
