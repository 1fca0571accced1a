"""The static embeddings that come with wordllama, read without importing it.

Importing it sets up the root logger, and its loader looks on the web for a tokenizer that lies beside it.
"""

import importlib.util
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


def files() -> tuple[Path, Path]:
    """Weights and tokenizer in the installed package.

    Raises FileNotFoundError: It is not installed, or of a version that has none.
    """
    found = importlib.util.find_spec("wordllama")
    places = [] if found is None else list(found.submodule_search_locations or ())
    for place in map(Path, places):
        if (place / WEIGHTS).is_file() and (place / TOKENIZER).is_file():
            return place / WEIGHTS, place / TOKENIZER
    raise FileNotFoundError(WEIGHTS)


def vectors(texts: list[str]) -> NDArray[np.float32]:
    """The mean of a text's token vectors, for each text; 0 where it has no token."""
    weights, tokenizer = files()
    table = load_file(weights)["embedding.weight"].astype(np.float32)
    encode = Tokenizer.from_file(str(tokenizer)).encode_batch
    ids = [encoded.ids for encoded in encode(texts, add_special_tokens=False)]
    return np.stack([table[one].mean(axis=0) if one else np.zeros(table.shape[1], np.float32) for one in ids])
