"""From hits to what each caption says: a group an attribute, elements a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.annotate.lexicon.matching import Matches
from stereotrope.annotate.lexicon.parts import Grouped
from stereotrope.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from stereotrope.annotate.lexicon.model import Lexicon

__all__ = ["AND", "UNKNOWN", "add_columns", "asked_of", "elements_of", "groups_of", "prompt_numbers"]

UNKNOWN = "unknown"
"""Value of a grouped attribute where no term of any group was found."""
AND = " and "
"""Between the groups of a double mention."""


def add_columns(lexicon: Lexicon, captions: pl.DataFrame, *, prompt: str) -> pl.DataFrame:
    """Add the columns of :meth:`Lexicon.frame`."""
    needed = ["caption", *([prompt] if lexicon.prompts else [])]
    for name in needed:
        if name not in captions.columns:
            hint = did_you_mean(name, captions.columns, otherwise=f"there are {', '.join(captions.columns)}")
            raise InputError(f"captions frame: no column {name!r}; {hint}")
    made = [*lexicon.attributes, *lexicon.lists]
    for name in made:
        if name in captions.columns:
            raise InputError(
                f"captions frame: the column {name!r} is there already, and lexicon {lexicon.name!r} makes "
                "it; drop or rename it"
            )
    texts = captions["caption"].to_list()
    matches = lexicon.match(texts)
    own = prompt_numbers(lexicon, captions[prompt].to_list() if lexicon.prompts else [None] * len(texts))
    said = np.array([text is not None for text in texts], dtype=bool)
    columns = [
        pl.Series(name, groups_of(lexicon, name, matches, own, said), dtype=pl.String)
        for name in lexicon.attributes
    ]
    columns += [
        pl.Series(name, elements_of(lexicon, name, matches, own, said), dtype=pl.List(pl.String))
        for name in lexicon.lists
    ]
    return captions.with_columns(columns)


def prompt_numbers(lexicon: Lexicon, prompts: Sequence[str | None]) -> NDArray[np.int64]:
    """Return each caption's prompt as its place among the lexicon's, -1 where it is none of them."""
    places = {name.casefold(): place for place, name in enumerate(lexicon.prompts)}
    return np.array([places.get(str(one).strip().casefold(), -1) for one in prompts], dtype=np.int64)


def groups_of(
    lexicon: Lexicon,
    name: str,
    matches: Matches,
    own: NDArray[np.int64],
    said: NDArray[np.bool_],
) -> list[str | None]:
    """Return the value of a grouped attribute of each caption."""
    attribute = lexicon.attributes[name]
    groups = list(attribute.groups)
    of_term = np.array(
        [groups.index(e.element) if e.attribute == name and e.prompt is None else -1 for e in lexicon.terms],
        dtype=np.int64,
    )
    counts = np.zeros((len(matches.captions), len(groups)), dtype=np.int64)
    group = of_term[matches.term]
    hit = group >= 0
    np.add.at(counts, (matches.caption[hit], group[hit]), 1)
    asked = said & _has(attribute, lexicon.prompts, own)
    named: dict[bytes, str] = {}
    values: list[str | None] = []
    for row, wanted in zip(counts, asked.tolist(), strict=True):
        if not wanted:
            values.append(None)
            continue
        key = row.tobytes()
        if key not in named:
            named[key] = _group(attribute, groups, row)
        values.append(named[key])
    return values


def _has(attribute: Grouped, prompts: Mapping[str, object], own: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which captions are of a prompt that has the attribute."""
    if attribute.of is None:
        return np.ones(len(own), dtype=bool)
    named = {name.casefold() for name in attribute.of}
    return np.isin(own, [place for place, name in enumerate(prompts) if name.casefold() in named])


def _group(attribute: Grouped, groups: Sequence[str], counts: NDArray[np.int64]) -> str:
    found = [name for name, n in zip(groups, counts.tolist(), strict=True) if n]
    if attribute.decide == "most" and found:
        found = [name for name in found if counts[groups.index(name)] == counts.max()]
    if len(found) > 1:
        first = [name for name in attribute.priority if name in found][:1]
        found = first or found
    return AND.join(found) or UNKNOWN


def asked_of(lexicon: Lexicon, own: NDArray[np.int64], said: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say for each caption and term whether the term is of the caption's prompt."""
    prompts = list(lexicon.prompts)
    grouped = {name: _has(one, lexicon.prompts, own) for name, one in lexicon.attributes.items()}
    listed = {prompt: own == place for place, prompt in enumerate(prompts)}
    asked = np.zeros((len(own), len(lexicon.terms)), dtype=bool)
    for term, entry in enumerate(lexicon.terms):
        asked[:, term] = said & (grouped[entry.attribute] if entry.prompt is None else listed[entry.prompt])
    return asked


def elements_of(
    lexicon: Lexicon,
    name: str,
    matches: Matches,
    own: NDArray[np.int64],
    said: NDArray[np.bool_],
) -> list[list[str] | None]:
    """Return the elements of a list found in each caption, each once, in the order of the list."""
    prompts = list(lexicon.prompts)
    of_prompt = np.full(len(lexicon.terms), -2, dtype=np.int64)
    for place, entry in enumerate(lexicon.terms):
        if entry.attribute == name and entry.prompt is not None:
            of_prompt[place] = prompts.index(entry.prompt)
    having = [place for place, prompt in enumerate(prompts) if name in lexicon.prompts[prompt].lists]
    listed = said & np.isin(own, having)
    values: list[list[str] | None] = [[] if there else None for there in listed.tolist()]
    hit = listed[matches.caption] & (of_prompt[matches.term] == own[matches.caption])
    pairs = np.unique(np.stack([matches.caption[hit], matches.term[hit]], axis=1), axis=0)
    for caption, term in pairs.tolist():
        held = values[caption]
        element = lexicon.terms[term].element
        if held is not None and element not in held:
            held.append(element)
    return values
