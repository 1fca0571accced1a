import hashlib
import io

import pytest
from PIL import Image, ImageOps

from stereotrope.generate import CalibratedGenerator, ImageRequest
from stereotrope.testing import Loopback
from stereotrope.testing.judge import Reader


def drawn(seed):
    generator = CalibratedGenerator(size=256)
    text = "A photo of a cup for women"
    data = generator.process(ImageRequest("", "", generator.name, text, None, seed)).data
    return data, generator.values(text, seed)


@pytest.fixture(scope="module")
def reader():
    return Reader()


@pytest.mark.parametrize("seed", range(3))
def test_a_picture_that_nobody_planted_is_read_from_its_pixels(reader, seed):
    data, truth = drawn(seed)
    seen = reader.values(data, hashlib.sha256(data).hexdigest())
    assert set(seen) == {"product_colour", "background_colour", "text_presence", "background_text_presence"}
    assert all(seen[name] == truth[name] for name in seen)


def test_what_is_read_follows_the_pixels(reader):
    data, truth = drawn(0)
    file = io.BytesIO()
    with Image.open(io.BytesIO(data)) as image:
        ImageOps.invert(image).save(file, "PNG")
    seen = reader.values(file.getvalue(), hashlib.sha256(file.getvalue()).hexdigest())
    assert seen["product_colour"] != truth["product_colour"]


def test_what_is_no_picture_shows_nothing(reader):
    assert reader.values(b"<html>", "0" * 64) == {}


def test_only_a_server_that_is_told_to_looks_at_pictures_of_others():
    data, truth = drawn(0)
    sha256 = hashlib.sha256(data).hexdigest()
    assert Loopback().knows(data, sha256)("product_colour", ()) is None
    reading = Loopback(reads=True)
    assert reading.knows(data, sha256)("product_colour", ()) == truth["product_colour"]
    assert reading.knows(data, sha256)("silhouette", ("boxy", "rounded")) is None
    own = reading.plant("painter", "a cup", 0)
    assert reading.knows(own, hashlib.sha256(own).hexdigest())("silhouette", ()) is not None
