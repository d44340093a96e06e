"""What retrieval asks of the outside. Each sentence here is a test of the contract suite."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from hilvan_retrieval.model import (
    Action,
    Answer,
    Change,
    EmbeddingModel,
    Entry,
    EntryMute,
    EntryQuery,
    FoundConflict,
    Generation,
    GenerationState,
    Hit,
    IndexDocument,
    IndexState,
    KeywordQuery,
    Layer,
    Matrix,
    OutboxCounts,
    OutboxRow,
    Owner,
    ParkedRow,
    RecordedConflict,
    RequestKey,
    Run,
    RunState,
    Source,
    SpacePolicy,
    Step,
    Stored,
    TenantPolicy,
    Uid,
    UndoOutcome,
    Vector,
    VectorQuery,
)


class _Index(Protocol):
    """What both kinds of index promise about their contents."""

    async def ensure(self) -> bool:
        """Make what is missing of the index; True when there was none, so that it is empty now.

        To be called before the first use, and again when the engine may have lost the index.

        Raises:
            EngineMisconfigured: there is one that can't be used; the message names the fix.
            SourceTimeout: the engine did not answer in time.
            SourceUnavailable: the engine refused or is gone.
        """

    async def upsert(self, documents: Sequence[IndexDocument]) -> None:
        """Add or replace documents by uid.

        When it returns, the next search sees them and a kill of any process loses none. Doing it
        again changes nothing. Of one uid given twice in a call, the last counts. An empty
        sequence does nothing.
        """

    async def delete(self, uids: Sequence[Uid]) -> None:
        """Remove documents; unknown uids are ignored. As visible and durable as `upsert`."""

    async def revisions(self, bucket: str) -> dict[Uid, int]:
        """Every document of one of `BUCKETS`, of all tenants: its revision by uid."""

    async def state(self) -> IndexState:
        """Count the documents and name the engine."""

    async def ping(self) -> None:
        """Return when the engine can serve; raise `SourceUnavailable` when it can't."""

    async def drop(self) -> None:
        """Remove the index with all that it holds; nothing but `close` may follow."""

    async def close(self) -> None:
        """Release the engine; may be called twice."""


class VectorIndex(_Index, Protocol):
    """Nearest neighbours by cosine."""

    async def search(self, queries: Sequence[VectorQuery]) -> list[list[Hit]]:
        """Answer all queries in one round trip, in their order.

        Hits come by falling cosine, ties by uid, at most ``limit`` of them. Every condition of
        the filter holds for every hit, and holds inside the search: a filter never makes the
        answer shorter than the documents that it allows.

        Raises:
            SourceTimeout: the engine did not answer in time.
            SourceUnavailable: the engine refused or is gone.
        """


class KeywordIndex(_Index, Protocol):
    """Words by BM25."""

    async def search(self, queries: Sequence[KeywordQuery]) -> list[list[Hit]]:
        """Answer all queries in their order; more queries are no more round trips.

        A document matches when it holds any word of the text. Hits come by falling score, ties
        by uid, at most ``limit`` of them, every score above zero. Case, accents and Unicode form
        don't keep a word from matching, but the exact form ranks above a folded one. English
        and Spanish inflections match, CJK text matches by its characters, code identifiers match
        whole and by their parts. The text is never read as a query language. Text without any
        word matches nothing. Filters are as exact as for vectors.

        Raises:
            SourceTimeout: the engine did not answer in time.
            SourceUnavailable: the engine refused or is gone.
        """


class Embedder(Protocol):
    """Text to vectors of one model."""

    @property
    def model(self) -> EmbeddingModel:
        """The model's identity, dimensions and calibration; known from the start."""

    async def embed_query(self, text: str) -> Vector:
        """Embed a question. The same text gives the same bytes.

        Raises:
            SourceTimeout: the model did not answer in time.
            SourceUnavailable: the model can't be reached.
        """

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embed stored texts, a row each in their order; no text gives shape ``(0, dimensions)``.

        A text longer than the model reads is embedded by windows whose vectors are averaged, so
        that no part of it is ignored. Raises as `embed_query`.
        """

    async def ping(self) -> None:
        """Return when the model can serve; raise `SourceUnavailable` when it can't."""

    async def close(self) -> None:
        """Release the model; may be called twice."""


