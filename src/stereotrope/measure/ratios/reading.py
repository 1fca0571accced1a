"""Shares of many scenarios as one frame, those of too few pictures left out and counted."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.contract import Bounds
from stereotrope.measure.definitions import require_one_definition
from stereotrope.measure.estimates import scored_alone
from stereotrope.measure.seeds import NOTHING_OF_SEEDS, MeanGap, drawn_by_seed
from stereotrope.measure.tidy import factor_names, to_polars
from stereotrope.measure.units import FEWEST_PROMPTS, SEED_COLUMN, scope_of_levels
from stereotrope.stats import exchange_test, linear_interval, mean_interval, wilson
from stereotrope.stats.arrays import Floats
from stereotrope.tables import LIKE_THESE

_EVEN = 1.5
"""How many times the pictures of one level another may have where their ratios are exchanged."""
_THINNED = 15
"""How often more than that are drawn down to it."""
Unit = Literal["picture", "prompt"]
"""What an interval of a single scenario's share is of: its pictures, or prompts like its own."""

_BOUNDS = ("bound_low", "bound_high")
NO_SHARE = "no scenario has a share"
"""Why a score over scenarios is null."""
OF_THESE = "square-and-add of each scenario's own, of these alone"
FEW_SCENARIOS = f"none over fewer than {FEWEST_PROMPTS} scenarios"
"""What the method says of an interval that so few do not give."""


@dataclass(frozen=True)
class Scenarios:
    """Shares of the scenarios of one combination of factors.

    levels: The combination, with ``attribute``, ``category`` and ``definition``.
    rows: ``value``, ``n``, the counts behind it where the estimates have them, and the factor that tells
        scenarios apart, of those that count.
    excluded: How many do not, by reason.
    """

    levels: dict[str, Any]
    rows: pl.DataFrame
    excluded: dict[str, int]

    def interval(self, unit: Unit, level: float) -> tuple[Floats, Floats]:
        """Interval of each scenario's share: of other pictures of it, or of prompts like its."""
        if unit == "prompt":
            return tuple(self.rows[end].fill_null(np.nan).to_numpy() for end in ("low", "high"))  # type: ignore[return-value]
        return wilson(self.counts, self.rows["n"].to_numpy(), level=level)

    @property
    def counts(self) -> Floats:
        """Pictures that show the value, of each scenario."""
        if "numerator" in self.rows.columns and not self.rows["numerator"].null_count():
            return self.rows["numerator"].to_numpy().astype(np.float64)
        return np.asarray(self.rows["value"].to_numpy() * self.rows["n"].to_numpy())

    def part(self, name: str) -> str:
        """A part of the scenarios, behind the value that is counted."""
        return ": ".join(filter(None, (self.levels.get("category"), name)))


def check_unit(estimates: Any, unit: str, *, reader: str) -> None:
    """Refuse a unit that is none, or intervals by prompt of estimates without intervals."""
    if unit not in get_args(Unit):
        raise UsageError(f"{reader}: unit must be 'picture' or 'prompt', found {unit!r}")
    if unit == "prompt":
        to_polars(estimates, what="estimates", needs=("low", "high"))


def share_of_scenarios(k: int, m: int, level: float) -> dict[str, Any]:
    """A share of scenarios with Wilson's interval, which holds for others like these; of few without."""
    counted = {"value": k / m, "numerator": k, "denominator": m}
    if m < FEWEST_PROMPTS:
        return {**counted, "flags": {"few_levels": True}, "method": f"interval: {FEW_SCENARIOS}"}
    low, high = wilson(k, m, level=level)
    ends = {"low": float(low), "high": float(high), "holds_for": LIKE_THESE}
    return {**counted, **ends, "method": f"Wilson, over {m} scenarios"}


