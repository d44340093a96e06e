"""`RetrievalService` on the wire."""

import uuid
from collections.abc import AsyncIterator

from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_kit.guards import principal
from hilvan_kit.paging import page_key, page_token
from hilvan_retrieval.core import entry as outcomes
from hilvan_retrieval.model.entry import Entry, RequestKey
from hilvan_retrieval.rpc import codec, importing, validation
from hilvan_retrieval.rpc.consolidation import ConsolidationMethods
from hilvan_retrieval.rpc.indexes import IndexMethods
from hilvan_retrieval.rpc.numbers import LAYERS
from hilvan_retrieval.rpc.uses import Context, service_tenant


class RetrievalServicer(IndexMethods, ConsolidationMethods):
    """Translates, validates, delegates."""

    async def RetrieveCandidates(
        self, request: pb.RetrieveCandidatesRequest, context: Context
    ) -> pb.RetrieveCandidatesResponse:
        """See the proto."""
        now = self._uses.now()
        wanted = validation.candidates(request, now)
        found = await self._uses.retriever.candidates(
            principal(), wanted, now, self._uses.deadline(context)
        )
        columns = request.form == pb.CANDIDATE_FORM_COLUMNS
        return codec.candidates_response(found, self._uses.reader.model.id, columns=columns)

    async def SearchEntries(
        self, request: pb.SearchEntriesRequest, context: Context
    ) -> pb.SearchEntriesResponse:
        """See the proto."""
        now = self._uses.now()
        wanted = validation.search(request, now)
        found = await self._uses.retriever.candidates(
            principal(), wanted, now, self._uses.deadline(context)
        )
        best = sorted(found.candidates, key=lambda c: (-c.found.best, c.entry.id))
        floor = request.min_similarity
        kept = [c for c in best if c.similarity is None or c.similarity >= floor]
        return pb.SearchEntriesResponse(
            candidates=[codec.candidate_fields(each) for each in kept[: wanted.limit]]  # type: ignore[misc]  # dictionaries
        )

    async def UpsertEntry(
        self, request: pb.UpsertEntryRequest, context: Context
    ) -> pb.UpsertEntryResponse:
        """See the proto."""
        validation.upsert(request)
        answer = await self._uses.writer.upsert(
            principal(), self._entry(request), _request_key(request)
        )
        stored = _stored(answer.entry)
        await self._settle(request.wait, [stored.id], context)
        return pb.UpsertEntryResponse(entry=codec.entry_message(stored))

    async def GetEntry(self, request: pb.GetEntryRequest, context: Context) -> pb.GetEntryResponse:
        """See the proto."""
        validation.ids(request, ("id",))
        found = await self._uses.reader.get(principal(), request.id)
        return pb.GetEntryResponse(entry=codec.entry_message(found))

    async def BatchGetEntries(
        self, request: pb.BatchGetEntriesRequest, context: Context
    ) -> pb.BatchGetEntriesResponse:
        """See the proto."""
        validation.ids(request, ("ids",))
        found = await self._uses.reader.batch(principal(), list(request.ids))
        return pb.BatchGetEntriesResponse(
            entries=[codec.entry_message(found[each]) for each in request.ids if each in found],
            missing_ids=[each for each in request.ids if each not in found],
        )

    async def ListEntries(
        self, request: pb.ListEntriesRequest, context: Context
    ) -> pb.ListEntriesResponse:
        """See the proto."""
        size = validation.page(request)
        unpaged = pb.ListEntriesRequest()
        unpaged.CopyFrom(request)
        unpaged.ClearField("page_token")
        binding = unpaged.SerializeToString(deterministic=True)
        after = page_key(request.page_token, binding)
        after_time = (
            codec.moment(request.updated_after_time)
            if request.HasField("updated_after_time")
            else None
        )
        page, last = await self._uses.reader.page(
            principal(),
            owners=validation.owners(request),
            layers=frozenset(LAYERS[each] for each in request.layers),
            categories=frozenset(request.categories),
            updated_after=after_time,
            size=size,
            after=after,
        )
        return pb.ListEntriesResponse(
            entries=[codec.entry_message(each) for each in page],
            next_page_token=page_token(last, binding) if last else "",
        )

    async def UpdateEntry(
        self, request: pb.UpdateEntryRequest, context: Context
    ) -> pb.UpdateEntryResponse:
        """See the proto."""
        validation.update(request)
        values = codec.update_values(request.entry, list(request.update_mask.paths))
        answer = await self._uses.writer.update(
            principal(),
            request.entry.id,
            values,
            request.entry.etag,
            self._uses.now(),
            _request_key(request),
        )
        await self._settle(request.wait, [request.entry.id], context)
        return pb.UpdateEntryResponse(entry=codec.entry_message(_stored(answer.entry)))

    async def DeleteEntry(
        self, request: pb.DeleteEntryRequest, context: Context
    ) -> pb.DeleteEntryResponse:
        """See the proto."""
        validation.ids(request, ("id",), request.request_id)
        await self._uses.writer.delete(principal(), request.id, request.etag, _request_key(request))
        await self._settle(request.wait, [request.id], context)
        return pb.DeleteEntryResponse()

    async def SupersedeEntry(
        self, request: pb.SupersedeEntryRequest, context: Context
    ) -> pb.SupersedeEntryResponse:
        """See the proto."""
        validation.ids(request, ("id", "superseded_by"), request.request_id)
        answer = await self._uses.writer.supersede(
            principal(), request.id, request.superseded_by, request.etag, _request_key(request)
        )
        await self._settle(request.wait, [request.id], context)
        return pb.SupersedeEntryResponse(entry=codec.entry_message(_stored(answer.entry)))

    async def ImportEntries(
        self, request_iterator: AsyncIterator[pb.ImportEntriesRequest], context: Context
    ) -> AsyncIterator[pb.ImportEntriesResponse]:
        """See the proto."""
        who = principal()
        model = self._uses.reader.model
        async for request in request_iterator:
            batch = importing.read_batch(request, model, self._uses.now())
            answer, refused = await self._uses.writer.import_batch(
                who, batch.entries, batch.vectors, model.id
            )
            stored = int(answer.outcome)
            if request.wait and batch.entries:
                ids = [each.id for each in batch.entries.values()]
                await self._uses.writer.settle(who, ids, self._uses.deadline(context))
            yield importing.acknowledgement(request, batch, refused, stored)

    async def ExportEntries(
        self, request: pb.ExportEntriesRequest, context: Context
    ) -> AsyncIterator[pb.ExportEntriesResponse]:
        """See the proto."""
        validation.export(request)
        async for page in self._uses.reader.everything(principal(), validation.owners(request)):
            yield pb.ExportEntriesResponse(entries=[codec.entry_message(each) for each in page])

    async def Remember(self, request: pb.RememberRequest, context: Context) -> pb.RememberResponse:
        """See the proto."""
        validation.upsert(request)
        answer = await self._uses.writer.remember(
            principal(), self._entry(request), self._uses.now(), _request_key(request)
        )
        stored = _stored(answer.entry)
        await self._settle(request.wait, [stored.id], context)
        reinforced = answer.outcome == outcomes.REINFORCED
        return pb.RememberResponse(
            outcome=pb.REMEMBER_OUTCOME_REINFORCED if reinforced else pb.REMEMBER_OUTCOME_STORED,
            entry=codec.entry_message(stored),
            similarity=answer.similarity,
        )

    async def RecordAccesses(
        self, request: pb.RecordAccessesRequest, context: Context
    ) -> pb.RecordAccessesResponse:
        """See the proto."""
        validation.ids(request, ("ids",), request.request_id)
        counted = await self._uses.writer.count_accesses(
            principal(), list(request.ids), self._uses.now(), _request_key(request)
        )
        return pb.RecordAccessesResponse(counted_count=counted)

    async def PutSpacePolicy(
        self, request: pb.PutSpacePolicyRequest, context: Context
    ) -> pb.PutSpacePolicyResponse:
        """See the proto."""
        tenant = service_tenant()
        validation.checked(request)
        await self._uses.policies.put_space(tenant, codec.space_policy(request.policy))
        return pb.PutSpacePolicyResponse()

    async def DeleteSpacePolicy(
        self, request: pb.DeleteSpacePolicyRequest, context: Context
    ) -> pb.DeleteSpacePolicyResponse:
        """See the proto."""
        tenant = service_tenant()
        validation.checked(request)
        await self._uses.policies.delete_space(tenant, request.space_id)
        return pb.DeleteSpacePolicyResponse()

    async def PutUserMutes(
        self, request: pb.PutUserMutesRequest, context: Context
    ) -> pb.PutUserMutesResponse:
        """See the proto."""
        tenant = service_tenant()
        validation.mutes(request)
        mutes = [codec.entry_mute(each) for each in request.mutes]
        await self._uses.policies.put_user_mutes(tenant, request.user, mutes)
        return pb.PutUserMutesResponse()

    async def ConfirmPolicies(
        self, request: pb.ConfirmPoliciesRequest, context: Context
    ) -> pb.ConfirmPoliciesResponse:
        """See the proto."""
        await self._uses.policies.confirm(service_tenant(), self._uses.now())
        return pb.ConfirmPoliciesResponse()

    def _entry(self, request: pb.UpsertEntryRequest | pb.RememberRequest) -> Entry:
        entry_id = request.entry.id or uuid.uuid4().hex
        return codec.entry(request.entry, entry_id, self._uses.now())

    async def _settle(self, wait: bool, ids: list[str], context: Context) -> None:  # noqa: FBT001 (the request's own field)
        if wait:
            await self._uses.writer.settle(principal(), ids, self._uses.deadline(context))


def _request_key(request: codec.Repeatable) -> RequestKey | None:
    who = principal()
    return codec.request_key(request, f"{who.role}:{who.user}")


def _stored(entry: Entry | None) -> Entry:
    if entry is None:
        raise LookupError("the store answered without the entry that it stored")
    return entry
