"""SPI over the steps of a model: mean and spread over seeds."""

import json
from collections import Counter

import polars as pl

from stereotrope.probe.settings import SPI


def spi_curves(probes: pl.DataFrame, by: tuple[str, ...] = ("generator", "prompt_id")) -> pl.DataFrame:
    """Return mean and standard deviation of SPI over pictures, step by step.

    probes: The table ``probes`` of a run, with the columns in ``by``.
    by: Whose pictures are taken together.

    Returns: A row each of ``by``, attribute, quantity, prediction and step: ``mean``, ``sd`` (of the sample,
        null for one picture), ``n`` pictures with a value and ``n_undefined`` without one, ``undefined`` (a
        JSON object, reason → pictures) and the mean ``ratio`` of shift and prediction. The mean is null
        where n is 0.

    >>> rows = [("spi", "m", "p", "hat", "noise", "guided", 0, value, 0.2, None) for value in (0.1, 0.3)]
    >>> rows.append((*rows[0][:7], None, None, "the prediction is 0"))
    >>> names = "probe generator prompt_id attribute quantity prediction step value ratio undefined".split()
    >>> found = spi_curves(pl.DataFrame(rows, schema=names, orient="row"))
    >>> found.select(pl.col("mean").round(6), pl.col("sd").round(6), "n", "n_undefined", "undefined").row(0)
    (0.2, 0.141421, 2, 1, '{"the prediction is 0": 1}')
    """
    keys = [*by, "attribute", "quantity", "prediction", "step"]
    value = pl.col("value")
    rows = (
        probes.filter(probe=SPI)
        .group_by(keys, maintain_order=True)
        .agg(
            mean=value.mean(),
            sd=value.std(),
            n=value.count(),
            n_undefined=value.null_count(),
            undefined=pl.col("undefined").cast(pl.String).drop_nulls(),
            ratio=pl.col("ratio").mean(),
        )
    )
    reasons = [json.dumps(Counter(sorted(why)), ensure_ascii=False) for why in rows["undefined"]]
    return rows.with_columns(undefined=pl.Series(reasons, dtype=pl.String))
