"""Clusters of pictures that look alike to an encoder: their mean, and the texts that lie nearest to them."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import polars as pl

from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import TableCell, table_by
from stereotrope.report.exhibits import Exhibits, small_copy
from stereotrope.report.material import Material, level_words
from stereotrope.report.numbers import count, number, thousands
from stereotrope.report.panels import files_of, undefined_words
from stereotrope.run import PictureStore

_CLUSTERS, _TEXTS = "picture_clusters", "cluster_texts"
"""Tables of a run: the clusters, and the texts nearest to each."""
_GROUP = ["annotator", "encoder", "generator", "prompt_id", "factor", "level"]
_MOST_GROUPS, _MOST_PICTURES = 12, 4
_SIDE, _PLACES = 192, 3
_SAYS = (
    "The pictures of a prompt, or of a level of a factor, in clusters of those that look alike to the "
    "encoder, and the mean of each cluster’s pictures, level by level: what they share stays sharp. As many "
    "clusters are made as the audit file asks for, whether the pictures fall apart in so many or not."
)
_NEAREST = (
    "Beside it the texts that a search among proposals of a language model found nearest to the cluster: a "
    "score is the mean cosine of the text with its pictures. It is the best of many tries and no test. A "
    "text that lies as near to the pictures of the other clusters says nothing of this one. The texts are "
    "associations of the encoder and the language model as much as of what drew the pictures; half words "
    "are usual. Cosines of two encoders do not compare."
)


def _groups(material: Material) -> list[pl.DataFrame]:
    if _CLUSTERS not in material.run.further:
        return []
    parts = material.run.table(_CLUSTERS).filter(pl.col("cluster").is_not_null())
    return parts.partition_by(_GROUP, maintain_order=True)


def _blocks(material: Material, shown: Exhibits) -> list[Block]:
    groups = _groups(material)
    if not groups:
        return []
    all_texts = material.run.table(_TEXTS) if _TEXTS in material.run.further else None
    told = [_group(material, shown, part, all_texts) for part in groups[:_MOST_GROUPS]]
    notes = []
    if (left := len(groups) - _MOST_GROUPS) > 0:
        notes.append(f"Not shown: {count(left, 'further group')} of pictures, in {files_of(_CLUSTERS)}.")
    rows = material.run.table(_CLUSTERS)
    if (empty := rows.filter(pl.col("cluster").is_null())).height:
        notes.append(f"Without a cluster: {undefined_words(empty.with_columns(value=None))}.")
    return [Block("text", [_SAYS, _NEAREST]), Block("averages", told), *[Block("note", notes)] * bool(notes)]


def _group(
    material: Material, shown: Exhibits, rows: pl.DataFrame, texts: pl.DataFrame | None
) -> dict[str, Any]:
    first, store = rows.row(0, named=True), PictureStore(material.run.path)
    n, without = int(rows["n"].sum()), first["n_without"]
    left = f", {thousands(without)} more without a vector" if without else ""
    parted = f"{first['annotator']}, by vectors of {first['encoder']}"
    title = f"{first['generator']}: {_title(material, first)}"
    return {
        "title": title,
        "said": f"{count(n, 'picture')} in {count(rows.height, 'cluster')}{left} ({parted})",
        "clusters": [_cluster(shown, store, row, texts, title, n) for row in rows.iter_rows(named=True)],
    }


def _title(material: Material, row: Mapping[str, Any]) -> str:
    if row["prompt_id"] is None:
        return level_words(row["factor"], row["level"])
    asked = material.prompts.filter(prompt_id=row["prompt_id"])
    return material.title(asked.row(0, named=True)) if asked.height else str(row["prompt_id"])


def _cluster(
    shown: Exhibits,
    store: PictureStore,
    row: Mapping[str, Any],
    texts: pl.DataFrame | None,
    title: str,
    n: int,
) -> dict[str, Any]:
    uri = small_copy(partial(store.get, row["path"]), _SIDE) if row["path"] else None
    heading = f"Cluster {row['cluster']}: {thousands(row['n'])} of {count(n, 'picture')}"
    found: list[dict[str, Any]] = []
    if texts is not None:
        same = [pl.col(name).eq_missing(pl.lit(row[name])) for name in (*_GROUP, "cluster")]
        found = texts.filter(*same).to_dicts()
    ranked = [one for one in found if one["rank"] is not None]
    why = "; ".join(dict.fromkeys(one["undefined"] for one in found if one["undefined"]))
    columns = {
        "text": lambda one: one["prompt"],
        "score": lambda one: _cosine(one["score"]),
        "other clusters": lambda one: _cosine(one["score_others"]),
    }
    if all(one["score_others"] is None for one in ranked):
        del columns["other clusters"]
    members = [one for one in json.loads(row["image_ids"]) if shown.thumbs.best(one)][:_MOST_PICTURES]
    return {
        "heading": heading,
        "mean": uri,
        "said": f"The mean of {thousands(row['n_mean'])} of them" if row["n_mean"] < row["n"] else "The mean",
        "alt": f"{title}: mean of the pictures of cluster {row['cluster']}",
        "pictures": [{"uri": shown.thumbs.best(one), "alt": shown.alt(one)} for one in members],
        "table": table_by(f"Texts nearest to cluster {row['cluster']}", ranked, columns) if ranked else None,
        "why": why,
    }


def _cosine(value: float | None) -> TableCell:
    return TableCell(number(value, places=_PLACES), numeric=True)


def _small(material: Material) -> list[str]:
    """The first pictures of each cluster that is shown."""
    ids = [one for part in _groups(material)[:_MOST_GROUPS] for one in part["image_ids"]]
    return [image for one in ids for image in json.loads(one)[:_MOST_PICTURES]]


add_section(
    "averages",
    "Pictures that look alike, and texts near to them",
    lead="Clusters of pictures, the mean of each, and the texts that lie nearest to it.",
    place=96,
    make=_blocks,
    small=_small,
)
