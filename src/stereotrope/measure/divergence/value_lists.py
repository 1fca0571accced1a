"""Value lists of closed attributes, one for all pictures or one a part of the design."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.cells import Key, as_names
from stereotrope.measure.tidy import as_text, to_polars


@dataclass(frozen=True)
class ValueLists:
    """The values that an attribute can take, by the levels that the list is for.

    factors: Factors whose levels tell lists apart; none where a list is for all pictures.
    lists: (attribute, levels of ``factors``) → values. A null level stands for every level.
    """

    factors: tuple[str, ...]
    lists: Mapping[tuple[str, Key], tuple[str, ...]]

    def of(self, attribute: str, levels: Mapping[str, str | None]) -> tuple[str, ...] | None:
        """The list of an attribute for these levels, the most specific one; None where it is open there."""
        mine = tuple(levels[factor] for factor in self.factors)
        if (attribute, mine) in self.lists:
            return self.lists[attribute, mine]
        fits = [
            key
            for name, key in self.lists
            if name == attribute and all(level in (None, own) for level, own in zip(key, mine, strict=True))
        ]
        return self.lists[attribute, min(fits, key=lambda key: key.count(None))] if fits else None

    def outside(self, tidy: pl.DataFrame) -> pl.Series:
        """Which rows of a tidy frame have a value that is not on the list of their attribute."""
        by = ["attribute", *self.factors]
        parts = tidy.select(by).unique(maintain_order=True)
        lists = [self.of(row["attribute"], row) for row in parts.iter_rows(named=True)]
        parts = parts.with_columns(pl.Series("_list", lists, dtype=pl.List(pl.String)))
        joined = tidy.join(parts, on=by, how="left", nulls_equal=True, maintain_order="left")
        is_listed = pl.col("_list").list.contains(pl.col("value")).fill_null(value=False)
        return joined.select(pl.col("_list").is_not_null() & ~is_listed).to_series()


def read_value_lists(taxonomy: Any, *, within: Sequence[str], measure: str) -> ValueLists:
    """Read value lists from a mapping or a frame.

    taxonomy: attribute → values; or a frame with the columns ``attribute`` and ``value``, one row a value,
        and any of ``within`` (an ``annotator`` that is not among them is passed over); or None.
    within: Factors that scope a score.
    measure: Who asks, for messages.
    Raises UsageError: Neither a mapping nor a frame, a text where a list belongs, or a column that is no
        factor of ``within``: its lists would be mixed in one score.
    Raises TableError: A frame lacks ``attribute`` or ``value``, or holds none of one.
    """
    if taxonomy is None:
        return ValueLists((), {})
    if isinstance(taxonomy, Mapping):
        for attribute, values in taxonomy.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                raise UsageError(
                    f"{measure}: the taxonomy of {attribute!r} must be a list of values, found {values!r}"
                )
            as_names(list(dict.fromkeys(values)), what=f"{measure}: each value of {attribute!r}")
        return ValueLists((), {(a, ()): tuple(dict.fromkeys(v)) for a, v in taxonomy.items()})
    if isinstance(taxonomy, str | list | tuple | int | float):
        raise UsageError(
            f"{measure}: taxonomy must be a mapping of lists of texts, found {taxonomy!r}; or a frame with "
            "the columns attribute and value"
        )
    frame = to_polars(taxonomy, what="taxonomy", needs=("attribute", "value"))
    # Of one attribute, a frame of labels has one annotator unless it is one of `within`.
    spare = {"annotator"} - {*within}
    factors = tuple(name for name in frame.columns if name not in {"attribute", "value", *spare})
    if unknown := [name for name in factors if name not in within]:
        raise UsageError(
            f"{measure}: the taxonomy differs by {unknown[0]!r}, which is not in within={list(within)}; add "
            "it there, or drop the column"
        )
    text = frame.select(as_text(frame, name).alias(name) for name in ("attribute", "value", *factors))
    if text["attribute"].null_count() or text["value"].null_count():
        raise TableError("taxonomy: attribute and value must be there in every row, found an empty one")
    listed = text.group_by(["attribute", *factors], maintain_order=True).agg(
        pl.col("value").unique(maintain_order=True)
    )
    rows = listed.iter_rows()
    return ValueLists(factors, {(name, tuple(levels)): tuple(values) for name, *levels, values in rows})
