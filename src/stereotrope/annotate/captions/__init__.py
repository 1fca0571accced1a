"""Captions: written elsewhere and imported, or written by a chat model.

A caption is a label like any other, with the attribute ``caption`` and any text as its value.
"""

from stereotrope.annotate.captions.chat import CaptionAnnotator
from stereotrope.annotate.captions.file import CaptionFile, read_captions
from stereotrope.annotate.captions.imported import ImportedCaptions

__all__ = ["CaptionAnnotator", "CaptionFile", "ImportedCaptions", "read_captions"]
