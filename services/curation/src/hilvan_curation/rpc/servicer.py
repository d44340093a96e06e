"""`CurationService` on the wire."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from hilvan.curation.v1 import curation_service_pb2 as pb
from hilvan.curation.v1 import curation_service_pb2_grpc as rpc
from hilvan_curation.core.access import Vaults
from hilvan_curation.core.counting import Count, remembered
from hilvan_curation.model.note import Note
from hilvan_curation.model.space import Members, SpaceKind
from hilvan_curation.model.vault import SpaceSnapshot
from hilvan_curation.rpc import codec
from hilvan_curation.rpc.unbuilt import Unbuilt
from hilvan_curation.usecases.curating import Curator, folders
from hilvan_kit.auth import Principal
from hilvan_kit.guards import principal
from hilvan_kit.paging import BadPageToken, page_key, page_token
from hilvan_kit.tokens import Tokenizers
from hilvan_kit.validation import Faults, refuse, scan

Context = Any
"""grpc.aio's servicer context; its generics say nothing that is used here."""

PAGE_MOST = 1_000
BUDGET_MOST = 1_000_000
MEMBERS_MOST = 1_000
TEXT_MOST = 256
"""Characters of an id or a name: a longer one names nothing, and errors repeat what was asked."""

_LONG_TEXTS = {"path": 4_096, "page_token": 8_192}
_USER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")


