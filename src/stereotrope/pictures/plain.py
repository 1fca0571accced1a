"""A picture as a file that holds nothing but the picture, to hand on to others."""

import io
import json
import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from stereotrope.errors import PictureError
from stereotrope.pictures import container
from stereotrope.pictures.container import Container
from stereotrope.pictures.decoding import decode, stored_mode


def plain(data: bytes, *, max_side: int) -> bytes:
    """Return bytes that show the picture everywhere as it is measured, and say nothing else.

    The original bytes where they already do: one upright frame of 8 bits, grey or RGB, without alpha and
    colour profile, its longer side at most ``max_side`` pixels, and no text or EXIF beside them (a prompt is
    often written there). A PNG or JPEG with such matter loses it. Everything else becomes a PNG of the
    normalised copy of :func:`decode`.
    """
    found = container.read(data)
    if max(found.stored) <= max_side and _shows_alike(found) and stored_mode(found) in ("RGB", "L"):
        return data if _bare(data, found) else found.needed
    return _png(decode(data, max_side=max_side))


def crop(data: bytes, box: str) -> bytes:
    """Return a region of a picture as a PNG; ``box`` is JSON ``[x0, y0, x1, y1]`` in upright pixels.

    What of the box lies outside is cut off.

    Raises PictureError: As :func:`decode`; or nothing of the region lies in the picture.
    """
    pixels = decode(data)
    height, width = pixels.shape[:2]
    x0, y0, x1, y1 = json.loads(box)
    left, top = max(0, math.floor(x0)), max(0, math.floor(y0))
    right, bottom = min(width, math.ceil(x1)), min(height, math.ceil(y1))
    if left >= right or top >= bottom:
        raise PictureError("region outside the picture")
    return _png(pixels[top:bottom, left:right])


def _png(pixels: NDArray[np.uint8]) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG", compress_level=4)
    return out.getvalue()


def _shows_alike(found: Container) -> bool:
    """Whether every decoder shows it as ours does, judged by the file around the pixels."""
    if found.frames > 1 or found.orientation != 1 or found.profile is not None:
        return False
    if found.format == "png":  # at 24: the bit depth
        return found.needed[24] == 8 and b"tRNS" not in found.needed[:4096]
    return found.format == "jpeg" or found.needed[12:16] in (b"VP8 ", b"VP8L")


def _bare(data: bytes, found: Container) -> bool:
    """Whether nothing is left out of what a decoder needs but a JPEG's customary first segment."""
    if found.format != "jpeg":
        return data == found.needed
    lead = len(data) - len(found.needed)
    return not lead or (
        data[2:4] == b"\xff\xe0"
        and lead == 2 + int.from_bytes(data[4:6], "big")
        and lead <= 20
        and data[2 + lead :] == found.needed[2:]
    )