def mean_over_scenarios(
    values: Floats,
    level: float,
    scale: Bounds,
    ends: tuple[Floats, Floats] | None = None,
    seeds: MeanGap = NOTHING_OF_SEEDS,
) -> dict[str, Any]:
    """Mean of scores with its interval, which holds for other scenarios like these.

    ends: Interval of each score by its pictures: what that of the mean is of where scenarios are few, and
        holds for these. None where scores are as biased as pictures are few: there is then none.
    seeds: What seeds do to the mean.
    """
    n = values.size
    mean, low, high, how = mean_interval(values, level=level, scale=scale, reach=seeds.reach)
    if n < FEWEST_PROMPTS:
        low, high, how = np.nan, np.nan, FEW_SCENARIOS
        if ends is not None and n > 1:
            low, high = map(float, linear_interval(values, *ends, np.full(n, 1 / n)))
            how = OF_THESE
    none = bool(np.isnan(low))
    few = none and 1 < n < FEWEST_PROMPTS
    return {
        "value": mean,
        "low": low,
        "high": high,
        "holds_for": None if none else scope_of_levels(n),
        "flags": {"one_level": n == 1, "few_levels": few, "no_variation": none and n >= FEWEST_PROMPTS},
        "method": f"mean over {n} scenarios{seeds.words}; interval: {how}",
    }


