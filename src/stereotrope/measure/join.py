"""From the three tables of a run to the tidy frame that every measure reads."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.errors import TableError
from stereotrope.measure.tidy import to_polars
from stereotrope.tables import ABSENT, CONSTRAINTS, LABELLED, PROMPTS, QUALITY_ATTRIBUTES, check_factors

BLANK = "blank picture"
"""Reason given for every label of a picture that an annotator calls blank."""

NOT_LABELLED = "not labelled"
"""Reason where a picture is there and an attribute of it was never answered."""

PICTURE_REFUSED = "refused by the generator"
"""Reason where there is no picture because the generator refused."""

PICTURE_EXCLUDED = "picture excluded"
"""Reason where a picture came that cannot be used."""

PICTURE_ABSENT = "picture not at hand"
"""Reason where a picture was made that nobody here can look at, of whoever labelled no such picture."""

_PICTURE = {"refused": PICTURE_REFUSED, "excluded": PICTURE_EXCLUDED}
SEEN = "seen in discovery"
"""Reason given for a label of a picture on which its annotator's attributes were discovered."""

BREAKS = "breaks the prompt's constraints"
"""Reason given for every label of a picture that shows people or several products."""

DESIGN_REASONS = (SEEN, BREAKS)
"""Reasons of a conductor that leaves a picture out of a score on purpose."""

PICTURE_REASONS = frozenset({BLANK, PICTURE_ABSENT, *_PICTURE.values(), *DESIGN_REASONS})
"""Reasons that do not lie with the annotator; every other one does."""

_NOT_EXPECTED = frozenset(QUALITY_ATTRIBUTES) - {"blank", *CONSTRAINTS}


def with_factors(prompts: Any, images: Any) -> pl.DataFrame:
    """Give every image row the factors of its prompt: what :func:`~stereotrope.measure.refusal_rate` reads.

    Parameters
    ----------
    prompts, images
        The tables of a run.

    Returns
    -------
    polars.DataFrame
        ``images`` with one more column a factor, rows in their order.

    Raises
    ------
    TableError
        An image has a prompt that is not in ``prompts``, or a prompt stands there twice.

    Examples
    --------
    >>> import polars as pl
    >>> prompts = pl.DataFrame({"prompt_id": ["p"], "object": ["car"], "text": ["a car"], "negative": [None]})
    >>> images = pl.DataFrame({"image_id": ["i"], "prompt_id": ["p"], "generator": ["m"]})
    >>> with_factors(prompts, images).columns
    ['image_id', 'prompt_id', 'generator', 'object']
    """
    asked, made = to_polars(prompts, what="prompts"), to_polars(images, what="images")
    _need(asked, ("prompt_id",), what="prompts")
    _need(made, ("image_id", "prompt_id", "generator"), what="images")
    factors = check_factors(c for c in asked.columns if c not in {column.name for column in PROMPTS})
    _unique(asked["prompt_id"], what="prompts", name="prompt_id")
    _unique(made["image_id"], what="images", name="image_id")
    lost = made.join(asked, on="prompt_id", how="anti")
    if lost.height:
        first = lost.row(0, named=True)
        raise TableError(
            f"images: image {first['image_id']!r} has prompt {first['prompt_id']!r}, unknown to prompts"
        )
    kept = [c for c in made.columns if c not in factors]
    return made.select(kept).join(
        asked.select("prompt_id", *(pl.col(f).cast(pl.String) for f in factors)),
        on="prompt_id",
        how="left",
        maintain_order="left",
    )


