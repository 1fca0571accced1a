"""Sensitivity and mitigation: how much a score changes when the prompt is put another way."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.contract import register
from stereotrope.measure.divergence.floors import EXCESS, scores_above_floor
from stereotrope.measure.divergence.scores import parts_by
from stereotrope.measure.divergence.vac import RAREFIED
from stereotrope.measure.estimates import estimate_frame, with_q_values
from stereotrope.measure.tidy import factor_names, to_polars
from stereotrope.stats import normal_quantile, paired_t, relative_change, signed_rank, special
from stereotrope.stats.arrays import Floats
from stereotrope.tables import ALL_ATTRIBUTES, ESTIMATE_COLUMNS, LIKE_THESE, THESE_PROMPTS

CHANGE = "_change"
"""Ends the name of the change of a measure."""

OVER_PAIRS = "_change_t"
"""Ends the name of the same change with the p-value of the paired t-test over pairs."""

RANKS = "_change_wilcoxon"
"""Ends the name of the same change with the p-value of Wilcoxon's test over pairs."""

WORDINGS = "phrasing"
"""Factor whose changes are no mitigation."""

ORIGINALS: Mapping[str, str] = {WORDINGS: "for", "mitigation": "none"}

FEW_PAIRS = "fewer than two pairs"
NO_ORIGINAL = "the mean of the original is not above 0"
AT_FLOOR = "the original is not told from its noise floor"
FEWEST_TESTED = 6
"""Pairs below which none of them is a sample of others: a t test leans on a shape that so few cannot show."""
CLEAR = 2.0
"""How many times the reach of its interval a mean excess must be, to be divided by (Fieller's g ≤ 1/4)."""
UNEVEN = 0.2
"""Difference of the images behind the two sides, as a share, from which it is said."""

_SOURCE = "SODA, section 5.5, Table 5; interval and p: Fieller 1954"
_SOURCE_PAIRED = "SODA, section 5.5, Table 5; p: Student 1908"
_SOURCE_RANKS = "SODA, section 5.5, Table 5; p: Wilcoxon 1945"


