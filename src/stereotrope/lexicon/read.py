"""Reading lexicons: YAML files, the built-in ones, and mappings made in code."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.inputs.files import read_text
from stereotrope.lexicon.model import Lexicon
from stereotrope.lexicon.parts import LISTS, Grouped, Matching, PromptEntry, TermList
from stereotrope.lexicon.tree import Tree, short
from stereotrope.tables import whole_problem

_MAX_BYTES = 8_000_000
"""A lexicon larger than this is refused."""
_TOP = ("name", "version", "source", "licence", "why", "matching", "attributes", "prompts")
_MATCHING = ("boundary", "split_case", "forms", "case")
_ATTRIBUTE = ("groups", "priority", "decide", "of", "not", "why")
_PROMPT = ("path", "text", "parity", "cas", "lists", "why")
_PARITY = ("attribute", "groups", "against")
_OTHERS = "others"
"""Every other group of the attribute; ``rest`` is these and ``unknown``."""
_TAKEN = (
    *("caption", "unknown", "image_id", "generator", "prompt"),
    *("prompt_id", "text", "excluded", "status", "rationale"),
)
"""What stands beside a caption's values in its row."""


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
    return _lexicon(Tree.parsed(str(path_or_name), text), default=Path(path_or_name).stem)


@cache
def built_in_lexicons() -> tuple[str, ...]:
    """Names of the lexicons that come with stereotrope: the suites whose folder holds a ``lexicon.yaml``."""
    suites = resources.files("stereotrope.suites").iterdir()
    return tuple(sorted(suite.name for suite in suites if suite.joinpath("lexicon.yaml").is_file()))


@cache
def _built_in(name: str) -> Lexicon:
    text = resources.files("stereotrope.suites").joinpath(name, "lexicon.yaml").read_text("utf-8")
    return _lexicon(Tree.parsed(f"{name}/lexicon.yaml", text), default=name)


def lexicon_from(mapping: Mapping[str, Any]) -> Lexicon:
    """Make a lexicon from a mapping of the same shape as a file.

    mapping: Keys ``name``, ``version``, ``source``, ``licence``, ``matching``, ``attributes``, ``prompts``.
    Raises InputError: Something in it cannot be used; the message names the place.
    """
    if not isinstance(mapping, Mapping):
        raise UsageError(f"lexicon: must be a mapping, found {short(mapping)}; see read_lexicon")
    return _lexicon(Tree(f"lexicon {mapping.get('name') or 'unnamed'}", mapping), default="unnamed")


def _lexicon(tree: Tree, *, default: str) -> Lexicon:
    top = tree.mapping((), _TOP)
    prompts = {
        tree.name((), "prompts", name): _prompt(tree, ("prompts", name))
        for name in tree.mapping_or_none(("prompts",)) or {}
    }
    _refuse_twins(tree, prompts)
    attributes = {
        _attribute_name(tree, name): _attribute(tree, ("attributes", name), prompts)
        for name in tree.mapping_or_none(("attributes",)) or {}
    }
    for name, entry in prompts.items():
        _check_parity(tree, ("prompts", name, "parity"), entry, attributes)
    if not attributes and not any(entry.lists for entry in prompts.values()):
        raise tree.error(
            "must have terms under `attributes:` or under the lists of `prompts:`, found none; add some"
        )
    return Lexicon(
        name=tree.text(("name",)) or default,
        attributes=attributes,
        prompts=prompts,
        matching=_matching(tree),
        version=None if top.get("version") is None else str(top["version"]),
        source=tree.text(("source",)),
        licence=tree.text(("licence",)),
    )


def _refuse_twins(tree: Tree, prompts: Mapping[str, PromptEntry]) -> None:
    seen: dict[str, str] = {}
    for name in prompts:
        if name.casefold() in seen:
            raise tree.error(
                f"prompts: {seen[name.casefold()]!r} and {name!r} are one name, case aside; rename one",
                "prompts",
                name,
            )
        seen[name.casefold()] = name


def _matching(tree: Tree) -> Matching:
    if tree.mapping_or_none(("matching",), _MATCHING) is None:
        return Matching()
    boundary = tree.choice(("matching", "boundary"), ("word", "substring"), "word")
    tree.choice(("matching", "case"), ("fold",), "fold")
    split = tree.flag(("matching", "split_case"), False)
    forms = tree.flag(("matching", "forms"), True)
    return Matching("word" if boundary == "word" else "substring", split, forms)


def _attribute_name(tree: Tree, name: Any) -> str:
    clean = tree.name((), "attributes", name)
    if problem := whole_problem(clean):
        raise tree.error(f"attributes: {problem}", "attributes", name)
    if clean in LISTS or clean in _TAKEN:
        raise tree.error(
            f"attributes: {clean!r} is the name of a list or column of its own; rename the attribute",
            "attributes",
            name,
        )
    return clean


