"""Pictures with nothing on them."""

import numpy as np

from stereotrope.annotate.cielab import srgb_to_lab
from stereotrope.annotate.label import Attributes, Label
from stereotrope.annotate.offline import OfflineAnnotator, offline
from stereotrope.annotate.picture import Picture
from stereotrope.tables import fingerprint_of

BLANK_SIDE = 64
"""Longer side in pixels; shrinking averages noise away."""
MAX_SPREAD = 3.0
"""ΔE*ab; a picture is blank when 99% of it lies within this distance of its median colour."""
MAX_ODD = 0.01
"""Share of pixels that may lie outside, for a watermark's edge or a hot pixel."""


@offline("is the picture blank, or near one colour")
class BlankAnnotator(OfflineAnnotator):
    """Says whether a picture is blank: all black, as filtered pictures come, or near one colour.

    ``blank`` is ``yes`` when, on a copy of at most 64 pixels a side after a 3 × 3 median, at most 1% of
    the pixels lie more than ΔE*ab 3 from the median colour; a difference of 3 is hardly seen. No
    confidence is given: the rule is exact.
    """

    name = "blank"
    attributes: Attributes = dict.fromkeys(("blank",), ("yes", "no"))

    @property
    def fingerprint(self) -> str:
        """Name, version and thresholds."""
        return fingerprint_of(self.name, self.version, {"thresholds": [BLANK_SIDE, MAX_SPREAD, MAX_ODD]})

    def process(self, picture: Picture) -> list[Label]:
        """Label one picture."""
        lab = srgb_to_lab(picture.pixels(BLANK_SIDE))
        from scipy import ndimage  # noqa: PLC0415

        smooth = ndimage.median_filter(lab, size=(3, 3, 1), mode="nearest")
        median = np.median(smooth, axis=(0, 1))
        odd = float((np.linalg.norm(smooth - median, axis=2) > MAX_SPREAD).mean())
        if odd > MAX_ODD:
            return [Label("blank", "no")]
        said = f"L*a*b* {median[0]:.0f} {median[1]:.0f} {median[2]:.0f} all over"
        return [Label("blank", "yes", rationale=said)]
