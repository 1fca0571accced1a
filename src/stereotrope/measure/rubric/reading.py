"""Answers to the items of a rubric: repetitions taken together, sets by query, and cells of these."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from stereotrope.errors import UsageError
from stereotrope.measure.cells import SMALL_N, as_names
from stereotrope.measure.contract import Calls, MeasureCall, MeasureInfo
from stereotrope.measure.setting import GENERATOR, MeasureSetting
from stereotrope.measure.tidy import as_text, factor_names, read_labels, to_polars
from stereotrope.measure.units import FEWEST_PROMPTS, SEED_COLUMN
from stereotrope.tables import SCENARIO

_YES, _NO = "yes", "no"
NO_ANSWER = "no usable answer"
_NEITHER = "neither yes nor no"


class Sets(NamedTuple):
    """The answers of a cell, items in the order of the numbers in their names.

    key: Levels of the factors that tell cells apart.
    answers: A row a set and item: ``query, set, item``; ``yes``, the share of its usable repetitions that say
        yes (null without one); ``k`` and ``of``, usable repetitions and all; ``lost``, why others are not;
        ``seed``, null where it is not known.
    rater: Who answered, where that is one.
    """

    key: tuple[str | None, ...]
    answers: pl.DataFrame
    rater: str | None = None

    @property
    def items(self) -> list[str]:
        """Items in their order."""
        return self.answers["item"].unique(maintain_order=True).to_list()

    def of_queries(self) -> pl.DataFrame:
        """``query, item, yes``: means over the sets of a query."""
        found = self.answers.group_by("query", "item", maintain_order=True).agg(pl.col("yes").mean())
        return found.drop_nulls("yes")

    def shared(self, by: Sequence[str]) -> dict[str, Any]:
        """What the rows of a cell have in common."""
        levels = dict(zip(by, self.key, strict=True))
        rater = {} if self.rater is None or "annotator" in levels else {"instrument": self.rater}
        return {**levels, **rater}


def flags_of(n_sets: int, n_queries: int, *, repetitions_lost: bool) -> dict[str, bool]:
    """What to mind of an estimate from so many sets."""
    return {
        "small_n": n_sets < SMALL_N,
        "few_queries": n_queries < FEWEST_PROMPTS,
        "repetitions_lost": repetitions_lost,
    }


def read_sets(
    labels: Any,
    *,
    measure: str,
    by: Sequence[str],
    items: str | Sequence[str] | None,
    query: str | None,
    raters: Sequence[str] | None,
) -> Iterator[Sets]:
    """Yield the cells of a frame of labels of sets, in the order in which they first appear.

    labels: ``image_id`` (of the set), ``attribute`` (an item), ``value`` and the factors in ``by``; rows with
        the same ``images`` are repetitions of one look. Without that column each set is looked at once.
    items: Attributes; all when None.
    query: Column that says which sets are of one query; when None ``scenario`` where there is one, else
        ``prompt_id``, else each set is a query of its own.
    raters: Annotators whose labels count; all when None.

    Raises UsageError, TableError: An argument or the frame cannot be used.
    """
    by = factor_names(by, measure=measure, what="by")
    frame = to_polars(labels, needs=("image_id", "attribute", "value", *by))
    if raters is not None:
        frame = to_polars(frame, needs=("annotator",)).filter(pl.col("annotator").is_in(list(raters)))
    names = as_names(items, what="items")
    if names:
        known = frame["attribute"].unique().cast(pl.String).to_list()
        if lacking := [name for name in names if name not in known]:
            found = ", ".join(sorted(map(str, known))) or "none"
            raise UsageError(f"{measure}: no item {lacking[0]!r}; found {found}")
        frame = frame.filter(pl.col("attribute").is_in(list(names)))
    tidy = read_labels(frame, factors=by, seeds=True)
    seed = pl.col(SEED_COLUMN).min() if SEED_COLUMN in {*tidy.columns} - {*by} else pl.lit(None, pl.Int64)
    said = pl.col("value").str.strip_chars().str.to_lowercase()
    other = pl.when(~said.is_in([_YES, _NO])).then(pl.lit(_NEITHER))
    sets = as_given(frame, ["images"], tidy["image_id"])
    if query is not None and query not in frame.columns:
        raise UsageError(f"{measure}: query: no column {query!r}; found {', '.join(frame.columns)}")
    queries = as_given(frame, [query] if query is not None else [SCENARIO, "prompt_id"], sets)
    reason = pl.coalesce("excluded", other)
    places = {name: f"by {at}" for at, name in enumerate(by)}  # a factor may be called query, or set
    answers = tidy.with_columns(reason.alias("excluded")).rename(places)
    answers = answers.with_columns(queries.alias("query"), sets.alias("set"))
    usable = pl.col("excluded").is_null()
    keys = list(places.values())
    each = answers.group_by(*keys, "query", "set", item="attribute", maintain_order=True).agg(
        yes=(said == _YES).filter(usable).mean(),
        k=usable.sum(),
        of=pl.len(),
        lost=pl.col("excluded").drop_nulls(),
        seed=seed,
    )
    order = {name: at for at, name in enumerate(sorted(set(each["item"]), key=_in_numbers))}
    if keys:  # cells as they first appear; a query may be one, so that they are split, not sought each
        each = each.with_columns(cell=pl.int_range(pl.len()).min().over(keys))
    at = ["cell"] if keys else []
    each = each.sort(*at, pl.col("item").replace_strict(order), maintain_order=True).drop(*at)
    cells = each.partition_by(keys, as_dict=True, include_key=False) if keys else {(): each}
    rater = raters[0] if raters and len(raters) == 1 else None
    for key, part in cells.items():
        yield Sets(tuple(key), part, rater)


def _in_numbers(name: str) -> list[tuple[int, str]]:
    """Sort key by which Q2 stands before Q10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def as_given(frame: pl.DataFrame, columns: Sequence[str], otherwise: pl.Series) -> pl.Series:
    """The first of these columns that is there and not null, as text; else what stands in for it."""
    there = [as_text(frame, name) for name in columns if name in frame.columns]
    return frame.select(pl.coalesce(*there, otherwise)).to_series()


