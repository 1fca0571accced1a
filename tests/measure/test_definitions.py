"""Scores under two definitions are not set side by side."""

from __future__ import annotations

import polars as pl
import pytest

from stereotrope.errors import DefinitionError
from stereotrope.measure import require_one_definition


def test_one_definition_is_returned() -> None:
    frame = pl.DataFrame({"measure": ["bds", "cds"], "definition": ["paper", "paper"]})
    assert require_one_definition(frame) == "paper"
    assert require_one_definition(frame.clear()) is None


def test_measures_with_a_definition_each_have_none_in_common() -> None:
    frame = pl.DataFrame({"measure": ["bds", "share"], "definition": ["paper", "share"]})
    assert require_one_definition(frame) is None


def test_two_definitions_of_a_measure_are_refused() -> None:
    frame = pl.DataFrame({"measure": ["bds", "bds", "cds"], "definition": ["paper", "released", "paper"]})
    with pytest.raises(
        DefinitionError, match="bds: scores under the definitions 'paper', 'released' cannot be"
    ):
        require_one_definition(frame)
