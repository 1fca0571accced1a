"""Reports of made-up audits of 400 conditions: fresh, again, and after one estimate changed.

CPU seconds of this process and of those that draw for it, which
:func:`time.process_time` leaves out; the limit of a report made again is its page alone: what is left when
every thumbnail is kept and no figure is wanted as a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from tests.report.made_up_large import make_large

from bench.rows import Found, Row, by_name
from stereotrope import report

CONDITIONS, ROUNDS = 400, 3
SIZES = (800, 8_000)


def seconds(work: Callable[[], Any]) -> float:
    """CPU seconds of a call, those of processes that it waited for included."""
    before = os.times()
    work()
    after = os.times()
    return sum(after[:4]) - sum(before[:4])


def report_rows(n: int) -> Iterator[Row]:
    """Rows of one size: the first report of a run, the same again, one after a change."""
    with TemporaryDirectory() as folder:
        run = make_large(Path(folder), n=n // CONDITIONS)
        yield Row("report: page, tables, figures", seconds(lambda: report.write(run)), None, None, n)
        again = min(seconds(lambda: report.write(run)) for _ in range(ROUNDS))
        out = Path(folder) / "page"
        report.write(run, out=out, figures=False)
        limit = min(seconds(lambda: report.write(run, out=out, figures=False)) for _ in range(ROUNDS))
        yield Row("the same again, nothing changed", again, None, limit, n)
        shift = pl.when(pl.col("measure") == "bds").then(0.9 * pl.col("value")).otherwise("value")
        changed = replace(run, estimates=run.estimates.with_columns(value=shift))
        yield Row(
            "the same after one measure changed", seconds(lambda: report.write(changed)), None, limit, n
        )


def bench() -> Found:
    """Reports of each size."""
    return by_name(row for n in SIZES for row in report_rows(n)), []
