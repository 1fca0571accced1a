"""The paper's rubrics, one a family of queries, under the names of the families."""

from pathlib import Path

from stereotrope.inputs.rubric import RUBRICS

FAMILIES = ("geocultural", "occupational", "adjectival")

for _family in FAMILIES:
    RUBRICS.add(_family, Path(__file__).parent / f"{_family}.yaml")
