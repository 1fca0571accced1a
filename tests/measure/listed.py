"""Findings without the row that sums them up, and without what says that nobody checked an instrument."""

from __future__ import annotations

from typing import Any

import polars as pl

from stereotrope import measure


def findings(*frames: Any, **options: Any) -> pl.DataFrame:
    found = measure.findings(*frames, **options)
    unchecked = pl.col("sentence").str.starts_with("No check says")
    return found.filter(~unchecked, pl.col("list") != "summary")
