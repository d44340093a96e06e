"""Asking one server directly whether it serves, past the health-aware channels of the client.

Those send nothing at all to a server that does not serve, not even this question.
"""

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from hilvan_client.service_config import Service

UNREACHABLE = "UNREACHABLE"


def check(service: Service, target: str, timeout: float = 3.0) -> str:
    """``SERVING``, ``NOT_SERVING``, `UNREACHABLE`, or the status code that it answered with."""
    request = health_pb2.HealthCheckRequest(service=service.full_name)
    with grpc.insecure_channel(target) as channel:
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(request, timeout=timeout)
        except grpc.RpcError as error:
            code = error.code()
            lost = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
            return UNREACHABLE if code in lost else str(code.name)
    return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))
