from __future__ import annotations

import io
import random
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms

from stereotrope import pictures
from stereotrope.errors import PictureError

SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def turned(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_claiming(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    packed = zlib.compress(bytes(10))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


@pytest.fixture(scope="module")
def photo() -> Image.Image:
    """Sixty by forty, top left red, so that turns can be told apart."""
    noise = np.random.default_rng(0).integers(60, 200, (40, 60, 3)).astype(np.uint8)
    noise[:10, :10] = (255, 0, 0)
    return Image.fromarray(noise)


@pytest.mark.parametrize(("kind", "format"), [("PNG", "png"), ("JPEG", "jpeg"), ("WEBP", "webp")])
def test_allowed_formats_are_read(photo, kind, format):
    data = encoded(photo, kind)
    assert pictures.sniff(data) == format
    assert pictures.inspect(data) == (60, 40)
    assert pictures.decode(data).shape == (40, 60, 3)
    assert pictures.decode(data).dtype == np.uint8


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b"<!DOCTYPE html><p>not found", "not a PNG, JPEG or WebP picture but HTML"),
        (b"\xef\xbb\xbf <html>", "not a PNG, JPEG or WebP picture but HTML"),
        (b"<?xml version='1.0'?><svg onload='x()'/>", "not a PNG, JPEG or WebP picture but SVG"),
        (b"<?xml version='1.0'?><a/>", "not a PNG, JPEG or WebP picture but XML"),
        (b"GIF89a" + bytes(20), "not a PNG, JPEG or WebP picture but GIF"),
        (b"%PDF-1.7", "not a PNG, JPEG or WebP picture but PDF"),
        (b"%!PS-Adobe EPSF", "not a PNG, JPEG or WebP picture but PostScript"),
        (b"II*\x00" + bytes(20), "not a PNG, JPEG or WebP picture but TIFF"),
        (b"PK\x03\x04", "not a PNG, JPEG or WebP picture but ZIP"),
        (b"\x00\x00\x00\x20ftypavif", "not a PNG, JPEG or WebP picture but AVIF, HEIC or video"),
        (b'{"error": "quota"}', "not a PNG, JPEG or WebP picture but JSON"),
        (b"RIFF\x04\x00\x00\x00WAVE", "not a PNG, JPEG or WebP picture"),
        (b"hello", "not a PNG, JPEG or WebP picture"),
    ],
)
def test_other_files_are_refused_whatever_their_name(data, reason):
    for read in (pictures.inspect, pictures.decode, pictures.sniff):
        with pytest.raises(PictureError) as refused:
            read(data)
        assert refused.value.reason == reason


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.7, 0.99])
def test_truncated_files_are_refused(photo, kind, share):
    data = encoded(photo, kind)
    with pytest.raises(PictureError, match=r"^(truncated|not a PNG|damaged: cannot be decoded)"):
        pictures.inspect(data[: int(len(data) * share)])


def test_a_jpeg_without_its_end_is_truncated(photo):
    with pytest.raises(PictureError, match=r"^truncated$"):
        pictures.inspect(encoded(photo, "JPEG")[:-2])


def test_broken_pixels_are_refused_at_inspection(photo):
    data = bytearray(encoded(photo, "PNG"))
    at = data.index(b"IDAT") + 40
    data[at : at + 8] = bytes(8)
    with pytest.raises(PictureError, match=r"^damaged: cannot be decoded$"):
        pictures.inspect(bytes(data))


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ((50_000, 50_000), "more than 64 million pixels"),
        ((65_000, 10), "a side longer than 32768 pixels"),
        ((0, 10), "damaged: no size in its header"),
    ],
)
def test_bombs_are_refused_from_the_header(size, reason, monkeypatch):
    monkeypatch.setattr(Image, "open", lambda *_, **__: pytest.fail("a decoder was reached"))
    for read in (pictures.inspect, pictures.decode):
        with pytest.raises(PictureError) as refused:
            read(png_claiming(*size))
        assert refused.value.reason == reason


def test_webp_and_jpeg_bombs_are_refused_from_the_header(photo, monkeypatch):
    jpeg = bytearray(encoded(photo, "JPEG"))
    at = jpeg.index(b"\xff\xc0")
    jpeg[at + 5 : at + 9] = b"\xff\xff\xff\xff"
    canvas = b"VP8X" + struct.pack("<I", 10) + bytes(4) + b"\xff\x3f\x00\xff\x3f\x00"
    webp = b"RIFF" + struct.pack("<I", 4 + len(canvas)) + b"WEBP" + canvas
    monkeypatch.setattr(Image, "open", lambda *_, **__: pytest.fail("a decoder was reached"))
    for data in (bytes(jpeg), webp):
        with pytest.raises(PictureError, match=r"^more than 64 million pixels$"):
            pictures.inspect(data)


