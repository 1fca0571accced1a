"""Reading pictures that nobody vouches for.

A picture is accepted by its bytes alone, never by its name: PNG, JPEG or WebP, within limits that are
checked from the header before a single pixel is decoded. Everything else is a
:class:`~stereotrope.errors.PictureError` with a short, stable reason. The original bytes are never
changed; :func:`decode` gives a normalised copy to measure on.
"""

from stereotrope.pictures.container import (
    MAX_BYTES,
    MAX_CHUNKS,
    MAX_PIXELS,
    MAX_PROFILE_BYTES,
    MAX_SCANS,
    MAX_SIDE,
    sniff,
)
from stereotrope.pictures.decoding import PictureInfo, decode, inspect, thumbnail
from stereotrope.pictures.plain import crop, plain
from stereotrope.pictures.room import PIXELS_AT_ONCE

__all__ = [
    "MAX_BYTES",
    "MAX_CHUNKS",
    "MAX_PIXELS",
    "MAX_PROFILE_BYTES",
    "MAX_SCANS",
    "MAX_SIDE",
    "PIXELS_AT_ONCE",
    "PictureInfo",
    "crop",
    "decode",
    "inspect",
    "plain",
    "sniff",
    "thumbnail",
]
