"""A lexicon of 2,000 terms reads 100,000 captions, and is audited on them, in under ten seconds of CPU."""

import time

import numpy as np
import polars as pl
import pytest
from bench.lexicon import CAPTIONS, LIMIT, lexicon, made_up

from stereotrope.annotate.lexicon import matching_audit, read_lexicon

PART = CAPTIONS // 10


@pytest.mark.parametrize("boundary", ["word", "substring"])
def test_captions_are_read_and_audited_in_time(boundary):
    captions, terms = made_up(np.random.default_rng(0), PART)
    frame = pl.DataFrame({"caption": captions, "prompt": "any"})
    start = time.process_time()
    found = matching_audit(lexicon(terms, boundary), frame, second=read_lexicon("biasbench"))
    seconds = time.process_time() - start
    assert found.terms["n_hits"].sum() > PART
    assert seconds < LIMIT * PART / CAPTIONS