class CurationServicer(Unbuilt, rpc.CurationServiceServicer):
    """Translates, validates, delegates."""

    def __init__(self, curator: Curator, tokenizers: Tokenizers) -> None:
        """Take the use cases and the tokenizers that requests may name."""
        self._curator = curator
        self._tokenizers = tokenizers
        self._counts: dict[str, Count] = {}

    async def ResolveScope(
        self, request: pb.ResolveScopeRequest, context: Context
    ) -> pb.ResolveScopeResponse:
        """See the proto."""
        faults = _faults(request)
        if request.HasField("token_budget"):
            faults.between(request.token_budget, "token_budget", 0, BUDGET_MOST)
        names = self._tokenizers.names
        known = not request.tokenizer or request.tokenizer in names
        faults.check(known, "tokenizer", f"must be one of {', '.join(names)}")
        refuse(faults)
        tokens = request.token_budget if request.HasField("token_budget") else None
        who = principal()
        count = self._count(request.tokenizer)
        found = self._curator.resolve(who, request.scope.project_id, tokens, count)
        readable = _readable_owners(self._curator.vaults(who), who)
        now = self._curator.now()
        return codec.resolution(found, readable, now, bodies=request.include_bodies)

    async def AddVault(self, request: pb.AddVaultRequest, context: Context) -> pb.AddVaultResponse:
        """See the proto."""
        _check(request)
        who = principal()
        vaults = await self._curator.add_vault(who, Path(request.path))
        return pb.AddVaultResponse(spaces=_spaces(vaults, who), faults=_file_faults(vaults, who))

    async def ListSpaces(
        self, request: pb.ListSpacesRequest, context: Context
    ) -> pb.ListSpacesResponse:
        """See the proto."""
        who = principal()
        return pb.ListSpacesResponse(spaces=_spaces(self._curator.vaults(who), who))

    async def ListProjects(
        self, request: pb.ListProjectsRequest, context: Context
    ) -> pb.ListProjectsResponse:
        """See the proto."""
        who = principal()
        projects = []
        for snapshot in self._curator.vaults(who).readable(who):
            counts = Counter(note.project_id for note in snapshot.notes)
            projects += [codec.project(each, counts[each.id]) for each in snapshot.projects]
        return pb.ListProjectsResponse(projects=sorted(projects, key=lambda p: p.handle))

    async def SetSpaceMembers(
        self, request: pb.SetSpaceMembersRequest, context: Context
    ) -> pb.SetSpaceMembersResponse:
        """See the proto."""
        faults = _faults(request)
        for name, users in (("readers", request.readers), ("writers", request.writers)):
            faults.check(len(users) <= MEMBERS_MOST, name, f"must be at most {MEMBERS_MOST} users")
            faults.check(all(map(_USER.fullmatch, users)), name, "must be ids of users")
        refuse(faults)
        members = Members(frozenset(request.readers), frozenset(request.writers))
        await self._curator.set_members(principal(), request.space_id, members)
        return pb.SetSpaceMembersResponse()

    async def ListNotes(
        self, request: pb.ListNotesRequest, context: Context
    ) -> pb.ListNotesResponse:
        """See the proto."""
        faults = _faults(request)
        faults.between(request.page_size, "page_size", 0, PAGE_MOST)
        refuse(faults)
        size = request.page_size or 50
        unpaged = pb.ListNotesRequest(space_id=request.space_id, project_id=request.project_id)
        binding = unpaged.SerializeToString(deterministic=True)
        after = _last_of_page(request.page_token, binding)
        wanted = _wanted_notes(self._curator.vaults(principal()).readable(principal()), request)
        rest = [pair for pair in wanted if after is None or _key(pair[0]) > after]
        page = rest[:size]
        more = len(rest) > size
        return pb.ListNotesResponse(
            notes=[codec.note(*pair) for pair in page],
            next_page_token=page_token(_key(page[-1][0]), binding) if more else "",
        )

    async def GetNote(self, request: pb.GetNoteRequest, context: Context) -> pb.GetNoteResponse:
        """See the proto."""
        _check(request)
        snapshot, note = self._curator.note(principal(), request.id)
        return pb.GetNoteResponse(note=codec.note(note, snapshot, body=True))

    async def StampNotes(
        self, request: pb.StampNotesRequest, context: Context
    ) -> pb.StampNotesResponse:
        """See the proto."""
        _check(request)
        return pb.StampNotesResponse(paths=await self._curator.stamp(principal(), request.space_id))

    async def ListFaults(
        self, request: pb.ListFaultsRequest, context: Context
    ) -> pb.ListFaultsResponse:
        """See the proto."""
        who = principal()
        return pb.ListFaultsResponse(faults=_file_faults(self._curator.vaults(who), who))

    async def PinNote(self, request: pb.PinNoteRequest, context: Context) -> pb.PinNoteResponse:
        """See the proto."""
        _check(request)
        return pb.PinNoteResponse(note=await self._pin(request.note_id, pinned=True))

    async def UnpinNote(
        self, request: pb.UnpinNoteRequest, context: Context
    ) -> pb.UnpinNoteResponse:
        """See the proto."""
        _check(request)
        return pb.UnpinNoteResponse(note=await self._pin(request.note_id, pinned=False))

    async def ListCategories(
        self, request: pb.ListCategoriesRequest, context: Context
    ) -> pb.ListCategoriesResponse:
        """See the proto."""
        _check(request)
        found = self._curator.categories(principal(), request.scope.project_id)
        now = self._curator.now()
        return pb.ListCategoriesResponse(categories=[codec.category(each, now) for each in found])

    async def SetCategoryMute(
        self, request: pb.SetCategoryMuteRequest, context: Context
    ) -> pb.SetCategoryMuteResponse:
        """See the proto."""
        _check(request)
        until = codec.moment(request.until_time) if request.HasField("until_time") else None
        changed = await self._curator.set_mute(
            principal(),
            request.scope.project_id,
            request.category,
            muted=request.muted,
            until=until,
        )
        return pb.SetCategoryMuteResponse(category=codec.category(changed, self._curator.now()))

    async def ListIdentityBlocks(
        self, request: pb.ListIdentityBlocksRequest, context: Context
    ) -> pb.ListIdentityBlocksResponse:
        """See the proto."""
        _check(request)
        found = self._curator.resolve(principal(), request.scope.project_id, 0, len)
        return pb.ListIdentityBlocksResponse(blocks=[codec.identity(b) for b in found.identity])

    async def OpenSession(
        self, request: pb.OpenSessionRequest, context: Context
    ) -> pb.OpenSessionResponse:
        """See the proto."""
        _check(request)
        opened = await self._curator.open_session(
            principal(), request.scope.project_id, preview=request.preview
        )
        return pb.OpenSessionResponse(
            session_id=opened.session_id,
            since_time=codec.stamp(opened.since),
            notes=[codec.delta(each) for each in opened.deltas],
            note_count=len(opened.notes),
            folders=folders(opened.notes),
            tags=sorted({tag for note in opened.notes for tag in note.tags}),
        )

    async def AcknowledgeSession(
        self, request: pb.AcknowledgeSessionRequest, context: Context
    ) -> pb.AcknowledgeSessionResponse:
        """See the proto."""
        _check(request)
        await self._curator.acknowledge(principal(), request.session_id)
        return pb.AcknowledgeSessionResponse()

    def _count(self, tokenizer: str) -> Count:
        if tokenizer not in self._counts:
            self._counts[tokenizer] = remembered(self._tokenizers.get(tokenizer).count)
        return self._counts[tokenizer]

    async def _pin(self, note_id: str, *, pinned: bool) -> pb.Note:
        who = principal()
        note = await self._curator.set_pin(who, note_id, pinned=pinned)
        snapshot, _ = self._curator.note(who, note.id)
        return codec.note(note, snapshot)


