"""From accepted bytes to a normalised copy to measure on."""

import io
import math
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageCms, JpegImagePlugin, PngImagePlugin, WebPImagePlugin  # noqa: F401

from stereotrope.errors import PictureError
from stereotrope.pictures.container import Container, read
from stereotrope.pictures.room import decoding_alone, room_for
from stereotrope.pictures.wholeness import lengthened, refuse_missing_rows, wholeness_tests

_T = TypeVar("_T")

# Read now, so that no decoder is looked for when files or memory are short and none would be found.
Image.preinit()

_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_STRIP_PIXELS = 2**18
_WITH_ALPHA = ("RGBA", "LA", "PA", "La", "RGBa")
_WITH_PROFILE = ("RGB", "L", "CMYK")
_WIDE = ("I", "F")
# What Pillow raises on bytes that are no sound picture, and where it gets no memory; `-W error` makes
# exceptions of warnings.
_UNSOUND = (
    *(OSError, SyntaxError, ValueError, EOFError, LookupError, TypeError, ArithmeticError, RuntimeError),
    *(Warning, struct.error, zlib.error, Image.DecompressionBombError, ImageCms.PyCMSError),
)


def inspect(data: bytes) -> tuple[int, int]:
    """Return width and height of a picture, upright; it is decoded once, so that what passes can be measured.

    Raises PictureError: Empty, another kind of file, over a limit, truncated (its coded pixels end early),
        damaged, or a polyglot: a picture with a ZIP, PDF, HTML page, script or program behind its end. Other
        bytes behind the end are accepted: no decoder here reads them. So is a broken colour profile.
    Raises PictureUnavailable: Memory is short, which says nothing about the picture.
    """
    found = read(data)
    with room_for(math.prod(found.stored)):
        if not _is_proven_whole(found):
            _refuse_early_end(found, _opened(found))
    return found.upright


def decode(data: bytes, *, max_side: int | None = None) -> NDArray[np.uint8]:
    """Return the normalised copy that is measured.

    First frame, turned upright, 16 bits reduced to 8, a valid colour profile applied, alpha laid over white.
    PNG ``gAMA`` and ``cHRM`` are ignored, as browsers ignore them beside ``sRGB``.

    max_side: Shrink so that the longer side has at most this many pixels (triangle filter, never enlarged).
    Returns: uint8 sRGB, shape (height, width, 3), own memory.
    Raises PictureError: As :func:`inspect`, which alone looks whether the coded pixels end early.
    Raises PictureUnavailable: As :func:`inspect`.
    """
    found = read(data)
    with room_for(math.prod(found.stored)):
        return _judged(lambda: _normalised(found, max_side), found)


def stored_mode(found: Container) -> str:
    """Return the pixel mode of a picture that can be decoded, in Pillow's words.

    Raises PictureError, PictureUnavailable: As :func:`decode`.
    """
    with room_for(math.prod(found.stored)):
        return _opened(found).mode


def _opened(found: Container) -> Image.Image:
    return _judged(lambda: _loaded(found.needed, found), found)


def _judged(work: Callable[[], _T], found: Container) -> _T:
    """Do what decodes a picture; where it fails, find out whether the bytes or the memory are to blame."""
    try:
        return work()
    except PictureError:
        raise
    except _UNSOUND:
        with decoding_alone(math.prod(found.stored)):
            try:
                return work()
            except _UNSOUND as error:
                cut = isinstance(error, OSError) and "truncated" in str(error)
                raise PictureError("truncated" if cut else "damaged: cannot be decoded") from error


def _loaded(data: bytes, found: Container) -> Image.Image:
    image = Image.open(io.BytesIO(data), formats=[found.format.upper()])
    if image.size != found.stored:
        raise PictureError("damaged: header is not valid")
    image.load()
    return image


