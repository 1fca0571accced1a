"""Matching of a lexicon of 2,000 terms in 100,000 captions.

The reference is what polars finds of literal terms, with the same columns, and whose hits are as many; its
bare ``find_many``, which says neither which term it is nor whether a word ends there, is the limit. One
regular expression a term is a row of its own, timed on a slice of the captions, where its hits are compared.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from bench.captions import timed
from bench.rows import Found, Row, in_turns
from stereotrope.lexicon import Lexicon, lexicon_from, matching_audit, read_lexicon

CAPTIONS, TERMS, WORDS, SLICE = 100_000, 2_000, 20_000, 200
LIMIT = 10.0


def made_up(rng: np.random.Generator, n: int = CAPTIONS) -> tuple[list[str], list[str]]:
    """Captions of 25 words of a made-up vocabulary, and terms of one or two of its words."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(rng.choice(letters, rng.integers(3, 10))) for _ in range(WORDS)])
    captions = [" ".join(rng.choice(words, 25)) for _ in range(n)]
    terms: dict[str, None] = {}
    while len(terms) < TERMS:
        terms[" ".join(rng.choice(words, rng.integers(1, 3)))] = None
    return captions, list(terms)


def lexicon(terms: list[str], boundary: str) -> Lexicon:
    """Half of the terms in the groups of an attribute, half in a list."""
    half = len(terms) // 2
    groups = {f"group-{at}": terms[at:half:10] for at in range(10)}
    return lexicon_from(
        {
            "matching": {"boundary": boundary, "split_case": True, "forms": False},
            "attributes": {"kind": {"groups": groups}},
            "prompts": {"any": {"lists": {"keyword": terms[half:]}}},
        }
    )


def by_polars(captions: list[str], terms: list[str], boundary: str) -> pl.DataFrame:
    """Caption, term, start and end of literal terms."""
    text, whole = pl.col("text"), boundary == "word"
    texts = pl.DataFrame({"text": captions}).with_row_index("caption")
    found = texts.select(
        "caption",
        *["text"] * whole,
        start=text.str.find_many(terms, overlapping=True),
        term=text.str.extract_many(terms, overlapping=True),
    )
    hits = found.explode("start", "term").drop_nulls("term")
    hits = hits.with_columns(end=pl.col("start") + pl.col("term").str.len_bytes())
    if whole:
        start, end = pl.col("start").cast(pl.Int64), pl.col("end")
        before, after = text.str.slice(start - 1, 1), text.str.slice(end, 1)
        hits = hits.filter((start == 0) | (before == " "), (after == "") | (after == " "))
    return hits.select("caption", "start", "end", pl.col("term").replace_strict(terms, range(len(terms))))


def bench() -> Found:
    """Terms as whole words and within words, with the audit of what they hit."""
    captions, terms = made_up(np.random.default_rng(0))
    frame = pl.DataFrame({"caption": captions, "prompt": "any"})
    rows, wrong = [], []
    for boundary in ("word", "substring"):
        made, told = lexicon(terms, boundary), f"lexicon, {boundary}"
        hits = made.match(captions)
        expected, loop = timed(lambda made=made, boundary=boundary: by_expressions(made, captions, boundary))
        second = read_lexicon("biasbench")
        _, audited = timed(lambda made=made, second=second: matching_audit(made, frame, second=second))
        rows += [
            in_turns(
                f"{told}, with columns",
                CAPTIONS,
                ours=lambda made=made: made.match(captions),
                reference=lambda boundary=boundary: by_polars(captions, terms, boundary),
                limit=lambda: pl.Series(captions).str.find_many(terms, overlapping=True),
                rounds=2,
            ),
            Row(
                f"{told}: audit, beside regular expressions",
                audited,
                loop * CAPTIONS / SLICE,
                None,
                CAPTIONS,
                CAPTIONS / SLICE,
            ),
        ]
        theirs = by_polars(captions, terms, boundary).height
        if int((hits.caption < SLICE).sum()) != expected or len(hits) != theirs:
            wrong.append(
                f"DISAGREES  {told}: {len(hits):,} hits, {theirs:,} by polars, {expected:,} on the slice"
            )
        if rows[-2].ours + audited > LIMIT:
            wrong.append(f"TOO SLOW  {told}: at most {LIMIT:g} s with its audit")
    return rows, wrong


def by_expressions(made: Lexicon, captions: list[str], boundary: str) -> int:
    """How often a regular expression a term matches in a slice of the captions."""
    edge = r"\b" if boundary == "word" else ""
    patterns = [re.compile(f"{edge}{re.escape(entry.term)}{edge}") for entry in made.terms]
    return sum(len(pattern.findall(text)) for pattern in patterns for text in captions[:SLICE])