def test_large_files_are_refused_unread(photo, monkeypatch):
    monkeypatch.setattr("stereotrope.pictures.container.MAX_BYTES", 1024 * 1024)
    with pytest.raises(PictureError, match=r"^larger than 1 MiB$"):
        pictures.inspect(encoded(photo, "PNG") + bytes(1024 * 1024))


def test_files_of_endless_chunks_or_scans_are_refused(photo, monkeypatch):
    empty = chunk(b"teSt", b"")
    png = encoded(photo, "PNG")
    monkeypatch.setattr("stereotrope.pictures.container.MAX_CHUNKS", 50)
    with pytest.raises(PictureError, match=r"^damaged: too many chunks$"):
        pictures.inspect(png[:33] + empty * 60 + png[33:])
    monkeypatch.setattr("stereotrope.pictures.container.MAX_SCANS", 3)
    with pytest.raises(PictureError, match=r"^damaged: too many scans$"):
        pictures.inspect(encoded(photo, "JPEG", progressive=True))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
@pytest.mark.parametrize(
    ("tail", "what"),
    [
        (b"PK\x03\x04evil", "ZIP"),
        (b"\n<!doctype HTML><script>alert(1)</script>", "HTML"),
        (b"%PDF-1.4", "PDF"),
        (b"<?php system('x');", "a script"),
        (b"MZ\x90", "a program"),
        (b"7z\xbc\xaf\x27\x1c", "an archive"),
    ],
)
def test_polyglots_are_refused(photo, kind, tail, what):
    with pytest.raises(PictureError) as refused:
        pictures.inspect(encoded(photo, kind) + tail)
    assert refused.value.reason == f"polyglot: {what} after the end of the picture"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_harmless_bytes_after_the_end_change_nothing(photo, kind):
    data = encoded(photo, kind)
    assert pictures.inspect(data + bytes(7)) == (60, 40)
    np.testing.assert_array_equal(pictures.decode(data + bytes(7)), pictures.decode(data))


def test_a_jpeg_with_an_appended_preview_is_read_as_its_first_picture(photo):
    first, preview = encoded(photo, "JPEG"), encoded(photo.resize((6, 4)), "JPEG")
    assert pictures.inspect(first + preview) == (60, 40)
    assert pictures.decode(first + preview).shape == (40, 60, 3)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_pictures_are_turned_upright(photo, orientation, kind):
    options = {} if kind == "PNG" else {"quality": 95}
    if kind == "WEBP":
        options["lossless"] = True
    data = encoded(photo, kind, exif=turned(orientation), **options)
    upright = pictures.decode(data)
    width, height = (60, 40) if orientation < 5 else (40, 60)
    assert upright.shape == (height, width, 3)
    assert pictures.inspect(data) == (width, height)
    corners = {1: (0, 0), 2: (0, -1), 3: (-1, -1), 4: (-1, 0), 5: (0, 0), 6: (0, -1), 7: (-1, -1), 8: (-1, 0)}
    red = upright[corners[orientation]]
    assert red[0] > 200
    assert red[1:].max() < 60


def test_broken_exif_is_read_as_upright(photo):
    data = encoded(photo, "JPEG", exif=b"Exif\x00\x00II*\x00\xff\xff\xff\xff")
    assert pictures.inspect(data) == (60, 40)


def test_alpha_is_laid_over_white():
    clear = Image.new("RGBA", (4, 4), (255, 0, 0, 0))
    clear.putpixel((0, 0), (0, 0, 255, 255))
    clear.putpixel((1, 0), (0, 0, 0, 128))
    for kind in ("PNG", "WEBP"):
        seen = pictures.decode(encoded(clear, kind, **({"lossless": True} if kind == "WEBP" else {})))
        assert seen[0, 0].tolist() == [0, 0, 255]
        assert abs(int(seen[0, 1, 0]) - 127) <= 1
        assert seen[3, 3].tolist() == [255, 255, 255]


def test_palettes_with_and_without_a_clear_colour():
    image = Image.new("P", (2, 1))
    image.putpalette([10, 20, 30, 200, 100, 50])
    image.putpixel((1, 0), 1)
    assert pictures.decode(encoded(image, "PNG")).tolist() == [[[10, 20, 30], [200, 100, 50]]]
    assert pictures.decode(encoded(image, "PNG", transparency=1))[0, 1].tolist() == [255, 255, 255]
    assert pictures.decode(encoded(image, "PNG", transparency=b"\xff\x00"))[0, 1].tolist() == [255, 255, 255]


