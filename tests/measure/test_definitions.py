"""Scores under two definitions are not set side by side."""

from __future__ import annotations

import polars as pl
import pytest

from stereotrope.errors import DefinitionError
from stereotrope.measure import require_one_definition


@pytest.mark.parametrize("definitions", [["paper", "paper"], ["paper", "share"]])
def test_measures_with_one_definition_each_are_compared(definitions) -> None:
    frame = pl.DataFrame({"measure": ["bds", "cds"], "definition": definitions})
    require_one_definition(frame)
    require_one_definition(frame.clear())


def test_two_definitions_of_a_measure_are_refused() -> None:
    frame = pl.DataFrame({"measure": ["bds", "bds", "cds"], "definition": ["paper", "released", "paper"]})
    with pytest.raises(
        DefinitionError, match="bds: scores under the definitions 'paper', 'released' cannot be"
    ):
        require_one_definition(frame)
