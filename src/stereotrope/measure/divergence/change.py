"""Sensitivity and mitigation: how much a score changes when the prompt is put another way."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy import special

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.contract import register
from stereotrope.measure.definitions import require_one_definition
from stereotrope.measure.tidy import estimate_frame, excluded_json, factor_names, to_polars
from stereotrope.stats import benjamini_hochberg, normal_quantile, paired_t, relative_change, signed_rank
from stereotrope.tables import ALL_ATTRIBUTES, ESTIMATES, plain_scores

CHANGE = "_change"
"""Ends the name of the change of a measure."""

RANKS = "_change_wilcoxon"
"""Ends the name of the same change with the p-value of Wilcoxon's test."""

EXCESS = "excess"
"""Which score is changed, and the name of the definition that such a change follows."""

_SCORES = ("cds", "vac")
CORRECTED = "vac_chao_shen"
"""What stands for the excess of VAC, which has no floor by shuffling: its score corrected for small n."""
ORIGINALS: Mapping[str, str] = {"phrasing": "for", "mitigation": "none"}

FEW_PAIRS = "fewer than two pairs"
NO_ORIGINAL = "the mean of the original is not above 0"
AT_FLOOR = "the original is not told from its noise floor"
UNLIKE = "the sides rest on unlike numbers of images, which VAC reads otherwise"
FEWEST_TESTED = 6
"""Pairs below which there is neither interval nor p: the t test leans on a shape that so few cannot show."""
CLEAR = 2.0
"""How many times the reach of its interval a mean excess must be, to be divided by (Fieller's g ≤ 1/4)."""
UNEVEN = 0.2
"""Difference of the images behind the two sides, as a share, from which it is said."""
LEFT = 0.05
"""What Chao and Shen's entropy leaves of VAC where all values are equally frequent: at most 0.046 at 10 to 50
images of 3 to 15 values, simulated."""
ALIKE_FROM = 20
"""Images a score from which that entropy reads unlike numbers of images alike (0.02 apart at 15 values)."""

_SOURCE = "SODA, section 5.5, Table 5; interval: Fieller 1954; p: Student 1908"
_SOURCE_RANKS = "SODA, section 5.5, Table 5; p: Wilcoxon 1945"
_NAMES = {column.name for column in ESTIMATES}
_NUMBERS = ("value", "low", "floor", "excess")
_LACKS = ("without a score of the original", "without a score")


