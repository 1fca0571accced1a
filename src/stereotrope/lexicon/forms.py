"""Forms of a term that count as the term: plurals, -ed, words run together, compounds."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from stereotrope.lexicon.parts import Term
from stereotrope.lexicon.spelling import folded
from stereotrope.shipped import shipped

_WORD = re.compile(r"[a-z]{3,}")
_LEAST_ED, _LEAST_JOINED = 4, 6
"""Letters of the shortest word that takes -ed, and of the shortest run of words."""
_SIBILANT = ("s", "x", "z", "ch", "sh")
_DOUBLING = re.compile(r"[aeiou][bdglmnprt]$")


@dataclass(frozen=True)
class Variants:
    """What else counts for a term: ``forms``; and ``apart``, phrases within which it does not count."""

    forms: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()


_NONE = Variants()


def variants(entries: Sequence[Term]) -> list[Variants]:
    """Return what else counts for each term of a lexicon.

    Terms of lists have the plural and the -ed of their last word, and all words run together; terms of groups
    and lists have the compounds of ``forms.yaml``. A term with ``*`` has none.

    entries: The terms. A form that another term of the same list or attribute has, or is, counts for that
        one.
    """
    taken: dict[tuple[str, str | None], set[str]] = {}
    for entry in entries:
        taken.setdefault((entry.attribute, entry.prompt), set()).add(folded(entry.term, split=False))
    found = []
    for entry in entries:
        mine = taken[entry.attribute, entry.prompt]
        term = folded(entry.term, split=False)
        forms = [] if "*" in term else forms_of(term, inflected=entry.prompt is not None)
        forms = [form for form in dict.fromkeys(forms) if form not in mine]
        mine.update(forms)
        found.append(Variants(tuple(forms), _compounds().get(term, _NONE).apart))
    return found


def forms_of(term: str, *, inflected: bool = True) -> list[str]:
    """Return the forms of a folded term, itself left out.

    term: Case-folded, with single blanks.
    inflected: Whether plural, -ed and words run together are among them; else its compounds alone.
    """
    compounds = _compounds().get(term, _NONE).forms
    if not inflected:
        return list(compounds)
    forms = [*_of_last(term, _plurals), *_of_last(term, _with_ed)]
    if " " in term and len(term) >= _LEAST_JOINED and term.replace(" ", "").isalpha():
        forms += [form.replace(" ", "") for form in [term, *forms]]
    return [*forms, *compounds]


def _of_last(term: str, forms: Callable[[str], Iterable[str]]) -> list[str]:
    before, blank, last = term.rpartition(" ")
    return [f"{before}{blank}{form}" for form in forms(last)]


def _plurals(word: str) -> Iterable[str]:
    irregular: Mapping[str, Sequence[str]] = _listed()["irregular"]
    if word in irregular:
        return irregular[word]
    if not _WORD.fullmatch(word) or (word.endswith("s") and not word.endswith("ss")):
        return ()
    if word.endswith("y") and word[-2] not in "aeiou":
        return (f"{word[:-1]}ies",)
    return (f"{word}es",) if word.endswith(_SIBILANT) else (f"{word}s",)


def _with_ed(word: str) -> Iterable[str]:
    """``feathered``, ``caged``, ``skinned`` and ``petalled``, both ``petaled``."""
    if not _WORD.fullmatch(word) or len(word) < _LEAST_ED or word.endswith(("s", "ed", "ing", "ly", "y")):
        return ()
    made = [f"{word}d" if word.endswith("e") else f"{word}ed"]
    if _DOUBLING.search(word):
        made.append(f"{word}{word[-1]}ed")
    return [form for form in made if form not in _listed()["not_ed"]]


def _listed() -> Mapping[str, Any]:
    return dict(shipped("lexicon", "forms.yaml"))


@cache
def _compounds() -> Mapping[str, Variants]:
    """Of each head, in the singular and the plural, the compounds that are one and those that are none."""
    found: dict[str, Variants] = {}
    for head, told in _listed()["compounds"].items():
        are = tuple(form for name in told.get("are", ()) for form in (name, *_plurals(name)))
        parted = [
            name if " " in name else f"{name.removesuffix(head)} {head}" for name in told.get("are_not", ())
        ]
        apart = tuple(phrase for name in parted for phrase in (name, *_of_last(name, _plurals)))
        found[head] = Variants(are, apart)
        found |= {plural: Variants((), apart) for plural in _plurals(head)}
    return found
