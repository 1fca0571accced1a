"""Values that a caller names, as the labels spell them."""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import polars as pl

from stereotrope.confusables import amount, lookalikes
from stereotrope.folding import fold
from stereotrope.measure.cells import as_names
from stereotrope.measure.tidy import as_text, reason_given, to_polars
from stereotrope.shipped import shipped
from stereotrope.tables import NOT_VALUES

_OTHER_KIND = re.compile("girls?|boys?|lady|ladies|gentlem[ae]n")
"""Of the words for one presentation, those that may well be a category of their own beside a named one."""
_SHOWN, _FEWEST_LETTERS = 5, 5
"""Values that a message shows, and letters of a word in which a slip is looked for."""


Part = tuple[str, str | None]
"""An attribute, and the annotator that labels it."""


class Named(NamedTuple):
    """What became of named values.

    labels: With each of these values written in one way.
    wanted, allowed: The values to count, and those of the denominator, as the labels write them.
    trouble: Attribute and annotator whose labels cannot show what is asked → the reason.
    """

    labels: pl.DataFrame
    wanted: tuple[str, ...]
    allowed: tuple[str, ...] | None
    trouble: Mapping[Part, str]

    def why_not(self, attribute: str, scope: Mapping[str, str | None]) -> str | None:
        """The reason for no number in a scope; any annotator's where it has several."""
        if "annotator" in scope:
            return self.trouble.get((attribute, scope["annotator"]))
        return next((why for (name, _), why in self.trouble.items() if name == attribute), None)

    def why_nots(self, attribute: pl.Series, annotator: pl.Series | None) -> pl.Series:
        """:meth:`why_not` of many scopes, with their annotators where these are told apart."""
        if annotator is None:
            first = {name: why for (name, _), why in reversed(list(self.trouble.items()))}
            return attribute.replace_strict(first, default=None, return_dtype=pl.String)
        asked = pl.DataFrame({"attribute": attribute, "annotator": annotator})
        rows = [(*part, why) for part, why in self.trouble.items()]
        told = pl.DataFrame(rows, schema=dict.fromkeys((*asked.columns, "why"), pl.String), orient="row")
        return asked.join(told, on=asked.columns, how="left", nulls_equal=True, maintain_order="left")["why"]


def named_values(
    labels: Any,
    attributes: Sequence[str] | None,
    value: str | Sequence[str] | None,
    of: Sequence[str] | None,
    *,
    arguments: Mapping[str, str] | None = None,
) -> Named:
    """Find the values that a caller names among those of the labels.

    Each annotator writes each attribute in its own way. A value that it does not have is taken for the one
    that :func:`~stereotrope.folding.fold` writes alike or that is the same number, where there is just one
    and nobody names it: signs and amounts never differ. Nothing else is taken for it: a word of the same
    meaning, one that looks the same or is the same but for a slip, or labels among which none of the values
    in ``of`` is, are reasons for no number; so are labels that have a named value and another word for it, as
    ``female`` and ``f``.

    attributes: Those that are asked for; all when None.
    value, of: Values to count, and those that the denominator is restricted to.
    arguments: Value → the argument that names it; ``value`` or ``of`` when None.
    """
    frame = to_polars(labels)
    wanted = as_names(value, what="value")
    allowed = None if of is None else as_names(of, what="of")
    named = arguments or {**dict.fromkeys(allowed or (), "of"), **dict.fromkeys(wanted, "value")}
    if not {"attribute", "value"} <= set(frame.columns):
        return Named(frame, wanted, allowed, {})
    spellings: dict[Part, dict[str, str]] = {}
    trouble: dict[Part, str] = {}
    for part, values in _parts(frame, attributes):
        spellings[part] = own = _own_spellings(named, values)
        lost = [name for name in named if name not in own]
        meant = {**named, **{there: named[name] for name, there in own.items()}}
        listed = None if allowed is None else {own.get(name, name) for name in allowed}
        if why := _trouble(values, lost, named, listed) or _mixed(values, meant):
            trouble[part] = why
    spelt = {}
    for name in named:
        ways = {own[name] for own in spellings.values() if name in own}
        spelt[name] = ways.pop() if len(ways) == 1 else name
    counted, restricted = (tuple(dict.fromkeys(spelt[v] for v in names)) for names in (wanted, allowed or ()))
    written = _rewritten(frame, spellings, spelt)
    return Named(written, counted, None if allowed is None else restricted, trouble)


def _parts(frame: pl.DataFrame, attributes: Sequence[str] | None) -> Iterator[tuple[Part, list[str]]]:
    """Each attribute of each annotator, with the values that count."""
    if attributes is not None:
        frame = frame.filter(pl.col("attribute").is_in(list(attributes)))
    counted = frame.select(
        pl.col("attribute").cast(pl.String),
        _annotator(frame).alias("annotator"),
        as_text(frame, "value").alias("value"),
        reason_given(frame).alias("excluded"),
    ).filter(pl.col("excluded").is_null(), pl.col("value").is_not_null(), ~pl.col("value").is_in(NOT_VALUES))
    keys = ["attribute", "annotator"]
    listed = counted.select(*keys, "value").unique().sort(*keys, "value")
    for (name, annotator), part in listed.group_by(keys, maintain_order=True):
        yield (str(name), annotator), part["value"].to_list()


