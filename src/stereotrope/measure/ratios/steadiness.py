"""Ratios on average, what fewer pictures would have shown of them, and how uneven they are."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from stereotrope.errors import UsageError
from stereotrope.measure.contract import Bounds, register
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.ratios.reading import NO_SHARE, Scenarios, mean_over_scenarios, scenarios_of
from stereotrope.stats import normal_quantile, share_deviation, special
from stereotrope.stats.arrays import Floats

_SHARES = np.linspace(0.0, 1.0, 2_001)


@register(
    suite="everyday",
    bounds=(0.0, 1.0),
    direction="0.5: both equally often; every scenario counts the same",
    source="everyday gender, section 4; Student 1908",
    needs="estimates",
    on="female_ratio",
)
def mean_ratio(
    estimates: Any,
    over: str = "scenario",
    *,
    within: Sequence[str] = ("generator",),
    kept: float = 0.5,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How often scenarios show a value on average, whatever their numbers of pictures.

    Formula
    -------
    :math:`\frac1m Σ_p R(p)` over the ``m`` scenarios.

    Parameters
    ----------
    estimates, over, within, kept, level
        As for :func:`stereotrope.measure.stability`.

    Returns
    -------
    polars.DataFrame
        Estimates; ``value`` in [0, 1], ``n`` the scenarios. The interval
        (:func:`stereotrope.stats.mean_interval`) says how the mean would vary with other scenarios like
        these; over two and three it is of these alone (``holds_for`` = ``these prompts``), Wilson's of each
        squared and added (:func:`stereotrope.stats.linear_interval`).

    Undefined
    ---------
    ``no scenario has a share``. The interval is null with one scenario, or where all are equal.

    Notes
    -----
    A share of all pictures of a group of prompts takes each prompt for a unit of its own, the wordings of one
    scenario too, which are alike: this is over scenarios. The interval covered 0.95
    to 0.99 over 4 to 60 scenarios, ratios near one half, spread, or mostly near 0, and 0.92 to 1.00 over two
    and three.
    Half of the scenarios at 0 and half at 1 average to one half: see
    :func:`stereotrope.measure.dominated`.

    References
    ----------
    “Large-scale gender analysis”, section 4; Student (1908), Biometrika 6.

    Examples
    --------
    >>> import polars as pl
    >>> ratios = pl.DataFrame({
    ...     "measure": "female_ratio", "definition": "everyday", "generator": "m", "attribute": "gender",
    ...     "scenario": ["cooking", "driving"], "value": [0.5, 0.25], "n": [200, 120],
    ... })
    >>> mean_ratio(ratios)["value"].to_list()
    [0.375]
    """
    read = scenarios_of(estimates, over=over, within=within, kept=kept, reader="mean_ratio")
    scores = {None: (lambda p: p, (0.0, 1.0))}
    return _means("mean_ratio", read, scores, level=level, place="section 4", unbiased=True)


