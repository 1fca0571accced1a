"""What a lexicon declares of a prompt: the groups, sides, elements and text that measures count over."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stereotrope.errors import UsageError
from stereotrope.lexicon.model import Lexicon
from stereotrope.lexicon.parts import Grouped, PromptEntry
from stereotrope.lexicon.read import lexicon_from


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


def declared_of(lexicon: Lexicon | Mapping[str, Any]) -> dict[str, Declared]:
    """Read what a lexicon declares of each prompt.

    lexicon: A lexicon, or a mapping shaped as its file (:func:`stereotrope.lexicon.lexicon_from`).
    Raises InputError: A mapping cannot be used, as of :func:`stereotrope.lexicon.lexicon_from`.
    Raises UsageError: It declares no prompt, or the attribute of a parity is none that its captions have.

    >>> lexicon = {
    ...     "attributes": {"gender": {"groups": {"female": ["woman"], "male": ["man"]}}},
    ...     "prompts": {"doctor": {"cas": False, "lists": {"keyword": ["doctor", "hospital"]}}},
    ... }
    >>> found = declared_of(lexicon)["doctor"]
    >>> found.groups, found.elements
    ({'gender': ('female', 'male')}, {'keyword': ('doctor', 'hospital')})
    """
    read = lexicon if isinstance(lexicon, Lexicon) else lexicon_from(lexicon)
    if not read.prompts:
        raise UsageError("lexicon: it declares no prompt; list prompts with their terms under 'prompts'")
    return {name: _of_prompt(name, entry, read.attributes) for name, entry in read.prompts.items()}


def _of_prompt(name: str, entry: PromptEntry, attributes: Mapping[str, Grouped]) -> Declared:
    own = {
        attribute: one
        for attribute, one in attributes.items()
        if one.of is None or name.casefold() in map(str.casefold, one.of)
    }
    parity = entry.parity
    if parity is not None and parity.attribute not in own:
        raise UsageError(
            f"lexicon: parity of prompt {name!r} is about {parity.attribute!r}, which its captions do not "
            f"have; found {', '.join(map(repr, own)) or 'no attribute'}"
        )
    lists = {key: one.elements for key, one in entry.lists.items()}
    every = [*lists.values(), *(one.groups for one in own.values())]
    terms = [term for listed in every for found in listed.values() for term in found]
    return Declared(
        name=name,
        path=entry.path,
        text=entry.text,
        groups={attribute: tuple(one.groups) for attribute, one in own.items()},
        attribute=parity.attribute if parity else next(iter(own)) if len(own) == 1 else None,
        of=parity.groups if parity else None,
        against=parity.against if parity else None,
        association=entry.cas and ("stereotype" in lists or "diversity" in lists),
        elements={key: tuple(found) for key, found in lists.items()},
        terms=(*terms, *([entry.text] if entry.text else [])),
    )
