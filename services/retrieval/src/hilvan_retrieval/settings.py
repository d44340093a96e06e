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
    embedder: str = Field(
        default="onnx",
        pattern="^(onnx|http|hashing)$",
        description="`onnx` (a directory), `http` (an OpenAI-compatible server) or `hashing` "
        "(no model, for tests).",
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
    query_cache: int = Field(default=4096, ge=0, le=10**6, description="Query vectors kept.")
    qdrant_url: str = Field(
        default="",
        description="host:port of a Qdrant server's gRPC; empty: the embedded engine.",
    )
    qdrant_api_key: str = Field(default="", description="API key of the Qdrant server.")
    qdrant_tls: bool = Field(default=False, description="Whether the Qdrant server speaks TLS.")
    collection: str = Field(default="hilvan", description="Name of the Qdrant collection.")
    source_cap_ms: int = Field(
        default=60, ge=1, le=10_000, description="Longest wait for one engine, in milliseconds."
    )
