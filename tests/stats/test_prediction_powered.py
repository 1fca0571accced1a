"""Prediction-powered shares: by hand, by their definition, and how often intervals hold the truth."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from stereotrope.errors import UsageError
from stereotrope.stats import effective_counts, newcombe, normal_quantile, prediction_powered_share, wilson

RIGHT = (0.6, 0.75, 0.9, 0.95, 0.99)
SHARES = (0.05, 0.1, 0.3, 0.5, 0.9)


def tables(
    rng: np.random.Generator, repeats: int, n: int, more: int, share: float, right: float
) -> tuple[np.ndarray, np.ndarray]:
    """Independent things that an annotator labels rightly with one probability, whatever they are."""
    yes = rng.binomial(n, share, repeats)
    hit, slip = rng.binomial(yes, right), rng.binomial(n - yes, 1 - right)
    both = np.stack([np.stack([n - yes - slip, slip], -1), np.stack([yes - hit, hit], -1)], -2)
    said = rng.binomial(more, share * right + (1 - share) * (1 - right), repeats)
    return both[:, None].astype(float), np.stack([more - said, said], -1)[:, None].astype(float)


def clusters(
    rng: np.random.Generator, repeats: int, m: int, size: int, n: int, share: float, right: float, icc: float
) -> tuple[np.ndarray, np.ndarray]:
    """Prompts whose shares, and the annotator's accuracy on them, differ; ``n`` pictures are labelled."""
    spread = 1 / icc - 1
    shares = rng.beta(share * spread, (1 - share) * spread, (repeats, m))
    hits = rng.beta(right * 20, (1 - right) * 20, (repeats, m))
    chosen = [rng.choice(m * size, n, replace=False) // size for _ in range(repeats)]
    labelled = np.stack([np.bincount(one, minlength=m) for one in chosen])
    yes = rng.binomial(labelled, shares)
    hit, slip = rng.binomial(yes, hits), rng.binomial(labelled - yes, 1 - hits)
    both = np.stack([np.stack([labelled - yes - slip, slip], -1), np.stack([yes - hit, hit], -1)], -2)
    shown = rng.binomial(size - labelled, shares)
    said = rng.binomial(shown, hits) + rng.binomial(size - labelled - shown, 1 - hits)
    return both.astype(float), np.stack([size - labelled - said, said], -1).astype(float)


def held(both: np.ndarray, alone: np.ndarray, share: float, **how: bool) -> tuple[float, float]:
    """Coverage, and mean width."""
    value, n, _ = prediction_powered_share(both, alone, **how)
    low, high = wilson(value * n, n)
    return float(((low <= share) & (share <= high)).mean()), float((high - low).mean())


def test_by_hand() -> None:
    # 20 labelled: y = 10, f = 9, both 8; 400 alone: half said yes. Made up: z² things, y and f independent.
    value, n, tuning = prediction_powered_share([[[9, 1], [2, 8]]], [[200, 200]])
    z = normal_quantile(0.95) ** 2
    p, q = 10.5 / 21, 209.5 / 421
    joint, y, f = (8 + z * p * q) / (20 + z), (10 + z * p) / (20 + z), (9 + z * q) / (20 + z)
    covariance = joint - y * f
    expected = covariance / (f * (1 - f)) * 400 / 420
    assert float(tuning) == pytest.approx(expected)
    assert float(value) == pytest.approx(0.5 + expected * (0.5 - 0.45))
    rho = covariance**2 / (y * (1 - y) * f * (1 - f))
    assert float(n) == pytest.approx(20 / (1 - rho * 400 / 420))


def test_with_many_labels_it_is_the_estimator_of_ppi_plus_plus() -> None:
    rng = np.random.default_rng(3)
    y = rng.random(20_000) < 0.3
    f = np.where(rng.random(20_000) < 0.8, y, ~y)
    other = rng.random(60_000) < 0.35
    both = [[[np.sum(~y & ~f), np.sum(~y & f)], [np.sum(y & ~f), np.sum(y & f)]]]
    value, n, tuning = prediction_powered_share(both, [[np.sum(~other), np.sum(other)]])
    # λ = Cov(y, f) / ((1 + n/N) Var(f)), the variance that of f over both samples.
    whole = np.concatenate([f, other])
    tuned = np.cov(y, f)[0, 1] / ((1 + 20_000 / 60_000) * whole.var())
    assert float(tuning) == pytest.approx(tuned, rel=0.03)
    assert float(value) == pytest.approx(y.mean() + tuned * (other.mean() - f.mean()), abs=1e-3)
    variance = np.var(y - tuned * f) / 20_000 + tuned**2 * other.var() / 60_000
    assert float(value * (1 - value) / n) == pytest.approx(variance, rel=0.03)


def test_without_further_labels_or_relation_it_is_the_share_of_people() -> None:
    value, n, tuning = prediction_powered_share([[[9, 1], [2, 8]]], [[0, 0]])
    assert (float(value), float(n), float(tuning)) == (0.5, 20.0, 0.0)
    value, n, tuning = prediction_powered_share([[[5, 5], [5, 5]]], [[300, 100]])
    assert float(value) == pytest.approx(0.5, abs=0.01)
    assert float(n) == pytest.approx(20, abs=0.1)
    assert float(tuning) == pytest.approx(0, abs=0.02)


def test_fewer_than_five_labels_of_an_answer_stand_alone() -> None:
    """One error more or less would decide what the annotator's labels are worth."""
    few, enough = (prediction_powered_share([[[40, 1], [0, k]]], [[900, 100]]) for k in (4, 5))
    assert (float(few.value), float(few.n_effective), float(few.tuning)) == (4 / 45, 45.0, 0.0)
    assert enough.n_effective > 60


def test_an_annotator_whose_errors_were_not_seen_is_not_taken_for_perfect() -> None:
    n = float(prediction_powered_share([[[10, 0], [0, 10]]], [[2500, 2500]]).n_effective)
    assert 30 < n < 100


def test_it_is_undefined_without_labels_of_people() -> None:
    for clustered in (False, True):
        assert np.isnan(prediction_powered_share([[[0, 0], [0, 0]]], [[5, 5]], clustered=clustered)).all()


def test_of_clusters_without_further_labels_it_counts_as_effective_counts_do() -> None:
    both = [[[5, 2], [0, 1]], [[1, 0], [2, 5]], [[3, 1], [1, 1]], [[4, 0], [0, 2]]]
    share = prediction_powered_share(both, np.zeros((4, 2)), clustered=True)
    expected = effective_counts([1, 7, 2, 2], [8, 8, 6, 6])
    assert (float(share.value * share.n_effective), float(share.n_effective)) == pytest.approx(expected)


def test_clusters_that_differ_lower_the_effective_number() -> None:
    differ = [[[5, 0], [0, 0]], [[0, 0], [0, 5]]] * 3
    alike = [[[3, 0], [0, 2]], [[2, 0], [0, 3]]] * 3
    alone = [[20, 0], [0, 20]] * 3
    mixed = [[12, 8], [8, 12]] * 3
    one = prediction_powered_share(differ, alone, clustered=True)
    other = prediction_powered_share(alike, mixed, clustered=True)
    assert one.value == pytest.approx(0.5)
    assert one.n_effective < 10 < other.n_effective


def test_all_leading_axes_are_one_call() -> None:
    both, alone = tables(np.random.default_rng(1), 6, 30, 200, 0.3, 0.8)
    together = prediction_powered_share(both.reshape(2, 3, 1, 2, 2), alone.reshape(2, 3, 1, 2))
    alone_one = prediction_powered_share(both[4], alone[4])
    assert together.value.shape == (2, 3)
    assert float(together.value[1, 1]) == float(alone_one.value)
    assert float(together.n_effective[1, 1]) == float(alone_one.n_effective)


@pytest.mark.parametrize("seeds", [False, True])
def test_leading_axes_may_be_none_one_or_several_over_clusters_and_seeds(seeds: bool) -> None:
    rng = np.random.default_rng(2)
    both, alone = clusters(rng, 6, 5, 20, 30, 0.4, 0.8, 0.2)
    people, others, likely = np.full(4, 7.0), np.full(4, 18.0), rng.dirichlet(np.ones(16), 6)

    def powered(at: object, shape: tuple[int, ...]) -> np.ndarray:
        across = [people, others, likely[at].reshape(*shape, 16)] if seeds else None
        tables = both[at].reshape(*shape, 5, 2, 2), alone[at].reshape(*shape, 5, 2)
        return np.stack(prediction_powered_share(*tables, clustered=True, across=across))

    one = powered(slice(None), (6,))
    assert powered(slice(None), (2, 3)).reshape(3, 6) == pytest.approx(one)
    assert powered(2, ()) == pytest.approx(one[:, 2])
    assert powered(slice(0), (0,)).shape == (3, 0)


def test_what_is_no_count_is_refused() -> None:
    with pytest.raises(UsageError, match=r"labelled needs shape .* found \(2, 2\) and \(2,\)"):
        prediction_powered_share([[1, 2], [3, 4]], [1, 2])
    with pytest.raises(UsageError, match="counts must be 0 or more"):
        prediction_powered_share([[[1, -2], [3, 4]]], [[1, 2]])


@pytest.mark.parametrize("repeats", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_intervals_cover_and_are_never_wider_than_of_labels_alone(repeats: int) -> None:
    rng = np.random.default_rng(11)
    slack = 3.5 * np.sqrt(0.05 * 0.95 / repeats)
    for share, right, n, more in product((0.02, *SHARES), RIGHT, (20, 50, 200), (200, 1000, 5000)):
        both, alone = tables(rng, repeats, n, more, share, right)
        covered, width = held(both, alone, share)
        low, high = wilson(both[:, 0, 1].sum(axis=-1), np.full(repeats, n))
        assert width <= 1.02 * float((high - low).mean()), (share, right, n, more)
        least = 0.93 if share > 0.05 else 0.90
        assert covered > least - slack, (share, right, n, more, covered)


@pytest.mark.parametrize(("repeats", "step"), [(100, 5), pytest.param(600, 1, marks=pytest.mark.slow)])
def test_intervals_over_clusters_cover_as_those_of_labels_alone(repeats: int, step: int) -> None:
    rng = np.random.default_rng(12)
    slack = 3.5 * np.sqrt(0.05 * 0.95 / repeats)
    cases = product(((8, 50), (20, 20), (40, 100)), (0.1, 0.5, 0.8), (0.6, 0.8, 0.95), (20, 50), (0.1, 0.3))
    for (m, size), share, right, n, icc in list(cases)[::step]:
        both, alone = clusters(rng, repeats, m, size, n, share, right, icc)
        covered, width = held(both, alone, share, clustered=True)
        yes, of = both[:, :, 1].sum(axis=-1), both.sum(axis=(-2, -1))
        low, high = wilson(*effective_counts(yes.ravel(), of.ravel(), starts=np.arange(repeats) * m))
        by_people = float(((low <= share) & (share <= high)).mean())
        assert width <= 1.02 * float((high - low).mean()), (m, share, right, n, icc)
        assert covered > min(0.93, by_people) - slack, (m, share, right, n, icc, covered)


@pytest.mark.parametrize("repeats", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_differences_cover(repeats: int) -> None:
    rng = np.random.default_rng(13)
    slack = 3.5 * np.sqrt(0.05 * 0.95 / repeats)
    for (one, other), (right, worse), n in product(
        ((0.1, 0.1), (0.3, 0.5), (0.9, 0.6)), ((0.9, 0.9), (0.95, 0.7), (0.6, 0.6)), (20, 50, 200)
    ):
        # An annotator that errs more on one group shows a difference that is not there.
        sides = [tables(rng, repeats, n, 1_000, p, r) for p, r in ((one, right), (other, worse))]
        powered = [prediction_powered_share(*side) for side in sides]
        counts = [x for side in powered for x in (side.value * side.n_effective, side.n_effective)]
        low, high = newcombe(*counts)
        covered = float(((low <= one - other) & (one - other <= high)).mean())
        assert covered > 0.93 - slack, (one, other, right, worse, n, covered)


ERRS = {"alike": ((0.6, 0.6), (0.75, 0.75), (0.9, 0.9), (0.99, 0.99)), "unlike": ((0.95, 0.7),)}
FEW_PROMPTS = [
    *product((4, 6, 10, 20), (0.1, 0.3), ((0.1, 0.1), (0.3, 0.5), (0.9, 0.6), (0.5, 0.5)), (20, 50))
]


@pytest.mark.parametrize("errs", ERRS)
@pytest.mark.parametrize(("repeats", "step"), [(100, 13), pytest.param(600, 1, marks=pytest.mark.slow)])
def test_differences_and_shares_over_few_clusters_cover(errs: str, repeats: int, step: int, capsys) -> None:
    """Both sides over 4 to 20 prompts, of which people labelled 20 or 50 pictures; none wider than labels."""
    slack = 3.5 * np.sqrt(0.05 * 0.95 / repeats)
    every: dict[tuple[str, int, float], list[float]] = {}
    for m, icc, (one, other), n in FEW_PROMPTS[::step]:
        for right, worse in ERRS[errs]:
            rng = np.random.default_rng([m, int(10 * icc), *(int(100 * x) for x in (one, right, worse)), n])
            size = 40 if (m, n) == (4, 50) else 20
            sides = [clusters(rng, repeats, m, size, n, p, r, icc) for p, r in ((one, right), (other, worse))]
            powered = [prediction_powered_share(*side, clustered=True) for side in sides]
            counts = [x for side in powered for x in (side.value * side.n_effective, side.n_effective)]
            people = [(both[:, :, 1].sum(axis=-1), both.sum(axis=(-2, -1))) for both, _ in sides]
            starts = np.arange(repeats) * m
            alone = [x for y, of in people for x in effective_counts(y.ravel(), of.ravel(), starts=starts)]
            case = (m, icc, one, other, right, worse, n)
            for what, true, ends, labels in (
                ("share", one, wilson(*counts[:2]), wilson(*alone[:2])),
                ("difference", one - other, newcombe(*counts), newcombe(*alone)),
            ):
                low, high = ends
                covered = float(((low <= true) & (true <= high)).mean())
                every.setdefault((what, m, icc), []).append(covered)
                assert covered > (0.92 if m < 8 else 0.93) - slack, (what, case, covered)
                assert (high - low).mean() <= 1.02 * (labels[1] - labels[0]).mean(), (what, case)
    assert min(map(np.mean, every.values())) > 0.94 - slack / 2
    if step == 1:
        with capsys.disabled():
            for case, of in every.items():
                print(f"\n{errs} {case}: {min(of):.3f}, {np.mean(of):.3f}, {max(of):.3f}", end="")


@pytest.mark.slow
@pytest.mark.parametrize(("m", "size", "taken"), [(20, 10, 5), (40, 20, 6), (40, 20, 10), (100, 10, 20)])
@pytest.mark.parametrize(
    ("part", "hit", "fail", "least"), [(0.5, 0.95, 0.6, 0.94), (0.8, 0.99, 0.02, 0.94)], ids=["half", "fifth"]
)
def test_prompts_taken_whole_cover_where_the_annotator_errs_by_prompt(
    m: int, size: int, taken: int, part: float, hit: float, fail: float, least: float
) -> None:
    """Errors correlate far more than what people say does, and count by a correlation of their own."""
    repeats, share = 2_000, 0.4
    for icc in (0.1, 0.3):
        rng = np.random.default_rng([m, taken, int(100 * icc)])
        spread = 1 / icc - 1
        shares = rng.beta(share * spread, (1 - share) * spread, (repeats, m))
        hits = np.where(rng.random((repeats, m)) < part, hit, fail)
        yes = rng.binomial(size, shares)
        right, slip = rng.binomial(yes, hits), rng.binomial(size - yes, 1 - hits)
        by_people = np.arange(m) < taken
        both = np.stack([np.stack([size - yes - slip, slip], -1), np.stack([yes - right, right], -1)], -2)
        said = right + slip
        alone = np.stack([size - said, said], -1) * ~by_people[:, None]
        covered, _ = held(both * by_people[:, None, None], alone, share, clustered=True)
        assert covered > least - 3.5 * np.sqrt(0.05 * 0.95 / repeats), (m, icc, covered)
