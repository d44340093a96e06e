"""What is particular to the record in PostgreSQL: restarts, kills, replicas, plans."""

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest
from support.engines.notes import EngineMissing
from support.engines.postgres_databases import new_database
from support.engines.postgres_process import PostgresServer, account, ready, running_server
from support.retrieval.record import MODEL, entry, unit
from support.retrieval.record_statements import statements_of

from hilvan_retrieval.adapters.record import (
    Database,
    SqlEntryStore,
    SqlOutbox,
    SqlPolicyStore,
    migrate,
    open_record,
)
from hilvan_retrieval.errors import EngineMisconfigured, SourceUnavailable
from hilvan_retrieval.model.entry import Answer, Change, Entry, Stored, entry_uid

PATIENCE_S = 30.0
UID = entry_uid("acme", "m1")

BREAKING = """
CREATE SEQUENCE tries;
CREATE FUNCTION break_off() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF nextval('tries') <= {times} THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER breaking AFTER INSERT ON entries
  DEFERRABLE INITIALLY {when} FOR EACH ROW EXECUTE FUNCTION break_off();
"""
"""Ends the connection of a transaction that adds an entry: at once, or in its COMMIT."""

MANY = """
INSERT INTO entries (uid, tenant, id, layer, owner, category, title, text, access_count,
  reinforcement_count, create_us, update_us, superseded_by, details, version)
SELECT md5('e' || n), 'acme', 'e' || n, 'MEMORY', 'user/u' || n % 7, 'stack', '', 'text', 0, 0,
  n, n, CASE WHEN n % 10 = 0 THEN 'e' || n + 1 ELSE '' END, '[]', 1
FROM generate_series(1, 20000) AS n;
INSERT INTO vectors SELECT uid, '{model}', 'h', 'v' FROM entries;
INSERT INTO outbox (feed, uid, tenant, entry_id, create_us, attempts, due_us, parked, error)
SELECT feed, uid, tenant, id, 0, 0, 0, false, '' FROM entries, (VALUES ('a.1'), ('b.1')) AS f (feed)
WHERE create_us > 15000;
INSERT INTO requests
SELECT 'acme', md5('r' || n), 'd', '{{}}', 9000000000000000 + n FROM generate_series(1, 5000) AS n;
ANALYZE;
"""


@pytest.fixture
async def address(postgres_url: str) -> AsyncIterator[str]:
    """Gives the address of a database of the test's own."""
    async with new_database(postgres_url) as made:
        yield made


@pytest.fixture
async def database(address: str) -> AsyncIterator[Database]:
    """Opens a new record."""
    opened = opened_at(address)
    await migrate(opened)
    yield opened
    await opened.close()


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """Starts a server that the test may end."""
    try:
        with running_server() as server:
            yield server
    except EngineMissing as error:
        pytest.skip(str(error))


def opened_at(address: str, connections: int = 4) -> Database:
    """Open the record of an address."""
    return open_record(address, Path("unused"), connections)


async def run(address: str, statements: str) -> None:
    """Run statements beside the record."""
    connection = await asyncpg.connect(address)
    try:
        await connection.execute(statements)
    finally:
        await connection.close()


def end(server: PostgresServer) -> None:
    """End a server as a crash does: without a word, and nothing is written."""
    server.process.send_signal(signal.SIGQUIT)
    server.process.wait(PATIENCE_S)


@contextmanager
def started_again(server: PostgresServer) -> Iterator[None]:
    """Start the server that was ended, on its data and its port."""
    words = [str(each) for each in server.process.args]  # type: ignore[union-attr] # a list
    folder = Path(words[words.index("-D") + 1]).parent
    with subprocess.Popen(words, cwd=folder, stderr=subprocess.DEVNULL, **account()) as process:
        try:
            assert ready(folder, process)
            yield
        finally:
            process.send_signal(signal.SIGQUIT)
            process.wait(PATIENCE_S)


def put(*entries: Entry) -> Change:
    """A change that puts entries."""
    return Change(Answer("put"), puts=entries)


async def test_a_restarted_server_is_found_again(own_server: PostgresServer) -> None:
    """Every kept connection is dead after a restart, and no read or write meets one of them."""
    database = opened_at(own_server.url)
    await migrate(database)
    store = SqlEntryStore(database)
    await asyncio.gather(*(store.change("acme", [], lambda _: put(entry())) for _ in range(4)))
    await asyncio.gather(*(store.entries("acme", ["m1"]) for _ in range(8)))
    end(own_server)
    with pytest.raises(SourceUnavailable, match="read"):
        await store.entries("acme", ["m1"])
    with started_again(own_server):
        found = await asyncio.gather(*(store.entries("acme", ["m1"]) for _ in range(8)))
        assert all(each["m1"].version == 4 for each in found)
        await store.change("acme", ["m1"], lambda _: put(entry()))
        await database.close()


