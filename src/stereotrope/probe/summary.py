"""The tables ``probes`` and ``probe_curves``: what was read inside generators while they drew."""

from typing import Any

import polars as pl

from stereotrope.further_tables import Filled, TableSources, further_table
from stereotrope.probe.curves import spi_curves
from stereotrope.tables import NUMBER, TEXT, WHOLE, Column, polars_types

PROBES = (
    Column("probe", TEXT, "spi | predisposition"),
    Column("image_id", TEXT, "the image that was drawn"),
    Column("prompt_id", TEXT, "the prompt it was asked for with"),
    Column("generator", TEXT, "name of the text-to-image model"),
    Column("seed", WHOLE, "seed of the image"),
    Column("attribute", TEXT, "candidate whose sentences are d⁺ and d⁻; null of a preview"),
    Column("step", WHOLE, "from 0, where the image is noise"),
    Column("timestep", NUMBER, "as the scheduler counts: of flow models 1000 σ, of others the training step"),
    Column("quantity", TEXT, "what the model predicts: velocity (flow models) | noise | v"),
    Column("prediction", TEXT, "conditional (of the prompt alone) | guided; null of a preview"),
    Column("value", NUMBER, "SPI in [-1, 1]: cosine of the prediction and its shift from d⁻ to d⁺"),
    Column(
        "ratio", NUMBER, "length of the shift beside that of the prediction: small ones drown in rounding"
    ),
    Column("undefined", TEXT, "why there is no value or preview"),
    Column("sha256", TEXT, "of a preview: the picture that the model expects at this step, decoded"),
    Column("path", TEXT, "of a preview, relative to the run folder"),
    Column("same_picture", TEXT, "yes | no: whether the picture drawn here is the one in images"),
)
"""Columns of ``probes``."""
PROBE_CURVES = (
    Column("generator", TEXT, "name of the text-to-image model"),
    Column("prompt_id", TEXT, "the prompt whose pictures are taken together"),
    Column("attribute", TEXT, "candidate whose sentences are d⁺ and d⁻"),
    Column("quantity", TEXT, "what the model predicts: velocity (flow models) | noise | v"),
    Column("prediction", TEXT, "conditional (of the prompt alone) | guided"),
    Column("step", WHOLE, "from 0, where the image is noise"),
    Column("mean", NUMBER, "SPI, mean over the pictures; null where none has a value"),
    Column("sd", NUMBER, "its standard deviation over the pictures; null for one picture"),
    Column("n", WHOLE, "pictures with a value"),
    Column("n_undefined", WHOLE, "pictures that were read and have none"),
    Column("undefined", TEXT, "JSON object: why they have none → pictures"),
    Column("ratio", NUMBER, "mean length of the shift beside that of the prediction"),
)
"""Columns of ``probe_curves``."""


@further_table(PROBES, caption="What was read inside the models")
def probes(sources: TableSources) -> Filled | None:
    """One row a thing read at a step of an image, images in their order; None where nothing was read."""
    types = polars_types(PROBES)
    given = {name: kind for name, kind in types.items() if name not in ("prompt_id", "generator", "seed")}
    if not sources.readings:
        return None
    rows = pl.DataFrame([{name: row.get(name) for name in given} for row in sources.readings], schema=given)
    images = sources.images.select("image_id", "prompt_id", "generator", "seed", "sha256")
    drawn = images.rename({"sha256": "drawn"}).with_row_index("at")
    told = rows.join(drawn, on="image_id", how="inner", maintain_order="left").sort("at", maintain_order=True)
    return (told.select(*types), {}) if told.height else None


@further_table(PROBE_CURVES, caption="SPI over the steps, mean and spread over seeds")
def probe_curves(sources: TableSources) -> Filled | None:
    """One row a prompt of a model, attribute, prediction and step; None where no SPI was read."""
    if (read := probes(sources)) is None:
        return None
    types: Any = polars_types(PROBE_CURVES)
    rows = spi_curves(read[0]).select(*types).cast(types)
    return (rows, {}) if rows.height else None
