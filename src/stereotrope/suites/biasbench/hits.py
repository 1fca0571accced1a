"""What the terms really hit, read as the released matching reads: letters anywhere in a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from stereotrope.annotate.lexicon import Matching, matching_audit, read_lexicon
from stereotrope.suites.biasbench.released import by_patterns, fold
from stereotrope.suites.biasbench.wordlists import WordLists, attribute_of

__all__ = ["Hits", "doubtful_values"]

_UNKNOWN = "unknown"


@dataclass(frozen=True)
class Hits:
    """One value of a grouped attribute, and on what its captions rest.

    Attributes
    ----------
    attribute, value, n
        The value, and how many captions have it.
    whole_word
        Captions in which a term of it stands as a word of its own; null for ``unknown``.
    inside_only, noun_only
        Captions that rest on letters inside longer words alone, or on words before a garment's, hair's or
        background's noun alone.
    named
        Of ``unknown``, the groups that the built-in lexicon finds, which splits words at case and digits.
    """

    attribute: str
    value: str
    n: int
    whole_word: int | None
    inside_only: int
    noun_only: int
    named: Mapping[str, int]


def doubtful_values(captions: Mapping[str, Sequence[str]], lists: WordLists) -> list[Hits]:
    """Return the values of which any caption is to be doubted, by the lexicon's own matching audit."""
    rows = [(prompt, caption) for prompt, listed in captions.items() for caption in listed]
    frame = pl.DataFrame(rows, schema={"prompt": pl.String, "caption": pl.String}, orient="row")
    patterned = {attribute_of(prompt, lists.lexicon): prompt for prompt in lists.by_patterns}
    if not rows or not lists.lexicon.prompts:
        return []
    letters = replace(lists.lexicon, matching=Matching("substring"))
    audit = matching_audit(letters, frame, examples=0)
    found = [
        Hits(
            row["attribute"],
            row["value"],
            row["n"],
            row["n_word"],
            row["n_inside_only"],
            row["n_noun_only"],
            {},
        )
        for row in audit.labels.iter_rows(named=True)
        if row["n_doubtful"] and row["attribute"] not in patterned
    ]
    for attribute, prompt in patterned.items():
        if attribute is not None:
            found += _unnamed(attribute, prompt, captions.get(prompt, ()), lists)
    return found


def _unnamed(attribute: str, prompt: str, captions: Sequence[str], lists: WordLists) -> list[Hits]:
    """Captions that the patterns give no group, read again by the built-in lexicon."""
    patterns = lists.prompts[prompt].patterns
    left = [c for c in captions if by_patterns(fold(c), patterns) == _UNKNOWN]
    again = read_lexicon("biasbench").frame(
        pl.DataFrame(
            {"prompt": [prompt] * len(left), "caption": left},
            schema={"prompt": pl.String, "caption": pl.String},
        )
    )
    named = Counter(str(value) for value in again[attribute] if value != _UNKNOWN)
    if not named:
        return []
    return [Hits(attribute, _UNKNOWN, len(left), None, 0, 0, dict(named.most_common()))]