@dataclass(frozen=True)
class LevelTable:
    """Shares of scenarios at each level of a factor, in one combination of the other factors.

    levels: The combination, with ``attribute``, ``category`` and ``definition``.
    names, scenarios: Levels of the factor, and scenarios, sorted.
    shares, n: Shape ``(scenarios, levels)``: the share, NaN where a scenario does not count at a level, and
        the pictures that it is of.
    least, most: The same shape: between what the share may be where so many labels are missing that its row
        says so, else NaN.
    drawn: ``scenario, level`` (their places), ``seed, n, sum``: pictures of a share and how many show the
        value, where this is known of all that count.
    """

    levels: dict[str, Any]
    names: list[str]
    scenarios: pl.Series
    shares: Floats
    n: Floats
    least: Floats
    most: Floats
    drawn: pl.DataFrame | None = None

    @property
    def some(self) -> list[bool]:
        """Of each level, whether any scenario counts there."""
        return [not np.isnan(column).all() for column in self.shares.T]

    def kept_by(self, columns: ArrayLike) -> NDArray[np.int64]:
        """The scenarios that count at all of these levels."""
        return np.flatnonzero(~np.isnan(self.shares[:, np.asarray(columns, np.int64)]).any(axis=1))

    def shares_at(self, columns: ArrayLike) -> Floats:
        """The shares at some levels, of the scenarios that count at all of them."""
        return np.asarray(self.shares[self.kept_by(columns)][:, np.asarray(columns, np.int64)])

    def exchanged(self, columns: Sequence[int], at: int) -> tuple[float, float, str]:
        """Whether one of some levels is like the others: :func:`stereotrope.stats.exchange_test`.

        Ratios of unlike numbers of pictures are not exchangeable: near 0 those of few pictures are 0 nearly
        always. Where one level has more than 1.5 times the pictures of another, at most so many of its
        pictures are drawn by chance, and p is twice the mean of some such draws (Vovk and Wang 2020). Up to
        there p ≤ 0.05 comes in up to 0.057 of 3,000 samples of models that are alike (ratios of 0.005 to
        0.05, 12 to 40 scenarios).

        columns, at: The levels, and the place of the one among them.
        Returns: p, the least that it could have been, and how it was made.
        """
        kept = np.ix_(self.kept_by(columns), np.asarray(columns, np.int64))
        shares, n = self.shares[kept], np.rint(self.n[kept]).astype(np.int64)
        most = (_EVEN * n.min(axis=1, initial=np.iinfo(np.int64).max, keepdims=True)).astype(np.int64)
        if (n <= most).all():
            how = "exact" if (n == n[:, :1]).all() else f"exchanged, numbers up to {_EVEN:g} times apart"
            return *exchange_test(shares, at), how
        rng, shown, drawn = (
            np.random.default_rng(0),
            np.rint(shares * n).astype(np.int64),
            np.minimum(n, most),
        )
        each = [
            exchange_test(rng.hypergeometric(shown, n - shown, drawn) / drawn, at) for _ in range(_THINNED)
        ]
        p, least = np.minimum(1.0, 2 * np.mean(each, axis=0)).tolist()
        drawing = f"twice the mean of {_THINNED} draws, seed 0"
        how = f"of at most {_EVEN:g} times the pictures of another level, {drawing}"
        return p, least, how

    def mean(
        self, columns: Sequence[int], weights: Sequence[float], level: float, seeds: MeanGap
    ) -> dict[str, Any]:
        """The mean, over scenarios kept, of a sum of shares; the weights add up to 0."""
        by, kept = np.asarray(weights, np.float64), self.kept_by(columns)
        most, ends = float(by[by > 0].sum()), self.ends(kept, columns, by, level)
        found = mean_over_scenarios(self.shares_at(columns) @ by, level, (-most, most), ends, seeds)
        # p there is where an interval is not.
        holds_for = scope_of_levels(len(kept)) if len(kept) > 1 else None
        flags = {**found["flags"], "few_seeds": seeds.few > 0}
        return {**found, "holds_for": holds_for, "flags": flags}

    def ends(
        self, scenarios: NDArray[np.int64], columns: Sequence[int], weights: ArrayLike, level: float
    ) -> tuple[Floats, Floats]:
        """Intervals of a sum of the shares of each scenario, by Wilson's of each."""
        at = np.ix_(scenarios, np.asarray(columns, np.int64))
        shares, n = self.shares[at], self.n[at]
        return linear_interval(shares, *wilson(np.minimum(shares * n, n), n, level=level), weights)

    def bounds(self, columns: Sequence[int], weights: Sequence[float]) -> dict[str, float]:
        """What missing labels allow of the mean, over the scenarios kept, of a weighted sum of the shares.

        Nothing where few are missing.
        """
        kept = np.ix_(self.kept_by(columns), np.asarray(columns, np.int64))
        shares, ends = self.shares[kept], (self.least[kept], self.most[kept])
        if np.isnan(ends[0]).all():
            return {}
        least, most = (np.where(np.isnan(end), shares, end) for end in ends)
        signs = np.asarray(weights) > 0
        low, high = (
            float((np.where(signs, up, down) @ np.asarray(weights)).mean())
            for up, down in ((least, most), (most, least))
        )
        return {"bound_low": low, "bound_high": high}

    def seeds(self, columns: Sequence[int], weights: Sequence[float], level: float) -> MeanGap:
        """What seeds do to the mean over scenarios kept of a sum of shares; the weights add up to 0."""
        if self.drawn is None:
            return MeanGap()
        kept = self.kept_by(columns)
        by = pl.DataFrame({"level": list(columns), "by": np.asarray(weights, np.float64)})
        some = self.drawn.filter(pl.col("scenario").is_in(kept)).join(by, on="level", maintain_order="left")
        of = pl.col("n").sum().over("scenario", "level")
        weight = pl.col("by") / of / len(kept)
        drawn = some.select(SEED_COLUMN, "n", "sum", unit="scenario", side="level", weight=weight)
        return MeanGap.of(drawn, level=level)