async def test_a_server_that_ends_in_the_middle_of_a_write_leaves_the_record_whole(
    own_server: PostgresServer,
) -> None:
    """The caller hears SourceUnavailable; what was there before is there after."""
    database = opened_at(own_server.url)
    await migrate(database)
    store = SqlEntryStore(database)
    await store.change("acme", [], lambda _: put(entry("m1", "before")))

    def decide(_: Mapping[str, Entry]) -> Change:
        end(own_server)
        return put(entry("m1", "after"), entry("m2"))

    with pytest.raises(SourceUnavailable, match="written"):
        await store.change("acme", ["m1"], decide)
    with started_again(own_server):
        found = await store.entries("acme", ["m1", "m2"])
        assert {each.id: each.text for each in found.values()} == {"m1": "before"}
        await database.close()


async def test_a_transaction_that_was_undone_is_done_again(
    database: Database, address: str
) -> None:
    """A connection that is lost before COMMIT costs the caller nothing but time."""
    await run(address, BREAKING.format(times=2, when="IMMEDIATE"))
    calls: list[int] = []

    def decide(current: Mapping[str, Entry]) -> Change:
        calls.append(len(current))
        return put(entry())

    store = SqlEntryStore(database)
    assert (await store.change("acme", ["m1"], decide)).outcome == "put"
    assert calls == [0, 0, 0]
    assert (await store.entries("acme", ["m1"]))["m1"].version == 1


async def test_a_transaction_that_never_gets_through_is_given_up(
    database: Database, address: str
) -> None:
    """After four attempts the caller hears that the record can't be written."""
    await run(address, BREAKING.format(times=99, when="IMMEDIATE"))
    calls: list[int] = []

    def decide(current: Mapping[str, Entry]) -> Change:
        calls.append(len(current))
        return put(entry())

    with pytest.raises(SourceUnavailable, match="written"):
        await SqlEntryStore(database).change("acme", ["m1"], decide)
    assert len(calls) == 4


async def test_a_lost_commit_is_not_done_again(database: Database, address: str) -> None:
    """Nobody knows what became of it, so the caller hears so, and repeats its request id."""
    await run(address, BREAKING.format(times=1, when="DEFERRED"))
    calls: list[int] = []

    def decide(current: Mapping[str, Entry]) -> Change:
        calls.append(len(current))
        return put(entry())

    store = SqlEntryStore(database)
    with pytest.raises(SourceUnavailable, match="written"):
        await store.change("acme", ["m1"], decide)
    assert calls == [0]
    await store.change("acme", ["m1"], decide)


async def test_replicas_that_change_one_entry_at_once_lose_nothing(
    database: Database, address: str
) -> None:
    """Thirty increments by each of three replicas add up to ninety, whatever each has read."""
    replicas = [database, opened_at(address), opened_at(address)]
    stores = [SqlEntryStore(each) for each in replicas]
    await stores[0].change("acme", [], lambda _: put(entry()))

    def increment(current: Mapping[str, Entry]) -> Change:
        old = current["m1"]
        return put(replace(old, access_count=old.access_count + 1))

    await asyncio.gather(
        *(store.change("acme", ["m1"], increment) for store in stores for _ in range(30))
    )
    found = (await stores[1].entries("acme", ["m1"]))["m1"]
    for each in replicas[1:]:
        await each.close()
    assert (found.access_count, found.version) == (90, 91)


async def test_a_vector_never_outlives_its_text(database: Database, address: str) -> None:
    """A worker that keeps a vector waits for the write of the entry, and sees the new text."""
    other = opened_at(address)
    store, outbox = SqlEntryStore(database), SqlOutbox(other)
    old = entry("m1", "old")
    await store.change("acme", [], lambda _: put(old))
    made = {UID: Stored(old, unit(1, 0))}
    for number in range(10):
        new = entry("m1", f"new {number}")
        await asyncio.gather(
            store.change("acme", ["m1"], lambda _, new=new: put(new)),  # type: ignore[misc] # a default
            outbox.save_vectors(MODEL, made),
        )
        assert (await store.hydrate("acme", [UID], model=MODEL))[UID].vector is None
    await other.close()


async def test_replicas_may_say_the_same_policy_at_once(database: Database, address: str) -> None:
    """Of two that put a user's mutes at once, both succeed."""
    other = opened_at(address)
    stores = [SqlPolicyStore(each) for each in (database, other)]
    await asyncio.gather(
        *(store.put_user_mutes("acme", "ana", ()) for store in stores for _ in range(10))
    )
    await other.close()


