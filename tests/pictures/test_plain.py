from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageCms, PngImagePlugin

from stereotrope import pictures
from stereotrope.errors import PictureError


def coded(image: Image.Image, kind: str = "PNG", **options) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def ramp(side: int = 48) -> Image.Image:
    x = np.linspace(0, 255, side)
    return Image.fromarray(
        np.stack([x + 0 * x[:, None], 255 - x[:, None] + 0 * x, 0 * x[:, None] + 0 * x], -1).astype(np.uint8)
    )


def turned() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = 3
    return exif


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_bare_picture_comes_back_byte_for_byte(kind, mode):
    data = coded(ramp().convert(mode), kind)
    assert pictures.plain(data, max_side=48) is data


def test_what_stands_beside_the_pixels_is_taken_off():
    note = PngImagePlugin.PngInfo()
    note.add_text("prompt", "a secret prompt")
    exif = Image.Exif()
    exif[0x010E] = "a secret prompt"
    for data in (
        coded(ramp(), pnginfo=note),
        coded(ramp(), "JPEG", comment=b"a secret prompt"),
        coded(ramp(), "JPEG", exif=exif),
        coded(ramp(), "WEBP", exif=exif, lossless=True),
        coded(ramp()) + b"a secret prompt",
    ):
        assert b"a secret prompt" in data
        shown = pictures.plain(data, max_side=64)
        assert b"a secret prompt" not in shown
        assert np.array_equal(pictures.decode(shown), pictures.decode(data))


@pytest.mark.parametrize(
    "data",
    [
        coded(ramp(), "JPEG", exif=turned()),
        coded(Image.fromarray(np.asarray(ramp().convert("L")).astype(np.uint16) * 200)),
        coded(ramp().convert("P")),
        coded(ramp().convert("RGBA")),
        coded(ramp(), transparency=(0, 255, 0)),
        coded(ramp().convert("CMYK"), "JPEG"),
        coded(ramp(), icc_profile=ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()),
        coded(ramp(), "WEBP", save_all=True, append_images=[ramp().rotate(90)]),
    ],
    ids=["turned", "16 bit", "palette", "alpha", "transparent colour", "CMYK", "profile", "animated"],
)
def test_what_others_might_show_otherwise_becomes_the_measured_copy(data):
    shown = pictures.plain(data, max_side=64)
    assert pictures.sniff(shown) == "png"
    assert Image.open(io.BytesIO(shown)).mode == "RGB"
    assert np.array_equal(pictures.decode(shown), pictures.decode(data))


def test_a_large_picture_is_shrunk():
    shown = pictures.plain(coded(ramp(200)), max_side=50)
    assert pictures.inspect(shown)[0] == 50
    assert np.array_equal(pictures.decode(shown), pictures.decode(coded(ramp(200)), max_side=50))


@pytest.mark.parametrize("data", [b"", b"<svg/>", coded(ramp())[:100]])
def test_what_is_no_sound_picture_is_refused(data):
    with pytest.raises(PictureError, match=r"empty|not a PNG|truncated"):
        pictures.plain(data, max_side=64)
