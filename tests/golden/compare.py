"""Whether a run says what the kept run of the same audit says."""

from __future__ import annotations

import polars as pl
from polars.testing import assert_frame_equal
from tests.golden.audits import KEPT, OURS, TABLES

import stereotrope as st

CLOCKED = {"images": ["latency"]}
"""Columns that differ between two runs of one audit."""
CLOSE = 1e-9
"""Relative difference that another processor may make in the last digits."""


def assert_as_kept(run: st.Run, name: str) -> None:
    """Hold the tables of a run against the kept ones, columns that are new left out."""
    kept = st.open(KEPT / name) if name in OURS else None
    for table in TABLES if kept else ["estimates"]:
        before = getattr(kept, table) if kept else pl.read_parquet(KEPT / name / f"{table}.parquet")
        now = getattr(run, table)
        before = before.drop(CLOCKED.get(table, ()))
        assert_frame_equal(now.select(before.columns), before, rel_tol=CLOSE, abs_tol=CLOSE)
