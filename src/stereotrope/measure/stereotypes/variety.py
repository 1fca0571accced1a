"""WALS: how much of what varies among a concept's pictures varies along an attribute."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import TableError, UsageError
from stereotrope.inputs.options import shorten
from stereotrope.measure.contract import FRAMES, Calls, MeasureCall, MeasureFrame, MeasureInfo, register
from stereotrope.measure.embedding_cells import EmbeddingCell, embedding_cells, taken, unit_rows
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.setting import MeasureSetting, RunTables
from stereotrope.measure.stereotypes.axes import (
    SAME_MEANS,
    Axes,
    axis_levels,
    given_axes,
    picture_axes,
    sentence_axes,
)
from stereotrope.measure.tidy import as_text, factor_names, to_polars
from stereotrope.stats import (
    GramSums,
    alignment_floor,
    alignment_interval,
    alignment_of_vectors,
    kernel_alignment,
    weighted_alignment,
)
from stereotrope.stats.arrays import Floats

_BLOCKS = 10
"""Parts that are left out in turn for an interval."""
_AT_ONCE = 4_096
_DEFINITIONS = {"paper": False, "centred": True}
"""Definition → whether the pictures' mean direction is taken off."""
_BENT = {"kernel": False, "kernel_centred": True}
"""The same of the direction in the features of a Gaussian kernel."""
_NO_AXES = (
    "kernel needs pictures of two levels to find its direction between; give axes, such as "
    "axes: {man: [man, woman]}, or leave kernel out"
)
_MOST_BENT = 2_000
_TOO_MANY = f"more than {_MOST_BENT:,} pictures: a kernel takes their square in memory and their cube in time"
_NO_PICTURE = "no picture with an embedding"
_ALIKE = "pictures do not vary"


class _WithSentences(MeasureFrame):
    """The embeddings frame, and behind it a row a sentence with its vector by each encoder."""

    words = "an embeddings frame"

    def lacks(
        self, info: MeasureInfo, given: Mapping[str, Any], setting: MeasureSetting, calls: Calls
    ) -> str | None:
        return FRAMES["embeddings"].lacks(info, given, setting, calls)

    def call(
        self, info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Calls
    ) -> MeasureCall:
        return replace(FRAMES["embeddings"].call(info, given, setting, calls), frame=self)

    def of(self, tables: RunTables, /) -> pl.DataFrame:
        pictures = FRAMES["embeddings"].of(tables)
        if tables.embeddings is None:
            return pictures
        vector = pl.col("vector").cast(pictures.schema["vector"])
        sentences = tables.embeddings.filter(subject_kind="sentence")
        said = sentences.select(annotator="encoder", sentence="subject_id", vector=vector)
        return pl.concat([pictures, said], how="diagonal")

    def made_up(self, images: pl.DataFrame, labels: pl.DataFrame, /) -> pl.DataFrame:
        return FRAMES["embeddings"].made_up(images, labels)


FRAMES.add("embeddings and sentences", _WithSentences())


def _call(info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Calls) -> MeasureCall:
    """The call of WALS, whose directions lie between pictures of two levels, or between sentences."""
    over = given.get("over", info.parameters["over"].default)
    axes = given.get("axes") or {}
    sides = {} if axes else _sides(setting)
    if not axes and not sides:
        raise UsageError(
            "needs directions: list an annotator with candidates (zero_shot), or give attribute: [level with "
            "it, level without it], such as axes: {man: [man, woman]}"
        )
    if given.get("kernel") and not axes:
        raise UsageError(_NO_AXES)
    if over not in setting.factors:
        have = ", ".join(setting.factors) or "none"
        raise UsageError(f"no factor {shorten(over)} of concepts; the prompts have {have}")
    asked = setting.prompts[over].drop_nulls().unique()
    for name, levels in axes.items():
        for level in levels:
            if level not in asked:
                raise UsageError(
                    f"axes: {shorten(name)} is between levels of {over!r}, and no prompt is of "
                    f"{shorten(level)}; add it to the prompts"
                )
    call = info.frame.call(info, {"within": ["generator"], **given}, setting, calls)
    return call if axes else replace(call, arguments={**call.arguments, "sides": sides})


def _sides(setting: MeasureSetting) -> dict[str, list[list[str]]]:
    """Attribute → sentences for and against it, of annotators that say theirs."""
    return {
        name: [list(pair.positive), list(pair.negative)]
        for one in setting.annotators
        for name, pair in (getattr(one, "candidates", None) or {}).items()
    }


