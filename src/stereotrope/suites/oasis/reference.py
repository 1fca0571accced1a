"""True shares of the attributes that the paper looks at, beside the concepts that are asked for."""

from pathlib import Path

import polars as pl

from stereotrope.measure import REFERENCES
from stereotrope.measure.stereotypes.true_shares import read_true_shares

FILE = Path(__file__).parent / "true_shares.yaml"


def true_shares_of(concepts: pl.Series) -> pl.DataFrame:
    """Return the true shares of these concepts, a row an attribute."""
    known = read_true_shares(FILE)
    return known.filter(pl.col("concept").is_in(concepts.implode())).rename({"concept": concepts.name})


REFERENCES.add("oasis", true_shares_of)