def call_of_items(
    info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Calls
) -> MeasureCall:
    """The call of a measure of answers to items: by default of those that judge and are no control.

    Cells are told apart by model and every factor that varies but the query, and always by judge where there
    are several.

    Raises UsageError: Nobody answers the items of a rubric.
    """
    judges = judges_of(setting)
    query = given.get("query") or next((q for one in judges if (q := getattr(one, "query", None))), None)
    query = query or (SCENARIO if SCENARIO in setting.factors else None)
    known: dict[str, Any] = {"raters": [one.name for one in judges]} if "raters" in info.parameters else {}
    known["by"] = [GENERATOR, *factors_kept(setting, query)] if info.parameters["by"].default else []
    if query is not None:
        known["query"] = query
    known |= given
    if len(judges) > 1 and isinstance(known["by"], list) and "annotator" not in known["by"]:
        known["by"] = [*known["by"], "annotator"]
    return info.frame.call(info, known, setting, calls)


def judges_of(setting: MeasureSetting) -> list[Any]:
    """Annotators of sets that answer yes or no, and are no control of another."""
    return [
        one
        for one in setting.annotators
        if one.subject == "set" and one.control_of is None
        if any(values is None or {_YES, _NO} <= set(values) for values in one.attributes.values())
    ]


def factors_kept(setting: MeasureSetting, query: str | None) -> list[str]:
    """Factors that vary, but for the query and what tells every prompt from every other one."""
    prompts = setting.prompts
    return [
        name
        for name in setting.factors
        if name not in (query, SCENARIO) and prompts[name].n_unique() > 1 and setting.varies(name)
        if prompts[name].drop_nulls().n_unique() < prompts.height or prompts.height < FEWEST_PROMPTS
    ]
