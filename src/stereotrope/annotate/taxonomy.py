"""The attributes of one kind of picture and where they hold, also as a YAML file that people can edit."""

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field
from pydantic.dataclasses import dataclass
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from stereotrope.annotate.attributes import check_attributes
from stereotrope.annotate.label import Attributes
from stereotrope.errors import UsageError
from stereotrope.inputs.files import read_text
from stereotrope.inputs.options import Options, Text, validated
from stereotrope.inputs.yaml import YamlFile

SEEN_IN_DISCOVERY = "seen_in_discovery"
"""Attribute of the pictures that an annotator's attributes were discovered on."""
_EXAMPLE = "write `taxonomies:` and under it - {scope: {object: car}, product: {body_type: [sedan, SUV]}}"
_HEAD = """\
# Attributes and their values: what annotators are asked to tell apart in a picture.
# `scope` says where an entry holds; an entry without a generator holds for all of them. Names and values
# can be changed, added and removed before pictures are labelled; `unclear` is always offered beside them.
# `pictures` are those it was found on.
"""

Scope = tuple[tuple[str, str], ...]
"""Where a taxonomy holds: (factor, level) pairs in the order of the factors' names."""


def taxonomy_scope(levels: Mapping[str, str]) -> Scope:
    """Return the scope of a mapping factor → level.

    >>> taxonomy_scope({"object": "car", "generator": "sd35"})
    (('generator', 'sd35'), ('object', 'car'))
    """
    return tuple(sorted(levels.items()))


@dataclass(frozen=True)
class Taxonomy:
    """Closed attributes of the product and of the background.

    product, background: Attribute → its values.
    subject: What the product is, where it is known.
    found_by: Name of the annotator that proposed it; None where people wrote it.
    pictures: ``image_id`` of the pictures it was found on, so that scores can leave them out.
    """

    product: Mapping[str, tuple[str, ...]]
    background: Mapping[str, tuple[str, ...]]
    subject: str | None = None
    found_by: str | None = None
    pictures: tuple[str, ...] = ()

    @property
    def attributes(self) -> Attributes:
        """All of them, the product's first."""
        return {**self.product, **self.background}


def taxonomy_for(taxonomies: Mapping[Scope, Taxonomy], levels: Mapping[str, str]) -> Taxonomy | None:
    """Return the taxonomy that fits best: of those whose scope holds there, the one that names most factors.

    Of two that name as many, the first. A scope of ``object`` alone holds for every generator.

    >>> car = Taxonomy({"body": ("sedan", "SUV")}, {})
    >>> taxonomy_for({(("object", "car"),): car}, {"generator": "sd35", "object": "car"}) is car
    True
    """
    fitting = [scope for scope in taxonomies if set(scope) <= set(levels.items())]
    return taxonomies[max(fitting, key=len)] if fitting else None


class _Entry(Options):
    scope: dict[Text, Text] | None = None
    subject: Text | None = None
    product: dict[Any, Any] | None = None
    background: dict[Any, Any] | None = None
    found_by: Text | None = None
    pictures: list[Text] | None = None


class _Entries(Options):
    taxonomies: list[_Entry] = Field(min_length=1)


def write_taxonomies(path: Path | str, taxonomies: Mapping[Scope, Taxonomy]) -> None:
    """Write scope → taxonomy as YAML, whole or not at all, in place of the file that is there."""
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
    listed = {
        place: CommentedMap({name: _flow(CommentedSeq(values)) for name, values in attributes.items()})
        for place, attributes in (("product", taxonomy.product), ("background", taxonomy.background))
    }
    entry: dict[str, Any] = {"scope": _flow(CommentedMap(scope)), "subject": taxonomy.subject, **listed}
    entry["found_by"] = taxonomy.found_by
    entry["pictures"] = _flow(CommentedSeq(taxonomy.pictures)) if taxonomy.pictures else None
    return CommentedMap({key: value for key, value in entry.items() if value is not None})


def _flow(node: Any) -> Any:
    node.fa.set_flow_style()
    return node


def read_taxonomies(path: Path | str) -> dict[Scope, Taxonomy]:
    """Read a file of taxonomies: scope → taxonomy, in its order.

    Raises InputError: It is not there, not UTF-8, not YAML, or something in it cannot be used; the message
    begins with ``file:line:``.
    """
    absent = "name a file of taxonomies (YAML)"
    file = YamlFile(read_text(path, what="a file of taxonomies", absent=absent), str(path))
    read: dict[Scope, Taxonomy] = {}
    lines: dict[Scope, int] = {}
    for index, entry in enumerate(validated(_Entries, file, example=_EXAMPLE).taxonomies):
        at = ("taxonomies", index)
        scope, taxonomy = taxonomy_scope(entry.scope or {}), _taxonomy(entry, file, at)
        if scope in read:
            raise file.error(
                f"scope: there is an entry for {dict(scope)} on line {lines[scope]}; keep one", *at, "scope"
            )
        read[scope], lines[scope] = taxonomy, file.line((*at, "scope"))
    return read


def _taxonomy(entry: _Entry, file: YamlFile, at: tuple[str | int, ...]) -> Taxonomy:
    """Check the attributes of an entry, growing one by one so that the first mistake has its line."""
    parts = {"product": entry.product or {}, "background": entry.background or {}}
    if not any(parts.values()):
        raise file.error(
            "an entry must name at least one attribute under `product:` or `background:`, found none; "
            "add one, or remove the entry",
            *at,
        )
    checked: dict[str, Any] = {}
    for place, part in parts.items():
        for name, values in part.items():
            try:
                if name in checked:
                    raise UsageError(f"{name!r}: is under `product:` and `background:`; rename one")
                checked = check_attributes({**checked, name: values}, open_allowed=False)
                if name not in checked:
                    raise UsageError(f"{name!r}: must be in Unicode normal form C; type it anew")
            except UsageError as error:
                raise file.error(f"{place}: {error}", *at, place, name) from None
    return Taxonomy(
        product={name: checked[name] for name in parts["product"]},
        background={name: checked[name] for name in parts["background"]},
        subject=entry.subject,
        found_by=entry.found_by,
        pictures=tuple(entry.pictures or ()),
    )
