"""What a lexicon declares of a prompt: the groups, sides, elements and text that measures count over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stereotrope.errors import UsageError

_BESIDE = frozenset({"why", "not", "exclude"})
"""Keys of a list in a lexicon file that are no elements."""


@dataclass(frozen=True)
class Declared:
    """What is declared of one prompt.

    name: The prompt, as in the factor of the captions frame.
    path: ``demographic``: scored by CBS; ``contextual``: by contextual diversity.
    groups: Attribute → its groups, in order; of the attributes that captions of this prompt have.
    attribute: The one that composites are about; None where none is.
    of, against: Sides of its parity; ``of`` is None where none is declared.
    association: Whether stereotype and diversity terms are set against each other.
    terms: All terms and the text, to know the scripts that can be found.
    """

    name: str
    path: str = "demographic"
    text: str | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    attribute: str | None = None
    of: tuple[str, ...] | None = None
    against: tuple[str, ...] | str | None = None
    association: bool = False
    elements: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    terms: tuple[str, ...] = ()


def declared_of(lexicon: Any) -> dict[str, Declared]:
    """Read what a lexicon declares of each prompt.

    lexicon: A :class:`stereotrope.annotate.Lexicon`, or a mapping shaped as its file: ``attributes`` and
        ``prompts``.
    Raises UsageError: It declares no prompt, or a prompt's parity names an attribute that is not there.

    >>> lexicon = {
    ...     "attributes": {"gender": {"groups": {"female": ["woman"], "male": ["man"]}}},
    ...     "prompts": {"doctor": {"cas": False, "lists": {"keyword": ["doctor", "hospital"]}}},
    ... }
    >>> found = declared_of(lexicon)["doctor"]
    >>> found.groups, found.elements
    ({'gender': ('female', 'male')}, {'keyword': ('doctor', 'hospital')})
    """
    prompts = _get(lexicon, "prompts") or {}
    attributes = _get(lexicon, "attributes") or {}
    if not prompts:
        raise UsageError("lexicon: it declares no prompt; list prompts with their terms under 'prompts'")
    return {name: _prompt(str(name), one, attributes) for name, one in prompts.items()}


def _prompt(name: str, entry: Any, attributes: Mapping[str, Any]) -> Declared:
    own = {
        attribute: one
        for attribute, one in attributes.items()
        if (of := _get(one, "of")) is None or name.casefold() in {str(p).casefold() for p in of}
    }
    parity = _get(entry, "parity") or {}
    path = _get(entry, "path") or "demographic"
    main = parity.get("attribute")
    if main is not None and main not in own:
        raise UsageError(
            f"lexicon: parity of prompt {name!r} is about {main!r}, which its captions do not have; found "
            f"{', '.join(map(repr, own)) or 'no attribute'}"
        )
    if main is None and len(own) == 1:
        main = next(iter(own))
    sides = parity.get("groups")
    against = parity.get("against")
    lists = {key: _elements(one) for key, one in (_get(entry, "lists") or {}).items()}
    text = _get(entry, "text")
    terms = [term for found in lists.values() for listed in found.values() for term in listed]
    terms += [str(t) for one in own.values() for listed in _get(one, "groups").values() for t in listed]
    cas = _get(entry, "cas")
    return Declared(
        name=name,
        path=path,
        text=text,
        groups={attribute: tuple(_get(one, "groups")) for attribute, one in own.items()},
        attribute=main,
        of=tuple(sides) if sides else None,
        against=against if against is None or isinstance(against, str) else tuple(against),
        association=cas is not False and bool(lists.get("stereotype") or lists.get("diversity")),
        elements={key: tuple(found) for key, found in lists.items()},
        terms=(*terms, *([text] if text else [])),
    )


def _elements(listed: Any) -> dict[str, tuple[str, ...]]:
    found = _get(listed, "elements")
    if found is None and isinstance(listed, Mapping):
        found = listed.get("terms")
        if found is None:
            found = {key: terms for key, terms in listed.items() if key not in _BESIDE}
    elif found is None:
        found = listed
    if isinstance(found, Mapping):
        return {str(key): tuple(map(str, terms)) for key, terms in found.items()}
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise UsageError(f"lexicon: a list must hold terms, found {found!r}; write [{found!r}]")
    return {str(term): (str(term),) for term in found}


def _get(thing: Any, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