@register(
    suite="oasis",
    bounds=(0.0, 1.0),
    direction="higher: pictures vary more along the attribute; the floor is what any direction reads",
    source="OASIS, eq. 7; Barshan et al. 2011; Tukey 1958",
    needs="embeddings and sentences",
    biased=("wals",),
    compared_as="centred",  # uncentred it goes with the average picture, and is no variety
    closed={
        "sides": "sentences are those of the candidates that an annotator has; write them there",
        "directions": "an audit has them from sentences or pictures; give `axes`, or call it from Python",
    },
    call=_call,
    due=lambda given, setting, calls: bool(given.get("axes") or _sides(setting)),
)
def wals(
    embeddings: Any,
    directions: Any = None,
    over: str = "concept",
    *,
    axes: Mapping[str, Sequence[str]] | None = None,
    sides: Mapping[str, Sequence[Sequence[str]]] | None = None,
    within: Sequence[str] = ("generator",),
    kernel: bool = False,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How much of what varies among a concept's pictures varies along an attribute: OASIS' WALS.

    Formula
    -------
    :math:`Σ_i σ_i |δ^⊤u_i| / Σ_j σ_j`, with :math:`σ_i, u_i` the singular values and vectors of the pictures'
    unit vectors as columns and :math:`δ` the attribute's direction at unit length. A singular vector's sign
    is arbitrary, so that of :math:`δ^⊤u_i`, which the paper keeps, is taken out.

    Parameters
    ----------
    embeddings
        Frame of :func:`stereotrope.measure.embeddings_frame`: ``image_id``, ``annotator`` (the encoder),
        ``vector`` and the factors; optional ``prompt_id`` and ``excluded``.
    directions
        A frame ``attribute, annotator, vector``: any direction of each encoder. Give one of this, ``axes``
        and ``sides``.
    over, within
        The factor of concepts; the factors held apart.
    axes
        Attribute → a level with the attribute and one without: the direction is the leading one between
        pictures of both by the same model (eq. 14, supervised PCA). These have no score.
    sides
        Attribute → sentences for and against it: the direction is :math:`E_T(d^+) - E_T(d^-)` (eq. 6), each
        the mean of its sentences' unit vectors at unit length, from rows of the frame that have a
        ``sentence``. In an audit file these are the candidates of ``zero_shot``.
    kernel, level
        Whether scores along the direction between pictures that a Gaussian kernel bends (eq. 15 and 16, width
        the median distance of the pictures of both levels) stand beside the others; nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates, two rows a cell, encoder and attribute, in [0, 1]: ``definition`` ``paper``, and
        ``centred`` where the pictures' mean direction is taken off first. ``floor`` is the mean over all
        directions, 0.029 for 768 numbers, whatever the pictures. With ``kernel`` two more, ``kernel`` and
        ``kernel_centred``, without a floor: what a direction at random reads is not known of a kernel.

    Undefined
    ---------
    ``both descriptions have the same vector``; ``a sentence has no vector``; ``pictures of both have the same
    mean, or one has none``; ``pictures do not vary``; ``no picture with an embedding``; of a kernel ``more
    than 2,000 pictures …``. No interval below two pictures.

    Notes
    -----
    Uncentred, the first singular vector is nearly the pictures' mean, so that the paper's WALS says mostly
    how far the *average* picture lies along the attribute: read the centred one for variety. Both depend on
    the encoder and, below as many pictures as a vector has numbers, on how many there are.
    One pass over the vectors; memory does not grow with them. The interval is of the score expected at this
    n: Student's by the jackknife over ten parts, of prompts where these are the units; it covered 0.94 to 1,
    that of a kernel 0.98 to 0.99 (30 and 80 vectors of 12 numbers, 400 repetitions).

    References
    ----------
    Dehdashtian et al. (2025), OASIS, ICLR, eq. 6, 7 and 14; Barshan et al. (2011), Pattern Recognition 44;
    Tukey (1958), Annals of Mathematical Statistics 29.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": list("abcd"), "annotator": "clip", "generator": "m", "concept": "doctor",
    ...     "vector": [[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.8, -0.6, 0.0], [1.0, 0.0, 0.0]],
    ... })
    >>> man = pl.DataFrame({"attribute": ["man"], "annotator": "clip", "vector": [[0.0, 2.0, 0.0]]})
    >>> wals(frame, man).select("definition", pl.col("value").round(3)).rows()
    [('paper', 0.319), ('centred', 0.809)]
    """
    if sum(given is not None for given in (directions, axes, sides)) != 1:
        raise UsageError("wals: give one of directions, axes and sides; found none or several")
    if kernel and axes is None:
        raise UsageError(f"wals: {_NO_AXES}")
    held = factor_names(within, measure="wals", taken=(over, "annotator"))
    by = (*held, over)
    frame = to_polars(embeddings, what="embeddings", needs=("annotator", "vector", *by))
    if "sentence" not in frame.columns:
        frame = frame.with_columns(sentence=pl.lit(None, pl.String))
    is_text = frame["sentence"].is_not_null()
    said, frame = frame.filter(is_text), taken(frame, (~is_text).arg_true())
    if axes is not None:
        between = {name: axis_levels(name, levels) for name, levels in axes.items()}
        is_axis = as_text(frame, over).is_in([one for pair in between.values() for one in pair])
        find = picture_axes(frame.filter(is_axis), between, over, held)
        frame = frame.filter(~is_axis.fill_null(False))
    else:
        find = given_axes(directions) if sides is None else sentence_axes(said, sides)
    rows: list[dict[str, Any]] = []
    source = "OASIS, eq. 7; interval: Tukey 1958"
    for cell in embedding_cells(frame, by, "wals", "vector", _NO_PICTURE, source, level):
        along = find(cell.shared)
        rows += _rows(cell, along, level)
        rows += _bent(cell, along, level) if kernel else ()
    return estimate_frame(rows, factors=("annotator", *by))


def _rows(cell: EmbeddingCell, axes: Axes, level: float) -> Iterator[dict[str, Any]]:
    """Both definitions of every attribute."""
    vectors, n = cell.vectors["vector"], len(cell.units)
    d = len(vectors[0]) if n else 0
    if n and axes.columns.size and len(axes.columns) != d and not np.isnan(axes.columns).all():
        raise TableError(
            f"directions: those by {cell.shared['annotator']!r} must have as many numbers as its vectors, "
            f"found {len(axes.columns)} and {d}; take both from one encoder"
        )
    lengths = np.linalg.norm(axes.columns, axis=0) if axes.columns.size else np.zeros(0)
    usable = [at for at, length in enumerate(lengths) if length > 0]
    told = _scores(cell, axes.columns[:, usable], level) if n and usable else {}
    for at, name in enumerate(axes.names):
        for definition in _DEFINITIONS:
            row = {**cell.shared, "attribute": name, "definition": definition}
            if not n or at not in usable:
                yield {**row, "undefined": axes.lacking[at] if n else _NO_PICTURE}
                continue
            value, low, high = (float(numbers[usable.index(at)]) for numbers in told[definition])
            if value != value:
                yield {**row, "undefined": _ALIKE}
                continue
            floor = alignment_floor(d)
            sure = {"low": low, "high": high, "holds_for": cell.claim.holds_for} if low == low else {}
            how = f"{axes.how[at]}; {_how(cell)}"
            yield {**row, **sure, "value": value, "floor": floor, "excess": value - floor, "method": how}


def _bent(cell: EmbeddingCell, axes: Axes, level: float) -> Iterator[dict[str, Any]]:
    """Both definitions of every attribute, in the features of a kernel."""
    n = len(cell.units)
    blocks = _blocks(cell)
    parts = np.unique(blocks)
    for name, how, (z, shows) in zip(axes.names, axes.how, axes.aware, strict=True):
        for definition, centre in _BENT.items():
            row = {**cell.shared, "attribute": name, "definition": definition}
            if not n or len(set(shows)) < 2 or max(n, len(z)) > _MOST_BENT:
                few = _NO_PICTURE if not n else SAME_MEANS
                yield {**row, "undefined": few if max(n, len(z)) <= _MOST_BENT else _TOO_MANY}
                continue
            x = unit_rows(cell.vectors["vector"])
            score = partial(kernel_alignment, aware=z, labels=shows, centre=centre)
            value = score(x)
            if value != value:
                yield {**row, "undefined": _ALIKE}
                continue
            out = (
                np.array([[score(x[blocks != part])] for part in parts])
                if len(parts) > 1
                else np.zeros((0, 1))
            )
            low, high = (float(end[0]) for end in alignment_interval([value], out, level=level))
            sure = {"low": low, "high": high, "holds_for": cell.claim.holds_for} if low == low else {}
            method = f"{how}, bent by a Gaussian kernel; {_how(cell)}"
            yield {**row, **sure, "value": value, "method": method}


def _how(cell: EmbeddingCell) -> str:
    return f"Student's t, jackknife over parts of {'prompts' if cell.claim.prompts else 'pictures'}"


def _blocks(cell: EmbeddingCell) -> NDArray[np.int64]:
    """The part of each picture: by the order of names, so that no order of rows decides which it is in."""
    units = cell.units if cell.claim.prompts else cell.vectors["image_id"].rank("ordinal").to_numpy() - 1
    return np.asarray(units, np.int64) % _BLOCKS


def _scores(
    cell: EmbeddingCell, directions: Floats, level: float
) -> dict[str, tuple[Floats, Floats, Floats]]:
    """Of each definition the scores along all directions, and the ends of their intervals."""
    vectors, n = cell.vectors["vector"], len(cell.units)
    blocks = _blocks(cell)
    parts = np.unique(blocks)
    x, sums = None, None
    if n <= directions.shape[0]:
        x = unit_rows(vectors)
    else:
        sums = GramSums.empty(directions.shape[0], _BLOCKS)
        for start in range(0, n, _AT_ONCE):
            sums.add(unit_rows(vectors[start : start + _AT_ONCE]), blocks[start : start + _AT_ONCE])
    found = {}
    for definition, centre in _DEFINITIONS.items():

        def score(without: int | None, centre: bool = centre) -> Floats:
            if sums is not None:
                return weighted_alignment(sums.gram(centre=centre, without=without), directions)
            kept = x[blocks != (-1 if without is None else without)]  # type: ignore[index]
            return alignment_of_vectors(kept, directions, centre=centre)

        whole = score(None)
        left_out = np.array([score(part) for part in parts]) if len(parts) > 1 else np.zeros((0, len(whole)))
        found[definition] = (whole, *alignment_interval(whole, left_out, level=level))
    return found
