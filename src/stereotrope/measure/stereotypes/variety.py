"""WALS: how much of what varies among a concept's pictures varies along an attribute."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from stereotrope.errors import TableError, UsageError
from stereotrope.inputs.options import shorten
from stereotrope.measure.contract import FRAMES, Calls, MeasureCall, MeasureFrame, MeasureInfo, register
from stereotrope.measure.embeddings import EmbeddingCell, embedding_cells, unit_rows
from stereotrope.measure.setting import MeasureSetting, RunTables
from stereotrope.measure.tidy import as_text, estimate_frame, factor_names, to_polars
from stereotrope.stats import (
    GramSums,
    alignment_floor,
    alignment_interval,
    alignment_of_vectors,
    class_direction,
    weighted_alignment,
)
from stereotrope.stats.arrays import Floats

_BLOCKS = 10
"""Parts that are left out in turn for an interval."""
_AT_ONCE = 4_096
_DEFINITIONS = {"paper": False, "centred": True}
"""Definition → whether the pictures' mean direction is taken off."""
_NO_PICTURE = "no picture with an embedding"
_SAME_TEXTS = "both descriptions have the same vector"
_SAME_MEANS = "pictures of both have the same mean, or one has none"
_NO_SENTENCE = "a sentence has no vector"
_SAME = 1e-6
"""Distance of two unit vectors in single precision that are one."""
_ALIKE = "pictures do not vary"


@dataclass(frozen=True)
class _Axes:
    """The directions of one encoder and model: their names, a column each, and how they were found."""

    names: Sequence[str]
    columns: Floats
    how: Sequence[str]
    lacking: Sequence[str]
    """Why there is no score along each, where it has no length."""


_Find = Callable[[Mapping[str, Any]], _Axes]
"""What gives the directions of a cell."""


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
        said = tables.embeddings.filter(subject_kind="sentence").select(
            annotator="encoder", sentence="subject_id", vector=pl.col("vector").cast(pl.List(pl.Float64))
        )
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
    level
        Nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates, two rows a cell, encoder and attribute, in [0, 1]: ``definition`` ``paper``, and
        ``centred`` where the pictures' mean direction is taken off first. ``floor`` is the mean over all
        directions, 0.029 for 768 numbers, whatever the pictures.

    Undefined
    ---------
    ``both descriptions have the same vector``; ``a sentence has no vector``; ``pictures of both have the same
    mean, or one has none``; ``pictures do not vary``; ``no picture with an embedding``. No interval below two
    pictures.

    Notes
    -----
    Uncentred, the first singular vector is nearly the pictures' mean, so that the paper's WALS says mostly
    how far the *average* picture lies along the attribute: read the centred one for variety. Both depend on
    the encoder and, below as many pictures as a vector has numbers, on how many there are.
    One pass over the vectors; memory does not grow with them. The interval is of the score expected at this
    n: Student's by the jackknife over ten parts, of prompts where these are the units; it covered 0.94 to 1.

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
    held = factor_names(within, measure="wals", taken=(over, "annotator"))
    by = (*held, over)
    frame = to_polars(embeddings, what="embeddings", needs=("annotator", "vector", *by))
    if "sentence" not in frame.columns:
        frame = frame.with_columns(sentence=pl.lit(None, pl.String))
    is_text = pl.col("sentence").is_not_null()
    said, frame = frame.filter(is_text), frame.filter(~is_text)
    if axes is not None:
        between = {name: _pair(name, levels) for name, levels in axes.items()}
        is_axis = as_text(frame, over).is_in([one for pair in between.values() for one in pair])
        find = _between(frame.filter(is_axis), between, over, held)
        frame = frame.filter(~is_axis.fill_null(False))
    else:
        find = _given(directions) if sides is None else _of_sentences(said, sides)
    rows: list[dict[str, Any]] = []
    source = "OASIS, eq. 7; interval: Tukey 1958"
    for cell in embedding_cells(frame, by, "wals", "vector", _NO_PICTURE, source, level):
        rows += _rows(cell, find(cell.shared), level)
    return estimate_frame(rows, factors=("annotator", *by))


def _pair(name: str, levels: Sequence[str]) -> tuple[str, str]:
    if isinstance(levels, str) or len(levels) != 2 or levels[0] == levels[1]:
        raise UsageError(
            f"wals: axes: {name!r} must name two levels, the one with the attribute and the one without, "
            f"found {shorten(list(levels))}; write {name}: [man, woman]"
        )
    return levels[0], levels[1]


