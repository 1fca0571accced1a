"""What a run over many small pictures with imported labels costs by its size, from pictures to report.

``python -m bench.million`` takes 10,000 and 100,000 pictures; give other sizes as numbers. Pictures are PNGs
of 8 by 8 pixels, of 40 conditions by two models; a Parquet file has two labels of each, and what they show is
planted. Every run is a process of its own with two threads. CPU seconds are user and system together, memory
the most that the process held in a stage. It fails where a share is not what was planted, where a run holds
more than 2 GB, or where an item of the ledger takes 400 bytes or more.

``--again`` measures the finished run once more, ``--looks`` lets an annotator look at every picture.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from bench.rows import Found, Row
from bench.study import most_held, spent
from stereotrope.cli.app import GIVES_BACK

SIZES = (10_000, 100_000)
MOST_MB, MOST_BYTES = 2_000.0, 400.0
MODELS = ("model-a", "model-b")
OCCUPATIONS = tuple(f"occupation {i}" for i in range(10))
CONDITIONS = ("base", "rich", "poor", "old")
AGES = ("young", "middle-aged", "old", "unclear")
DISTINCT = 5_000
"""Pictures that are different; the others are further names of these."""
AUDIT = """\
generators:
  - {folder: pictures, metadata: metadata.csv, name_from: model, factors: [occupation, condition]}
annotators:
  - {labels: labels.parquet, name: people, attributes: [gender, age]}
baseline: {condition: base}
measures:
  - {share: gender}
  - {share: age}
  - {share_difference: gender, group: condition}
  - {share_difference: age, group: condition}
  - deterministic_share
report: {figures: false}
"""


def picture(number: int) -> bytes:
    """A PNG of 8 × 8 grey pixels; a number has one picture."""
    rows = b"".join(
        b"\0" + struct.pack(">Q", (number * 0x9E3779B97F4A7C15 + row) % 2**64) for row in range(8)
    )
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows, 1)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def write_run(folder: Path, n: int, *, seed: int = 0, distinct: int = DISTINCT) -> None:
    """Write ``pictures/``, their metadata, ``labels.parquet`` and ``audit.yaml``."""
    rng = np.random.default_rng(seed)
    number = np.arange(n)
    cells = len(MODELS) * len(OCCUPATIONS) * len(CONDITIONS)
    cell = number % cells
    condition, occupation, model = cell % 4, cell // 4 % 10, cell // 40
    share = np.clip(0.1 + 0.08 * occupation + 0.1 * (condition == 2) - 0.05 * model, 0, 1)
    female, age = rng.random(n) < share, rng.integers(0, len(AGES), n)
    names = [f"{i // 1000:05d}/{i:08d}.png" for i in range(n)]
    metadata = pl.DataFrame(
        {
            "file_name": names,
            "model": pl.Series(MODELS)[model],
            "occupation": pl.Series(OCCUPATIONS)[occupation],
            "condition": pl.Series(CONDITIONS)[condition],
        }
    )
    root = folder / "pictures"
    root.mkdir(parents=True)
    for i, name in enumerate(names):
        file = root / name
        if not i % 1000:
            file.parent.mkdir()
        if i < distinct:
            file.write_bytes(picture(i))
        else:
            os.link(root / names[i % distinct], file)
    metadata.write_csv(root / "metadata.csv")
    genders = pl.Series(["male", "Female"])[female.astype(np.uint32)]
    labels = metadata.select("file_name").with_columns(
        gender=genders, age=pl.Series(AGES)[age.astype(np.uint32)]
    )
    labels[rng.permutation(n)].write_parquet(folder / "labels.parquet")
    planted = metadata.with_columns(female=pl.Series(female))
    planted.group_by("model", "occupation", "condition").agg(
        pl.col("female").sum(), n=pl.len()
    ).write_parquet(folder / "planted.parquet")
    (folder / "audit.yaml").write_text(AUDIT, encoding="utf-8")


class Stages:
    """Notes CPU seconds and the most memory of each stage of a run."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[float, float]] = {}
        self._name, self._since = "plan", spent()
        _forget_most_held()

    def _enter(self, name: str) -> None:
        before = self.found.get(self._name, (0.0, 0.0))
        self.found[self._name] = (before[0] + spent() - self._since, max(before[1], most_held()))
        self._name, self._since = name, spent()
        _forget_most_held()

    def stage(self, name: str, total: int = 0, *_: object, **__: object) -> None:
        self._enter({"report": "write+report"}.get(name, name))
        if not total:
            self.advance(name, 0)

    def advance(self, name: str, done: int, *_: object, **__: object) -> None:
        if name == "generate" and done == self.n:
            self._enter("tables")

    def say(self, *_: object) -> None:
        pass

    doing = say

    n = -1

    def end(self) -> dict[str, tuple[float, float]]:
        self._enter("end")
        return self.found


