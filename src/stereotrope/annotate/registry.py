"""What can be written under ``annotators:``, ours and other packages'."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stereotrope.annotate.checks import checked
from stereotrope.annotate.contract import Annotator
from stereotrope.clients import Account
from stereotrope.inputs.entries import Context, Entry, entries_of, read_entry
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
    entry, options = read_entry(spec, ANNOTATORS, "annotator", model="questions")
    context = Context(Path(relative_to or "."), Account() if account is None else account, counted)
    return ANNOTATORS.made(entry.name, lambda: entry.make(options, context), Annotator, checked)
