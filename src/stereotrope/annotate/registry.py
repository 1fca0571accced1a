"""What can be written under ``annotators:``, ours and other packages'."""

from stereotrope.annotate.contract import Annotator
from stereotrope.inputs.entries import Entry, entries_of
from stereotrope.plugins import Registry

ANNOTATORS: Registry[Entry[Annotator]] = Registry("annotators", "stereotrope.annotate")
"""Every entry by its name."""

annotator = entries_of(ANNOTATORS)
"""Decorator: a function from options and context to an annotator becomes the entry of its name."""
