"""The model's words and the wire's numbers; times as the fields of a timestamp."""

from datetime import UTC, datetime

from hilvan.common.v1 import entry_pb2
from hilvan_retrieval.model.entry import Axis, Layer
from hilvan_retrieval.model.index import Source

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

LAYERS = {
    entry_pb2.LAYER_MEMORY: Layer.MEMORY,
    entry_pb2.LAYER_EPISODE: Layer.EPISODE,
    entry_pb2.LAYER_PROCEDURE: Layer.PROCEDURE,
    entry_pb2.LAYER_NOTE: Layer.NOTE,
}
AXES = {
    entry_pb2.AXIS_USER: Axis.USER,
    entry_pb2.AXIS_PROJECT: Axis.PROJECT,
    entry_pb2.AXIS_SPACE: Axis.SPACE,
}
SOURCES = {
    entry_pb2.SOURCE_VECTOR: Source.VECTOR,
    entry_pb2.SOURCE_KEYWORD: Source.KEYWORD,
}

LAYER_NUMBERS = {layer: number for number, layer in LAYERS.items()}
AXIS_NUMBERS = {axis: number for number, axis in AXES.items()}
SOURCE_NUMBERS = {source: number for number, source in SOURCES.items()}


def time_fields(time: datetime) -> dict[str, int]:
    """A timestamp's fields, to the microsecond."""
    since = time - _EPOCH
    return {"seconds": since.days * 86400 + since.seconds, "nanos": since.microseconds * 1000}


def given_time(time: datetime | None) -> dict[str, int] | None:
    """The same; None stays None, which leaves a field unset."""
    return None if time is None else time_fields(time)
