"""What every measure reads and returns: a tidy frame of labels in, a frame of estimates out."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.units import SEED_COLUMN, seeds_across, seeds_shared, unit_ids
from stereotrope.tables import (
    LABELS,
    N_SUBJECTS,
    NOT_VALUES,
    QUALITY_ATTRIBUTES,
    RESERVED,
    SCENARIO,
    SCOPES,
    check_factors,
)

_IDS = ("image_id", "subject_id", "prompt_id", SCENARIO)
"""Columns that are texts in every table, so that ids of two frames are one id however each writes them."""
_WRITTEN = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Null, pl.Date, pl.Datetime, pl.Time)
"""Types of columns, besides numbers, of which each value has one text."""
_AT_ONCE = 1_000_000
"""Labels that are grouped together."""


def to_polars(data: Any, *, what: str = "labels", needs: Iterable[str] = ()) -> pl.DataFrame:
    """Any narwhals-compatible frame (Polars, pandas, PyArrow, DuckDB …) as a Polars frame, ids as texts.

    what: What it is called in messages.
    needs: Columns that it must have.

    Raises TableError: ``data`` is no frame, lacks a column or has one twice, or one holds several types, or
        no text a row, or no count, where there must be one.
    """
    frame = data if isinstance(data, pl.DataFrame) else _converted(data, what)
    if absent := [name for name in dict.fromkeys(needs) if name not in frame.columns]:
        found = ", ".join(map(repr, frame.columns)) or "none"
        raise TableError(f"{what}: no column {', '.join(map(repr, absent))}; found {found}")
    if N_SUBJECTS in frame.columns:
        _require_counts(frame[N_SUBJECTS], what)
    # The order of an Enum is not that of its texts.
    texts = [
        as_text(frame, name, what)
        for name, kind in frame.schema.items()
        if isinstance(kind, pl.Enum)
        or (name in _IDS and kind != pl.String)
        or (name in ("attribute", "annotator") and kind.is_numeric())
        or (what == "estimates" and isinstance(kind, pl.Categorical))
    ]
    return frame.with_columns(texts) if texts else frame


def _require_counts(given: pl.Series, what: str) -> None:
    rule = f"{what}: {N_SUBJECTS} must be a whole number of 0 or more in every row, found"
    if not given.dtype.is_numeric():
        raise TableError(f"{rule} {given.dtype}; write how many labels each row stands for")
    counts = given.cast(pl.Int64, strict=False)
    wrong = given.filter(~((counts == given) & (counts >= 0)).fill_null(False))
    if len(wrong):
        raise TableError(f"{rule} {wrong[0]}; correct it, or leave the row out")


def _converted(data: Any, what: str) -> pl.DataFrame:
    import narwhals.stable.v2 as nw  # noqa: PLC0415 — needed for other libraries' frames alone

    try:
        frame = nw.from_native(data)
    except TypeError as error:
        raise TableError(
            f"{what}: expected a data frame (Polars, pandas, PyArrow …), found {type(data).__name__}"
        ) from error
    except nw.exceptions.DuplicateError:
        names = [str(name) for name in getattr(data, "column_names", data.columns)]
        twice = next(name for name in names if names.count(name) > 1)
        raise TableError(f"{what}: columns must differ, found {twice!r} twice; rename or drop one") from None
    eager = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    try:
        return eager.to_polars()
    except (pa.ArrowException, UnicodeError, TypeError):
        for name in eager.columns:
            _convertible(eager.select(name), what)
        raise


def _convertible(column: Any, what: str) -> None:
    try:
        column.to_polars()
    except (pa.ArrowException, UnicodeError, TypeError) as error:
        (name,) = column.columns
        raise TableError(
            f"{what}: column {name!r} holds values of several types, or of one that no table knows "
            f"({error}); leave it out, or write it as text, e.g. frame[{name!r}].astype('string')"
        ) from error


def as_text(frame: pl.DataFrame, name: str, what: str = "labels") -> pl.Expr:
    """A column as text; NaN is null, and a column of whole numbers has no decimals.

    pandas makes 1.0 of 1 where a column has a gap, and databases 1.00 where it is a decimal; level and value
    stay the same word.
    """
    column, kind = pl.col(name), frame.schema[name]
    _require_texts(frame, [name], what)
    if isinstance(kind, pl.Decimal) and kind.scale:
        column = column.cast(pl.Float64)
    if kind.is_float() or (isinstance(kind, pl.Decimal) and kind.scale):
        column = column.fill_nan(None)
        known = frame.select(column)[name].drop_nulls()
        if known.is_finite().all() and (known == known.round()).all() and (known.abs() < 2**53).all():
            column = column.cast(pl.Int64)
    return column.cast(pl.String)


def as_number(
    frame: pl.DataFrame, name: str, *, what: str, scale: tuple[float, float] | None = None
) -> pl.Expr:
    """A column as numbers; NaN is null.

    Raises TableError: One is none, or lies off the scale.
    """
    _require_texts(frame, [name], what)
    given = frame[name]
    number = given.cast(pl.Float64, strict=False).fill_nan(None)
    if len(none := given.filter(given.is_not_null() & given.cast(pl.Float64, strict=False).is_null())):
        raise TableError(f"{what}: column {name!r} must hold numbers, found {none[0]!r}; correct it")
    if scale is not None and len(off := number.filter(~number.is_between(*scale))):
        raise TableError(
            f"{what}: column {name!r} must hold numbers from {scale[0]:g} to {scale[1]:g}, found {off[0]:g}"
        )
    return pl.col(name).cast(pl.Float64).fill_nan(None)


def _require_texts(frame: pl.DataFrame, names: Iterable[str], what: str = "labels") -> None:
    for name, kind in ((name, frame.schema[name]) for name in names):
        if not (kind.is_numeric() or isinstance(kind, _WRITTEN)):
            do = "explode it, or join the texts" if kind.is_nested() else "write it as text"
            raise TableError(f"{what}: column {name!r} must hold one text a row, found {kind}; {do}")


def factor_names(
    names: Sequence[str], *, measure: str, taken: Sequence[str | None] = (), what: str = "within"
) -> tuple[str, ...]:
    """Factors that an argument lists, as a tuple.

    Raises UsageError: A string where a list belongs, a factor twice, or one that is in ``taken``: it has
    another part.
    """
    if isinstance(names, str):
        raise UsageError(
            f"{measure}: {what} must be a list of factors, found the string {names!r}; write [{names!r}]"
        )
    if not isinstance(names, Iterable):
        raise UsageError(f"{measure}: {what} must be a list of factors, found {names!r}; [] is none")
    listed = tuple(names)
    for name in listed:
        if name in taken:
            raise UsageError(f"{measure}: {name!r} is compared and cannot be in {what} as well; leave it out")
        if listed.count(name) > 1:
            raise UsageError(f"{measure}: {name!r} is given twice in {what}; give it once")
    return listed


def require_whole(measure: str, **numbers: Any) -> None:
    """Refuse numbers of draws, and seeds, that are none."""
    for name, given in numbers.items():
        if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 0:
            raise UsageError(f"{measure}: {name} must be 0 or more and whole, found {given!r}")


def reason_given(frame: pl.DataFrame) -> pl.Expr:
    """Why a label does not count, as the frame's own column ``excluded`` says; null without one.

    Raises TableError: The column says that a label does not count, and not why.
    """
    if "excluded" not in frame.columns:
        return pl.lit(None, pl.String)
    reason = as_text(frame, "excluded")
    kind = frame.schema["excluded"]
    if not kind.is_numeric() and kind != pl.Boolean:
        return reason.replace("", None)
    if frame.select(reason.is_not_null().any()).item():
        raise TableError(
            f"labels: column 'excluded' must hold a reason, or null where a label counts, found {kind}; "
            "write the reasons, such as 'blank picture'"
        )
    return pl.lit(None, pl.String)


def pooled_factors(labels: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """Columns of labels that tell pictures apart as factors do, and are none of those that a caller names."""
    known = {*by, *(RESERVED - SCOPES), "excluded", N_SUBJECTS}
    plain = pl.String, pl.Categorical, pl.Enum, pl.Boolean
    return [
        name
        for name, kind in labels.schema.items()
        if name not in known and (kind.is_integer() or isinstance(kind, plain))
    ]


def read_labels(
    data: Any,
    *,
    factors: Sequence[str],
    attributes: Collection[str] | None = None,
    argument: str = "by",
    counted: bool = False,
    seeds: bool = False,
) -> pl.DataFrame:
    """Check a tidy frame of labels and say of each label whether it counts.

    data: One row a label: ``image_id, attribute, value`` and the factors; a column ``excluded`` (a reason, or
        null) is respected.
    factors: Factor columns that the caller groups by.
    attributes: Keep only these; all when None.
    argument: What the caller's own argument with these factors is called, for the hint of a message.
    counted: Whether a row may stand for ``n_subjects`` labels that are alike, and names no image.
    seeds: Whether ``seed`` is kept where the frame has it.

    Returns: ``image_id, attribute, value, excluded, <factors>, prompt_id``, rows in their order: ``excluded``
    is null where the label counts, else the reason (``missing`` for a null value). Factors are texts, null
    where one does not apply, as is a prompt that is not known; ``prompt_id`` is the scenario where this is
    the unit (:func:`~stereotrope.measure.units.unit_ids`). Of counted labels ``n_subjects`` is there in the
    place of ``image_id``.

    Raises TableError: A column is missing, an image has two labels of one attribute, an attribute is unknown,
    or labels are counted and may not be.
    """
    frame = to_polars(data)
    if N_SUBJECTS in frame.columns and not counted:
        raise TableError(
            f"labels: they are counted (column {N_SUBJECTS!r}), and this measure must see each image by "
            "itself; give it one row a label"
        )
    unit = N_SUBJECTS if N_SUBJECTS in frame.columns else "image_id"
    to_polars(frame, needs=(unit, "attribute", "value", *factors))
    check_factors(factors)
    _require_known(frame, unit, factors)
    if attributes is not None:
        if isinstance(attributes, str):
            raise UsageError(
                f"labels: attributes must be a list of names, found the string {attributes!r}; "
                f"write [{attributes!r}]"
            )
        known = frame["attribute"].unique().to_list()
        for name in attributes:
            if name not in known:
                raise TableError(
                    f"labels: no attribute {name!r}; found {', '.join(sorted(map(repr, known)))}"
                )
        frame = frame.filter(pl.col("attribute").is_in(list(attributes)))
    value = as_text(frame, "value")
    reason = pl.coalesce(
        reason_given(frame),
        pl.when(value.is_null()).then(pl.lit("missing")).when(value.is_in(list(NOT_VALUES))).then(value),
    )
    tidy = frame.with_columns(
        pl.col(unit).cast(pl.Int64 if unit == N_SUBJECTS else pl.String),
        pl.col("attribute").cast(pl.String),
        value=value,
        excluded=reason,
        **{f: as_text(frame, f) for f in factors},
    )
    if unit != N_SUBJECTS:
        _refuse_double_labels(tidy, factors, argument)
    asked = unit_ids(tidy.columns, factors, pl.col("excluded").is_null())
    kept = [SEED_COLUMN] if seeds and SEED_COLUMN in tidy.columns and SEED_COLUMN not in factors else []
    if kept and tidy.schema[SEED_COLUMN].is_float():
        tidy = tidy.with_columns(pl.col(SEED_COLUMN).fill_nan(None))
    return tidy.select(unit, "attribute", "value", "excluded", *factors, *kept, prompt_id=asked)


def _require_known(frame: pl.DataFrame, unit: str, factors: Sequence[str]) -> None:
    """Refuse columns that are no texts, and labels without a subject or an attribute."""
    named = (
        unit,
        "attribute",
        "value",
        *factors,
        "excluded",
        "prompt_id",
        SCENARIO,
        "annotator",
        SEED_COLUMN,
    )
    _require_texts(frame, [name for name in dict.fromkeys(named) if name in frame.columns])
    require_filled(frame, (unit, "attribute"), what="labels")


def require_filled(frame: pl.DataFrame, names: Iterable[str], *, what: str) -> None:
    """Refuse rows of nobody knows what."""
    for name in names:
        if n := frame[name].null_count():
            raise TableError(
                f"{what}: {name} is missing in {n} of {frame.height} rows; fill it in, or leave them out"
            )


def count_alike(
    data: Any,
    *,
    factors: Sequence[str],
    attributes: Collection[str] | None = None,
    argument: str = "by",
    across: bool = False,
) -> pl.DataFrame:
    """Labels with all that are alike counted in one row, for measures that see no image by itself.

    data, factors, attributes, argument: As for :func:`read_labels`.
    across: Whether ``seed`` is kept where prompts of several combinations share some, too.

    Returns: ``n_subjects``, the factors, ``attribute, value``, and of ``excluded, prompt_id, scenario,
    annotator`` what the frame has, ``seed`` where several prompts of a combination share some; rows in the
    order in which the first of each appears, and of every attribute. A frame that is counted is returned as
    it is.

    Raises TableError: A column is missing, or an image has two labels of one of the ``attributes``; when
    None, of any attribute but those of a picture's quality.
    """
    frame = to_polars(data)
    if N_SUBJECTS in frame.columns:
        return frame
    to_polars(frame, needs=("image_id", "attribute", "value", *factors))
    check_factors(factors)
    named = (*factors, "attribute", "value", "excluded", "prompt_id", SCENARIO, "annotator")
    alike = [name for name in dict.fromkeys(named) if name in frame.columns]
    _require_known(frame, "image_id", factors)
    kept = seeds_shared(frame, factors) or (across and seeds_across(frame, factors))
    alike += [SEED_COLUMN] if kept else []
    of_one = [
        as_text(frame, name) if frame.schema[name].is_float() else pl.col(name)
        for name in dict.fromkeys(("image_id", "attribute", *factors))
    ]
    hashed, counts = [], []
    # Some rows at a time: what grouping holds in memory does not grow with them.
    for start in range(0, max(1, frame.height), _AT_ONCE):
        part = frame[start : start + _AT_ONCE]
        hashed.append(part.select(_=pl.struct(*of_one).hash()).to_series())
        counts.append(
            part.group_by(alike, maintain_order=True).agg(pl.len().cast(pl.Int64).alias(N_SUBJECTS))
        )
    # Labels that differ in their hash are not of one image; of others it is looked up.
    if pl.concat(hashed).n_unique() < frame.height:
        _refuse_double_labels(_told_apart(frame, factors, attributes), factors, argument)
    return pl.concat(counts).group_by(alike, maintain_order=True).agg(pl.col(N_SUBJECTS).sum())


def _told_apart(
    frame: pl.DataFrame, factors: Sequence[str], attributes: Collection[str] | None
) -> pl.DataFrame:
    attribute = pl.col("attribute").cast(pl.String)
    listed = ~attribute.is_in(QUALITY_ATTRIBUTES) if attributes is None else attribute.is_in(list(attributes))
    texts = (as_text(frame, name) for name in factors)
    return frame.filter(listed).with_columns(pl.col("image_id").cast(pl.String), attribute, *texts)


def _refuse_double_labels(tidy: pl.DataFrame, factors: Sequence[str], argument: str) -> None:
    of_one = tidy.select("image_id", "attribute", *factors)
    # Labels that differ in their hash are not of one image; comparing the rest costs several times as much.
    if of_one.hash_rows().n_unique() == tidy.height or not (doubled := of_one.is_duplicated()).any():
        return
    first = tidy.filter(doubled).row(0, named=True)
    alike = ["image_id", "attribute", *factors]
    rows = tidy.filter(pl.all_horizontal(pl.col(c).eq_missing(pl.lit(first[c], pl.String)) for c in alike))
    said = {*alike, "value", "excluded", *(column.name for column in LABELS if column.name != "annotator")}
    differing = [c for c in tidy.columns if c not in said and rows[c].n_unique() > 1]
    if "annotator" in differing:
        hint = f"two annotators label it: filter to one, or add 'annotator' to `{argument}`"
    elif differing:
        name = differing[0]
        hint = f"these differ in {name!r}: filter to one level, or add {name!r} to `{argument}`"
    else:
        hint = "keep one label an image and attribute"
    raise TableError(
        f"labels: image {first['image_id']!r} has two labels of attribute {first['attribute']!r}; {hint}"
    )
