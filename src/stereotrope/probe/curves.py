"""SPI over the steps of a model: mean and spread over seeds."""

import polars as pl

from stereotrope.probe.settings import SPI


def spi_curves(probes: pl.DataFrame, by: tuple[str, ...] = ("generator", "prompt_id")) -> pl.DataFrame:
    """Return mean and standard deviation of SPI over pictures, step by step.

    probes: The table ``probes`` of a run, with the columns in ``by``.
    by: Whose pictures are taken together.

    Returns: A row each of ``by``, attribute, prediction and step: ``mean``, ``sd`` (of the sample, null for
    one picture), ``n`` pictures with a value and ``n_undefined`` without one. The mean is null where n is 0.

    >>> rows = [("m", "p", "spi", "hat", "conditional", 0, value) for value in (0.1, 0.3, None)]
    >>> names = ["generator", "prompt_id", "probe", "attribute", "prediction", "step", "value"]
    >>> found = spi_curves(pl.DataFrame(rows, schema=names, orient="row"))
    >>> found.select(pl.col("mean").round(6), pl.col("sd").round(6), "n", "n_undefined").row(0)
    (0.2, 0.141421, 2, 1)
    """
    keys = [*by, "attribute", "prediction", "step"]
    value = pl.col("value")
    return (
        probes.filter(probe=SPI)
        .group_by(keys, maintain_order=True)
        .agg(mean=value.mean(), sd=value.std(), n=value.count(), n_undefined=value.null_count())
    )
