"""A lexicon's YAML tree: its values checked, every message with file and line."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from stereotrope.errors import InputError, did_you_mean
from stereotrope.inputs.yaml import line_of, read_tree
from stereotrope.lexicon.matching import PLACE, bare_term
from stereotrope.lexicon.spelling import composed, folded

_LONGEST = 200
"""Characters of a term or name."""
_MOST_TERMS = 200_000
"""Terms of a lexicon once every alias is written out: a few lines of YAML can stand for billions."""
_JOINERS = str.maketrans("", "", "\u200c\u200d")
"""Invisible, and part of how words are spelt in Persian, in the scripts of India and in emoji."""


class Tree:
    """A tree of mappings and lists with a name for messages.

    tree: The tree; lines are known where ruamel read it.
    """

    def __init__(self, name: str, tree: Any) -> None:
        self.file = name
        self._tree = tree
        self._left = _MOST_TERMS

    @classmethod
    def parsed(cls, name: str, text: str) -> Self:
        """Read a YAML text."""
        tree = read_tree(text, lambda message, line: InputError(f"{name}:{line}: {message}"))
        return cls(name, tree)

    def error(self, message: str, *at: Any) -> InputError:
        """Make the error that names a place."""
        if isinstance(self._tree, CommentedMap | CommentedSeq) or self._tree is None:
            return InputError(f"{self.file}:{line_of(self._tree, at)}: {message}")
        return InputError(f"{self.file}: {'.'.join(map(str, at))}{': ' if at else ''}{message}")

    def _at(self, at: Sequence[Any]) -> Any:
        node = self._tree
        for step in at:
            node = node.get(step) if isinstance(node, Mapping) else None
        return node

    def has(self, at: Sequence[Any]) -> bool:
        """Say whether something is there."""
        return self._at(at) is not None

    def is_list(self, at: Sequence[Any]) -> bool:
        """Say whether a list is there."""
        value = self._at(at)
        return isinstance(value, Sequence) and not isinstance(value, str)

    def mapping(self, at: Sequence[Any], known: Sequence[str] | None = None) -> Mapping[Any, Any]:
        """Return the mapping at a place, which must be there and have known keys only."""
        value = self._at(at)
        if not isinstance(value, Mapping):
            what = f"{at[-1]}: " if at else ""
            raise self.error(f"{what}must be a mapping, found {short(value)}; write it as key: value", *at)
        for key in value if known is not None else ():
            if key not in (known or ()):
                hint = did_you_mean(key, known or (), otherwise=f"known keys: {', '.join(known or ())}")
                raise self.error(f"unknown key {short(key)}; {hint}", *at, key)
        return value

    def mapping_or_none(
        self, at: Sequence[Any], known: Sequence[str] | None = None
    ) -> Mapping[Any, Any] | None:
        """Return the mapping at a place, None where nothing is."""
        return self.mapping(at, known) if self.has(at) else None

    def text(self, at: Sequence[Any]) -> str | None:
        """Return the text at a place, None where nothing is."""
        value = self._at(at)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
            raise self.error(f"{at[-1]}: must be a text, found {short(value)}; put it in quotes", *at)
        return " ".join(str(value).split())

    def choice(self, at: Sequence[Any], known: Sequence[str], default: str) -> str:
        """Return one of some words."""
        value = self._at(at)
        if value is None:
            return default
        if value not in known:
            raise self.error(f"{at[-1]}: must be {' or '.join(known)}, found {short(value)}; correct it", *at)
        return str(value)

    def flag(self, at: Sequence[Any], default: bool) -> bool:
        """Return true or false."""
        value = self._at(at)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(f"{at[-1]}: must be true or false, found {short(value)}; correct it", *at)
        return value

    def name(self, at: Sequence[Any], under: str | None, name: Any) -> str:
        """Return a name of a group, element, prompt or attribute, checked."""
        place = (*at, *([under] if under else []), name)
        if isinstance(name, bool) or not isinstance(name, str | int | float):
            raise self.error(f"a name must be a text, found {short(name)}; put it in quotes", *place)
        clean = composed(str(name))
        if not clean.strip() or clean != clean.strip() or not _printable(clean) or len(clean) > _LONGEST:
            raise self.error(
                f"{short(name)}: a name must be printable text of at most {_LONGEST} characters without "
                "outer blanks; rewrite it",
                *place,
            )
        return clean

    def names(self, at: Sequence[Any]) -> tuple[str, ...]:
        """Return a list of names, empty where nothing is."""
        return tuple(self._text_in(at, item) for item in self._listed(at, required=False))

    def phrases(self, at: Sequence[Any]) -> tuple[str, ...]:
        """Return the phrases of ``not``, empty where nothing is."""
        return tuple(self._term(at, item) for item in self._listed(at, required=False))

    def terms(self, at: Sequence[Any]) -> tuple[str, ...]:
        """Return a list of terms, each different from the others as it is matched."""
        seen: dict[tuple[str, bool, bool], str] = {}
        for item in self._listed(at, required=True):
            term = self._term(at, item)
            if PLACE in term:
                raise self.error(f"{at[-1]}: {PLACE} stands for a term in `not:` only; remove it", *at)
            key = folded(bare_term(term), split=False), term.startswith("*"), term.endswith("*")
            if key in seen:
                raise self.error(f"{at[-1]}: {seen[key]!r} and {term!r} are matched alike; keep one", *at)
            seen[key] = term
        return tuple(seen.values())

    def _listed(self, at: Sequence[Any], *, required: bool) -> list[Any]:
        value = self._at(at)
        if value is None and not required:
            return []
        if isinstance(value, str):
            return [value]
        if not self.is_list(at) or (required and not len(value)):
            raise self.error(
                f"{at[-1]}: must list at least one term, found {short(value)}; write [woman, women]", *at
            )
        self._left -= len(value)
        if self._left < 0:
            raise self.error(
                f"a lexicon has at most {_MOST_TERMS:,} terms, aliases (*name) written out; split it", *at
            )
        return list(value)

    def _term(self, at: Sequence[Any], item: Any) -> str:
        term = self._text_in(at, item)
        if not folded(bare_term(term), split=False):
            raise self.error(
                f"{at[-1]}: a term must have a letter or sign to find, found {short(item)}; remove it", *at
            )
        return term

    def _text_in(self, at: Sequence[Any], item: Any) -> str:
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            raise self.error(f"{at[-1]}: a term must be a text, found {short(item)}; put it in quotes", *at)
        text = composed(str(item)).strip()
        if not text or not _printable(text) or len(text) > _LONGEST:
            raise self.error(
                f"{at[-1]}: a term must be printable text of 1 to {_LONGEST} characters, found "
                f"{short(item)}; rewrite it",
                *at,
            )
        return text


def _printable(text: str) -> bool:
    return text.translate(_JOINERS).isprintable()


def short(value: object) -> str:
    """Return a value as messages show it."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "an empty list" if not value else "a list"
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
