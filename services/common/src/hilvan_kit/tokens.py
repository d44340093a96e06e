"""Counting tokens without a network: tiktoken's encodings, or any ``tokenizer.json``."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

TIKTOKEN_ENCODINGS = ("o200k_base", "cl100k_base")
DEFAULT_ENCODING = "o200k_base"

_CACHED_TEXTS = 20_000
"""Counts are pure values: rendered items come again in the next turns of a conversation."""

_CACHED_CHARACTERS = 2_000
"""Longer texts are counted each time, so that the cache stays below 20,000 x 2,000 characters."""


class TokenCounter:
    """Counts the tokens of a text; the name is what a request asks for."""

    def __init__(self, name: str, count: Callable[[str], int]) -> None:
        """Put a bounded cache before a counting function."""
        self.name = name
        self._count = count
        self._cached = lru_cache(maxsize=_CACHED_TEXTS)(count)

    def count(self, text: str) -> int:
        """The number of tokens of the text."""
        return (self._cached if len(text) <= _CACHED_CHARACTERS else self._count)(text)


def load_encoding(name: str) -> TokenCounter:
    """One of `TIKTOKEN_ENCODINGS`; the rank data lie in the quicktok package.

    Special tokens in a text count as the plain text that they are: stored text is data.
    """
    import quicktok

    encoding: Any = quicktok.get_encoding(name)
    return TokenCounter(name, lambda text: len(encoding.encode_ordinary(text)))


def load_tokenizer_file(path: Path) -> TokenCounter:
    """A Hugging Face ``tokenizer.json``; its name is the file's without the suffix."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # Special tokens in a text count as the plain text that they are, as above.
    tokenizer.encode_special_tokens = True
    return TokenCounter(
        path.stem, lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
    )


class TokenizerUnusable(Exception):
    """A tokenizer's file can't be read, or the default is not offered; the message says which."""


class Tokenizers:
    """The tokenizers that a server offers, all of them loaded at its start."""

    def __init__(self, default: str = DEFAULT_ENCODING, folder: Path | None = None) -> None:
        """``folder`` holds ``<name>.json`` files besides the built-in encodings.

        Raises:
            TokenizerUnusable: a file is broken, or nothing is called ``default``.
        """
        self._offered = {name: load_encoding(name) for name in TIKTOKEN_ENCODINGS}
        for path in sorted(folder.glob("*.json")) if folder else ():
            try:
                self._offered[path.stem] = load_tokenizer_file(path)
            except Exception as error:  # the library raises nothing narrower
                raise TokenizerUnusable(f"{path} is not a tokenizer.json") from error
        if default not in self._offered:
            raise TokenizerUnusable(f"no tokenizer {default!r}, only {', '.join(self.names)}")
        self._default = default

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that `get` knows."""
        return tuple(self._offered)

    def get(self, name: str = "") -> TokenCounter:
        """The tokenizer of that name, or the default one. KeyError for an unknown name."""
        return self._offered[name or self._default]
