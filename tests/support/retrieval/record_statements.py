"""Every statement of the record that a call waits for, as its database is asked."""

import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from sqlalchemy import event
from support.retrieval.record import ANA, MODEL, T0, entry, unit

from hilvan_retrieval.adapters.record import Database, SqlEntryStore, SqlGenerationStore, SqlOutbox
from hilvan_retrieval.adapters.record.stored import by_uid
from hilvan_retrieval.model.entry import Answer, Change, EntryQuery, Layer, RequestKey
from hilvan_retrieval.model.generation import GenerationState
from hilvan_retrieval.model.index import Source

Statement = tuple[str, Sequence[Any]]
"""A text and its positional parameters."""

IDS = [f"m{number}" for number in range(40)]


async def statements_of(database: Database) -> list[Statement]:
    """Do everything once, and tell what the database was asked; the short reads are left out."""
    seen: list[Statement] = []
    generations = SqlGenerationStore(database)
    feed = (await generations.begin(Source.VECTOR, "memory", MODEL, GenerationState.LIVE)).feed
    with ExitStack() as listening:
        for engine in (database._reading, database._writing):

            def note(*call: Any) -> None:
                _, _, text, parameters, *_ = call
                seen.append((text, _one_row(parameters)))

            event.listen(engine.sync_engine, "before_cursor_execute", note)
            listening.callback(event.remove, engine.sync_engine, "before_cursor_execute", note)
        await _do_everything(database, feed)
    return [each for each in seen if each[0].split()[0] in {"SELECT", "UPDATE", "DELETE"}]


async def _do_everything(database: Database, feed: str) -> None:
    store, outbox = SqlEntryStore(database), SqlOutbox(database)
    linked = tuple(entry(each, superseded_by=f"{each}x") for each in IDS)
    vectors = {"m1": unit(1, 0)}
    change = Change(Answer("x"), puts=linked, deletes=("gone",), vectors=vectors, model=MODEL)
    await store.change("acme", IDS, lambda _: change, RequestKey(str(uuid.UUID(int=1)), "d"))
    await store.count_accesses("acme", IDS, None, T0, None)
    await store.recent_vectors("acme", ANA, Layer.MEMORY, feed, MODEL)
    everything = frozenset({ANA.key}), frozenset({Layer.MEMORY}), frozenset({"stack"})
    await store.page(EntryQuery("acme", *everything, None, 10, (10, "m1")))
    await store.page(EntryQuery("acme", *everything, T0, 10))
    rows = await outbox.due(feed, 10)
    uids = [row.uid for row in rows]
    await outbox.unsettled(uids, [feed])
    made = await outbox.load(rows, MODEL)
    with_vectors = {uid: replace(each, vector=unit(1, 0)) for uid, each in made.items()}
    await outbox.save_vectors(MODEL, with_vectors)
    await outbox.announce(feed, uids)
    await outbox.postpone(feed, rows[0], "broken", 1)
    await outbox.settle(feed, rows)
    async with database.read() as connection:
        for model in (None, MODEL):
            await connection.execute(by_uid(model), {"keys": uids})


def _one_row(parameters: Sequence[Any]) -> Sequence[Any]:
    """The first row of a statement that is executed for many."""
    return parameters[0] if parameters and isinstance(parameters[0], tuple) else parameters
