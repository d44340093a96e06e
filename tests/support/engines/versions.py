"""Asks engines for their versions; one that doesn't answer raises ConnectionError.

Apart from `engines`, which every run of tests loads: the clients here take a second to load.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import asyncpg
import grpc
import httpx

from hilvan_retrieval.adapters.vector.qdrant.stubs import qdrant as stubs

TIMEOUT_S = 5.0


def qdrant(address: str, key: str, *, secure: bool) -> str:
    """The version of a Qdrant server at host:port."""
    made = (
        grpc.secure_channel(address, grpc.ssl_channel_credentials())
        if secure
        else grpc.insecure_channel(address)
    )
    metadata = (("api-key", key),) if key else ()
    with made as channel:
        service: Any = stubs.QdrantStub(channel)  # type: ignore[no-untyped-call] # generated
        asked = stubs.HealthCheckRequest()
        try:
            answer = service.HealthCheck(asked, timeout=TIMEOUT_S, metadata=metadata)
        except grpc.RpcError as error:
            raise ConnectionError(error.code().name) from error
    return str(answer.version)


def opensearch(url: str) -> str:
    """The version of an OpenSearch at an http URL."""
    try:
        answer = httpx.get(url, trust_env=False, timeout=TIMEOUT_S).raise_for_status()
    except httpx.HTTPError as error:
        raise ConnectionError(str(error)) from error
    return str(answer.json()["version"]["number"])


def postgresql(url: str) -> str:
    """The version of a PostgreSQL at a postgresql URL."""
    # In a thread, because the caller's may have a loop that runs.
    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(asyncio.run, _postgresql(url)).result()
        except (OSError, asyncpg.PostgresError) as error:
            raise ConnectionError(str(error)) from error


async def _postgresql(url: str) -> str:
    connection = await asyncpg.connect(url, timeout=TIMEOUT_S)
    try:
        return str(await connection.fetchval("SHOW server_version")).split()[0]
    finally:
        await connection.close()