@register(
    suite="everyday",
    bounds=(0.0, 0.5),
    direction="0: so many pictures give the same ratio again",
    source="everyday gender, appendix D.1",
    needs="estimates",
    on="female_ratio",
)
def stability(
    estimates: Any,
    over: str = "scenario",
    *,
    within: Sequence[str] = ("generator",),
    pictures: Sequence[int] = (20, 25, 30, 40, 50, 100, 150, 200),
    kept: float = 0.5,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How far the ratio of a scenario strays when fewer pictures are drawn.

    Formula
    -------
    :math:`\frac1m Σ_p E|X_p/n - R_p|` over the ``m`` scenarios, with :math:`X_p` the count among ``n``
    pictures drawn with replacement, which is binomial: what a bootstrap converges to, in closed form
    (:func:`stereotrope.stats.share_deviation`).

    Parameters
    ----------
    estimates, over, within
        Ratios by scenario (:func:`stereotrope.measure.female_ratio`); the factor that tells scenarios apart;
        factors whose combinations are the cells.
    pictures
        Numbers of pictures, a row each (``category``, behind that of the estimates where they have one).
    kept, level
        Part of its pictures that a scenario must have a definite label of; nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates; ``value`` in [0, 0.5], ``n`` the scenarios. The interval is as of
        :func:`stereotrope.measure.mean_ratio` over four scenarios and more.

    Undefined
    ---------
    ``no scenario has a share``. The interval is null below four scenarios (``few_levels``), or where all are
    equal.

    Notes
    -----
    The ratios are themselves of a sample: those of few pictures lie further apart than they should, and read
    a little steadier than they are, by 0.004 to 0.007 of a true 0.02 to 0.09 with 20 pictures a scenario. At
    :math:`R = 0` and :math:`R = 1` a scenario counts as wholly steady. The interval is of what scenarios with
    as many pictures read. It covered 0.94 to 0.99 over 3 to 60 scenarios; where all ratios are near one half,
    up to twice as wide as Student's, 0.93 to 0.96.

    References
    ----------
    “Large-scale gender analysis”, appendix D.1 (1,000 bootstrap samples); De Moivre (1730).

    Examples
    --------
    >>> import polars as pl
    >>> ratios = pl.DataFrame({
    ...     "measure": "female_ratio", "definition": "everyday", "generator": "m", "attribute": "gender",
    ...     "scenario": ["cooking", "driving"], "value": [0.5, 0.9], "n": [200, 200],
    ... })
    >>> stability(ratios, pictures=[20, 200])["value"].round(3).to_list()
    [0.07, 0.023]
    """
    if not pictures or any(n < 1 for n in pictures):
        raise UsageError(f"stability: pictures must be numbers from 1 on, found {list(pictures)}")
    scores = {str(n): (partial(share_deviation, n=n), (0.0, _most_deviation(n))) for n in pictures}
    read = scenarios_of(estimates, over=over, within=within, kept=kept, reader="stability")
    return _means("stability", read, scores, level=level, place="appendix D.1")


def _most_deviation(n: int) -> float:
    """The greatest that :func:`share_deviation` can be with so many pictures, near a share of one half."""
    return float(share_deviation(_SHARES, n).max())


@register(
    suite="everyday",
    bounds=(0.0, 1.0),
    direction="1: every scenario shows both equally often; 0: each shows one only",
    source="everyday gender, appendix F.2",
    needs="estimates",
    on="female_ratio",
)
def ratio_entropy(
    estimates: Any,
    over: str = "scenario",
    *,
    within: Sequence[str] = ("generator",),
    kept: float = 0.5,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How even ratios are: the mean entropy of female and male over scenarios.

    Formula
    -------
    :math:`\frac1m Σ_p H(R_p)`, :math:`H(R) = -R\log_2 R - (1-R)\log_2(1-R)` bits.

    Parameters
    ----------
    estimates, over, within, kept, level
        As for :func:`stereotrope.measure.stability`.

    Returns
    -------
    polars.DataFrame
        Estimates; ``value`` in [0, 1] bits, ``n`` the scenarios. The interval is as of
        :func:`stereotrope.measure.mean_ratio` over four scenarios and more.

    Undefined
    ---------
    ``no scenario has a share``. The interval is null below four scenarios (``few_levels``), or where all are
    equal.

    Notes
    -----
    The entropy of a sample is too low by about :math:`1/(2n\ln 2)` bits: 0.004 at 200 pictures, 0.036 at 20;
    more where wordings of a scenario differ (0.02 and 0.05 at a correlation of 0.1). The interval is of what
    scenarios with as many pictures read, and does not hold the entropy in the long run. It covered 0.94 to
    0.99 over 3 to 60 scenarios; where seven in eight show one value only, 0.97 to 1.00 of the studies in
    which not all do. Models compare where their scenarios have about as many pictures. Low says that
    scenarios are one-sided, not to which side.

    References
    ----------
    “Large-scale gender analysis”, appendix F.2; Miller (1955) for the bias.

    Examples
    --------
    >>> import polars as pl
    >>> ratios = pl.DataFrame({
    ...     "measure": "female_ratio", "definition": "everyday", "generator": "m", "attribute": "gender",
    ...     "scenario": ["cooking", "driving"], "value": [0.5, 0.0], "n": [200, 200],
    ... })
    >>> ratio_entropy(ratios)["value"].to_list()
    [0.5]
    """
    scores = {None: (lambda p: (special.entr(p) + special.entr(1 - p)) / np.log(2), (0.0, 1.0))}
    read = scenarios_of(estimates, over=over, within=within, kept=kept, reader="ratio_entropy")
    return _means("ratio_entropy", read, scores, level=level, place="appendix F.2")


def _means(
    name: str,
    read: tuple[tuple[str, ...], Iterable[Scenarios]],
    scores: Mapping[Any, tuple[Callable[[Floats], Floats], Bounds]],
    *,
    level: float,
    place: str,
    unbiased: bool = False,
) -> pl.DataFrame:
    """Means over the scenarios that were read of scores of their shares, each with its scale.

    unbiased: Whether the scores are the shares themselves.
    """
    normal_quantile(level)
    factors, cells = read
    rows = []
    for cell in cells:
        shared = {
            **cell.levels,
            "measure": name,
            "n": cell.rows.height,
            "excluded": cell.excluded,
            "level": level,
            "source": f"everyday gender, {place}",
        }
        for number, (score, scale) in scores.items():
            told = [part for part in (cell.levels.get("category"), number) if part is not None]
            category = ": ".join(told) or None
            if not cell.rows.height:
                rows.append({**shared, "category": category, "undefined": NO_SHARE})
                continue
            values = score(cell.rows["value"].to_numpy())
            ends = cell.interval("picture", level) if unbiased else None
            rows.append({**shared, "category": category, **mean_over_scenarios(values, level, scale, ends)})
    return estimate_frame(rows, factors=factors)
