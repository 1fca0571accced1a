"""Fidelity to the query: how near pictures are to what was asked before any mitigation."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from stereotrope.measure.contract import register
from stereotrope.measure.embedding_cells import embeddings_frame
from stereotrope.measure.embeddings import aligned
from stereotrope.measure.tidy import to_polars
from stereotrope.tables import MITIGATION, factors_of

_OVER, _ORIGINAL = MITIGATION, "none"
_NO_QUERY = "no vector of the query's text"


def query_embeddings_frame(
    prompts: Any, images: Any, embeddings: Any, *, encoders: Sequence[str] | None = None
) -> pl.DataFrame:
    """:func:`stereotrope.measure.embeddings_frame` with the query's text in the place of the prompt's.

    The query of a prompt is the one with the same factors and no mitigation; a prompt without such a one has
    no text.
    """
    designed = to_polars(prompts, what="prompts", needs=("prompt_id",))
    vectors = to_polars(embeddings, what="embeddings", needs=("subject_kind", "subject_id"))
    if _OVER in designed.columns:
        shared = [name for name in factors_of(designed.columns) if name != _OVER]
        first = designed.filter(pl.col(_OVER) == _ORIGINAL).unique(shared, keep="first", maintain_order=True)
        query = first.select(*shared, subject_id="prompt_id")
        of = (
            designed.join(query, on=shared, nulls_equal=True) if shared else designed.join(query, how="cross")
        )
        text = pl.col("subject_kind") == "text"
        said = of.select("subject_id", own="prompt_id").join(
            vectors.filter(text), on="subject_id", maintain_order="left_right"
        )
        texts = said.drop("subject_id").rename({"own": "subject_id"}).select(vectors.columns)
        vectors = pl.concat([vectors.filter(~text), texts])
    return embeddings_frame(designed, images, vectors, encoders=encoders)


@register(
    suite="ssi",
    bounds=(-1.0, 1.0),
    direction="higher: nearer to what was asked at first; a fall with a mitigation is a loss of fidelity",
    source="Hessel et al. 2021, eq. 1; Tukey 1958",
    needs="embeddings of queries",
    due=lambda given, setting, calls: setting.varies(_OVER),
)
def query_alignment(
    embeddings: Any, *, by: Sequence[str] = ("generator", "prompt"), level: float = 0.95
) -> pl.DataFrame:
    r"""How near pictures are to the text of the query before any mitigation, as an encoder sees both.

    Formula
    -------
    :math:`A = \frac{1}{n} \sum_i \cos(v_i, t_{q(i)})`, with :math:`v_i` the vector of picture :math:`i` and
    :math:`t_{q(i)}` that of its query's text, before any mitigation.

    Parameters
    ----------
    embeddings
        Frame of :func:`stereotrope.measure.paired.alignment.query_embeddings_frame`: as for
        :func:`stereotrope.measure.prompt_alignment`, with the cosine of the query.
    by, level
        Factors whose combinations are the cells, encoders always apart; nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates, one row a cell and encoder; ``value`` in [−1, 1], the raw cosine.

    Undefined
    ---------
    ``no vector of the query's text``; ``no picture with an embedding``. No interval for one picture, or where
    all cosines are the same.

    Notes
    -----
    ``prompt_alignment`` sets a picture beside the prompt that was sent, so that a rewriting that leaves the
    query can only gain by it; this measure asks what is left of the query. An encoder's cosine falls also
    where a picture shows the query among much else, which may be what a mitigation is for, and cannot tell
    whether a person would still recognise what was asked for. The interval is that of ``prompt_alignment``.

    References
    ----------
    Hessel et al. (2021), CLIPScore, EMNLP, eq. 1, without its factor 2.5 and its cut at 0; Barve et al.
    (2026), section 6.2 (why the query).

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": list("abc"), "annotator": "clip", "generator": "m", "prompt": "cup",
    ...     "cosine": [0.2, 0.3, 0.4],
    ... })
    >>> query_alignment(frame)["value"].round(9).to_list()
    [0.3]
    """
    return aligned(embeddings, by, level, measure="query_alignment", lacks=_NO_QUERY)
