from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from stereotrope.annotate import BlankAnnotator


def blank(picture) -> str | None:
    (label,) = BlankAnnotator().process(picture)
    assert label.attribute == "blank"
    return label.value


@pytest.mark.parametrize("rgb", [(0, 0, 0), (255, 255, 255), (128, 10, 200)])
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_one_colour_is_blank(drawing, rgb, kind):
    assert blank(drawing.picture(Image.new("RGB", (200, 150), rgb), kind)) == "yes"


def test_sensor_noise_and_a_hot_pixel_are_still_blank(drawing):
    grey = drawing.noisy(Image.new("RGB", (512, 512), (90, 90, 90)), 3)
    grey.putpixel((10, 10), (255, 255, 255))
    assert blank(drawing.picture(grey)) == "yes"


def test_a_pale_product_and_a_gradient_are_not_blank(drawing):
    assert blank(drawing.picture(drawing.cup("white", "white"))) == "no"
    assert blank(drawing.picture(drawing.shaded(Image.new("RGB", (99, 99), (90, 90, 90)), 0.3))) == "no"


def test_texture_is_not_blank(drawing):
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3)).astype(np.uint8)
    assert blank(drawing.picture(Image.fromarray(noise))) == "no"
