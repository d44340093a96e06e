"""A call: who asks, what is wanted, and until when."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and the metadata that proves it to the other services."""

    tenant: str
    user: str
    metadata: tuple[tuple[str, str], ...]
