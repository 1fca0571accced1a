"""StOP: short texts that lie nearest to a cluster of pictures, as an encoder of both sees them."""

from collections.abc import Callable, MutableMapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from stereotrope.clients.local import Precision, require_local
from stereotrope.errors import UsageError
from stereotrope.stats.vectors import Vector, unit_vector

PREFIX = "This is a photo of"
STOP = "stop"
"""Name of its entry, and of its outcomes in the ledger."""
_BROKEN = "\ufffd"
"""In the text of tokens that end within a character."""


class Proposer(Protocol):
    """Says how texts may go on, token by token."""

    def begin(self, text: str) -> tuple[int, ...]:
        """Tokens of a text."""

    def after(self, sequences: Sequence[tuple[int, ...]]) -> list[list[int]]:
        """Of sequences of one length each one's next tokens, the likeliest first."""

    def text(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""


Encode = Callable[[Sequence[str]], Sequence[ArrayLike | None]]


def stop_prompts(
    pictures: ArrayLike,
    encode: Encode,
    proposer: Proposer,
    *,
    prefix: str = PREFIX,
    tokens: int = 2,
    beam: int = 5,
    keep: int = 5,
    scored: MutableMapping[str, Vector | None] | None = None,
) -> pl.DataFrame:
    r"""Find the texts, a start and a few tokens, whose mean cosine with pictures is greatest.

    :math:`s^* = \arg\max_s \frac{1}{n} Σ_i \cos(E_T(s), E_I(I_i))` (OASIS, Eq. 8). The mean is one dot
    product of the text's unit vector with the mean of the pictures' unit vectors, so that scoring costs the
    same for ten pictures as for a million. The search keeps the ``beam`` best texts after each token. With
    two tokens it is exact among what is proposed where the beam is no smaller than what is proposed at a
    place; else a text that begins badly is missed.

    pictures: Vectors of a cluster of pictures, shape (n, d), by the encoder of ``encode``.
    encode: Vectors of texts, None for one that has none.
    proposer: A language model, see :func:`causal_lm`.
    prefix, tokens: The start, and how many tokens follow it.
    beam, keep: Texts kept after each token, and at last.
    scored: Text → its unit vector: texts that stand here are not encoded again. Give one mapping to the
        searches of all clusters.

    Returns: ``rank`` from 1, ``prompt``, ``continuation`` and ``score``, the best first; of equal scores the
    text that is first in the alphabet. Texts that are alike count once, those that end within a character not
    at all.

    Raises UsageError: No picture has a vector, or a number is below 1.
    """
    if min(tokens, beam, keep) < 1:
        raise UsageError(f"tokens, beam and keep must be at least 1, found {tokens}, {beam} and {keep}")
    mean = _mean(np.asarray(pictures, np.float64))
    known = {} if scored is None else scored
    start = proposer.begin(prefix)
    beams: list[tuple[int, ...]] = [start]
    scores: dict[str, float] = {}
    for _ in range(tokens):
        follow = zip(beams, proposer.after(beams), strict=True)
        longer = {proposer.text(ids): ids for tail, more in follow for ids in [(*tail, one) for one in more]}
        _encode_new(list(longer), known, encode)
        vectors = {text: known[text] for text in longer}
        scores = {text: float(one @ mean) for text, one in vectors.items() if one is not None}
        beams = [longer[text] for text in _best(scores, beam)]
        if not beams:
            break
    best = _best({text: score for text, score in scores.items() if _BROKEN not in text}, keep)
    begun = proposer.text(start)
    return pl.DataFrame(
        {
            "rank": list(range(1, len(best) + 1)),
            "prompt": best,
            "continuation": [text.removeprefix(begun).strip() for text in best],
            "score": [scores[text] for text in best],
        },
        schema={"rank": pl.Int64, "prompt": pl.String, "continuation": pl.String, "score": pl.Float64},
    )


def _mean(pictures: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of the unit vectors of pictures."""
    if pictures.ndim != 2 or not len(pictures):
        raise UsageError(f"pictures must be vectors of one picture or more, found shape {pictures.shape}")
    lengths = np.linalg.norm(pictures, axis=1)
    usable = np.isfinite(lengths) & (lengths > 0)
    if not usable.any():
        raise UsageError("pictures: none has a vector that is finite and not 0")
    return np.asarray((pictures[usable] / lengths[usable, None]).mean(axis=0), np.float64)


def _encode_new(texts: Sequence[str], known: MutableMapping[str, Vector | None], encode: Encode) -> None:
    new = [text for text in texts if text not in known]
    if new:
        for text, vector in zip(new, encode(new), strict=True):
            known[text] = None if vector is None else unit_vector(vector)


def _best(scores: dict[str, float], n: int) -> list[str]:
    return sorted(scores, key=lambda text: (-scores[text], text))[:n]


def causal_lm(
    model: str | Path,
    *,
    most: int = 20,
    revision: str | None = None,
    device: str = "auto",
    precision: Precision = "auto",
) -> Proposer:
    """Load a causal language model that proposes how texts go on, by its likeliest next tokens.

    model: A folder that ``save_pretrained`` wrote, or a name on the Hugging Face hub.
    most: Tokens that it proposes at a place.
    revision, device, precision: As of other models on this computer.

    Raises UsageError: torch or transformers is not installed, or the folder holds no model.
    Raises ModelUnusable: It cannot be loaded.
    """
    what = f"language model {str(model)!r}"
    require_local(model, what)
    from stereotrope.probe._causal import CausalModel  # noqa: PLC0415

    return CausalModel(model, most, revision=revision, device=device, precision=precision, what=what)
