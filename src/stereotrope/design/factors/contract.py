"""The contract of further factors: a file that people may edit, and what can make it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.clients import Account
from stereotrope.errors import UsageError
from stereotrope.inputs.asking import Asking, MadeFile
from stereotrope.inputs.entries import Context, Entry, entries_of, read_entry
from stereotrope.inputs.options import shorten
from stereotrope.plugins import Registry
from stereotrope.tables import SCENARIO, factors_of

GROUP = "prompt_group"
"""Within what a row of a file is, where the prompts have this factor."""

_MADE = "\0made"


class FactorFile:
    """Further factors of the prompts in a file that people may edit. Inherit it to make such files.

    path, written: The file, and as the audit file names it.
    names: The factors; None where every column is one that the prompts do not have.
    where: Factor → levels of the prompts that it is of; others have no level of its factors.
    """

    remedy = "write it"
    """What to do where the file is not there, or lacks prompts."""

    def __init__(
        self,
        path: Path,
        written: str,
        names: Sequence[str] | None = None,
        where: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.path, self.written, self.where = path, written, where or {}
        self.names = None if names is None else tuple(names)

    @property
    def can_make(self) -> bool:
        """Whether :meth:`make` makes the file."""
        return type(self).make is not FactorFile.make

    def require(self) -> None:
        """Raise :class:`~stereotrope.errors.UsageError` where it cannot be made here."""

    def make(self, prompts: pl.DataFrame, kept: pl.DataFrame | None, ask: Asking) -> MadeFile:
        """Make the file for the prompts; rows that are there, ``kept``, stay as they are."""
        raise NotImplementedError


def require_columns(kept: pl.DataFrame | None, needed: Sequence[str], written: str) -> None:
    """Raise :class:`~stereotrope.errors.UsageError` where a file that is there lacks a column of ours."""
    lacking = [] if kept is None else [name for name in needed if name not in kept.columns]
    if kept is not None and lacking:
        found = shorten(", ".join(kept.columns))
        raise UsageError(
            f"{written}: must have the columns {', '.join(needed)}, found {found}; "
            f"name {lacking[0]!r} so again, or delete the file to have it made anew"
        )


def completed(kept: pl.DataFrame | None, new: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Put rows into a file: what stands there stays, its further columns too; empty cells are filled.

    >>> kept = pl.DataFrame({"text": ["a", "b"], "topic": ["x", None], "note": ["mine", "ours"]})
    >>> new = pl.DataFrame({"text": ["b", "c"], "topic": ["y", "z"]})
    >>> completed(kept, new, ["text"]).rows()
    [('a', 'x', 'mine'), ('b', 'y', 'ours'), ('c', 'z', None)]
    """
    if kept is None:
        return new
    made = new.rename({name: f"{name}{_MADE}" for name in new.columns if name not in keys})
    both = kept.join(made, on=list(keys), how="left", maintain_order="left")
    more = [name for name in new.columns if name not in keys]
    filled = both.select(
        *(pl.coalesce(name, f"{name}{_MADE}") if name in more else name for name in kept.columns),
        *(pl.col(f"{name}{_MADE}").alias(name) for name in more if name not in kept.columns),
    )
    rest = new.join(kept, on=list(keys), how="anti", maintain_order="left")
    return pl.concat([filled, rest], how="diagonal")


def prompts_of(prompts: pl.DataFrame, file: FactorFile) -> pl.DataFrame:
    """The prompts that a file is of.

    Raises UsageError: They have no such factor, or none has such a level.
    """
    found = prompts
    for name, levels in file.where.items():
        there = factors_of(prompts.columns)
        if name not in there:
            raise UsageError(
                f"{file.written}: where: no factor {shorten(name)} is there before this file; there is "
                f"{', '.join(there)}; name the file that has it above this one"
            )
        found = found.filter(pl.col(name).is_in(levels))
        if not found.height:
            known = ", ".join(prompts[name].drop_nulls().unique().sort())
            raise UsageError(
                f"{file.written}: where: no prompt has {name} {' or '.join(levels)}; it has the levels "
                f"{shorten(known)}; write one of them"
            )
    return found


def unit_of(
    prompts: pl.DataFrame, of: str | None = None, within: str | None = None
) -> tuple[str, str | None]:
    """Return the column whose different values are told apart, and the one within which.

    Raises UsageError: The prompts have no such column.
    """
    there = [*factors_of(prompts.columns), "text"]
    for name in (of, within):
        if name is not None and name not in there:
            raise UsageError(f"the prompts have no factor {name!r}; they have {', '.join(there)}")
    return (
        of or (SCENARIO if SCENARIO in there else "text"),
        within or (GROUP if GROUP in there and of is None else None),
    )


FACTORS: Registry[Entry[FactorFile]] = Registry("factors", "stereotrope.design.factors")
"""Every entry by its name."""

factor = entries_of(FACTORS)
"""Decorator: a function from options and context to a file of factors becomes the entry of its name."""


def factor_file(
    spec: str | Mapping[str, Any], *, relative_to: Path | str | None = None, account: Account | None = None
) -> FactorFile:
    """Make a file of further factors.

    spec: An entry under ``factors:``: the name of a file, or a mapping such as ``{clusters: clusters.csv}``.
    relative_to: Folder that relative paths start from; the working directory when None.
    account: What calls to models are booked on; one of its own, without a cap, when None.

    Raises UsageError: The name or an option cannot be used; the nearest known one is named.
    """
    if isinstance(spec, str) and spec not in FACTORS:
        spec = {"file": spec}
    entry, options = read_entry(spec, FACTORS, "factors", model="file")
    context = Context(Path(relative_to or "."), Account() if account is None else account)
    return FACTORS.made(entry.name, lambda: entry.make(options, context), FactorFile, _checked)


def _checked(made: Any, name: str, given: tuple[Any, ...], result: Any) -> Any:
    if name == "make" and given and not isinstance(result, MadeFile):
        raise TypeError(f"make must give MadeFile, found {result!r:.80}")
    return result
