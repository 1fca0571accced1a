"""Women's shares in occupations, beside the scenarios that name these."""

from pathlib import Path

import polars as pl

from stereotrope.design.phrases import job
from stereotrope.measure import REFERENCES

SOURCE = "U.S. Bureau of Labor Statistics, Current Population Survey, Table 11"
YEAR = 2022
"""Where the shares are from, and of when."""

_AS = " working as "


def occupation_shares() -> pl.DataFrame:
    """Return one row an occupation of CPS Table 11: what it is called here and there, and the share of women.

    Returns: ``occupation, scenario, title, reference, n, source`` and ``year``: the simplified name, the
        scenario of the suite's template, the official title, women's share in [0, 1] (null where the table
        gives none, below 50,000 employed), the employed persons, and where that is from.
    """
    read = pl.read_csv(Path(__file__).parent / "occupations.csv", glob=False)
    scenarios = [f"a person{_AS}{job(name)}" for name in read["occupation"]]
    return read.select(
        "occupation",
        pl.Series("scenario", scenarios),
        "title",
        reference=pl.col("women_percent") / 100,
        n=pl.col("employed_thousands") * 1000,
        source=pl.lit(SOURCE),
        year=pl.lit(YEAR),
    )


def shares_of(scenarios: pl.Series) -> pl.DataFrame:
    """Return :func:`occupation_shares` of scenarios, whatever subject these begin with."""
    said = pl.col("scenario").str.splitn(_AS, 2).struct.field("field_1").alias("_said")
    known = occupation_shares().with_columns(said).drop("scenario")
    asked = scenarios.alias("scenario").to_frame().unique(maintain_order=True).with_columns(said)
    return asked.join(known.drop_nulls("_said"), on="_said", maintain_order="left").drop("_said")


REFERENCES.add("cps_2022", shares_of)
