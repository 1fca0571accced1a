"""How alike captions are to each other, and to their prompt."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereotrope.measure.captions.formulas import mean_of
from stereotrope.measure.captions.frame import Captions
from stereotrope.measure.captions.groups import read_elements
from stereotrope.measure.captions.rows import (
    NO_CAPTION,
    ScoreRow,
    base_row,
    caption_measure,
    clipped,
    described,
    scored,
    undefined,
    without_pseudo,
)
from stereotrope.measure.captions.terms import NO_KEYWORD, OTHER_SCRIPT
from stereotrope.measure.captions.words import is_spaced, readable, released_words, words_in
from stereotrope.measure.units import SEEDS_COUNTED
from stereotrope.stats import (
    MOST_PARTS,
    ScoreOfSums,
    jackknife_interval,
    mean_over_units,
    normal_quantile,
    tfidf,
    vendi_influences,
    vendi_left_out,
    vendi_of_kernel,
    vendi_score,
    vendi_scores,
    vendi_standard_error,
)
from stereotrope.stats.arrays import Floats

NO_WORD = "no word"
"""Reason where a caption has no word of two letters."""

UNSPACED = "script without spaces between words"
"""Reason where words of a caption cannot be told apart: the whole would count as one word."""

ONE_CAPTION = "a single caption shows no diversity"
NO_TEXT = "no prompt text declared"
TOO_MANY = "too many captions and words to compare at once"

_LEFT_OUT = 1_000
"""Captions up to which each is left out once; beyond, a matrix of all of them takes seconds, and the standard
error of the infinitesimal jackknife is near enough."""
_MOST_NUMBERS = 250_000_000
"""Of a matrix of captions and words, or of captions and captions, that is compared: 2 GB."""

_UNSEEN = 2
"""Made-up captions like no other that stand beside the real ones when one is left out: those that might have
been written and were not. Without them captions that all agree would have no interval; of 100 such the
interval ends where 3 others would bring the score."""

_RELEASED_CAPTIONS = 50
"""Captions that the authors' script compares."""


@dataclass(frozen=True)
class Compared:
    """Captions of a cell as vectors of their words' weights.

    vectors: Unit vectors of the captions that have words, a sparse array of shape (n kept, words).
    rows: Their places among the captions of the cell.
    asked: That of the prompt, shape (words,); 0 without a prompt.
    excluded: Captions left out, by reason.
    """

    vectors: Any
    rows: NDArray[np.int64]
    asked: Floats
    excluded: dict[str, int]


@lru_cache(maxsize=1)
def compare_texts(cell: Captions, text: str | None) -> Compared:
    """Weigh the words of a cell's captions, those of the prompt among them where it is given.

    Measures that are computed one after the other share what was compared last.
    """
    excluded: Counter[str] = Counter()
    kept: list[int] = []
    documents: list[list[str]] = []
    for place, caption in enumerate(cell.texts):
        found = words_in(caption)
        if not is_spaced(caption):
            excluded[UNSPACED] += 1
        elif not found:
            excluded[NO_WORD] += 1
        else:
            kept.append(place)
            documents.append(found)
    rows = np.asarray(kept, np.int64)
    if text is None:
        vectors = tfidf(documents)
        return Compared(vectors, rows, np.zeros(vectors.shape[1]), excluded)
    vectors = tfidf([*documents, words_in(text)])
    return Compared(vectors[:-1], rows, vectors[-1:].toarray()[0], excluded)


