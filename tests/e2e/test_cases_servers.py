"""Inputs that broke systems of this kind, where only servers can be asked."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.engines.vector import Reached, double, server
from support.product.processes import Product

from hilvan.assembler.v1 import assembler_service_pb2 as pb
from hilvan.common.v1 import entry_pb2, report_pb2
from hilvan.retrieval.v1 import retrieval_service_pb2 as retrieval_pb
from hilvan_retrieval.adapters.vector.qdrant.stubs import qdrant

pytestmark = pytest.mark.timeout(300)
"""Three services start, and a busy machine takes its time."""


@pytest.fixture(params=["double", "server"])
def reached(request: pytest.FixtureRequest) -> Iterator[Reached]:
    """Give the way to the wire double, then to the server of this run."""
    if request.param == "server":
        yield server()
        return
    with double() as found:
        yield found


def start(settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Start retrieval with these settings and no other; it must end by itself."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("HILVAN_")}
    return subprocess.run(
        [sys.executable, "-m", "hilvan_retrieval.main"],
        env={**others, "HILVAN_AUTH_MODE": "development", **settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


async def test_case_03_another_metric_is_refused_at_start(reached: Reached, tmp_path: Path) -> None:
    """Retrieval doesn't start on a collection of distances; it says which metric it found."""
    name = f"hilvan-test-{uuid.uuid4().hex}"
    index = reached.index(name)
    request = qdrant.CreateCollection(collection_name=name)
    vector = request.vectors_config.params_map.map["dense"]
    vector.size, vector.distance = 64, qdrant.Distance.Euclid
    (tmp_path / "ca.pem").write_bytes(reached.ca)
    settings = {
        "HILVAN_RETRIEVAL_LISTEN": "127.0.0.1:0",
        "HILVAN_RETRIEVAL_DATA_DIR": str(tmp_path / "data"),
        "HILVAN_RETRIEVAL_EMBEDDER": "hashing-64",
        "HILVAN_RETRIEVAL_COLLECTION": name,
        "HILVAN_RETRIEVAL_QDRANT_URL": reached.target,
        "HILVAN_RETRIEVAL_QDRANT_API_KEY": reached.key,
        "HILVAN_RETRIEVAL_QDRANT_TLS": str(reached.tls),
        "HILVAN_RETRIEVAL_QDRANT_KEY_IN_CLEAR": "true",
    }
    if reached.ca:
        settings["HILVAN_RETRIEVAL_QDRANT_CA_FILE"] = str(tmp_path / "ca.pem")
    try:
        await index._connection.call(index._connection.collections.Create, request, 20.0)
        ended = start(settings)
        await index.drop()
    finally:
        await index.close()
    assert ended.returncode == 1
    told = ended.stderr.splitlines()[-1]
    assert told.startswith("hilvan-retrieval: ")
    assert "metric is Euclid, not Cosine" in told
    assert "hilvan reindex" in told
    assert "Traceback" not in ended.stderr


async def test_case_45_a_sleeping_engine_of_words_does_not_hold_the_turn(
    on_servers: Product,
) -> None:
    """OpenSearch sleeps for longer than the caller waits: meaning answers, in time."""
    tenant = f"case-{uuid.uuid4().hex[:12]}"
    owner = entry_pb2.Owner(axis=entry_pb2.AXIS_USER, id="u1")
    stored = entry_pb2.Entry(
        id="m1", layer=entry_pb2.LAYER_MEMORY, owner=owner, text="The forklift licence expires"
    )
    async with on_servers.client(tenant=tenant) as writer:
        await writer.retrieval.UpsertEntry(retrieval_pb.UpsertEntryRequest(entry=stored, wait=True))
    async with on_servers.client(tenant=tenant, user="u1") as hilvan:
        wanted = pb.AssembleRequest(query="does the forklift licence expire")
        with on_servers.rigs["keyword"].slow(20.0):
            started = time.monotonic()
            answer = await hilvan.assembler.Assemble(wanted, timeout=1.0)
            assert time.monotonic() - started < 1.0
        assert "forklift" in answer.prompt
        lost = [(each.part, each.status) for each in answer.degraded]
        assert lost == [("keyword", report_pb2.PART_STATUS_TIMEOUT)]
