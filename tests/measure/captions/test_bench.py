"""The benchmark of captions times two ways to the same numbers."""

import numpy as np
from bench.captions import all_measures


def test_the_loop_that_is_timed_beside_ours_finds_the_same_numbers() -> None:
    (ours, loop), _, disagreements = all_measures(np.random.default_rng(0), samples=2)
    assert disagreements == []
    assert min(ours, loop) > 0
