"""The embedded keyword index: tantivy inside this process, one directory, one writer."""

import asyncio
import json
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tantivy import Document, Index, IndexWriter, Searcher

from hilvan_retrieval.adapters.keyword.tantivy import query as engine
from hilvan_retrieval.core.analysis import ANALYSIS_VERSION
from hilvan_retrieval.errors import EngineMisconfigured, SourceUnavailable
from hilvan_retrieval.model.entry import Uid
from hilvan_retrieval.model.index import Hit, IndexDocument, IndexState, KeywordQuery

_FORMAT_FILE = "hilvan-index.json"
_FORMAT = json.dumps(
    {"engine": "tantivy", "schema": engine.SCHEMA_VERSION, "analysis": ANALYSIS_VERSION}
)
_WRITER_HEAP_BYTES = 128 * 2**20
_READER_THREADS = 2

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _Write:
    removed: Sequence[Uid]
    added: Sequence[Document]
    done: Future[None] = field(default_factory=Future)


class TantivyIndex:
    """A `KeywordIndex` in a directory that belongs to this process alone.

    All writes go through one thread, which takes whatever waits and commits it together; searches
    run in threads of their own on the last commit. tantivy releases the GIL in both.
    """

    def __init__(self, path: Path) -> None:
        """Choose a directory; it is not touched before `ensure` or `open`."""
        self._path = path
        self._index: Index | None = None
        self._writer: IndexWriter | None = None
        self._searcher: Searcher | None = None
        self._is_new = False
        self._waiting: deque[_Write] = deque()
        self._write_thread = ThreadPoolExecutor(1, "keyword-write")
        self._read_threads = ThreadPoolExecutor(_READER_THREADS, "keyword-read")
        self._is_closed = False

    @classmethod
    def open(cls, path: Path) -> "TantivyIndex":
        """Open the index in ``path``, or make it where there is none yet. Blocks.

        Raises:
            EngineMisconfigured: the index was written by another version, is damaged, is open in
                another process, or the directory can't be used. The message names the fix.
        """
        index = cls(path)
        index._open()
        return index

    async def ensure(self) -> bool:
        """See `KeywordIndex`. Opens the directory, or makes it where there is none any more."""
        self._refuse_when_closed()
        return await asyncio.get_running_loop().run_in_executor(self._write_thread, self._ensure)

    async def upsert(self, documents: Sequence[IndexDocument]) -> None:
        """See `KeywordIndex`."""
        if documents:
            latest = {document.uid: document for document in documents}
            added = await self._run(
                self._read_threads, lambda: [engine.prepared(one) for one in latest.values()]
            )
            await self._write(_Write(tuple(latest), added))

    async def delete(self, uids: Sequence[Uid]) -> None:
        """See `KeywordIndex`."""
        if uids:
            await self._write(_Write(uids, ()))

    async def search(self, queries: Sequence[KeywordQuery]) -> list[list[Hit]]:
        """See `KeywordIndex`. One thread answers all queries, from one state of the index."""
        return await self._run(self._read_threads, lambda: engine.answer(self._opened(), queries))

    async def revisions(self, bucket: str) -> dict[Uid, int]:
        """See `KeywordIndex`."""
        return await self._run(self._read_threads, lambda: engine.revisions(self._opened(), bucket))

    async def state(self) -> IndexState:
        """See `KeywordIndex`."""
        self._refuse_when_closed()
        return IndexState("tantivy", self._opened().num_docs)

    async def ping(self) -> None:
        """See `KeywordIndex`. Goes the way of a search, so that busy threads count."""
        await self._run(self._read_threads, lambda: engine.probe(self._opened()))

    async def drop(self) -> None:
        """See `KeywordIndex`. Removes the directory."""
        self._refuse_when_closed()
        await asyncio.get_running_loop().run_in_executor(self._write_thread, self._remove)

    async def close(self) -> None:
        """See `KeywordIndex`. Writes that wait are committed first."""
        if not self._is_closed:
            self._is_closed = True
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._write_thread, self._release)
            self._write_thread.shutdown(wait=False)
            self._read_threads.shutdown(wait=False)

    def _refuse_when_closed(self) -> None:
        if self._is_closed:
            raise SourceUnavailable("the keyword index is closed")

    def _opened(self) -> Searcher:
        if self._searcher is None:
            raise SourceUnavailable("the keyword index is not open")
        return self._searcher

    def _ensure(self) -> bool:
        if self._index is None or not self._path.exists():
            self._open()
        is_new, self._is_new = self._is_new, False
        return is_new

    def _open(self) -> None:
        self._release()
        try:
            index, is_new = _opened_index(self._path)
            writer, searcher = _writer(index), index.searcher()
            engine.probe(searcher)
        except (OSError, ValueError) as error:
            if "LockBusy" in str(error):
                raise EngineMisconfigured(
                    f"the keyword index in {self._path} is open in another process: stop that "
                    "one, or give this one a directory of its own"
                ) from error
            raise _unusable(self._path, str(error)) from error
        self._index, self._writer, self._searcher = index, writer, searcher
        self._is_new = is_new

    async def _run(self, threads: Executor, call: Callable[[], _Result]) -> _Result:
        self._refuse_when_closed()
        return await asyncio.get_running_loop().run_in_executor(threads, _guarded, call)

    async def _write(self, write: _Write) -> None:
        self._refuse_when_closed()
        # A caller that gives up must not cancel what the write thread will complete.
        write.done.set_running_or_notify_cancel()
        self._waiting.append(write)
        self._write_thread.submit(self._commit_waiting)
        await asyncio.wrap_future(write.done)

    def _commit_waiting(self) -> None:
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if not batch:
            return
        try:
            _guarded(lambda: self._commit(batch))
        except SourceUnavailable as error:
            # Letting go of the writer takes back what was not committed; its own rollback panics
            # when the directory is out of reach.
            self._writer = None
            for write in batch:
                write.done.set_exception(error)
        else:
            for write in batch:
                write.done.set_result(None)

    def _commit(self, batch: Iterable[_Write]) -> None:
        if self._index is None:
            raise SourceUnavailable("the keyword index is not open")
        self._writer = self._writer or _writer(self._index)
        for write in batch:
            for uid in write.removed:
                self._writer.delete_documents_by_term("uid", uid)
            for document in write.added:
                self._writer.add_document(document)
        self._writer.commit()
        self._index.reload()
        self._searcher = self._index.searcher()

    def _release(self) -> None:
        self._index = self._writer = self._searcher = None

    def _remove(self) -> None:
        self._release()
        shutil.rmtree(self._path, ignore_errors=True)


