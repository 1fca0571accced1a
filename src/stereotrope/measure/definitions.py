"""Which definition a score follows, and the refusal to set two of them side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from stereotrope.errors import DefinitionError, UsageError
from stereotrope.inputs.options import shorten
from stereotrope.measure.contract import PAPER, Calls
from stereotrope.measure.tidy import to_polars

DEFINITIONS = ("paper", "released")
"""``paper``: as a method's paper writes it; ``released``: as its authors' published scripts compute it."""


def check_definition(definition: str, measure: str, known: Sequence[str] = DEFINITIONS) -> None:
    """Refuse a definition that is none of those ``known``."""
    if definition not in known:
        raise UsageError(
            f"{measure}: definition must be one of {', '.join(map(repr, known))}, found {definition!r}"
        )


def require_one_definition(estimates: Any) -> None:
    """Refuse estimates of one measure under two definitions: their scores have different scales and floors.

    Raises DefinitionError: There are two; it says how to keep the rows of one.
    """
    frame = to_polars(estimates, what="estimates", needs=("measure", "definition"))
    pairs = frame.select("measure", "definition").drop_nulls().unique().sort("measure", "definition")
    for (measure,), rows in pairs.group_by(["measure"], maintain_order=True):
        if rows.height > 1:
            found = ", ".join(map(repr, rows["definition"]))
            raise DefinitionError(
                f"{measure}: scores under the definitions {found} cannot be compared: their scales and "
                f"floors differ; keep the rows of one, e.g. "
                f"estimates.filter(pl.col('definition') == {rows['definition'][0]!r})"
            )


def definition_read(given: Mapping[str, Any], reads: Sequence[str], calls: Calls) -> str | None:
    """The definition of the scores that a measure is asked to read; None for each that there is.

    Raises UsageError: None of them is computed by it.
    """
    definition: str | None = given.get("definition")
    read = [call for call in calls if not {call.name, *call.info.rows}.isdisjoint(reads)]
    computed = {call.info.compared_as or call.arguments.get("definition", PAPER) for call in read}
    if definition is not None and definition not in computed:
        raise UsageError(
            f"reads scores by the definition {' and '.join(map(repr, sorted(computed)))}, found "
            f"{shorten(definition)}; list {{{reads[0]}: {{definition: …}}}} before it"
        )
    return definition or next((call.info.compared_as for call in read), None)
