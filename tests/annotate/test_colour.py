from __future__ import annotations

import io
import random
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.annotate import slow_colour

from stereotrope.annotate import ColourAnnotator, Picture, palette
from stereotrope.generate import CalibratedGenerator, ImageRequest

ANNOTATOR = ColourAnnotator()


def colours_of(picture: Picture) -> tuple[str | None, str | None]:
    product, background = ANNOTATOR.process(picture)
    assert (product.attribute, background.attribute) == ("product_colour", "background_colour")
    return product.value, background.value


def assert_as_before(picture: Picture) -> None:
    for label, (name, confidence) in zip(
        ANNOTATOR.process(picture), slow_colour.colours(picture), strict=True
    ):
        assert label.value == name
        assert label.confidence == (None if confidence is None else round(confidence, 4))


def test_labels_are_those_of_the_plain_reference(drawing):
    for pair, sigma in ((("red", "white"), 0), (("navy", "beige"), 6), (("white", "white"), 0)):
        assert_as_before(drawing.picture(drawing.noisy(drawing.cup(*pair), sigma)))
    wide = np.random.default_rng(0).integers(0, 256, (60, 150, 3)).astype(np.uint8)
    assert_as_before(drawing.picture(Image.fromarray(wide)))
    generator = CalibratedGenerator(size=512)
    for seed, thing in enumerate(("cup", "car", "clock", "sofa")):
        text = f"{thing}, one product only, no people"
        made = generator.process(ImageRequest("i", "p", "calibrated", text, None, seed, {}, None))
        assert_as_before(Picture("i", "0" * 64, made.data))


def test_labels_of_photographs_are_those_of_the_plain_reference(shared: Path):
    for file in sorted((shared / "data" / "occupations" / "images").iterdir())[::25]:
        assert_as_before(Picture("a", "0" * 64, file.read_bytes()))


def test_plain_products_are_named_on_every_background(drawing):
    pairs = random.Random(3).sample(list(permutations(drawing.colours, 2)), 36)
    seen = {pair: colours_of(drawing.picture(drawing.cup(*pair))) for pair in pairs}
    assert {pair: names for pair, names in seen.items() if names != pair} == {}


@pytest.mark.parametrize("colour", ["white", "navy", "red", "beige"])
def test_a_product_of_the_backgrounds_colour_has_that_colour(drawing, colour):
    assert colours_of(drawing.picture(drawing.cup(colour, colour))) == (colour, colour)


@pytest.mark.parametrize("pair", [("red", "white"), ("navy", "beige"), ("white", "blue"), ("green", "grey")])
def test_light_noise_size_and_jpeg_do_not_change_the_names(drawing, pair):
    image = drawing.cup(*pair)
    variants = {
        "jpeg": drawing.picture(image, "JPEG", quality=60),
        "webp": drawing.picture(image, "WEBP", quality=60),
        "noise": drawing.picture(drawing.noisy(image, 6)),
        "shade": drawing.picture(drawing.shaded(image, 0.12)),
        "large": drawing.picture(image.resize((640, 640))),
        "flipped": drawing.picture(image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)),
        "shifted": drawing.picture(
            image.transform(image.size, 0, (1, 0, 14, 0, 1, 10), fillcolor=image.getpixel((2, 2)))
        ),
        "grown": drawing.picture(image.resize((330, 256))),
    }
    assert {name: colours_of(p) for name, p in variants.items() if colours_of(p) != pair} == {}


def test_calibrated_pictures_are_read(drawing):
    generator = CalibratedGenerator(size=384)
    prompts = [
        f"{o}{cue}, one product only, no people"
        for o in ("cup", "car", "clock", "sofa")
        for cue in ("", " for women", " for men", " for elderly", " for Black people")
    ]
    right = total = 0
    for seed, text in enumerate(prompts * 2):
        request = ImageRequest("i", "p", "calibrated", text, None, seed, {}, None)
        result = generator.process(request)
        if result.data is None:
            continue
        planted = generator.values(text, seed)
        seen = colours_of(Picture("i", "0" * 64, result.data))
        right += (seen[0] == planted["product_colour"]) + (seen[1] == planted["background_colour"])
        total += 2
    assert total >= 70
    assert right / total >= 0.97


def test_confidence_is_a_share_and_falls_with_a_second_colour(drawing):
    plain = drawing.cup("red", "white")
    striped = plain.copy()
    striped.paste((45, 110, 210), (80, 110, 168, 150))
    one, two = (ANNOTATOR.process(drawing.picture(p))[0] for p in (plain, striped))
    assert one.value == two.value == "red"
    assert 0 < two.confidence < one.confidence <= 1
    assert "of the product" in one.rationale


def test_an_empty_picture_has_a_background_and_no_product():
    product, background = ANNOTATOR.process(_flat((240, 240, 240)))
    assert (product.value, product.status, background.value) == (None, "unclear", "white")
    assert product.rationale == "hardly any product stands out"


def _flat(rgb: tuple[int, int, int], size: tuple[int, int] = (64, 64)) -> Picture:
    out = io.BytesIO()
    Image.new("RGB", size, rgb).save(out, "PNG")
    return Picture("id", "0" * 64, out.getvalue())


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (1, 300), (300, 1), (5, 4)])
def test_tiny_pictures_do_not_fail(size):
    assert len(ANNOTATOR.process(_flat((200, 30, 30), size))) == 2


def test_pure_noise_does_not_fail(drawing):
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (80, 90, 3)).astype(np.uint8))
    for label in ANNOTATOR.process(drawing.picture(noise)):
        assert label.status in ("ok", "unclear")


def test_the_same_picture_gives_the_same_labels(drawing):
    image = drawing.noisy(drawing.cup("teal", "brown"), 8)
    assert ANNOTATOR.process(drawing.picture(image)) == ColourAnnotator().process(drawing.picture(image))


def test_the_fingerprint_holds_palette_and_thresholds(monkeypatch):
    before = ColourAnnotator().fingerprint
    assert before == ColourAnnotator().fingerprint
    monkeypatch.setattr("stereotrope.annotate.colour.CLUSTERS", 7)
    clusters = ColourAnnotator().fingerprint
    monkeypatch.undo()
    monkeypatch.setattr("stereotrope.annotate.foreground.SOLID", 0.1)
    solid = ColourAnnotator().fingerprint
    monkeypatch.undo()
    known = palette.read_palette()
    monkeypatch.setattr(
        palette, "read_palette", lambda: palette.Palette(known.anchors, known.lab, known.data + b"# edited")
    )
    assert len({before, clusters, solid, ColourAnnotator().fingerprint}) == 4


def test_real_photographs_have_stable_backgrounds(shared: Path):
    files = sorted((shared / "data" / "occupations" / "images").iterdir())[::15]
    names = set(palette.read_palette().names)
    same = 0
    for file in files:
        data = file.read_bytes()
        first = ANNOTATOR.process(Picture("a", "0" * 64, data))
        pixels = Image.fromarray(Picture("a", "0" * 64, data).pixels())
        again = ANNOTATOR.process(Picture("a", "0" * 64, _jpeg(pixels, 80)))
        assert all(label.value in names or label.status == "unclear" for label in first)
        same += first[1].value == again[1].value
    assert same / len(files) >= 0.8


def _jpeg(image: Image.Image, quality: int) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality)
    return out.getvalue()
