"""Whether a run says what the kept run of the same audit says."""

from __future__ import annotations

import polars as pl
from polars.testing import assert_frame_equal
from tests.golden.audits import KEPT, OURS, TABLES

import stereotrope as st
from stereotrope.run.migration import estimates_of_format_1

CLOCKED = {"images": ["latency"]}
"""Columns that differ between two runs of one audit."""
UNTOLD = (
    *("numerator", "denominator", "numerator_reference", "n_categories", "instrument"),
    *("holds_for", "p_least"),
)
"""Columns that format 1 tells of few estimates or of none."""
CLOSE = 1e-9
"""Relative difference that another processor may make in the last digits."""


def assert_as_kept(run: st.Run, name: str) -> None:
    """Hold the tables of a run against the kept ones, columns that are new left out."""
    kept = st.open(KEPT / name) if name in OURS else None
    for table in TABLES if kept else ["estimates"]:
        before = getattr(kept, table) if kept else pl.read_parquet(KEPT / name / f"{table}.parquet")
        now = getattr(run, table)
        if table == "estimates":
            assert_alike(now, before)
        else:
            before = before.drop(CLOCKED.get(table, ()))
            assert_frame_equal(now.select(before.columns), before, rel_tol=CLOSE, abs_tol=CLOSE)


def assert_alike(now: pl.DataFrame, kept: pl.DataFrame) -> None:
    """Hold estimates against those of format 1, which tell less of what a number rests on."""
    before = estimates_of_format_1(kept)
    told = [pl.when(before[c].is_not_null()).then(c).alias(c) for c in UNTOLD]
    assert_frame_equal(now.select(before.columns).with_columns(told), before, rel_tol=CLOSE, abs_tol=CLOSE)
