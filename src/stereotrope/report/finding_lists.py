"""The lists of findings, and what stands of each on the first screen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl


@dataclass(frozen=True)
class FindingList:
    """A list of findings: its name, title and what it is, and how much of it stands on the first screen."""

    name: str | None
    title: str
    note: str
    most: int
    rows: Sequence[Mapping[str, Any]] = ()
    n_more: int = 0


_LISTS = {
    told.name: told
    for told in (
        FindingList(
            "difference",
            "What differs",
            "Supported by a test among all that were made. Intervals are widened for having been selected.",
            5,
        ),
        FindingList(None, "What stood out", "By an older version, which tested no list as a whole.", 5),
        FindingList(
            "common",
            "What the pictures have in common",
            "What other conditions do not show as often; nothing is tested. Intervals are widened for having "
            "been selected.",
            3,
        ),
        FindingList("instrument", "About the instruments", "What to mind of every number they gave.", 3),
    )
}


def first_lists(findings: pl.DataFrame) -> list[FindingList]:
    """The lists of these findings with what stands of each on the first screen."""
    lists = []
    for name, told in _LISTS.items():
        mine = findings.filter(pl.col("list").eq_missing(name))
        # What is alike in every condition is nothing that stands out.
        alike = (pl.col("low") <= 0) & (pl.col("high") >= 0) & (pl.col("list") == "common")
        first = mine.filter(~alike.fill_null(False)).head(told.most)
        if first.height:
            lists.append(replace(told, rows=first.to_dicts(), n_more=mine.height - first.height))
    return lists
