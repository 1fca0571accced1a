"""Text that a model puts at one place of its pictures."""

from __future__ import annotations

import itertools
import json

import numpy as np
import polars as pl
import pytest

from stereotrope.annotate.label import labels_frame
from stereotrope.annotate.marks import discount_marks, find_marks

SIZE = 500
PLACES = {
    "bottom right": (420, 470, 490, 490),
    "top left": (10, 8, 90, 30),
    "bottom": (180, 470, 320, 492),
    "middle": (150, 230, 350, 280),
}


def pictures(
    generators=("m",), objects=("car", "cup"), groups=("base", "women", "men"), n=10
) -> pl.DataFrame:
    keys = itertools.product(generators, objects, groups, range(n))
    return pl.DataFrame(
        [
            {
                "image_id": f"{m}-{o}-{g}-{i}",
                "generator": m,
                "prompt_id": f"{o}-{g}",
                "object": o,
                "group": g,
                "width": SIZE,
                "height": SIZE,
            }
            for m, o, g, i in keys
        ]
    )


def read(images: pl.DataFrame, box, words, rates: dict[str, float], *, seed: int = 0, jitter: int = 2):
    """Readings of a text in a share of the pictures of each group."""
    rng = np.random.default_rng(seed)
    rows = []
    for image, group in images.select("image_id", "group").iter_rows():
        if rng.uniform() < rates.get(group, rates.get("", 0.0)):
            text = words if isinstance(words, str) else str(rng.choice(words))
            moved = (np.array(box) + rng.integers(-jitter, jitter + 1, 4)).tolist()
            rows.append({"image_id": image, "words": text, "region": json.dumps(moved)})
    return pl.DataFrame(rows, schema=dict.fromkeys(("image_id", "words", "region"), pl.String))


@pytest.mark.parametrize("place", list(PLACES))
def test_the_same_text_at_one_place_of_all_pictures_is_a_mark(place: str) -> None:
    images = pictures()
    readings = read(images, PLACES[place], "ACME", {"": 0.95})
    found = find_marks(readings, images)
    assert found.height == readings.height
    assert found["mark"].unique().to_list() == ["ACME"]
    assert found["place"].unique().to_list() == [place]


@pytest.mark.parametrize("rates", [{"": 0.3}, {"base": 0.9, "women": 0.45, "men": 0.6}])
@pytest.mark.parametrize("place", ["bottom right", "top left", "bottom"])
def test_a_faint_mark_at_an_edge_is_one_although_it_is_read_badly(place: str, rates) -> None:
    images = pictures(n=20)
    readings = read(images, PLACES[place], ["ACME", "ACNE", "ACME.", "AGME"], rates)
    assert find_marks(readings, images).height == readings.height


def test_signatures_and_dates_in_a_corner_are_marks_whatever_they_read_as() -> None:
    images = pictures()
    dates = [f"{year}-{month:02}-17" for year in (1997, 2003, 2024) for month in range(1, 13)]
    for words in (dates, ["Ann", "Mrlo", "xv", "Tzk", "ohne", "Qli"]):
        readings = read(images, PLACES["bottom right"], words, {"": 0.8})
        assert find_marks(readings, images).height == readings.height
        assert find_marks(read(images, PLACES["middle"], words, {"": 0.8}), images).height == 0


@pytest.mark.parametrize("place", list(PLACES))
@pytest.mark.parametrize(
    "rates",
    [
        {"women": 1.0},
        {"women": 0.9, "base": 0.05, "men": 0.1},
        {"women": 0.9, "men": 0.9},
        {"women": 0.6, "men": 0.05},
    ],
)
def test_text_that_a_cue_brings_is_no_mark_wherever_it_stands(place: str, rates) -> None:
    images = pictures()
    for seed in range(5):
        assert find_marks(read(images, PLACES[place], "SALE", rates, seed=seed), images).height == 0


def test_text_of_one_object_is_no_mark() -> None:
    images = pictures()
    cups = read(images.filter(object="cup"), PLACES["bottom"], "TEA", {"": 1.0})
    assert find_marks(cups, images).height == 0


@pytest.mark.parametrize("others", [0, 1])
def test_text_in_the_middle_of_pictures_of_one_object_is_its_own(others: int) -> None:
    rare = pictures(objects=("cup",), groups=("base",), n=others)
    images = pl.concat([pictures(objects=("car",)), rare]) if others else pictures(objects=("car",))
    assert find_marks(read(images, PLACES["middle"], "POLICE", {"": 1.0}), images).height == 0
    assert find_marks(read(images, PLACES["bottom right"], "ACME", {"": 1.0}), images).height == images.height
    unnamed = images.drop("object")
    assert find_marks(read(unnamed, PLACES["middle"], "ACME", {"": 1.0}), unnamed).height == images.height


