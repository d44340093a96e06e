"""The keyword index of an OpenSearch server or cluster."""

from hilvan_retrieval.adapters.keyword.opensearch.index import OpenSearchIndex

__all__ = ["OpenSearchIndex"]
