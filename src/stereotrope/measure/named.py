"""Values that a caller names, as the labels spell them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from stereotrope.confusables import lookalikes
from stereotrope.folding import fold
from stereotrope.measure.tidy import as_text
from stereotrope.tables import NOT_VALUES

__all__ = ["Named", "named_values"]

_SAME = (
    re.compile(
        "f|females?|feminine|wom[ae]n|girls?|lady|ladies|femmes?|féminine?|frau|frauen|weiblich|mujer|mujeres|"
        "femenin[oa]|donn[ae]|femmin[ae]|femminile|mulher|mulheres|feminin[oa]"
    ),
    re.compile(
        "m|males?|masculine|m[ae]n|boys?|gentlem[ae]n|hommes?|masculin|mann|männer|männlich|hombres?|"
        "masculin[oa]|uomo|uomini|masch[io]o?|maschile|homem|homens"
    ),
)
"""Words for one perceived presentation in languages that studies label in: for hints, never values."""
_OTHER_KIND = re.compile("girls?|boys?|lady|ladies|gentlem[ae]n")
"""Of these, words that may well be a category of their own beside a named one."""
_SHOWN = 5


class Named(NamedTuple):
    """What became of named values.

    ``spelt`` has each as the labels spell it; ``trouble`` has, for an attribute whose labels cannot show
    what is asked, the reason.
    """

    spelt: Mapping[str, str]
    trouble: Mapping[str, str]


def named_values(
    frame: pl.DataFrame,
    attributes: Sequence[str] | None,
    named: Mapping[str, str],
    *,
    only: Sequence[str] | None = None,
) -> Named:
    """Find the values that a caller names among those of the labels.

    A value that no label has is taken for the one that :func:`~stereotrope.folding.fold` writes alike, where
    there is just one: signs and digits never differ. Nothing else is taken for it: a word of the same meaning
    or one that looks the same, or labels among which none of the values in ``only`` is, are reasons for no
    number; so are labels that have a named value and another word for it, such as ``female`` and ``f``.

    Parameters
    ----------
    frame
        Tidy labels.
    attributes
        Those that are asked for; all when None.
    named
        Value → the argument that names it.
    only
        Values that the denominator is restricted to.
    """
    if not {"attribute", "value"} <= set(frame.columns):
        return Named({}, {})
    counted = frame.select(
        *(["annotator"] if "annotator" in frame.columns else []),
        pl.col("attribute").cast(pl.String),
        as_text(frame, "value").alias("value"),
        (pl.col("excluded") if "excluded" in frame.columns else pl.lit(None)).alias("excluded"),
    ).filter(pl.col("excluded").is_null(), pl.col("value").is_not_null(), ~pl.col("value").is_in(NOT_VALUES))
    if attributes is not None:
        counted = counted.filter(pl.col("attribute").is_in(list(attributes)))
    seen: dict[str, list[str]] = {}
    for name, value in counted.select("attribute", "value").unique().sort("attribute", "value").iter_rows():
        seen.setdefault(name, []).append(value)
    everywhere = {value for values in seen.values() for value in values}
    spelt: dict[str, str] = {}
    for value in named:
        alike = [other for other in sorted(everywhere) if fold(other) == fold(value)]
        if value not in everywhere and len(alike) == 1:
            spelt[value] = alike[0]
    lost = [value for value in named if value not in everywhere and value not in spelt]
    listed = None if only is None else {spelt.get(value, value) for value in only}
    trouble = {name: why for name, values in seen.items() if (why := _trouble(values, lost, named, listed))}
    meant = {**named, **{spelt[value]: named[value] for value in spelt}}
    for name, values in _by_annotator(counted):
        if why := _mixed(values, meant):
            trouble.setdefault(name, why)
    return Named(spelt, trouble)


def _by_annotator(counted: pl.DataFrame) -> Iterator[tuple[str, list[str]]]:
    """Each attribute of each annotator, with the values that it has."""
    keys = ["attribute", *(["annotator"] if "annotator" in counted.columns else [])]
    listed = counted.select(*keys, "value").unique().sort(*keys, "value")
    for (name, *_), part in listed.group_by(keys, maintain_order=True):
        yield str(name), part["value"].to_list()


def _trouble(
    values: Sequence[str], lost: Sequence[str], named: Mapping[str, str], listed: set[str] | None
) -> str | None:
    for value in lost:
        for one in lookalikes(dict.fromkeys(values, 1), [value]):
            for (shown, _), how in zip(one.written[1:], one.differs[1:], strict=True):
                if how != "differs in case":
                    return (
                        f"no label is {value!r}, and {shown!r}, which {how}, reads like it; write both alike"
                    )
        if meant := _other_words(value, values, named):
            return f"no label is {value!r}, and {meant[0]!r} is: name it, {named[value]}: {meant[0]}"
    if listed is not None and not listed.intersection(values):
        shown = ", ".join(map(repr, values[:_SHOWN])) + (" …" if len(values) > _SHOWN else "")
        arguments = " and ".join(dict.fromkeys(f"`{named[value]}`" for value in named))
        none = " or ".join(map(repr, named))
        return f"no label is {none}; there are {shown}: name those that are meant with {arguments}"
    return None


def _mixed(values: Sequence[str], named: Mapping[str, str]) -> str | None:
    """The reason where one annotator has a named value and another word for it: neither count is whole."""
    own = [value for value in values if not _OTHER_KIND.fullmatch(_plain(value))]
    for value in own:
        if value in named and (others := _other_words(value, own, named)):
            return f"labels are both {value!r} and {others[0]!r}, which may mean the same; write them alike"
    return None


def _other_words(value: str, values: Sequence[str], named: Mapping[str, str]) -> list[str]:
    """Values that nobody names and that are words for the same presentation."""
    group = next((words for words in _SAME if words.fullmatch(_plain(value))), None)
    return [v for v in values if group is not None and group.fullmatch(_plain(v)) and v not in named]


def _plain(value: str) -> str:
    return unicodedata.normalize("NFC", value).casefold().strip()
