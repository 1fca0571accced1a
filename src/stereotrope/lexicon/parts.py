"""What a lexicon is made of, as a file writes it: terms in groups and lists, and how they are matched."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, PlainValidator, model_validator

from stereotrope.errors import did_you_mean
from stereotrope.escape import is_printable
from stereotrope.inputs.options import Options, Text
from stereotrope.lexicon.spelling import composed, folded
from stereotrope.tables import ALL_ATTRIBUTES, CAPTION_LISTS, UNKNOWN

LISTS = CAPTION_LISTS
"""Term lists that a prompt may have, each an attribute of its captions."""

THINGS = ("keyword", "implied", "hallucination", "reference", "alignment", "ppe")
"""Lists that name things and not how people look: a noun behind their terms is no surprise."""

REST = "rest"
"""Stands for every group, ``unknown`` included, that is not on the first side of a parity."""

OTHERS = "others"
"""Stands for every declared group that is not on the first side of a parity; ``unknown`` is none of them."""

WILD, PLACE = "*", "{}"
_LONGEST = 200
"""Characters of a term or name."""
_TAKEN = frozenset(
    {
        *("caption", "image_id", "generator", "prompt", "prompt_id", "text", "excluded", "status"),
        *("rationale", UNKNOWN, ALL_ATTRIBUTES, *LISTS),
    }
)
"""Names of lists, and of what stands beside a caption's values in its row or for all attributes together."""


def bare_term(term: str) -> str:
    """Return a term without the ``*`` at its ends."""
    return term.removeprefix(WILD).removesuffix(WILD)


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a text; put it in quotes")
    written = composed(str(value)).strip()
    if not written or len(written) > _LONGEST or not is_printable(written):
        raise ValueError(f"must be printable text of 1 to {_LONGEST} characters; rewrite it")
    return written


def _name(value: Any) -> str:
    name = _text(value)
    if name != composed(str(value)):
        raise ValueError("must be a name without outer blanks; remove them")
    return name


def _none_of(taken: Collection[str], rule: str) -> AfterValidator:
    def check(name: str) -> str:
        if name in taken:
            raise ValueError(rule)
        return name

    return AfterValidator(check)


def _list(name: str) -> str:
    if name not in LISTS:
        hint = did_you_mean(name, LISTS, otherwise=f"there are {', '.join(LISTS)}")
        raise ValueError(f"must be a list that a prompt can have; {hint}")
    return name


def _term(value: Any) -> str:
    term = _text(value)
    if not folded(bare_term(term), split=False):
        raise ValueError("must have a letter or sign to find; remove it")
    return term


def _listed(value: Any) -> tuple[Any, ...]:
    if value is None or isinstance(value, list | tuple):
        return tuple(value or ())
    if isinstance(value, str):
        return (value,)
    raise ValueError("must list at least one term; write [woman, women]")


