"""Lexicons: terms and what they stand for, found in captions in one pass.

:func:`read_lexicon` reads one, :meth:`Lexicon.match` finds its terms, :meth:`Lexicon.frame` says what
each caption says.
"""

from stereotrope.lexicon.audit import MatchingAudit, audit_reading, matching_audit
from stereotrope.lexicon.matching import Matches
from stereotrope.lexicon.model import Lexicon, Reading
from stereotrope.lexicon.parts import LISTS, THINGS, Grouped, Matching, PromptEntry, Term, TermList
from stereotrope.lexicon.read import built_in_lexicons, lexicon_from, read_lexicon

__all__ = [
    "LISTS",
    "THINGS",
    "Grouped",
    "Lexicon",
    "Matches",
    "Matching",
    "MatchingAudit",
    "PromptEntry",
    "Reading",
    "Term",
    "TermList",
    "audit_reading",
    "built_in_lexicons",
    "lexicon_from",
    "matching_audit",
    "read_lexicon",
]
