"""From the three tables of a run to the tidy frame that every measure reads."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from stereotrope.errors import TableError
from stereotrope.measure.tidy import factor_names, to_polars
from stereotrope.tables import (
    ABSENT,
    CONSTRAINTS,
    FILTERED,
    LABELLED,
    N_SUBJECTS,
    QUALITY_ATTRIBUTES,
    check_factors,
    factors_of,
    levels_of_subjects,
)

_LABEL = ("image_id", "attribute", "annotator")
_OF_IMAGE = ("image_id", "prompt_id", "generator", "seed", "status")

# Why a label does not count.
BLANK = "blank picture"  # an annotator calls it so
NOT_LABELLED = "not labelled"  # the picture is there, and the attribute of it was never answered
PICTURE_REFUSED = "refused by the generator"
PICTURE_EXCLUDED = "picture excluded"  # one came that cannot be used
PICTURE_ABSENT = "picture not at hand"  # nobody here can look at it, and its annotator labelled none such
SEEN = "seen in discovery"  # its annotator's attributes were discovered on it
BREAKS = "breaks the prompt's constraints"  # it shows people or several products

PICTURE_REASONS = frozenset(
    {BLANK, PICTURE_ABSENT, PICTURE_REFUSED, PICTURE_EXCLUDED, SEEN, BREAKS, *FILTERED}
)
"""Reasons that do not lie with the annotator; every other one does."""

_NOT_EXPECTED = frozenset(QUALITY_ATTRIBUTES) - {"blank", *CONSTRAINTS}


def with_factors(prompts: Any, images: Any) -> pl.DataFrame:
    """The table ``images`` with the factors of its prompts: what measures of images read.

    Raises TableError: An image has a prompt that is not in ``prompts``, or an id stands there twice.

    Examples
    --------
    >>> import polars as pl
    >>> prompts = pl.DataFrame({"prompt_id": ["p"], "object": ["car"], "text": ["a car"], "negative": [None]})
    >>> images = pl.DataFrame({"image_id": ["i"], "prompt_id": ["p"], "generator": ["m"]})
    >>> with_factors(prompts, images).columns
    ['image_id', 'prompt_id', 'generator', 'object']
    """
    asked = to_polars(prompts, what="prompts", needs=("prompt_id",))
    made = to_polars(images, what="images", needs=("image_id", "prompt_id", "generator"))
    factors = check_factors(factors_of(asked.columns))
    for what, ids in (("prompts", asked["prompt_id"]), ("images", made["image_id"])):
        if (doubled := ids.filter(ids.is_duplicated())).len():
            raise TableError(f"{what}: {ids.name} {doubled[0]!r} stands there twice; ids must differ")
    if (lost := made.join(asked, on="prompt_id", how="anti")).height:
        image, prompt = lost.select("image_id", "prompt_id").row(0)
        raise TableError(f"images: image {image!r} has prompt {prompt!r}, unknown to prompts")
    levels = asked.select("prompt_id", pl.col(factors).cast(pl.String))
    return made.drop(factors, strict=False).join(levels, on="prompt_id", how="left", maintain_order="left")


def picture_reason(picture: pl.Expr, given: pl.Expr) -> pl.Expr:
    """Why there is nothing to say of a picture, by its status; null where there is, or may be.

    Of a picture that is not at hand what was ``given`` counts, where the annotator gave it of any of them.
    """
    absent = picture == ABSENT
    return (
        pl.when(~picture.is_in(LABELLED))
        .then(picture.replace({"refused": PICTURE_REFUSED, "excluded": PICTURE_EXCLUDED}))
        .when(absent & ~(absent & given).any().over("annotator"))
        .then(pl.lit(PICTURE_ABSENT))
    )


def tidy_labels(prompts: Any, images: Any, labels: Any, *, asked: Any | None = None) -> pl.DataFrame:
    """Join prompts, images and labels, and say of every label why it does not count, if so.

    prompts, images, labels: The tables of a run. Only labels of whole images enter.
    asked: ``image_id, annotator, attribute`` of all that was asked of each image. Of annotators that do not
        stand in it this is known from the labels alone: each attribute is asked of every image, and one that
        was never answered is not there.

    Returns: ``image_id, prompt_id, generator, <factors>, attribute, value, annotator, excluded``, ``seed``
    where the images have that column, and ``confidence`` where the labels have. ``value`` is null wherever
    ``excluded`` has a reason: the label's status (``unclear``, ``refused``, ``invalid``),
    ``blank picture``, ``not labelled``, and for images without a picture ``refused by the generator`` or
    ``picture excluded``; of labels that follow from regions the filter that they fell to
    (:data:`stereotrope.tables.FILTERED`). What was said of a picture that is not at hand (status ``absent``)
    counts; of annotators that labelled none of these the reason is ``picture not at hand``. Exact duplicates
    stay; see :func:`effective_n`.

    Raises TableError: A label, or a row of ``asked``, is of an image that is not in ``images``, or a table
    lacks a column.

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
    pictures = to_polars(images, what="images")
    pictures = pictures.select(name for name in _OF_IMAGE if name in pictures.columns)
    made = to_polars(with_factors(prompts, pictures), what="images", needs=("status",))
    needs = ("subject_kind", "subject_id", "attribute", "value", "annotator", "status")
    said = to_polars(labels, needs=needs).filter(subject_kind="image").rename({"subject_id": "image_id"})
    more = [name for name in ("confidence",) if name in said.columns]
    drawn = [name for name in ("seed",) if name in made.columns]
    _check_known(said, made, "labels: subject {!r} is no image of this run; check subject_id")
    design = ("image_id", "prompt_id", "generator", *factors_of(to_polars(prompts, what="prompts").columns))
    said = said.select(*_LABEL, "value", "status", *more, filtered=_filter(said))
    asking = _answered(said, made.select(*design, *drawn, picture="status"), asked)
    is_blank = said.filter(attribute="blank", value="yes", status="ok")["image_id"].unique().sort().to_list()
    of_blank = (pl.col("attribute") != "blank") & pl.col("image_id").is_in(is_blank)
    return _with_reasons(asking, of_blank).select(
        *design, "attribute", "value", "annotator", *drawn, *more, "excluded"
    )


