"""What a study of label files costs by its size: to every table and to the report, beside a bare group-by.

``make bench`` takes 1/20, 1/10 and 1/5 of the published size, ``python -m bench.study 0.5 1`` half of it
and the whole: 5 models × 3,217 scenarios × 200 pictures, 5.7 million boxes. Every run is a process
of its own with two threads. CPU seconds are user and system together; the memory is the most that the process
held. It fails where what was planted is not recovered, or where a run costs more than 60 CPU seconds to its
tables (30 s on two cores) or 2 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from bench.everyday_study import write_study
from bench.rows import Found, Row, by_name, table

SHARES = (0.05, 0.1, 0.2)
MOST_SECONDS, MOST_MB = 60.0, 2_000.0
AUDIT = """\
suite: everyday
prompts: listed
counted: true
generators:
  - {labels: images.parquet, name_from: model, factors: [prompt_group, scenario, variation], status: status}
annotators:
  - {boxes: people.parquet, name: detector}
  - {labels: people.parquet, regions: person, attributes: [perceived_gender], name: judge}
  - {consensus: judge, regions: detector, attributes: [perceived_gender], name: shown}
"""


def spent() -> float:
    """CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def most_held() -> float:
    """The most memory that this process held, in MB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3


def bare(folder: Path) -> dict[str, float]:
    """Who is in each picture, and how many pictures of each cell show whom: nothing else."""
    gender = pl.col("perceived_gender")
    people = pl.scan_parquet(folder / "people.parquet").group_by("image")
    shown = people.agg(f=(gender == "female").any(), m=(gender == "male").any())
    cells = ["model", "prompt_group", "scenario", "variation", "status"]
    images = pl.scan_parquet(folder / "images.parquet").join(shown, on="image", how="left")
    images.group_by(cells).agg(
        f=(pl.col("f") & ~pl.col("m")).sum(), m=(pl.col("m") & ~pl.col("f")).sum(), n=pl.len()
    ).collect(engine="streaming")
    return {"bare": spent(), "bare_mb": most_held()}


class Stages:
    """Notes when the tables are written."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.tables: dict[str, float] = {}

    def stage(self, name: str, *_: object, **__: object) -> None:
        if name == "report":
            self.tables = {"tables": spent(), "tables_wall": time.perf_counter() - self.start}

    def advance(self, *_: object, **__: object) -> None:
        pass

    say = doing = advance


def whole(folder: Path) -> dict[str, float]:
    """The audit of the label files, as ``stereotrope run`` carries it out."""
    watcher = Stages()
    import stereotrope as st  # noqa: PLC0415

    run = st.Audit.from_text(AUDIT, base=folder).run(folder / "run", watcher=watcher)
    told = {**watcher.tables, "whole": spent(), "wall": time.perf_counter() - watcher.start}
    return {**told, "mb": most_held(), "lost": float(not_recovered(folder, run.estimates))}


def not_recovered(folder: Path, estimates: pl.DataFrame) -> int:
    """Of how many models and scenarios the counts are not those that were planted."""
    n, told = pl.col("n"), pl.col("told")
    planted = pl.read_parquet(folder / "planted.parquet").group_by("model", "scenario")
    counts = planted.agg(
        female=n.filter(told == "female").sum(),
        usable=n.filter(told.is_in(["female", "male"])).sum(),
        left_out=n.filter(~told.is_in(["female", "male"])).sum(),
    )
    rows = estimates.filter(pl.col("variation").is_null(), measure="female_ratio")
    found = counts.join(rows, left_on=["model", "scenario"], right_on=["generator", "scenario"], how="left")
    pairs = (("female", "numerator"), ("usable", "n"), ("left_out", "n_excluded"))
    wrong = [pl.col(one).cast(pl.Int64).ne_missing(pl.col(other)) for one, other in pairs]
    return found.filter(pl.any_horizontal(wrong)).height + abs(counts.height - rows.height)


def measured(what: str, folder: Path) -> dict[str, float]:
    """What one process says of itself."""
    command = [sys.executable, "-m", "bench.study", "--only", what, str(folder)]
    environment = {**os.environ, "POLARS_MAX_THREADS": "2"}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def bench(shares: Sequence[float] = SHARES) -> Found:
    """Studies of some sizes, to every table and to the report, beside the bare group-by."""
    rows, wrong = [], []
    for share in shares:
        with TemporaryDirectory() as made:
            folder = Path(made)
            images, _ = write_study(folder, share=share)
            one = {**measured("bare", folder), **measured("whole", folder)}
        for name, what in (("to every table", "tables"), ("and its report", "whole")):
            seconds, bare_ = one[what], one["bare"]
            rows.append(Row(f"a study of label files, {name}", seconds, None, bare_, images, mb=one["mb"]))
        if one["lost"]:
            wrong.append(f"WRONG  {share:g}: {one['lost']:.0f} ratios are not those that were planted")
        if one["tables"] > MOST_SECONDS or one["mb"] > MOST_MB:
            wrong.append(f"TOO MUCH  {share:g}: at most {MOST_SECONDS:g} CPU s and {MOST_MB:,g} MB")
    return by_name(rows), wrong


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("shares", type=float, nargs="*", help="of the published size", default=list(SHARES))
    reader.add_argument("--only", nargs=2, metavar=("WHAT", "FOLDER"), help=argparse.SUPPRESS)
    asked = reader.parse_args()
    if asked.only:
        what, where = asked.only
        print(json.dumps({"bare": bare, "whole": whole}[what](Path(where))))
    else:
        found = bench(asked.shares)
        print(*table(found[0]), *found[1], sep="\n")
        sys.exit(bool(found[1]))