def tidy_labels(
    prompts: Any,
    images: Any,
    labels: Any,
    *,
    scope: Sequence[str] = (),
    blank: bool = True,
    asked: Mapping[str, Sequence[str]] | Any | None = None,
) -> pl.DataFrame:
    """Join prompts, images and labels, and say of every label why it does not count, if so.

    Parameters
    ----------
    prompts, images, labels
        The tables of a run. Only labels of whole images enter (``subject_kind`` image).
    scope
        Factors (``generator`` included) inside which an attribute applies. With ``("object",)`` an
        attribute labelled on cars only is not missed on cups; with none, it is asked of every image.
    blank
        Leave out every other label of a picture that is labelled ``blank`` = ``yes``.
    asked
        Annotator → attributes it was asked for in every image; or a frame
        ``image_id, annotator, attribute`` of all that was asked of each image, where attributes differ
        between parts of the design: an annotator that stands in it misses nothing else, whatever ``scope``
        says. Of annotators not named this is known from the labels alone, and an attribute that was never
        answered, as where every image was refused, is not there.

    Returns
    -------
    polars.DataFrame
        ``image_id, prompt_id, generator, <factors>, attribute, value, annotator, excluded``. ``value`` is
        null wherever ``excluded`` has a reason: the label's status (``unclear``, ``refused``,
        ``invalid``), ``blank picture``, ``not labelled``, and for images without a picture ``refused by
        the generator`` or ``picture excluded``. What was said of a picture that is not at hand (status
        ``absent``) counts; of annotators that labelled none of these the reason is ``picture not at hand``.
        Exact duplicates stay; see :func:`effective_n`.

    Raises
    ------
    TableError
        A label, or a row of ``asked``, is of an image that is not in ``images``, or a table lacks a column.

    Examples
    --------
    >>> import polars as pl
    >>> prompts = pl.DataFrame({"prompt_id": ["p"], "object": ["car"], "text": ["a car"], "negative": [None]})
    >>> images = pl.DataFrame({
    ...     "image_id": ["i", "j"], "prompt_id": "p", "generator": "m", "status": ["ok", "refused"],
    ... })
    >>> labels = pl.DataFrame({
    ...     "subject_kind": ["image"], "subject_id": ["i"], "attribute": ["product_colour"],
    ...     "value": ["pink"], "annotator": ["colour"], "status": ["ok"],
    ... })
    >>> tidy_labels(prompts, images, labels).select("image_id", "value", "excluded").rows()
    [('i', 'pink', None), ('j', None, 'refused by the generator')]
    """
    made = with_factors(prompts, images)
    _need(made, ("status",), what="images")
    said = to_polars(labels)
    _need(said, ("subject_kind", "subject_id", "attribute", "value", "annotator", "status"), what="labels")
    said = said.filter(pl.col("subject_kind") == "image").rename({"subject_id": "image_id"})
    lost = said.join(made, on="image_id", how="anti")
    if lost.height:
        raise TableError(f"labels: subject {lost['image_id'][0]!r} is no image of this run; check subject_id")
    inside = tuple(f for f in made.columns if f in {*scope})
    if unknown := [f for f in scope if f not in inside]:
        raise TableError(f"scope: no factor {unknown[0]!r}; found {', '.join(map(repr, made.columns))}")
    factors = [c for c in made.columns if c in _factor_columns(prompts)]
    picture = made.select("image_id", "prompt_id", "generator", *factors, pl.col("status").alias("picture"))
    asking = _expected(said, picture, inside, asked).join(
        said.select("image_id", "attribute", "annotator", "value", "status"),
        on=["image_id", "attribute", "annotator"],
        how="left",
        maintain_order="left",
        nulls_equal=True,
    )
    absent, labelled = pl.col("picture") == ABSENT, pl.col("status").is_not_null()
    reason = (
        pl.when(~pl.col("picture").is_in(LABELLED))
        .then(pl.col("picture").replace(_PICTURE))
        .when(absent & ~(absent & labelled).any().over("annotator"))
        .then(pl.lit(PICTURE_ABSENT))
        .when(pl.col("status").is_null())
        .then(pl.lit(NOT_LABELLED))
        .when(pl.col("status") != "ok")
        .then("status")
        .when(pl.lit(blank) & (pl.col("attribute") != "blank") & pl.col("image_id").is_in(_blank(said)))
        .then(pl.lit(BLANK))
        .when(pl.col("value").is_null())
        .then(pl.lit("missing"))
    )
    return asking.with_columns(reason.alias("excluded")).select(
        "image_id",
        "prompt_id",
        "generator",
        *factors,
        "attribute",
        pl.when(pl.col("excluded").is_null()).then("value").alias("value"),
        "annotator",
        "excluded",
    )


