"""One ONNX sentence encoder and its tokenizer, synchronous. Safe to call from several threads."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from hilvan_retrieval.adapters.embedding.description import ModelDescription, Pooling
from hilvan_retrieval.adapters.embedding.vectors import Window, unit_rows
from hilvan_retrieval.errors import EngineMisconfigured, SourceUnavailable
from hilvan_retrieval.model.embedding import Matrix

if TYPE_CHECKING:
    import onnxruntime as ort

_PADDING_TOKENS = ("<pad>", "[PAD]")
_ERRORS_ONLY = 3


Tokens = list[int]


class Network:
    """Turns texts into windows of tokens, and windows into vectors."""

    def __init__(self, directory: Path, description: ModelDescription, threads: int) -> None:
        """Load ``model.onnx`` (external weights beside it) and ``tokenizer.json``, and try them.

        Raises:
            EngineMisconfigured: a file is missing or not readable, or the model doesn't fit its
                description; the message names the fix.
        """
        self._description = description
        self._tokenizer = _load_tokenizer(directory / "tokenizer.json")
        self._session = _load_session(directory / "model.onnx", threads)
        self._padding = _padding_token(self._tokenizer)
        probe = self._tokenizer.encode("probe")
        own = [i for i, special in enumerate(probe.special_tokens_mask) if not special]
        self._head, self._tail = probe.ids[: own[0]], probe.ids[own[-1] + 1 :]
        self._output = self._choose_output(Window(0, len(own), probe.ids))

    def windows(self, prefix: str, texts: Sequence[str]) -> list[Window[Tokens]]:
        """Tokenise; a text longer than the model reads becomes windows of about equal length.

        Each window carries the prefix and the special tokens.
        """
        return [
            window for owner, text in enumerate(texts) for window in self._cut(owner, prefix, text)
        ]

    def vectors(self, windows: Sequence[Window[Tokens]]) -> Matrix:
        """Embed windows in one run, a unit row each; one by one if the graph refuses several.

        Raises:
            SourceUnavailable: the model failed on a single window.
        """
        try:
            (output,) = self._session.run([self._output], self._feeds(windows))
            rows = self._pool(output, windows)
        except Exception as error:  # onnxruntime's errors share no narrower base
            if len(windows) == 1:
                raise SourceUnavailable("the embedding model failed") from error
            return np.concatenate([self.vectors([window]) for window in windows])
        return unit_rows(rows)

    def _cut(self, owner: int, prefix: str, text: str) -> list[Window[Tokens]]:
        room = self._description.max_tokens - len(self._head) - len(self._tail)
        tokens = self._tokens(prefix + text)
        if len(tokens) <= room:
            return [self._window(owner, tokens, len(tokens))]
        lead = self._tokens(prefix.rstrip())
        content = tokens[len(lead) :]
        count = -(-len(content) // (room - len(lead)))
        size = -(-len(content) // count)
        parts = [content[start : start + size] for start in range(0, len(content), size)]
        return [self._window(owner, lead + part, len(part)) for part in parts]

    def _tokens(self, text: str) -> Tokens:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _window(self, owner: int, tokens: Tokens, weight: int) -> Window[Tokens]:
        return Window(owner, weight, [*self._head, *tokens, *self._tail])

    def _feeds(self, windows: Sequence[Window[Tokens]]) -> dict[str, NDArray[np.int64]]:
        shape = len(windows), max(len(window.content) for window in windows)
        values = {
            "input_ids": np.full(shape, self._padding, np.int64),
            "attention_mask": np.zeros(shape, np.int64),
            "token_type_ids": np.zeros(shape, np.int64),
        }
        for row, window in enumerate(windows):
            values["input_ids"][row, : len(window.content)] = window.content
            values["attention_mask"][row, : len(window.content)] = 1
        asked = [node.name for node in self._session.get_inputs()]
        if unknown := sorted(set(asked) - set(values)):
            raise EngineMisconfigured(
                f"the model asks for the inputs {', '.join(unknown)}: export it with "
                f"{', '.join(values)} only"
            )
        return {name: values[name] for name in asked}

    def _choose_output(self, probe: Window[Tokens]) -> str:
        """The sentence vectors if the graph gives them, else the token vectors."""
        feeds = self._feeds([probe])
        names: list[str] = [node.name for node in self._session.get_outputs()]
        try:
            outputs = self._session.run(names, feeds)
        except Exception as error:  # onnxruntime's errors share no narrower base
            raise EngineMisconfigured(f"the model can't embed a word: {error}") from error
        shapes = {name: np.shape(output) for name, output in zip(names, outputs, strict=True)}
        dimensions = self._description.dimensions
        for wanted in ((1, dimensions), (1, len(probe.content), dimensions)):
            for name, shape in shapes.items():
                if shape == wanted:
                    return name
        given = ", ".join(f"{name} of {shape[-1]}" for name, shape in shapes.items() if shape)
        raise EngineMisconfigured(
            f"the model gives {given} dimensions, its description ({self._description.id}) says "
            f"{dimensions}: choose the description of this model, or set dimensions in model.toml"
        )

    def _pool(self, output: NDArray[np.floating], windows: Sequence[Window[Tokens]]) -> Matrix:
        rows = np.asarray(output, np.float32)
        if len(rows) != len(windows):  # an export that folds the batch into the sequence
            raise ValueError("the model gave another number of rows than it was given")
        if rows.ndim == 2:  # noqa: PLR2004 (rows of sentence vectors)
            return rows
        if self._description.pooling is Pooling.CLS:
            return rows[:, 0]
        means = [row[: len(w.content)].mean(axis=0) for row, w in zip(rows, windows, strict=True)]
        return np.stack(means)


def batches(windows: Sequence[Window[Tokens]], batch_tokens: int) -> list[list[int]]:
    """Group the indices of windows into runs of at most ``batch_tokens``, padding included.

    Windows of like length meet, so little is padded; one that is longer than that runs alone.
    """
    groups: list[list[int]] = []
    for i in sorted(range(len(windows)), key=lambda i: len(windows[i].content)):
        if groups and (len(groups[-1]) + 1) * len(windows[i].content) <= batch_tokens:
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def _load_tokenizer(path: Path) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises nothing narrower
        raise EngineMisconfigured(f"can't read {path}: {error}; {_FIX}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _load_session(path: Path, threads: int) -> "ort.InferenceSession":
    # Since 1.32 it reports home unless told not to, before it is imported.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    # Threads that wait for work sleep: the cores belong to the rest of the service as well.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no narrower base
        raise EngineMisconfigured(f"can't load {path}: {error}; {_FIX}") from error


_FIX = (
    "a model directory holds model.onnx (and its model.onnx_data) and tokenizer.json; the default "
    "one is made by python -m hilvan_retrieval.adapters.embedding.prepare"
)


def _padding_token(tokenizer: Tokenizer) -> int:
    """What fills a row up. The mask hides it, so a model without such a token takes 0."""
    known = (tokenizer.token_to_id(token) for token in _PADDING_TOKENS)
    return next((token for token in known if token is not None), 0)
