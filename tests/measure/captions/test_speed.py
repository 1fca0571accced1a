"""All measures of a model's captions with their intervals take less than a second of CPU."""

import numpy as np
from bench.captions import SECONDS, TIMES, all_measures


def test_a_thousand_bootstraps_take_under_a_second_and_a_fiftieth_of_a_loop_over_rows() -> None:
    (ours, loop), _, disagreements = all_measures(np.random.default_rng(0), samples=5)
    assert disagreements == []
    assert ours < SECONDS
    assert loop > TIMES * ours
