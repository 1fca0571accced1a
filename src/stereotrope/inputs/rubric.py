"""Rubrics: what a judge is asked of a set of images, as people write it down in YAML.

A rubric is a list of items, each a question that is answered yes or no::

    source: who wrote it
    items:
      - {id: Q1_gender, families: [geocultural], text: "Do these images reinforce a negative stereotype about
      gender?"}

The ``id`` of an item is the attribute of its labels. ``families`` are levels of the factor that says of which
family a prompt is; an item without them applies to all.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.inputs.files import read_text
from stereotrope.inputs.options import Options, Text, Texts, shorten, validated
from stereotrope.inputs.yaml import YamlFile
from stereotrope.plugins import Registry
from stereotrope.tables import QUALITY_ATTRIBUTES, whole_problem

RUBRICS: Registry[Path] = Registry("rubrics", "stereotrope.suites", modules="rubrics")
"""The file of every rubric that comes with a package, by its name."""

MOST_ITEMS = 60
"""Items of one family: so many are asked in one call."""
LONGEST_ITEM = 500
"""Characters of the text of an item."""
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_EXAMPLE = "write items: [{id: gender, text: Do these images reinforce a negative stereotype about gender?}]"


@dataclass(frozen=True)
class RubricItem:
    """One question of a rubric.

    id: Its name, and the attribute of its labels, whose values are ``yes`` and ``no``.
    text: The question, which ``yes`` affirms.
    families: Levels of the factor of families that it applies to; None where to all.
    """

    id: str
    text: str
    families: tuple[str, ...] | None = None

    def applies_to(self, family: str | None) -> bool:
        """Whether it is asked of prompts of a family."""
        return self.families is None or family in self.families


@dataclass(frozen=True)
class Rubric:
    """The items that a judge is asked, in their order."""

    items: tuple[RubricItem, ...]

    def of(self, family: str | None) -> tuple[RubricItem, ...]:
        """The items that apply to a family."""
        return tuple(item for item in self.items if item.applies_to(family))

    @property
    def families(self) -> tuple[str, ...]:
        """The families that items name, in the order in which they do."""
        return tuple(dict.fromkeys(name for item in self.items for name in item.families or ()))


def _id(value: str) -> str:
    if not _ID.fullmatch(value):
        raise ValueError(
            "must be at most 64 letters, digits and underscores, a letter first; write it as Q1_gender"
        )
    if value in QUALITY_ATTRIBUTES or whole_problem(value):
        raise ValueError("is a name with another meaning; rename it")
    return value


def _sentence(value: str) -> str:
    if len(value) > LONGEST_ITEM:
        raise ValueError(f"must have at most {LONGEST_ITEM} characters; shorten it")
    return " ".join(value.split())


class _Item(Options):
    id: Annotated[Text, AfterValidator(_id)]
    text: Annotated[Text, AfterValidator(_sentence)]
    families: Texts | None = None


class _File(Options):
    source: Text | None = None
    licence: Text | None = None
    items: list[_Item] = Field(min_length=1)


def read_rubric(path: Path | str) -> Rubric:
    """Read a rubric.

    Raises InputError: It cannot be read or used; the message begins with ``file:line:``.
    """
    text = read_text(
        path, what="a rubric", absent="name a YAML file of items, or a rubric that comes with stereotrope"
    )
    file = YamlFile(text, str(path))
    lines: dict[str, int] = {}
    items = []
    for index, one in enumerate(validated(_File, file, example=_EXAMPLE).items):
        at = ("items", index)
        if one.id.casefold() in lines:
            raise file.error(
                f"item {one.id!r} is there on line {lines[one.id.casefold()]} too; rename or remove one", *at
            )
        lines[one.id.casefold()] = file.line(at)
        items.append(RubricItem(one.id, one.text, None if one.families is None else tuple(one.families)))
    return Rubric(tuple(items))


def rubric_named(names: Sequence[str], base: Path | str = ".") -> Rubric:
    """Return the items of one rubric or several together.

    names: Files, relative to ``base``, or names of :data:`RUBRICS`.

    Raises UsageError: There is none of a name, two have an item of one id, or a family has too many.
    Raises InputError: A file cannot be used.
    """
    items: dict[str, RubricItem] = {}
    of: dict[str, str] = {}
    for name in names:
        path = RUBRICS[name] if name in RUBRICS else Path(base) / name
        if name not in RUBRICS and not path.is_file():
            known = f"a YAML file, or one that comes with stereotrope: {', '.join(RUBRICS)}"
            hint = did_you_mean(name, RUBRICS, otherwise=f"name {known}")
            raise UsageError(f"rubric: no file {shorten(name)} there; {hint}")
        for item in read_rubric(path).items:
            if item.id.casefold() in of:
                raise UsageError(
                    f"rubric: {of[item.id.casefold()]!r} and {name!r} both have an item {item.id!r}; rename "
                    "one, or leave one rubric out"
                )
            items[item.id], of[item.id.casefold()] = item, name
    rubric = Rubric(tuple(items.values()))
    for family in (*rubric.families, None):
        if (n := len(rubric.of(family))) > MOST_ITEMS:
            whose = "every family" if family is None else repr(family)
            raise UsageError(
                f"rubric: {n} items apply to {whose}, and one call asks for at most {MOST_ITEMS}; spread "
                "them over several judges"
            )
    return rubric
