"""What the assembler reads from its environment, once."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from hilvan_kit.settings import ServerSettings
from hilvan_kit.tokens import DEFAULT_ENCODING


class AssemblerSettings(ServerSettings):
    """Settings of the assembler."""

    model_config = SettingsConfigDict(env_prefix="HILVAN_ASSEMBLER_", frozen=True, extra="forbid")

    listen: str = Field(
        default="127.0.0.1:7703",
        description="Address to listen on, host:port; port 0 picks a free one.",
    )
    retrieval_target: str = Field(default="127.0.0.1:7701", description="gRPC target of retrieval.")
    curation_target: str = Field(default="127.0.0.1:7702", description="gRPC target of curation.")
    tokenizer: str = Field(
        default=DEFAULT_ENCODING, description="The tokenizer of requests that name none."
    )
    tokenizers_dir: Path | None = Field(
        default=None, description="Folder of further tokenizers, <name>.json each."
    )
