"""What is left of a score when the captions that say a face is covered are set aside."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.measure.captions.composite import cbs
from stereotrope.measure.captions.frame import Captions
from stereotrope.measure.captions.rows import ScoreRow, base_row, over_cells, share_of_captions
from stereotrope.tables import UNKNOWN

OCCLUDED, BARE = "occluded", "not occluded"


@over_cells("T2I-BiasBench, section 4.4, eq. 26")
def occlusion_split(
    cell: Captions,
    attribute: str,
    *,
    groups: Sequence[str] | None = None,
    of: Sequence[str] | None = None,
    against: Sequence[str] | str | None = None,
    association: bool = False,
    unknown: bool = True,
    epsilon: float = 0.0,
    column: str = "ppe",
) -> list[ScoreRow]:
    """Whether unknown groups come from covered faces, and the bias score with and without these.

    Shares of captions of unknown group, among all captions, the occluded and the others; the share of the
    occluded; and CBS over all captions and over those not occluded.

    captions, attribute, groups, of, against, association, unknown, epsilon: As for :func:`cbs`.
    column: Column of lists: what covers a person (mask, gown …); a caption with any element is *occluded*.
    by, definition, level, n_bootstrap, seed: As for :func:`cbs`.

    Returns: Estimates of each cell: ``unknown_share`` (``category`` null, ``occluded`` and ``not occluded``:
    among which captions) and ``occluded_share``, with Wilson's intervals; ``cbs`` and
    ``cbs_without_occluded``.

    Undefined: ``no usable caption`` of the kind; as for :func:`cbs`.

    The paper takes the captions of unknown gender for those with covered faces (its eq. 26). The two are
    counted apart here: only where ``unknown_share`` is clearly higher among the occluded do covers
    explain it. A caption that does not mention a mask counts as not occluded. The halves are small;
    their intervals say how small.

    Source: T2I-BiasBench, section 4.4, eq. 26; Wilson (1927), JASA 22.

    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": list("abcd"), "caption": "text", "generator": "m", "prompt": "doctor",
    ...     "gender": ["unknown", "unknown", "male", "female"], "ppe": [["mask"], [], [], []],
    ... })
    >>> found = occlusion_split(frame, "gender", groups=["female", "male"], n_bootstrap=99)
    >>> found.filter(pl.col("measure") == "unknown_share").select("category", "value", "n").rows()
    [(None, 0.5, 4), ('occluded', 1.0, 1), ('not occluded', 0.3333333333333333, 3)]
    """
    covered = (cell.hits(column) > 0).astype(np.float64)
    labels = cell.labels(attribute)
    labelled = labels.is_not_null().to_numpy().astype(np.float64)
    nobody = labels.eq_missing(UNKNOWN).to_numpy()
    rows = []
    for category, among in (
        (None, labelled),
        (OCCLUDED, labelled * covered),
        (BARE, labelled * (1 - covered)),
    ):
        named: dict[str, Any] = {"measure": "unknown_share", "attribute": attribute, "category": category}
        rows.append(share_of_captions(base_row(cell, int(among.sum()), **named), cell, nobody, among))
    rows.append(share_of_captions(base_row(cell, measure="occluded_share"), cell, covered))
    asked: dict[str, Any] = {"groups": groups, "of": of, "against": against, "unknown": unknown}
    for part, name in ((cell, "cbs"), (_bare(cell, covered == 0), "cbs_without_occluded")):
        found = cbs.rows(part, attribute, association=association, epsilon=epsilon, **asked)
        rows += [{**row, "measure": name} for row in found]
    return rows


def _bare(cell: Captions, kept: NDArray[np.bool_]) -> Captions:
    """The captions of a cell that are kept; a set of resamples of their own."""
    _, units = np.unique(cell.resample.units[kept], return_inverse=True)
    return replace(
        cell,
        frame=cell.frame.filter(pl.Series(kept, dtype=pl.Boolean)),
        resample=replace(cell.resample, units=units.astype(np.int64)),
    )
