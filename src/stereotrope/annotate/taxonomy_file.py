"""Taxonomies as a YAML file that people can read and edit."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from stereotrope.annotate.attributes import check_attributes
from stereotrope.annotate.taxonomy import Scope, Taxonomy, scope_of
from stereotrope.errors import InputError, UsageError, did_you_mean
from stereotrope.inputs.yaml import line_of, read_tree

__all__ = ["read_taxonomies", "write_taxonomies"]

MAX_BYTES = 4_000_000
_KEYS = ("scope", "subject", "product", "background", "found_by", "pictures")
_HEAD = """\
# Attributes and their values: what annotators are asked to tell apart in a picture.
# `scope` says where an entry holds; an entry without a generator holds for all of them. Names and values
# can be changed, added and removed before pictures are labelled; `unclear` is always offered beside them.
# `pictures` are those it was found on.
"""


def write_taxonomies(path: Path | str, taxonomies: Mapping[Scope, Taxonomy]) -> None:
    """Write taxonomies as YAML, whole or not at all.

    Parameters
    ----------
    path
        The file; it is replaced.
    taxonomies
        Scope (see :func:`scope_of`) → taxonomy.
    """
    entries = CommentedSeq([_entry(scope, taxonomy) for scope, taxonomy in taxonomies.items()])
    yaml = YAML(typ="rt", pure=True)
    yaml.width = 100
    yaml.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    yaml.dump(CommentedMap({"taxonomies": entries}), out)
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(_HEAD + "\n" + out.getvalue(), encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _entry(scope: Scope, taxonomy: Taxonomy) -> CommentedMap:
    entry = CommentedMap({"scope": _flow(CommentedMap(scope))})
    if taxonomy.subject is not None:
        entry["subject"] = taxonomy.subject
    for place in ("product", "background"):
        listed = getattr(taxonomy, place)
        entry[place] = CommentedMap({name: _flow(CommentedSeq(values)) for name, values in listed.items()})
    if taxonomy.found_by is not None:
        entry["found_by"] = taxonomy.found_by
    if taxonomy.pictures:
        entry["pictures"] = _flow(CommentedSeq(taxonomy.pictures))
    return entry


def _flow(node: Any) -> Any:
    node.fa.set_flow_style()
    return node


def read_taxonomies(path: Path | str) -> dict[Scope, Taxonomy]:
    """Read a file of taxonomies.

    Returns
    -------
    dict
        Scope → taxonomy, in the order of the file.

    Raises
    ------
    InputError
        It is not there, not UTF-8, not YAML, or something in it cannot be used: the message begins with
        ``file:line:``.
    """
    return _File(str(path), _text(Path(path))).taxonomies()


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; name a file of taxonomies (YAML)") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise InputError(
            f"{path}: a file of taxonomies has at most {MAX_BYTES:,} bytes, found {len(data):,}; split it"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: must be UTF-8 text, found another encoding at byte {error.start}; save it as UTF-8"
        ) from None


class _File:
    """One file being read: its tree and the line of everything in it."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.tree = read_tree(text, lambda message, line: InputError(f"{name}:{line}: {message}"))

    def taxonomies(self) -> dict[Scope, Taxonomy]:
        if not isinstance(self.tree, CommentedMap) or list(self.tree) != ["taxonomies"]:
            raise self.error("must be a mapping with the one key `taxonomies:`; put the entries under it")
        entries = self.tree["taxonomies"]
        if not isinstance(entries, CommentedSeq) or not entries:
            raise self.error(
                f"taxonomies: must list at least one entry, found {_short(entries)}; write - scope: "
                "{object: car}",
                "taxonomies",
            )
        read: dict[Scope, Taxonomy] = {}
        lines: dict[Scope, int] = {}
        for index, entry in enumerate(entries):
            at = ("taxonomies", index)
            scope, taxonomy = self._entry(entry, at)
            if scope in read:
                raise self.error(
                    f"scope: there is an entry for {dict(scope)} on line {lines[scope]}; keep one",
                    *at,
                    "scope",
                )
            read[scope], lines[scope] = taxonomy, self.line((*at, "scope"))
        return read

    def _entry(self, entry: Any, at: tuple[str | int, ...]) -> tuple[Scope, Taxonomy]:
        if not isinstance(entry, CommentedMap):
            raise self.error(
                f"an entry must be a mapping with `product:` and `background:`, found {_short(entry)}; "
                "write it as the others",
                *at,
            )
        for key in entry:
            if key not in _KEYS:
                hint = did_you_mean(key, _KEYS, otherwise=f"known keys: {', '.join(_KEYS)}")
                raise self.error(f"unknown key {_short(key)}; {hint}", *at, key)
        parts = {place: self._part(entry.get(place), (*at, place)) for place in ("product", "background")}
        if not any(parts.values()):
            raise self.error(
                "an entry must name at least one attribute under `product:` or `background:`, found none; "
                "add one, or remove the entry",
                *at,
            )
        checked = self._checked(parts, at)
        taxonomy = Taxonomy(
            product={name: checked[name] for name in parts["product"]},
            background={name: checked[name] for name in parts["background"]},
            subject=self._word(entry, "subject", at),
            found_by=self._word(entry, "found_by", at),
            pictures=self._pictures(entry.get("pictures"), (*at, "pictures")),
        )
        return self._scope(entry.get("scope"), (*at, "scope")), taxonomy

    def _part(self, part: Any, at: tuple[str | int, ...]) -> CommentedMap:
        if part is None:
            return CommentedMap()
        if not isinstance(part, CommentedMap):
            raise self.error(
                f"{at[-1]}: must be a mapping from attribute to its values, found {_short(part)}; write "
                "{body_type: [sedan, SUV]}",
                *at,
            )
        return part

    def _checked(self, parts: Mapping[str, CommentedMap], at: tuple[str | int, ...]) -> dict[str, Any]:
        """Check all attributes of an entry, growing one by one so that the first mistake has its line."""
        known: dict[Any, Any] = {}
        checked: dict[str, Any] = {}
        for place, part in parts.items():
            for name, values in part.items():
                try:
                    if name in known:
                        raise UsageError(f"{name!r}: is under `product:` and `background:`; rename one")
                    known[name] = list(values) if isinstance(values, CommentedSeq) else values
                    checked = check_attributes(known, open_allowed=False)
                    known = dict(checked)
                    if name not in checked:
                        raise UsageError(f"{name!r}: must be in Unicode normal form C; type it anew")
                except UsageError as error:
                    raise self.error(f"{place}: {error}", *at, place, name) from None
        return checked

    def _scope(self, scope: Any, at: tuple[str | int, ...]) -> Scope:
        if scope is None:
            return ()
        if not isinstance(scope, CommentedMap):
            raise self.error(
                f"scope: must be a mapping from factor to level, found {_short(scope)}; write "
                "{generator: MODEL, object: car}",
                *at,
            )
        for factor, level in scope.items():
            if not _is_word(factor) or not _is_word(level):
                raise self.error(
                    f"scope: a factor and its level must be texts, found {_short(factor)}: {_short(level)}; "
                    "put them in quotes",
                    *at,
                    factor,
                )
        return scope_of({str(factor): str(level) for factor, level in scope.items()})

    def _word(self, entry: CommentedMap, key: str, at: tuple[str | int, ...]) -> str | None:
        value = entry.get(key)
        if value is None:
            return None
        if not _is_word(value):
            raise self.error(f"{key}: must be a text, found {_short(value)}; put it in quotes", *at, key)
        return str(value)

    def _pictures(self, listed: Any, at: tuple[str | int, ...]) -> tuple[str, ...]:
        if listed is None:
            return ()
        if not isinstance(listed, CommentedSeq) or not all(_is_word(item) for item in listed):
            raise self.error(
                f"pictures: must be a list of image ids, found {_short(listed)}; remove the key if in doubt",
                *at,
            )
        return tuple(str(item) for item in listed)

    def line(self, location: Sequence[Any]) -> int:
        """Line of the innermost key of ``location`` that the file holds."""
        return line_of(self.tree, location)

    def error(self, message: str, *location: Any) -> InputError:
        return InputError(f"{self.name}:{self.line(location)}: {message}")


def _is_word(value: Any) -> bool:
    """A text or a number that reads as one."""
    return not isinstance(value, bool) and isinstance(value, str | int | float) and bool(str(value).strip())


def _short(value: object) -> str:
    if isinstance(value, CommentedMap | CommentedSeq):
        return "a mapping" if isinstance(value, CommentedMap) else "a list"
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
