"""Carry the golden audits out and keep what they measure: ``python -m tests.golden.keep DATA``.

Run it only where numbers are meant to change, and write a ``RESULTS:`` line of the changelog for each.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from pathlib import Path

from tests.golden.audits import AUDITS, NUMBERS


def keep(data: Path) -> None:
    """Put the estimates and findings of golden runs beside the tests."""
    for name, carry_out in AUDITS.items():
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            run = carry_out(Path(folder), data)
            (NUMBERS / name).mkdir(parents=True, exist_ok=True)
            for table in ("estimates", "findings"):
                shutil.copy(run.path / f"{table}.parquet", NUMBERS / name)


if __name__ == "__main__":
    keep(Path(sys.argv[1]).resolve() / "data")