async def test_a_crowd_on_one_tenant_takes_one_connection(database: Database) -> None:
    """While many writes of a tenant wait for each other, another tenant's goes through."""
    store = SqlEntryStore(database)
    waiting, release = asyncio.Event(), asyncio.Event()

    async def long_work(_: object) -> None:
        waiting.set()
        await release.wait()

    first = asyncio.create_task(database.write(long_work, locks=("acme",)))
    await waiting.wait()
    crowd = [
        asyncio.create_task(store.change("acme", [], lambda _: put(entry()))) for _ in range(20)
    ]
    async with asyncio.timeout(PATIENCE_S):
        await store.change("rival", [], lambda _: put(entry()))
    assert not any(each.done() for each in crowd)
    release.set()
    await asyncio.gather(first, *crowd)


async def test_a_name_is_held_by_one_process(database: Database, address: str) -> None:
    """Another one is told no, until it is let go or its holder is gone."""
    other = opened_at(address)
    async with database.exclusive("job") as mine, other.exclusive("job") as theirs:
        assert (mine, theirs) == (True, False)
    async with other.exclusive("job") as theirs, other.exclusive("job") as twice:
        assert (theirs, twice) == (True, False)
    await other.close()


async def test_a_hold_that_was_lost_is_said_so(database: Database, address: str) -> None:
    """On leaving, when the server has ended the holder's connection meanwhile."""
    with pytest.raises(SourceUnavailable, match="did not keep"):
        async with database.exclusive("job"):
            await run(
                address,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()",
            )


async def test_no_statement_walks_through_a_tenant(database: Database, address: str) -> None:
    """Among 20,000 entries each read and write goes to its rows by an index of what it names."""
    await run(address, MANY.format(model=MODEL))
    seen = await statements_of(database)
    assert len(seen) > 20
    connection = await asyncpg.connect(address)
    try:
        for text, parameters in seen:
            if "FROM generations" in text or "pg_advisory" in text:
                continue  # a handful of rows, or none
            rows = await connection.fetch(f"EXPLAIN {text}", *parameters)
            plan = "\n".join(row[0] for row in rows)
            for table in ("entries", "vectors", "outbox", "requests"):
                assert f"Seq Scan on {table}" not in plan, (text, plan)
            assert "Cond: ((tenant)::text = " not in plan, (text, plan)
    finally:
        await connection.close()


@pytest.mark.parametrize(
    "address_given",
    [
        "mysql://u:s3cret@h/d",
        "postgresql://u:s3cret@h",
        "postgresql://u:s3cret@h:port/d",
        "s3cret",
        "postgresql+asyncpg://u:s3cret@h/d",
    ],
)
def test_an_address_that_is_none_is_refused_without_repeating_it(address_given: str) -> None:
    """The message says what one looks like, and has no word of what was given."""
    with pytest.raises(EngineMisconfigured, match="percent-encoded") as caught:
        open_record(address_given, Path("unused"))
    assert "s3cret" not in f"{caught.value!r} {caught.value.__context__!r}"


@pytest.mark.parametrize("change", ["password", "port", "sslmode"])
async def test_a_server_that_refuses_is_unavailable_and_its_password_stays_secret(
    postgres_url: str, capfd: pytest.CaptureFixture[str], change: str
) -> None:
    """Neither the error, nor its causes, nor the log say more than the kind of refusal."""
    wrong = {
        "password": postgres_url.replace("@", "s3cret@"),
        "port": "postgresql://u:s3cret@127.0.0.1:1/d",
        "sslmode": f"{postgres_url.replace('@', 's3cret@')}?sslmode=s3cret",
    }[change]
    database = opened_at(wrong)
    with pytest.raises(SourceUnavailable, match="the record can't be read") as caught:
        await SqlEntryStore(database).ping()
    await database.close()
    error: BaseException | None = caught.value
    while error is not None:
        assert "s3cret" not in repr(error)
        assert "127.0.0.1" not in repr(error)
        error = error.__cause__ or error.__context__
    out = "".join(capfd.readouterr())
    assert "database_refuses" in out
    assert "s3cret" not in out
    assert "127.0.0.1" not in out


async def test_names_sort_by_code_point(postgres_url: str) -> None:
    """As in SQLite, whatever the locale that the database was made with."""
    async with new_database(postgres_url) as address:
        database = opened_at(address)
        await migrate(database)
        connection = await asyncpg.connect(address)
        found = await connection.fetch(
            "SELECT DISTINCT collation_name FROM information_schema.columns"
            " WHERE table_name IN ('entries', 'outbox', 'vectors') AND data_type LIKE 'char%'"
        )
        await connection.close()
        await database.close()
    assert [row[0] for row in found] == ["C"]
