"""Vectors of pictures and of prompts' texts: made elsewhere and read from a file, or made by an encoder.

They are no labels: what an encoder gives stands in the table ``embeddings``, a file an encoder.
"""

from stereotrope.annotate.embeddings.encoder import Encoded, Encoder
from stereotrope.annotate.embeddings.file import EmbeddingFile, read_embeddings
from stereotrope.annotate.embeddings.given import GivenEmbeddings
from stereotrope.annotate.embeddings.vectors import embeddings_rows, pack, unit_vector, unpack

__all__ = [
    "EmbeddingFile",
    "Encoded",
    "Encoder",
    "GivenEmbeddings",
    "embeddings_rows",
    "pack",
    "read_embeddings",
    "unit_vector",
    "unpack",
]
