"""The index that Hilvan keeps in OpenSearch, and what can be wrong with one that exists."""

import re
from collections.abc import Mapping
from typing import Any

from hilvan_retrieval.core.analysis import ANALYSIS_VERSION

SCHEMA_VERSION = 1
"""Rises with every change of the fields and of what they hold."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,200}")

_META = {"format": "hilvan", "schema": SCHEMA_VERSION, "analysis": ANALYSIS_VERSION}


def is_name(name: str) -> bool:
    """Whether an index may be called so; patterns and lists of names may not."""
    return _NAME.fullmatch(name) is not None


def concrete(name: str) -> str:
    """The index that is made behind the alias ``name``."""
    return f"{name}-000001"


def creation(name: str, *, shards: int, replicas: int | None) -> Mapping[str, Any]:
    """Ask for the index and its alias, which then appear together.

    ``replicas`` None: one as soon as there is a second node.
    """
    copies = (
        {"auto_expand_replicas": "0-1"} if replicas is None else {"number_of_replicas": replicas}
    )
    return {
        "aliases": {name: {"is_write_index": True}},
        "settings": {
            "index": {
                "number_of_shards": shards,
                **copies,
                "refresh_interval": "1s",
                "translog": {"durability": "request"},
                "similarity": {"default": {"type": "BM25", "k1": 1.2, "b": 0.75}},
            },
            "analysis": {
                # A token is at most 11 + 2 * 128 characters; the tokenizer's own bound is 255.
                "tokenizer": {"tokens": {"type": "whitespace", "max_token_length": 512}},
                "analyzer": {"tokens": {"type": "custom", "tokenizer": "tokens"}},
            },
        },
        "mappings": {
            "dynamic": "strict",
            "_meta": _META,
            # The record has the texts; nothing is ever read back but columns.
            "_source": {"enabled": False},
            "properties": _fields(),
        },
    }


def fault(mappings: Mapping[str, Any]) -> str:
    """Say why an index with these mappings can't be used; "" when it can."""
    meta = mappings.get("_meta")
    if meta != _META:
        return f"it was written as {meta}, this version reads {_META}"
    if mappings.get("dynamic") != "strict":
        return "its mapping is not strict"
    found = {name: field.get("type") for name, field in mappings.get("properties", {}).items()}
    wanted = {name: field["type"] for name, field in _fields().items()}
    if wrong := sorted(name for name, _ in found.items() ^ wanted.items()):
        return f"its fields {', '.join(dict.fromkeys(wrong))} are not those of this version"
    return ""


def _fields() -> dict[str, dict[str, Any]]:
    """Tokens to match, terms to filter by, columns to sort by and to read.

    ``scope`` is tenant, layer and owner in one term; ``group`` is there to be counted.
    """
    tokens = {"type": "text", "analyzer": "tokens", "index_options": "freqs"}
    term = {"type": "keyword", "doc_values": False}
    return {
        "stem": tokens,
        "exact": tokens,
        **dict.fromkeys(("group", "scope", "category", "topic", "tag", "bucket"), term),
        "uid": {"type": "keyword", "index": False},
        "revision": {"type": "long", "index": False},
        "live_from": {"type": "long"},
        "live_until": {"type": "long"},
    }
