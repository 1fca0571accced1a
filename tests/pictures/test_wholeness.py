"""Pictures whose coded pixels end early are refused, whatever stands behind; whole ones are not."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageDraw, JpegImagePlugin

from stereotrope import pictures
from stereotrope.errors import PictureError


def encoded(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def drawn(width, height):
    """Pictures from one colour to noise."""
    rng = np.random.default_rng(3)
    shape = Image.new("RGB", (width, height), (250, 250, 250))
    ImageDraw.Draw(shape).ellipse([0, 0, width // 2, height // 2], fill=(200, 10, 10))
    slope = np.linspace(0, 255, width * height).reshape(height, width).astype(np.uint8)
    return {
        "flat": Image.new("RGB", (width, height), (255, 255, 255)),
        "shape": shape,
        "slope": Image.fromarray(np.dstack([slope, slope[::-1], slope])),
        "noise": Image.fromarray(rng.integers(0, 256, (height, width, 3)).astype(np.uint8)),
    }


JPEGS = [
    {},
    {"progressive": True},
    {"optimize": True},
    {"subsampling": 0, "quality": 95},
    {"restart_marker_rows": 1},
    {"restart_marker_blocks": 1},
    {"progressive": True, "restart_marker_rows": 2, "subsampling": 2},
]
WEBPS = [{}, {"lossless": True}, {"quality": 5}, {"method": 0}, {"quality": 100, "method": 6}]
SIZES = [(1, 1), (3, 2), (17, 33), (120, 90)]


@pytest.mark.parametrize("size", SIZES)
def test_whole_pictures_of_every_kind_are_accepted(size):
    for image in drawn(*size).values():
        clear = image.copy()
        clear.putalpha(image.convert("L"))
        files = [encoded(image.convert(m), "JPEG", **o) for m in ("RGB", "L", "CMYK") for o in JPEGS]
        files += [encoded(each, "WEBP", **o) for each in (image, clear) for o in WEBPS]
        files += [encoded(image.convert(m), "PNG") for m in ("RGB", "L", "P", "1", "RGBA", "LA", "I;16")]
        files += [encoded(image, k, save_all=True, append_images=[clear]) for k in ("PNG", "WEBP")]
        for data in files:
            pictures.inspect(data)
            pictures.inspect(data + b"\0trailing")


@pytest.mark.parametrize("options", JPEGS)
@pytest.mark.parametrize("share", [0.3, 0.5, 0.8, 0.97])
def test_part_of_a_jpeg_with_an_end_mark_behind_it_is_truncated(options, share):
    for name, image in drawn(120, 90).items():
        if name != "flat":
            data = encoded(image, "JPEG", **options)
            if data.index(b"\xff\xda") + 12 < share * len(data):
                with pytest.raises(PictureError, match="truncated"):
                    pictures.inspect(data[: int(share * len(data))] + b"\xff\xd9")


@pytest.mark.parametrize("options", [{}, {"optimize": True}, {"subsampling": 0}, {"subsampling": 1}])
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("size", [(120, 90), (112, 96)])
def test_one_decoding_shows_that_a_jpeg_is_whole(options, mode, size, monkeypatch):
    data = encoded(drawn(*size)["noise"].convert(mode), "JPEG", **options)
    decoded, begin = [], JpegImagePlugin.JpegImageFile.load_prepare

    def counted(image):
        decoded.append(image)
        return begin(image)

    monkeypatch.setattr(JpegImagePlugin.JpegImageFile, "load_prepare", counted)
    assert pictures.inspect(data) == size
    assert len(decoded) == 1
    for n in (20, 40):
        with pytest.raises(PictureError, match="truncated"):
            pictures.inspect(data[: -2 - n] + b"\xff\xd9")


def test_a_jpeg_cut_between_two_restarts_is_truncated():
    data = encoded(drawn(120, 90)["noise"], "JPEG", restart_marker_rows=1)
    cut = data[: data.index(b"\xff\xd2")] + b"\xff\xd9"
    with pytest.raises(PictureError, match="truncated"):
        pictures.inspect(cut)


def test_a_long_run_of_fill_bytes_is_read_once():
    data = encoded(drawn(17, 33)["noise"], "JPEG")
    with pytest.raises(PictureError, match="truncated"):
        pictures.inspect(data[:-20] + b"\xff" * 2**22 + b"\0" + data[-2:])


@pytest.mark.parametrize("options", WEBPS)
@pytest.mark.parametrize("share", [0.4, 0.5, 0.75, 0.9])
def test_a_webp_whose_end_is_zeroed_is_refused(options, share):
    data = encoded(drawn(120, 90)["noise"], "WEBP", **options)
    kept = int(share * len(data))
    with pytest.raises(PictureError, match=r"truncated|damaged"):
        pictures.inspect(data[:kept] + bytes(len(data) - kept))


def test_a_webp_whose_coded_alpha_is_zeroed_is_refused():
    image = drawn(120, 90)["noise"]
    image.putalpha(image.convert("L"))
    data = encoded(image, "WEBP")
    start = data.index(b"ALPH") + 8
    end = start + struct.unpack_from("<I", data, start - 4)[0]
    middle = (start + end) // 2
    with pytest.raises(PictureError, match=r"truncated|damaged"):
        pictures.inspect(data[:middle] + bytes(end - middle) + data[end:])


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_of(rows, *, depth=8, colour=2, interlaced=0, size=(12, 10)):
    header = struct.pack(">IIBBBBB", *size, depth, colour, 0, 0, interlaced)
    packed = zlib.compress(rows)
    parts = [packed[:7], packed[7:]]
    body = b"".join(chunk(b"IDAT", part) for part in parts)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + body + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("options", "whole"),
    [
        ({}, 10 * 37),
        ({"depth": 16}, 10 * 73),
        ({"depth": 1, "colour": 0}, 10 * 3),
        ({"colour": 6}, 10 * 49),
        # Adam7 of 12 × 10: rows × (1 + 3 × columns) of each pass.
        ({"interlaced": 1}, 2 * 7 + 2 * 4 + 1 * 10 + 3 * 10 + 2 * 19 + 5 * 19 + 5 * 37),
    ],
)
def test_a_png_with_fewer_rows_than_its_header_says_is_truncated(options, whole):
    pictures.inspect(png_of(bytes(whole), **options))
    pictures.inspect(png_of(bytes(whole + 50), **options))
    for size in (whole - 1, whole // 2, 0):
        with pytest.raises(PictureError, match="truncated"):
            pictures.inspect(png_of(bytes(size), **options))


def test_a_png_whose_rows_fail_their_checksum_is_damaged():
    data = bytearray(png_of(bytes(10 * 37)))
    data[data.rindex(b"IEND") - 6] ^= 1
    with pytest.raises(PictureError, match="damaged: checksum is wrong"):
        pictures.inspect(bytes(data))
