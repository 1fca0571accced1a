"""Whether a run says what the kept run of the same audit says."""

from __future__ import annotations

import polars as pl
from polars.testing import assert_frame_equal
from tests.golden.audits import FORMAT_1, NUMBERS, OURS

import stereotrope as st
from stereotrope.measure.contract import scope_columns
from stereotrope.run.migration import estimates_of_format_1

CLOCKED = {"images": ["latency"]}
"""Columns that differ between two runs of one audit."""
CLOSE = 1e-9
"""Relative difference that another processor may make in the last digits."""


def assert_as_kept(run: st.Run, name: str) -> None:
    """Hold what a run measured against what is kept, and its pictures and labels against format 1."""
    for table in ("estimates", "findings"):
        kept = pl.read_parquet(NUMBERS / name / f"{table}.parquet")
        kept = estimates_of_format_1(kept) if table == "estimates" else kept
        assert_frame_equal(getattr(run, table), kept, rel_tol=CLOSE, abs_tol=CLOSE)
    for table in ("prompts", "images", "labels") if name in OURS else ():
        before = getattr(st.open(FORMAT_1 / name), table).drop(CLOCKED.get(table, ()))
        assert_frame_equal(getattr(run, table).select(before.columns), before, rel_tol=CLOSE, abs_tol=CLOSE)


def assert_same_rows(now: pl.DataFrame, before: pl.DataFrame) -> None:
    """Every estimate of ``before`` is of a thing that ``now`` tells of too, by whatever definition."""
    scope = [name for name in scope_columns(before) if name in now.columns and name != "definition"]
    without = before.join(now, on=scope, how="anti", nulls_equal=True)
    assert without.is_empty(), without.select(scope)
