"""Ratios of scenarios as measures over them read these."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest


def scenario_ratios(values: list[float | None], **columns) -> pl.DataFrame:
    """Ratios of scenarios s0, s1 …, of 200 pictures each unless ``n`` says otherwise."""
    told = {"measure": "female_ratio", "definition": "everyday", "generator": "m", "attribute": "gender"}
    scenario = [f"s{i}" for i in range(len(values))]
    frame = pl.DataFrame({"scenario": scenario, "value": values}, schema_overrides={"value": pl.Float64})
    made = {"n": 200, "n_excluded": 0, "undefined": None, "category": "female", **told, **columns}
    return frame.with_columns(
        (pl.Series(name, value) if isinstance(value, list) else pl.lit(value).alias(name))
        for name, value in made.items()
    )


@pytest.fixture
def ratios() -> Callable[..., pl.DataFrame]:
    return scenario_ratios