def _different(terms: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse terms of which two are matched alike."""
    if not terms:
        raise ValueError("must list at least one term; write [woman, women]")
    seen: dict[tuple[str, bool, bool], str] = {}
    for term in terms:
        if PLACE in term:
            raise ValueError(f"must not hold {PLACE}, which stands for a term in `not:` only; remove it")
        key = folded(bare_term(term), split=False), term.startswith(WILD), term.endswith(WILD)
        if key in seen:
            raise ValueError(f"must be different ({seen[key]!r} and {term!r} are matched alike); keep one")
        seen[key] = term
    return terms


def _side(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return _text(value)
    if not isinstance(value, list | tuple):
        raise ValueError(f"must be {OTHERS}, {REST} or groups; write [female]")
    return tuple(map(_text, value)) or OTHERS


def _parted(value: Any) -> Any:
    """A list as a file writes it: its elements stand beside ``terms``, ``not`` and ``why``."""
    if isinstance(value, TermList):
        return value
    if not isinstance(value, Mapping):
        return {"terms": value}
    beside = {key: held for key, held in value.items() if key in ("terms", "not", "why")}
    return {**beside, "element": {key: held for key, held in value.items() if key not in beside}}


_OneLine = Annotated[Text, AfterValidator(lambda text: " ".join(text.split()))]
_Name = Annotated[str, BeforeValidator(_name)]
_GroupName = Annotated[
    _Name, _none_of([UNKNOWN], "must have another name: a caption without any group has this one; rename it")
]
_AttributeName = Annotated[
    _Name, _none_of(_TAKEN, "must not be the name of a list or column; rename the attribute")
]
_ListName = Annotated[_Name, AfterValidator(_list)]
_Names = Annotated[tuple[Annotated[str, BeforeValidator(_text)], ...], BeforeValidator(_listed)]
_Phrases = Annotated[tuple[Annotated[str, BeforeValidator(_term)], ...], BeforeValidator(_listed)]
_Terms = Annotated[_Phrases, AfterValidator(_different)]


class _Entry(Options):
    """A part of a lexicon file; a key with nothing behind it is as good as absent."""

    model_config = ConfigDict(populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _given(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {key: held for key, held in value.items() if held is not None}


class Matching(_Entry):
    """How terms are found.

    boundary: ``word``: a term is a whole word or several; ``substring``: it may stand inside a longer word.
    split_case: Whether words also end between a lower-case and an upper-case letter and between a letter and
        a digit (``MaleFair``, ``Female20s``).
    forms: Whether whole words also count in the forms of ``forms.yaml``: terms of lists in the plural, with
        -ed and run together, all terms as compounds (``hoverfly`` for *fly*). Letters anywhere need none.
    case: Case never counts.
    """

    boundary: Literal["word", "substring"] = "word"
    split_case: bool = False
    forms: bool = True
    case: Literal["fold"] = "fold"

    @property
    def words(self) -> str:
        """The matching in words."""
        way = "letters anywhere"
        if self.boundary == "word":
            way = "whole words and their forms" if self.forms else "whole words"
        return way + (", split at case and digits" if self.split_case else "")


class Grouped(_Entry):
    """An attribute of which a caption has one group.

    groups: Group → its terms.
    priority: Groups of which the first that is found decides where several are; none: such a caption has a
        value of its own, the groups joined by `` and `` in the order of ``groups``.
    decide: ``first``: by ``priority`` alone; ``most``: the group with most hits, ties by ``priority``.
    of: Prompts whose captions have it; all when None.
    exclude: Phrases in which a term does not count (``not`` in a file); ``{}`` stands for each term.
    """

    groups: dict[_GroupName, _Terms] = Field(min_length=1, examples=["{female: [woman]}"])
    priority: _Names = ()
    decide: Literal["first", "most"] = "first"
    of: _Names | None = None
    exclude: _Phrases = Field((), alias="not")
    why: _OneLine | None = None


class TermList(_Entry):
    """Elements that a caption may have any number of; ``exclude`` as of :class:`Grouped`.

    terms: Terms each of which is an element of its own.
    element: Element → its terms; in a file they stand beside ``terms``, ``not`` and ``why``.
    """

    terms: _Terms = ()
    element: dict[_Name, _Terms] = Field(default_factory=dict)
    exclude: _Phrases = Field((), alias="not")
    why: _OneLine | None = None

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if both := [name for name in self.element if name in self.terms]:
            raise ValueError(f"must not have {both[0]!r} as a term and as an element; keep one")
        if not self.elements:
            raise ValueError("must have at least one term; add some or remove it")
        return self

    @property
    def elements(self) -> dict[str, tuple[str, ...]]:
        """Element → its terms, for all elements."""
        return {**{term: (term,) for term in self.terms}, **self.element}


class Parity(_Entry):
    """Which groups of which attribute are compared; ``against`` is groups, ``others`` or ``rest``."""

    attribute: _OneLine = Field(examples=["gender"])
    groups: _Names = Field(min_length=1, examples=["[female]"])
    against: Annotated[str | tuple[str, ...], PlainValidator(_side)] = OTHERS


class PromptEntry(_Entry):
    """What a lexicon says of one prompt.

    lists: Name of a list (:data:`LISTS`) → its terms.
    cas: Whether stereotype and diversity terms are set against each other.
    """

    lists: dict[_ListName, Annotated[TermList, BeforeValidator(_parted)]] = Field({}, examples=["{ppe: cap}"])
    path: Literal["demographic", "contextual"] = "demographic"
    text: _OneLine | None = None
    parity: Parity | None = Field(None, examples=["{attribute: gender, groups: [female]}"])
    cas: bool = True
    why: _OneLine | None = None


class LexiconFile(_Entry):
    """What a file or mapping of a lexicon holds."""

    name: _OneLine | None = None
    version: Text | None = None
    source: _OneLine | None = None
    licence: _OneLine | None = None
    why: _OneLine | None = None
    matching: Matching = Field(default_factory=Matching, examples=["{boundary: word}"])
    attributes: dict[_AttributeName, Grouped] = Field(default_factory=dict)
    prompts: dict[_Name, PromptEntry] = Field({}, examples=["{doctor: {lists: {keyword: [doctor]}}}"])


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