def tidy_subjects(
    prompts: Any, images: Any, labels: Any, subjects: Any | None = None, *, kind: str
) -> pl.DataFrame:
    """:func:`tidy_labels` of regions, of sets of images, or of texts of prompts, one unit a subject.

    Parameters
    ----------
    prompts, images, labels
        The tables of a run.
    subjects
        ``subject_kind, subject_id, image_id, position``: the images of each region and set.
    kind
        ``region``, ``set`` or ``text``.

    Returns
    -------
    polars.DataFrame
        As of :func:`tidy_labels`; ``image_id`` is the subject's id, and ``picture`` its image, of a set the
        first, of a text null. It has the prompt and the model of that image, a text no model. Subjects of
        one picture are not independent: resample pictures or prompts, or give no interval. Of each annotator
        the subjects that it labelled are expected.

    Examples
    --------
    >>> import polars as pl
    >>> prompts = pl.DataFrame({"prompt_id": ["p"], "object": ["car"], "text": ["a car"], "negative": [None]})
    >>> images = pl.DataFrame({"image_id": ["i"], "prompt_id": "p", "generator": "m", "status": "ok"})
    >>> subjects = pl.DataFrame({
    ...     "subject_kind": "region", "subject_id": ["r", "s"], "image_id": "i", "position": 0,
    ... })
    >>> labels = pl.DataFrame({
    ...     "subject_kind": "region", "subject_id": ["r", "s"], "attribute": "colour",
    ...     "value": ["pink", None], "annotator": "a", "status": ["ok", "unclear"],
    ... })
    >>> tidy = tidy_subjects(prompts, images, labels, subjects, kind="region")
    >>> tidy.select("image_id", "picture", "value").rows()
    [('r', 'i', 'pink'), ('s', 'i', None)]
    """
    given = to_polars(labels).filter(subject_kind=kind)
    of = pl.DataFrame(schema={"image_id": pl.String, "picture": pl.String})
    if kind == "text":
        asked = to_polars(prompts, what="prompts").select("prompt_id", image_id="prompt_id")
        units = asked.with_columns(generator=pl.lit(None, pl.String), status=pl.lit("ok"))
    elif subjects is None:
        units = to_polars(images, what="images").clear()
    else:
        firsts = to_polars(subjects, what="subjects").filter(subject_kind=kind).sort("position")
        of = firsts.unique("subject_id", keep="first", maintain_order=True)
        of = of.select(image_id="subject_id", picture="image_id")
        made = to_polars(images, what="images").rename({"image_id": "picture"})
        units = of.join(made, on="picture", maintain_order="left").drop("picture")
    looked = given.select("annotator", image_id="subject_id").unique(maintain_order=True)
    asks = looked.join(given.select("annotator", "attribute").unique(maintain_order=True), on="annotator")
    tidy = tidy_labels(prompts, units, given.with_columns(subject_kind=pl.lit("image")), asked=asks)
    return tidy.join(of, on="image_id", how="left", maintain_order="left")


def effective_n(images: Any, *, by: Sequence[str] = ("generator", "prompt_id")) -> pl.DataFrame:
    """Count the distinct pictures of each cell beside its pictures.

    Byte-for-byte copies carry no information of their own; where ``effective_n`` is below ``n``, every
    interval of the cell is too narrow.

    Parameters
    ----------
    images
        ``status``, ``sha256`` and the columns of ``by``.
    by
        Columns whose combinations are the cells.

    Returns
    -------
    polars.DataFrame
        ``<by>, n, effective_n`` over pictures with status ok, cells in order of appearance.

    Examples
    --------
    >>> import polars as pl
    >>> images = pl.DataFrame({"sha256": ["a", "a"], "status": "ok", "generator": "m"})
    >>> effective_n(images, by=["generator"]).rows()
    [('m', 2, 1)]
    """
    frame = to_polars(images, what="images")
    _need(frame, ("status", "sha256", *by), what="images")
    ok = pl.col("status") == "ok"
    return frame.group_by(list(by), maintain_order=True).agg(
        ok.sum().cast(pl.Int64).alias("n"),
        pl.col("sha256").filter(ok).n_unique().cast(pl.Int64).alias("effective_n"),
    )


