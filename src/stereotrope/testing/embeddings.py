"""POST /v1/embeddings: vectors of texts that share words point alike."""

import hashlib
import re

import numpy as np

from stereotrope.testing.misbehaviour import error
from stereotrope.testing.wire import Request, Response

_LENGTH = 64


def embed(request: Request) -> Response:
    """Answer one request: the sum of a vector a word, which the word's hash decides."""
    body = request.body if isinstance(request.body, dict) else {}
    texts = body.get("input")
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        return error(400, "Invalid value for 'input': it must be texts.", code="invalid_value")
    data = [
        {"object": "embedding", "index": index, "embedding": _vector(text)}
        for index, text in enumerate(texts)
    ]
    tokens = sum(len(text) // 4 + 1 for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    listed = list(reversed(data))  # the index says whose each is, not the order
    return Response(200, {"object": "list", "data": listed, "model": request.model, "usage": usage})


def _vector(text: str) -> list[float]:
    words = re.findall(r"\w+", text.lower()) or [text]
    seeds = [int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big") for word in words]
    summed = np.sum([np.random.default_rng(seed).normal(size=_LENGTH) for seed in seeds], axis=0)
    return [float(number) for number in summed]