def _attribute(tree: Tree, at: tuple[Any, ...], prompts: Mapping[str, PromptEntry]) -> Grouped:
    tree.mapping(at, _ATTRIBUTE)
    groups = {
        tree.name(at, "groups", group): tree.terms((*at, "groups", group))
        for group in tree.mapping((*at, "groups"))
    }
    if not groups:
        raise tree.error(f"{at[-1]}: groups: must name at least one group; write {{female: [woman]}}", *at)
    if "unknown" in groups:
        raise tree.error(
            f"{at[-1]}: groups: 'unknown' is what a caption without any group has; rename the group",
            *(*at, "groups", "unknown"),
        )
    priority = tree.names((*at, "priority"))
    for group in priority:
        if group not in groups:
            raise tree.error(
                f"{at[-1]}: priority: no group {group!r}; {_near(group, groups, 'groups are')}",
                *(*at, "priority"),
            )
    of = tree.names((*at, "of")) if tree.has((*at, "of")) else None
    for prompt in of or ():
        if prompt not in prompts:
            raise tree.error(
                f"{at[-1]}: of: no prompt {prompt!r}; "
                f"{_near(prompt, prompts, 'list it under `prompts:`; there are')}",
                *(*at, "of"),
            )
    decide = tree.choice((*at, "decide"), ("first", "most"), "first")
    return Grouped(
        groups,
        priority,
        "most" if decide == "most" else "first",
        of,
        tree.phrases((*at, "not")),
        tree.text((*at, "why")),
    )


def _prompt(tree: Tree, at: tuple[Any, ...]) -> PromptEntry:
    tree.mapping(at, _PROMPT)
    path = tree.choice((*at, "path"), ("demographic", "contextual"), "demographic")
    lists = {
        name: _list(tree, (*at, "lists", name)) for name in tree.mapping_or_none((*at, "lists"), LISTS) or {}
    }
    parity = tree.mapping_or_none((*at, "parity"), _PARITY)
    return PromptEntry(
        lists,
        "contextual" if path == "contextual" else "demographic",
        tree.text((*at, "text")),
        None if parity is None else _parity(tree, (*at, "parity")),
        tree.flag((*at, "cas"), True),
    )


def _parity(tree: Tree, at: tuple[Any, ...]) -> dict[str, object]:
    against = tree.names((*at, "against")) if tree.is_list((*at, "against")) else tree.text((*at, "against"))
    return {
        "attribute": tree.text((*at, "attribute")),
        "groups": tree.names((*at, "groups")),
        "against": against or _OTHERS,
    }


def _check_parity(
    tree: Tree, at: tuple[Any, ...], entry: PromptEntry, attributes: Mapping[str, Grouped]
) -> None:
    if entry.parity is None:
        return
    name = entry.parity["attribute"]
    if not isinstance(name, str) or name not in attributes:
        raise tree.error(
            f"parity: attribute: must be one of the lexicon's attributes, found {short(name)}; "
            f"{_near(name, attributes, 'they are')}",
            *(*at, "attribute"),
        )
    against = entry.parity["against"]
    listed = (*entry.parity["groups"], *(against if isinstance(against, tuple) else ()))  # type: ignore[misc]
    known = attributes[name].groups
    if not entry.parity["groups"]:
        raise tree.error("parity: groups: must name at least one group; write [female]", *at)
    for group in (
        *listed,
        *((against,) if isinstance(against, str) and against not in (_OTHERS, "rest") else ()),
    ):
        if group not in known:
            raise tree.error(
                f"parity: no group {short(group)} of {name!r}; {_near(group, known, 'groups are')}", *at
            )


def _list(tree: Tree, at: tuple[Any, ...]) -> TermList:
    if tree.is_list(at):
        return TermList({term: (term,) for term in tree.terms(at)})
    keys = [key for key in tree.mapping(at) if key not in ("why", "not", "terms")]
    elements: dict[str, tuple[str, ...]] = {}
    if tree.has((*at, "terms")):
        elements = {term: (term,) for term in tree.terms((*at, "terms"))}
    for key in keys:
        name = tree.name(at, None, key)
        if name in elements:
            raise tree.error(f"{at[-1]}: {name!r} is a term and an element; keep one", *at, key)
        elements[name] = tree.terms((*at, key))
    if not elements:
        raise tree.error(f"{at[-1]}: must have at least one term, found none; add some or remove it", *at)
    return TermList(elements, tree.phrases((*at, "not")), tree.text((*at, "why")))


def _near(found: object, known: Iterable[str], otherwise: str) -> str:
    listed = tuple(known)
    return did_you_mean(found, listed, otherwise=f"{otherwise} {', '.join(listed) or 'none'}")
