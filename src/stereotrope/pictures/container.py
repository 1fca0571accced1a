"""What the file around a picture says, read without decoding a pixel.

Size, frames, orientation, colour profile and the true end of the picture are known before any decoder runs,
which is handed only the parts it needs: no text, no EXIF, no embedded preview.

Sources: PNG third edition (W3C, 2025) sections 5 and 11; ITU-T T.81 annex B (JPEG); RFC 9649 (WebP);
ICC.1:2022 annex B (profiles in JPEG); EXIF 3.0 section 4.6 (orientation).
"""

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from stereotrope.errors import PictureError, PictureUnavailable
from stereotrope.pictures.room import SHORT

Format = Literal["jpeg", "png", "webp"]

MAX_BYTES = 64 * 1024 * 1024
"""Largest file read, in bytes."""
MAX_PIXELS = 64_000_000
"""Largest width × height; below Pillow's own warning at 89 million, so that ours always speaks first."""
MAX_SIDE = 32_768
"""Longest side in pixels."""
MAX_CHUNKS = 100_000
"""Most chunks or segments in one file: a file of nothing but empty chunks is a waste of time on purpose."""
MAX_SCANS = 100
"""Most scans of a progressive JPEG; each costs a pass over all pixels, and encoders write about ten."""
MAX_PROFILE_BYTES = 4 * 1024 * 1024
"""Largest colour profile considered, after inflating; larger ones are ignored."""

