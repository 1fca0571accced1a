"""The parts of the page that speak of captions, in the order in which they are read."""

from stereotrope.report.contract import Block, add_section
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material
from stereotrope.report.sections.captions.composites import composites_blocks, deltas_blocks
from stereotrope.report.sections.captions.gallery import chosen_pictures, gallery_blocks
from stereotrope.report.sections.captions.groups import groups_blocks
from stereotrope.report.sections.captions.plane import plane_blocks
from stereotrope.report.sections.captions.profile import profile_blocks
from stereotrope.report.sections.captions.terminal import captions_tables
from stereotrope.report.sections.captions.wording import elements_blocks, wording_blocks


def captions_blocks(material: Material, shown: Exhibits) -> list[Block]:
    """Everything about captions that is no figure of a single measure; nothing without captions."""
    galleries = gallery_blocks(material, shown)
    return [*galleries, *profile_blocks(material), *plane_blocks(material), *measured_blocks(material)]


def measured_blocks(material: Material) -> list[Block]:
    """Which groups captions name, what they lack and how they are worded; nothing without such measures."""
    makers = (composites_blocks, groups_blocks, elements_blocks, wording_blocks, deltas_blocks)
    return [block for make in makers for block in make(material)]


add_section(
    "captions",
    "What captions of the pictures say",
    lead="Counts of words in texts about the pictures. What a captioner leaves out, or a lexicon does not "
    "know, looks here like what is not shown.",
    place=70,
    make=captions_blocks,
    small=chosen_pictures,
    headline=lambda material: ([], captions_tables(material)),
)
