"""Paired comparison: how much any score of a query changes with a mitigation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import polars as pl

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.contract import Calls, MeasureCall, MeasureInfo, bounds_of, register
from stereotrope.measure.definitions import require_one_definition
from stereotrope.measure.estimates import estimate_frame, with_q_values
from stereotrope.measure.seeds import MeanGap, drawn_by_seed
from stereotrope.measure.setting import GENERATOR, MeasureSetting
from stereotrope.measure.tidy import factor_names, to_polars
from stereotrope.measure.units import SEED_COLUMN
from stereotrope.stats import (
    mean_interval,
    paired_ratio,
    paired_t,
    rank_biserial,
    signed_rank,
    standardised_change,
)
from stereotrope.stats.arrays import Floats
from stereotrope.tables import ALL_ATTRIBUTES, ESTIMATE_COLUMNS, LIKE_THESE, plain_scores

BY_QUERY = "paired_difference"
MEAN_BY_QUERY, _RELATIVE, _EFFECT, _RANKS = "paired_mean", "paired_change", "paired_effect", "paired_ranks"
"""Names of the rows beside it: means of both sides, share of the original, d_z, and rank-biserial r."""
_FEWEST = 6
"""Pairs below which none of them is a sample of others, as for changes of divergences."""
_NO_PAIR = "no query has a score on both sides"
_NO_ORIGINAL = "the mean of the original is not told from 0"
_ALL_ALIKE = "all queries change alike"
_NO_CHANGE = "no query changes"
_UNEVEN = 0.2
_MATCHED = ("contrast", "reference", "sides")
_SCOPES = ("measure", "definition", "attribute", "category", "annotator")
_SOURCE = "SSI, Table 5; Student 1908"
_SOURCES = {
    BY_QUERY: _SOURCE,
    MEAN_BY_QUERY: "SSI, Table 5",
    _RELATIVE: "SSI, Table 5; Fieller 1954",
    _EFFECT: "Cohen 1988; Cumming and Finch 2001",
    _RANKS: "Wilcoxon 1945; Kerby 2014",
}


def _due(given: Mapping[str, Any], setting: MeasureSetting, calls: Calls) -> bool:
    """Whether prompts have several levels of what is changed, and the factors that are named."""
    named = {*given.get("each", ()), given.get("query") or GENERATOR}
    return setting.varies(given.get("over", "mitigation")) and named <= {GENERATOR, *setting.factors}


def _call(info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Calls) -> MeasureCall:
    """The call on scores of an audit.

    Raises UsageError: Nothing is changed in it, or the scores do not tell what is named apart.
    """
    call, over = info.frame.call(info, given, setting, calls), given.get("over", "mitigation")
    if not setting.varies(over):
        raise UsageError(
            f"compares levels of {over!r}, and the prompts have none; leave it out until `stereotrope "
            "mitigate` has made some"
        )
    told = {name: None for one in calls if one.name == call.on for name in _told_apart(one, setting)}
    used = [call.arguments.get(name) or () for name in ("each", "within")]
    named = [*used[0], *used[1], *filter(None, [given.get("query")])]
    # Annotators are never paired: scores of pictures themselves, such as of refusals, have none.
    if lacking := [name for name in dict.fromkeys(named) if name not in (*told, "annotator")]:
        raise UsageError(
            f"the scores of {call.on!r} are not told apart by {', '.join(map(repr, lacking))}; list it "
            f"before with `by: [{', '.join([*told, *lacking])}]`"
        )
    return call


def _told_apart(call: MeasureCall, setting: MeasureSetting) -> list[str]:
    """Factors that the scores of a call tell apart, the one whose levels it looks along included."""
    listed = call.arguments.get("by", call.arguments.get("within", setting.factors))
    along = call.info.parameters.get("over")
    return [*listed, *([call.arguments.get("over", along.default)] if along is not None else [])]


@register(
    suite="ssi",
    bounds=(None, None),
    direction="below 0: the score falls; read stereotypes, variety and fidelity together",
    source="SSI, Table 5; Student 1908; Wilcoxon 1945; Fieller 1954; Cumming and Finch 2001; Kerby 2014",
    needs="estimates",
    also=(MEAN_BY_QUERY, _RELATIVE, _EFFECT, _RANKS),
    own_bounds={_RANKS: (-1.0, 1.0)},
    due=_due,
    call=_call,
)
def paired_difference(
    estimates: Any,
    over: str = "mitigation",
    *,
    original: str = "none",
    control: str = "redraw",
    within: Sequence[str] | None = None,
    each: Sequence[str] = ("generator",),
    query: str | None = None,
    score: Literal["value", "excess"] = "excess",
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How much a score of a query changes with a mitigation, every query compared with itself.

    Formula
    -------
    Of pairs :math:`(x_i, y_i)` without and with the mitigation: :math:`\bar d = \bar y - \bar x` with
    :math:`\bar d ± t_{n-1} s_d/\sqrt n`; beside it :math:`\bar y/\bar x - 1`, :math:`d_z = \bar d/s_d` and
    :math:`r = (W_+ - W_-)/(W_+ + W_-)` of the signed ranks.

    Parameters
    ----------
    estimates
        Estimates of one score by query, with ``over`` as a factor. Where any are of all attributes together,
        these alone are read.
    over, original
        The factor that is changed, and its level that each other one is compared with.
    control
        Level of what was drawn again with nothing changed: where there is one, each other level but the
        original is compared with it too, in rows of their own.
    within
        Factors whose combinations are the pairs; every factor when None. Those in ``each`` tell pairs apart
        only where their rows do: of one query the scores of several models are averaged, since they are not
        independent. Whatever is in neither, such as groups, is matched and averaged inside a pair.
    each
        Factors whose levels, and combinations of levels, get rows of their own beside those over all.
    query
        Factor that names the query, where estimates hold rows over several: those without it are left out.
    score, level
        ``excess`` over the noise floor where the score has one, or ``value``; nominal coverage.

    Returns
    -------
    polars.DataFrame
        ``paired_difference`` with Student's interval and the paired t-test's p; ``paired_change``, the same
        as a share of the original mean with Fieller's interval, where 0 is the least value of the score;
        ``paired_effect``, :math:`d_z` with the interval of the noncentral t; ``paired_ranks``, the
        rank-biserial correlation with Wilcoxon's p; and ``paired_mean`` of the mitigation and of the original
        over the same pairs. ``definition`` is the score that is compared, ``contrast`` is ``over``,
        ``reference`` the level compared with, ``n`` the number of pairs. ``q_value`` is Benjamini–Hochberg
        over the rows of one name and score.

    Undefined
    ---------
    ``no query has a score on both sides``; ``all queries change alike`` (:math:`d_z`); ``no query changes``
    (``paired_ranks``); ``the mean of the original is not told from 0`` (``paired_change``). A score that one
    side lacks is left out on both and counted. With fewer than six pairs (``few_pairs``) there is neither
    interval nor test, and with equal changes none by Student's t (``no_variation``).

    Notes
    -----
    The queries are the sample: interval and p hold for queries like these, and not for other pictures of
    the same ones. Scores of few pictures that have no floor and grow or fall with their number (VAC, a Vendi
    score) compare only where both sides have as many: ``uneven_n`` flags what differs by more than a fifth.
    A difference says nothing of what was paid for it: see the other two axes. Where a strategy chose what to
    draw again by its score, what was high falls by itself: such a level is compared with ``control``, drawn
    again of the same prompts.

    Where four queries or more share four seeds or more and scores are means of pictures or sets
    (``by_seed``), intervals and p reach further by what seeds do to one side alone. With fewer, as where each
    query has one set, what they do cannot be seen: ``few_seeds``, of these seeds, and no such difference
    leads the findings (in simulations 7 of 40 audits in which nothing differed told one, where a seed
    explained a tenth). Of other scores, such as distances, it is not known which seeds they are of.

    References
    ----------
    Barve et al. (2026), Social stereotypes in AI text-to-image generation, Table 5; Student (1908),
    Biometrika 6; Wilcoxon (1945), Biometrics Bulletin 1; Fieller (1954), JRSS B 16; Cumming and Finch (2001),
    Educational and Psychological Measurement 61; Kerby (2014), Comprehensive Psychology 3.

    Examples
    --------
    >>> import polars as pl
    >>> estimates = pl.DataFrame({
    ...     "measure": "share", "definition": "share", "attribute": "happy", "generator": "m",
    ...     "query": list("abcdef") * 2, "mitigation": ["none"] * 6 + ["ethical"] * 6,
    ...     "value": [0.4, 0.3, 0.5, 0.2, 0.4, 0.6, 0.2, 0.2, 0.3, 0.2, 0.1, 0.4],
    ... })
    >>> found = paired_difference(estimates).filter(generator="m", mitigation="ethical")
    >>> found.select("measure", pl.col("value").round(3), pl.col("p_value").round(3)).rows()[:2]
    [('paired_difference', -0.167, 0.011), ('paired_change', -0.417, None)]
    """
    if over in ESTIMATE_COLUMNS:
        raise UsageError(
            f"{BY_QUERY}: {over!r} is a column of every estimate; name a factor such as 'mitigation'"
        )
    if score not in ("value", "excess"):
        raise UsageError(f"{BY_QUERY}: score must be 'value' or 'excess', found {score!r}")
    own = factor_names(each, measure=BY_QUERY, taken=(over,), what="each")
    held = None if within is None else factor_names(within, measure=BY_QUERY, taken=(over,))
    table = _scores(estimates, over, (*own, *(held or ()), *([query] if query else [])), score)
    if query is not None:
        table = table.drop_nulls(query)
    levels = table[over].unique().sort().to_list()
    if original not in levels:
        found = ", ".join(map(repr, levels)) or "no level"
        raise UsageError(
            f"{BY_QUERY}: no row has {over} = {original!r}; found {found}; name the original with original="
        )
    factors = [c for c in table.columns if c not in ESTIMATE_COLUMNS and c != over and c[:1] != "_"]
    pairing = tuple(name for name in (factors if held is None else held) if name not in (*own, "annotator"))
    plan = _Plan(over, (original, *({control} & set(levels) - {original})), pairing, own, level)
    scopes = [name for name in _SCOPES if name in table.columns]
    rows: list[dict[str, Any]] = []
    for key, part in table.group_by(scopes, maintain_order=True):
        rows += plan.rows(part, dict(zip(scopes, key, strict=True)), [*factors, *_MATCHED])
    columns = [name for name in ("annotator", *own) if name in table.columns]
    return with_q_values(estimate_frame(rows, factors=(*columns, over)), "measure", "definition")


