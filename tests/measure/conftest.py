"""Tidy frames for tests of measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl
import pytest

Counts = Mapping[tuple[str | None, ...], Mapping[str | None, int]]
MakeLabels = Callable[..., pl.DataFrame]

SCOPE = ("generator", "object", "group")


@pytest.fixture
def make_labels() -> MakeLabels:
    """Labels from counts: ``{(generator, object, group): {value: images}}``, of one attribute."""

    def make(
        counts: Counts, attribute: str = "product_colour", factors: Sequence[str] = SCOPE
    ) -> pl.DataFrame:
        rows = [
            {"value": value, "attribute": attribute, **dict(zip(factors, levels, strict=True))}
            for levels, seen in counts.items()
            for value, n in seen.items()
            for _ in range(n)
        ]
        schema = {"value": pl.String, "attribute": pl.String, **dict.fromkeys(factors, pl.String)}
        return (
            pl.DataFrame(rows, schema=schema)
            .with_row_index("image_id")
            .with_columns(pl.format("i{}", "image_id").alias("image_id"))
        )

    return make
