"""The engines that must agree, opened empty, and what they are given."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

from support.congruence.corpus import Corpus
from support.engines.notes import OPENSEARCH, TANTIVY, note_engine
from support.engines.opensearch_index import fresh_index
from support.engines.run import RUN
from support.engines.vector import Reached, double, local_engine, server

from hilvan_retrieval.adapters.keyword.tantivy.index import TantivyIndex
from hilvan_retrieval.adapters.vector.qdrant import QdrantIndex
from hilvan_retrieval.ports.index import KeywordIndex, VectorIndex

BATCH = 500


@asynccontextmanager
async def keyword_engine(name: str) -> AsyncIterator[KeywordIndex]:
    """Open an empty engine."""
    if name == "opensearch":
        async with fresh_index(RUN.engine(OPENSEARCH).address) as index:
            await index.ensure()
            yield index
        return
    with tempfile.TemporaryDirectory() as folder:
        note_engine(TANTIVY, "in the process of the tests")
        tantivy = TantivyIndex.open(Path(folder))
        try:
            yield tantivy
        finally:
            await tantivy.close()


@asynccontextmanager
async def vector_engine(name: str, dimensions: int) -> AsyncIterator[QdrantIndex]:
    """Open an empty engine: our own process, the wire double, or the server of this run."""
    if name == "server":
        async with _collection(server(), dimensions) as index:
            yield index
        return
    with local_engine() if name == "edge" else double() as reached:
        async with _collection(reached, dimensions) as index:
            yield index


@asynccontextmanager
async def _collection(reached: Reached, dimensions: int) -> AsyncIterator[QdrantIndex]:
    index = reached.index(f"hilvan-test-{uuid4().hex}", dimensions=dimensions)
    try:
        await index.ensure()
        yield index
        await index.drop()
    finally:
        await index.close()


async def write(index: KeywordIndex | VectorIndex, made: Corpus) -> None:
    """Put the corpus into an index."""
    documents = made.documents(made.stored)
    for start in range(0, len(documents), BATCH):
        await index.upsert(documents[start : start + BATCH])


async def change(index: KeywordIndex | VectorIndex, made: Corpus) -> None:
    """Update and delete."""
    await index.upsert(made.documents(made.changed))
    await index.delete([each.uid for each in made.deleted])
    assert (await index.state()).document_count == len(made.after)