def _given(directions: Any) -> _Find:
    """Directions from a frame."""
    frame = to_polars(directions, what="directions", needs=("attribute", "annotator", "vector"))
    if (twice := frame.filter(frame.select("attribute", "annotator").is_duplicated())).height:
        raise TableError(
            f"directions: {twice['attribute'][0]!r} stands twice for one encoder; keep one row each"
        )

    def found(shared: Mapping[str, Any]) -> _Axes:
        own = frame.filter(pl.col("annotator").cast(pl.String) == shared["annotator"])
        columns = np.array(own["vector"].to_list(), np.float64).T if own.height else np.zeros((0, 0))
        return _Axes(
            own["attribute"].to_list(),
            columns,
            ["direction as given"] * own.height,
            [_SAME_TEXTS] * own.height,
        )

    return found


def _of_sentences(said: pl.DataFrame, sides: Mapping[str, Sequence[Sequence[str]]]) -> _Find:
    """Directions between sentences for and against each attribute."""
    columns: dict[str, tuple[Floats, list[str]]] = {}

    def found(shared: Mapping[str, Any]) -> _Axes:
        encoder = str(shared["annotator"])
        if encoder not in columns:
            own = said.filter(annotator=encoder)
            known = dict(zip(own["sentence"], unit_rows(own["vector"]), strict=True))
            d = len(own["vector"][0]) if own.height else 1
            told = [_apart(pair, known, d) for pair in sides.values()]
            columns[encoder] = (
                np.array(told).T,
                [_SAME_TEXTS if not np.isnan(one).any() else _NO_SENTENCE for one in told],
            )
        of, lacking = columns[encoder]
        return _Axes(list(sides), of, ["direction between sentences"] * len(sides), lacking)

    return found


def _apart(pair: Sequence[Sequence[str]], known: Mapping[str, Floats], d: int) -> Floats:
    """What leads from the sentences against an attribute to those for it; NaN where one has no vector."""
    if not all(sentence in known for side in pair for sentence in side):
        return np.full(d, np.nan)
    means = [np.mean([known[sentence] for sentence in side], axis=0) for side in pair]
    present, absent = (mean / max(float(np.linalg.norm(mean)), np.finfo(float).tiny) for mean in means)
    away = present - absent
    return np.asarray(away if np.linalg.norm(away) > _SAME else np.zeros(d))


def _between(
    aware: pl.DataFrame, between: Mapping[str, tuple[str, str]], over: str, held: Sequence[str]
) -> _Find:
    """Directions between the pictures of two levels, of the same encoder and model."""
    known = aware.filter(pl.col("vector").is_not_null()).with_columns(_level=as_text(aware, over))
    if "excluded" in known.columns:
        known = known.filter(pl.col("excluded").is_null())
    done: dict[tuple[Any, ...], _Axes] = {}

    def found(shared: Mapping[str, Any]) -> _Axes:
        place = ("annotator", *held)
        key = tuple(shared[name] for name in place)
        if key not in done:
            own = known.filter(*(as_text(known, name).eq_missing(pl.lit(shared[name])) for name in place))
            done[key] = _directions(own, between)
        return done[key]

    return found


def _directions(own: pl.DataFrame, between: Mapping[str, tuple[str, str]]) -> _Axes:
    columns, how = [], []
    d = len(own["vector"][0]) if own.height else 1
    for present, absent in between.values():
        two = own.filter(pl.col("_level").is_in([present, absent]))
        x = unit_rows(two["vector"]) if two.height else np.zeros((0, d))
        columns.append(class_direction(x, (two["_level"] == present).to_numpy()))
        how.append(f"direction between {two.height} pictures of {present!r} and {absent!r}")
    return _Axes(list(between), np.array(columns).T, how, [_SAME_MEANS] * len(between))


def _rows(cell: EmbeddingCell, axes: _Axes, level: float) -> Iterator[dict[str, Any]]:
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
            unit = "prompts" if cell.claim.prompts else "pictures"
            how = f"{axes.how[at]}; Student's t, jackknife over parts of {unit}"
            yield {**row, **sure, "value": value, "floor": floor, "excess": value - floor, "method": how}


def _scores(
    cell: EmbeddingCell, directions: Floats, level: float
) -> dict[str, tuple[Floats, Floats, Floats]]:
    """Of each definition the scores along all directions, and the ends of their intervals."""
    vectors, n = cell.vectors["vector"], len(cell.units)
    # In the order of their names, so that no order of rows decides which part a picture is in.
    units = cell.units if cell.claim.prompts else cell.vectors["image_id"].rank("ordinal").to_numpy() - 1
    blocks = np.asarray(units, np.int64) % _BLOCKS
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