def _scores(estimates: Any, over: str, needs: Sequence[str], score: str) -> pl.DataFrame:
    """The rows that are compared, with ``_score``."""
    frame = to_polars(estimates, what="estimates", needs=("measure", "definition", "value", over, *needs))
    frame = plain_scores(frame).drop_nulls(over)
    require_one_definition(frame)
    whole = pl.col("attribute").eq_missing(ALL_ATTRIBUTES)
    if "attribute" in frame.columns and frame.select(whole.any()).item():
        frame = frame.filter(whole)
    types = {
        **dict.fromkeys((*_MATCHED, "attribute", "category"), pl.String),
        "n": pl.Int64,
        "by_seed": pl.String,
        "excess": pl.Float64,
    }
    frame = frame.with_columns(
        pl.lit(None, kind).alias(name) for name, kind in types.items() if name not in frame.columns
    )
    read = pl.coalesce("excess", "value") if score == "excess" else pl.col("value")
    plain = pl.lit(True) if score == "value" else pl.col("excess").is_null()
    return frame.with_columns(
        _score=read.cast(pl.Float64).fill_nan(None), by_seed=pl.when(plain).then("by_seed")
    )


@dataclass(frozen=True)
class _Plan:
    """What is paired with what, and which rows that gives."""

    over: str
    references: tuple[str, ...]
    pairing: tuple[str, ...]
    each: tuple[str, ...]
    level: float

    def rows(
        self, part: pl.DataFrame, scope: Mapping[str, Any], keys: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        """Rows of one score: each level beside the original and the control, over all and for each part."""
        table = part.select(*keys, self.over, "_score", "n", "by_seed")
        if table.select(*keys, self.over).is_duplicated().any():
            raise TableError(
                f"estimates: several scores of one combination and {self.over}; keep one row each, or name "
                "the factor that tells queries apart with query="
            )
        sides = {level: rows.drop(self.over) for (level,), rows in table.group_by(self.over)}
        compared: list[str] = []
        for reference in self.references:
            compared.append(reference)
            if reference not in sides:
                continue
            before = sides[reference].rename({"_score": "_old", "n": "_n_old", "by_seed": "_by_seed_old"})
            for new in sorted(sides.keys() - set(compared)):
                both = sides[new].join(before, on=list(keys), how="full", coalesce=True, nulls_equal=True)
                yield from self._of_parts(both.sort(keys), new, reference, scope)

    def _called(self, reference: str) -> str:
        return "the original" if reference == self.references[0] else "the control"

    def _of_parts(
        self, both: pl.DataFrame, new: str, reference: str, scope: Mapping[str, Any]
    ) -> Iterator[dict[str, Any]]:
        """Rows of two levels: over all, and for each level and combination of levels of ``each``."""
        for size in range(len(self.each) + 1):
            for chosen in combinations(self.each, size):
                cells = both.drop_nulls(chosen) if chosen else both
                for at, cell in cells.group_by(chosen, maintain_order=True) if chosen else [((), both)]:
                    held = {**dict(zip(chosen, at, strict=True)), "reference": reference}
                    yield from self._compared(cell, new, scope, held)

    def _compared(
        self, cell: pl.DataFrame, new: str, scope: Mapping[str, Any], at: Mapping[str, Any]
    ) -> Iterator[dict[str, Any]]:
        known = cell.drop_nulls(["_score", "_old"])
        # Of one query the scores of several models, and of groups, are one observation.
        means = known.group_by(self.pairing, maintain_order=True) if self.pairing else None
        table = known if means is None else means.agg(pl.mean("_score", "_old"))
        old, own = table["_old"].to_numpy(), table["_score"].to_numpy()
        few = len(own) < _FEWEST
        sizes = known.select("_n_old", "n").drop_nulls().sum().row(0) if known.height else (0, 0)
        uneven = abs((sizes[0] or 0) - (sizes[1] or 0)) > _UNEVEN * max(sizes[0] or 0, sizes[1] or 0)
        shared = {
            "definition": scope["measure"],
            **{name: scope.get(name) for name in ("attribute", "category")},
            **({"annotator": scope["annotator"]} if "annotator" in scope else {}),
            **at,
            self.over: new,
            "contrast": self.over,
            "level": self.level,
            "n": len(own),
            "excluded": {
                f"without a score of {self._called(at['reference'])}": cell["_old"].null_count(),
                "without a score": cell.drop_nulls("_old")["_score"].null_count(),
            },
        }
        seeds = _seeds(known, self.pairing, self.level)
        flags = {"few_pairs": few, "uneven_n": bool(uneven), "few_seeds": seeds.few > 0}
        what = f"{len(own)} pairs ({', '.join(self.pairing) or 'each score'}){seeds.words}"
        numbers = _numbers(old, own, few, self.level, seeds)
        if bounds_of(scope["measure"], scope["definition"])[0] != 0.0:
            del numbers[_RELATIVE]
        for name, one in numbers.items():
            how = f"{what}; {one.pop('method')}" if "method" in one else what
            row = {**shared, "measure": name, "method": how, "source": _SOURCES[name], "flags": flags, **one}
            if not {"low", "p_value"}.isdisjoint(one):
                row["holds_for"] = LIKE_THESE
            if name == BY_QUERY and not few and "p_value" not in one and len(own):
                row["flags"] = {**flags, "no_variation": True}
            yield row
            if name == MEAN_BY_QUERY:
                before = {"value": float(old.mean())} if len(old) else {}
                yield {**row, self.over: at["reference"], "reference": new, **before}


def _seeds(known: pl.DataFrame, pairing: Sequence[str], level: float) -> MeanGap:
    """What seeds do to the mean difference of pairs, each the mean of its scores."""
    sides = [drawn_by_seed(known[name]) for name in ("by_seed", "_by_seed_old")]
    if any(side is None for side in sides):
        return MeanGap()
    unit = pl.struct(pairing).rank("dense") if pairing else pl.int_range(pl.len())
    units = known.select(unit=unit.cast(pl.Int64))["unit"]
    scores = pl.DataFrame({"row": pl.int_range(known.height, eager=True), "unit": units})
    scores = scores.with_columns(n_scores=pl.len().over("unit"), n_units=units.n_unique())
    drawn = pl.concat(
        side.join(scores, on="row", maintain_order="left").select(
            "unit",
            SEED_COLUMN,
            "n",
            "sum",
            side=2 * pl.col("row") + at,
            weight=sign / pl.col("n").sum().over("row") / pl.col("n_scores") / pl.col("n_units"),
        )
        for at, (side, sign) in enumerate(zip(sides, (1.0, -1.0), strict=True))
        if side is not None
    )
    return MeanGap.of(drawn, level=level)


def _numbers(old: Floats, new: Floats, few: bool, level: float, seeds: MeanGap) -> dict[str, dict[str, Any]]:
    """Names of rows → their own numbers."""
    if not len(new):
        return {name: {"undefined": _NO_PAIR} for name in _SOURCES}
    mean, low, high, _ = mean_interval(new - old, level=level, reach=seeds.reach)
    p, (size, *ends), ranks = (
        paired_t(old, new),
        standardised_change(old, new, level=level),
        rank_biserial(old, new),
    )
    by_t = {"low": low, "high": high, "p_value": seeds.weakened(p), "method": "interval and p: Student's t"}
    ends = [seeds.widened(size, end) for end in ends]
    by_size = {"low": ends[0], "high": ends[1], "method": "interval: noncentral t"}
    by_ranks = {
        "p_value": seeds.weakened(signed_rank(old, new)),
        "method": "p: Wilcoxon, exact up to 200 pairs",
    }
    return {
        BY_QUERY: {"value": mean, **({} if few or p != p else by_t)},
        _RELATIVE: _relative(old, new, few, level, seeds),
        _EFFECT: {"undefined": _ALL_ALIKE} if size != size else {"value": size, **({} if few else by_size)},
        _RANKS: {"undefined": _NO_CHANGE}
        if ranks != ranks
        else {"value": ranks, **({} if few else by_ranks)},
        MEAN_BY_QUERY: {"value": float(new.mean())},
    }


def _relative(old: Floats, new: Floats, few: bool, level: float, seeds: MeanGap) -> dict[str, Any]:
    """The difference as a share of the original mean."""
    change, low, high = paired_ratio(old, new, level=level)
    if change != change or (not few and np.ptp(old) > 0 and not _told_from_zero(old, level)):
        return {"undefined": _NO_ORIGINAL}
    low, high = (seeds.widened(change, end) for end in (low, high))
    ends = {"low": low, "high": high, "method": "interval: Fieller's, over pairs"}
    return {"value": change, **(ends if low == low and not few else {})}


def _told_from_zero(old: Floats, level: float) -> bool:
    low = mean_interval(old, level=level)[1]
    return bool(low > 0)