class EntryStore(Protocol):
    """The record: what it has exists, what it has not does not, whatever an index says."""

    async def change(
        self,
        tenant: str,
        ids: Sequence[str],
        decide: Callable[[Mapping[str, Entry]], Change],
        request: RequestKey | None = None,
    ) -> Answer:
        """Change the record in one transaction; when it returns, nothing of it can be lost.

        ``decide`` is pure and gets the current entries of ``ids``, those that are superseded by
        one of them, and everything that they, or entries they lead to, are superseded by; it may
        be called again. Each put gets the
        next version of its entry. Each put and delete leaves a row in the outbox of every
        index. What ``decide`` raises leaves the record as it was. With a ``request`` the answer
        is kept for 24 hours, and the same request gives it again without deciding.

        Raises:
            RequestIdReused: the request id came before with another digest.
        """

    async def count_accesses(
        self,
        tenant: str,
        ids: Sequence[str],
        owners: frozenset[str] | None,
        time: datetime,
        request: RequestKey | None,
    ) -> int:
        """Count one access of each of these entries; how many there were is returned.

        Only entries of these owners count; None: of everybody.

        Versions stay as they are. With a ``request`` that was counted before nothing changes.
        Raises RequestIdReused as `change`.
        """

    async def entries(self, tenant: str, ids: Sequence[str]) -> dict[str, Entry]:
        """The entries of these ids; unknown ids and other tenants' are left out."""

    async def hydrate(
        self, tenant: str, uids: Sequence[Uid], *, model: str | None
    ) -> dict[Uid, Stored]:
        """The entries behind an index's hits; unknown uids and other tenants' are left out.

        With their vectors of a model, where there are such; of no model: without any.
        """

    async def page(self, query: EntryQuery) -> list[Entry]:
        """The entries that match, by falling update time, then id, at most ``limit``.

        ``after`` is the (update time in µs, id) of the last entry of the page before.
        """

    async def recent_vectors(
        self, tenant: str, owner: Owner, layer: Layer, feed: str, model: str
    ) -> dict[str, Vector]:
        """By id, the model's vectors of the owner's entries that the feed's index lacks yet."""

    async def count(self, tenant: str) -> int:
        """How many entries the tenant has."""

    async def ping(self) -> None:
        """Return when the record can be read; raise `SourceUnavailable` when it can't."""

    async def close(self) -> None:
        """Release the database; may be called twice."""


class PolicyStore(Protocol):
    """What curation said of who may read what, kept so that retrieval needs nobody to know it."""

    async def policies(self) -> dict[str, TenantPolicy]:
        """The policy of every tenant that has one."""

    async def put_space_policy(self, tenant: str, policy: SpacePolicy) -> None:
        """Keep a space's policy, replacing what was known of the space."""

    async def delete_space_policy(self, tenant: str, space_id: str) -> None:
        """Forget a space's policy; an unknown space is ignored."""

    async def put_user_mutes(self, tenant: str, user: str, mutes: Sequence[EntryMute]) -> None:
        """Keep the entries that a user has muted, replacing what was known of the user."""

    async def confirm(self, tenant: str, time: datetime) -> None:
        """Keep when the tenant's policy was last said to hold; an earlier time changes nothing."""


class Outbox(Protocol):
    """What each index does not have yet. Rows outlive crashes; one entry has one row a feed.

    A feed belongs to a `Generation`; every write of an entry reaches every feed that there is.
    """

    def hold(self, feed: str) -> AbstractAsyncContextManager[bool]:
        """Keep every other worker, of any replica, from the feed; False when another has it.

        Nothing outlives the holder. Raises SourceUnavailable when the record can't be asked, and
        on leaving when the hold was lost meanwhile: another worker may then have applied later
        states of the same entries.
        """

    async def due(self, feed: str, limit: int) -> list[OutboxRow]:
        """Rows neither parked nor waiting for a retry, by rising seq, at most ``limit``."""

    async def load(self, rows: Sequence[OutboxRow], model: str | None) -> dict[Uid, Stored]:
        """The rows' entries as they are now, with the model's vectors; deleted ones are left out.

        Of no model: without vectors.
        """

    async def save_vectors(self, model: str, made: Mapping[Uid, Stored]) -> None:
        """Keep vectors with the entries that they were made of.

        Those whose entry was deleted or has another text meanwhile are left out.
        """

    async def settle(self, feed: str, rows: Sequence[OutboxRow]) -> None:
        """Remove rows whose entry was not written again since they were read."""

    async def postpone(
        self, feed: str, row: OutboxRow, error: str, retry_seconds: float | None
    ) -> None:
        """Count a failed attempt; try again after some seconds, or park the row for good."""

    async def announce(self, feed: str, uids: Sequence[Uid]) -> None:
        """Say that the index may be wrong about these, entries or not; parked rows run again."""

    async def unsettled(self, uids: Sequence[Uid], feeds: Sequence[str]) -> bool:
        """Whether any of the feeds is still behind on any of these (parked rows count)."""

    async def behind(self, feed: str, bucket: str) -> set[Uid]:
        """The entries of a bucket that the feed is behind on."""

    async def counts(self, feed: str) -> OutboxCounts:
        """How many rows wait and how many are parked."""

    async def parked(self, feed: str, limit: int) -> list[ParkedRow]:
        """Rows that were given up, by rising seq, at most ``limit``."""


