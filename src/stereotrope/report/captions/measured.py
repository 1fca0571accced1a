"""The figures of what was measured in captions, in the order in which they are read."""

from __future__ import annotations

from stereotrope.report.captions.blocks import Block
from stereotrope.report.captions.composites import composites_block
from stereotrope.report.captions.deltas import deltas_block
from stereotrope.report.captions.occlusion import occlusion_block
from stereotrope.report.captions.omissions import omissions_block
from stereotrope.report.captions.parity import parity_block
from stereotrope.report.captions.shares import shares_block
from stereotrope.report.captions.wording import wording_block
from stereotrope.report.material import Material

__all__ = ["measured_blocks"]

_MADE = (
    composites_block,
    deltas_block,
    shares_block,
    parity_block,
    occlusion_block,
    omissions_block,
    wording_block,
)


def measured_blocks(material: Material) -> list[Block]:
    """Which groups captions name, what they lack and how they are worded; nothing without such measures."""
    made = (make(material) for make in _MADE)
    return [block for block in made if block is not None]
