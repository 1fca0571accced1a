"""What is left of a score when the captions that say a face is covered are set aside."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from stereotrope.measure.captions.association import hits
from stereotrope.measure.captions.composite import cbs_row
from stereotrope.measure.captions.frame import BY, Captions, caption_table
from stereotrope.measure.captions.groups import UNKNOWN, Sides, count_groups, sides_of
from stereotrope.measure.captions.rows import NO_CAPTION, How, ScoreRow, base_row, make_how, shared, undefined
from stereotrope.measure.tidy import estimate_frame

OCCLUDED, BARE = "occluded", "not occluded"
_SOURCE = "T2I-BiasBench, section 4.4, eq. 26"


def occlusion_split(
    captions: Any,
    attribute: str,
    *,
    groups: Sequence[str] | None = None,
    of: Sequence[str] | None = None,
    against: Sequence[str] | str | None = None,
    association: bool = False,
    unknown: bool = True,
    column: str = "ppe",
    by: Sequence[str] = BY,
    definition: str = "paper",
    level: float = 0.95,
    n_bootstrap: int = 1_000,
    seed: int = 0,
) -> pl.DataFrame:
    r"""Whether unknown groups come from covered faces, and the bias score with and without these.

    Formula
    -------
    :math:`p(\text{unknown})`, :math:`p(\text{occluded})`, :math:`p(\text{unknown} | \text{occluded})`,
    :math:`p(\text{unknown} | \text{not occluded})`, and CBS over all captions and over those not occluded.

    Parameters
    ----------
    captions, attribute, groups, of, against, association, unknown
        As for :func:`cbs`.
    column
        Column of lists: what covers a person (mask, gown …); a caption with any element is *occluded*.
    by, definition, level, n_bootstrap, seed
        As for :func:`cbs`.

    Returns
    -------
    polars.DataFrame
        Estimates of each cell: ``unknown_share`` (``category`` null, ``occluded`` and ``not occluded``:
        among which captions) and ``occluded_share``, with Wilson's intervals; ``cbs`` and
        ``cbs_without_occluded``.

    Undefined
    ---------
    ``no usable caption`` of the kind; as for :func:`cbs`.

    Notes
    -----
    The paper takes the captions of unknown gender for those with covered faces (its eq. 26). The two are
    counted apart here: only where ``unknown_share`` is clearly higher among the occluded do covers
    explain it. A caption that does not mention a mask counts as not occluded. The halves are small;
    their intervals say how small.

    References
    ----------
    T2I-BiasBench, section 4.4, eq. 26; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": list("abcd"), "caption": "text", "generator": "m", "prompt": "doctor",
    ...     "gender": ["unknown", "unknown", "male", "female"], "ppe": [["mask"], [], [], []],
    ... })
    >>> found = occlusion_split(frame, "gender", groups=["female", "male"], n_bootstrap=99)
    >>> found.filter(pl.col("measure") == "unknown_share").select("category", "value", "n").rows()
    [(None, 0.5, 4), ('occluded', 1.0, 1), ('not occluded', 0.3333333333333333, 3)]
    """
    how = make_how("occlusion_split", by, definition, level)
    lists = [column, *(["stereotype", "diversity"] if association else [])]
    cells = caption_table(
        captions,
        by=by,
        measure="occlusion_split",
        columns=[attribute],
        lists=lists,
        n_bootstrap=n_bootstrap,
        seed=seed,
    )
    rows: list[ScoreRow] = []
    for cell in cells:
        for part, name in ((cell, "cbs"), (bare(cell, column), "cbs_without_occluded")):
            counted = count_groups(part, attribute, groups=groups, unknown=unknown, released=how.released)
            sides = sides_of(counted, of, against, groups)
            one: Sides | None = sides[0] if len(sides) == 1 else None
            row = cbs_row(part, counted, one, how, ("stereotype", "diversity") if association else None)
            rows.append({**row, "measure": name})
        rows += occlusion_rows(cell, attribute, how, column)
    return estimate_frame(rows, factors=how.by)


def bare(cell: Captions, column: str) -> Captions:
    """The captions of a cell that name nothing that covers a person; a set of resamples of their own."""
    kept = hits(cell, column) == 0
    _, units = np.unique(cell.resample.units[kept], return_inverse=True)
    return replace(
        cell,
        frame=cell.frame.filter(pl.Series(kept, dtype=pl.Boolean)),
        resample=replace(cell.resample, units=units.astype(np.int64)),
    )


def occlusion_rows(cell: Captions, attribute: str, how: How, column: str) -> list[ScoreRow]:
    """The shares of :func:`occlusion_split` of one cell."""
    covered = (hits(cell, column) > 0).astype(np.float64)
    labels = cell.frame[attribute].cast(pl.String)
    labelled = labels.is_not_null().to_numpy().astype(np.float64)
    nobody = (labels.fill_null("") == UNKNOWN).to_numpy().astype(np.float64)
    rows = []
    for category, among in (
        (None, labelled),
        (OCCLUDED, labelled * covered),
        (BARE, labelled * (1 - covered)),
    ):
        row = base_row(cell, how, "unknown_share", _SOURCE, n=int(among.sum()))
        row |= {"attribute": attribute, "category": category}
        rows.append(shared(row, cell, how, nobody, among))
    row = base_row(cell, how, "occluded_share", _SOURCE)
    rows.append(shared(row, cell, how, covered) if cell.n else undefined(row, NO_CAPTION))
    return rows
