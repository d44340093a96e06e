"""What every call to another service has: the caller's credential, a deadline, one translator."""

from collections.abc import Callable
from typing import Any

import grpc

from hilvan_assembler.errors import ServiceTimeout, ServiceUnavailable
from hilvan_assembler.model import Caller
from hilvan_kit.deadlines import Deadline
from hilvan_kit.guards import TIMEOUT_KEY


async def call(
    service: str,
    method: Callable[..., Any],
    request: Any,
    caller: Caller,
    deadline: Deadline,
    known: Callable[[grpc.aio.AioRpcError], Exception | None] = lambda _: None,
) -> Any:
    """Call a method with what is left of the deadline.

    ``known`` tells the exception for errors that mean something here; all others say only that
    the service can't help. Raises ServiceTimeout, ServiceUnavailable.
    """
    seconds = deadline.downstream()
    if seconds <= 0:
        raise ServiceTimeout(service)
    metadata = (*caller.metadata, (TIMEOUT_KEY, str(int(seconds * 1000))))
    try:
        return await method(request, timeout=seconds, metadata=metadata)
    except grpc.aio.AioRpcError as error:
        meant = known(error)
        if meant is not None:
            raise meant from error
        if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
            raise ServiceTimeout(service) from error
        raise ServiceUnavailable(service) from error
