"""Builds the ONNX graph of multilingual-e5-small from its container.

The graph is written with onnxruntime's fused operators (domain ``com.microsoft``: attention,
skip + layer norm, bias + GELU), so no optimiser has to find them again. The word embeddings keep
their 4 bits and are widened row by row. The other weights become int8, one scale for each output:
at most ±63, because the AVX2 kernel adds two products in 16 bits and larger ones would saturate
there, and give other numbers than on a CPU with VNNI. Activations are quantised as they come.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from hilvan_retrieval.adapters.embedding.container import BLOCK, Container

FUSED = "com.microsoft"
_LARGEST_WEIGHT = 63
_OPSETS = (helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1))
_IR_VERSION = 9


def build_model(container: Container) -> onnx.ModelProto:
    """``input_ids``, ``attention_mask`` (int64, batch x sequence) → ``last_hidden_state``."""
    graph = _Graph()
    hidden = _embeddings(graph, container)
    mask = graph.add("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
    for layer in range(container.sizes.layers):
        hidden = _layer(graph, container, f"l{layer}", hidden, mask)
    graph.add("Identity", [hidden], "last_hidden_state")
    return graph.model(container.sizes.hidden)


class _Graph:
    """Nodes and constants in the making; every output is named after its node."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def add(self, operator: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        self.add_many(operator, inputs, [name], **attributes)
        return name

    def add_many(
        self, operator: str, inputs: Sequence[str], names: Sequence[str], **attributes: Any
    ) -> Sequence[str]:
        domain = "" if onnx.defs.has(operator) else FUSED
        self._nodes.append(helper.make_node(operator, inputs, names, domain=domain, **attributes))
        return names

    def linear(self, x: str, name: str, weights: NDArray[np.float32]) -> str:
        """``x @ weights.T`` without its bias, which the next fused operator adds."""
        scales = np.abs(weights).max(axis=1) / _LARGEST_WEIGHT
        quantised = np.rint(weights / scales[:, None]).astype(np.int8)
        inputs = [
            x,
            self.constant(f"{name}.weight", quantised.T),
            self.constant(f"{name}.scale", scales),
            self.constant(f"{name}.zero", np.zeros(len(scales), np.int8)),
        ]
        return self.add("DynamicQuantizeMatMul", inputs, name)

    def model(self, hidden: int) -> onnx.ModelProto:
        axes = ["batch", "sequence"]
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, axes)
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info(
            "last_hidden_state", TensorProto.FLOAT, [*axes, hidden]
        )
        graph = helper.make_graph(
            self._nodes, "multilingual-e5-small", inputs, [output], self._constants
        )
        return helper.make_model(graph, opset_imports=_OPSETS, ir_version=_IR_VERSION)


def _embeddings(graph: _Graph, container: Container) -> str:
    sizes = container.sizes
    nibbles, scales = container.blocks("emb.word", sizes.vocabulary)
    packed = np.concatenate(
        [_pairs(nibbles & np.uint8(15)), _pairs(nibbles >> np.uint8(4))], axis=2
    )
    words = graph.add(
        "GatherBlockQuantized",
        [
            graph.constant("words.nibbles", packed.reshape(sizes.vocabulary, -1)),
            "input_ids",
            graph.constant("words.scale", scales.astype(np.float32)),
        ],
        "words",
        bits=4,
        block_size=BLOCK,
        gather_axis=0,
        quantize_axis=1,
    )
    # Positions count from 0; every token is of the first type.
    places = container.floats("emb.pos").reshape(sizes.positions, -1)
    places = places + container.floats("emb.type")[: sizes.hidden]
    zero = graph.constant("zero", np.array([0]))
    length = graph.add("Shape", ["input_ids"], "length", start=1, end=2)
    table = graph.constant("places.table", places)
    used = graph.add("Slice", [table, zero, length, zero], "places.used")
    both = graph.add("Add", [words, graph.add("Unsqueeze", [used, zero], "places")], "embedded")
    norm = _norm(graph, container, "emb.ln")
    return graph.add(
        "LayerNormalization", [both, *norm], "embedded.norm", axis=-1, epsilon=sizes.epsilon
    )


def _layer(graph: _Graph, container: Container, name: str, x: str, mask: str) -> str:
    sizes = container.sizes
    projections = [f"{name}.{part}" for part in "qkv"]
    weights = [container.matrix(f"{part}.w", sizes.hidden) for part in projections]
    bias = np.concatenate([container.floats(f"{part}.b") for part in projections])
    joined = graph.linear(x, f"{name}.qkv", np.concatenate(weights))
    thirds = graph.constant(f"{name}.thirds", np.array([sizes.hidden] * 3))
    split = graph.add_many("Split", [joined, thirds], projections, axis=-1)
    attended = graph.add(
        "MultiHeadAttention",
        [*split, graph.constant(f"{name}.qkv.bias", bias), mask],
        f"{name}.attention",
        num_heads=sizes.heads,
    )
    middle = _block_end(graph, container, (f"{name}.ao", f"{name}.aln"), attended, x)
    wide = graph.linear(middle, f"{name}.fi", container.matrix(f"{name}.fi.w", sizes.feed_forward))
    wide_bias = graph.constant(f"{name}.fi.bias", container.floats(f"{name}.fi.b"))
    active = graph.add("BiasGelu", [wide, wide_bias], f"{name}.gelu")
    return _block_end(graph, container, (f"{name}.fo", f"{name}.oln"), active, middle)


def _block_end(
    graph: _Graph, container: Container, parts: tuple[str, str], x: str, skip: str
) -> str:
    """The linear map that ends a block, its residual connection and its layer norm."""
    linear, norm = parts
    mapped = graph.linear(x, linear, container.matrix(f"{linear}.w", container.sizes.hidden))
    inputs = [
        mapped,
        skip,
        *_norm(graph, container, norm),
        graph.constant(f"{linear}.bias", container.floats(f"{linear}.b")),
    ]
    return graph.add(
        "SkipLayerNormalization", inputs, f"{norm}.out", epsilon=container.sizes.epsilon
    )


def _norm(graph: _Graph, container: Container, name: str) -> tuple[str, str]:
    gain = graph.constant(f"{name}.gain", container.floats(f"{name}.w"))
    return gain, graph.constant(f"{name}.shift", container.floats(f"{name}.b"))


def _pairs(values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Pack neighbours of the last axis into one byte, the first in the low nibble."""
    return np.asarray(values[..., 0::2] | (values[..., 1::2] << 4), dtype=np.uint8)