@pytest.mark.parametrize(("deep", "shallow"), [(0, 0), (65535, 255), (257 * 100, 100)])
def test_sixteen_bits_become_eight(deep, shallow):
    data = encoded(Image.fromarray(np.full((3, 3), deep, dtype=np.uint16)), "PNG")
    assert data[24] == 16
    assert (pictures.decode(data) == shallow).all()


@pytest.mark.parametrize("mode", ["1", "L", "LA"])
def test_grey_pictures_become_rgb(photo, mode):
    seen = pictures.decode(encoded(photo.convert(mode), "PNG"))
    assert seen.shape == (40, 60, 3)
    assert (seen[..., 0] == seen[..., 2]).all()


def test_cmyk_keeps_its_colours():
    red = Image.new("RGB", (16, 16), (220, 20, 20)).convert("CMYK")
    seen = pictures.decode(encoded(red, "JPEG", quality=95))
    assert np.abs(seen.astype(int) - (220, 20, 20)).max() < 12


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_animations_give_their_first_frame(photo, kind):
    red, blue = Image.new("RGB", (8, 8), (250, 0, 0)), Image.new("RGB", (8, 8), (0, 0, 250))
    data = encoded(red, kind, save_all=True, append_images=[blue], duration=100)
    assert Image.open(io.BytesIO(data)).n_frames == 2
    assert pictures.decode(data)[0, 0, 0] > 240


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_an_srgb_profile_changes_nothing_seen(photo, kind):
    options = {"lossless": True} if kind == "WEBP" else {}
    plain = pictures.decode(encoded(photo, kind, **options)).astype(int)
    assert (
        np.abs(pictures.decode(encoded(photo, kind, icc_profile=SRGB, **options)).astype(int) - plain).max()
        <= 2
    )


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_broken_profile_is_ignored(photo, kind):
    data = encoded(photo, kind, icc_profile=b"broken" * 30)
    assert pictures.inspect(data) == (60, 40)
    np.testing.assert_array_equal(pictures.decode(data), pictures.decode(encoded(photo, kind)))


def swapped_primaries() -> bytes:
    """A profile that takes red for green."""
    profile = bytearray(SRGB)
    tags = {SRGB[at : at + 4]: at for at in range(132, 132 + 12 * int.from_bytes(SRGB[128:132]), 12)}
    profile[tags[b"rXYZ"] : tags[b"rXYZ"] + 4] = b"gXYZ"
    profile[tags[b"gXYZ"] : tags[b"gXYZ"] + 4] = b"rXYZ"
    return bytes(profile)


def test_a_profile_of_other_primaries_is_applied():
    data = encoded(Image.new("RGB", (4, 4), (255, 0, 0)), "PNG", icc_profile=swapped_primaries())
    assert pictures.decode(data)[0, 0].tolist() == pytest.approx([0, 255, 0], abs=3)


def test_a_profile_that_inflates_without_end_is_ignored(monkeypatch):
    monkeypatch.setattr("stereotrope.pictures.container.MAX_PROFILE_BYTES", 100)
    data = encoded(Image.new("RGB", (4, 4), (255, 0, 0)), "PNG", icc_profile=swapped_primaries())
    assert pictures.decode(data)[0, 0].tolist() == [255, 0, 0]


def test_pictures_are_shrunk_and_never_enlarged(photo):
    data = encoded(photo, "PNG")
    assert pictures.decode(data, max_side=30).shape == (20, 30, 3)
    assert pictures.decode(data, max_side=600).shape == (40, 60, 3)
    assert pictures.decode(encoded(photo.resize((200, 1)), "PNG"), max_side=20).shape == (1, 20, 3)


def test_mangled_bytes_are_read_or_refused_and_nothing_else(photo):
    rng = random.Random(7)
    seeds = [
        encoded(photo, "PNG", icc_profile=SRGB, exif=turned(6)),
        encoded(photo, "JPEG", icc_profile=SRGB, exif=turned(6)),
        encoded(photo, "JPEG", progressive=True),
        encoded(photo, "WEBP", icc_profile=SRGB, exif=turned(6)),
        encoded(photo, "WEBP", save_all=True, append_images=[photo.rotate(90)]),
        encoded(photo.convert("P"), "PNG", transparency=3),
        encoded(photo.convert("CMYK"), "JPEG"),
    ]
    reasons = []
    for _ in range(1500):
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.choice([1, 4, 30])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            pictures.decode(bytes(data))
        except PictureError as refused:
            reasons.append(refused.reason)
    assert 100 < len(reasons) < 1400
    assert all(0 < len(reason) < 80 for reason in reasons)


def test_real_pictures_are_all_accepted(shared: Path):
    files = sorted((shared / "data" / "occupations" / "images").iterdir())
    for file in files[::10]:
        assert max(pictures.inspect(file.read_bytes())) == 384