def tidy_counts(prompts: Any, counts: Any, *, kind: str = "image") -> pl.DataFrame:
    """:func:`tidy_labels` of labels that are counted, or of regions with another ``kind``.

    counts: The table ``counts`` of a run: :data:`stereotrope.tables.COUNTS`.

    Returns: As of :func:`tidy_labels`, with ``n_subjects`` instead of ``image_id``.

    Raises TableError: A row is of a prompt that is not in ``prompts``, or a table lacks a column.
    """
    asked = to_polars(prompts, what="prompts", needs=("prompt_id",))
    told = to_polars(counts, what="counts", needs=("subject_kind", "image_status", "prompt_id", N_SUBJECTS))
    told = told.filter(pl.col("annotator").is_not_null(), subject_kind=kind)
    _check_asked(told, asked, "counts")
    levels = asked.select("prompt_id", pl.col(factors_of(asked.columns)).cast(pl.String))
    asking = told.rename({"image_status": "picture"}).join(levels, on="prompt_id", maintain_order="left")
    judged = _with_reasons(asking.with_columns(filtered=_filter(asking)), pl.lit(False))
    design = ("prompt_id", "generator", *levels.columns[1:])
    return judged.select(*design, "attribute", "value", "annotator", "excluded", N_SUBJECTS)


def image_counts(prompts: Any, counts: Any) -> pl.DataFrame:
    """:func:`with_factors` of images that are counted: their status with ``n_subjects``, and the factors."""
    asked = to_polars(prompts, what="prompts", needs=("prompt_id",))
    made = to_polars(counts, what="counts").filter(pl.col("annotator").is_null(), subject_kind="image")
    _check_asked(made, asked, "counts")
    levels = asked.select("prompt_id", pl.col(factors_of(asked.columns)).cast(pl.String))
    own = made.select("prompt_id", "generator", N_SUBJECTS, "reason", status="image_status")
    return own.join(levels, on="prompt_id", maintain_order="left")


def _check_asked(rows: pl.DataFrame, prompts: pl.DataFrame, what: str) -> None:
    if (lost := rows.join(prompts, on="prompt_id", how="anti")["prompt_id"]).len():
        raise TableError(f"{what}: a row has prompt {lost[0]!r}, unknown to prompts")


