"""Tiny embedding models of every shape that exports come in, and an inference server."""

import asyncio
import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import onnx
import orjson
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import Unigram
from tokenizers.pre_tokenizers import Metaspace
from tokenizers.processors import TemplateProcessing

from hilvan_retrieval.adapters.embedding.description import ModelDescription, Pooling
from hilvan_retrieval.adapters.embedding.hashing import HashingEmbedder
from hilvan_retrieval.model.embedding import Calibration

DIMENSIONS = 32
MAX_TOKENS = 64
_CHARACTERS = "▁abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789áéíóúñ.,:;?!'-"
_PIECES = ["<s>", "<pad>", "</s>", "<unk>", *_CHARACTERS]


def description(**changes: Any) -> ModelDescription:
    """The description of `write_model`'s model; ``changes`` replace fields."""
    fields: dict[str, Any] = {
        "id": "tiny",
        "dimensions": DIMENSIONS,
        "max_tokens": MAX_TOKENS,
        "pooling": Pooling.CLS,
        "query_prefix": "q: ",
        "passage_prefix": "p: ",
        "batch_tokens": 256,
        "calibration": Calibration(((0.0, 0.0), (1.0, 1.0))),
    }
    return ModelDescription(**fields | changes)


@dataclass(frozen=True, slots=True)
class Shape:
    """How an export differs from the next: what it is asked, and what it gives.

    ``folds`` joins the token vectors of the whole batch into one row, as a careless export does.
    """

    sentence: bool = True
    batch: int | str = "batch"
    extra_inputs: tuple[str, ...] = ()
    external: bool = False
    folds: bool = False


def write_model(directory: Path, shape: Shape = Shape()) -> Path:
    """Write a seeded encoder of one attention layer; the same weights whatever the shape.

    Its table of positions ends with `MAX_TOKENS`: it fails on anything longer, as real ones do.
    """
    directory.mkdir(parents=True, exist_ok=True)
    _tokenizer().save(str(directory / "tokenizer.json"))
    onnx.save(
        _model(shape),
        directory / "model.onnx",
        save_as_external_data=shape.external,
        location="model.onnx_data",
        size_threshold=1000,
    )
    return directory


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(Unigram([(piece, -1.0) for piece in _PIECES], unk_id=3))
    tokenizer.pre_tokenizer = Metaspace(prepend_scheme="always")
    tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


def _model(shape: Shape) -> onnx.ModelProto:
    random = np.random.default_rng(7)

    def weights(*size: int) -> NDArray[np.float32]:
        return random.normal(0, 0.5, size).astype(np.float32)

    constants: dict[str, NDArray[Any]] = {
        "words": weights(len(_PIECES), DIMENSIONS),
        "positions": weights(MAX_TOKENS + 2, DIMENSIONS),
        **{name: weights(DIMENSIONS, DIMENSIONS) for name in ("wq", "wk", "wv")},
        "one": np.array([1], np.int64),
        "one_float": np.array([1], np.float32),
        "far": np.array([-1e9], np.float32),
        "first": np.array(0, np.int64),
        "one_row": np.array([1, -1, DIMENSIONS], np.int64),
    }
    steps: list[tuple[str, list[str], str, dict[str, Any]]] = [
        ("Gather", ["words", "input_ids"], "word", {}),
        # XLM-RoBERTa counts positions from 2 and skips what is masked.
        ("CumSum", ["attention_mask", "one"], "counted", {}),
        ("Mul", ["counted", "attention_mask"], "counted_own", {}),
        ("Add", ["counted_own", "one"], "place", {}),
        ("Gather", ["positions", "place"], "position", {}),
        ("Add", ["word", "position"], "x", {}),
        *(("MatMul", ["x", f"w{p}"], p, {}) for p in "qkv"),
        ("Transpose", ["k"], "kt", {"perm": [0, 2, 1]}),
        ("MatMul", ["q", "kt"], "scores", {}),
        ("Cast", ["attention_mask"], "own", {"to": TensorProto.FLOAT}),
        ("Sub", ["one_float", "own"], "foreign", {}),
        ("Mul", ["foreign", "far"], "penalty", {}),
        ("Unsqueeze", ["penalty", "one"], "penalties", {}),
        ("Add", ["scores", "penalties"], "masked", {}),
        ("Softmax", ["masked"], "shares", {"axis": -1}),
        ("MatMul", ["shares", "v"], "seen", {}),
        ("Add", ["seen", "x"], "both", {}),
        ("Tanh", ["both"], "last_hidden_state", {}),
        ("Reshape", ["last_hidden_state", "one_row"], "folded", {}),
        ("Gather", ["last_hidden_state", "first"], "head", {"axis": 1}),
        ("LpNormalization", ["head"], "dense_vecs", {"axis": -1, "p": 2}),
    ]
    nodes = [helper.make_node(op, ins, [out], **extra) for op, ins, out, extra in steps]
    axes = [shape.batch, "sequence"]
    names = ("input_ids", "attention_mask", *shape.extra_inputs)
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, axes) for n in names]
    outputs: dict[str, list[int | str]] = {
        "last_hidden_state": [*axes, DIMENSIONS],
        "folded": [1, "all", DIMENSIONS],
        "dense_vecs": [shape.batch, DIMENSIONS],
    }
    tokens = "folded" if shape.folds else "last_hidden_state"
    name = "dense_vecs" if shape.sentence else tokens
    graph = helper.make_graph(
        nodes,
        "tiny",
        inputs,
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, outputs[name])],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class InferenceServer:
    """Speaks OpenAI's embeddings API on a free port, with `HashingEmbedder` behind it.

    ``faults`` are used up one a request: ``reset`` and ``hang`` the connection, a number as
    status, bytes as body. ``shuffled`` answers out of order, ``floats`` ignores base64.
    """

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        self.faults: list[str | int | bytes] = []
        self.shuffled = False
        self.floats = False
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        self._embedder = HashingEmbedder(dimensions)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        """Where it listens."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self._writers.discard(writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines[1:])}
        body = orjson.loads(await reader.readexactly(int(headers["content-length"])))
        self.requests.append(body)
        self.authorizations.append(headers.get("authorization"))
        fault = self.faults.pop(0) if self.faults else 200
        if fault == "reset":
            writer.transport.abort()
            return False
        if fault == "hang":
            return bool(await reader.read())
        status = fault if isinstance(fault, int) else 200
        if lines[0].split()[1] != "/v1/embeddings":
            status = 404
        content = fault if isinstance(fault, bytes) else await self._content(body)
        writer.write(
            f"HTTP/1.1 {status} x\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content
        )
        await writer.drain()
        return True

    async def _content(self, body: dict[str, Any]) -> bytes:
        rows = await self._embedder.embed_passages(body["input"])
        data = [
            {
                "object": "embedding",
                "index": index,
                "embedding": row.tolist()
                if self.floats
                else base64.b64encode(row.astype("<f4").tobytes()).decode(),
            }
            for index, row in enumerate(rows)
        ]
        return orjson.dumps({"object": "list", "data": data[::-1] if self.shuffled else data})
