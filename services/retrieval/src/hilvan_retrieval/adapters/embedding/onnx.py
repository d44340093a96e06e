"""An embedding model in ONNX that runs in this process."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import methodcaller
from pathlib import Path
from typing import TypeVar

import numpy as np

from hilvan_retrieval.adapters.embedding.description import ModelDescription
from hilvan_retrieval.adapters.embedding.network import Network, batches
from hilvan_retrieval.adapters.embedding.vectors import join_windows
from hilvan_retrieval.errors import SourceUnavailable
from hilvan_retrieval.model.embedding import EmbeddingModel, Matrix, Vector

_T = TypeVar("_T")

QUESTION_THREADS = 2
"""Questions that are embedded at once: in turn, the second of two calls waits for the first."""


class OnnxEmbedder:
    """Implements `hilvan_retrieval.ports.Embedder` with ``model.onnx`` and ``tokenizer.json``.

    Questions and stored texts have threads of their own (onnxruntime and the tokenizer release the
    GIL), so a question never waits for an import, and two questions run at once. Stored texts go
    to their thread one run at a time: concurrent imports share it and a cancelled one stops after
    its run.
    """

    def __init__(self, directory: Path, description: ModelDescription, threads: int = 1) -> None:
        """Load and try the model, which blocks for seconds; ``threads`` are those of one run.

        Raises:
            EngineMisconfigured: see `Network`.
        """
        self._description = description
        self._network: Network | None = Network(directory, description, threads)
        self._questions = ThreadPoolExecutor(QUESTION_THREADS, "embed-question")
        self._passages = ThreadPoolExecutor(1, "embed-passages", initializer=_give_way)

    @property
    def model(self) -> EmbeddingModel:
        """The described model."""
        return self._description.model

    async def embed_query(self, text: str) -> Vector:
        """See `Embedder.embed_query`."""
        prefix = self._description.query_prefix

        def embed(network: Network) -> Matrix:
            windows = network.windows(prefix, [text])
            return join_windows(network.vectors(windows), windows, 1)

        return (await self._run(self._questions, embed))[0]  # type: ignore[no-any-return]  # a row

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed_passages`."""
        prefix = self._description.passage_prefix
        windows = await self._run(self._passages, lambda n: n.windows(prefix, texts))
        rows = np.empty((len(windows), self._description.dimensions), np.float32)
        for batch in batches(windows, self._description.batch_tokens):
            embed = methodcaller("vectors", [windows[i] for i in batch])
            rows[batch] = await self._run(self._passages, embed)
        return join_windows(rows, windows, len(texts))

    async def ping(self) -> None:
        """See `Embedder.ping`."""
        if self._network is None:
            raise SourceUnavailable("the embedding model is closed")

    async def close(self) -> None:
        """Let the runs in progress end, then drop the model; what still waits is refused."""
        self._network = None
        for executor in (self._questions, self._passages):
            await asyncio.to_thread(executor.shutdown)

    async def _run(self, executor: ThreadPoolExecutor, work: Callable[[Network], _T]) -> _T:
        await self.ping()

        def job() -> _T:
            network = self._network
            if network is None:
                raise SourceUnavailable("the embedding model is closed")
            return work(network)

        return await asyncio.get_running_loop().run_in_executor(executor, job)


def _give_way() -> None:
    """Lower this thread's priority: an import takes the time that questions leave."""
    if sys.platform == "linux":  # where a priority belongs to a thread
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
