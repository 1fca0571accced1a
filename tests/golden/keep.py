"""Carry the golden audits out and keep what their runs say: ``python -m tests.golden.keep DATA``.

Run it only where numbers are meant to change, and write a ``RESULTS:`` line of the changelog for each.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from pathlib import Path

from tests.golden.audits import AUDITS, KEPT, OURS, TABLES, WHOLE

import stereotrope as st

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


def keep_whole() -> None:
    """Put a small run as it is, its ledger and pictures too and its report not, beside the tests."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        run = st.Audit.from_text(WHOLE).run("run")
        shutil.rmtree(KEPT / "whole", ignore_errors=True)
        shutil.copytree(run.path, KEPT / "whole", ignore=shutil.ignore_patterns("report", "*lock*"))


if __name__ == "__main__":
    keep(Path(sys.argv[1]).resolve() / "data")
    keep_whole()
