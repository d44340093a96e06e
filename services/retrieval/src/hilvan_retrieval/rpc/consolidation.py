"""The part of `RetrievalService` that consolidates."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from hilvan.retrieval.v1 import retrieval_service_pb2 as pb
from hilvan_kit.guards import principal
from hilvan_kit.paging import page_key, page_token
from hilvan_retrieval.model.consolidation import Action, Run, Step, UndoOutcome
from hilvan_retrieval.model.contradiction import FoundContradiction
from hilvan_retrieval.rpc import codec, validation
from hilvan_retrieval.rpc.uses import Context, Methods, service_tenant

_ACTIONS = {
    Action.MERGED: pb.CONSOLIDATION_ACTION_MERGED,
    Action.RETIRED: pb.CONSOLIDATION_ACTION_RETIRED,
    Action.EXPIRED: pb.CONSOLIDATION_ACTION_EXPIRED,
    Action.DECAYED: pb.CONSOLIDATION_ACTION_DECAYED,
}


class ConsolidationMethods(Methods):
    """What keeps a tenant's record small and true."""

    async def RecordConflicts(
        self, request: pb.RecordConflictsRequest, context: Context
    ) -> pb.RecordConflictsResponse:
        """See the proto."""
        validation.conflicts(request)
        found = [
            FoundContradiction(each.older_id, each.newer_id, each.evidence)
            for each in request.conflicts
        ]
        who = principal()
        owners = self._uses.policies.writable_owners(who)
        counted = await self._uses.consolidator.note_conflicts(
            who.tenant, found, owners, self._uses.now()
        )
        return pb.RecordConflictsResponse(recorded_count=counted)

    async def Consolidate(
        self, request: pb.ConsolidateRequest, context: Context
    ) -> AsyncIterator[pb.ConsolidateResponse]:
        """See the proto."""
        tenant, now = service_tenant(), self._uses.now()
        if request.dry_run:
            async with aclosing(self._uses.consolidator.preview(tenant, now)) as batches:
                async for steps in batches:
                    yield pb.ConsolidateResponse(steps=map(_step_message, steps))
            return
        async with aclosing(self._uses.consolidator.consolidate(tenant, now)) as taken:
            async for run, steps in taken:
                yield pb.ConsolidateResponse(run_id=run.id, steps=map(_step_message, steps))

    async def UndoConsolidation(
        self, request: pb.UndoConsolidationRequest, context: Context
    ) -> pb.UndoConsolidationResponse:
        """See the proto."""
        tenant = service_tenant()
        validation.undo(request)
        answer = pb.UndoConsolidationResponse()
        undone = self._uses.consolidator.undo(
            tenant, request.run_id, self._uses.now(), list(request.numbers)
        )
        async with aclosing(undone) as steps:
            async for each in steps:
                if each.outcome is UndoOutcome.UNDONE:
                    answer.undone_count += 1
                elif each.outcome is UndoOutcome.CHANGED_SINCE:
                    answer.changed_numbers.append(each.step.number)
        return answer

    async def ListConsolidations(
        self, request: pb.ListConsolidationsRequest, context: Context
    ) -> pb.ListConsolidationsResponse:
        """See the proto."""
        tenant = service_tenant()
        size = validation.runs(request)
        after = page_key(request.page_token, b"consolidations")
        page, last = await self._uses.consolidator.runs(
            tenant, size, str(after[0]) if after else ""
        )
        return pb.ListConsolidationsResponse(
            consolidations=[_run_message(each) for each in page],
            next_page_token=page_token([last], b"consolidations") if last else "",
        )


def _step_message(step: Step) -> pb.ConsolidationStep:
    return pb.ConsolidationStep(
        id=step.entry_id,
        action=_ACTIONS[step.action],
        other_id=step.other_id,
        reason=step.reason,
        number=step.number,
    )


def _run_message(run: Run) -> pb.Consolidation:
    return pb.Consolidation(
        run_id=run.id,
        begin_time=codec.stamp(run.begin_time),
        end_time=codec.stamp(run.end_time) if run.end_time else None,
        step_count=run.step_count,
    )