def _is_proven_whole(found: Container) -> bool:
    """Whether a picture can be decoded and nothing of it is missing, as far as one decoding proves both."""
    try:
        longer = lengthened(found)
        if longer is None:
            return False
        return _loaded(longer[0].needed, longer[0]).crop(longer[1]).getcolors(1) is None
    except (*_UNSOUND, PictureError):
        return False


def _refuse_early_end(found: Container, image: Image.Image) -> None:
    if found.format == "png":
        refuse_missing_rows(found)
        return
    try:
        made = list(wholeness_tests(found))
    except (struct.error, LookupError, ArithmeticError, ValueError) as error:
        raise PictureError("damaged: header is not valid") from error
    for data, other_pixels in made:
        try:
            probe = _loaded(data, found)
        except (*_UNSOUND, PictureError):
            continue
        if not other_pixels or not _is_same(probe, image):
            raise PictureError("truncated")


def _is_same(one: Image.Image, other: Image.Image) -> bool:
    """Whether two pictures of one size have the same pixels."""
    if one.mode != other.mode:
        return False
    strips = zip(_strips(one), _strips(other), strict=True)
    return all(ImageChops.difference(a, b).getbbox(alpha_only=False) is None for (a, _), (b, _) in strips)


def _strips(image: Image.Image) -> Iterator[tuple[Image.Image, int]]:
    """A picture in strips with the row each begins at: what is made of one is never whole in memory."""
    rows = max(1, _STRIP_PIXELS // image.width)
    if rows >= image.height:
        yield image, 0
        return
    for top in range(0, image.height, rows):
        yield image.crop((0, top, image.width, min(image.height, top + rows))), top


def _normalised(found: Container, max_side: int | None) -> NDArray[np.uint8]:
    upright = _flattened(_loaded(found.needed, found), found)
    if found.orientation in _UPRIGHT:
        upright = upright.transpose(_UPRIGHT[found.orientation])
    if max_side is not None and max(upright.size) > max_side:
        width, height = (max(1, round(side * (max_side / max(upright.size)))) for side in upright.size)
        upright = upright.resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.empty((upright.height, upright.width, 3), dtype=np.uint8)
    for strip, top in _strips(upright):
        pixels[top : top + strip.height] = np.asarray(strip)
    return pixels


def _flattened(image: Image.Image, found: Container) -> Image.Image:
    if image.mode == "RGB" and found.profile is None and "transparency" not in image.info:
        return image
    clear = image.mode in _WITH_ALPHA or "transparency" in image.info
    base = "L" if image.mode.startswith(_WIDE) else image.mode
    to_srgb = None if found.profile is None else _to_srgb("RGB" if clear else base, found.profile, found)
    flat = Image.new("RGB", image.size)
    for strip, top in _strips(image):
        flat.paste(_flat(strip, to_srgb), (0, top))
    return flat


def _flat(image: Image.Image, to_srgb: ImageCms.ImageCmsTransform | None) -> Image.Image:
    if image.mode.startswith(_WIDE):
        image = _eight_bits(image)
    alpha = None
    if image.mode in _WITH_ALPHA or "transparency" in image.info:
        rgba = image.convert("RGBA")
        alpha, image = rgba.getchannel("A"), rgba.convert("RGB")
    if to_srgb is None:
        flat = image.convert("RGB")
    else:
        flat = to_srgb.apply(image if image.mode == to_srgb.input_mode else image.convert("RGB"))
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


def _to_srgb(mode: str, profile: bytes, found: Container) -> ImageCms.ImageCmsTransform | None:
    """Make what converts by an embedded profile; None where it is broken or is for other channels."""

    def made() -> ImageCms.ImageCmsTransform:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        target = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
        base = mode if mode in _WITH_PROFILE else "RGB"
        transform = ImageCms.ImageCmsTransform(source, target, base, "RGB")
        transform.apply(Image.new(base, (1, 1)))
        return transform

    try:
        return _judged(made, found)
    except PictureError:
        return None
