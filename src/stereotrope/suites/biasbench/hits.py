"""What the terms really hit, read as the released matching reads: letters anywhere in a word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from stereotrope.lexicon import Lexicon, MatchingAudit, matching_audit, read_lexicon
from stereotrope.suites.biasbench.wordlists import GENDER, WordLists
from stereotrope.tables import UNKNOWN

_EXAMPLES = 3
_WORDS, _LONGEST_WORD = 4, 32
_WIDTH = 140
"""Characters around a hit in a page."""


@dataclass(frozen=True)
class Excerpt:
    """A hit in a caption and the text around it."""

    before: str
    hit: str
    after: str


@dataclass(frozen=True)
class Hits:
    """One value of a grouped attribute, and on what its ``n`` captions rest.

    Counted are captions in which a term of it stands as a word of its own (null for ``unknown``), and those
    that rest alone on letters inside longer words (``words``, most frequent first), on words before a noun of
    clothes, hair or a background, or on words that only case or a digit sets off (``MaleFair``). ``named``
    are groups that the built-in lexicon, which splits there, finds in ``unknown``.
    """

    attribute: str
    prompt: str
    value: str
    n: int
    whole_word: int | None
    inside_only: int
    noun_only: int
    run_together: int
    named: Mapping[str, int]
    words: Sequence[str]
    examples: Sequence[Excerpt]


def doubtful_values(captions: Mapping[str, Sequence[str]], lists: WordLists) -> list[Hits]:
    """Return the values of which any caption is to be doubted, by the lexicon's own matching audit.

    Of gender, which the released scripts find by whole words, only captions without a group are looked at.
    """
    rows = [(prompt, caption) for prompt, listed in captions.items() for caption in listed]
    if not rows or not lists.lexicon.prompts:
        return []
    frame = pl.DataFrame(rows, schema={"prompt": pl.String, "caption": pl.String}, orient="row")
    substring = lists.lexicon.matching.model_copy(update={"boundary": "substring"})
    letters = replace(lists.lexicon, matching=substring)
    audit = audited(letters, frame, lists.patterned)
    of_gender, again = pl.col("attribute") == GENDER, pl.col("attribute").is_in(lists.patterned)
    doubted = pl.when(again).then("n_named").when(~of_gender).then("n_doubtful")
    return [_hits(row, letters, audit) for row in audit.labels.filter(doubted > 0).iter_rows(named=True)]


def audited(lexicon: Lexicon, captions: pl.DataFrame, patterned: Sequence[str]) -> MatchingAudit:
    """Audit a lexicon, ``patterned`` attributes of which go by whole words whatever the others do.

    The built-in lexicon reads captions without a group a second time.
    """
    second = read_lexicon("biasbench")
    again = None if second.fingerprint == lexicon.fingerprint else second
    words = lexicon.matching.model_copy(update={"boundary": "word"})
    own = {name: one for name, one in lexicon.attributes.items() if name in patterned}
    bare = {name: one.model_copy(update={"lists": {}}) for name, one in lexicon.prompts.items()}
    rest = {name: one for name, one in lexicon.attributes.items() if name not in patterned}
    parts = [replace(lexicon, attributes=own, prompts=bare, matching=words)] if own else []
    audits = [
        matching_audit(part, captions, second=again, examples=_EXAMPLES)
        for part in (*parts, replace(lexicon, attributes=rest))
    ]
    tables = {
        name: pl.concat([getattr(one, name) for one in audits]) for name in ("terms", "labels", "several")
    }
    tables["several"] = tables["several"].sort("n", descending=True, maintain_order=True)
    return replace(audits[-1], **tables)


def excerpt(text: str, start: int, end: int, width: int) -> Excerpt:
    """The words around a hit, so many characters or somewhat fewer."""
    left = max(0, start - max(0, width - (end - start)) // 2)
    right = min(len(text), max(end, left + width))
    if left:
        left = min(start, text.find(" ", left, start) + 1 or left)
    if right < len(text) and (blank := text.rfind(" ", end, right)) >= 0:
        right = blank
    before = ("…" if left else "") + text[left:start]
    return Excerpt(before, text[start:end], text[end:right] + ("…" if right < len(text) else ""))


def listed(words: Sequence[str]) -> str:
    """The first of some words, none of them long."""
    return ", ".join(w if len(w) <= _LONGEST_WORD else f"{w[:_LONGEST_WORD]}…" for w in words[:_WORDS])


def _hits(row: Mapping[str, Any], lexicon: Lexicon, audit: MatchingAudit) -> Hits:
    of, known = lexicon.attributes[row["attribute"]].of or (), row["value"] != UNKNOWN
    places = ((audit.captions[at["caption"]], at["start"], at["end"]) for at in row["places"])
    return Hits(
        attribute=row["attribute"],
        prompt=of[0].casefold() if len(of) == 1 else "",
        value=row["value"],
        n=row["n"],
        whole_word=row["n_word"] if known else None,
        inside_only=row["n_inside_only"],
        noun_only=row["n_noun_only"],
        run_together=row["n"] - row["n_word"] - row["n_inside_only"] if known else 0,
        named={one["value"]: one["n"] for one in row["named"]},
        words=row["inside_words"],
        examples=[excerpt(*place, _WIDTH) for place in places],
    )
