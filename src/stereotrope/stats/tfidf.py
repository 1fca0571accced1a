"""Words of texts as weighted vectors, so that texts can be compared by their cosine."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse


def tfidf(documents: Sequence[Sequence[str]]) -> Any:
    r"""Unit vectors of texts by term frequency and inverse document frequency.

    Text :math:`i` has the weight :math:`t_{iw}\,(1 + \ln\frac{1 + n}{1 + d_w})` on word :math:`w`, with
    :math:`t_{iw}` the times it occurs there and :math:`d_w` the texts in which it occurs; the vector is
    then divided by its length. These are the defaults of scikit-learn's ``TfidfVectorizer``.

    documents: The words of each of :math:`n` texts.
    Returns: Shape (n, words); a text without a word is a row of zeros. ``vectors @ vectors.T`` is the cosine
        kernel.
    Source: Manning, Raghavan and Schütze (2008), Introduction to Information Retrieval, section 6.2.
    """
    vocabulary: dict[str, int] = {}
    counted = [
        (row, vocabulary.setdefault(word, len(vocabulary)), count)
        for row, words in enumerate(documents)
        for word, count in Counter(words).items()
    ]
    n = len(documents)
    row_of, column, times = np.asarray(counted, np.int64).reshape(-1, 3).T
    held = np.bincount(column, minlength=len(vocabulary))
    weights = times * (1.0 + np.log((1.0 + n) / (1.0 + held)))[column]
    lengths = np.sqrt(np.bincount(row_of, weights**2, minlength=n))
    values = weights / lengths[row_of] if len(weights) else weights
    return sparse.csr_array((values, (row_of, column)), shape=(n, len(vocabulary)))
