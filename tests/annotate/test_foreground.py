from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from tests.annotate import slow_colour

from stereotrope.annotate import foreground
from stereotrope.annotate.clustering import k_means


def divided(image: Image.Image) -> foreground.Ground:
    small = image.resize((160, 160), Image.Resampling.BOX)
    return foreground.segment(foreground.relief(np.asarray(small)))


@pytest.mark.parametrize("pair", [("red", "white"), ("grey", "black"), ("white", "beige"), ("pink", "navy")])
def test_the_product_is_where_it_was_drawn(drawing, pair):
    ground = divided(drawing.cup(*pair))
    body = np.zeros((160, 160), dtype=bool)
    body[int(0.32 * 160) : int(0.74 * 160), int(0.3 * 160) : int(0.66 * 160)] = True
    assert ground.product[body].mean() > 0.97
    assert ground.product.mean() < 0.35
    assert ground.background[:30].all()
    assert not (ground.product & ground.background).any()


def test_a_gradient_is_background():
    ramp = (
        np.repeat(np.linspace(120, 235, 160)[None, :, None], 160, axis=0).repeat(3, axis=2).astype(np.uint8)
    )
    ground = foreground.segment(foreground.relief(ramp))
    assert ground.product.mean() < 0.01
    assert ground.background.mean() > 0.9


def test_a_product_cut_by_the_border_is_kept(drawing):
    person = drawing.cup("navy", "grey")
    person.paste(drawing.colours["navy"], (90, 190, 166, 256))
    assert divided(person).product[-1].any()


def test_print_on_the_wall_is_no_part_of_the_product(drawing):
    image = drawing.cup("red", "white")
    image.paste((20, 20, 20), (90, 46, 166, 74))
    found = foreground.relief(np.asarray(image.resize((160, 160), Image.Resampling.BOX)))
    box = (slice(27, 48), slice(55, 105))
    assert foreground.segment(found).product[30:44, 60:100].all()
    assert not foreground.segment(found, [box]).product[30:42, 60:100].any()


@pytest.mark.parametrize("size", [(160, 160), (107, 160), (9, 40), (40, 3), (2, 30), (30, 2)])
def test_pictures_are_divided_as_by_the_plain_reference(size):
    rng = np.random.default_rng(size)
    for cells in ((2, 3), (6, 5), (40, 40)):
        blocks = Image.fromarray(rng.integers(0, 256, (*cells, 3)).astype(np.uint8))
        for how in (Image.Resampling.NEAREST, Image.Resampling.BICUBIC):
            pixels = np.asarray(blocks.resize(size, how))
            ground = foreground.segment(foreground.relief(pixels))
            lab, product, background = slow_colour.divided(pixels)
            np.testing.assert_allclose(np.moveaxis(ground.lab, 0, -1), lab, atol=1e-9)
            assert (ground.product == product).all()
            assert (ground.background == background).all()


def test_clusters_find_well_apart_groups_in_any_order():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0, 0], [50, 0, 0], [0, 60, 0]])
    points = np.concatenate([c + rng.normal(0, 1, (40, 3)) for c in centres])
    for order in (np.arange(120), rng.permutation(120)):
        found, member = k_means(points[order].T.astype(np.float32), 3)
        assert len(found) == 3
        assert np.abs(np.sort(found, axis=0) - np.sort(centres, axis=0)).max() < 1
        assert len(set(zip(member.tolist(), (order // 40).tolist(), strict=True))) == 3


def test_equal_points_are_one_cluster():
    found, member = k_means(np.full((3, 9), 4.0, dtype=np.float32), 5)
    assert found.tolist() == [[4.0, 4.0, 4.0]]
    assert not member.any()


def test_the_hull_of_a_line_is_the_line():
    line = np.zeros((9, 9), dtype=bool)
    line[4, 2:7] = True
    assert (foreground.convex_hull(line) == line).all()
