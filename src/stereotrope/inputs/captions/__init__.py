"""Files of captions as they come: read once, whatever shape they have, and what is odd about them said."""

from stereotrope.inputs.captions.file import CaptionFile, read_captions

__all__ = ["CaptionFile", "read_captions"]