def _writer(index: Index) -> IndexWriter:
    return index.writer(_WRITER_HEAP_BYTES, num_threads=1)


def _guarded(call: Callable[[], _Result]) -> _Result:
    try:
        return call()
    except SourceUnavailable:
        raise
    except BaseException as error:
        # A panic of the engine is no Exception, and would pass every handler above.
        raise SourceUnavailable("the keyword index failed") from error


def _opened_index(path: Path) -> tuple[Index, bool]:
    path.mkdir(parents=True, exist_ok=True)
    has_meta = Index.exists(str(path))
    is_new = not has_meta and not any(path.glob("*.idx"))
    format_file = path / _FORMAT_FILE
    if is_new and not format_file.exists():
        unfinished = format_file.with_suffix(".tmp")
        unfinished.write_text(_FORMAT)
        unfinished.replace(format_file)
    found = format_file.read_text() if format_file.exists() else "{}"
    if found != _FORMAT:
        raise _unusable(path, f"it was written as {found}, this version reads {_FORMAT}")
    if not is_new and not has_meta:
        raise _unusable(path, "its meta.json is missing")
    if has_meta and not Index.is_compatible(str(path)):
        raise _unusable(path, "it was written by another version of tantivy")
    index = Index(engine.schema(), path=str(path))
    index.config_reader("manual")
    return index, is_new


def _unusable(path: Path, why: str) -> EngineMisconfigured:
    return EngineMisconfigured(
        f"the keyword index in {path} can't be used: {why}. Remove the directory and rebuild the "
        "index from the records: hilvan reindex"
    )
