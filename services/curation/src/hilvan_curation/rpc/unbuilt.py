"""Methods that are in the contract and not built yet: each answers UNIMPLEMENTED and says why."""

from collections.abc import Awaitable, Callable
from typing import Any

from hilvan_kit.guards import NotBuilt

_NEXT = "it comes with context sets, order and the audit"


def _unbuilt(name: str) -> Callable[[Any, Any, Any], Awaitable[Any]]:
    async def method(self: Any, request: Any, context: Any) -> Any:  # noqa: ARG001 (the stub's)
        raise NotBuilt(name, _NEXT)

    method.__doc__ = f"{name} is not built yet."
    return method


class Unbuilt:
    """The part of the service that waits."""

    SetEntryMute = _unbuilt("SetEntryMute")
    AddLoosePin = _unbuilt("AddLoosePin")
    RemoveLoosePin = _unbuilt("RemoveLoosePin")
    CreateContextSet = _unbuilt("CreateContextSet")
    GetContextSet = _unbuilt("GetContextSet")
    ListContextSets = _unbuilt("ListContextSets")
    UpdateContextSet = _unbuilt("UpdateContextSet")
    DeleteContextSet = _unbuilt("DeleteContextSet")
    SetAttachment = _unbuilt("SetAttachment")
    SetScopeOrder = _unbuilt("SetScopeOrder")
    ListActivity = _unbuilt("ListActivity")
    ListQueryStatistics = _unbuilt("ListQueryStatistics")
    RecordActivity = _unbuilt("RecordActivity")