@caption_measure(
    bounds=(0.0, None),
    direction="1: all captions alike; n: no word in common; variety of words, not of people",
    source="T2I-BiasBench, eq. 14; Friedman and Dieng 2023, eq. 1",
    also=("vendi_normalised",),
    own_bounds={"vendi_normalised": (0.0, 1.0)},
    biased=("vendi", "vendi_normalised"),
)
def vendi(cell: Captions, *, text: str | None = None) -> list[ScoreRow]:
    r"""Vendi score of captions: the effective number of different ones.

    Formula
    -------
    :math:`VS = \exp(-\sum_j λ_j \ln λ_j)`, with :math:`λ_j` the eigenvalues of :math:`K/N` and :math:`K`
    the cosines of the captions' TF-IDF vectors (:func:`stereotrope.stats.tfidf`); normalised,
    :math:`(VS - 1)/(N - 1)`.

    Parameters
    ----------
    captions, by
        As for :func:`representation_parity`.
    text
        The prompt, where its words are to count among the documents that weigh words, as they do for
        :func:`clip_proxy`; None: captions only.
    definition
        ``paper``: as above, rows ``vendi`` and ``vendi_normalised``. ``released``: one row
        ``vendi_normalised`` with 1 less the mean Jaccard index of the sets of words of the first 50
        captions in the frame's order, which is no Vendi score.
    level, n_bootstrap, seed
        Nominal coverage of the interval, which is null where ``n_bootstrap`` is 0; resamples of
        ``released``, none being drawn of ``paper``; seed of the resamples.

    Returns
    -------
    polars.DataFrame
        Estimates: ``vendi`` in [1, N], ``vendi_normalised`` in [0, 1]. Least where all captions are the
        same, greatest where no two share a word.

    Undefined
    ---------
    ``a single caption shows no diversity`` (N = 1); ``no usable caption``; ``too many captions and words to
    compare at once`` where captions times different words, or times captions where rows are drawn by
    prompt, are more than 250 million. No interval where no two captions share a word.

    Notes
    -----
    It grows with N and its normalised form shrinks: scores at different N are not to be compared. It
    measures words, not pictures. The interval is of the score expected at this N: Student's, with the
    jackknife's standard error over captions (over prompts, where a cell spans several, and over a hundred
    parts of more than a hundred prompts) and two made-up ones like no other; above 1,000 captions the
    infinitesimal jackknife's, which is narrower. Rows are not drawn again, since a resample holds captions
    twice, which lowers the score. Captions without a word, and those in scripts without spaces between words
    (Chinese, Thai …), are left out with a reason.

    References
    ----------
    T2I-BiasBench, eq. 14; Friedman and Dieng (2023), TMLR, eq. 1.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"image_id": list("abcd"), "caption": ["red cup"] * 2 + ["blue car"] * 2})
    >>> vendi(frame, by=(), n_bootstrap=99).select("measure", pl.col("value").round(4)).rows()
    [('vendi', 2.0), ('vendi_normalised', 0.3333)]
    """
    if cell.released:
        return [_released_row(cell)]
    compared = compare_texts(cell, text)
    n = len(compared.rows)
    row = base_row(cell, n, compared.excluded)
    normalised = {**row, "measure": "vendi_normalised"}
    large = n > _LEFT_OUT and not cell.clustered
    vectors = compared.vectors
    reason = None
    if n < 2:
        reason = ONE_CAPTION if n else NO_CAPTION
    elif n * (vectors.shape[1] if large else n) > _MOST_NUMBERS:
        reason = TOO_MANY
    if reason is not None:
        return [undefined(one, reason) for one in (row, normalised)]
    kernel = None if large else (vectors @ vectors.T).toarray()
    value = vendi_score(vectors.toarray()) if kernel is None else vendi_of_kernel(kernel)
    low, high, method = _ends(cell, compared, kernel, value)
    raw = {"value": value, **clipped(low, high, (1.0, float(n)))}
    unit = {name: (number - 1.0) / (n - 1.0) for name, number in raw.items()}
    return [{**row, **raw, "method": method}, {**normalised, **unit, "method": method}]


