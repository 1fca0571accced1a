"""What the terms really hit, read as the released matching reads: letters anywhere in a word."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from stereotrope.lexicon import UNKNOWN, Lexicon, Matching, matching_audit, read_lexicon
from stereotrope.suites.biasbench.released import by_patterns, fold
from stereotrope.suites.biasbench.wordlists import GENDER, WordLists, attribute_of

_EXAMPLES = 3
_WORDS, _LONGEST = 4, 20
_AROUND = 70
"""Characters of a caption kept on each side of a hit."""


@dataclass(frozen=True)
class Excerpt:
    """A hit in a caption and the text around it, cut at spaces."""

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

    Gender is not among them: the released scripts find it by whole words.
    """
    rows = [(prompt, caption) for prompt, listed in captions.items() for caption in listed]
    if not rows or not lists.lexicon.prompts:
        return []
    frame = pl.DataFrame(rows, schema={"prompt": pl.String, "caption": pl.String}, orient="row")
    patterned = {attribute_of(prompt, lists.lexicon): prompt for prompt in lists.by_patterns}
    letters = replace(lists.lexicon, matching=Matching("substring"))
    audit = matching_audit(letters, frame, examples=_EXAMPLES)
    found = []
    for row in audit.labels.iter_rows(named=True):
        attribute, value = row["attribute"], row["value"]
        if not row["n_doubtful"] or attribute in {GENDER, *patterned}:
            continue
        of = lists.lexicon.attributes[attribute].of or ()
        terms = audit.terms.filter(
            pl.col("prompt").is_null() & (pl.col("attribute") == attribute) & (pl.col("element") == value)
        )
        found.append(
            Hits(
                attribute=attribute,
                prompt=of[0].casefold() if len(of) == 1 else "",
                value=value,
                n=row["n"],
                whole_word=row["n_word"],
                inside_only=row["n_inside_only"],
                noun_only=row["n_noun_only"],
                run_together=row["n"] - row["n_word"] - row["n_inside_only"],
                named={},
                words=_most_frequent(terms),
                examples=list(_excerpts(letters, row["examples"], attribute, value)),
            )
        )
    for attribute, prompt in patterned.items():
        if attribute is not None:
            found += _unnamed(attribute, prompt, captions.get(prompt, ()), lists)
    return found


def _most_frequent(terms: pl.DataFrame) -> list[str]:
    """Longer words of a value's terms, those of the term with most such hits first, nothing glued."""
    ordered = terms.filter(pl.col("n_inside") > 0).sort("n_inside", descending=True)
    words: list[str] = []
    for word in (word for listed in ordered["inside_words"] for word in listed):
        if word.isalpha() and len(word) <= _LONGEST and not any(known in word for known in words):
            words.append(word)
    return words[:_WORDS]


def _excerpts(lexicon: Lexicon, captions: Sequence[str], attribute: str, value: str) -> Iterator[Excerpt]:
    """The first hit of a value in each caption."""
    found = lexicon.match(captions)
    shown: set[int] = set()
    for caption, term, start, end in zip(
        found.caption.tolist(), found.term.tolist(), found.start.tolist(), found.end.tolist(), strict=True
    ):
        entry = lexicon.terms[term]
        if caption in shown or (entry.attribute, entry.prompt, entry.element) != (attribute, None, value):
            continue
        shown.add(caption)
        yield _around(found.captions[caption], start, end)


def _around(text: str, start: int, end: int) -> Excerpt:
    left = max(0, start - _AROUND)
    if left:
        left = min(start, text.find(" ", left, start) + 1 or left)
    right = min(len(text), end + _AROUND)
    if right < len(text):
        right = max(end, text.rfind(" ", end, right))
    before = ("… " if left else "") + text[left:start]
    after = text[end:right] + (" …" if right < len(text) else "")
    return Excerpt(before, text[start:end], after)


def _unnamed(attribute: str, prompt: str, captions: Sequence[str], lists: WordLists) -> list[Hits]:
    """Captions that the patterns give no group, read again by the built-in lexicon."""
    patterns = lists.prompts[prompt].patterns
    left = [c for c in captions if by_patterns(fold(c), patterns) == UNKNOWN]
    built_in = read_lexicon("biasbench")
    again = built_in.frame(
        pl.DataFrame(
            {"prompt": [prompt] * len(left), "caption": left},
            schema={"prompt": pl.String, "caption": pl.String},
        )
    )
    read = [(c, str(value)) for c, value in zip(left, again[attribute], strict=True) if value != UNKNOWN]
    if not read:
        return []
    examples = [
        one
        for caption, value in read[:_EXAMPLES]
        for one in _excerpts(built_in, [caption], attribute, value.partition(" and ")[0])
    ]
    named = dict(Counter(value for _, value in read).most_common())
    return [Hits(attribute, prompt, UNKNOWN, len(left), None, 0, 0, 0, named, [], examples)]
