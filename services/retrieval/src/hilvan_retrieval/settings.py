"""What retrieval reads from its environment, once."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from hilvan_kit.settings import ServerSettings


class RetrievalSettings(ServerSettings):
    """Settings of retrieval."""

    model_config = SettingsConfigDict(env_prefix="HILVAN_RETRIEVAL_", frozen=True, extra="forbid")

    listen: str = Field(
        default="127.0.0.1:7701",
        description="Address to listen on, host:port; port 0 picks a free one.",
    )
    data_dir: Path = Field(
        default=Path(".hilvan/retrieval"),
        description="Folder of the record and of the embedded indexes.",
    )
    record_url: str = Field(
        default="",
        repr=False,
        description="postgresql://user:password@host:port/database of the record; empty: SQLite "
        "in the data folder.",
    )
    record_connections: int = Field(
        default=8, ge=2, le=200, description="Connections to PostgreSQL; half read, half write."
    )
    record_migrate: bool = Field(
        default=True, description="Whether a start may bring the record to this release's schema."
    )
    embedder: str = Field(
        default="onnx",
        pattern="^(onnx|http|hashing(-[0-9]+)?)$",
        description="`onnx` (a directory), `http` (an OpenAI-compatible server) or `hashing` "
        "(no model, for tests; `hashing-64` names its dimensions).",
    )
    model_dir: Path = Field(
        default=Path(".cache/models/multilingual-e5-small"),
        description="Folder of an ONNX model: model.onnx, tokenizer.json, perhaps model.toml.",
    )
    model_description: str = Field(
        default="multilingual-e5-small",
        description="Bundled description for a folder without model.toml, such as `bge-m3`.",
    )
    model_threads: int = Field(default=1, ge=1, le=64, description="Threads of one embedding.")
    embedding_url: str = Field(default="", description="Base URL of the embedding server.")
    embedding_name: str = Field(default="", description="Model name that the server expects.")
    embedding_key: str = Field(default="", description="Bearer key of the embedding server.")
    next_embedder: str = Field(
        default="",
        pattern="^(|onnx|http|hashing(-[0-9]+)?)$",
        description="Kind of the embedder that `hilvan reindex` goes over to; empty: the same.",
    )
    next_model_dir: Path = Field(default=Path(), description="Its folder, as `model_dir`.")
    next_model_description: str = Field(
        default="multilingual-e5-small", description="Its description, as `model_description`."
    )
    next_embedding_url: str = Field(default="", description="Its server, as `embedding_url`.")
    next_embedding_name: str = Field(default="", description="Its name, as `embedding_name`.")
    next_embedding_key: str = Field(
        default="", repr=False, description="Its key, as `embedding_key`."
    )
    query_cache: int = Field(default=4096, ge=0, le=10**6, description="Query vectors kept.")
    qdrant_url: str = Field(
        default="",
        description="host:port of a Qdrant server's gRPC; empty: the embedded engine.",
    )
    qdrant_api_key: str = Field(default="", description="API key of the Qdrant server.")
    qdrant_tls: bool = Field(default=False, description="Whether the Qdrant server speaks TLS.")
    qdrant_ca_file: Path | None = Field(
        default=None, description="Authorities that the Qdrant server's certificate is checked by."
    )
    qdrant_key_in_clear: bool = Field(
        default=False, description="Whether the key may go to another machine without TLS."
    )
    opensearch_url: str = Field(
        default="",
        description="http(s)://host:port of OpenSearch; empty: the embedded keyword index.",
    )
    opensearch_user: str = Field(default="", description="User of OpenSearch; empty: none.")
    opensearch_password: str = Field(default="", repr=False, description="Password of OpenSearch.")
    opensearch_ca_file: Path | None = Field(
        default=None, description="Authorities that OpenSearch's certificate is checked by."
    )
    collection: str = Field(
        default="hilvan", description="Name of the Qdrant collection and the OpenSearch index."
    )
    source_cap_ms: int = Field(
        default=60, ge=1, le=10_000, description="Longest wait for one engine, in milliseconds."
    )
