"""What an answer with a success's status may still say went wrong."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hilvan_retrieval.adapters.keyword.opensearch.client import OWN_FAULTS, Refused
from hilvan_retrieval.errors import QueryRefused, SourceTimeout, SourceUnavailable

_OUT_OF_TIME = frozenset({"task_cancelled_exception", "timeout_exception"})


@contextmanager
def reading() -> Iterator[None]:
    """Raise SourceUnavailable where an answer has not the form that OpenSearch gives it."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise SourceUnavailable("OpenSearch's answer has an unknown form") from error


@contextmanager
def asking() -> Iterator[None]:
    """Raise QueryRefused where OpenSearch blames the query."""
    try:
        yield
    except Refused as error:
        if error.status in OWN_FAULTS:
            raise QueryRefused(str(error)) from error
        raise


def refuse_partial(answer: Mapping[str, Any]) -> None:
    """Raise for an answer that is an error, or that some of the index had no part in."""
    if error := answer.get("error"):
        kind = error["type"]
        if kind in _OUT_OF_TIME:
            raise SourceTimeout(f"OpenSearch gave up a search: {kind}")
        told = f"OpenSearch refused a search: {kind}: {error.get('reason')}"
        raise (QueryRefused if answer.get("status") in OWN_FAULTS else SourceUnavailable)(told)
    if answer.get("timed_out"):
        raise SourceTimeout("OpenSearch gave up a search when its time was over")
    if answer["_shards"]["failed"]:
        raise SourceUnavailable("a part of OpenSearch's index failed")


def refuse_failed(answer: Mapping[str, Any]) -> None:
    """Raise for any document of a bulk request that was not written."""
    if answer.get("errors") is False:
        return
    for item in answer.get("items", ()):
        for told in item.values():
            if error := told.get("error"):
                fault = f"OpenSearch refused a write: {error.get('type')}: {error.get('reason')}"
                if told.get("status") in OWN_FAULTS:
                    raise ValueError(fault)
                raise SourceUnavailable(fault)
    raise SourceUnavailable("OpenSearch does not say that a write was done")
