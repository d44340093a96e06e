"""What an answer with a success's status may still say went wrong."""

from collections.abc import Mapping
from typing import Any

from hilvan_retrieval.adapters.opensearch.client import OWN_FAULTS
from hilvan_retrieval.errors import SourceTimeout, SourceUnavailable

_OUT_OF_TIME = frozenset({"task_cancelled_exception", "timeout_exception"})


def refuse_partial(answer: Mapping[str, Any]) -> None:
    """Raise for an answer that is an error, or that some of the index had no part in."""
    error = answer.get("error")
    if error:
        kind = str(error.get("type"))
        if kind in _OUT_OF_TIME:
            raise SourceTimeout(f"OpenSearch gave up a search: {kind}")
        raise SourceUnavailable(f"OpenSearch refused a search: {kind}: {error.get('reason')}")
    if answer.get("timed_out"):
        raise SourceTimeout("OpenSearch gave up a search when its time was over")
    if answer.get("_shards", {}).get("failed"):
        raise SourceUnavailable("a part of OpenSearch's index failed")


def refuse_failed(answer: Mapping[str, Any]) -> None:
    """Raise for any document of a bulk request that was not written."""
    if not answer.get("errors"):
        return
    for item in answer["items"]:
        ((_, told),) = item.items()
        if error := told.get("error"):
            fault = f"OpenSearch refused a write: {error.get('type')}: {error.get('reason')}"
            if told["status"] in OWN_FAULTS:
                raise ValueError(fault)
            raise SourceUnavailable(fault)
