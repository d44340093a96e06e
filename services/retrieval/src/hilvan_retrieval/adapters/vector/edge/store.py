"""The collections of one folder, a shard each, and when their writes are settled."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import qdrant_edge as engine

PAUSE_S = 1.0
"""A pause in writing after which many writes are settled."""

MANY_POINTS = 1_000
"""How many those are; fewer wait, for settling syncs the disk and no search runs meanwhile."""

OLDEST_S = 10.0
"""The longest that a write waits to be settled; what a power cut can take with it."""

MOST_POINTS = 10_000
"""Writes that are settled without a pause, in about a second."""

_SEGMENTS = 8
"""Segments are merged beyond this count. With fewer, the engine rewrites most of a shard for some
thousand new points (14 s at 100,000 x 384) instead of one segment (0.5-1 s)."""

_CREATED = "created.pb"

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class CollectionNotFound(Exception):
    """No such collection."""


class CollectionExists(Exception):
    """The collection is there already."""


class FolderInUse(Exception):
    """Another process has the folder's shards open."""


@dataclass(slots=True)
class Unsettled:
    """Writes since a shard was last settled; times are monotonic seconds."""

    points: int = 0
    first: float = 0.0
    last: float = 0.0

    def add(self, points: int, now: float) -> None:
        """Note a write."""
        self.first = self.first if self.points else now
        self.last = now
        self.points += points

    def due(self, now: float) -> bool:
        """Tell whether to settle: after a bulk of writes, in the midst of a long one, or by age."""
        if not self.points:
            return False
        bulk_is_over = self.points >= MANY_POINTS and now - self.last >= PAUSE_S
        return bulk_is_over or self.points >= MOST_POINTS or now - self.first >= OLDEST_S


class Collection:
    """One shard. The engine holds the interpreter's lock in every call, so calls are in order."""

    def __init__(self, folder: Path) -> None:
        """Open a shard; FolderInUse when another process has it."""
        try:
            self.shard = engine.EdgeShard.load(str(folder))
        except Exception as error:  # the engine raises nothing narrower
            if "WouldBlock" in str(error):  # its write-ahead log is locked
                raise FolderInUse(f"another process uses {folder}") from error
            raise
        created = folder / _CREATED
        self.created = created.read_bytes() if created.exists() else b""
        self._unsettled = Unsettled(points=1)  # a kill may have come before the indexing

    def update(self, operation: engine.UpdateOperation, points: int, now: float) -> None:
        """Apply a write: in the write-ahead log and seen by every search when it returns."""
        self.shard.update(operation)
        self._unsettled.add(points, now)

    def settle(self, now: float) -> None:
        """When it is time: write everything to disk, and index new points for faster search."""
        if self._unsettled.due(now):
            self._unsettled = Unsettled()
            self.shard.flush()  # or a kill during the next line would leave a long log to replay
            if self.shard.optimize():
                self.shard.flush()


class Store:
    """All collections of a folder."""

    def __init__(self, folder: Path) -> None:
        """Open every shard; FolderInUse when another process has one."""
        self._folder = folder
        self._collections: dict[str, Collection] = {}
        folder.mkdir(parents=True, exist_ok=True)
        try:
            for path in sorted(folder.iterdir()):
                if path.name.startswith("."):  # a creation or deletion that was cut short
                    shutil.rmtree(path)
                else:
                    self._collections[path.name] = Collection(path)
        except BaseException:
            self.close()
            raise

    @property
    def names(self) -> list[str]:
        """The collections' names."""
        return sorted(self._collections)

    def __getitem__(self, name: str) -> Collection:
        """Find a collection; raises CollectionNotFound."""
        try:
            return self._collections[name]
        except KeyError:
            raise CollectionNotFound(f"no collection {name!r}") from None

    def __contains__(self, name: str) -> bool:
        return name in self._collections

    def create(
        self, name: str, vectors: dict[str, engine.EdgeVectorParams], created: bytes = b""
    ) -> None:
        """Make a shard, whole or not at all; ValueError for a bad name.

        ``created`` is kept beside it, for whoever asks how it was made.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(f"collection name {name!r} is not {_NAME.pattern}")
        if name in self:
            raise CollectionExists(f"collection {name!r} already exists")
        config = engine.EdgeConfig(
            vectors=vectors,
            hnsw_config=engine.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000),
            optimizers=engine.EdgeOptimizersConfig(default_segment_number=_SEGMENTS),
        )
        unfinished = self._folder / f".{name}"
        engine.EdgeShard.create(str(unfinished), config).close()
        (unfinished / _CREATED).write_bytes(created)
        unfinished.rename(self._folder / name)
        self._collections[name] = Collection(self._folder / name)

    def delete(self, name: str) -> None:
        """Remove a collection with everything in it; raises CollectionNotFound."""
        self[name].shard.close()
        del self._collections[name]
        doomed = (self._folder / name).rename(self._folder / f".{name}")
        shutil.rmtree(doomed)

    def settle(self, now: float) -> None:
        """Settle the collections whose time has come."""
        for collection in self._collections.values():
            collection.settle(now)

    def close(self) -> None:
        """Write everything to disk and release the shards."""
        while self._collections:
            _, collection = self._collections.popitem()
            collection.shard.flush()
            collection.shard.close()
