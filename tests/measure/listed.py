"""Findings without the row that sums them up, and without what nobody checked or said of a small frame."""

from __future__ import annotations

from typing import Any

import polars as pl

from stereotrope import measure


def findings(*frames: Any, **options: Any) -> pl.DataFrame:
    found = measure.findings(*frames, **options)
    unsure = pl.col("sentence").str.contains("^(No check|The labels do not) say")
    return found.filter(~unsure, pl.col("list") != "summary")
