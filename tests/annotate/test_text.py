from __future__ import annotations

import io
import json
import logging
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from stereotrope.annotate import Picture, TextAnnotator, text
from stereotrope.annotate.text import TextReading


@pytest.fixture(scope="module")
def annotator() -> TextAnnotator:
    made = TextAnnotator()
    made.setup()
    return made


def written(image: Image.Image, words: str, at: tuple[int, int], size: int = 30) -> Image.Image:
    image = image.copy()
    ImageDraw.Draw(image).text(at, words, font=ImageFont.load_default(size), fill=(20, 20, 20), anchor="mm")
    return image


def seen(annotator: TextAnnotator, picture) -> tuple[str | None, str | None]:
    product, background, *_ = annotator.process(picture)
    assert (product.attribute, background.attribute) == ("text_presence", "background_text_presence")
    return product.value, background.value


@pytest.mark.parametrize("pair", [("orange", "white"), ("white", "beige"), ("white", "white")])
def test_print_is_found_and_placed(drawing, annotator, pair):
    cup = drawing.cup(*pair)
    on_product = written(cup, "HELLO", (122, 138))
    on_both = written(on_product, "SALE", (128, 30))
    assert seen(annotator, drawing.picture(cup)) == ("absent", "absent")
    assert seen(annotator, drawing.picture(on_product, "JPEG", quality=75)) == ("present", "absent")
    assert seen(annotator, drawing.picture(written(cup, "SALE", (128, 30)))) == ("absent", "present")
    assert seen(annotator, drawing.picture(on_both)) == ("present", "present")


def test_letters_on_the_wall_that_touch_the_product_are_the_walls(drawing, annotator):
    touching = written(drawing.cup("orange", "white"), "STUDIO", (128, 60), 32)
    assert seen(annotator, drawing.picture(touching)) == ("absent", "present")


@pytest.mark.parametrize("times", [1, 4])
def test_the_words_are_kept_as_data_with_their_place(drawing, annotator, times):
    cup = written(drawing.cup("yellow", "white"), "OBEY ME", (122, 138), 24)
    width, height = cup.size[0] * times, cup.size[1] * times
    product, background, read = annotator.process(drawing.picture(cup.resize((width, height))))
    assert product.rationale == "OBEY ME"
    assert 0.7 <= product.confidence <= 1
    assert (background.value, background.rationale) == ("absent", None)
    assert (read.attribute, read.value, read.confidence) == ("text_words", "OBEY ME", product.confidence)
    left, top, right, bottom = json.loads(read.region)
    assert left < 122 * times < right < width
    assert top < 138 * times < bottom < height


@pytest.mark.parametrize("size", [(1, 1), (40, 3), (64, 64), (300, 20)])
def test_empty_pictures_have_no_text(drawing, annotator, size):
    assert seen(annotator, drawing.picture(Image.new("RGB", size, (250, 250, 250)))) == ("absent", "absent")


@pytest.mark.parametrize(("words", "size"), [("OK", 300), ("Hi", 330), ("11", 330), ("GO", 60)])
def test_two_letters_are_read_however_large_they_are(drawing, annotator, words, size):
    poster = written(Image.new("RGB", (512, 512), (240, 235, 220)), words, (256, 256), size)
    readings = [label.value for label in annotator.process(drawing.picture(poster)) if label.region]
    assert readings == [words]


def test_a_thing_that_fills_the_picture_is_not_read_as_a_letter(drawing, annotator, monkeypatch):
    ring = Image.new("RGB", (256, 256), (250, 250, 250))
    ImageDraw.Draw(ring).ellipse((18, 18, 238, 238), outline=(20, 20, 20), width=36)
    whole, _ = annotator._pair()
    looked_at: list[int] = []
    monkeypatch.setattr(whole, "recognize_txt", lambda crops: looked_at.append(len(crops)))
    assert seen(annotator, drawing.picture(ring)) == ("absent", "absent")
    boxes = whole(np.asarray(ring), use_det=True, use_cls=False, use_rec=False).boxes
    assert boxes is not None
    assert looked_at == []


@pytest.mark.parametrize(("side", "times"), [(256, 0), (320, 0), (321, 1), (512, 1)])
def test_the_product_is_looked_at_again_only_where_it_is_larger_then(
    drawing, annotator, monkeypatch, side, times
):
    looks: list[tuple[int, ...]] = []
    _, close = annotator._pair()

    def look(image, **options):
        looks.append(image.shape)
        return close(image, **options)

    monkeypatch.setattr(annotator, "_pair", lambda: (annotator._engines.pair[0], look))
    cup = drawing.cup("orange", "white").resize((side, side))
    assert seen(annotator, drawing.picture(cup)) == ("absent", "absent")
    assert len(looks) == times


def test_threads_read_the_same(drawing, annotator):
    pictures = [
        drawing.picture(written(drawing.cup("pink", "white"), w, (122, 138))) for w in ("ONE", "TWO", "SIX")
    ]
    alone = [annotator.process(p) for p in pictures]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(annotator.process, pictures)) == alone


def test_reading_is_silent(drawing, annotator, capfd, caplog):
    with caplog.at_level(logging.DEBUG):
        annotator.process(drawing.picture(Image.new("RGB", (64, 64), (250, 250, 250))))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("words", "confidence", "counts"),
    [
        ("HELLO", 0.9, True),
        ("HELLO", 0.69, False),
        ("I", 0.99, False),
        ("- -", 0.99, False),
        ("茶杯", 0.9, True),
    ],
)
def test_only_clear_readings_of_two_characters_count(words, confidence, counts):
    assert TextReading(words, confidence, (0, 0, 1, 1)).counts is counts


def test_the_fingerprint_holds_the_least_confidence(monkeypatch):
    before = TextAnnotator().fingerprint
    monkeypatch.setattr("stereotrope.annotate.text.MIN_CONFIDENCE", 0.5)
    assert TextAnnotator().fingerprint != before


@pytest.mark.parametrize(("left", "where"), [(0.2, "product"), (0.44, "background")])
def test_print_across_the_edge_belongs_where_most_of_it_lies(monkeypatch, left, where):
    """The product is the left half: of a box 0.2 wide, all lies on it or less than a third."""
    half = np.zeros((100, 100), dtype=bool)
    half[:, :50] = True
    reading = TextReading("NOVA", 0.99, (left, 0.4, left + 0.2, 0.5))
    monkeypatch.setattr(text, "_product", lambda relief, readings: half)
    calls = iter([[reading], []])
    monkeypatch.setattr(text, "_readings", lambda *_: next(calls))
    monkeypatch.setattr(TextAnnotator, "_pair", lambda self: (None, None))
    data = io.BytesIO()
    Image.new("RGB", (64, 64), "white").save(data, "PNG")
    product, background, *_ = TextAnnotator().process(Picture("i", "0", data.getvalue()))
    assert (product.value == "present") == (where == "product")
    assert (background.value == "present") == (where == "background")
