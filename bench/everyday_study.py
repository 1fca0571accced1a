"""A synthetic study of the size of the published one, as label files alone, with planted ratios."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

MODELS = ("model-a", "model-b", "model-c", "model-d", "model-e")
GROUPS = {"activities": 1405, "contexts": 737, "objects": 500, "occupations": 575}
SUBJECTS = ("a person", "an individual", "someone", "a friend", "a colleague")
PICTURES = 40
"""Of a prompt; 200 of a scenario."""
PEOPLE = (0.055, 0.455, 0.245, 0.145, 0.10)
"""Shares of pictures with 0, 1 … people: 1.78 on the mean."""
UNCLEAR, MIXED, REFUSED = 0.12, 0.08, 0.004
"""Shares of people nobody can tell, of pictures of several people that show both, and of refused requests."""
GENDERS = ("female", "male", "unclear")


def parts(
    share: float, seed: int, pictures: int = PICTURES
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]]:
    """Of each model its pictures, its people, and what was planted; of a share of the scenarios."""
    rng = np.random.default_rng(seed)
    groups = {name: max(1, round(n * share)) for name, n in GROUPS.items()}
    group = np.repeat(list(groups), list(groups.values()))
    names = [f"{one} {i:04d}" for one, n in groups.items() for i in range(n)]
    base = rng.beta(0.9, 1.1, len(names))
    for model in MODELS:
        ratio = np.clip(base + rng.normal(0, 0.08, len(names)), 0.0, 1.0)
        yield _of_model(model, group, names, ratio, pictures, rng)


def _of_model(
    model: str,
    group: np.ndarray[tuple[int], np.dtype[np.str_]],
    names: list[str],
    ratio: np.ndarray[tuple[int], np.dtype[np.float64]],
    pictures: int,
    rng: np.random.Generator,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    n = len(names) * len(SUBJECTS) * pictures
    scenario = np.repeat(np.arange(len(names)), len(SUBJECTS) * pictures)
    variation = np.tile(np.repeat(np.arange(len(SUBJECTS)), pictures), len(names))
    shift = rng.normal(0, 0.05, (len(names), len(SUBJECTS)))[scenario, variation]
    refused = rng.random(n) < REFUSED
    people = np.where(refused, 0, rng.choice(len(PEOPLE), n, p=PEOPLE))
    female = rng.random(n) < np.clip(ratio[scenario] + shift, 0, 1)
    mixed = (people > 1) & (rng.random(n) < MIXED)
    # The first two people of a mixed picture are told apart for certain; of others some cannot be told.
    of = np.repeat(np.arange(n), people)
    place = np.arange(of.size) - np.repeat(np.cumsum(people) - people, people)
    own = np.where(mixed[of], (place % 2 == 0), female[of])
    unclear = (rng.random(of.size) < UNCLEAR) & ~(mixed[of] & (place < 2))
    code = np.where(unclear, 2, np.where(own, 0, 1)).astype(np.uint32)
    clear = np.bincount(of[~unclear], minlength=n) > 0
    files = pl.select(
        image=pl.format(
            "{}/{}-{}-{}.jpg",
            pl.lit(model),
            pl.Series(scenario).cast(pl.String).str.zfill(4),
            pl.Series(variation),
            pl.Series(np.arange(n) % pictures).cast(pl.String).str.zfill(2),
        )
    )["image"]
    images = pl.DataFrame(
        {
            "image": files,
            "model": pl.repeat(model, n, eager=True),
            "prompt_group": pl.Series(group)[scenario],
            "scenario": pl.Series(names)[scenario],
            "variation": pl.Series(SUBJECTS)[variation],
            "status": pl.Series(["ok", "refused"])[refused.astype(np.uint32)],
        }
    )
    corner = rng.integers(0, 512, (of.size, 4))
    boxes = pl.DataFrame(
        {
            "image": files[of],
            "box": pl.select(
                pl.format("[{}, {}, {}, {}]", *(pl.Series(corner[:, i] + 512 * (i > 1)) for i in range(4)))
            ).to_series(),
            "perceived_gender": pl.Series(GENDERS)[code],
        }
    )
    told = np.where(people == 0, "nothing found", np.where(mixed, "several values", ""))
    told = np.where((told == "") & ~clear, "nothing clear", told)
    told = np.where(told == "", np.where(female, "female", "male"), told)
    told = np.where(refused, "refused by the generator", told)
    planted = images.select("model", "scenario").with_columns(told=pl.Series(told))
    planted = planted.group_by("model", "scenario", "told", maintain_order=True).len("n")
    return images, boxes, planted


def write_study(
    folder: Path, *, share: float = 1.0, seed: int = 0, suffix: str = "parquet", pictures: int = PICTURES
) -> tuple[int, int]:
    """Write ``images``, ``people`` and ``planted`` into a folder, model by model; return both sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    writers: dict[str, pq.ParquetWriter] = {}
    sizes = {"images": 0, "people": 0}
    planted = []
    for part in parts(share, seed, pictures):
        for name, frame in zip(("images", "people"), part[:2], strict=True):
            sizes[name] += frame.height
            if suffix == "csv":
                with (folder / f"{name}.csv").open("ab") as file:
                    frame.write_csv(file, include_header=file.tell() == 0)
                continue
            table = frame.to_arrow().cast(frame.to_arrow(compat_level=pl.CompatLevel.oldest()).schema)
            if name not in writers:
                writers[name] = pq.ParquetWriter(folder / f"{name}.parquet", table.schema, compression="zstd")
            writers[name].write_table(table, row_group_size=262_144)
        planted.append(part[2])
    for writer in writers.values():
        writer.close()
    pl.concat(planted).write_parquet(folder / "planted.parquet")
    return sizes["images"], sizes["people"]


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("folder", type=Path)
    reader.add_argument("--share", type=float, default=1.0)
    reader.add_argument("--suffix", choices=("parquet", "csv"), default="parquet")
    asked = reader.parse_args()
    print(*write_study(asked.folder, share=asked.share, suffix=asked.suffix))
