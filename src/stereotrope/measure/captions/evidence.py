"""The captions behind a finding: how many say what, and which pictures they are about."""

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from stereotrope.measure.finder import scope_of

Levels = Mapping[str, str]


class CaptionEvidence:
    """Counts of groups and pictures of captions, by cell.

    rows: Estimates of measures of captions, of one definition.
    frames: Captions frames (:func:`stereotrope.measure.captions.captions_frame`), one a lexicon.
    """

    def __init__(self, rows: pl.DataFrame, frames: Sequence[pl.DataFrame]) -> None:
        self._frames = [
            frame.filter(pl.col("excluded").is_null()) if "excluded" in frame.columns else frame
            for frame in frames
        ]
        self._groups: dict[tuple[str, str], dict[str, int]] = {}
        for row in rows.filter(pl.col("value").is_not_null(), measure="representation_parity").iter_rows(
            named=True
        ):
            groups = self._groups.setdefault((scope_key(scope_of(row)), row["attribute"]), {})
            groups.setdefault(row["category"], round(row["value"] * row["n"]))

    def groups(self, attribute: str, scope: Levels) -> dict[str, int]:
        """Captions of each group of an attribute, ``unknown`` among them."""
        if known := self._groups.get((scope_key(scope), attribute)):
            return known
        counted = Counter(self._cell(attribute, scope)[attribute].drop_nulls().to_list())
        return dict(sorted(counted.items()))

    def most_frequent(self, name: str, scope: Levels) -> list[tuple[str, int]]:
        """Elements of a list with the captions that have them, the most frequent first."""
        counted = Counter(e for found in self._cell(name, scope)[name].to_list() for e in set(found or ()))
        return sorted(counted.items(), key=lambda item: (-item[1], item[0]))

    def pictures(self, name: str, scope: Levels, which: pl.Expr) -> list[str]:
        """Pictures of a cell for whose captions an expression over an attribute or list holds."""
        cell = self._cell(name, scope)
        return [str(image) for image in cell.filter(which)["image_id"]] if cell.height else []

    def _cell(self, name: str, scope: Levels) -> pl.DataFrame:
        """The cell of the first frame that has an attribute or list; without a row where none has."""
        for frame in self._frames:
            if name in frame.columns:
                levels = [
                    pl.col(f).cast(pl.String) == level for f, level in scope.items() if f in frame.columns
                ]
                return frame.filter(*levels) if levels else frame
        return pl.DataFrame(schema={name: pl.Null})


def scope_key(scope: Levels) -> str:
    """A cell, to be compared with others."""
    return str(sorted(scope.items()))
