"""Runs whose figures nobody reads: drawing them takes most of the time of a small report."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.fixture
def undrawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No figure is drawn, but for tests that ask for ``drawn``."""
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr(import_module("stereotrope.report.write"), "write_figures", lambda *_, **__: None)


@pytest.fixture
def drawn() -> None:
    """Figures are drawn, in a file of tests that draw none."""