def _with_reasons(asking: pl.DataFrame, of_blank: pl.Expr) -> pl.DataFrame:
    """Labels with why each does not count, and without its value then.

    asking: ``picture`` (status of the image), ``annotator, value, status`` and ``filtered``.
    """
    status = pl.col("status")
    reason = pl.coalesce(
        picture_reason(pl.col("picture"), status.is_not_null()),
        pl.when(status.is_null())
        .then(pl.lit(NOT_LABELLED))
        .when(status != "ok")
        .then(pl.coalesce("filtered", status))
        .when(of_blank)
        .then(pl.lit(BLANK))
        .when(pl.col("value").is_null())
        .then(pl.lit("missing")),
    )
    value = pl.when(pl.col("excluded").is_null()).then("value")
    return asking.with_columns(excluded=reason).with_columns(value=value)


def tidy_subjects(
    prompts: Any,
    images: Any,
    labels: Any,
    subjects: Any | None = None,
    *,
    kind: str,
    asked: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """:func:`tidy_labels` of regions, of sets of images, or of texts of prompts, one unit a subject.

    subjects: ``subject_kind, subject_id, image_id, position``: the images of each region and set.
    kind: ``region``, ``set`` or ``text``.
    asked: What should have been answered, as of :func:`tidy_labels`, with the id of the subject in
        ``image_id``; of annotators that are not in it all that they label is expected of the subjects that
        they labelled.

    Returns: As of :func:`tidy_labels`; ``image_id`` is the subject's id, and ``picture`` its image, of a set
    the first, of a text null. It has the prompt of that image, the least seed of its images, and its model
    and factors but those in which the images of a set differ: these are null, as is the model of a text.
    ``images`` are the ids of all images of a set, sorted: the same for sets of the same images in another
    order. Subjects of one picture are not
    independent: resample pictures or prompts, or give no interval.
    """
    given = to_polars(labels).filter(subject_kind=kind)
    levels = ["generator", *factors_of(to_polars(prompts, what="prompts").columns)]
    of = pl.DataFrame(schema=dict.fromkeys(("image_id", "picture", "images", *levels), pl.String))
    if kind == "text":
        texts = to_polars(prompts, what="prompts").select("prompt_id", image_id="prompt_id")
        units = texts.with_columns(generator=pl.lit(None, pl.String), status=pl.lit("ok"))
    elif subjects is None:
        units = to_polars(images, what="images").clear()
    else:
        ours = to_polars(subjects, what="subjects").filter(subject_kind=kind)
        of = levels_of_subjects(ours, with_factors(prompts, images), levels)
        of = of.rename({"image_id": "picture", "subject_id": "image_id"})
        images_of = ours.group_by(image_id="subject_id").agg(images=pl.col("image_id").sort().str.join(" "))
        of = of.join(images_of, on="image_id", how="left", maintain_order="left")
        made = to_polars(images, what="images").rename({"image_id": "picture"})
        units = of.select("image_id", "picture").join(made, on="picture", maintain_order="left")
        if "seed" in made.columns:  # the same whichever picture comes first
            drawn = ours.join(made.select("seed", image_id="picture"), on="image_id")
            least = drawn.group_by(image_id="subject_id").agg(pl.col("seed").min())
            units = units.drop("seed").join(least, on="image_id", how="left", maintain_order="left")
        # A set is looked at whole: one picture that cannot be is what there is to say of it.
        status = made.select(image_id="picture", status="status")
        each = (
            ours.select("subject_id", "image_id").join(status, on="image_id").filter(pl.col("status") != "ok")
        )
        worst = each.group_by(image_id="subject_id").agg(worst=pl.col("status").sort().last())
        units = units.join(worst, on="image_id", how="left", maintain_order="left")
        units = units.with_columns(status=pl.coalesce("worst", "status")).drop("worst")
    looked = given.select("annotator", image_id="subject_id").unique(maintain_order=True)
    answered = given.select("annotator", "attribute").unique(maintain_order=True)
    asks = looked.join(answered, on="annotator", maintain_order="left")
    if asked is not None:
        here = asked.join(units, on="image_id", how="semi", maintain_order="left").select(asks.columns)
        asks = pl.concat([asks.join(here, on="annotator", how="anti", maintain_order="left"), here])
    tidy = tidy_labels(prompts, units, given.with_columns(subject_kind=pl.lit("image")), asked=asks)
    if kind != "text":
        alike = tidy.select("image_id").join(of, on="image_id", how="left", maintain_order="left")
        tidy = tidy.with_columns(alike.select(levels))
    more = of.select("image_id", "picture", "images")
    return tidy.join(more, on="image_id", how="left", maintain_order="left")


def effective_n(images: Any, *, by: Sequence[str] = ("generator", "prompt_id")) -> pl.DataFrame:
    """Count the distinct pictures of each cell beside its pictures.

    Byte-for-byte copies carry no information of their own; where ``effective_n`` is below ``n``, every
    interval of the cell is too narrow.

    images: ``status``, ``sha256`` and the columns of ``by``, whose combinations are the cells. Pictures
        without a hash are taken to differ.

    Returns: ``<by>, n, effective_n`` over pictures with status ok, cells in order of appearance.

    Examples
    --------
    >>> import polars as pl
    >>> images = pl.DataFrame({"sha256": ["a", "a"], "status": "ok", "generator": "m"})
    >>> effective_n(images, by=["generator"]).rows()
    [('m', 2, 1)]
    """
    cells = list(factor_names(by, measure="effective_n", what="by"))
    frame = to_polars(images, what="images", needs=("status", "sha256", *cells))
    ok = pl.col("status") == "ok"
    sums = pl.col("sha256").filter(ok)
    return frame.group_by(cells, maintain_order=True).agg(
        n=ok.sum().cast(pl.Int64),
        effective_n=(sums.drop_nulls().n_unique() + sums.null_count()).cast(pl.Int64),
    )


def _filter(said: pl.DataFrame) -> pl.Expr:
    """The filter that a derived label fell to; null where it fell to none."""
    if not {"rationale", "derived_from"} <= set(said.columns):
        return pl.lit(None, pl.String)
    why = pl.col("rationale")
    fell = (pl.col("status") == "unclear") & pl.col("derived_from").is_not_null() & why.is_in(list(FILTERED))
    return pl.when(fell).then(why)


def _expected(
    said: pl.DataFrame, picture: pl.DataFrame, asked: Any | None
) -> Iterator[tuple[tuple[Any, ...], pl.DataFrame]]:
    """Each attribute with an annotator, and the images that it was asked of."""
    pair = list(_LABEL[1:])
    listed = said.select(_LABEL).clear()
    always = ~pl.col("attribute").is_in(list(_NOT_EXPECTED))
    if asked is not None:
        listed = to_polars(asked, what="asked", needs=_LABEL).select(pl.col(_LABEL).cast(pl.String))
        _check_known(listed, picture, "asked: {!r} is no image of this run; check image_id")
        always &= ~pl.col("annotator").is_in(listed["annotator"].unique().to_list())
    everywhere = said.filter(always).select(pair).unique().with_columns(image_id=pl.lit(None, pl.String))
    # What was answered without being asked is still an answer.
    further = pl.concat([listed, said.filter(~always).select(_LABEL)]).select(*pair, "image_id")
    asked_of = pl.concat([everywhere, further])
    ids = asked_of.partition_by(pair, as_dict=True, include_key=False)
    for named in asked_of.select(pair).unique().sort(pair, nulls_last=True).iter_rows():
        own = ids[named]
        of_all = own["image_id"][0] is None
        yield (
            named,
            picture if of_all else picture.join(own, on="image_id", how="semi", maintain_order="left"),
        )


def _answered(said: pl.DataFrame, picture: pl.DataFrame, asked: Any | None) -> pl.DataFrame:
    """What was asked of each image with what was said, one attribute of an annotator after another."""
    image, *pair = _LABEL
    told = said.partition_by(pair, as_dict=True, include_key=False)
    none, parts = said.drop(pair).clear(), []
    nobody = ((None, None), picture.clear())
    for named, here in (nobody, *_expected(said, picture, asked)):
        own = told.pop(named, none) if here.height else none
        alike = (pl.lit(each, pl.String).alias(name) for name, each in zip(pair, named, strict=True))
        parts.append(here.join(own, on=image, how="left", maintain_order="left").with_columns(alike))
    return pl.concat(parts)


def _check_known(listed: pl.DataFrame, images: pl.DataFrame, message: str) -> None:
    if (lost := listed.join(images, on="image_id", how="anti")).height:
        raise TableError(message.format(lost["image_id"][0]))
