"""The captions behind a finding: how many say what, and which pictures they are about."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.measure.captions.groups import UNKNOWN
from stereotrope.measure.finder import scope_of

Scope = Mapping[str, str]


class CaptionEvidence:
    """Counts of groups and pictures of captions, by cell.

    Parameters
    ----------
    rows
        Estimates of measures of captions, of one definition.
    frames
        Captions frames (:func:`stereotrope.measure.captions.captions_frame`), one a lexicon.
    """

    def __init__(self, rows: pl.DataFrame, frames: Sequence[pl.DataFrame]) -> None:
        usable = [
            frame.filter(pl.col("excluded").is_null()) if "excluded" in frame.columns else frame
            for frame in frames
        ]
        self.frames = usable
        self._groups: dict[tuple[tuple[str, str], ...], dict[str, dict[str, Mapping[str, Any]]]] = {}
        for row in rows.filter(measure="representation_parity").iter_rows(named=True):
            if row["value"] is not None:
                here = self._groups.setdefault(_place(scope_of(row)), {})
                here.setdefault(row["attribute"], {}).setdefault(row["category"], row)

    def groups(self, attribute: str, scope: Scope) -> dict[str, int]:
        """Captions of each group of an attribute, ``unknown`` among them."""
        known = self._groups.get(_place(scope), {}).get(attribute)
        if known:
            return {group: round(row["value"] * row["n"]) for group, row in known.items()}
        for frame in self.frames:
            if attribute in frame.columns:
                counted = Counter(_within(frame, scope)[attribute].drop_nulls().to_list())
                return {str(group): n for group, n in sorted(counted.items())}
        return {}

    def row(self, attribute: str, scope: Scope, group: str) -> Mapping[str, Any] | None:
        """The estimate of a group's share."""
        return self._groups.get(_place(scope), {}).get(attribute, {}).get(group)

    def with_groups(self, attribute: str, scope: Scope, groups: Iterable[str]) -> list[str]:
        """Pictures whose caption has one of the groups."""
        wanted = list(groups)
        return self._pictures(attribute, scope, lambda frame: pl.col(attribute).is_in(wanted))

    def holding(self, name: str, scope: Scope) -> list[str]:
        """Pictures whose caption has any element of a list."""
        return self._pictures(name, scope, lambda frame: pl.col(name).list.len() > 0)

    def lacking(self, name: str, scope: Scope, element: str) -> list[str]:
        """Pictures whose caption lacks an element of a list."""
        return self._pictures(name, scope, lambda frame: ~pl.col(name).list.contains(element))

    def unnamed(self, attribute: str, column: str, scope: Scope, *, covered: bool) -> list[str]:
        """Pictures without a group whose caption does, or does not, mention what covers a person."""
        there = pl.col(column).list.len() > 0
        return self._pictures(
            attribute, scope, lambda frame: (pl.col(attribute) == UNKNOWN) & (there if covered else ~there)
        )

    def most_frequent(self, name: str, scope: Scope) -> list[tuple[str, int]]:
        """Elements of a list with the captions that have them, the most frequent first."""
        for frame in self.frames:
            if name in frame.columns:
                listed = _within(frame, scope)[name].to_list()
                counted = Counter(element for found in listed for element in set(found or ()))
                return sorted(counted.items(), key=lambda item: (-item[1], item[0]))
        return []

    def _pictures(self, column: str, scope: Scope, which: Callable[[pl.DataFrame], pl.Expr]) -> list[str]:
        for frame in self.frames:
            if column in frame.columns:
                return [str(i) for i in _within(frame, scope).filter(which(frame))["image_id"]]
        return []


def _place(scope: Scope) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(scope.items()))


def _within(frame: pl.DataFrame, scope: Scope) -> pl.DataFrame:
    levels = [pl.col(name).cast(pl.String) == level for name, level in scope.items() if name in frame.columns]
    return frame.filter(*levels) if levels else frame
