"""Lexicons: terms and what they stand for, found in captions in one pass.

:func:`read_lexicon` reads one, :meth:`Lexicon.match` finds its terms, :meth:`Lexicon.frame` says what
each caption says.
"""

from stereotrope.annotate.lexicon.annotator import LexiconAnnotator
from stereotrope.annotate.lexicon.audit import MatchingAudit, audit_reading, matching_audit
from stereotrope.annotate.lexicon.matching import Matches
from stereotrope.annotate.lexicon.model import Lexicon
from stereotrope.annotate.lexicon.parts import LISTS, THINGS, Entry, Grouped, Matching, PromptEntry, TermList
from stereotrope.annotate.lexicon.read import BUILT_IN, lexicon_from, read_lexicon
from stereotrope.annotate.lexicon.wide import UNKNOWN, Reading

__all__ = [
    "BUILT_IN",
    "LISTS",
    "THINGS",
    "UNKNOWN",
    "Entry",
    "Grouped",
    "Lexicon",
    "LexiconAnnotator",
    "Matches",
    "Matching",
    "MatchingAudit",
    "PromptEntry",
    "Reading",
    "TermList",
    "audit_reading",
    "lexicon_from",
    "matching_audit",
    "read_lexicon",
]
