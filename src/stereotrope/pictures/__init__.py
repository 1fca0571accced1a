"""Reading pictures that nobody vouches for: accepted by their bytes alone, PNG, JPEG or WebP within limits.

Everything else is a :class:`~stereotrope.errors.PictureError` with a short, stable reason.
"""

from stereotrope.pictures.container import MAX_BYTES, sniff
from stereotrope.pictures.decoding import decode, inspect
from stereotrope.pictures.lettering import lettered, with_words
from stereotrope.pictures.plain import crop, plain
from stereotrope.pictures.room import PIXELS_AT_ONCE, share_room

__all__ = [
    "MAX_BYTES",
    "PIXELS_AT_ONCE",
    "crop",
    "decode",
    "inspect",
    "lettered",
    "plain",
    "share_room",
    "sniff",
    "with_words",
]
