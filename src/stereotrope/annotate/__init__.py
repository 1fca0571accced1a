"""Annotators: instruments that look at pictures and say what they see.

:func:`create` makes one from a line of an audit file. An :class:`Annotator` looks at pictures, regions,
sets or texts and at no prompt, or derives labels from tables.
"""

from stereotrope.annotate.attributes import FIXED_ATTRIBUTES
from stereotrope.annotate.blank import BlankAnnotator
from stereotrope.annotate.boxes import GivenBoxes
from stereotrope.annotate.caption import CaptionAnnotator, ImportedCaptions
from stereotrope.annotate.choice import ChoiceAnnotator
from stereotrope.annotate.colour import ColourAnnotator
from stereotrope.annotate.constraints import ConstraintAnnotator
from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.detection import Detector
from stereotrope.annotate.discovery import Discoverer
from stereotrope.annotate.duplicates import DuplicatesAnnotator
from stereotrope.annotate.embeddings import ClusterPrompts, Encoder, GivenEmbeddings, ZeroShot
from stereotrope.annotate.imported import ImportedLabels
from stereotrope.annotate.label import Attributes, Label, labels_frame
from stereotrope.annotate.lexicon import LexiconAnnotator
from stereotrope.annotate.picture import Picture, Subject, subject_id
from stereotrope.annotate.question import QuestionAnnotator
from stereotrope.annotate.registry import ANNOTATORS, annotator, create, made_file
from stereotrope.annotate.rubric import RubricJudge
from stereotrope.annotate.set_labels import ImportedSetLabels
from stereotrope.annotate.taxonomy import (
    Scope,
    Taxonomy,
    read_taxonomies,
    taxonomy_for,
    taxonomy_scope,
    write_taxonomies,
)
from stereotrope.annotate.text import TextAnnotator
from stereotrope.folding import fold

__all__ = [
    "ANNOTATORS",
    "FIXED_ATTRIBUTES",
    "Annotator",
    "Attributes",
    "BlankAnnotator",
    "CaptionAnnotator",
    "ChoiceAnnotator",
    "ClusterPrompts",
    "ColourAnnotator",
    "ConstraintAnnotator",
    "Detector",
    "Discoverer",
    "DuplicatesAnnotator",
    "Encoder",
    "GivenBoxes",
    "GivenEmbeddings",
    "ImportedCaptions",
    "ImportedLabels",
    "ImportedSetLabels",
    "Label",
    "LexiconAnnotator",
    "Picture",
    "QuestionAnnotator",
    "RubricJudge",
    "Scope",
    "Subject",
    "Taxonomy",
    "TextAnnotator",
    "ZeroShot",
    "annotator",
    "create",
    "fold",
    "labels_frame",
    "made_file",
    "read_taxonomies",
    "subject_id",
    "taxonomy_for",
    "taxonomy_scope",
    "write_taxonomies",
]