_ASKED = ("image_id", "annotator", "attribute")


def _expected(said: pl.DataFrame, picture: pl.DataFrame, scope: Sequence[str], asked: Any) -> pl.DataFrame:
    """Every image with every attribute and annotator that it was asked about."""
    given = said.select("image_id", "attribute", "annotator").unique(maintain_order=True)
    rest = given.filter(pl.col("attribute").is_in(list(_NOT_EXPECTED)))
    given = given.filter(~pl.col("attribute").is_in(list(_NOT_EXPECTED)))
    everywhere: Mapping[str, Sequence[str]] = {}
    if asked is not None and not isinstance(asked, Mapping):
        listed = _asked(asked, picture)
        named = listed["annotator"].unique().to_list()
        # What it answered without being asked is still an answer.
        rest = pl.concat([rest, listed, given.filter(pl.col("annotator").is_in(named))]).unique()
        given = given.filter(~pl.col("annotator").is_in(named))
    elif asked is not None:
        everywhere = asked
    full = _known(given, picture, scope, everywhere)
    order = picture.select("image_id").with_row_index("position")
    return (
        pl.concat([full, picture.join(rest, on="image_id").select(full.columns)])
        .join(order, on="image_id")
        .sort("attribute", "annotator", "position", nulls_last=True)
        .drop("position")
    )


def _asked(asked: Any, picture: pl.DataFrame) -> pl.DataFrame:
    frame = to_polars(asked, what="asked")
    _need(frame, _ASKED, what="asked")
    listed = frame.select(pl.col(name).cast(pl.String) for name in ("image_id", "attribute", "annotator"))
    lost = listed.join(picture, on="image_id", how="anti")
    if lost.height:
        raise TableError(f"asked: {lost['image_id'][0]!r} is no image of this run; check image_id")
    return listed.unique(maintain_order=True)


def _known(
    given: pl.DataFrame, picture: pl.DataFrame, scope: Sequence[str], everywhere: Mapping[str, Sequence[str]]
) -> pl.DataFrame:
    """Every image with what its part of the design was labelled with, and with what is asked everywhere."""
    pairs = [(attribute, name) for name, attributes in everywhere.items() for attribute in attributes]
    always = pl.DataFrame(pairs, schema={"attribute": pl.String, "annotator": pl.String}, orient="row")
    if not scope:
        known = pl.concat([given.select(always.columns), always]).unique(maintain_order=True)
        return picture.join(known, how="cross")
    found = given.join(picture.select("image_id", *scope), on="image_id").drop("image_id").unique()
    full = picture.join(found, on=list(scope), nulls_equal=True)
    rest = picture.join(always, how="cross")
    return pl.concat([full.select(rest.columns), rest]).unique(maintain_order=True)


def _blank(said: pl.DataFrame) -> list[str]:
    blank = (pl.col("attribute") == "blank") & (pl.col("value") == "yes") & (pl.col("status") == "ok")
    return said.filter(blank)["image_id"].unique().sort().to_list()


def _factor_columns(prompts: Any) -> set[str]:
    return set(to_polars(prompts, what="prompts").columns) - {column.name for column in PROMPTS}


def _need(frame: pl.DataFrame, names: Sequence[str], *, what: str) -> None:
    if absent := [name for name in names if name not in frame.columns]:
        raise TableError(f"{what}: no column {absent[0]!r}; found {', '.join(map(repr, frame.columns))}")


def _unique(ids: pl.Series, *, what: str, name: str) -> None:
    doubled = ids.filter(ids.is_duplicated())
    if doubled.len():
        raise TableError(f"{what}: {name} {doubled[0]!r} stands there twice; ids must differ")
