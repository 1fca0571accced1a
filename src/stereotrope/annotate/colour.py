"""Product colour and background colour."""

import numpy as np
from numpy.typing import NDArray

from stereotrope.annotate import foreground, palette
from stereotrope.annotate.clustering import Lab, k_means, median, quantile
from stereotrope.annotate.label import Attributes, Label
from stereotrope.annotate.morphology import eroded
from stereotrope.annotate.offline import OfflineAnnotator, offline
from stereotrope.annotate.picture import Picture
from stereotrope.tables import fingerprint_of

CLUSTERS = 6
"""Colours a part is divided into before shades of one hue are put together."""
MAX_POINTS = 4000
"""Pixels of a part that are clustered: every k-th, so that the share is known to about 1%."""
LIGHTNESS_WEIGHT = 0.6
"""Lightness counts less than hue and chroma when clustering: shading changes it most."""
CHROMATIC = 12.0
"""C*ab from which a cluster has a hue; below, it is black, grey or white."""
HUE_SPAN = 16.0
"""Degrees of hue within which clusters are lit and shaded sides of one colour."""
SHADE_SPAN = 40.0
"""L* within which clusters of one hue are lit and shaded sides of one colour."""
GREY_SPAN = 12.0
"""L* within which clusters without hue are one colour."""
_WEIGHTS = np.array([[LIGHTNESS_WEIGHT], [1.0], [1.0]])
NEAR_WHITE, NEAR_BLACK = 92.0, 18.0
"""L* from which the lit quarter makes a surface white; L* up to which the dark quarter makes it black."""
MIN_PRODUCT = 0.01
"""Share of the picture below which the product's colour is unclear."""
MIN_BACKGROUND = 0.02
"""Share of the picture below which the background's colour is unclear."""


@offline("product colour and background colour, named on a documented palette")
class ColourAnnotator(OfflineAnnotator):
    """Names the main colour of the product and of the background on a documented palette.

    Product and background are divided by contrast (:mod:`stereotrope.annotate.foreground`); the pixels
    of each are clustered in CIELAB, lit and shaded sides of one hue count as one colour, and the colour
    that covers most gets the name of its nearest palette anchor by CIEDE2000.

    ``confidence`` = share of the part in that colour × clearness of its name (see
    :meth:`stereotrope.annotate.palette.Palette.name`); in [0, 1]. ``unclear`` where product or background
    covers too little of the picture to be judged.
    """

    name = "colour"
    in_processes = True
    attributes: Attributes = dict.fromkeys(("product_colour", "background_colour"))

    @property
    def fingerprint(self) -> str:
        """Name, version, thresholds, segmentation and palette."""
        parameters = {
            "colour": [
                *(CLUSTERS, MAX_POINTS, LIGHTNESS_WEIGHT, CHROMATIC),
                *(HUE_SPAN, SHADE_SPAN, GREY_SPAN, NEAR_WHITE, NEAR_BLACK),
            ],
            "least": [MIN_PRODUCT, MIN_BACKGROUND],
            "foreground": foreground.foreground_parameters(),
        }
        return fingerprint_of(self.name, self.version, parameters, palette.read_palette().data)

    def process(self, picture: Picture) -> list[Label]:
        """Label product and background colour."""
        ground = foreground.segment(foreground.relief(picture.pixels(foreground.WORK_SIDE)))
        product = ground.product
        core = eroded(product, 2)
        inside = core if core.sum() >= 0.3 * product.sum() else product
        return [
            self._label("product_colour", ground.lab, inside, product.mean() >= MIN_PRODUCT),
            self._label(
                "background_colour", ground.lab, ground.background, ground.background.mean() >= MIN_BACKGROUND
            ),
        ]

    def _label(self, attribute: str, lab: Lab, where: NDArray[np.bool_], enough: bool) -> Label:
        part = attribute.removesuffix("_colour")
        if not enough:
            return Label(attribute, None, status="unclear", rationale=f"hardly any {part} stands out")
        colour, share = main_colour(_points(lab, where))
        name, margin = palette.read_palette().name(colour)
        said = f"L*a*b* {colour[0]:.0f} {colour[1]:.0f} {colour[2]:.0f} on {share:.0%} of the {part}"
        return Label(attribute, name, round(share * margin, 4), rationale=said)


def _points(lab: Lab, where: NDArray[np.bool_]) -> Lab:
    """CIELAB of the pixels of a part, of a large one of every k-th."""
    at = np.flatnonzero(where)
    return lab.reshape(3, -1).take(at[:: max(1, len(at) // MAX_POINTS)], axis=1)


def main_colour(points: Lab) -> tuple[NDArray[np.float64], float]:
    """Colour that covers most of some pixels, shades of one hue taken together.

    points: CIELAB, shape (3, n), n ≥ 1.

    Returns the median CIELAB of its largest shade, and the share of pixels in all its shades. Without hue, L*
    is the lit quarter's where that is near white and the dark quarter's where that is near black: shade greys
    white things, and gloss greys black ones.
    """
    _, member = k_means(points * _WEIGHTS, CLUSTERS)
    parts = [points.compress(member == m, axis=1) for m in np.flatnonzero(np.bincount(member))]
    sizes = np.array([part.shape[1] for part in parts])
    shades = np.array([median(part) for part in parts])
    groups = _shade_groups(shades)
    size_of = np.bincount(groups, sizes)
    best = groups == int(size_of.argmax())
    largest = int(np.where(best, sizes, -1).argmax())
    colour = shades[largest]
    if np.hypot(colour[1], colour[2]) < CHROMATIC:
        lightness = np.concatenate([parts[at][0] for at in np.flatnonzero(best)])
        low, high = quantile(lightness, 0.25), quantile(lightness, 0.75)
        colour[0] = high if high >= NEAR_WHITE else low if low <= NEAR_BLACK else colour[0]
    return colour, float(size_of.max() / sizes.sum())


def _shade_groups(shades: NDArray[np.float64]) -> NDArray[np.intp]:
    """Number the groups of shades that are one colour differently lit."""
    chroma = np.hypot(shades[:, 1], shades[:, 2])
    hue = np.degrees(np.arctan2(shades[:, 2], shades[:, 1]))
    turn = np.abs((hue[:, None] - hue[None] + 180) % 360 - 180)
    apart = np.abs(shades[:, None, 0] - shades[None, :, 0])
    coloured = chroma >= CHROMATIC
    same_hue = coloured[:, None] & coloured[None] & (turn <= HUE_SPAN) & (apart <= SHADE_SPAN)
    same_grey = ~coloured[:, None] & ~coloured[None] & (apart <= GREY_SPAN)
    group = np.arange(len(shades))
    for first, second in np.argwhere(np.triu(same_hue | same_grey, 1)).tolist():
        group[group == group[second]] = group[first]
    return group
