"""From accepted bytes to a normalised copy to measure on."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms

from stereotrope.errors import PictureError
from stereotrope.pictures import container
from stereotrope.pictures.container import Container, Format

__all__ = ["PictureInfo", "decode", "inspect", "thumbnail"]

_EXTENSIONS = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".jpe": "jpeg", ".webp": "webp"}
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
# What Pillow raises on bytes that are no sound picture; warnings are listed because `-W error` makes
# exceptions of them.
_UNSOUND = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    LookupError,
    TypeError,
    ArithmeticError,
    MemoryError,
    RuntimeError,
    Warning,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)


@dataclass(frozen=True)
class PictureInfo:
    """An accepted picture.

    Attributes
    ----------
    format
        ``png``, ``jpeg`` or ``webp``, by its bytes.
    width, height
        In pixels, upright (after the EXIF orientation).
    frames
        More than 1 where it is animated; the first is measured.
    mode
        Pixel mode as stored, in Pillow's words (``RGB``, ``P``, ``I;16``, ``CMYK`` …).
    sha256
        Of the original bytes, hexadecimal.
    notes
        What was unusual and accepted, one short text each.
    """

    format: Format
    width: int
    height: int
    frames: int
    mode: str
    sha256: str
    notes: tuple[str, ...] = ()


def inspect(data: bytes, *, name: str | None = None) -> PictureInfo:
    """Say what a picture is, or why it is refused.

    The picture is decoded once, so that what passes here can be measured later.

    Parameters
    ----------
    data
        The file's bytes.
    name
        Its file name, only to note an extension that says otherwise; it never decides anything.

    Raises
    ------
    PictureError
        Empty, another kind of file, over a limit, truncated, damaged, or a polyglot: a picture with a
        ZIP, PDF, HTML page, script or program behind its end. Other bytes behind the end (previews and
        clips that cameras append) are accepted and noted, because no decoder here ever reads them.
    """
    found = container.read(data)
    image = _open(found)
    _load(image)
    width, height = found.stored if found.orientation < 5 else found.stored[::-1]
    notes = []
    if name is not None:
        suffix = PurePosixPath(name).suffix.lower()
        if _EXTENSIONS.get(suffix) != found.format:
            notes.append(f"named {suffix or 'without extension'} but holds {found.format}")
    if found.frames > 1:
        notes.append(f"animated: the first of {found.frames} frames is measured")
    if found.trailing:
        notes.append(f"{found.trailing} bytes after the end of the picture ignored")
    if found.orientation != 1:
        notes.append("turned upright by its EXIF orientation")
    if found.broken_profile or (found.profile is not None and _in_srgb(image, found.profile) is None):
        notes.append("broken colour profile ignored")
    return PictureInfo(
        found.format, width, height, found.frames, image.mode, hashlib.sha256(data).hexdigest(), tuple(notes)
    )


def decode(data: bytes, *, max_side: int | None = None) -> NDArray[np.uint8]:
    """Return the normalised copy that is measured.

    First frame, turned upright, 16 bits reduced to 8, an embedded colour profile applied where it is
    valid and ignored where it is broken, alpha laid over white. PNG ``gAMA`` and ``cHRM`` are ignored,
    as browsers ignore them beside ``sRGB``.

    Parameters
    ----------
    data
        The file's bytes.
    max_side
        Shrink so that the longer side has at most this many pixels (triangle filter, never enlarged).

    Returns
    -------
    numpy.ndarray
        uint8 sRGB, shape (height, width, 3), own memory.

    Raises
    ------
    PictureError
        As :func:`inspect`.
    """
    found = container.read(data)
    image = _open(found)
    _load(image)
    try:
        upright = _flattened(image, found)
        if found.orientation in _UPRIGHT:
            upright = upright.transpose(_UPRIGHT[found.orientation])
        if max_side is not None and max(upright.size) > max_side:
            upright = upright.resize(_shrunk(upright.size, max_side), Image.Resampling.BILINEAR)
    except _UNSOUND as error:
        raise PictureError("damaged: cannot be decoded") from error
    return np.array(upright, dtype=np.uint8)


def thumbnail(data: bytes, size: int, format: Literal["webp", "jpeg", "png"] = "webp") -> bytes:
    """Return a small copy for a page, its longer side at most ``size`` pixels, without any metadata.

    Raises
    ------
    PictureError
        As :func:`inspect`.
    """
    small = Image.fromarray(decode(data, max_side=size))
    out = io.BytesIO()
    if format == "webp":
        small.save(out, "WEBP", quality=80, method=4)
    elif format == "jpeg":
        small.save(out, "JPEG", quality=85, optimize=True)
    else:
        small.save(out, "PNG", optimize=True)
    return out.getvalue()


def _open(found: Container) -> Image.Image:
    try:
        image = Image.open(io.BytesIO(found.needed), formats=[found.format.upper()])
    except _UNSOUND as error:
        raise PictureError("damaged: cannot be decoded") from error
    if image.size != found.stored:
        raise PictureError("damaged: header is not valid")
    return image


def _load(image: Image.Image) -> None:
    try:
        image.load()
    except _UNSOUND as error:
        cut = isinstance(error, OSError) and "truncated" in str(error)
        raise PictureError("truncated" if cut else "damaged: cannot be decoded") from error


def _shrunk(size: tuple[int, int], max_side: int) -> tuple[int, int]:
    scale = max_side / max(size)
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _flattened(image: Image.Image, found: Container) -> Image.Image:
    """Eight bits, sRGB, alpha over white."""
    if image.mode.startswith(("I", "F")):
        image = _eight_bits(image)
    alpha = None
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        alpha, image = rgba.getchannel("A"), rgba.convert("RGB")
    elif image.mode in ("P", "1"):
        image = image.convert("RGB")
    converted = _in_srgb(image, found.profile) if found.profile is not None else None
    flat = converted if converted is not None else image.convert("RGB")
    if alpha is None:
        return flat
    white = Image.new("RGB", flat.size, (255, 255, 255))
    white.paste(flat, mask=alpha)
    return white


def _eight_bits(image: Image.Image) -> Image.Image:
    wide = np.asarray(image).astype(np.float64)
    narrow = Image.fromarray(np.clip(np.rint(wide / 257), 0, 255).astype(np.uint8))
    clear = image.info.get("transparency")
    if isinstance(clear, int):
        narrow.putalpha(Image.fromarray(np.where(wide == clear, 0, 255).astype(np.uint8)))
    return narrow


def _in_srgb(image: Image.Image, profile: bytes) -> Image.Image | None:
    """Convert by an embedded profile; None where the profile is broken or is for other channels."""
    base = image if image.mode in ("RGB", "L", "CMYK") else image.convert("RGB")
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        target = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
        return ImageCms.profileToProfile(base, source, target, outputMode="RGB")
    except (*_UNSOUND, ImageCms.PyCMSError):
        return None