def _ends(
    cell: Captions, compared: Compared, kernel: Floats | None, value: float
) -> tuple[float, float, str | None]:
    """The ends of the score's interval and how they were found."""
    if not cell.resample.n_resamples:
        return float("nan"), float("nan"), None
    if kernel is None:
        half = normal_quantile(cell.level) * vendi_standard_error(compared.vectors.toarray())
        return value - half, value + half, "interval: normal, infinitesimal jackknife"
    reach, bend = 1.0, 0.0
    if cell.clustered:
        n = len(kernel)
        units = np.unique(cell.resample.units[compared.rows], return_inverse=True)[1] % MOST_PARTS
        m = int(units.max()) + 1 + _UNSEEN
        units = np.concatenate([units, np.arange(m - _UNSEEN, m)])
        together = np.eye(n + _UNSEEN)
        together[:n, :n] = kernel
        left_out, what = vendi_scores(together, units[:, None] != np.arange(m)), "prompts"
        if cell.resample.across is not None:
            across = cell.resample.across.among(np.isin(np.arange(cell.n), compared.rows))
            moved = partial(vendi_influences, compared.vectors.toarray())
            reach = across.reach(moved(np.ones((n, 1)))[:, 0], level=cell.level)
            bend = across.bend(moved, level=cell.level)
            what += f" ({SEEDS_COUNTED})"
    else:
        left_out, what = vendi_left_out(kernel, _UNSEEN), "captions"
    low, high = jackknife_interval(value, left_out, level=cell.level, reach=reach, bend=bend)
    return low, high, f"interval: Student's t, jackknife over {what} and {_UNSEEN} made-up captions"


def _released_row(cell: Captions) -> ScoreRow:
    n = min(cell.n, _RELEASED_CAPTIONS)
    row = base_row(cell, n, measure="vendi_normalised", source="T2I-BiasBench, released metrics")
    if n < 2:
        return undefined(row, ONE_CAPTION if n else NO_CAPTION)
    sets = [released_words(text) for text in cell.texts[:n]]
    alike = np.ones((n, n))
    for a, b in combinations(range(n), 2):
        either = len(sets[a] | sets[b])
        alike[a, b] = alike[b, a] = len(sets[a] & sets[b]) / either if either else 1.0
    value = float(1.0 - (alike.sum() - n) / (n * (n - 1.0)))
    row |= {"value": value, "method": described(cell, f"1 − mean Jaccard index of the first {n} captions")}
    w = cell.resample.weights[:n].astype(np.float64)
    own = (w**2).sum(axis=0)
    pairs = w.sum(axis=0) ** 2 - own
    kept = pairs > 0
    scores = 1.0 - ((w * (alike @ w)).sum(axis=0) - own)[kept] / pairs[kept]
    half = normal_quantile(cell.level) * float(scores.std(ddof=1)) if len(scores) > 1 else 0.0
    return row | clipped(value - half, value + half, (0.0, 1.0)) if half > 1e-12 else row


