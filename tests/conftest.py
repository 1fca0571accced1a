"""Fixtures every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def require(condition: bool, reason: str) -> None:
    """Skip with a reason, or fail where everything is required."""
    if condition:
        return
    if os.environ.get("STEREOTROPE_REQUIRE_ALL") == "1":
        pytest.fail(f"STEREOTROPE_REQUIRE_ALL=1, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real data for tests: STEREOTROPE_SHARED, or ../shared beside the checkout."""
    folder = Path(os.environ.get("STEREOTROPE_SHARED", ROOT.parent / "shared"))
    require(
        (folder / "data").is_dir(), f"the shared data folder is not at {folder.name!r} beside the checkout"
    )
    return folder
