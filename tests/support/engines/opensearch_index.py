"""Indexes of Hilvan in a running OpenSearch, of which nothing is left behind."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hilvan_retrieval.adapters.keyword.opensearch import OpenSearchIndex

PATIENCE_S = 20.0


def connected(url: str, name: str, *, timeout: float = PATIENCE_S) -> OpenSearchIndex:
    """Connect to an index; a busy machine is no reason to fail, unless a test says so."""
    return OpenSearchIndex.connect(url, name, timeout=timeout)


@asynccontextmanager
async def fresh_index(url: str, name: str = "") -> AsyncIterator[OpenSearchIndex]:
    """Give an index that is not there yet, under a name of its own."""
    name = name or f"hilvan-test-{uuid.uuid4().hex}"
    index = connected(url, name)
    try:
        yield index
    finally:
        await index.close()
        cleaner = connected(url, name)
        try:
            await cleaner.drop()
        finally:
            await cleaner.close()