def test_text_at_many_places_is_no_mark() -> None:
    images = pictures(n=30)
    rng = np.random.default_rng(1)
    rows = [
        {"image_id": i, "words": "SALE", "region": json.dumps([x, y, x + 60, y + 25])}
        for i in images["image_id"]
        for x, y in [rng.integers(0, 430, 2).tolist()]
    ]
    assert find_marks(pl.DataFrame(rows), images).height == 0


def test_each_model_is_looked_at_by_itself_and_may_have_two_marks() -> None:
    images = pictures(generators=("m", "n"))
    own = images.filter(generator="m")
    readings = pl.concat(
        [
            read(own, PLACES["bottom right"], "ACME", {"": 1.0}),
            read(own, PLACES["top left"], "BETA", {"": 0.9}),
            read(images, PLACES["middle"], ["ONE", "TWO", "CAR"], {"women": 0.8, "": 0.1}),
        ]
    )
    found = find_marks(readings, images)
    assert sorted(found["mark"].unique()) == ["ACME", "BETA"]
    assert found["image_id"].str.starts_with("m-").all()


def test_pictures_of_one_prompt_and_few_pictures_show_no_mark() -> None:
    one = pictures(objects=("car",), groups=("base",))
    assert find_marks(read(one, PLACES["bottom right"], "ACME", {"": 1.0}), one).height == 0
    four = pictures(objects=("car",), groups=("base", "women"), n=2)
    assert find_marks(read(four, PLACES["bottom right"], "ACME", {"": 1.0}), four).height == 0
    none = pl.DataFrame(schema=dict.fromkeys(("image_id", "words", "region"), pl.String))
    assert find_marks(none, one).height == 0


def test_one_picture_a_prompt_is_enough_where_there_are_many_prompts() -> None:
    images = pictures(objects=tuple(f"o{i}" for i in range(40)), groups=("base",), n=1)
    readings = read(images, PLACES["bottom right"], "ACME", {"": 0.5})
    assert find_marks(readings, images).height == readings.height


def test_a_picture_on_which_only_a_mark_was_read_has_no_text() -> None:
    def label(image: str, attribute: str, value: str, region: str | None = None) -> dict:
        fixed = {"subject_kind": "image", "annotator": "text", "status": "ok", "confidence": 0.9}
        return {**fixed, "subject_id": image, "attribute": attribute, "value": value, "region": region}

    labels = labels_frame(
        [
            label("a", "text_presence", "absent"),
            label("a", "background_text_presence", "present"),
            label("a", "background_text_words", "ACME", "[1]"),
            label("b", "text_presence", "present"),
            label("b", "background_text_presence", "present"),
            label("b", "text_words", "NOVA", "[2]"),
            label("b", "background_text_words", "ACME", "[1]"),
            label("b", "background_text_words", "SALE", "[3]"),
            label("a", "text_mark", "ACME", "[1]"),
            label("b", "text_mark", "ACME", "[1]"),
        ]
    )
    counted = discount_marks(labels)
    assert counted.select("subject_id", "attribute").equals(labels.select("subject_id", "attribute"))
    presence = counted.filter(pl.col("attribute").str.ends_with("presence"))
    assert presence.select("value", "written", "confidence").rows() == [
        ("absent", None, 0.9),
        ("absent", "present", None),
        ("present", None, 0.9),
        ("present", None, 0.9),
    ]
    without = labels.filter(pl.col("attribute") != "text_mark")
    assert discount_marks(without).equals(without)


@pytest.mark.parametrize("place", list(PLACES))
def test_lettering_that_the_prompt_asks_for_is_no_mark(place: str) -> None:
    images = pictures(objects=("car", "cup")).rename({"object": "thing"})
    asked = images.with_columns(text="a " + pl.col("thing") + ' with the words "Open late", no people')
    readings = read(images, PLACES[place], "OPEN LATE!", {"": 0.95})
    assert find_marks(readings, images).height == readings.height
    assert find_marks(readings, asked).height == 0
    unknown = images.with_columns(text=pl.lit(None, pl.String))
    assert find_marks(readings, unknown).height == readings.height
    signs = read(images, PLACES[place], "©", {"": 0.95})
    assert find_marks(signs, unknown).height == find_marks(signs, asked).height == signs.height
    other = read(images, PLACES[place], "ENLATE", {"": 0.95})  # the end of one word and the next
    assert find_marks(other, asked).height == other.height
