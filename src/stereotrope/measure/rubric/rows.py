"""Rows of estimates of a cell: over all items and of each, with an interval over queries."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from stereotrope.measure.cells import MUCH_MISSING
from stereotrope.measure.rubric.reading import Sets, flags_of, holds_for, lost_in
from stereotrope.measure.units import FEWEST_PROMPTS
from stereotrope.stats import mean_interval, wilson
from stereotrope.tables import ALL_ATTRIBUTES

Interval = Literal["wilson", "student", "signed"]
"""Wilson's with a query as one observation; Student's over queries between 0 and 1, or between −1 and 1."""


def rows_of(
    cell: Sets, by: Sequence[str], told: Mapping[str, Any], undefined: str, interval: Interval
) -> list[dict[str, Any]]:
    """A row over all items, and one an item, of what stands in ``yes``; ``told`` is in every row.

    It needs ``level``.
    """
    rows = []
    parts = [(ALL_ATTRIBUTES, cell.answers)]
    parts += [(str(key[0]), part) for key, part in cell.answers.group_by("item", maintain_order=True)]
    for name, part in parts:
        one = cell._replace(answers=part, excluded=lost_in(part))
        queries = one.of_sets()
        row = {
            "definition": "paper",
            **one.shared(by),
            "attribute": name,
            "n": one.n_sets,
            "n_categories": len(cell.items) if name == ALL_ATTRIBUTES else None,
            **told,
            "flags": flags_of(one.n_sets, queries.height, part),
        }
        if not queries.height:
            rows.append({**row, "undefined": undefined})
        elif interval == "wilson":
            rows.append({**row, **_wilson(one, queries, told["level"])})
        else:
            rows.append({**row, **_student(queries, row["flags"], told["level"], interval)})
    return rows


def bounded(cell: Sets, item: str) -> dict[str, float]:
    """What missing answers allow of an item, or of all, where they are many."""
    one = cell if item == ALL_ATTRIBUTES else cell._replace(answers=cell.answers.filter(item=item))
    asked = one.answers.height
    if asked - one.answers["yes"].count() <= MUCH_MISSING * asked:
        return {}
    ends = [float(one.of_sets(missing)["yes"].mean()) for missing in (0.0, 1.0)]  # type: ignore[arg-type]
    return dict(zip(("bound_low", "bound_high"), ends, strict=True))


def _wilson(cell: Sets, queries: pl.DataFrame, level: float) -> dict[str, Any]:
    enough = queries.height >= FEWEST_PROMPTS
    n, value = (queries.height if enough else cell.n_sets), float(queries["yes"].mean())  # type: ignore[arg-type]
    low, high = map(float, wilson(value * n, n, level=level))
    method = f"Wilson over {n} {'queries' if enough else 'sets'}"
    ends = {"value": value, "low": low, "high": high, "method": method}
    return {**ends, "holds_for": holds_for(queries.height)}


def _student(
    queries: pl.DataFrame, flags: Mapping[str, bool], level: float, interval: Interval
) -> dict[str, Any]:
    least = -1.0 if interval == "signed" else 0.0
    mean, low, high, how = mean_interval(queries["yes"].to_numpy(), level=level, scale=(least, 1.0))
    method = f"over {queries.height} queries, between {least:g} and 1: {how}"
    told = {"value": mean, "method": method.replace("-", "−")}
    if queries.height < FEWEST_PROMPTS or low != low:
        return {**told, "flags": {**flags, "no_variation": queries.height >= FEWEST_PROMPTS}}
    return {**told, "low": low, "high": high, "holds_for": holds_for(queries.height)}
