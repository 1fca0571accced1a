"""Names for colours: the nearest anchor of a documented palette."""

from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from stereotrope.annotate.cielab import ciede2000, srgb_to_lab
from stereotrope.shipped import parsed


@dataclass(frozen=True)
class Anchor:
    """One sRGB colour that stands for a name, and where it is from."""

    name: str
    rgb: tuple[int, ...]
    source: str


@dataclass(frozen=True)
class Palette:
    """Anchors with their CIELAB; ``data`` are the bytes of the file, for fingerprints."""

    anchors: tuple[Anchor, ...]
    lab: NDArray[np.float64]
    data: bytes

    @property
    def names(self) -> tuple[str, ...]:
        """The colour names, in the order of the file."""
        return tuple(dict.fromkeys(a.name for a in self.anchors))

    def name(self, lab: NDArray[np.float64]) -> tuple[str, float]:
        """Name one colour and say how clearly it is that name.

        lab: CIELAB, shape (3,).

        Returns the name and the margin (d₂ − d₁) / (d₂ + d₁), with d₁ the CIEDE2000 distance to the nearest
        anchor and d₂ to the nearest anchor of another name: 1 on an anchor, 0 on the border of two names.
        """
        distance = ciede2000(lab, self.lab)
        ranked = sorted(zip(distance.tolist(), [anchor.name for anchor in self.anchors], strict=True))
        d1, best = ranked[0]
        d2 = next(d for d, name in ranked if name != best)
        return best, (d2 - d1) / (d2 + d1) if d2 else 0.0


@cache
def read_palette() -> Palette:
    """Return the palette of the package, ``palette.yaml``."""
    data = resources.files("stereotrope.annotate").joinpath("palette.yaml").read_bytes()
    names = parsed(data.decode())["names"]
    anchors = tuple(
        Anchor(name, tuple(bytes.fromhex(entry["rgb"][1:])), entry["source"])
        for name, entries in names.items()
        for entry in entries
    )
    return Palette(anchors, srgb_to_lab(np.array([a.rgb for a in anchors], dtype=np.uint8)), data)