@caption_measure(
    bounds=(0.0, 1.0), direction="higher: captions repeat the prompt's words", source="T2I-BiasBench, eq. 15"
)
def clip_proxy(
    cell: Captions, text: str | None, *, keywords: Sequence[str] = (), column: str = "alignment"
) -> list[ScoreRow]:
    r"""CLIP proxy: how alike captions are to their prompt, on average.

    Formula
    -------
    :math:`CPS = \frac{1}{N} \sum_i \cos(v_p, v_{c_i})`, with TF-IDF vectors fitted to the captions of the
    cell and the prompt.

    Parameters
    ----------
    captions, by, level, n_bootstrap, seed
        As for :func:`representation_parity`.
    text
        The prompt.
    keywords, column
        For ``released``: the declared keywords, and the column of lists of those found.
    definition
        ``paper``: as above. ``released``: the mean share of the keywords that a caption names, another
        list than that of :func:`gmr` in the authors' scripts.

    Returns
    -------
    polars.DataFrame
        Estimates, one row a cell; ``value`` in [0, 1]: TF-IDF weights are not negative.

    Undefined
    ---------
    ``no prompt text declared``; ``no keyword declared`` under ``released``; ``no usable caption``. No
    interval where all captions score the same.

    Notes
    -----
    A proxy in words: no CLIP model and no picture enters. Low even where captions fit; it compares models
    on one prompt, not prompts. Captions that share no script with the prompt are left out. The interval is
    of the score expected at this N: Student's by the jackknife over captions (over prompts, where a cell
    spans several) on the logit scale, to first order with what each caption changes of the weights of words.

    References
    ----------
    T2I-BiasBench, eq. 15.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"image_id": ["a", "b"], "caption": ["red cup", "blue car"]})
    >>> clip_proxy(frame, "red cup", by=(), n_bootstrap=99)["value"].round(9).to_list()
    [0.5]
    """
    listed = read_elements(keywords, "keywords")
    if cell.released and not listed:
        return [undefined(base_row(cell), NO_KEYWORD)]
    if not cell.released and text is None:
        return [undefined(base_row(cell), NO_TEXT)]
    score, excluded = alignment_score(cell, text, listed, column)
    n = int(score.features[1].sum())
    row = base_row(cell, n, excluded)
    if not n:
        return [undefined(row, NO_CAPTION)]
    if cell.released:
        return [scored(row, cell, score, limits=(0.0, 1.0), method=f"share of {len(listed)} keywords")]
    method = "TF-IDF of the captions and the prompt"
    if not cell.resample.n_resamples:
        return [{**row, "value": score.value, "method": method}]
    kept, across = score.features[1] > 0, cell.resample.across
    units = np.unique(cell.resample.units[kept], return_inverse=True)[1]
    linear, what = score.features[0][kept], "prompts" if cell.clustered else "captions"
    reach = 1.0
    if across is not None:
        reach = across.among(kept).reach(linear / n, level=cell.level)
        what += f", {SEEDS_COUNTED}"
    ends = mean_over_units(linear, units, level=cell.level, scale=(0.0, 1.0), reach=reach, linear=True)
    method += f"; interval: {ends.method}, jackknife over {what}"
    return [{**row, "value": score.value, "low": ends.low, "high": ends.high, "method": method}]


def alignment_score(
    cell: Captions, text: str | None, keywords: Sequence[str] = (), column: str = "alignment"
) -> tuple[ScoreOfSums, dict[str, int]]:
    """The proxy as a score of sums, with what a caption does to weights of words, and the captions it leaves
    out by reason."""
    could = readable(cell.texts, keywords if cell.released else [text or ""])
    excluded = {OTHER_SCRIPT: int(cell.n - could.sum())}
    if cell.released:
        values = cell.hits(column, keywords) / len(keywords)
    else:
        compared = compare_texts(cell, text)
        usable = np.zeros(cell.n)
        usable[compared.rows] = 1.0
        excluded[NO_WORD] = int((could * (1.0 - usable)).sum())
        could *= usable
        values = np.zeros(cell.n)
        values[compared.rows] = _linear_cosines(compared, could[compared.rows])
    return without_pseudo(np.stack([values * could, could]), mean_of), excluded


def _linear_cosines(compared: Compared, counts: Floats) -> Floats:
    r"""Cosines with the prompt, and by how much each caption moves the others': to first order, of one mean.

    One caption more changes the weight :math:`g_w = 1 + \ln\frac{1 + n}{1 + d_w}` of each word, and with it
    the cosine :math:`s_i = Σ_w x_{iw} a_w` of every caption, by
    :math:`\frac{1}{g_w} (2 x_{iw} a_w - s_i (x_{iw}^2 + a_w^2))` for each unit of :math:`g_w`.

    counts: 1 of each caption whose cosine enters the mean.
    """
    x, asked = compared.vectors, compared.asked
    cosines = x @ asked
    if not counts.any():
        return np.asarray(cosines)
    has = x.astype(bool).astype(np.float64)
    held = has.sum(axis=0) + (asked > 0)
    entering = cosines * counts
    turned = 2 * asked * (x.T @ counts) - x.power(2).T @ entering - entering.sum() * asked**2
    turned /= 1 + np.log((2 + len(cosines)) / (1 + held))
    moved = cosines - has @ (turned / (1 + held)) * len(cosines) / counts.sum()
    return np.asarray(moved - counts @ (moved - cosines) / counts.sum(), np.float64)
