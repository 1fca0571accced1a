"""What can be written under ``annotators:``, ours and other packages'."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stereotrope.annotate.checks import checked
from stereotrope.annotate.contract import Annotator
from stereotrope.clients import Account
from stereotrope.inputs.asking import FileMaker, MakingOptions
from stereotrope.inputs.entries import Context, Entry, entries_of, read_entry
from stereotrope.inputs.options import Options
from stereotrope.plugins import Registry

ANNOTATORS: Registry[Entry[Annotator]] = Registry("annotators", "stereotrope.annotate")
"""Every entry by its name."""

annotator = entries_of(ANNOTATORS)
"""Decorator: a function from options and context to an annotator becomes the entry of its name."""


def create(
    spec: str | Mapping[str, Any],
    *,
    relative_to: Path | str | None = None,
    account: Account | None = None,
    counted: bool = False,
) -> Annotator:
    """Make an annotator.

    spec: An entry of an audit file: its name (``"colour"``), a chat model (``"openai:gpt-4o"``), or a mapping
        with options (``{"labels": "human.csv", "name": "rater-1"}``); ``stereotrope annotators`` lists them.
    relative_to: Folder that relative paths start from; the working directory when None.
    account: What calls to models are booked on; an own one, without a cap, when None.
    counted: Whether it is of a study whose label files are counted.

    Raises UsageError: The name or an option cannot be used; the nearest known one is named.
    Raises InputError: A file that it names cannot be used.
    """
    entry, options = _read(spec)
    context = Context(Path(relative_to or "."), Account() if account is None else account, counted)
    return ANNOTATORS.made(entry.name, lambda: entry.make(options, context), Annotator, checked)


def made_file(
    spec: str | Mapping[str, Any], *, relative_to: Path | str, account: Account
) -> FileMaker | None:
    """Return the file that an entry has a model make before the audit runs; None where it names none.

    The parameters are those of :func:`create`.

    Raises UsageError: The name or an option cannot be used.
    """
    entry, options = _read(spec)
    if not isinstance(options, MakingOptions):
        return None
    context = Context(Path(relative_to), account)
    with ANNOTATORS.blamed(entry.name):
        return options.makes(context)


def _read(spec: str | Mapping[str, Any]) -> tuple[Entry[Annotator], Options]:
    return read_entry(spec, ANNOTATORS, "annotator", model="questions")
