"""Whether the coded pixels reach the end of the picture.

Decoders fill what is missing with grey, black or zeros and say nothing. What the bytes prove is found here:

- PNG: the rows inflate to fewer bytes than the header asks for, or a chunk of them fails its checksum.
- JPEG: what is decoded hangs on bits put behind the end of the coded data; or restart markers are too few.
  Of most files one decoding shows already that no bit was missing (:func:`lengthened`).
- WebP: the decoder is content without the last part of the coded data.

Other bytes in the middle of a JPEG or WebP are proven by nothing, nor is a missing end of a JPEG with
arithmetic coding.
"""

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace

from stereotrope.errors import PictureError
from stereotrope.pictures.container import JPEG_SOF, Container, jpeg_segments, png_chunks, webp_chunks

WholenessTest = tuple[bytes, bool]
"""A file that proves a cut where it decodes: to other pixels than the original (True), or to any."""

_RESTART = re.compile(rb"\xff(?<!\xff\xff)\xff*[\xd0-\xd7]")
_SEQUENTIAL = frozenset((0xC0, 0xC1))
_ARITHMETIC = frozenset((0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF))
# Without 0xFF, so no marker; all bits beside each other in many ways, so that no code reads them as zeros.
_FILLER = bytes((167 * n + 90) % 255 for n in range(48))
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_INFLATED_AT_ONCE = 1 << 20
_CUT = 16


def refuse_missing_rows(found: Container) -> None:
    """Inflate the rows of a PNG, keeping none.

    Raises PictureError: There are fewer than the header says, or a checksum is wrong.
    """
    width, height, depth, colour, _, _, interlaced = struct.unpack_from(">IIBBBBB", found.needed, 16)
    bits = depth * _CHANNELS.get(colour, 1)
    passes = _ADAM7 if interlaced else ((0, 0, 1, 1),)
    expected = 0
    for x, y, dx, dy in passes:
        columns, rows = -(-(width - x) // dx), -(-(height - y) // dy)
        if columns > 0 and rows > 0:
            expected += rows * (1 + (columns * bits + 7) // 8)
    inflate, size = zlib.decompressobj(), 0
    for kind, at, end in png_chunks(found.needed):
        if kind != b"IDAT" or size >= expected:
            continue
        if zlib.crc32(found.needed[at + 4 : end - 4]) != struct.unpack_from(">I", found.needed, end - 4)[0]:
            raise PictureError("damaged: checksum is wrong")
        rest = found.needed[at + 8 : end - 4]
        while rest and not inflate.eof and size < expected:
            try:
                size += len(inflate.decompress(rest, _INFLATED_AT_ONCE))
            except zlib.error as error:
                raise PictureError("damaged: cannot be decoded") from error
            rest = inflate.unconsumed_tail
    while size < expected and (more := inflate.decompress(b"", _INFLATED_AT_ONCE)):
        size += len(more)
    if size < expected:
        raise PictureError("truncated")


def lengthened(found: Container) -> tuple[Container, tuple[int, int, int, int]] | None:
    """A JPEG whose header asks for one row of blocks more than were coded, and a box in that row.

    libjpeg reads the first of these blocks from the bits behind the last that was coded, but leaves every
    block after a missing bit at zero. So more than one colour in the box proves that no bit of the picture
    was missing; one colour proves nothing. The upper half of the row, where colours of the row above are
    mixed in, is no part of the box.

    Returns: None where it cannot be told so: several scans, restarts, or codes that are not Huffman's.
    """
    if found.format != "jpeg":
        return None
    data, scans = found.needed, []
    for marker, start, _ in jpeg_segments(data):
        body = data.index(marker, start) + 3
        if marker == 0xDD:
            return None
        if marker in JPEG_SOF:
            kind, frame = marker, body
        elif marker == 0xDA:
            scans.append(data[body])
    n = data[frame + 5]
    if kind not in _SEQUENTIAL or scans != [n]:
        return None
    side = 8 * max(data[frame + 7 + 3 * i] & 15 for i in range(n)) if n > 1 else 8
    width, height = found.stored
    coded = -(-height // side) * side
    stored = width, coded + side
    needed = data[: frame + 1] + stored[1].to_bytes(2, "big") + data[frame + 3 :]
    return replace(found, stored=stored, needed=needed), (0, coded + side // 2, *stored)


def wholeness_tests(found: Container) -> Iterator[WholenessTest]:
    """Files made of a JPEG or WebP that decode to something else than it, if it is whole; or the reverse."""
    if found.format == "jpeg":
        data = _with_filler(found.needed)
        if data is not None:
            yield data, True
    elif found.format == "webp":
        for data in _webp_cuts(found.needed):
            yield data, False


def _with_filler(data: bytes) -> bytes | None:
    parts, interval = [data[:2]], 0
    frame = b""
    for marker, start, end in jpeg_segments(data):
        if marker in _ARITHMETIC:
            return None
        body = start + 2 + data[start:end].index(marker)
        if marker == 0xDD:
            (interval,) = struct.unpack_from(">H", data, body + 1)
        elif marker in JPEG_SOF:
            frame = data[body + 1 : end]
        if marker == 0xDA:
            head = body - 1 + struct.unpack_from(">H", data, body - 1)[0]
            coded, restarts = _RESTART.subn(lambda match: _FILLER + match[0], data[head:end])
            if interval and restarts < -(-_units(frame, data[body + 1 : head]) // interval) - 1:
                raise PictureError("truncated")
            parts += [data[start:head], coded, _FILLER]
        else:
            parts.append(data[start:end])
    return b"".join(parts)


def _units(frame: bytes, scan: bytes) -> int:
    height: int
    width: int
    height, width, n = struct.unpack_from(">HHB", frame, 1)
    sampling = {frame[i]: divmod(frame[i + 1], 16) for i in range(6, 6 + 3 * n, 3)}
    most = [max(each[axis] for each in sampling.values()) for axis in (0, 1)]
    if scan[0] > 1:
        return -(-width // (8 * most[0])) * -(-height // (8 * most[1]))
    across, down = sampling[scan[1]]
    return -(-width * across // (8 * most[0])) * -(-height * down // (8 * most[1]))


def _webp_cuts(data: bytes) -> Iterator[bytes]:
    """The first frame without the end of its coded pixels, and without that of its coded alpha."""
    chunks: dict[bytes, bytes] = {}
    for kind, body in webp_chunks(data):
        if kind == b"ANMF":
            chunks = dict(webp_chunks(body, 16))
            break
        chunks.setdefault(kind, body)
    name = b"VP8 " if b"VP8 " in chunks else b"VP8L"
    pixels = chunks.get(name)
    if pixels is None:
        return
    yield _riff((name, pixels[:-_CUT]))
    alpha = chunks.get(b"ALPH")
    if alpha and name == b"VP8 " and alpha[0] & 3 == 1:
        width, height = (side & 0x3FFF for side in struct.unpack_from("<HH", pixels, 6))
        size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
        yield _riff((b"VP8X", b"\x10\0\0\0" + size), (b"ALPH", alpha[:-_CUT]), (name, pixels))


def _riff(*chunks: tuple[bytes, bytes]) -> bytes:
    body = b"WEBP" + b"".join(
        kind + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)
        for kind, content in chunks
    )
    return b"RIFF" + struct.pack("<I", len(body)) + body
