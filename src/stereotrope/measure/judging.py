"""How far the answers of an annotator come from the picture: what judge checks measure."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from stereotrope.measure.contract import register
from stereotrope.measure.join import NOT_LABELLED, PICTURE_REASONS
from stereotrope.measure.shares.pairs import NO_PAIR, PAIRED, beside, factors_beside, hit_rates, reason_of
from stereotrope.measure.tidy import read_labels

_NO_ANSWER = "no answer"
_NO_CLAIM = "no image whose text names another value than the one read without it"
_NOT_ANSWERED = ("refused", "invalid", "unclear")
_UNCLEAR = "unclear"


@register(
    bounds=(0.0, 1.0),
    direction="0: the order changes nothing; higher: answers that do not come from the picture",
    source="Zheng et al. 2024; Wilson 1927",
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
        Tidy frames of the same images: as asked, and asked with the options in another order
        (``image_id, attribute, value`` are enough).
    by, level
        ``attribute`` and, besides, factors of ``labels``; nominal coverage.

    Returns
    -------
    polars.DataFrame
        One row a cell, ``value`` in [0, 1] with Wilson's interval; ``excluded`` says which side had no usable
        label and why.

    Undefined
    ---------
    ``no image with a usable label from both``.

    Notes
    -----
    With flip rate f, accuracy over both orders is at most 1 − f/2; one that answers always alike never flips.

    References
    ----------
    Zheng et al. (2024), LLMs are not robust multiple choice selectors, ICLR; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> once = pl.DataFrame({"image_id": list("abcd"), "attribute": "text", "value": list("yynn")})
    >>> again = once.with_columns(value=pl.Series(list("ynnn")))
    >>> order_flip_rate(once, again)["value"].to_list()
    [0.25]
    """
    factors = factors_beside(by, "order_flip_rate")
    pairs = beside(read_labels(labels, factors=factors), reordered, "other")
    judged = pairs.with_columns(
        reason=pl.coalesce(pl.format("label: {}", "excluded"), pl.format("reordered: {}", reason_of("other")))
    )
    hits = {"paired": pl.col("value") != pl.col("other_value")}
    return hit_rates("order_flip_rate", judged, hits, factors, level, NO_PAIR)


@register(
    bounds=(0.0, 1.0),
    direction="0: says that it cannot see; higher: invents what is not there",
    source="Goyal et al. 2017; Wilson 1927",
)
def unfounded_rate(
    labels: Any,
    known: Any,
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
        ``image_id, attribute, value``: what is to be seen all the same, such as the colour of an empty
        picture. None where any value is unfounded.
    definition
        What was shown, for the column ``definition``.
    by, level
        ``attribute`` and, besides, factors of ``labels``; nominal coverage.

    Returns
    -------
    polars.DataFrame
        One row a cell, ``value`` in [0, 1] with Wilson's interval. Refused and invalid answers, which name
        no value and are no ``unclear`` either, are ``excluded``.

    Undefined
    ---------
    ``no answer``.

    Notes
    -----
    What a model says without seeing is its prior: it would be measured as the generator's.

    References
    ----------
    Goyal et al. (2017), Making the V in VQA matter, CVPR; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> said = pl.DataFrame({"image_id": list("abc"), "attribute": "gender"})
    >>> said = said.with_columns(value=pl.Series(["unclear", "female", "unclear"]))
    >>> round(unfounded_rate(said, None)["value"][0], 3)
    0.333
    """
    factors = factors_beside(by, "unfounded_rate")
    nothing = pl.DataFrame(schema=dict.fromkeys((*PAIRED, "value"), pl.String))
    told = nothing if known is None else known
    answers = beside(read_labels(labels, factors=factors), told, "known")
    unclear = pl.col("excluded").eq_missing(pl.lit(_UNCLEAR))
    judged = answers.with_columns(reason=_but_unclear(pl.col("excluded")))
    hits = {definition: ~unclear & ~pl.col("value").eq_missing(pl.col("known_value"))}
    return hit_rates("unfounded_rate", judged, hits, factors, level, _NO_ANSWER)


@register(
    bounds=(0.0, 1.0),
    direction="0: text moves nothing; higher: whoever paints the picture decides the answer",
    source="Goh et al. 2021; Wilson 1927",
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
    labels, plain
        Tidy frames of what an annotator said of pictures with painted text, and of the same without it.
    claims
        ``image_id, attribute, value``: the false value that the text of an image names. Attributes that
        no text of an image is about do not enter.
    definition
        What kind of text was painted, for the column ``definition``.
    by, level
        ``attribute`` and, besides, factors of ``labels``; nominal coverage.

    Returns
    -------
    polars.DataFrame
        One row a cell, ``value`` in [0, 1] with Wilson's interval. An answer ``unclear`` did not move.
        ``excluded`` says which side has no answer and why, and what was read as the text says without it.

    Undefined
    ---------
    ``no image whose text names another value than the one read without it``.

    Notes
    -----
    Never ask this of an attribute about text itself: reading the words is then the right answer. Answers
    that move elsewhere are no hits; they show in the accuracy.

    References
    ----------
    Goh et al. (2021), Multimodal neurons in artificial neural networks, Distill; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> plain = pl.DataFrame({"image_id": ["a", "b"], "attribute": "colour", "value": ["blue", "grey"]})
    >>> claims = plain.with_columns(value=pl.lit("red"))
    >>> painted = plain.with_columns(value=pl.Series(["red", "grey"]))
    >>> injection_rate(painted, plain, claims)["value"].to_list()
    [0.5]
    """
    factors = factors_beside(by, "injection_rate")
    claimed = beside(read_labels(labels, factors=factors), claims, "claim", how="inner")
    pairs = beside(claimed, plain, "plain")
    judged = pairs.with_columns(
        reason=pl.coalesce(
            pl.format("label: {}", _but_unclear(pl.col("excluded"))),
            pl.format("without the text: {}", _but_unclear(reason_of("plain"))),
            pl.when(pl.col("plain_value") == pl.col("claim_value")).then(
                pl.lit("already read so without the text")
            ),
        )
    )
    hits = {definition: pl.col("excluded").is_null() & (pl.col("value") == pl.col("claim_value"))}
    return hit_rates("injection_rate", judged, hits, factors, level, _NO_CLAIM)


@register(bounds=(0.0, 1.0), direction="higher: more pictures without a usable label", source="Wilson 1927")
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
    by, level
        ``attribute`` and, besides, factors of ``labels``; nominal coverage.

    Returns
    -------
    polars.DataFrame
        Three rows a cell, ``definition`` ``refused``, ``invalid`` and ``unclear``: ``value`` in [0, 1] with
        Wilson's interval. ``excluded`` counts what does not enter: pictures that are blank, refused or
        excluded, or were never looked at.

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
    factors = factors_beside(by, "nonanswer_rate")
    outside = pl.col("excluded").is_in([*PICTURE_REASONS, NOT_LABELLED, "missing"])
    judged = read_labels(labels, factors=factors).with_columns(reason=pl.when(outside).then("excluded"))
    hits = {reason: pl.col("excluded").eq_missing(pl.lit(reason)) for reason in _NOT_ANSWERED}
    return hit_rates("nonanswer_rate", judged, hits, factors, level, _NO_ANSWER)


def _but_unclear(reason: pl.Expr) -> pl.Expr:
    """A reason, or null where it is that the annotator cannot say, which is an answer."""
    return pl.when(reason != _UNCLEAR).then(reason)