def read_ratios(
    estimates: Any, *, over: str, within: Sequence[str], kept: float, reader: str, what: str = "within"
) -> tuple[list[str], pl.DataFrame]:
    """Shares by scenario and further factors, and why some do not count.

    estimates: What :func:`stereotrope.measure.female_ratio` or ``share`` returns with ``over`` and ``within``
        in its ``by``; rows that tell further factors apart are not read.
    kept: Part of its pictures that a scenario must have a definite label of, in [0, 1].

    Returns: Columns whose combinations hold scenarios apart, and the rows, ``_why`` null where they count.
    Raises UsageError: A factor is named twice, or ``kept`` is no share.
    Raises TableError: A column is missing, several definitions are given, no row tells these factors alone
        apart, or a scenario stands twice.
    """
    inside = factor_names(within, measure=reader, taken=(over,), what=what)
    if not 0 <= kept <= 1:
        raise UsageError(f"{reader}: kept must lie in [0, 1], found {kept}; 0.5 is half of the pictures")
    frame = to_polars(estimates, what="estimates", needs=("definition", "value", "n", over, *inside))
    require_one_definition(frame)
    alone = scored_alone(frame, over, inside)
    keys = [c for c in (*inside, "attribute", "category", "definition") if c in alone.columns]
    if alone.select(*keys, over).is_duplicated().any():
        raise TableError(f"estimates: a level of {over!r} stands twice; keep one row each")
    excluded = pl.col("n_excluded").fill_null(0) if "n_excluded" in alone.columns else pl.lit(0)
    enough = pl.col("n") >= kept * (pl.col("n") + excluded)
    reason = pl.when(pl.col("value").is_null()).then(pl.lit("no share"))
    few = pl.lit(f"a definite label of less than {kept:.0%} of the pictures")
    return keys, alone.with_columns(_why=reason.when(~enough).then(few))


def scenarios_of(
    estimates: Any, *, over: str, within: Sequence[str], kept: float, reader: str
) -> tuple[tuple[str, ...], Iterator[Scenarios]]:
    """Shares by scenario, in each combination of factors: see :func:`read_ratios`.

    Returns: Factors of the combinations, and these in the order in which they come.
    """
    keys, frame = read_ratios(estimates, over=over, within=within, kept=kept, reader=reader)
    columns = [c for c in (over, "value", "n", "numerator", "low", "high") if c in frame.columns]

    def parts() -> Iterator[Scenarios]:
        for key, part in frame.group_by(keys, maintain_order=True):
            left = Counter(part["_why"].drop_nulls())
            rows = part.filter(pl.col("_why").is_null()).select(columns)
            yield Scenarios(dict(zip(keys, key, strict=True)), rows, left)

    return tuple(within), parts()


def level_tables(
    estimates: Any, *, over: str, among: str, within: Sequence[str], kept: float, reader: str
) -> tuple[tuple[str, ...], Iterator[LevelTable]]:
    """Shares by scenario and level of the factor ``among``: see :func:`read_ratios`.

    Returns: Factors of the combinations, and these in the order in which they come.
    """
    inside = factor_names(within, measure=reader, taken=(over, among))
    keys, frame = read_ratios(estimates, over=over, within=(*inside, among), kept=kept, reader=reader)
    keys.remove(among)
    there = [name for name in _BOUNDS if name in frame.columns]
    frame = frame.filter(pl.col(among).is_not_null()).with_columns(
        pl.when(pl.col("_why").is_null()).then(pl.col("value", *there)),
        *(pl.lit(None, pl.Float64).alias(name) for name in _BOUNDS if name not in there),
    )

    def parts() -> Iterator[LevelTable]:
        for key, part in frame.group_by(keys, maintain_order=True):
            names = part[among].unique().sort().to_list()
            # In the order of their names, so that no order of rows decides how sums are rounded.
            read = ["value", "n", *_BOUNDS]
            drawn = drawn_by_seed(part.drop_nulls("value")["by_seed"]) if "by_seed" in part.columns else None
            wide = part.pivot(on=among, index=over, values=read).sort(over)
            numbers = (
                wide.select(pl.col(f"{column}_{name}").cast(pl.Float64) for name in names)
                .fill_null(np.nan)
                .to_numpy()
                for column in read
            )
            if drawn is not None:
                at = {"scenario": wide[over], "level": pl.Series(names)}
                cells = part.drop_nulls("value").select(level=among, scenario=over)
                drawn = drawn.with_columns(
                    cells[name][drawn["row"]].replace_strict(of, range(len(of)), return_dtype=pl.Int64)
                    for name, of in at.items()
                )
            shares, n, least, most = numbers
            levels = dict(zip(keys, key, strict=True))
            yield LevelTable(levels, names, wide[over], shares, n, least, most, drawn)

    return inside, parts()