def _annotator(frame: pl.DataFrame) -> pl.Expr:
    return as_text(frame, "annotator") if "annotator" in frame.columns else pl.lit(None, pl.String)


def _own_spellings(named: Collection[str], values: Sequence[str]) -> dict[str, str]:
    """Named value → how one annotator writes it, for those that it has."""
    own = {}
    for value in named:
        alike = [other for other in values if other not in named and _is_alike(value, other)]
        if value in values or len(alike) == 1:
            own[value] = value if value in values else alike[0]
    return own


def _is_alike(value: str, other: str) -> bool:
    return fold(value) == fold(other) or (amount(value) is not None and amount(value) == amount(other))


def _rewritten(
    frame: pl.DataFrame, spellings: Mapping[Part, Mapping[str, str]], spelt: Mapping[str, str]
) -> pl.DataFrame:
    """The labels of annotators that write a value otherwise than others, written alike."""
    value = written = as_text(frame, "value")
    for (attribute, annotator), own in spellings.items():
        part = (pl.col("attribute") == attribute) & _annotator(frame).eq_missing(pl.lit(annotator, pl.String))
        for one, there in own.items():
            if there != spelt[one]:
                written = pl.when(part & (value == there)).then(pl.lit(spelt[one])).otherwise(written)
    return frame if written is value else frame.with_columns(written.alias("value"))


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
        if meant := _other_words(value, values, named) or _slips(value, values, named):
            return f"no label is {value!r}, and {meant[0]!r} is: name it, {named[value]}: {meant[0]}"
    if listed is not None and not listed.intersection(values):
        shown = ", ".join(map(repr, values[:_SHOWN])) + (" …" if len(values) > _SHOWN else "")
        arguments = " and ".join(dict.fromkeys(f"`{named[value]}`" for value in named))
        none = " or ".join(map(repr, named))
        return f"no label is {none}; there are {shown}: name those that are meant with {arguments}"
    return None


def _slips(value: str, values: Sequence[str], named: Mapping[str, str]) -> list[str]:
    """Values that nobody names and of which this one is the same but for a slip in one word."""
    return [other for other in values if other not in named and _is_slip(_plain(value), _plain(other))]


def _is_slip(one: str, other: str) -> bool:
    """Whether all words are the same but one, of five letters or more, with a letter more, or two exchanged.

    Not the first letter: a word with something before it may be its opposite (moral, amoral).
    """
    words = list(zip(one.split(), other.split(), strict=False))
    unlike = [pair for pair in words if pair[0] != pair[1]]
    if len(one.split()) != len(other.split()) or len(unlike) != 1:
        return False
    short, long = sorted(unlike[0], key=len)
    if len(short) < _FEWEST_LETTERS or not (short + long).isalpha():
        return False
    if len(short) == len(long):
        apart = [at for at, (a, b) in enumerate(zip(short, long, strict=True)) if a != b]
        return len(apart) == 2 and short[apart[0] : apart[1] + 1] == long[apart[0] : apart[1] + 1][::-1]
    return len(long) == len(short) + 1 and any(
        long[:at] + long[at + 1 :] == short for at in range(1, len(long))
    )


def _mixed(values: Sequence[str], named: Mapping[str, str]) -> str | None:
    """The reason where one annotator has a named value and another word for it: neither count is whole."""
    own = [value for value in values if not _OTHER_KIND.fullmatch(_plain(value))]
    for value in own:
        if value in named and (others := _other_words(value, own, named)):
            return f"labels are both {value!r} and {others[0]!r}, which may mean the same; write them alike"
    return None


def _other_words(value: str, values: Sequence[str], named: Mapping[str, str]) -> list[str]:
    """Values that nobody names and that are words for the same presentation."""
    group = _presentation(value)
    return [v for v in values if group and re.fullmatch(group, _plain(v)) and v not in named]


def other_word(value: str, values: Set[str]) -> str | None:
    """Which of some values means the same presentation as one that is not among them; None where none does.

    Words that may well be a category of their own, as girl is, mean no other.
    """
    if value in values or (words := _presentation(value)) is None or _OTHER_KIND.fullmatch(_plain(value)):
        return None
    means = (v for v in sorted(values) if re.fullmatch(words, _plain(v)))
    return next((v for v in means if not _OTHER_KIND.fullmatch(_plain(v))), None)


def _presentation(value: str) -> str | None:
    """The words for the presentation that a value is a word for."""
    every = map("|".join, shipped("measure", "presentations.yaml").values())
    return next((words for words in every if re.fullmatch(words, _plain(value))), None)


def _plain(value: str) -> str:
    return unicodedata.normalize("NFC", value).casefold().strip()
