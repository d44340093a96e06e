"""The vector index over Qdrant's gRPC API: a cluster, a server, or the local engine process."""

from hilvan_retrieval.adapters.vector.qdrant.index import QdrantIndex

__all__ = ["QdrantIndex"]
