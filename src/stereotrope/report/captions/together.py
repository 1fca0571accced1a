"""The parts of the page that speak of captions, in the order in which they are read."""

from __future__ import annotations

from stereotrope.report.captions.blocks import Block
from stereotrope.report.captions.gallery import gallery_blocks
from stereotrope.report.captions.lexicon import lexicon_blocks
from stereotrope.report.captions.measured import measured_blocks
from stereotrope.report.captions.plane import plane_blocks
from stereotrope.report.captions.profile import profile_blocks
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material

__all__ = ["captions_blocks"]


def captions_blocks(material: Material, shown: Exhibits) -> list[Block]:
    """Everything about captions that is no figure of a single measure; nothing where a run has no captions.

    Parameters
    ----------
    material
        The run.
    shown
        Its pictures with their words.
    """
    return [
        *gallery_blocks(material, shown),
        *profile_blocks(material),
        *plane_blocks(material),
        *measured_blocks(material),
        *lexicon_blocks(material, shown),
    ]
