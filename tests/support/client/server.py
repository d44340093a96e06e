# ruff: noqa: D102, N802 - the methods have the names of the protos and are described there
"""A server of our own for tests of the client: the real protos, port 0, everything in memory."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import grpc
from grpc import aio
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health import aio as health
from grpc_health.v1.health_pb2 import HealthCheckResponse
from grpc_reflection.v1alpha import reflection
from support.client.script import Refusal, Script
from support.kit.in_thread import in_thread

from hilvan.assembler.v1 import assembler_service_pb2 as assembler
from hilvan.assembler.v1 import assembler_service_pb2_grpc as assembler_grpc
from hilvan.common.v1 import report_pb2
from hilvan.common.v1.entry_pb2 import Entry
from hilvan.curation.v1 import curation_service_pb2 as curation
from hilvan.curation.v1 import curation_service_pb2_grpc as curation_grpc
from hilvan.retrieval.v1 import retrieval_service_pb2 as retrieval
from hilvan.retrieval.v1 import retrieval_service_pb2_grpc as retrieval_grpc
from hilvan_client.service_config import Service


class Retrieval(retrieval_grpc.RetrievalServiceServicer):
    """Keeps entries in a dictionary."""

    def __init__(self, script: Script) -> None:
        self.script = script

    async def GetEntry(self, request: Any, context: Any) -> Any:
        await self.script.see("GetEntry", request, context)
        return retrieval.GetEntryResponse(
            entry=self.script.entries.get(request.id, Entry(id=request.id))
        )

    async def UpsertEntry(self, request: Any, context: Any) -> Any:
        await self.script.see("UpsertEntry", request, context)
        return retrieval.UpsertEntryResponse(entry=request.entry)

    async def DeleteEntry(self, request: Any, context: Any) -> Any:
        await self.script.see("DeleteEntry", request, context)
        return retrieval.DeleteEntryResponse()

    async def Remember(self, request: Any, context: Any) -> Any:
        await self.script.see("Remember", request, context)
        entry = Entry()
        entry.CopyFrom(request.entry)
        entry.id = "mem-1"
        return retrieval.RememberResponse(
            outcome=retrieval.REMEMBER_OUTCOME_STORED, entry=entry, similarity=0.5
        )

    async def GetIndexState(self, request: Any, context: Any) -> Any:
        await self.script.see("GetIndexState", request, context)
        states = self.script.states
        self.script.told = states.pop(0) if len(states) > 1 else states[0]
        answer = retrieval.GetIndexStateResponse(
            indexes=self.script.told,
            entry_count=len(self.script.entries),
            embedding_model="test",
        )
        answer.read_time.GetCurrentTime()
        return answer

    async def Reindex(self, request: Any, context: Any) -> Any:
        await self.script.see("Reindex", request, context)
        return retrieval.ReindexResponse(indexes=self.script.told)

    async def CheckIndexes(self, request: Any, context: Any) -> AsyncIterator[Any]:
        await self.script.see("CheckIndexes", request, context)
        for part in self.script.parts.pop(0) if self.script.parts else []:
            yield part

    async def Consolidate(self, request: Any, context: Any) -> AsyncIterator[Any]:
        for answer in self.script.taken:
            yield answer
        await self.script.see("Consolidate", request, context)

    async def UndoConsolidation(self, request: Any, context: Any) -> Any:
        await self.script.see("UndoConsolidation", request, context)
        changed = [each for each in request.numbers if each > 1]
        return retrieval.UndoConsolidationResponse(undone_count=1, changed_numbers=changed)

    async def ListConsolidations(self, request: Any, context: Any) -> Any:
        await self.script.see("ListConsolidations", request, context)
        run = retrieval.Consolidation(run_id="run-2" if request.page_token else "run-1")
        token = "" if request.page_token else "more"
        return retrieval.ListConsolidationsResponse(consolidations=[run], next_page_token=token)

    async def ExportEntries(self, request: Any, context: Any) -> AsyncIterator[Any]:
        yield retrieval.ExportEntriesResponse(entries=self.script.entries.values())
        await self.script.see("ExportEntries", request, context)

    async def ImportEntries(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        await self.script.see("ImportEntries", None, context)
        left = self.script.drops.pop(0) if self.script.drops else None
        window: list[Any] = []
        reading = asyncio.ensure_future(anext(requests, None))
        while True:
            # Take all that the client sends before it waits for an acknowledgement.
            done, _ = await asyncio.wait([reading], timeout=0.02 if window else None)
            if done and (request := reading.result()) is not None:
                window.append(request)
                self.script.largest_window = max(self.script.largest_window, len(window))
                reading = asyncio.ensure_future(anext(requests, None))
                continue
            if not window:
                return
            if left == 0:
                reading.cancel()
                if self.script.end_early:
                    return
                await Refusal(grpc.StatusCode.UNAVAILABLE, "stopping").send(context)
            yield self._store(window.pop(0))
            left = left if left is None else left - 1

    def _store(self, request: Any) -> Any:
        self.script.batches.append(request.batch)
        answer = retrieval.ImportEntriesResponse(batch=request.batch)
        for index, record in enumerate(request.records):
            entry = record.entry
            if "bad" in entry.text:
                answer.faults.add(index=index, id=entry.id, field="entry.text", description="bad")
            elif self.script.entries.get(entry.id) == entry:
                answer.unchanged_count += 1
            else:
                self.script.entries[entry.id] = entry
                answer.stored_count += 1
        return answer


class Curation(curation_grpc.CurationServiceServicer):
    """Knows one project and one broken note."""

    def __init__(self, script: Script) -> None:
        self.script = script

    async def AddVault(self, request: Any, context: Any) -> Any:
        await self.script.see("AddVault", request, context)
        return curation.AddVaultResponse(spaces=[curation.Space(id="s", name="Space")])

    async def ListSpaces(self, request: Any, context: Any) -> Any:
        await self.script.see("ListSpaces", request, context)
        return curation.ListSpacesResponse(spaces=[curation.Space(id="s", name="Space")])

    async def ListProjects(self, request: Any, context: Any) -> Any:
        await self.script.see("ListProjects", request, context)
        project = curation.Project(id="prj-1", name="Despacho", handle="team/despacho")
        return curation.ListProjectsResponse(projects=[project])

    async def ListFaults(self, request: Any, context: Any) -> Any:
        await self.script.see("ListFaults", request, context)
        fault = curation.Fault(space_id="s", path="a.md", line=3, description="a quote is open")
        return curation.ListFaultsResponse(faults=[fault])


class Assembler(assembler_grpc.AssemblerServiceServicer):
    """Answers with what was asked."""

    def __init__(self, script: Script) -> None:
        self.script = script

    async def Assemble(self, request: Any, context: Any) -> Any:
        await self.script.see("Assemble", request, context)
        return assembler.AssembleResponse(
            prompt=f"<facts>{request.query}</facts>",
            token_count=7,
            tokenizer="o200k_base",
            sections=[assembler.RenderedSection(section=assembler.SECTION_FACTS, token_count=7)],
            decisions=[
                assembler.Decision(
                    id="mem-9",
                    section=assembler.SECTION_FACTS,
                    reason=assembler.REASON_OVER_BUDGET,
                    score=0.5,
                ),
            ],
            timings=[report_pb2.StageTiming(stage="embed")],
            degraded=[report_pb2.Degradation(part="keyword", description="no words")],
        )

    async def Search(self, request: Any, context: Any) -> Any:
        await self.script.see("Search", request, context)
        entry = Entry(id="mem-1", text=f"about {request.query}")
        return assembler.SearchResponse(hits=[assembler.Hit(entry=entry, relevance=0.9)])

    async def Recall(self, request: Any, context: Any) -> Any:
        await self.script.see("Recall", request, context)
        return assembler.RecallResponse(bundle="a passage", token_count=2)

    async def StartSession(self, request: Any, context: Any) -> Any:
        await self.script.see("StartSession", request, context)
        return assembler.StartSessionResponse(session_id="ses-1")

    async def Preview(self, request: Any, context: Any) -> Any:
        await self.script.see("Preview", request, context)
        return assembler.PreviewResponse()


def _make(servicer: Any, script: Script) -> Any:
    """Make a servicer. Its type is abstract; methods it lacks answer UNIMPLEMENTED."""
    return servicer(script)


@asynccontextmanager
async def serve(script: Script, *, serving: bool = True) -> AsyncIterator[str]:
    """Serve all three services at one address."""
    server = aio.server()
    retrieval_grpc.add_RetrievalServiceServicer_to_server(_make(Retrieval, script), server)
    curation_grpc.add_CurationServiceServicer_to_server(_make(Curation, script), server)
    assembler_grpc.add_AssemblerServiceServicer_to_server(_make(Assembler, script), server)
    checks = health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    names = [service.full_name for service in Service]
    reflection.enable_server_reflection(names, server)
    status = HealthCheckResponse.SERVING if serving else HealthCheckResponse.NOT_SERVING
    for name in names:
        await checks.set(name, status)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)


@contextmanager
def serve_in_thread(script: Script) -> Iterator[str]:
    """Serve from a thread."""
    with in_thread(serve(script)) as running:
        yield running.value
