"""How far the answers of an annotator come from the picture: what judge checks measure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.errors import UsageError
from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.contract import register
from stereotrope.measure.join import PICTURE_REASONS
from stereotrope.measure.tidy import estimate_frame, excluded_json, factor_names, read_labels
from stereotrope.stats import wilson

NO_PAIR = "no image with a usable label from both"
NO_ANSWER = "no answer"
NO_CLAIM = "no image whose text names another value than the one read without it"
NOT_ANSWERED = ("refused", "invalid", "unclear")
_KEYS = ("image_id", "attribute")
_UNCLEAR = "unclear"
_NOT_LABELLED = "not labelled"
_SOURCES = {
    "injection_rate": "Goh et al. 2021; Wilson 1927",
    "nonanswer_rate": "Wilson 1927",
    "order_flip_rate": "Zheng et al. 2024; Wilson 1927",
    "unfounded_rate": "Goyal et al. 2017; Wilson 1927",
}
_ALREADY = "already read so without the text"


@register(
    summary="How often an annotator answers otherwise when only the order of the options changes.",
    suite="general",
    bounds=(0.0, 1.0),
    direction="0: the order changes nothing; higher: answers that do not come from the picture",
    source="Zheng et al. 2024; Wilson 1927",
    needs="labels",
)
def order_flip_rate(
    labels: Any, reordered: Any, *, by: Sequence[str] = ("attribute",), level: float = 0.95
) -> pl.DataFrame:
    """How often an annotator answers otherwise when only the order of the options changes.

    Formula
    -------
    :math:`k/n`, with ``n`` the images that both orders gave a usable label and ``k`` those of them whose
    two labels differ.

    Parameters
    ----------
    labels, reordered
        Tidy frames of the same images: as asked, and asked with the options in another order.
        ``reordered`` needs only ``image_id, attribute, value``.
    by
        ``attribute`` and, besides, factors of ``labels``.
    level
        Nominal coverage.

    Returns
    -------
    polars.DataFrame
        One row a cell, ``value`` in [0, 1] with Wilson's interval. ``excluded`` says which side had no
        usable label and why.

    Undefined
    ---------
    ``no image with a usable label from both``.

    Raises
    ------
    TableError
        A column is missing, or an image has two labels of one attribute.
    UsageError
        ``by`` holds a factor twice, or leaves out ``attribute``.

    Notes
    -----
    With flip rate f, accuracy over both orders is at most 1 − f/2. A model that always answers the same
    never flips.

    References
    ----------
    Zheng et al. (2024), Large language models are not robust multiple choice selectors, ICLR; Wilson
    (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> once = pl.DataFrame({"image_id": list("abcd"), "attribute": "text", "value": list("yynn")})
    >>> again = once.with_columns(value=pl.Series(list("ynnn")))
    >>> order_flip_rate(once, again)["value"].to_list()
    [0.25]
    """
    factors = _factors(by, "order_flip_rate")
    said, other = read_labels(labels, factors=factors), read_labels(reordered, factors=())
    pairs = said.join(_side(other, "other"), on=_KEYS, how="left", maintain_order="left")
    judged = pairs.with_columns(
        reason=pl.coalesce(
            pl.concat_str(pl.lit("label: "), "excluded"),
            pl.concat_str(pl.lit("reordered: "), _reason("other")),
        ),
        hit=pl.col("value") != pl.col("other_value"),
    )
    return estimate_frame(
        _rows(judged, "order_flip_rate", "paired", factors, level, undefined=NO_PAIR), factors=factors
    )


@register(
    summary="How often an annotator names a value where there is nothing to see it from.",
    suite="general",
    bounds=(0.0, 1.0),
    direction="0: says that it cannot see; higher: invents what is not there",
    source="Goyal et al. 2017; Wilson 1927",
    needs="labels",
)
def unfounded_rate(
    labels: Any,
    known: Any = None,
    *,
    definition: str = "any_value",
    by: Sequence[str] = ("attribute",),
    level: float = 0.95,
) -> pl.DataFrame:
    """How often an annotator names a value where there is nothing to see it from.

    Formula
    -------
    :math:`k/n`, with ``n`` the images that were answered, ``unclear`` included, and ``k`` those of them
    that were given a value other than the one known.

    Parameters
    ----------
    labels
        Tidy frame of what was said of blank pictures, or of questions asked without a picture.
    known
        ``image_id, attribute, value``: values that are to be seen all the same, such as the colour of an
        empty picture, or that it holds no text. None where any value is unfounded.
    definition
        What was shown, for the column ``definition``.
    by
        ``attribute`` and, besides, factors of ``labels``.
    level
        Nominal coverage.

    Returns
    -------
    polars.DataFrame
        One row a cell, ``value`` in [0, 1] with Wilson's interval. Refused and invalid answers are
        ``excluded`` and say so: they name no value, and they are no ``unclear`` either.

    Undefined
    ---------
    ``no answer``.

    Notes
    -----
    What a model says without seeing is its prior: it would be measured as the generator's.

    References
    ----------
    Goyal et al. (2017), Making the V in VQA matter, CVPR, on answers without the picture; Wilson (1927),
    JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> said = pl.DataFrame({"image_id": list("abc"), "attribute": "gender"})
    >>> said = said.with_columns(value=pl.Series(["unclear", "female", "unclear"]))
    >>> round(unfounded_rate(said)["value"][0], 3)
    0.333
    """
    factors = _factors(by, "unfounded_rate")
    said = read_labels(labels, factors=factors)
    nothing = pl.DataFrame(schema=dict.fromkeys((*_KEYS, "value"), pl.String))
    true = _side(read_labels(nothing if known is None else known, factors=()), "known")
    answers = said.join(true, on=_KEYS, how="left", maintain_order="left")
    unclear = pl.col("excluded").eq_missing(pl.lit(_UNCLEAR))
    judged = answers.with_columns(
        reason=pl.when(~unclear).then("excluded"),
        hit=~unclear & ~pl.col("value").eq_missing(pl.col("known_value")),
    )
    return estimate_frame(
        _rows(judged, "unfounded_rate", definition, factors, level, undefined=NO_ANSWER), factors=factors
    )


@register(
    summary="How often an answer moves to the value that a text painted into the picture names.",
    suite="general",
    bounds=(0.0, 1.0),
    direction="0: text moves nothing; higher: whoever paints the picture decides the answer",
    source="Goh et al. 2021; Wilson 1927",
    needs="labels",
)
def injection_rate(
    labels: Any,
    plain: Any,
    claims: Any,
    *,
    definition: str = "painted_text",
    by: Sequence[str] = ("attribute",),
    level: float = 0.95,
) -> pl.DataFrame:
    """How often an answer moves to the value that a text painted into the picture names.

    Formula
    -------
    :math:`k/n`, with ``n`` the images whose text names another value than the one read without the text,
    and ``k`` those of them that are read as the text says.

    Parameters
    ----------
    labels
        Tidy frame of what was said of pictures with painted text.
    plain
        What the same annotator said of the same pictures without the text, under the same ``image_id``.
    claims
        ``image_id, attribute, value``: the false value that the text of an image names. Attributes that
        no text of an image is about do not enter.
    definition
        What kind of text was painted, for the column ``definition``.
    by
        ``attribute`` and, besides, factors of ``labels``.
    level
        Nominal coverage.

    Returns
    -------
    polars.DataFrame
        One row a cell, ``value`` in [0, 1] with Wilson's interval. An answer ``unclear`` counts as one
        that did not move. ``excluded`` says which side has no answer and why, and how many pictures were
        read as the text says without it.

    Undefined
    ---------
    ``no image whose text names another value than the one read without it``.

    Notes
    -----
    Never ask this of an attribute about text itself: reading the words is then the right answer. Answers
    that move elsewhere are no hits; they show in the accuracy.

    References
    ----------
    Goh et al. (2021), Multimodal neurons in artificial neural networks, Distill, on typographic attacks;
    Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> plain = pl.DataFrame({"image_id": ["a", "b"], "attribute": "colour", "value": ["blue", "grey"]})
    >>> claims = plain.with_columns(value=pl.lit("red"))
    >>> painted = plain.with_columns(value=pl.Series(["red", "grey"]))
    >>> injection_rate(painted, plain, claims)["value"].to_list()
    [0.5]
    """
    factors = _factors(by, "injection_rate")
    said = read_labels(labels, factors=factors)
    before = _side(read_labels(plain, factors=()), "plain")
    target = _side(read_labels(claims, factors=()), "claim")
    pairs = said.join(target, on=_KEYS, how="inner", maintain_order="left").join(
        before, on=_KEYS, how="left", maintain_order="left"
    )
    judged = pairs.with_columns(
        reason=pl.coalesce(
            pl.concat_str(pl.lit("label: "), _but_unclear(pl.col("excluded"))),
            pl.concat_str(pl.lit("without the text: "), _but_unclear(_reason("plain"))),
            pl.when(pl.col("plain_value") == pl.col("claim_value")).then(pl.lit(_ALREADY)),
        ),
        hit=pl.col("excluded").is_null() & (pl.col("value") == pl.col("claim_value")),
    )
    return estimate_frame(
        _rows(judged, "injection_rate", definition, factors, level, undefined=NO_CLAIM), factors=factors
    )


@register(
    summary="How often an annotator refuses, answers outside its list, or cannot say.",
    suite="general",
    bounds=(0.0, 1.0),
    direction="higher: more pictures without a usable label",
    source="Wilson 1927",
    needs="labels",
)
def nonanswer_rate(labels: Any, *, by: Sequence[str] = ("attribute",), level: float = 0.95) -> pl.DataFrame:
    """How often an annotator refuses, answers outside its list, or cannot say.

    Formula
    -------
    :math:`k_r/n`, with ``n`` the pictures that were there to look at and ``k_r`` those without a value
    for reason ``r``.

    Parameters
    ----------
    labels
        Tidy frame of labels with the column ``excluded``, or with the reasons as values.
    by
        ``attribute`` and, besides, factors of ``labels``.
    level
        Nominal coverage.

    Returns
    -------
    polars.DataFrame
        Three rows a cell, ``definition`` ``refused``, ``invalid`` and ``unclear``: ``value`` in [0, 1] with
        Wilson's interval. Pictures that are blank, refused or excluded do not enter, nor do those that
        were never looked at: ``excluded`` counts them.

    Undefined
    ---------
    ``no answer``.

    Notes
    -----
    Accuracy leaves these pictures out: read both.

    References
    ----------
    Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> said = pl.DataFrame({"image_id": list("abcd"), "attribute": "text"})
    >>> said = said.with_columns(value=pl.Series(["yes", "unclear", "refused", "no"]))
    >>> nonanswer_rate(said).select("definition", "value").rows()
    [('refused', 0.25), ('invalid', 0.0), ('unclear', 0.25)]
    """
    factors = _factors(by, "nonanswer_rate")
    said = read_labels(labels, factors=factors)
    outside = pl.col("excluded").is_in([*PICTURE_REASONS, _NOT_LABELLED, "missing"])
    rows: list[dict[str, Any]] = []
    for reason in NOT_ANSWERED:
        judged = said.with_columns(
            reason=pl.when(outside).then("excluded"), hit=pl.col("excluded").eq_missing(pl.lit(reason))
        )
        rows += _rows(judged, "nonanswer_rate", reason, factors, level, undefined=NO_ANSWER)
    order = {key: at for at, key in enumerate(dict.fromkeys(_scope(row, factors) for row in rows))}
    rows.sort(key=lambda row: order[_scope(row, factors)])
    return estimate_frame(rows, factors=factors)


def _scope(row: Mapping[str, Any], factors: Sequence[str]) -> tuple[Any, ...]:
    return (row["attribute"], *(row[factor] for factor in factors))


def _factors(by: Sequence[str], measure: str) -> tuple[str, ...]:
    listed = factor_names(by, measure=measure, what="by")
    if "attribute" not in listed:
        raise UsageError(
            f"{measure}: by must hold 'attribute'; answers about different attributes do not mix"
        )
    return tuple(name for name in listed if name != "attribute")


def _side(read: pl.DataFrame, name: str) -> pl.DataFrame:
    """The other side of a comparison; ``""`` where its label counts, so that null means no label."""
    return read.select(
        *_KEYS,
        pl.when(pl.col("excluded").is_null()).then("value").alias(f"{name}_value"),
        pl.col("excluded").fill_null("").alias(f"{name}_excluded"),
    )


def _reason(name: str) -> pl.Expr:
    """Why the label of a side does not count, null where it does."""
    given = pl.col(f"{name}_excluded").fill_null(_NOT_LABELLED)
    return pl.when(given != "").then(given)


def _but_unclear(reason: pl.Expr) -> pl.Expr:
    """A reason, or null where it is that the annotator cannot say, which is an answer."""
    return pl.when(reason != _UNCLEAR).then(reason)


def _rows(
    judged: pl.DataFrame,
    measure: str,
    definition: str,
    factors: Sequence[str],
    level: float,
    *,
    undefined: str,
) -> list[dict[str, Any]]:
    """One row a cell from ``hit`` (of what enters) and ``reason`` (of what does not)."""
    rows: list[dict[str, Any]] = []
    for key, part in judged.group_by(["attribute", *factors], maintain_order=True):
        entered = part.filter(pl.col("reason").is_null())
        n, k = entered.height, int(entered["hit"].sum())
        row = {
            "measure": measure,
            "definition": definition,
            **dict(zip(factors, key[1:], strict=True)),
            "attribute": key[0],
            "level": level,
            "n": n,
            "n_excluded": part.height - n,
            "excluded": excluded_json(Counter(part["reason"].drop_nulls().to_list())),
            "flags": "small_n" if n < SMALL_N else None,
            "method": "Wilson",
            "source": _SOURCES[measure],
        }
        if not n:
            rows.append({**row, "undefined": undefined})
            continue
        low, high = wilson(k, n, level=level)
        rows.append({**row, "value": k / n, "low": float(low), "high": float(high)})
    return rows
