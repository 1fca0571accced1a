"""Why the names in a file made elsewhere fit no picture: found by trying."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from urllib.parse import unquote

_ENDING = re.compile(r"(?<=[^/.])\.[A-Za-z][A-Za-z0-9]{1,4}$")
_NUMBER = re.compile(r"(?<![0-9.])0*([0-9]+)(\.0+)?(?![0-9.])")
_DIGITS = re.compile(r"[0-9]+(?=[^0-9]*$)")
_QUOTES = "\"'`´‘’“”„«»‹›<>()[]{}"
_INVISIBLE = ("Cf", "Cc", "Zs", "Zl", "Zp")


def _visible(text: str) -> str:
    """Without blanks, underscores and characters that cannot be seen."""
    return "".join(c for c in text if c != "_" and unicodedata.category(c) not in _INVISIBLE)


WAYS: Mapping[str, Callable[[str], str]] = {
    "folders are separated by backslashes": lambda text: text.replace("\\", "/"),
    "one stands in quotes": lambda text: text.strip().strip(_QUOTES),
    "one is written as in a web address, %20 for a blank": unquote,
    "letters are composed otherwise (Unicode)": lambda text: unicodedata.normalize("NFKC", text),
    "blanks, underscores or invisible characters differ": _visible,
    "the folders differ": lambda text: text.rsplit("/", 1)[-1],
    "one has no ending, or another": lambda text: _ENDING.sub("", text),
    "capitals differ": str.casefold,
    "numbers are written otherwise (7, 007, 7.0)": lambda text: _NUMBER.sub(r"\1", text),
}
"""What may differ → how names are written without that difference, in the order in which it is done."""


def likeliest_cause(
    strays: Mapping[int, str], names: Sequence[str], *, place: str, column: str
) -> str | None:
    """Say what most names of a file differ by from those of the pictures, with an example of each.

    strays: Place in the file → a name that is no picture's.
    place, column: What a place is called, and the column that holds the names.
    Returns: The smallest set of differences (:data:`WAYS`) without which at least half of the names are those
        of pictures, and what to do; None where there is none.
    """
    by_plain: dict[str, list[str]] = defaultdict(list)
    for name in names:
        by_plain[_without(name, WAYS)].append(name)
    fits = {at: by_plain.get(_without(called, WAYS), []) for at, called in strays.items()}
    if sum(map(bool, fits.values())) * 2 >= len(strays):
        return _smallest(strays, fits, place, column)
    by_number: dict[str, list[str]] = defaultdict(list)
    for name in names:
        by_number[_last_number(name)].append(name)
    numbered = {at: by_number.get(_bare_number(called), []) for at, called in strays.items()}
    if sum(len(found) == 1 for found in numbered.values()) * 2 >= len(strays):
        return _said("they are the numbers in the pictures' names only", strays, numbered, place, column)
    return None


def _without(name: str, ways: Mapping[str, Callable[[str], str]] | Sequence[str]) -> str:
    for way in ways:
        name = WAYS[way](name)
    return name


def _smallest(
    strays: Mapping[int, str], fits: Mapping[int, Sequence[str]], place: str, column: str
) -> str | None:
    paired = {at: found[:20] for at, found in fits.items() if found}
    for size in range(1, len(WAYS) + 1):
        for ways in combinations(WAYS, size):
            agreeing = {
                at: alike
                for at, found in paired.items()
                if (alike := [name for name in found if _without(name, ways) == _without(strays[at], ways)])
            }
            if len(agreeing) * 2 > len(paired):
                return _said(", and ".join(ways), strays, agreeing, place, column)
    return None


def _said(
    what: str, strays: Mapping[int, str], found: Mapping[int, Sequence[str]], place: str, column: str
) -> str:
    at, names = next((at, names) for at, names in found.items() if names)
    pictures = f"the picture is {names[0]!r}"
    if len(names) > 1:
        pictures = f"there are {len(names)} pictures so called, {names[0]!r} and {names[1]!r} among them"
    return (
        f"{what}: {place} {at} says {strays[at]!r}, {pictures}; write {column!r} as the pictures are called"
    )


def _last_number(name: str) -> str:
    found = _DIGITS.search(_ENDING.sub("", name.rsplit("/", 1)[-1]))
    return found.group().lstrip("0") or "0" if found else ""


def _bare_number(called: str) -> str:
    found = _NUMBER.fullmatch(called.strip())
    return found.group(1) if found else "\0"
