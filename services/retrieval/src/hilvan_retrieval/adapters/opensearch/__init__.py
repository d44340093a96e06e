"""The keyword index of an OpenSearch server or cluster."""

from hilvan_retrieval.adapters.opensearch.index import OpenSearchIndex

__all__ = ["OpenSearchIndex"]
