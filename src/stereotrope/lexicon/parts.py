"""What a lexicon is made of: terms in groups and lists, and how they are matched."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from stereotrope.tables import CAPTION_LISTS

LISTS = CAPTION_LISTS
"""Term lists that a prompt may have, each an attribute of its captions."""

THINGS = ("keyword", "implied", "hallucination", "reference", "alignment", "ppe")
"""Lists that name things and not how people look: a noun behind their terms is no surprise."""


@dataclass(frozen=True)
class Matching:
    """How terms are found.

    boundary: ``word``: a term is a whole word or several; ``substring``: it may stand inside a longer word.
    split_case: Whether words also end between a lower-case and an upper-case letter and between a letter and
        a digit (``MaleFair``, ``Female20s``).
    forms: Whether whole words also count in the forms of ``forms.yaml``: terms of lists in the plural, with
        -ed and run together, all terms as compounds (``hoverfly`` for *fly*). Letters anywhere need none.
    """

    boundary: Literal["word", "substring"] = "word"
    split_case: bool = False
    forms: bool = True

    @property
    def words(self) -> str:
        """The matching in words."""
        way = "letters anywhere"
        if self.boundary == "word":
            way = "whole words and their forms" if self.forms else "whole words"
        return way + (", split at case and digits" if self.split_case else "")


@dataclass(frozen=True)
class Grouped:
    """An attribute of which a caption has one group.

    groups: Group → its terms.
    priority: Groups of which the first that is found decides where several are; none: such a caption has a
        value of its own, the groups joined by `` and `` in the order of ``groups``.
    decide: ``first``: by ``priority`` alone; ``most``: the group with most hits, ties by ``priority``.
    of: Prompts whose captions have it; all when None.
    exclude: Phrases in which a term does not count; ``{}`` stands for each term.
    """

    groups: Mapping[str, tuple[str, ...]]
    priority: tuple[str, ...] = ()
    decide: Literal["first", "most"] = "first"
    of: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    why: str | None = None


@dataclass(frozen=True)
class TermList:
    """Elements that a caption may have any number of: element → its terms; the rest as :class:`Grouped`."""

    elements: Mapping[str, tuple[str, ...]]
    exclude: tuple[str, ...] = ()
    why: str | None = None


@dataclass(frozen=True)
class PromptEntry:
    """What a lexicon says of one prompt.

    lists: Name of a list (:data:`LISTS`) → its terms.
    parity: Which groups of which attribute are compared: ``attribute``, ``groups``, ``against``: groups,
        ``others`` (all other groups) or ``rest`` (these and ``unknown``).
    cas: Whether stereotype and diversity terms are set against each other.
    """

    lists: Mapping[str, TermList]
    path: Literal["demographic", "contextual"] = "demographic"
    text: str | None = None
    parity: Mapping[str, object] | None = None
    cas: bool = True


@dataclass(frozen=True)
class Term:
    """One term in one place of a lexicon.

    attribute: Grouped attribute, or name of a list.
    prompt: Prompt of a list; None for a grouped attribute.
    element: Group or element the term stands for.
    term: As written; ``*`` at an end lets it stand inside a longer word there.
    exclude: Phrases in which it does not count.
    """

    attribute: str
    prompt: str | None
    element: str
    term: str
    exclude: tuple[str, ...] = ()