def _forget_most_held() -> None:
    """Let the system count the most memory anew."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def whole(folder: Path, what: str) -> dict[str, Any]:
    """The run or its measuring again, as the command line carries it out."""
    import stereotrope as st  # noqa: PLC0415

    stages, begun = Stages(), time.perf_counter()
    stages.n = pl.scan_csv(folder / "pictures" / "metadata.csv").select(pl.len()).collect().item()
    text = (folder / "audit.yaml").read_text(encoding="utf-8")
    if what == "run":
        run = st.Audit.from_text(text, base=folder).run(folder / "run", watcher=stages)
    else:
        run = st.Audit.from_run(folder / "run").measure(folder / "run", watcher=stages)
    ledger = sum(file.stat().st_size for file in (folder / "run").glob("ledger.db*"))
    found = stages.end()
    return {
        "stages": found,
        "cpu": spent(),
        "wall": time.perf_counter() - begun,
        "mb": max(most for _, most in found.values()),
        "bytes": ledger / stages.n,
        "lost": not_recovered(folder, run.estimates),
    }


def not_recovered(folder: Path, estimates: pl.DataFrame) -> int:
    """Of how many conditions the count is not what was planted."""
    planted = pl.read_parquet(folder / "planted.parquet").rename({"model": "generator"})
    rows = estimates.filter(measure="share", attribute="gender", category="female")
    on = ["generator", "occupation", "condition"]
    both = planted.join(rows.select(*on, "numerator", got="n"), on=on, how="left")
    wrong = pl.col("female").cast(pl.Int64).ne_missing(pl.col("numerator")) | (pl.col("n") != pl.col("got"))
    return both.filter(wrong.fill_null(True)).height


def measured(what: str, folder: Path) -> dict[str, Any]:
    """What one process says of itself."""
    command = [sys.executable, "-m", "bench.million", "--only", what, str(folder)]
    environment = dict([GIVES_BACK]) | os.environ | {"POLARS_MAX_THREADS": "2"}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def told(n: int, what: str, one: dict[str, Any]) -> list[str]:
    """Print a row, and say what is wrong with it."""
    stages = "  ".join(f"{name} {cpu:.1f}/{mb:,.0f}" for name, (cpu, mb) in one["stages"].items())
    print(
        f"{n:10,} {what:6}{one['cpu']:9.1f}{one['wall']:9.1f}{one['mb']:8,.0f}{one['bytes']:8.0f}   {stages}",
        flush=True,
    )
    return wrong_of(n, one)


def wrong_of(n: int, one: dict[str, Any]) -> list[str]:
    """What is not as it should be."""
    wrong = [f"WRONG  {n:,}: {one['lost']} counts are not what was planted"] if one["lost"] else []
    if one["mb"] > MOST_MB or one["bytes"] >= MOST_BYTES:
        wrong.append(f"TOO MUCH  {n:,}: at most {MOST_MB:,g} MB, and less than {MOST_BYTES:g} bytes an item")
    return wrong


def bench() -> Found:
    """Runs of the usual sizes, picture by picture."""
    rows, wrong = [], []
    for n in SIZES:
        with TemporaryDirectory() as made:
            write_run(Path(made), n)
            one = measured("run", Path(made))
        rows.append(Row("a run picture by picture, to its report", one["cpu"], None, None, n, mb=one["mb"]))
        wrong += wrong_of(n, one)
    return rows, wrong


def main(sizes: list[int], again: bool, distinct: int, looks: bool) -> int:
    print("pictures   what      CPU s   wall s      MB  bytes an item   CPU s/MB by stage")
    wrong = []
    for n in sizes:
        with TemporaryDirectory() as made:
            folder = Path(made)
            write_run(folder, n, distinct=distinct)
            if looks:
                text = AUDIT.replace("annotators:\n", "annotators:\n  - blank\n")
                (folder / "audit.yaml").write_text(text, encoding="utf-8")
            for what in ("run", *["again"] * again):
                wrong += told(n, what, measured(what, folder))
    print("\n".join(wrong) or "every share is what was planted")
    return 1 if wrong else 0


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("sizes", type=int, nargs="*", default=list(SIZES))
    reader.add_argument("--again", action="store_true")
    reader.add_argument("--looks", action="store_true")
    reader.add_argument("--distinct", type=int, default=DISTINCT)
    reader.add_argument("--only", nargs=2, metavar=("WHAT", "FOLDER"), help=argparse.SUPPRESS)
    asked = reader.parse_args()
    if asked.only:
        print(json.dumps(whole(Path(asked.only[1]), asked.only[0])))
    else:
        sys.exit(main(asked.sizes, asked.again, asked.distinct, asked.looks))
