"""Carry the golden audits out and keep what their runs say: ``python -m tests.golden.keep DATA``.

Run it only where numbers are meant to change, and write a ``RESULTS:`` line of the changelog for each.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from pathlib import Path

from tests.golden.audits import AUDITS, KEPT, OURS, TABLES

FILES = ("run.json", "audit.yaml", *(f"{name}.parquet" for name in TABLES))


def keep(data: Path) -> None:
    """Put the tables of golden runs, without pictures, beside the tests."""
    for name, carry_out in AUDITS.items():
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            run = carry_out(Path(folder), data)
            into = KEPT / name
            shutil.rmtree(into, ignore_errors=True)
            into.mkdir(parents=True)
            for file in FILES if name in OURS else ["estimates.parquet"]:
                shutil.copy(run.path / file, into)


if __name__ == "__main__":
    keep(Path(sys.argv[1]).resolve() / "data")