def _check(request: Message) -> None:
    """Refuse what follows from the message alone."""
    refuse(_faults(request))


def _faults(request: Message) -> Faults:
    """What is wrong with the message by its descriptor, and texts that are too long."""
    faults = Faults()
    scan(request, faults)
    _bound_texts(request, faults, "")
    return faults


def _bound_texts(message: Message, faults: Faults, prefix: str) -> None:
    for field, value in message.ListFields():
        path = f"{prefix}{field.name}"
        if isinstance(value, str):
            faults.length(value, path, _LONG_TEXTS.get(field.name, TEXT_MOST))
        elif isinstance(value, Message):
            _bound_texts(value, faults, f"{path}.")


def _spaces(vaults: Vaults, who: Principal) -> list[pb.Space]:
    spaces = [codec.space(each, vaults, who) for each in vaults.readable(who)]
    return sorted(spaces, key=lambda each: (each.name, each.id))


def _file_faults(vaults: Vaults, who: Principal) -> list[pb.Fault]:
    found = sorted((space.id, fault) for space, fault in vaults.faults(who))
    return [codec.fault(fault, space_id) for space_id, fault in found]


def _last_of_page(token: str, binding: bytes) -> list[str] | None:
    """Where the page before ended. A token is not signed, so its key is looked at."""
    key = page_key(token, binding)
    if key is not None and not all(isinstance(part, str) for part in key):
        raise BadPageToken("not a page token of this service")
    return key


def _wanted_notes(
    snapshots: Sequence[SpaceSnapshot], request: pb.ListNotesRequest
) -> list[tuple[Note, SpaceSnapshot]]:
    pairs = [
        (note, snapshot)
        for snapshot in snapshots
        for note in snapshot.notes
        if request.space_id in ("", note.space_id) and request.project_id in ("", note.project_id)
    ]
    return sorted(pairs, key=lambda pair: _key(pair[0]))


def _key(note: Note) -> list[str]:
    return [note.space_id, note.path]


def _readable_owners(vaults: Vaults, who: Principal) -> list[str]:
    keys = {f"user:{who.user}"}
    for snapshot in vaults.readable(who):
        if snapshot.space.kind is SpaceKind.SHARED:
            keys.add(f"space:{snapshot.space.id}")
        keys |= {f"project:{project.id}" for project in snapshot.projects}
    return sorted(keys)
