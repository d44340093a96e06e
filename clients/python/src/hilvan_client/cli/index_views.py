"""How indexes are called and shown."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from hilvan_client.cli import output

if TYPE_CHECKING:
    from hilvan.common.v1.entry_pb2 import Source
    from hilvan.retrieval.v1.retrieval_service_pb2 import IndexState

_HEADERS = (
    "index",
    "state",
    "answers",
    "engine",
    "recipe",
    "documents",
    "filled",
    "pending",
    "parked",
)


def source_name(source: "Source.ValueType") -> str:
    """``vector`` or ``keyword``."""
    from hilvan.common.v1.entry_pb2 import Source

    return Source.Name(source).removeprefix("SOURCE_").lower()


def index_name(index: "IndexState") -> str:
    """Source and generation, such as ``vector.2``."""
    return f"{source_name(index.source)}.{index.generation}"


def state_name(index: "IndexState") -> str:
    """``building``, ``live`` or ``retired``."""
    from hilvan.retrieval.v1.retrieval_service_pb2 import GenerationState

    return GenerationState.Name(index.state).removeprefix("GENERATION_STATE_").lower()


def status_name(index: "IndexState") -> str:
    """What became of asking its engine, such as ``OK``."""
    from hilvan.common.v1.report_pb2 import PartStatus

    return PartStatus.Name(index.status).removeprefix("PART_STATUS_")


def percent(share: float) -> str:
    """A share as whole percents; only a whole one is 100."""
    return f"{int(share * 100)} %"


def table(indexes: "Iterable[IndexState]") -> Any:
    """All indexes, one a row."""
    rows = [
        (
            index_name(index),
            state_name(index),
            status_name(index),
            index.engine,
            index.recipe,
            index.document_count,
            percent(index.filled_share),
            index.pending_count,
            index.parked_count,
        )
        for index in indexes
    ]
    return output.table(_HEADERS, rows)
