"""Tables of what was read inside generators while they drew, and of clusters of what they drew."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.further_tables import Filled, TableSources, further_table
from stereotrope.probe.curves import spi_curves
from stereotrope.probe.stop import STOP
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


_GROUP = (
    Column("annotator", TEXT, "annotator that clustered them"),
    Column("encoder", TEXT, "annotator whose vectors were clustered"),
    Column("generator", TEXT, "name of the text-to-image model"),
    Column("prompt_id", TEXT, "the prompt whose pictures are taken together; null where a factor's are"),
    Column("factor", TEXT, "factor whose level's pictures are taken together; null where a prompt's are"),
    Column("level", TEXT, "that level"),
    Column("cluster", WHOLE, "from 1, the largest; null where there is none"),
)
PICTURE_CLUSTERS = (
    *_GROUP,
    Column("n", WHOLE, "pictures of the cluster"),
    Column("n_without", WHOLE, "pictures of the prompt or level without a vector, which are in no cluster"),
    Column("n_mean", WHOLE, "pictures in the mean: those with a region where regions are averaged"),
    Column("sha256", TEXT, "of the mean of its pictures, a picture; null where none can be decoded"),
    Column("path", TEXT, "of that picture, relative to the run folder"),
    Column("image_ids", TEXT, "JSON list of its images"),
    Column("undefined", TEXT, "why there is no cluster"),
)
"""Columns of ``picture_clusters``."""
CLUSTER_TEXTS = (
    *_GROUP,
    Column("rank", WHOLE, "from 1, the text nearest to the cluster; null where there is none"),
    Column("prompt", TEXT, "a start and a few tokens that a language model proposes"),
    Column("continuation", TEXT, "those tokens"),
    Column("score", NUMBER, "mean cosine of the text with the pictures of the cluster, in [-1, 1]"),
    Column("score_others", NUMBER, "the same with the pictures of the other clusters; null of a single one"),
    Column("undefined", TEXT, "why there is no text"),
)
"""Columns of ``cluster_texts``."""
_NO_TEXT = "the encoder gives no proposed text a vector"


def _clusters(sources: TableSources) -> Iterator[tuple[dict[str, Any], Any, Mapping[str, Any]]]:
    """Each group of pictures with the facts of its rows, its images, and what was found."""
    for one in sources.annotators:
        if one.stage != STOP:
            continue
        levels = {} if one.of is None else dict(sources.prompts.select("prompt_id", one.of).iter_rows())
        for subject, found in sources.kept(one):
            first = subject.images[0]
            asked = {"prompt_id": None if one.of else first["prompt_id"], "factor": one.of}
            told = {"annotator": one.name, "encoder": one.reads[0], "generator": first["generator"], **asked}
            yield {**told, "level": levels.get(first["prompt_id"])}, subject.images, found


@further_table(PICTURE_CLUSTERS, caption="Clusters of pictures that look alike to an encoder")
def picture_clusters(sources: TableSources) -> Filled | None:
    """One row a cluster; a group without one has a row with the reason. None where nothing was clustered."""
    rows = []
    for of, images, found in _clusters(sources):
        without = found["n_without"]
        if not found["clusters"]:
            rows.append({**of, "n": 0, "n_without": without, "undefined": found["undefined"]})
        for number, (one, mean) in enumerate(
            zip(found["clusters"], found.get("made", ()), strict=True), start=1
        ):
            ids = json.dumps([images[place]["image_id"] for place in one["members"]])
            counts = {"cluster": number, "n": len(one["members"]), "n_without": without}
            counts["n_mean"] = one["n_mean"]
            rows.append({**of, **counts, **(mean or {}), "image_ids": ids})
    return _filled(rows, PICTURE_CLUSTERS)


@further_table(CLUSTER_TEXTS, caption="Texts that lie nearest to clusters of pictures")
def cluster_texts(sources: TableSources) -> Filled | None:
    """One row a cluster and text, the best first; a cluster without one has a row with the reason."""
    rows: list[dict[str, Any]] = []
    for of, _, found in _clusters(sources):
        for number, one in enumerate(found["clusters"], start=1):
            at = {**of, "cluster": number}
            ranked = enumerate(one["prompts"], start=1)
            rows += [{**at, "rank": rank, **prompt} for rank, prompt in ranked] or [
                {**at, "undefined": _NO_TEXT}
            ]
    return _filled(rows, CLUSTER_TEXTS)


def _filled(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> Filled | None:
    types = polars_types(columns)
    if not rows:
        return None
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in types}, schema=types), {}
