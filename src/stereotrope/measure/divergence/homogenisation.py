"""Homogenisation: groups are drawn more alike because each is drawn with less variety."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from stereotrope.measure.divergence.change import CHANGE, EXCESS
from stereotrope.measure.sentences import Wording, clean, number, quoted, span
from stereotrope.tables import ESTIMATES

_NAMES = {column.name for column in ESTIMATES}

Traded = tuple[dict[str, str], Mapping[str, Any], Mapping[str, Any]]
"""Scope, the row of the change of CDS and the row of that of VAC."""


def homogenised(table: pl.DataFrame) -> Iterator[Traded]:
    """Generators whose CDS falls while their VAC rises under one mitigation, over all dimensions.

    Both intervals must exclude 0: signs alone are those of one mitigation in four that does nothing. With
    fewer than six pairs there is no interval, and nothing is found.

    Parameters
    ----------
    table
        Estimates with rows of ``cds_change`` and ``vac_change``; changes of a phrasing are no mitigation.
    """
    if "generator" not in table.columns:
        return
    factors = [c for c in table.columns if c not in _NAMES]
    changes = table.filter(
        pl.col("measure").is_in([f"cds{CHANGE}", f"vac{CHANGE}"]),
        pl.col("value").is_not_null(),
        pl.col("generator").is_not_null(),
        pl.col("contrast").ne_missing("phrasing"),
    )
    found: dict[tuple[tuple[str, str], ...], dict[str, Mapping[str, Any]]] = {}
    for row in changes.iter_rows(named=True):
        scope = tuple((f, str(row[f])) for f in factors if row[f] is not None)
        found.setdefault(scope, {})[row["measure"]] = row
    for scope, rows in found.items():
        cds, vac = rows.get(f"cds{CHANGE}"), rows.get(f"vac{CHANGE}")
        if cds is not None and vac is not None and (cds["high"] or 0.0) < 0 < (vac["low"] or 0.0):
            yield dict(scope), cds, vac


def told(traded: Traded, wording: Wording) -> str:
    """The finding as a sentence, with both numbers and what they are changes of."""
    scope, cds, vac = traded
    lead = wording.lead(scope)
    where = f"{'with' if lead else 'With'} {clean(cds['contrast'])} {quoted(scope[cds['contrast']])}"
    above = (
        (" beyond its noise floor", ", corrected for few pictures,")
        if cds["definition"] == EXCESS
        else ("",) * 2
    )
    return (
        f"{lead}{where}{wording.rest(scope)} the groups differ less and the pictures of each repeat each "
        f"other more: CDS{above[0]} changes by {_size(cds)} and VAC{above[1]} by {_size(vac)} of its mean "
        f"with {quoted(cds['reference'])} over {cds['n']} pairs; both intervals exclude 0."
    )


def _size(row: Mapping[str, Any]) -> str:
    return f"{number(row['value'])}{span(row.get('low'), row.get('high'))}"
