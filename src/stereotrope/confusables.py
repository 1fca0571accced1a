"""Writings that a person takes for one and a table for several: look-alike letters, blanks, case."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

MOST_WRITINGS, MOST_CHARACTERS = 12, 3
"""Writings of a set, and characters of a difference, that are told."""
_LONGEST = 60
_COMPATIBLE = ("<wide>", "<narrow>", "<noBreak>", "<compat>", "<font>", "<small>", "<vertical>")
_JOINING = "\u034f\u115f\u1160\u3164\uffa0"
"""Not of category Cf and not seen all the same."""
_TAGS = range(0xE0020, 0xE0080)
"""Not seen, but they tell flags apart."""
_NUMBER = re.compile(r"([+-]?)([0-9]+)(?:\.([0-9]*)|,([0-9]{1,2}|[0-9]{4,}))?")
"""A comma before three digits may part thousands."""


@dataclass(frozen=True)
class Lookalikes:
    """Writings that read alike.

    written: Each writing and how often it was given: known ones first, the most frequent first.
    differs: How each of them differs from the first, in words with code points; the first one's is empty.
    """

    written: tuple[tuple[str, int], ...]
    differs: tuple[str, ...]

    def sentence(self, of: str, then: str = "write them one way if they mean the same") -> str:
        """Return the set in one sentence; ``of`` says what they are, such as ``values of 'gender'``."""
        told = [
            f"{_shown(text)} ({n:,}{': ' * bool(how)}{how})"
            for (text, n), how in zip(self.written, self.differs, strict=True)
        ]
        left = len(told) - MOST_WRITINGS
        told = [*told[:MOST_WRITINGS], *[f"{left:,} more"] * (left > 0)]
        return f"{of}: {', '.join(told)} read alike and count apart; {then}"


def lookalikes(counts: Mapping[str, int], known: Collection[str] = ()) -> list[Lookalikes]:
    """Find writings that differ in what a reader does not see or hardly heeds.

    That is: case; blanks (double, outer, no-break); characters without width; Unicode composition;
    full-width and other presentation forms; letters of another script that look the same, after
    ``confusables.csv``; and one number with other zeros (``1``, ``1.0`` and ``01``, as where blanks turned a
    column into decimals). ASCII characters are never taken for one another: ``l``, ``I`` and ``1`` are three.

    counts: Writing → how often it was given.
    known: Writings that are meant, given or not. With these, only sets of a known and an unknown one are
        found.
    Returns: Each set of two or more, in the order in which their first members are given.

    >>> [found] = lookalikes({"female": 40, "f\\u0435male": 3, "male": 50})
    >>> found.differs[1]
    'has U+0435 CYRILLIC SMALL LETTER IE for U+0065 LATIN SMALL LETTER E'
    """
    if known:
        counts = {**dict.fromkeys(known, 0), **counts}
    groups: dict[str, dict[str, None]] = {}
    for text in counts:
        keys = _keys(text)
        found = [groups[key] for key in keys if key in groups]
        together = found[0] if found else {}
        for other in found[1:]:
            if other is not together:  # Cyrillic В joins B by its shape and в by its case
                together.update(other)
                groups.update((key, together) for member in other for key in _keys(member))
        together[text] = None
        groups.update(dict.fromkeys(keys, together))
    sets = {id(group): group for group in groups.values() if len(group) > 1}.values()
    kept = (group for group in sets if not known or 0 < sum(text in known for text in group) < len(group))
    return [_set([(text, counts[text]) for text in group], known) for group in kept]


def reads_like(given: Iterable[str], known: Collection[str]) -> str:
    """Return the end of a message that says which names read like known ones; empty where none does.

    >>> reads_like(["Gender", "age"], ["gender"])
    "; 'Gender' reads like 'gender' and differs in case"
    """
    told = [
        f"; {text!r} reads like {one.written[0][0]!r} and {how}"
        for one in lookalikes(dict.fromkeys(given, 1), known)
        for (text, _), how in zip(one.written, one.differs, strict=True)
        if text not in known
    ]
    return "".join(told[:MOST_CHARACTERS])


def amount(text: str) -> str | None:
    """Return a number without zeros that do not count, its plus kept; None where the text is none.

    >>> amount("1.50") == amount("01,5"), amount("-1") == amount("1"), amount("one")
    (True, False, None)
    """
    if not (found := _NUMBER.fullmatch(text.strip())):
        return None
    sign, whole, *decimals = found.groups("")
    number = f"{whole.lstrip('0')}.{''.join(decimals).rstrip('0')}"
    return number if number == "." else sign + number


def _set(written: list[tuple[str, int]], known: Collection[str]) -> Lookalikes:
    """A set, its most frequent known writing first; of these a plain one: ASCII, short, in small letters."""
    ordered = sorted(
        written,
        key=lambda one: (one[0] not in known, -one[1], not one[0].isascii(), len(one[0]), one[0].swapcase()),
    )
    first = ordered[0][0]
    return Lookalikes(tuple(ordered), ("", *(_difference(first, text) for text, _ in ordered[1:])))


def _keys(text: str) -> tuple[str, ...]:
    """What the text reads like as its script has it, and as its shapes have it; of a number, its amount."""
    if text.isascii() and text.isprintable():
        read: tuple[str, ...] = (" ".join(text.split()).lower(),)
    else:
        read = tuple(dict.fromkeys(_bare(text, shapes=shapes).casefold() for shapes in (False, True)))
    number = amount(read[-1])
    return read if number is None else (*read, f"number {number}\0")


def _bare(text: str, *, shapes: bool) -> str:
    parts = (_plain(character, shapes) for character in unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", " ".join("".join(parts).split()))


@lru_cache(maxsize=65536)
def _plain(character: str, shapes: bool) -> str:
    """Return what is seen of a character: nothing of one without width, the ASCII one it looks like."""
    if character.isspace():
        return " "
    kind = unicodedata.category(character)
    varies = 0xFE00 <= ord(character) <= 0xFE0F
    if (kind in ("Cf", "Cc") and ord(character) not in _TAGS) or varies or character in _JOINING:
        return ""
    if unicodedata.decomposition(character).startswith(_COMPATIBLE):
        character = unicodedata.normalize("NFKC", character)
    return "".join(_shapes().get(one, one) for one in character) if shapes else character


@cache
def _shapes() -> dict[str, str]:
    text = Path(__file__).with_suffix(".csv").read_text(encoding="utf-8")
    rows = [line.split(",") for line in text.splitlines() if not line.startswith("#")]
    return {chr(int(code_point, 16)): letter for code_point, letter, _ in rows[1:]}


def _difference(first: str, other: str) -> str:
    """How a writing differs from the first, case told apart from the rest."""
    case = _bare(first, shapes=True) != _bare(other, shapes=True)
    ours, theirs = _only_in(other, first), _only_in(first, other)
    if first.casefold() == other.casefold():
        return "differs in case"
    if first.strip() != other.strip() and amount(first) == amount(other) is not None:
        return "is the same number"
    told = f"has {_named(ours)}" if ours else f"lacks {_named(theirs)}"
    if ours and theirs:
        told += f" for {_named(theirs)}"
    if not ours and not theirs:
        told = "has its characters in another order"
    return f"{told}, and differs in case" if case else told


def _only_in(text: str, other: str) -> Counter[str]:
    """Characters that the other has not, or not so often, in whatever case."""
    there = Counter(character.casefold() for character in other)
    only: Counter[str] = Counter()
    for character in text:
        there[character.casefold()] -= 1
        only[character] += there[character.casefold()] < 0
    return +only


def _named(characters: Counter[str]) -> str:
    told = [_name(character) + f" × {n}" * (n > 1) for character, n in characters.items()]
    left = len(told) - MOST_CHARACTERS
    return " and ".join([*told[:MOST_CHARACTERS], *[f"{left} more"] * (left > 0)])


def _name(character: str) -> str:
    return f"U+{ord(character):04X} {unicodedata.name(character, 'without a name')}"


def _shown(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
