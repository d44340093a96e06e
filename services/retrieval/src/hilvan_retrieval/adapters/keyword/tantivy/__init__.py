"""Words by tantivy, inside this process."""

from hilvan_retrieval.adapters.keyword.tantivy.index import TantivyIndex

__all__ = ["TantivyIndex"]
