"""Times the matching of a lexicon: ``python -m bench.lexicon`` (100,000 captions, 2,000 terms).

Times are CPU seconds of this process. References: one regular expression a term, timed on a slice of the
captions and multiplied up, whose hits are compared on the slice; and what polars finds of literal terms,
with the same columns. Its bare ``find_many``, which says neither which term it is nor whether a word ends
there, is the limit.
"""

from __future__ import annotations

import re
import sys
import time

import numpy as np
import polars as pl

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


def main() -> int:
    """Print the times; 1 where hits differ or the limit is passed."""
    captions, terms = made_up(np.random.default_rng(0))
    failed = 0
    for boundary in ("word", "substring"):
        made = lexicon(terms, boundary)
        start = time.process_time()
        hits = made.match(captions)
        seconds = time.process_time() - start
        start = time.process_time()
        theirs = by_polars(captions, terms, boundary).height
        by_columns = time.process_time() - start
        start = time.process_time()
        pl.Series(captions).str.find_many(terms, overlapping=True)
        bare = time.process_time() - start
        frame = pl.DataFrame({"caption": captions, "prompt": "any"})
        start = time.process_time()
        made.frame(frame)
        framed = time.process_time() - start
        start = time.process_time()
        matching_audit(made, frame, second=read_lexicon("biasbench"))
        audited = time.process_time() - start
        start = time.process_time()
        expected = 0
        for entry in made.terms:
            pattern = re.compile(
                rf"\b{re.escape(entry.term)}\b" if boundary == "word" else re.escape(entry.term)
            )
            expected += sum(len(pattern.findall(text)) for text in captions[:SLICE])
        loop = (time.process_time() - start) * CAPTIONS / SLICE
        found = int((hits.caption < SLICE).sum())
        print(
            f"{boundary}: {len(hits):,} hits in {seconds:.2f} s, with columns {framed:.2f} s, the matching "
            f"audit, all matching in it, {audited:.2f} s; a regular "
            f"expression a term {loop:.0f} s (from {SLICE} captions); {found} hits against {expected} there; "
            f"polars with the same columns {by_columns:.2f} s ({theirs:,} hits), bare find_many {bare:.2f} s"
        )
        failed += found != expected or len(hits) != theirs or seconds + audited > LIMIT
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
