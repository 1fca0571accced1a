"""Vectors of pictures and of prompts' texts: made elsewhere and read from a file, or made by an encoder.

They are no labels: what an encoder gives stands in the table ``embeddings``, a file an encoder.
"""

from stereotrope.annotate.embeddings.encoder import Encoder
from stereotrope.annotate.embeddings.given import GivenEmbeddings

__all__ = ["Encoder", "GivenEmbeddings"]