_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_NEEDED = frozenset((b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"))
JPEG_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers that begin a frame of a JPEG."""
_JPEG_NEEDED_APP = 0xEE  # Adobe's segment says whether CMYK is inverted and which transform applies
# A pattern that begins with a plain byte is found ten times as fast; of a run only the first byte begins one.
_JPEG_NEXT_MARKER = re.compile(rb"\xff(?<!\xff\xff)\xff*[\x01-\xcf\xd8-\xfe]")

_LOOKS_LIKE: tuple[tuple[bytes | tuple[bytes, ...], str], ...] = (
    (b"GIF8", "GIF"),
    (b"%PDF", "PDF"),
    ((b"%!PS", b"\xc5\xd0\xd3\xc6"), "PostScript"),
    ((b"II*\x00", b"MM\x00*"), "TIFF"),
    (b"BM", "BMP"),
    (b"PK\x03\x04", "ZIP"),
    (b"\x00\x00\x01\x00", "ICO"),
    ((b"\x7fELF", b"MZ"), "a program"),
)
_TEXT_LOOKS_LIKE: tuple[tuple[bytes | tuple[bytes, ...], str], ...] = (
    ((b"<!doctype html", b"<html", b"<head", b"<body", b"<script"), "HTML"),
    (b"<", "XML"),
    ((b"{", b"["), "JSON"),
)
_AFTER_THE_END: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"PK\x03\x04|PK\x05\x06"), "ZIP"),
    (re.compile(rb"%PDF-"), "PDF"),
    (re.compile(rb"<!doctype|<html|<script|<svg|<iframe|<body", re.IGNORECASE), "HTML"),
    (re.compile(rb"<\?php|^\s*#!", re.IGNORECASE), "a script"),
    (re.compile(rb"^MZ|\x7fELF|^\xca\xfe\xba\xbe"), "a program"),
    (re.compile(rb"^Rar!\x1a\x07|^7z\xbc\xaf\x27\x1c|^\x1f\x8b\x08"), "an archive"),
)


@dataclass(frozen=True)
class Container:
    """What the file says about its picture.

    ``stored`` is (width, height) before the EXIF orientation (1 to 8) is applied; ``needed`` is the
    file reduced to what a decoder needs; ``trailing`` counts bytes after the picture's end.
    """

    format: Format
    stored: tuple[int, int]
    frames: int
    orientation: int
    profile: bytes | None
    needed: bytes
    trailing: int

    @property
    def upright(self) -> tuple[int, int]:
        """Width and height after the EXIF orientation is applied."""
        return self.stored if self.orientation < 5 else self.stored[::-1]


def sniff(data: bytes) -> Format:
    """Say which allowed format the bytes are, by their first bytes alone.

    Returns: ``"png"``, ``"jpeg"`` or ``"webp"``.
    Raises PictureError: The bytes are empty or of any other kind; the reason names the kind where it is
        recognised.
    """
    if not data:
        raise PictureError("empty file")
    if data.startswith(_PNG):
        return "png"
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    kind = _kind(data)
    raise PictureError(f"not a PNG, JPEG or WebP picture{f' but {kind}' if kind else ''}")


def _kind(data: bytes) -> str | None:
    for magic, name in _LOOKS_LIKE:
        if data.startswith(magic):
            return name
    if data[4:8] == b"ftyp":
        return "AVIF, HEIC or video"
    head = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if b"<svg" in head:
        return "SVG"
    return next((name for start, name in _TEXT_LOOKS_LIKE if head.startswith(start)), None)


def read(data: bytes) -> Container:
    """Walk the file around a picture and check every limit that needs no decoding.

    Raises PictureError: Not an allowed format, over a limit, truncated, damaged, or a second file hidden
        behind the picture's end.
    """
    if len(data) > MAX_BYTES:
        raise PictureError(f"larger than {MAX_BYTES // 1024**2} MiB")
    walk = {"png": _read_png, "jpeg": _read_jpeg, "webp": _read_webp}[sniff(data)]
    try:
        found = walk(data)
    except MemoryError as error:
        raise PictureUnavailable(SHORT) from error
    except (struct.error, IndexError) as error:
        raise PictureError("truncated") from error
    width, height = found.stored
    if not width or not height:
        raise PictureError("damaged: no size in its header")
    if width * height > MAX_PIXELS:
        raise PictureError(f"more than {MAX_PIXELS // 1_000_000} million pixels")
    if max(width, height) > MAX_SIDE:
        raise PictureError(f"a side longer than {MAX_SIDE} pixels")
    # Cameras append previews and clips, so bytes behind the end are no reason to lose a picture. A second
    # file that other programs would open or run is: the original bytes may be handed on.
    tail = data[len(data) - found.trailing :]
    for pattern, kind in _AFTER_THE_END:
        if pattern.search(tail):
            raise PictureError(f"polyglot: {kind} after the end of the picture")
    return found


def png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield (kind, start, end) of each chunk of a PNG."""
    at = len(_PNG)
    for _ in range(MAX_CHUNKS):
        (length,) = struct.unpack_from(">I", data, at)
        kind, end = data[at + 4 : at + 8], at + 12 + length
        if end > len(data):
            raise PictureError("truncated")
        yield kind, at, end
        if kind == b"IEND":
            return
        at = end
    raise PictureError("damaged: too many chunks")


def _read_png(data: bytes) -> Container:
    parts, frames, orientation, profile, size, end = [_PNG], 1, 1, None, None, 0
    for kind, at, end in png_chunks(data):
        body = data[at + 8 : end - 4] if kind not in (b"IDAT", b"fdAT") else b""
        if size is None and kind != b"IHDR":
            raise PictureError("damaged: no header")
        if kind == b"IHDR":
            if size is not None or len(body) != 13:
                raise PictureError("damaged: header is not valid")
            size = struct.unpack_from(">II", body)
        elif kind == b"acTL":
            frames = max(1, struct.unpack_from(">I", body)[0])
        elif kind == b"eXIf":
            orientation = _orientation(body)
        elif kind == b"iCCP":
            profile = _inflated_profile(body)
        if kind in _PNG_NEEDED:
            parts.append(data[at:end])
    assert size is not None
    return Container("png", size, frames, orientation, profile, b"".join(parts), len(data) - end)


def _inflated_profile(body: bytes) -> bytes | None:
    _, found, packed = body.partition(b"\x00")
    if not found or packed[:1] != b"\x00":
        return None
    inflate = zlib.decompressobj()
    try:
        profile = inflate.decompress(packed[1:], MAX_PROFILE_BYTES)
    except zlib.error:
        return None
    return profile if inflate.eof else None


def jpeg_segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield (marker, start, end); a scan's segment holds its entropy-coded data too."""
    at = 2
    for _ in range(MAX_CHUNKS):
        start = at
        while data[at] == 0xFF and data[at + 1] == 0xFF:
            at += 1
        if data[at] != 0xFF:
            raise PictureError("damaged: no marker where one belongs")
        marker = data[at + 1]
        if marker == 0xD9:
            yield marker, start, at + 2
            return
        end = at + 2 + struct.unpack_from(">H", data, at + 2)[0]
        if end > len(data):
            raise PictureError("truncated")
        if marker == 0xDA:
            following = _JPEG_NEXT_MARKER.search(memoryview(data)[end:])
            if following is None:
                raise PictureError("truncated")
            end += following.start()
        yield marker, start, end
        at = end
    raise PictureError("damaged: too many chunks")


def _read_jpeg(data: bytes) -> Container:
    parts, size, orientation, scans, end = [b"\xff\xd8"], None, 1, 0, 0
    pieces: dict[int, bytes] = {}
    for marker, start, end in jpeg_segments(data):
        body = data[start + 4 : end]
        if marker in JPEG_SOF:
            if size is not None:
                raise PictureError("damaged: header is not valid")
            height, width = struct.unpack_from(">HH", body, 1)
            size = (width, height)
        elif marker == 0xDA:
            scans += 1
        elif marker == 0xE1 and body.startswith(b"Exif\x00\x00"):
            orientation = _orientation(body[6:])
        elif marker == 0xE2 and body.startswith(b"ICC_PROFILE\x00") and len(body) > 14:
            pieces[body[12]] = body[14:]
        if marker == _JPEG_NEEDED_APP or not (0xE0 <= marker <= 0xEF or marker == 0xFE):
            parts.append(data[start:end])
    if scans > MAX_SCANS:
        raise PictureError("damaged: too many scans")
    if size is None or not scans:
        raise PictureError("damaged: no header")
    profile = b"".join(pieces[i] for i in sorted(pieces))
    kept = profile if 0 < len(profile) <= MAX_PROFILE_BYTES else None
    return Container("jpeg", size, 1, orientation, kept, b"".join(parts), len(data) - end)


def webp_chunks(data: bytes, at: int = 12) -> Iterator[tuple[bytes, bytes]]:
    """Yield (kind, body) of each chunk of a WebP from ``at`` to the end of ``data``."""
    for _ in range(MAX_CHUNKS):
        if at + 8 > len(data):
            return
        kind, length = data[at : at + 4], struct.unpack_from("<I", data, at + 4)[0]
        if at + 8 + length > len(data):
            raise PictureError("truncated")
        yield kind, data[at + 8 : at + 8 + length]
        at += 8 + length + length % 2
    raise PictureError("damaged: too many chunks")


def _read_webp(data: bytes) -> Container:
    end = 8 + struct.unpack_from("<I", data, 4)[0]
    if end > len(data):
        raise PictureError("truncated")
    size, frames, orientation, profile = None, 0, 1, None
    for kind, body in webp_chunks(data[:end]):
        if size is None:
            size = _webp_size(kind, body)
        if kind == b"ANMF":
            frames += 1
        elif kind == b"EXIF":
            orientation = _orientation(body.removeprefix(b"Exif\x00\x00"))
        elif kind == b"ICCP" and len(body) <= MAX_PROFILE_BYTES:
            profile = body
    if size is None:
        raise PictureError("damaged: no header")
    return Container("webp", size, max(1, frames), orientation, profile, data[:end], len(data) - end)


def _webp_size(kind: bytes, body: bytes) -> tuple[int, int]:
    if kind == b"VP8X":
        return (1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little"))
    if kind == b"VP8L" and body[:1] == b"\x2f":
        bits = struct.unpack_from("<I", body, 1)[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", body, 6)
        return width & 0x3FFF, height & 0x3FFF
    raise PictureError("damaged: no header")


def _orientation(exif: bytes) -> int:
    """EXIF orientation, 1 where the block is absent, broken or says nothing of the kind."""
    order = {b"II": "<", b"MM": ">"}.get(exif[:2])
    if order is None:
        return 1
    try:
        (first,) = struct.unpack_from(f"{order}I", exif, 4)
        (count,) = struct.unpack_from(f"{order}H", exif, first)
        for entry in range(first + 2, first + 2 + 12 * count, 12):
            tag, kind, _, value = struct.unpack_from(f"{order}HHIH", exif, entry)
            if tag == 0x0112 and kind == 3:
                return value if 1 <= value <= 8 else 1
    except struct.error:
        return 1
    return 1
