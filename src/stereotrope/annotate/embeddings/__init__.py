"""Vectors of pictures and texts: made elsewhere, or by an encoder; and labels from them.

What an encoder gives stands in the table ``embeddings``, a file an encoder, and everybody reads it there.
"""

from stereotrope.annotate.embeddings.cluster_prompts import ClusterPrompts
from stereotrope.annotate.embeddings.encoder import Encoder
from stereotrope.annotate.embeddings.given import GivenEmbeddings
from stereotrope.annotate.embeddings.zero_shot import ZeroShot

__all__ = ["ClusterPrompts", "Encoder", "GivenEmbeddings", "ZeroShot"]
