"""WALS of a file of vectors in one pass: CPU seconds, memory, and agreement with plain SVD.

``python -m bench.spectrum 1000000`` takes a million (3 GB of disk for the file). Threads of linear algebra
wait for one another in a loop, which counts as CPU time: ``OPENBLAS_NUM_THREADS=1``.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bench.rows import Found, Row, table
from stereotrope.stats import GramSums, alignment_interval, alignment_of_vectors, weighted_alignment

ATTRIBUTES, BLOCKS = 50, 10
PART = 16_384
"""Vectors that are written, and read, together."""
SECONDS, BYTES = 30.0, 1e9
"""What a million vectors of 768 numbers may take: CPU seconds without intervals, and memory."""
CLOSE = 1e-5
Vectors = NDArray[np.float32]


def write(path: Path, n: int, d: int) -> None:
    """A table of unit vectors in a cone, as a run stores them."""
    rng = np.random.default_rng(0)
    sizes = (np.arange(1, d + 1.0) ** -0.5).astype(np.float32)
    schema = pa.schema([("vector", pa.list_(pa.float32()))])
    with pq.ParquetWriter(path, schema, compression="none") as file:
        for start in range(0, n, PART):
            x = rng.standard_normal((min(PART, n - start), d), np.float32) * sizes
            x[:, 0] += 2
            x /= np.linalg.norm(x, axis=1, keepdims=True)
            ends = np.arange(0, x.size + 1, d, dtype=np.int32)
            column = pa.ListArray.from_arrays(ends, x.ravel())
            file.write_batch(pa.record_batch([column], schema=schema))


def read(path: Path, d: int) -> Iterator[Vectors]:
    """Its vectors, part by part."""
    with pq.ParquetFile(path, pre_buffer=False) as file:  # else it keeps what it has read
        for batch in file.iter_batches(PART, columns=["vector"]):
            yield batch.column(0).flatten().to_numpy(zero_copy_only=True).reshape(-1, d)


def peak() -> int:
    """Most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def bench(n: int = 50_000, d: int = 768) -> Found:
    """WALS of both definitions, with intervals by the jackknife; the limit is the pass over the file."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "vectors.parquet")
        write(path, n, d)
        directions = np.random.default_rng(1).normal(size=(d, ATTRIBUTES))
        before, start = peak(), time.process_time()
        sums, seen = GramSums.empty(d, BLOCKS), 0
        for x in read(path, d):
            sums.add(x, (seen + np.arange(len(x))) % BLOCKS)
            seen += len(x)
        read_in = time.process_time() - start
        found = {c: weighted_alignment(sums.gram(centre=c), directions) for c in (False, True)}
        scored = time.process_time() - start
        for centre, values in found.items():
            left = [
                weighted_alignment(sums.gram(centre=centre, without=b), directions) for b in range(BLOCKS)
            ]
            alignment_interval(values, left)
        whole, memory = time.process_time() - start, peak() - before
        slice_ = np.vstack([x for x, _ in zip(read(path, d), range(1), strict=False)])
    few = GramSums.empty(d)
    few.add(slice_)
    away = max(
        float(
            np.abs(
                weighted_alignment(few.gram(centre=c), directions)
                - alignment_of_vectors(slice_, directions, centre=c)
            ).max()
        )
        for c in (False, True)
    )
    names = (f"WALS of vectors of {d} numbers, {ATTRIBUTES} directions", "the same with intervals")
    times = zip(names, (scored, whole), strict=True)
    rows = [Row(name, seconds, None, read_in, seen, mb=memory / 1e6) for name, seconds in times]
    wrong = []
    if scored > SECONDS * n / 1e6 + 2.0 or memory > BYTES:
        wrong.append(f"TOO SLOW  {names[0]}: at most {SECONDS:g} s a million and {BYTES / 1e9:g} GB")
    if away > CLOSE:
        wrong.append(f"DISAGREES  {names[0]}: scores from sums and from vectors differ by {away:.1e}")
    return rows, wrong


if __name__ == "__main__":
    print(*table((found := bench(*map(int, sys.argv[1:])))[0]), *found[1], sep="\n")
    sys.exit(bool(found[1]))