class Generations(Protocol):
    """Which indexes there are. A source has at most one live and one building generation."""

    async def all(self) -> list[Generation]:
        """Every generation, by source and number."""

    async def begin(
        self, source: Source, engine: str, recipe: str, state: GenerationState
    ) -> Generation:
        """Make the next generation of the source, with nothing filled; of no entries, all is.

        Every write that commits from now on reaches its feed. A live one retires the one before.
        One that is being built already is given back when it is of the same kind; else
        ReindexRefused.
        """

    async def fill(self, generation: Generation, rows: int) -> Generation:
        """Put the record's next buckets into its outbox, until that many rows were put there.

        What waits already keeps its place. The generation as it is then.
        """

    async def refill(self, generation: Generation) -> Generation:
        """Begin to fill it again, because its index is empty; not when everything waits already."""

    async def switch(self, generation: Generation) -> None:
        """Make it the live one; what was live is retired."""

    async def drop(self, generation: Generation) -> None:
        """Forget it, its outbox, and the vectors of a model that no generation uses.

        Raises ReindexRefused for the live one.
        """

    async def bucket(self, bucket: str) -> dict[Uid, tuple[str, Entry]]:
        """The record's part of a bucket: tenant and entry by uid."""


class Findings(Protocol):
    """What a consolidation reads. Everything is of one tenant."""

    async def groups(self, tenant: str) -> list[tuple[Owner, Layer]]:
        """Whose entries there are, and of which layers; by owner, then layer."""

    async def members(self, tenant: str, owner: Owner, layer: Layer, limit: int) -> list[Uid]:
        """The entries of a group by falling update time, then id, at most ``limit``."""

    async def ended(self, tenant: str, before: datetime, after_id: str, limit: int) -> list[Entry]:
        """Entries whose validity ended, or that were replaced, before a moment; by id.

        Those with a greater id than ``after_id``, at most ``limit``. Passages of notes, and
        entries that were updated or consolidated since that moment, are left out.
        """

    async def unconfirmed(
        self, tenant: str, before: datetime, above: float, after_id: str, limit: int
    ) -> list[Entry]:
        """Memories and procedures of a confidence above a floor, untouched since a moment; by id.

        Untouched: neither updated nor accessed nor consolidated. Paged as `ended`.
        """

    async def record_conflicts(
        self,
        tenant: str,
        conflicts: Sequence[FoundConflict],
        owners: frozenset[str] | None,
        time: datetime,
    ) -> int:
        """Keep conflicts with the contents that both entries have now; how many there were.

        Only pairs of different entries, both live at ``time``, of one of these owners (None: of
        any) and of the same one. A pair that is kept already is counted once more; with other
        contents it counts from one again.
        """

    async def conflicts(
        self, tenant: str, after: tuple[str, str], limit: int
    ) -> list[RecordedConflict]:
        """Kept conflicts by (older id, newer id), behind ``after``, at most ``limit``."""

    async def forget_conflicts(self, tenant: str, conflicts: Sequence[RecordedConflict]) -> None:
        """Remove conflicts, unless they were kept again with other contents meanwhile."""


class Journal(Protocol):
    """What consolidations did, each step written in the transaction of its change."""

    def hold(self, tenant: str) -> AbstractAsyncContextManager[bool]:
        """Keep every other consolidation of the tenant out, of any replica; False: there is one.

        Nothing outlives the holder. Raises SourceUnavailable on leaving when the hold was lost.
        """

    async def running(self, tenant: str) -> Run | None:
        """The run that was begun and not finished."""

    async def begin(self, tenant: str, time: datetime) -> Run:
        """The run that was begun and not finished, else a new one of this moment."""

    async def advance(self, run: Run, position: str) -> None:
        """Note how far the run is."""

    async def finish(self, run: Run, state: RunState, time: datetime) -> None:
        """End the run; one that ended before keeps the time of its end."""

    async def take_steps(
        self, run: Run, ids: Sequence[str], decide: Callable[[Mapping[str, Entry]], Sequence[Step]]
    ) -> list[Step]:
        """Change the record and write the journal in one transaction; the steps, numbered.

        ``decide`` is pure, gets the current entries of ``ids`` and may be called again; where two
        steps touch an entry, the later one begins where the earlier one ended. Steps go on
        numbering those of their run. The indexes hear of all entries but the decayed.
        """

    async def runs(self, tenant: str, limit: int, before: Run | None = None) -> list[Run]:
        """Runs by falling time of beginning, then id, at most ``limit``, behind ``before``."""

    async def run(self, tenant: str, run_id: str) -> Run | None:
        """One run of the tenant."""

    async def steps(self, run: Run, below: int | None, limit: int) -> list[Step]:
        """Steps of a run by falling number, from below a number, at most ``limit``."""

    async def undo(
        self,
        run: Run,
        number: int,
        restore: Callable[[Step, Mapping[str, Entry]], Sequence[Entry] | None],
        time: datetime,
        *,
        decline: bool,
    ) -> UndoOutcome:
        """Put back what a step changed and mark it, in one transaction.

        ``restore`` is pure and tells the entries to put back, or None when they have changed
        since. A step that is undone already, or that there is not, stays as it is. The images of
        an undone step are forgotten. With ``decline`` the step is kept in mind, see `declined`.
        """

    async def declined(self, tenant: str) -> frozenset[tuple[Action, str, str]]:
        """What is not to be proposed again: action, entry and other entry of declined steps."""

    async def purge(self, tenant: str, before: datetime) -> None:
        """Forget runs that ended before a moment, and their steps; declined ones stay in mind."""
