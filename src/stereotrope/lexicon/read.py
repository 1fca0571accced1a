"""Reading lexicons: YAML files, the built-in ones, and mappings made in code."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from stereotrope.errors import InputError, UsageError, did_you_mean
from stereotrope.inputs.files import read_text
from stereotrope.inputs.options import options_of, shorten, validated
from stereotrope.inputs.yaml import YamlFile
from stereotrope.lexicon.model import Lexicon
from stereotrope.lexicon.parts import OTHERS, REST, LexiconFile

_MAX_BYTES = 8_000_000
"""A lexicon larger than this is refused."""
_EXAMPLE = "attributes: {gender: {groups: {female: [woman], male: [man]}}}"


def read_lexicon(path_or_name: Path | str) -> Lexicon:
    """Read a lexicon.

    path_or_name: A YAML file, or the name of one of :func:`built_in_lexicons`.
    Raises InputError: It is not there, not UTF-8, not YAML, or something in it cannot be used: the message
        begins with ``file:line:``.
    """
    built_in = built_in_lexicons()
    if str(path_or_name) in built_in:
        return _built_in(str(path_or_name))
    hint = did_you_mean(path_or_name, built_in, otherwise=f"built in: {', '.join(built_in)}")
    text = read_text(path_or_name, what="a lexicon", absent=hint, most=_MAX_BYTES)
    return _parsed(text, str(path_or_name), Path(path_or_name).stem)


@cache
def built_in_lexicons() -> tuple[str, ...]:
    """Names of the lexicons that come with stereotrope: the suites whose folder holds a ``lexicon.yaml``."""
    suites = resources.files("stereotrope.suites").iterdir()
    return tuple(sorted(suite.name for suite in suites if suite.joinpath("lexicon.yaml").is_file()))


@cache
def _built_in(name: str) -> Lexicon:
    text = resources.files("stereotrope.suites").joinpath(name, "lexicon.yaml").read_text("utf-8")
    return _parsed(text, f"{name}/lexicon.yaml", name)


def _parsed(text: str, name: str, default: str) -> Lexicon:
    source = YamlFile(text, name)
    return _lexicon(validated(LexiconFile, source, example=f"write {_EXAMPLE}"), default, source.error)


def lexicon_from(mapping: Mapping[str, Any]) -> Lexicon:
    """Make a lexicon from a mapping of the same shape as a file.

    mapping: Keys ``name``, ``version``, ``source``, ``licence``, ``matching``, ``attributes``, ``prompts``.
    Raises InputError: Something in it cannot be used; the message names the place.
    """
    if not isinstance(mapping, Mapping):
        raise UsageError(f"lexicon: must be a mapping, found {shorten(mapping)}; see read_lexicon")
    what = f"lexicon {mapping.get('name') or 'unnamed'}"
    try:
        file = options_of(LexiconFile, mapping, what, example=_EXAMPLE)
    except UsageError as error:
        raise InputError(str(error)) from None
    return _lexicon(file, "unnamed", lambda message, *at: InputError(f"{what}: {message}"))


def _lexicon(file: LexiconFile, default: str, error: Callable[..., Exception]) -> Lexicon:
    """The lexicon of a file; ``error`` makes a mistake from a message and a place."""

    def require(known: Iterable[str], found: str, what: str, *at: str) -> None:
        listed = list(known)
        if found not in listed:
            hint = did_you_mean(found, listed, otherwise=f"there are {', '.join(listed) or 'none'}")
            raise error(f"{'.'.join(at)}: no {what} {shorten(found)}; {hint}", *at)

    if not file.attributes and not any(entry.lists for entry in file.prompts.values()):
        raise error(
            "must have terms under `attributes:` or under the lists of `prompts:`, found none; add some"
        )
    seen: dict[str, str] = {}
    for name, entry in file.prompts.items():
        if (other := seen.setdefault(name.casefold(), name)) != name:
            two = f"{other!r} and {name!r}"
            raise error(f"prompts: {two} are one name, case aside; rename one", "prompts", name)
        if (parity := entry.parity) is None:
            continue
        at = ("prompts", name, "parity")
        require(file.attributes, parity.attribute, "attribute of the lexicon", *at, "attribute")
        sides = {"groups": parity.groups, "against": parity.against}
        if isinstance(parity.against, str):
            sides["against"] = () if parity.against in (OTHERS, REST) else (parity.against,)
        groups = file.attributes[parity.attribute].groups
        for key, side in sides.items():
            for group in side:
                require(groups, group, f"group of {parity.attribute!r}", *at, key)
    for name, attribute in file.attributes.items():
        for group in attribute.priority:
            require(attribute.groups, group, "group", "attributes", name, "priority")
        for prompt in attribute.of or ():
            require(file.prompts, prompt, "prompt", "attributes", name, "of")
    about = (file.version, file.source, file.licence)
    return Lexicon(file.name or default, file.attributes, file.prompts, file.matching, *about)
