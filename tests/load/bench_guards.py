"""What the guards cost: unary calls to a bare server and to a guarded one, in turns, one process.

Run as ``python tests/load/bench_guards.py [calls]``; the log goes to standard error.
"""

import statistics
import sys
import time
from typing import Any

import grpc
import uvloop

from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan.retrieval.v1 import retrieval_service_pb2_grpc as rpc
from hilvan_kit.auth import DevelopmentAuthenticator
from hilvan_kit.calls import Guarded
from hilvan_kit.failures import ErrorTable
from hilvan_kit.guards import TIMEOUT_KEY, standard_guards
from hilvan_kit.logs import configure_logging

TURN = 20
GUARDS = standard_guards(DevelopmentAuthenticator(), ErrorTable("bench.hilvan", {}))
SERVERS = {
    "bare": [],
    "no guard": [Guarded(())],
    "observe": [Guarded(GUARDS[:1])],
    "all guards": [Guarded(GUARDS)],
}


METHOD = "/hilvan.retrieval.v1.RetrievalService/GetEntry"


async def answer(_: pb.GetEntryRequest, __: Any) -> pb.GetEntryResponse:
    """Answer with nothing."""
    return pb.GetEntryResponse()


HANDLER = grpc.method_handlers_generic_handler(
    "hilvan.retrieval.v1.RetrievalService",
    {
        "GetEntry": grpc.unary_unary_rpc_method_handler(
            answer,
            request_deserializer=pb.GetEntryRequest.FromString,
            response_serializer=pb.GetEntryResponse.SerializeToString,
        )
    },
)


async def measure(calls: int) -> None:
    """Print the median of each server and its ratio to the bare one."""
    servers, stubs = [], {}
    for name, interceptors in SERVERS.items():
        server = grpc.aio.server(interceptors=interceptors)
        server.add_generic_rpc_handlers((HANDLER,))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        servers.append(server)
        stubs[name] = rpc.RetrievalServiceStub(grpc.aio.insecure_channel(f"127.0.0.1:{port}"))
    times: dict[str, list[float]] = {name: [] for name in stubs}
    request, metadata = pb.GetEntryRequest(id="a"), ((TIMEOUT_KEY, "5000"),)
    for _ in range(calls // TURN):
        for name, stub in stubs.items():
            for _ in range(TURN):
                begin = time.perf_counter()
                await stub.GetEntry(request, timeout=5, metadata=metadata)
                times[name].append(time.perf_counter() - begin)
    medians = {name: statistics.median(each) for name, each in times.items()}
    for name, median in medians.items():
        print(f"{name:10} {median * 1e6:5.0f} us  x {median / medians['bare']:.3f}")
    for server in servers:
        await server.stop(None)


if __name__ == "__main__":
    configure_logging("info", "bench")
    uvloop.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 3_000))
