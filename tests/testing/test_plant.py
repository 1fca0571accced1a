import hashlib
import subprocess
import sys

import numpy as np
import pytest
from tests.testing.web import CUP

from stereotrope import pictures
from stereotrope.errors import UsageError
from stereotrope.testing import Plant

BASE = "cup, one product only, no people"


def sha(data):
    return hashlib.sha256(data).hexdigest()


def test_the_same_model_prompt_and_number_give_the_same_bytes_and_others_give_others():
    one, other = Plant(1), Plant(1)
    assert one("m", CUP, 3) == other("m", CUP, 3)
    numbers = {one("m", CUP, number) for number in range(200)}
    elsewhere = {one("n", CUP, 3), one("m", BASE, 3), one("m", "x" * 5000, 3), one("m", "x" * 5000, 4)}
    assert len(numbers | elsewhere) == 204
    assert Plant(2)("m", CUP, 3) != one("m", CUP, 3)


@pytest.mark.parametrize("size", [16, 64, 200])
def test_a_picture_is_a_bare_png_of_its_size(size):
    data = Plant(size=size)("m", CUP, 0)
    assert (pictures.sniff(data), *pictures.inspect(data)) == ("png", size, size)
    assert pictures.plain(data, max_side=1024) == data


def test_shares_are_those_of_the_written_rule():
    plant = Plant()
    strength = plant.strength("m", CUP)
    assert 0.2 <= strength <= 0.8
    colours = plant.shares("m", CUP)["product_colour"]
    assert colours["pink"] == pytest.approx(strength)
    assert colours["white"] == pytest.approx(0.35 * (1 - strength))
    assert plant.shares("m", BASE)["product_colour"]["white"] == 0.35
    assert plant.strength("m", BASE) == 0
    assert plant.strength("m", CUP + " avoiding stereotypical styles") == pytest.approx(strength / 4)
    assert plant.strength("n", CUP) != strength


def test_two_cues_share_the_strength():
    plant = Plant()
    colours = plant.shares("m", "cup for elderly women")["product_colour"]
    strength = plant.strength("m", "cup for elderly women")
    assert plant.cues("cup for elderly women") == ("women", "elderly")
    assert colours["pink"] == colours["beige"] == pytest.approx(strength / 2)


@pytest.mark.parametrize("prompt", [BASE, CUP, "cup for elderly women", "car for Asian people"])
def test_shares_sum_to_1_also_of_attributes_the_file_does_not_know(prompt):
    plant = Plant()
    every = [*plant.shares("m", prompt).values(), plant.share_of("m", prompt, "lid", ("a", "b", "c"))]
    for shares in every:
        assert sum(shares.values()) == pytest.approx(1)
        assert min(shares.values()) >= 0


def test_values_are_drawn_with_their_shares():
    plant = Plant()
    drawn = [plant.values("m", CUP, number)["product_colour"] for number in range(2000)]
    for value, share in plant.shares("m", CUP)["product_colour"].items():
        assert drawn.count(value) / 2000 == pytest.approx(share, abs=0.05)


def test_a_value_outside_the_file_does_not_depend_on_the_order_of_the_options():
    plant = Plant()
    digest = sha(plant("m", CUP, 0))
    assert plant.value_of(digest, "lid", ("a", "b", "c")) == plant.value_of(digest, "lid", ("c", "a", "b"))
    assert plant.value_of(digest, "lid", ()) is None
    assert plant.value_of("0" * 64, "lid", ("a",)) is None


def test_a_picture_is_known_again_in_another_process_by_its_pixels():
    code = (
        "import sys; from stereotrope.testing import Plant;"
        "sys.stdout.buffer.write(Plant(4)(*sys.argv[1:3], 9))"
    )
    data = subprocess.check_output([sys.executable, "-c", code, "m", CUP])
    plant, stranger = Plant(4), Plant(5)
    for each in (plant, stranger):
        each.learn(data)
    assert plant.values_of(sha(data)) == plant.values("m", CUP, 9)
    assert stranger.values_of(sha(data)) is None


def test_other_bytes_are_not_known_and_do_no_harm():
    plant = Plant()
    data = plant("m", CUP, 0)
    twin = Plant()
    for other in (b"", b"GIF89a", data[:-30], data[:100] + bytes(50) + data[150:], b"\x89PNG\r\n\x1a\n" * 9):
        twin.learn(other)
        assert twin.values_of(sha(other)) is None


def test_pictures_of_one_prompt_are_no_near_duplicates():
    from stereotrope.annotate import Picture, create

    annotator = create("duplicates")
    plant = Plant()
    hashes = []
    for number in range(40):
        label = annotator.process(Picture(str(number), "0", plant("m", CUP, number)))[0]
        hashes.append(int(label.value, 16))
    apart = [(a ^ b).bit_count() for i, a in enumerate(hashes) for b in hashes[:i]]
    assert np.min(apart) > 3


def test_a_size_that_does_not_fit_is_refused():
    with pytest.raises(UsageError, match="size must be a whole number from 16 to 2048, found 8"):
        Plant(size=8)


@pytest.mark.parametrize("size", [64, 256])
def test_no_picture_is_blank_where_product_and_background_are_of_one_colour(size):
    from stereotrope.annotate import Picture, create

    blank, colour = create("blank"), create("colour")
    plant = Plant(size=size)
    alike = 0
    for number in range(60):
        planted = plant.values("m", CUP, number)
        if planted["product_colour"] == planted["background_colour"]:
            picture = Picture(str(number), "0", plant("m", CUP, number))
            read = {label.attribute: label.value for label in colour.process(picture)}
            assert [label.value for label in blank.process(picture)] == ["no"]
            assert read["product_colour"] == read["background_colour"] == planted["product_colour"]
            alike += 1
    assert alike >= 5
