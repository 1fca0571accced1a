"""What captions of pictures say: scores beside the pictures, models side by side, words and what they hit."""

from stereotrope.report.contract import Block
from stereotrope.report.sections.captions.gallery import chosen_pictures
from stereotrope.report.sections.captions.parts import captions_blocks

__all__ = ["Block", "captions_blocks", "chosen_pictures"]
