"""The one way in which a value that may be written in several is counted."""

import re
import unicodedata

_JOINTS = re.compile(r"[\s_\-‐‑‒–—]+")
_BLANKS = re.compile(r"\s+")
_NO_PLURAL = frozenset({"lens", "news", "series", "species"})
_NO_PLURAL_ENDINGS = ("ss", "us", "is", "as")
_HISSING = ("sses", "shes", "ches", "xes", "tzes", "zzes")


def fold(value: str) -> str:
    """Write a value the one way in which it is counted; twice changes nothing.

    Unicode NFC, case folded, runs of blanks, hyphens and underscores between two letters made one blank, and
    the last word's simple English plural made singular (``boxes`` → ``box``, ``cherries`` → ``cherry``;
    ``glass`` and ``lens`` stay). Signs and digits are never touched: ``-1`` and ``1``, ``A-``, ``A+`` and
    ``A``, ``18–24`` and ``1824`` stay apart. Spelling variants are left alone.

    >>> [fold(value) for value in ("Rose-Golds", "A-", "-1", "30 - 40", "-")]
    ['rose gold', 'a-', '-1', '30 - 40', '-']
    """
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", value).casefold())
    words = _JOINTS.sub(_joint, text).strip().split(" ")
    words[-1] = _singular(words[-1])
    return " ".join(words) or value


def _joint(found: re.Match[str]) -> str:
    """A blank between letters; elsewhere the run as it is, its blanks made one."""
    text, before, after = found.string, found.start() - 1, found.end()
    while before >= 0 and unicodedata.category(text[before]).startswith("M"):
        before -= 1  # marks are part of their letter: most vowels of Indic scripts are marks
    between = before >= 0 and text[before].isalpha() and text[after : after + 1].isalpha()
    return " " if between else _BLANKS.sub(" ", found[0])


def _singular(word: str) -> str:
    if word in _NO_PLURAL or len(word) < 4 or not word.isalpha() or word.endswith(_NO_PLURAL_ENDINGS):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(_HISSING):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word
