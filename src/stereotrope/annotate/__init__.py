"""Annotators: instruments that look at pictures and say what they see.

:func:`create` makes one from a line of an audit file. A :class:`PictureAnnotator` sees one picture at a
time and no prompt; a :class:`TableAnnotator` derives labels from tables.
"""

from stereotrope.annotate.blank import BlankAnnotator
from stereotrope.annotate.colour import ColourAnnotator
from stereotrope.annotate.create import KINDS, create
from stereotrope.annotate.duplicates import DuplicatesAnnotator
from stereotrope.annotate.folding import FoldedLabels, fold
from stereotrope.annotate.imported import ImportedLabels
from stereotrope.annotate.label import Attributes, Label, PictureAnnotator, TableAnnotator
from stereotrope.annotate.picture import Picture
from stereotrope.annotate.text import TextAnnotator

__all__ = [
    "KINDS",
    "Attributes",
    "BlankAnnotator",
    "ColourAnnotator",
    "DuplicatesAnnotator",
    "FoldedLabels",
    "ImportedLabels",
    "Label",
    "Picture",
    "PictureAnnotator",
    "TableAnnotator",
    "TextAnnotator",
    "create",
    "fold",
]
