"""Runs whose figures nobody reads: drawing them takes most of the time of a small report."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """No figure is drawn."""
    for name in ("write_specs", "write_figures"):
        monkeypatch.setattr(import_module("stereotrope.report.write"), name, lambda *_, **__: None)


@pytest.fixture
def drawn(undrawn: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are drawn, in a file of tests that draw none."""
    monkeypatch.undo()
