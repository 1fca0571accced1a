"""Women's shares in occupations, beside the scenarios that name these."""

from pathlib import Path

import polars as pl

from stereotrope.design.phrases import job

SOURCE = "U.S. Bureau of Labor Statistics, Current Population Survey, Table 11 (2022)"
"""Where the shares are from."""


def occupation_shares() -> pl.DataFrame:
    """Return one row an occupation of CPS Table 11: what it is called here and there, and the share of women.

    Returns: ``occupation, scenario, title, reference`` and ``n``: the simplified name, the scenario of the
        suite's template, the official title, women's share in [0, 1] (null where the table gives none, below
        50,000 employed), and the employed persons.
    """
    read = pl.read_csv(Path(__file__).parent / "occupations.csv")
    scenarios = [f"a person working as {job(name)}" for name in read["occupation"]]
    return read.select(
        "occupation",
        pl.Series("scenario", scenarios),
        "title",
        reference=pl.col("women_percent") / 100,
        n=pl.col("employed_thousands") * 1000,
    )
