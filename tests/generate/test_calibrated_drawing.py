"""The drawings: every shape in every colour, colour that can be measured, text that can be seen."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stereotrope.generate import Truth
from stereotrope.generate.calibrated.canvas import ink_on, luminance
from stereotrope.generate.calibrated.scene import PRODUCTS, Scene, draw

TRUTH = Truth.load()
SHAPES = [(thing, shape) for thing, shapes in PRODUCTS.items() for shape in shapes]
CONTRASTING = {
    "white": "navy",
    "grey": "yellow",
    "beige": "blue",
    "pink": "green",
    "navy": "white",
    "black": "white",
}


def picture(
    thing: str,
    shape: str,
    product: str,
    background: str,
    *,
    word: str | None = None,
    wall: str | None = None,
    seed: int = 0,
    size: int = 160,
) -> NDArray[np.uint8]:
    scene = Scene(
        thing, shape, TRUTH.colours[product].product, TRUTH.colours[background].background, word, wall
    )
    return np.asarray(draw(scene, size, np.random.default_rng(seed)))


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """CIELAB of sRGB in 0–255, white D65, written here apart from the product's own code."""
    c = rgb / 255.0
    c = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    xyz = c @ np.array([[0.4124, 0.2126, 0.0193], [0.3576, 0.7152, 0.1192], [0.1805, 0.0722, 0.9505]])
    t = xyz / np.array([0.9505, 1.0, 1.089])
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack(
        [116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1
    )


def dominant(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of the ball of 14 CIELAB units that holds most, among balls about the cells of a grid of 7."""
    cells, counts = np.unique(np.round(values / 7.0), axis=0, return_counts=True)
    centres = cells[np.argsort(-counts)[:40]] * 7.0
    within = np.linalg.norm(values[:, None, :] - centres[None], axis=-1) < 14.0
    out: NDArray[np.float64] = values[within[:, within.sum(axis=0).argmax()]].mean(axis=0)
    return out


@pytest.mark.parametrize(
    ("thing", "shape", "colours"),
    [
        # Each shape in a third of the colours, each colour in a third of the shapes.
        *((*shape, list(TRUTH.colours)[i % 3 :: 3]) for i, shape in enumerate(SHAPES)),
        *(pytest.param(*shape, list(TRUTH.colours), marks=pytest.mark.slow) for shape in SHAPES),
    ],
)
def test_every_colour_can_be_drawn_and_seen(thing: str, shape: str, colours: list[str]) -> None:
    for colour in colours:
        background = CONTRASTING.get(colour, "white")
        pixels = picture(thing, shape, colour, background).astype(np.float64)
        planted = lab(np.array(TRUTH.colours[colour].product, dtype=np.float64))
        wall = lab(np.array(TRUTH.colours[background].background, dtype=np.float64))
        values = lab(pixels)
        product = np.linalg.norm(values - wall, axis=-1) > 26
        found = dominant(values[product])
        assert np.linalg.norm(found - planted) < 13, (colour, found, planted)
        assert 0.06 < product.mean() < 0.6
        assert np.linalg.norm(np.median(values[:14].reshape(-1, 3), axis=0) - wall) < 8


@pytest.mark.parametrize(("thing", "shape"), SHAPES)
@pytest.mark.parametrize("colour", ["white", "black", "beige"])
def test_product_stands_out_from_a_background_of_its_own_colour(thing: str, shape: str, colour: str) -> None:
    lightness = lab(picture(thing, shape, colour, colour).astype(np.float64))[..., 0]
    steps = np.abs(np.diff(lightness, axis=1)) > 2.5
    assert steps[28:].sum() > 200, steps[28:].sum()
    assert not steps[:14].any()


@pytest.mark.parametrize(("thing", "shape"), SHAPES)
def test_a_printed_word_changes_the_product_and_nothing_else(thing: str, shape: str) -> None:
    plain = picture(thing, shape, "blue", "white", size=256).astype(int)
    printed = picture(thing, shape, "blue", "white", word="NOVA", size=256).astype(int)
    changed = np.abs(plain - printed).max(axis=-1) > 60
    assert 120 < changed.sum() < 6_000
    assert not changed[:52].any()
    rows, columns = np.nonzero(changed)
    assert rows.max() - rows.min() >= 9
    blue = np.array(TRUTH.colours["blue"].product)
    around = plain[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    assert (np.abs(around - blue).max(axis=-1) < 70).mean() > 0.6


@pytest.mark.parametrize("seed", range(3))
def test_a_word_on_the_wall_keeps_off_the_product(seed: int) -> None:
    for thing, shape in SHAPES:
        plain = picture(thing, shape, "red", "grey", seed=seed).astype(int)
        printed = picture(thing, shape, "red", "grey", wall="STUDIO", seed=seed).astype(int)
        changed = np.abs(plain - printed).max(axis=-1) > 40
        assert changed.sum() > 150
        assert not changed[int(160 * 0.185) :].any()
        was = plain[changed] - np.array(TRUTH.colours["grey"].background)
        assert np.abs(was).max() < 45, (thing, shape)


def test_ink_contrasts_with_every_colour_at_least_three_to_one() -> None:
    for swatch in TRUTH.colours.values():
        for colour in (swatch.product, swatch.background):
            a, b = sorted((luminance(colour), luminance(ink_on(colour))))
            assert (b + 0.05) / (a + 0.05) >= 3.0


@pytest.mark.parametrize("size", [32, 33, 100, 513])
def test_any_size_can_be_drawn(size: int) -> None:
    for thing, shapes in PRODUCTS.items():
        shape = next(iter(shapes))
        assert picture(thing, shape, "pink", "white", word="KITO", wall="OPEN", size=size).shape == (
            size,
            size,
            3,
        )


def test_pose_varies_with_the_seed() -> None:
    seen = {picture("cup", "mug", "red", "white", seed=seed, size=64).tobytes() for seed in range(20)}
    assert len(seen) == 20


def test_every_object_has_three_shapes_or_more() -> None:
    assert {thing: len(shapes) >= 3 for thing, shapes in PRODUCTS.items()} == dict.fromkeys(PRODUCTS, True)


@pytest.mark.parametrize(("thing", "shape"), SHAPES)
def test_no_product_is_cut_by_the_edge_of_the_picture(thing: str, shape: str) -> None:
    for seed in range(12):
        scene = Scene(thing, shape, (0, 220, 0), (230, 60, 200))
        pixels = np.asarray(draw(scene, 96, np.random.default_rng(seed))).astype(int)
        green = pixels[..., 1] - pixels[..., 0] > 40
        assert green.any()
        edges = np.concatenate([green[0], green[-1], green[:, 0], green[:, -1]])
        assert not edges.any()
