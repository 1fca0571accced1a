"""A made-up study of objects as one label file, with planted shifts: large audits are timed on it.

``python -m bench.objects_study FOLDER`` writes 8 models × 30 objects × 20 groups and a baseline × 20
pictures, 100,800 of them, with four attributes, one of which is open; ``--objects 12`` writes 40,320 and
``--objects 3`` 10,080. Then ``stereotrope run FOLDER/audit.yaml -o FOLDER/run`` is what is timed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl

MODELS = tuple(f"model-{letter}" for letter in "abcdefgh")
DIMENSIONS = {
    name: tuple(f"{name} {i}" for i in range(1, n + 1))
    for name, n in {"age": 5, "gender": 5, "ethnicity": 5, "income": 5}.items()
}
CLOSED = {"product_colour": 8, "style": 5, "setting": 6}
"""Attribute → how many values it has."""
OPEN, WORDS = "description", 15_000
"""The open attribute, and how many values can stand in it."""
PICTURES, OBJECTS = 20, 30
UNCLEAR, SHIFTED = 0.02, 0.05
"""Shares of labels that nobody could give, and of groups in which a value is planted."""


def labels_of(objects: int = OBJECTS, *, seed: int = 0) -> pl.DataFrame:
    """One row a picture: its name, model, object and group, and a column an attribute."""
    rng = np.random.default_rng(seed)
    groups = ["base", *(group for some in DIMENSIONS.values() for group in some)]
    shape = (len(MODELS), objects, len(groups), PICTURES)
    model, thing, group, number = (axis.ravel() for axis in np.indices(shape))
    columns = {
        "file_name": [
            f"{m}/{o:02d}/{g:02d}/{i:02d}.png" for m, o, g, i in zip(model, thing, group, number, strict=True)
        ],
        "model": pl.Series(MODELS)[model.astype(np.uint32)],
        "object": pl.Series([f"object {i}" for i in range(objects)])[thing.astype(np.uint32)],
        "group": pl.Series(groups)[group.astype(np.uint32)],
    }
    for name, n in CLOSED.items():
        values = pl.Series([f"{name.rpartition('_')[2]} {i}" for i in range(n)])
        columns[name] = _seen(values, _drawn(rng, n, shape), rng)
    words = pl.Series([f"thing of kind {i}" for i in range(WORDS)])
    columns[OPEN] = _seen(
        words, np.minimum(rng.zipf(1.1, model.size) - 1, rng.integers(0, WORDS, model.size)), rng
    )
    return pl.DataFrame(columns)


def _drawn(rng: np.random.Generator, n: int, shape: tuple[int, ...]) -> np.ndarray:
    """A value a picture: objects of a model have shares of their own, some groups one value more often."""
    shares = np.repeat(rng.dirichlet(np.full(n, 0.7), shape[:2])[:, :, None], shape[2], axis=2)
    shifted = (rng.random(shape[:3]) < SHIFTED) & (np.arange(shape[2]) > 0)
    shares[shifted] = 0.3 * shares[shifted] + 0.7 * np.eye(n)[rng.integers(0, n, int(shifted.sum()))]
    drawn = (rng.random(shape)[..., None] > np.cumsum(shares, axis=3)[:, :, :, None]).sum(axis=4)
    kept: np.ndarray = np.minimum(drawn, n - 1).ravel()
    return kept


def _seen(values: pl.Series, drawn: np.ndarray, rng: np.random.Generator) -> pl.Series:
    unclear = pl.Series(rng.random(drawn.size) < UNCLEAR)
    return (
        pl.Series(["unclear"])
        .new_from_index(0, drawn.size)
        .zip_with(unclear, values[drawn.astype(np.uint32)])
    )


def audit_of(objects: int = OBJECTS) -> str:
    """The audit file: the measures of the suite."""
    dimensions = "\n".join(f"  {name}: [{', '.join(some)}]" for name, some in DIMENSIONS.items())
    things = ", ".join(f"object {i}" for i in range(objects))
    return (
        f"suite: objects\nobjects: [{things}]\ndimensions:\n{dimensions}\nimages_per_prompt: {PICTURES}\n"
        "generators:\n  - {labels: labels.csv, name_from: model, factors: [object, group]}\n"
        f"annotators:\n  - {{labels: labels.csv, name: judge, attributes: [{', '.join((*CLOSED, OPEN))}]}}\n"
        "report: {title: A large study of objects}\n"
    )


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("folder", type=Path)
    reader.add_argument("--objects", type=int, default=OBJECTS)
    asked = reader.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    labels_of(asked.objects).write_csv(asked.folder / "labels.csv")
    (asked.folder / "audit.yaml").write_text(audit_of(asked.objects), encoding="utf-8")