@register(
    summary="How much CDS or VAC changes when the prompt is put another way or a mitigation is added.",
    suite="objects",
    bounds=(None, None),
    direction="−0.3: falls by 30%; 0: no change; read CDS and VAC together",
    source="SODA, section 5.5, Tables 5 and 6; Fieller 1954; Student 1908; Wilcoxon 1945",
    needs="estimates",
    also=("cds_change", "cds_change_wilcoxon", "vac_change", "vac_change_wilcoxon"),
    own_bounds={"paper": (-1.0, None), "released": (-1.0, None)},
    reads=("cds", "vac"),
    read_with={"vac": ("vac_chao_shen",)},
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
    r"""Relative change of CDS or VAC against the original phrasing, or against no mitigation.

    Formula
    -------
    :math:`Δ = \bar s_{new}/\bar s_{orig} - 1` with the means over pairs, :math:`s` of one pair (a model and
    object) being the mean of its scores that are known on both sides. A score of CDS is its excess over the
    noise floor, one of VAC the score that Chao and Shen's entropy gives.

    Parameters
    ----------
    estimates
        What :func:`stereotrope.measure.cds` or :func:`stereotrope.measure.vac` return, with ``over`` as a
        factor; rows for all attributes together are used, those of VAC with their ``vac_chao_shen``. Where
        CDS came with ``pairs=True``, its rows for pairs of groups are used, so that both sides compare the
        same groups.
    over
        The factor that is changed: ``phrasing`` or ``mitigation``, or another one.
    original
        Its level that the others are compared with: ``for`` of ``phrasing`` and ``none`` of ``mitigation``
        when None.
    within
        Factors whose combinations are the pairs. Everything else, such as groups, is matched and averaged
        inside a pair; annotators are never put together.
    by
        Factors of ``within`` whose levels get rows of their own; rows over all pairs come first.
    dimension
        Factor whose levels get rows of their own besides those over all of them; none where the estimates
        have no such factor.
    group, baseline
        Rows whose ``group`` is the baseline are left out: it has no cue.
    score
        ``excess`` over the noise floor; for VAC, which has no floor by shuffling, ``vac_chao_shen``. Or
        ``value``, as the paper has it.
    level
        Nominal coverage.

    Returns
    -------
    polars.DataFrame
        Rows of the measure ``cds_change`` or ``vac_change``, each followed by one of
        ``cds_change_wilcoxon`` or ``vac_change_wilcoxon``. ``value`` is a share, never percent: −0.3 is a
        fall by 30%, and −1, where it is cut, that nothing is left. The first has Fieller's interval and the
        p-value of the paired t-test over the pairs,
        the other the same ``value`` and the p-value of Wilcoxon's signed-rank test. ``q_value`` is
        Benjamini–Hochberg over the rows of one measure. ``n`` is the number of pairs, ``n_reference`` none;
        ``contrast`` is ``over`` and ``reference`` the original. ``definition`` is ``excess``, or by
        ``score="value"`` that of the scores.

    Undefined
    ---------
    ``fewer than two pairs``; ``the original is not told from its noise floor``: a share of what may be
    nothing is no number. It is told from it where the mean of the lower ends of the original's own intervals
    lies above the mean of the floors (0.05 for ``vac_chao_shen``, which its correction may leave of nothing),
    or where, with six pairs or more, the mean excess over that is at least twice the reach of its t interval
    over pairs. The same holds for ``score="value"`` where floors are known; ``the mean of the original is not
    above 0`` where they are not. ``the sides rest on unlike numbers of images, which VAC reads otherwise``:
    by over 20%, with fewer than 20 images a ``vac_chao_shen``. A score that one side lacks is left out on
    both and counted. Interval and p are null with fewer than six pairs; ``few_pairs`` flags these, and rows
    in which a whole pair was left out; ``small_n`` rows that hold a score flagged so. The interval is null
    where the mean of the original is not told from 0 over pairs (``unbounded``), where all of it lies below
    −1 (``below_scale``) and where all pairs change alike (``no_variation``); p as well in the last case.

    Raises
    ------
    TableError
        A column is missing, no row is of ``cds`` or ``vac``, a score stands twice, or VAC comes without
        its ``vac_chao_shen``, as by the released definition, and its excess is asked for.
    UsageError
        No row has the original level, or a factor is given two parts.

    Notes
    -----
    With six pairs Wilcoxon's p cannot fall below 0.031, and Fieller's interval is wide; it excludes 0 exactly
    where the t-test says p ≤ 1 − level. A raw CDS falls to its floor and not to 0, so that
    ``score="value"`` understates a change; a raw VAC is too high at small n. Where the sides rest on unlike
    numbers of images (flagged ``uneven_n``) their floors differ as well. An original without a score of the
    new level at all is no pair. The paper's changes are of raw scores by the released definition, and
    whether of the pooled mean, as here, it does not say.

    References
    ----------
    SODA, section 5.5, Tables 5 and 6; Fieller (1954), JRSS B 16; Wilcoxon (1945), Biometrics Bulletin 1.

    Examples
    --------
    >>> import polars as pl
    >>> estimates = pl.DataFrame({
    ...     "measure": "cds", "definition": "paper", "attribute": "all", "generator": "m",
    ...     "object": list("abcdef") * 2, "mitigation": ["none"] * 6 + ["avoiding"] * 6,
    ...     "excess": [0.5, 0.4, 0.3, 0.5, 0.4, 0.3, 0.4, 0.3, 0.2, 0.4, 0.3, 0.2],
    ... })
    >>> found = change(estimates, "mitigation").filter(pl.col("generator") == "m")
    >>> found.select("measure", "mitigation", pl.col("value").round(3), "n").row(0)
    ('cds_change', 'avoiding', -0.25, 6)
    """
    normal_quantile(level)
    table = _scores(estimates, over, group, baseline, score)
    first = original if original is not None else ORIGINALS.get(over)
    if first is None:
        raise UsageError(f"change: {over!r} has no usual original; name one with original=")
    found = table[over].drop_nulls().unique().sort().to_list()
    if first not in found:
        raise UsageError(
            f"change: no row has {over} = {first!r}; found {', '.join(map(repr, found)) or 'no level'}; name "
            "the original with original="
        )
    pairing = tuple(
        f for f in factor_names(within, measure="change", taken=(over, group, dimension)) if f != "annotator"
    )
    own = tuple(f for f in factor_names(by, measure="change", what="by") if f != "annotator")
    _check_columns(table, pairing, own)
    plan = _Plan(over, first, pairing, own, dimension if dimension in table.columns else None, score, level)
    rows: list[dict[str, Any]] = []
    scopes = ["measure", "definition", *(["annotator"] if "annotator" in table.columns else [])]
    for key, part in table.group_by(scopes, maintain_order=True):
        rows += plan.rows(part, dict(zip(scopes, key, strict=True)))
    _add_q_values(rows)
    extra = [f for f in (*scopes[2:], *plan.by, plan.dimension) if f is not None]
    return estimate_frame(rows, factors=(*extra, over))


def _scores(estimates: Any, over: str, group: str, baseline: str | None, score: str) -> pl.DataFrame:
    """The rows that enter: scores over all attributes, of pairs of groups where there are such."""
    frame = plain_scores(to_polars(estimates, what="estimates"))
    if score not in ("value", "excess"):
        raise UsageError(f"change: score must be 'value' or 'excess', found {score!r}")
    for name in ("measure", "definition", "attribute", over):
        if name not in frame.columns:
            raise TableError(f"estimates: no column {name!r}; found {', '.join(map(repr, frame.columns))}")
    if over in _NAMES:
        raise UsageError(f"change: {over!r} is a column of every estimate; name a factor such as 'phrasing'")
    used = frame.filter(pl.col("measure").is_in(_SCORES), pl.col("attribute") == ALL_ATTRIBUTES)
    if not used.height:
        raise TableError(
            "estimates: no row of measure 'cds' or 'vac' for attribute 'all'; pass what these return"
        )
    require_one_definition(used)
    used = _scored(used, frame, score).filter(pl.col(over).is_not_null())
    if group not in used.columns:
        return used
    paired = pl.col(group).is_not_null().any().over("measure")
    used = used.filter((pl.col("measure") != "cds") | ~paired | pl.col(group).is_not_null())
    if baseline is None:
        return used
    return used.filter(pl.col(group).ne_missing(baseline))


def _scored(used: pl.DataFrame, frame: pl.DataFrame, score: str) -> pl.DataFrame:
    """The rows with ``_score``, ``_above`` (what exceeds the floor) and ``_least`` (its lower end)."""
    number = {c: pl.col(c) if c in used.columns else pl.lit(None, pl.Float64) for c in _NUMBERS}
    cds = pl.col("measure") == "cds"
    for name, rows in ((EXCESS, used.filter(cds)), ("value", used)):
        if name not in used.columns and rows.height and score == name:
            raise TableError(f"estimates: no column {name!r}; found {', '.join(map(repr, used.columns))}")
    corrected = frame.filter(pl.col("measure") == CORRECTED, pl.col("attribute") == ALL_ATTRIBUTES)
    if score == EXCESS and used.filter(~cds).height and not corrected.height:
        raise TableError(
            f"estimates: 'vac' has no noise floor of its own, and no row of {CORRECTED!r} stands beside it; "
            "pass what vac returns by the paper's definition, or set score='value'"
        )
    keys = ["definition", *(c for c in used.columns if c not in _NAMES)]
    beside = corrected.select(*keys, number["value"].alias("_above"), number["low"].alias("_least"))
    beside = beside.with_columns(measure=pl.lit("vac"))
    table = used.join(beside, on=["measure", *keys], how="left", nulls_equal=True, maintain_order="left")
    table = table.with_columns(
        pl.when(cds).then(number["excess"]).otherwise("_above").alias("_above"),
        pl.when(cds).then(number["low"] - number["floor"]).otherwise("_least").alias("_least"),
    )
    return table.with_columns((pl.col("_above") if score == EXCESS else number["value"]).alias("_score"))


def _check_columns(table: pl.DataFrame, pairing: Sequence[str], own: Sequence[str]) -> None:
    for name in pairing:
        if name not in table.columns:
            raise TableError(f"estimates: no column {name!r}; found {', '.join(map(repr, table.columns))}")
    if outside := [name for name in own if name not in pairing]:
        raise UsageError(f"change: by must list factors of within, found {outside[0]!r}")


class _Plan:
    """What is paired with what, and which rows that gives."""

    def __init__(
        self,
        over: str,
        original: str,
        pairing: tuple[str, ...],
        by: tuple[str, ...],
        dimension: str | None,
        score: str,
        level: float,
    ) -> None:
        self.over, self.original, self.pairing, self.by = over, original, pairing, by
        self.dimension, self.score, self.level = dimension, score, level

    def rows(self, part: pl.DataFrame, scope: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Rows of one measure: over all pairs and for each level of ``by``, over all dimensions and each."""
        matched = self._matched(part)
        for new in matched[self.over].unique(maintain_order=True).sort().to_list():
            mine = matched.filter(pl.col(self.over) == new)
            for levels, pairs in self._parts(mine):
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
        factors = [c for c in part.columns if c not in _NAMES and c != self.over and c[:1] != "_"]
        keys = [*factors, *(["reference"] if "reference" in part.columns else [])]
        size = pl.col("n") if "n" in part.columns else pl.lit(None, pl.Int64)
        known = [pl.col(c).cast(pl.Float64).fill_nan(None) for c in ("_score", "_above", "_least")]
        flags = pl.col("flags") if "flags" in part.columns else pl.lit(None, pl.String)
        few = flags.fill_null("").str.split(",").list.contains("small_n").alias("_few")
        table = part.select(*keys, self.over, *known, size.alias("_n"), few).rename({"_score": "_new"})
        if table.select(*keys, self.over).is_duplicated().any():
            raise TableError(
                f"estimates: several scores of one combination and {self.over}; keep one row each"
            )
        before = table.filter(pl.col(self.over) == self.original)
        before = before.drop(self.over).rename({"_new": "_old", "_n": "_n_old", "_few": "_few_old"})
        after = table.filter(pl.col(self.over) != self.original).drop("_above", "_least")
        return after.join(before, on=keys, how="left", nulls_equal=True, maintain_order="left")

    def _parts(self, mine: pl.DataFrame) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
        levels: list[tuple[dict[str, Any], pl.DataFrame]] = [({}, mine)]
        if self.by:
            for key, part in mine.sort(self.by, maintain_order=True).group_by(self.by, maintain_order=True):
                levels.append((dict(zip(self.by, key, strict=True)), part))
        for named, part in levels:
            yield named, part
            if self.dimension is None:
                continue
            known = part.filter(pl.col(self.dimension).is_not_null())
            for (name,), inside in known.sort(self.dimension, maintain_order=True).group_by(
                [self.dimension], maintain_order=True
            ):
                yield {**named, self.dimension: name}, inside

    def _pair(self, part: pl.DataFrame, shared: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The two rows of one comparison."""
        part = part.sort([c for c in part.columns if not c.startswith("_")], maintain_order=True)
        known = part.filter(pl.col("_new").is_not_null() & pl.col("_old").is_not_null())
        groups = list(self.pairing)
        means = _means(known, groups)
        asked = part.select(groups).n_unique() if groups else part.height
        few = means.height < FEWEST_TESTED
        flags = ["few_pairs"] * (few or means.height < asked) + ["uneven_n"] * _uneven(known)
        flags += ["small_n"] * known.select((pl.col("_few") | pl.col("_few_old")).any()).item()
        lost = _lost(part)
        row = {**shared, "n": means.height, "n_excluded": lost.total(), "excluded": excluded_json(lost)}
        name = row.pop("measure")
        first = {**row, "measure": name + CHANGE, "source": _SOURCE}
        other = {**row, "measure": name + RANKS, "source": _SOURCE_RANKS}
        change, ranks = self._numbers(means, flags, self._reason(name, known, means))
        yield {**first, **change}
        yield {**other, **ranks}

    def _numbers(
        self, means: pl.DataFrame, flags: Sequence[str], reason: str | None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a comparison's rows say of the change: by its mean, and by the ranks of the pairs."""
        old, new = means["_old"].to_numpy(), means["_new"].to_numpy()
        value, low, high = relative_change(old, new, level=self.level)
        reason = reason or (NO_ORIGINAL if np.isnan(value) else None)
        told = ",".join(flags) or None
        if reason is not None:
            return ({"undefined": reason, "flags": told},) * 2
        what = f"change of the mean {self.score} over {means.height} pairs ({', '.join(self.pairing)})"
        below = value < -1.0 or low < -1.0
        if below:  # no score falls to less than nothing
            value, low = max(value, -1.0), max(low, -1.0)
            what += ", cut at −1"
            if high <= -1.0:
                low = high = np.nan
        only = {"value": value, "flags": told}
        if means.height < FEWEST_TESTED:
            return (
                {**only, "method": f"{what}; fewer than {FEWEST_TESTED} pairs: no interval, no test"},
            ) * 2
        p = paired_t(old, new)
        ends = "below_scale" if below else "no_variation" if np.isnan(p) else "unbounded"
        change = {
            "value": value,
            "low": low,
            "high": high,
            "p_value": p,
            "flags": ",".join([*flags, *[ends] * bool(np.isnan(low))]) or None,
            "method": f"{what}; Fieller's interval; p: paired t, two-sided",
        }
        rule = "p: Wilcoxon signed rank, two-sided, exact up to 200 pairs"
        return change, {**only, "p_value": signed_rank(old, new), "method": f"{what}; {rule}"}

    def _reason(self, name: str, known: pl.DataFrame, means: pl.DataFrame) -> str | None:
        """Why there is no change of a score, None where its original can be divided by."""
        if means.height < 2:
            return FEW_PAIRS
        if (reason := _at_floor(means, self.level, LEFT if name == "vac" else 0.0)) is not None:
            return reason
        return UNLIKE if name == "vac" and self.score == EXCESS and _unlike(known) else None


def _lost(part: pl.DataFrame) -> Counter[str]:
    """Why scores have no counterpart, counted."""
    return Counter(
        _LACKS[0] if old is None else _LACKS[1]
        for new, old in part.select("_new", "_old").iter_rows()
        if new is None or old is None
    )


def _means(known: pl.DataFrame, groups: Sequence[str]) -> pl.DataFrame:
    """One row a pair; a pair with an original whose floor or interval is not known has none."""
    sides = ("_old", "_new", "_above", "_least")
    if not groups:
        return known.select(sides)
    whole = (pl.when(pl.col(c).null_count() == 0).then(pl.col(c).mean()).alias(c) for c in sides)
    return known.group_by(list(groups), maintain_order=True).agg(whole)


def _at_floor(means: pl.DataFrame, level: float, left: float) -> str | None:
    """The reason where nothing shows that the originals, one a pair, exceed their noise floor by ``left``."""
    excess, least = (means[c].cast(pl.Float64).fill_null(np.nan).to_numpy() for c in ("_above", "_least"))
    if np.isnan(excess).any() or least.mean() > left:
        return None
    n = excess.size
    if n < FEWEST_TESTED:
        return AT_FLOOR
    reach = float(special.stdtrit(n - 1, 0.5 + level / 2)) * float(excess.std(ddof=1)) / np.sqrt(n)
    return None if excess.mean() - left > max(CLEAR * reach, 0.0) else AT_FLOOR


def _uneven(known: pl.DataFrame) -> bool:
    sizes = known.select("_n", "_n_old").drop_nulls().sum().row(0)
    return bool(sizes[0] and abs(sizes[0] - sizes[1]) > UNEVEN * max(sizes))


def _unlike(known: pl.DataFrame) -> bool:
    """Whether the sides are so uneven, and one so small, that their VAC is not read alike."""
    fewest = known.select(pl.min_horizontal(pl.col("_n").mean(), pl.col("_n_old").mean())).item()
    return _uneven(known) and fewest < ALIKE_FROM


def _add_q_values(rows: Sequence[dict[str, Any]]) -> None:
    for name in dict.fromkeys(row["measure"] for row in rows):
        members = [row for row in rows if row["measure"] == name]
        for row, q in zip(
            members, benjamini_hochberg([r.get("p_value", np.nan) for r in members]), strict=True
        ):
            row["q_value"] = float(q)
