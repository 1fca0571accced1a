"""Whether rows and frames that others give fit the columns of a table."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.tables import NUMBER, TEXT, WHOLE, Column


def require_row(columns: Sequence[Column], row: Mapping[str, Any]) -> None:
    """Raise ValueError where a value of a row does not fit its column; what has no column is let be."""
    for column in columns:
        if (value := row.get(column.name)) is not None:
            kind: Any = {TEXT: str, NUMBER: (int, float), WHOLE: int}[column.type]
            if not isinstance(value, kind) or (column.type == NUMBER and not math.isfinite(value)):
                raise ValueError(f"{column.name} must be of type {column.type}, found {value!r:.80}")
            str(value).encode()  # half a surrogate pair is no text


def require_frame(
    frame: pl.DataFrame,
    types: Mapping[str, Any],
    *,
    further: Any = None,
    filled: Sequence[str] = (),
    unique: Sequence[str] = (),
) -> None:
    """Raise ValueError where a frame has not these columns, has nulls, or rows that are of one thing.

    types, further: Type of each column, and of any other; None where no other may be there.
    filled: Columns without nulls.
    unique: Columns in which no two rows are alike.
    """
    schema = frame.schema
    for name in dict.fromkeys([*types, *schema]):
        wanted, found = types.get(name, further), schema.get(name)
        if found != wanted:
            raise ValueError(f"column {name!r} must hold {wanted or 'nothing: drop it'}, found {found}")
    if nulls := [name for name in filled if frame[name].null_count()]:
        raise ValueError(f"column {nulls[0]!r} has a null")
    scopes = frame.select(unique)
    if (twice := scopes.filter(scopes.is_duplicated())).height:
        raise ValueError(f"two rows are of one scope: {twice.row(0)}")
