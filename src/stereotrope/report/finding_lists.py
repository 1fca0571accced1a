"""The lists of findings, and what stands of each on the first screen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from stereotrope.report.numbers import thousands

_AT = "__at"


@dataclass(frozen=True)
class FindingList:
    """A list of findings: its name, title and what it is, and how much of it stands on the first screen.

    again: Pattern of a row → its other findings in their order, which stand folded beneath that row.
    n_more: How many more the table of findings has.
    n_beyond: How many more differ that are beyond the most findings of a run, so that comparisons alone
        name them.
    """

    name: str | None
    title: str
    note: str
    most: int
    rows: Sequence[Mapping[str, Any]] = ()
    again: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    n_more: int = 0
    n_beyond: int = 0

    @property
    def more(self) -> str:
        """How many more there are, and where; empty where these are all."""
        return self._more(self.n_more)

    @property
    def more_unfolded(self) -> str:
        """The same where nothing stands folded."""
        return self._more(self.n_more + sum(map(len, self.again.values())))

    def _more(self, n: int) -> str:
        told = [f"{thousands(n)} more in tables/findings.csv"] * bool(n)
        if self.n_beyond:
            told.append(f"{thousands(self.n_beyond)} more in tables/comparisons.csv alone")
        return " and ".join(told)


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


def first_lists(findings: pl.DataFrame, comparisons: pl.DataFrame) -> list[FindingList]:
    """The lists of these findings with what stands of each on the first screen.

    Every finding counts once: what differs here and in the first sentence is as many. Of a pattern the first
    stands for all.
    """
    lists = []
    n_differing = comparisons.filter(verdict="differs").height if comparisons.height else 0
    for name, told in _LISTS.items():
        mine = findings.filter(pl.col("list").eq_missing(name)).with_row_index(_AT)
        # What is alike in every condition is nothing that stands out.
        alike = (pl.col("low") <= 0) & (pl.col("high") >= 0) & (pl.col("list") == "common")
        leads = pl.col("pattern_id").is_null() | pl.col("pattern_id").is_first_distinct()
        first = mine.filter(leads).filter(~alike.fill_null(False)).head(told.most)
        if first.height:
            rest = mine.join(first, on=_AT, how="anti", maintain_order="left")
            repeated = rest.filter(pl.col("pattern_id").is_in(first["pattern_id"].drop_nulls().implode()))
            again = {
                str(name): part.to_dicts()
                for (name,), part in repeated.group_by("pattern_id", maintain_order=True)
            }
            more, beyond = rest.height - repeated.height, max(0, n_differing - mine.height)
            n_beyond = beyond if name == "difference" else 0
            lists.append(replace(told, rows=first.to_dicts(), again=again, n_more=more, n_beyond=n_beyond))
    return lists