@register(
    suite="objects",
    bounds=(None, None),
    direction="−0.3: falls by 30%; 0: no change; read CDS and VAC together",
    source="SODA, section 5.5, Tables 5 and 6; Fieller 1954; Student 1908; Wilcoxon 1945",
    needs="estimates",
    also=tuple(one + end for one in ("cds", "vac") for end in (CHANGE, OVER_PAIRS, RANKS)),
    own_bounds=dict.fromkeys(("excess", "paper", "capped", "released"), (-1.0, None)),
    reads=("cds", "vac"),
    read_with={"vac": (RAREFIED,)},
    due=lambda given, setting, calls: setting.varies(given.get("over", "phrasing")),
)
def change(
    estimates: Any,
    over: str = "phrasing",
    *,
    original: str | None = None,
    within: Sequence[str] = ("generator", "object"),
    by: Sequence[str] = ("generator",),
    dimension: str | None = "dimension",
    group: str = "group",
    baseline: str | None = "base",
    score: Literal["value", "excess"] = "excess",
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How much CDS or VAC changes when the prompt is put another way or a mitigation is added.

    Formula
    -------
    :math:`Δ = \bar s_{new}/\bar s_{orig} - 1` with the means over pairs, :math:`s` of one pair (a model and
    object) being the mean of its scores that are known on both sides. A score of CDS is its excess over the
    noise floor, one of VAC its ``vac_rarefied``.

    Parameters
    ----------
    estimates
        What :func:`stereotrope.measure.cds` or :func:`stereotrope.measure.vac` return, with ``over`` as a
        factor; rows for all attributes together are used, those of VAC with their ``vac_rarefied``. Where
        CDS came with ``pairs=True``, its rows for pairs of groups are used, so that both sides compare the
        same groups.
    over, original
        The factor that is changed, and its level that the others are compared with: ``for`` of ``phrasing``
        and ``none`` of ``mitigation`` when None.
    within
        Factors whose combinations are the pairs. Everything else, such as groups, is matched and averaged
        inside a pair; annotators are never put together.
    by
        Factors of ``within`` whose levels get rows of their own; rows over all pairs come first.
    dimension
        Factor whose levels get rows of their own besides those over all; none where the estimates lack it.
    group, baseline
        Rows whose ``group`` is the baseline are left out: it has no cue.
    score, level
        ``excess`` over the noise floor (for VAC, which has no floor by shuffling, ``vac_rarefied``) or
        ``value``, as the paper has it; nominal coverage.

    Returns
    -------
    polars.DataFrame
        Rows of ``cds_change`` or ``vac_change`` with Fieller's interval and p from the standard errors of the
        scores: they hold for prompts like these where all scores do, which are then of whole prompts, else
        for these prompts. Each is followed by one of
        ``…_change_t`` and of ``…_change_wilcoxon``: the same ``value`` and the p-value of the paired t-test
        and of Wilcoxon's signed-rank test over the pairs, which hold for prompts like these. ``value`` is a
        share, never percent: −0.3 is a fall by 30%, and −1, where it is cut, that nothing is left.
        ``q_value`` is Benjamini–Hochberg over the rows of one measure. ``n`` is the number of pairs;
        ``contrast`` is ``over`` and ``reference`` the original. ``definition`` is ``excess``, or by
        ``score="value"`` that of the scores.

    Undefined
    ---------
    ``fewer than two pairs``; ``the original is not told from its noise floor``: a share of what may be
    nothing is no number. It is told from it where the mean excess of the original is at least twice the reach
    of its interval, which is that of the pictures, and where the estimates have none, the t interval over six
    pairs or more. The same holds for ``score="value"`` where floors are known; ``the mean of the original
    is not above 0`` where they are not. A score that one side lacks is left out on both and counted. The
    interval and its p are null by ``score="value"``, where a score has no interval of its own, and where all
    of it lies below −1 (``below_scale``). The tests over pairs are null with fewer than six, where all pairs
    change alike (``no_variation``), and by ``score="value"`` of unlike numbers of images. ``few_pairs`` flags
    rows with fewer than six pairs, and those in which a whole pair was left out; ``small_n`` rows that hold a
    score flagged so.

    Notes
    -----
    Simulated from labels (2 to 12 objects, 10 or 20 pictures a cell and side, true changes of −0.69 to 0) the
    mean estimate lies within 0.05 of the truth and the interval held it in 0.93 to 0.99; of remedies of −0.2
    and more none was called a harm. A change from an original near its floor is defined only where that came
    out high and reads too low (−0.47 for −0.30, defined in two of five); the interval held it in 0.98. Over 5
    and 10 prompts correlated by 0.1 and 0.3 (true −0.26 and −0.67) it held it in 0.98 to 1.00, at up to 1.5
    times the width that could be, with no remedy of 2,608 called a harm. Wilcoxon's p cannot fall below 0.031
    with six pairs. A raw CDS falls to its floor and not to 0, so that ``score="value"`` understates a change;
    a raw VAC is too high at small n. Where the sides rest on unlike numbers of images (flagged ``uneven_n``)
    their floors differ as well: a true −0.2 read +0.3. The standard errors of pairs of groups of one
    dimension are taken as wholly dependent. An original without a score of the new level at all is no pair.
    The paper's changes are of raw scores by the released definition, and whether of the pooled mean, as here,
    it does not say.

    References
    ----------
    SODA, section 5.5, Tables 5 and 6; Fieller (1954), JRSS B 16; Wilcoxon (1945), Biometrics Bulletin 1.

    Examples
    --------
    >>> import polars as pl
    >>> excess = [0.5, 0.4, 0.3, 0.4, 0.3, 0.2]
    >>> estimates = pl.DataFrame({
    ...     "measure": "cds", "definition": "paper", "attribute": "all", "generator": "m",
    ...     "object": list("abc") * 2, "mitigation": ["none"] * 3 + ["avoiding"] * 3, "floor": 0.1,
    ...     "excess": excess, "low": [x + 0.05 for x in excess], "high": [x + 0.15 for x in excess],
    ... })
    >>> row = change(estimates, "mitigation").filter(pl.col("generator") == "m").row(0, named=True)
    >>> row["measure"], row["mitigation"], round(row["value"], 3), round(row["low"], 2), round(row["high"], 2)
    ('cds_change', 'avoiding', -0.25, -0.34, -0.16)
    """
    normal_quantile(level)
    if over in ESTIMATE_COLUMNS:
        raise UsageError(f"change: {over!r} is a column of every estimate; name a factor such as 'phrasing'")
    table = scores_above_floor(estimates, over, score).drop_nulls(over)
    if group in table.columns:
        paired = pl.col(group).is_not_null()
        table = table.filter((pl.col("measure") != "cds") | ~paired.any().over("measure") | paired)
        table = table.filter(pl.col(group).ne_missing(baseline)) if baseline is not None else table
    first = original if original is not None else ORIGINALS.get(over)
    if first is None:
        raise UsageError(f"change: {over!r} has no usual original; name one with original=")
    found = table[over].unique().sort().to_list()
    if first not in found:
        raise UsageError(
            f"change: no row has {over} = {first!r}; found {', '.join(map(repr, found)) or 'no level'}; name "
            "the original with original="
        )
    held = factor_names(within, measure="change", taken=(over, group, dimension))
    pairing = tuple(name for name in held if name != "annotator")
    own = tuple(name for name in factor_names(by, measure="change", what="by") if name != "annotator")
    to_polars(table, what="estimates", needs=pairing)
    if outside := [name for name in own if name not in pairing]:
        raise UsageError(f"change: by must list factors of within, found {outside[0]!r}")
    plan = _Plan(over, first, pairing, own, dimension if dimension in table.columns else None, score, level)
    scopes = ["measure", "definition", *(["annotator"] if "annotator" in table.columns else [])]
    rows = [row for scope, part in parts_by(table, scopes) for row in plan.rows(part, scope)]
    extra = [name for name in (*scopes[2:], *own, plan.dimension) if name is not None]
    return with_q_values(estimate_frame(rows, factors=(*extra, over)), "measure")


@dataclass(frozen=True)
class _Plan:
    """What is paired with what, and which rows that gives."""

    over: str
    original: str
    pairing: tuple[str, ...]
    by: tuple[str, ...]
    dimension: str | None
    score: str
    level: float

    def rows(self, part: pl.DataFrame, scope: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Rows of one measure: over all pairs and for each level of ``by``, over all dimensions and each."""
        matched = self._matched(part)
        for new in matched[self.over].unique().sort().to_list():
            for levels, pairs in self._parts(matched.filter(pl.col(self.over) == new)):
                shared = {
                    **scope,
                    **({"definition": EXCESS} if self.score == EXCESS else {}),
                    **levels,
                    self.over: new,
                    "contrast": self.over,
                    "reference": self.original,
                    "attribute": ALL_ATTRIBUTES,
                    "level": self.level,
                }
                yield from self._pair(pairs, shared)

    def _matched(self, part: pl.DataFrame) -> pl.DataFrame:
        """One row a score of a new level, with the original's score beside it."""
        factors = [c for c in part.columns if c not in ESTIMATE_COLUMNS and c != self.over and c[:1] != "_"]
        keys = [*factors, "reference"]
        scope = pl.col("holds_for") if "holds_for" in part.columns else pl.lit(None, pl.String)
        table = part.select(
            *keys,
            self.over,
            *(pl.col(c).cast(pl.Float64).fill_nan(None) for c in ("_score", "_above", "_error")),
            _n="n",
            _like=scope.eq_missing(LIKE_THESE),
            _few=pl.col("flags").fill_null("").str.split(",").list.contains("small_n"),
        ).rename({"_score": "_new"})
        if table.select(*keys, self.over).is_duplicated().any():
            raise TableError(
                f"estimates: several scores of one combination and {self.over}; keep one row each"
            )
        is_original = pl.col(self.over) == self.original
        before = table.filter(is_original).drop(self.over)
        before = before.rename({c: f"{c}_old" for c in ("_n", "_few", "_like", "_error")} | {"_new": "_old"})
        after = table.filter(~is_original).drop("_above")
        return after.join(before, on=keys, how="left", nulls_equal=True, maintain_order="left")

    def _parts(self, mine: pl.DataFrame) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
        ordered = mine.sort(self.by, maintain_order=True) if self.by else mine
        for levels, part in parts_by(ordered, self.by, whole=True):
            yield levels, part
            if self.dimension is not None:
                known = part.drop_nulls(self.dimension).sort(self.dimension, maintain_order=True)
                for dimension, inside in parts_by(known, [self.dimension]):
                    yield levels | dimension, inside

    def _pair(self, part: pl.DataFrame, shared: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The three rows of one comparison."""
        part = part.sort([c for c in part.columns if not c.startswith("_")], maintain_order=True)
        known = part.drop_nulls(["_new", "_old"])
        means = _means(known, self.pairing)
        asked = part.select(self.pairing).n_unique() if self.pairing else part.height
        flags = {
            "few_pairs": means.height < max(FEWEST_TESTED, asked),
            "uneven_n": _uneven(known),
            "small_n": known.select((pl.col("_few") | pl.col("_few_old")).any()).item(),
        }
        lost = {
            "without a score of the original": part["_old"].null_count(),
            "without a score": part.drop_nulls("_old")["_new"].null_count(),
        }
        row = {**shared, "n": means.height, "excluded": lost}
        kinds = ((CHANGE, _SOURCE), (OVER_PAIRS, _SOURCE_PAIRED), (RANKS, _SOURCE_RANKS))
        every = known.height > 0 and known.select((pl.col("_like") & pl.col("_like_old")).all()).item()
        numbers = self._numbers(means, flags, LIKE_THESE if every else THESE_PROMPTS)
        return [
            row | {"measure": shared["measure"] + end, "source": source} | number
            for (end, source), number in zip(kinds, numbers, strict=True)
        ]

    def _numbers(
        self, means: pl.DataFrame, flags: Mapping[str, bool], holds_for: str
    ) -> list[dict[str, Any]]:
        """What a comparison's rows say of the change: by pictures, and by mean and ranks of the pairs."""
        old, new, *errors = (means[c].to_numpy() for c in ("_old", "_new", "_error_old", "_error"))
        value, low, high, p = relative_change(old, new, *errors, level=self.level)
        reason = self._reason(means) or (NO_ORIGINAL if np.isnan(value) else None)
        if reason is not None:
            return [{"undefined": reason, "flags": flags}] * 3
        raw = self.score != EXCESS
        what = f"change of the mean {self.score} over {means.height} pairs ({', '.join(self.pairing)})"
        below = value < -1.0 or low < -1.0
        if below:  # no score falls to less than nothing
            value, low = max(value, -1.0), max(low, -1.0)
            what += ", cut at −1"
        row: dict[str, Any] = {"value": value, "flags": flags}
        return [
            row | self._by_pictures(what, low, high, p, raw, flags, holds_for),
            *self._by_pairs(what, row, old, new, no_test=raw and flags["uneven_n"]),
        ]

    def _by_pictures(
        self,
        what: str,
        low: float,
        high: float,
        p: float,
        raw: bool,
        flags: Mapping[str, bool],
        holds_for: str,
    ) -> dict[str, Any]:
        if raw:
            return {"method": f"{what}; no interval: a raw score falls to its floor and not to 0"}
        if np.isnan(p):
            return {"method": f"{what}; no interval: a score has none"}
        if high <= -1.0:
            low = high = np.nan
        return {
            "low": low,
            "high": high,
            "p_value": p,
            "holds_for": holds_for,
            "flags": {**flags, "below_scale": np.isnan(low)},
            "method": f"{what}; interval: Fieller's, of the scores' errors by pictures; p: two-sided",
        }

    def _by_pairs(
        self, what: str, row: Mapping[str, Any], old: Floats, new: Floats, *, no_test: bool
    ) -> Iterator[dict[str, Any]]:
        tests = (
            (paired_t, "p: paired t, two-sided"),
            (signed_rank, "p: Wilcoxon signed rank, two-sided, exact up to 200 pairs"),
        )
        for test, rule in tests:
            if old.size < FEWEST_TESTED:
                yield {**row, "method": f"{what}; fewer than {FEWEST_TESTED} pairs: no test"}
            elif no_test:
                yield {**row, "method": f"{what}; no test: the floors of unlike numbers of images differ"}
            else:
                p = test(old, new)
                flags = {**row["flags"], "no_variation": np.isnan(p)}
                more = {"p_value": p, "holds_for": LIKE_THESE, "flags": flags}
                yield {**row, **more, "method": f"{what}; {rule}"}

    def _reason(self, means: pl.DataFrame) -> str | None:
        """Why there is no change of a score, None where its original can be divided by."""
        if means.height < 2:
            return FEW_PAIRS
        return AT_FLOOR if _at_floor(means, self.level) else None


def _means(known: pl.DataFrame, pairing: Sequence[str]) -> pl.DataFrame:
    """One row a pair; a pair with an original whose floor or interval is not known has none.

    Scores of unlike groups are of unlike pictures. Those of pairs of groups share some: their errors are
    taken as one.
    """
    sides, errors = ("_old", "_new", "_above"), ("_error_old", "_error")
    known = known.with_columns(pl.col(errors).cast(pl.Float64).fill_null(np.nan))
    if not pairing:
        return known.select(*sides, *errors)
    whole = (pl.when(pl.col(c).null_count() == 0).then(pl.col(c).mean()).alias(c) for c in sides)
    apart = (pl.col(c).pow(2).sum().sqrt() / pl.len() for c in errors)
    shared = pl.col("reference").is_not_null().any()
    error = (
        pl.when(shared).then(pl.col(c).mean()).otherwise(one) for c, one in zip(errors, apart, strict=True)
    )
    return known.group_by(pairing, maintain_order=True).agg(*whole, *error)


def _at_floor(means: pl.DataFrame, level: float) -> bool:
    """Whether nothing shows that the originals, one a pair, exceed their noise floor."""
    excess = means["_above"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    if np.isnan(excess).any():
        return False
    n, error = excess.size, float(np.sqrt((means["_error_old"].to_numpy() ** 2).sum())) / excess.size
    reach = normal_quantile(level) * error
    if np.isnan(reach):
        if n < FEWEST_TESTED:
            return True
        reach = float(special.stdtrit(n - 1, 0.5 + level / 2)) * float(excess.std(ddof=1)) / np.sqrt(n)
    return bool(excess.mean() <= max(CLEAR * reach, 0.0))


def _uneven(known: pl.DataFrame) -> bool:
    """Whether the sides rest on numbers of images that differ by much."""
    sizes = known.select("_n", "_n_old").drop_nulls().sum().row(0)
    return bool(sizes[0] and abs(sizes[0] - sizes[1]) > UNEVEN * max(sizes))
