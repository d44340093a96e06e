"""Every sentence of `MetadataStore`, asked of each database and of the store that keeps none."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.engines.notes import POSTGRESQL, SQLITE, note_engine
from support.engines.postgres_databases import new_database
from support.engines.run import RUN

from hilvan_curation.adapters.metadata import NoMetadata, SqlMetadata
from hilvan_curation.adapters.metadata.database import open_sqlite
from hilvan_curation.errors import MetadataRequired, MetadataUnavailable, SessionNotFound
from hilvan_curation.model.session import NoteMark, Session
from hilvan_curation.model.space import Members
from hilvan_curation.ports.metadata import MetadataStore

Open = Callable[[], Awaitable[SqlMetadata]]

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
MARKS = {"n1": NoteMark("Año «1»", "aa"), "n2": NoteMark("", "bb")}
FIXED = {"acme": (Path("/vaults/acme"),)}


KINDS = ("sqlite", "postgresql")


async def fill(address: str) -> None:
    """Migrate a database, for others to be copies of."""
    await (await SqlMetadata.open_postgres(address)).close()


@asynccontextmanager
async def place(kind: str, folder: Path) -> AsyncIterator[Open]:
    """Give a way to open one new database of a kind, any number of times."""
    if kind == "sqlite":
        note_engine(SQLITE, "in the process of the tests")
        yield lambda: SqlMetadata.open_sqlite(folder / "metadata.sqlite")
        return
    server = RUN.engine(POSTGRESQL).address
    async with new_database(server, "hilvan_metadata", fill) as address:
        yield lambda: SqlMetadata.open_postgres(address)


@pytest.fixture(params=[*KINDS, "none"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MetadataStore]:
    """Each adapter."""
    if request.param == "none":
        yield NoMetadata(FIXED)
        return
    async with place(request.param, tmp_path) as opened:
        made = await opened()
        yield made
        await made.close()


@pytest.fixture(params=KINDS)
async def again(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens the same database once more, as a replica or the next start would."""
    async with place(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
async def kept(again: Open) -> AsyncIterator[SqlMetadata]:
    """Each adapter that keeps something."""
    made = await again()
    yield made
    await made.close()


def session(
    session_id: str,
    minutes: int = 0,
    *,
    tenant: str = "acme",
    user: str = "ana",
    scope: str = "p",
) -> Session:
    """A session that began some minutes after noon."""
    return Session(session_id, tenant, user, scope, NOON + timedelta(minutes=minutes))


def ruin(file: Path) -> None:
    """Make a database file something else."""
    for each in file.parent.iterdir():
        each.unlink()
    file.write_bytes(b"no database" * 1_000)


# --- both ----------------------------------------------------------------------------------------


async def test_a_store_says_whether_it_keeps_anything(store: MetadataStore) -> None:
    """A database does, `none` does not."""
    assert store.keeps is isinstance(store, SqlMetadata)


async def test_it_answers_a_ping_and_may_be_closed_twice(store: MetadataStore) -> None:
    """An open store answers, and closing it again does nothing."""
    await store.ping()
    await store.close()
    await store.close()


async def test_there_is_nothing_before_somebody_set_it(store: MetadataStore) -> None:
    """No members, and no session that was acknowledged."""
    assert await store.members("acme") == {}
    assert await store.last_acknowledged("acme", "ana", "p") is None


async def test_an_open_session_is_not_an_acknowledged_one(store: MetadataStore) -> None:
    """Keeping it, or doing nothing, changes no answer."""
    await store.open_session(session("s1"), MARKS)
    assert await store.last_acknowledged("acme", "ana", "p") is None


# --- none ----------------------------------------------------------------------------------------


async def test_without_a_database_the_vaults_are_those_of_the_settings() -> None:
    """They are given from the start, and a caller can't change them."""
    store = NoMetadata(FIXED)
    (await store.vaults()).clear()
    assert await store.vaults() == FIXED


async def test_without_a_database_what_needs_one_says_so() -> None:
    """MetadataRequired names the method."""
    store = NoMetadata({})
    for call, method in (
        (store.add_vault("acme", Path("/v")), "AddVault"),
        (store.set_members("acme", "s", Members()), "SetSpaceMembers"),
        (store.acknowledge("acme", "ana", "s"), "AcknowledgeSession"),
    ):
        with pytest.raises(MetadataRequired, match=method):
            await call


# --- databases: vaults and members ---------------------------------------------------------------


async def test_vaults_are_told_by_tenant_and_path(kept: SqlMetadata) -> None:
    """Every tenant that has one, its vaults by path; once more changes nothing."""
    for path in ("/b", "/a", "/b"):
        await kept.add_vault("acme", Path(path))
    await kept.add_vault("globex", Path("/b"))
    assert await kept.vaults() == {
        "acme": (Path("/a"), Path("/b")),
        "globex": (Path("/b"),),
    }


async def test_members_are_told_by_tenant_and_space(kept: SqlMetadata) -> None:
    """Setting them replaces those of that space of that tenant, and no others."""
    old = Members(frozenset({"x"}), frozenset({"y"}))
    new = Members(frozenset({"bob", "eve"}), frozenset())
    await kept.set_members("acme", "team", old)
    await kept.set_members("acme", "other", old)
    await kept.set_members("globex", "team", old)
    await kept.set_members("acme", "team", new)
    assert await kept.members("acme") == {"team": new, "other": old}
    assert await kept.members("globex") == {"team": old}


# --- databases: sessions -------------------------------------------------------------------------


async def test_an_acknowledged_session_tells_when_it_began_and_what_it_saw(
    kept: SqlMetadata,
) -> None:
    """To the microsecond, every mark as it was."""
    await kept.open_session(session("s1"), MARKS)
    await kept.acknowledge("acme", "ana", "s1")
    assert await kept.last_acknowledged("acme", "ana", "p") == (NOON, MARKS)


async def test_sessions_are_their_tenants_users_and_scopes(kept: SqlMetadata) -> None:
    """What one acknowledged says nothing of another's, nor of another scope."""
    await kept.open_session(session("s1"), MARKS)
    await kept.acknowledge("acme", "ana", "s1")
    assert await kept.last_acknowledged("globex", "ana", "p") is None
    assert await kept.last_acknowledged("acme", "bob", "p") is None
    assert await kept.last_acknowledged("acme", "ana", "") is None


async def test_only_ones_own_session_can_be_acknowledged(kept: SqlMetadata) -> None:
    """Another user's or tenant's is as unknown as a made-up one."""
    await kept.open_session(session("s1"), MARKS)
    for tenant, user, session_id in (
        ("globex", "ana", "s1"),
        ("acme", "bob", "s1"),
        ("acme", "ana", "made-up"),
    ):
        with pytest.raises(SessionNotFound):
            await kept.acknowledge(tenant, user, session_id)
    assert await kept.last_acknowledged("acme", "ana", "p") is None


async def test_acknowledging_again_changes_nothing(kept: SqlMetadata) -> None:
    """A client whose answer was lost may repeat it."""
    await kept.open_session(session("s1"), MARKS)
    await kept.acknowledge("acme", "ana", "s1")
    await kept.acknowledge("acme", "ana", "s1")
    assert await kept.last_acknowledged("acme", "ana", "p") == (NOON, MARKS)


async def test_the_last_is_the_one_that_began_last(kept: SqlMetadata) -> None:
    """Of two agents at once, the earlier may acknowledge later and nothing goes back."""
    await kept.open_session(session("s1"), {})
    await kept.open_session(session("s2", 5), MARKS)
    await kept.open_session(session("s3", 9), {})
    await kept.acknowledge("acme", "ana", "s2")
    await kept.acknowledge("acme", "ana", "s1")
    assert await kept.last_acknowledged("acme", "ana", "p") == (
        NOON + timedelta(minutes=5),
        MARKS,
    )
    await kept.acknowledge("acme", "ana", "s3")
    assert await kept.last_acknowledged("acme", "ana", "p") == (NOON + timedelta(minutes=9), {})


async def test_sessions_that_nobody_acknowledges_are_bounded(kept: SqlMetadata) -> None:
    """The last 20 of a scope wait; other scopes' and acknowledged ones are left alone."""
    await kept.open_session(session("seen", -2), MARKS)
    await kept.acknowledge("acme", "ana", "seen")
    await kept.open_session(session("elsewhere", -1, scope=""), MARKS)
    for number in range(25):
        await kept.open_session(session(f"s{number}", number), {})
    with pytest.raises(SessionNotFound):
        await kept.acknowledge("acme", "ana", "s0")
    assert await kept.last_acknowledged("acme", "ana", "p") == (
        NOON - timedelta(minutes=2),
        MARKS,
    )
    for waiting in ("s5", "s24", "elsewhere"):
        await kept.acknowledge("acme", "ana", waiting)


# --- databases: what is kept ---------------------------------------------------------------------


async def test_everything_survives_a_restart(kept: SqlMetadata, again: Open) -> None:
    """What was set is in the database when the call returns."""
    members = Members(frozenset({"bob"}), frozenset({"ana"}))
    await kept.add_vault("acme", Path("/v"))
    await kept.set_members("acme", "team", members)
    await kept.open_session(session("s1"), MARKS)
    await kept.acknowledge("acme", "ana", "s1")
    other = await again()
    assert await other.vaults() == {"acme": (Path("/v"),)}
    assert await other.members("acme") == {"team": members}
    assert await other.last_acknowledged("acme", "ana", "p") == (NOON, MARKS)
    await other.close()


async def test_replicas_that_set_one_thing_at_once_wait_for_each_other(
    kept: SqlMetadata, again: Open
) -> None:
    """Two processes replace the same members again and again; none fails, and one set is left."""
    other = await again()
    one, two = Members(frozenset({"ana"})), Members(frozenset({"bob"}))
    await asyncio.gather(
        *(kept.set_members("acme", "team", one) for _ in range(10)),
        *(other.set_members("acme", "team", two) for _ in range(10)),
    )
    assert (await kept.members("acme"))["team"] in (one, two)
    await other.close()


async def test_calls_at_once_all_take_effect(kept: SqlMetadata) -> None:
    """Callers wait for each other instead of failing."""
    await asyncio.gather(
        *(kept.add_vault("acme", Path(f"/v{number}")) for number in range(8)),
        *(kept.open_session(session(f"s{number}"), MARKS) for number in range(8)),
    )
    assert len((await kept.vaults())["acme"]) == 8


async def test_a_file_that_can_not_be_opened_is_said_so(tmp_path: Path) -> None:
    """A file that is no database is MetadataUnavailable, with no word of the engine."""
    ruin(tmp_path / "metadata.sqlite")
    with pytest.raises(MetadataUnavailable) as caught:
        await SqlMetadata.open_sqlite(tmp_path / "metadata.sqlite")
    assert "sqlite" not in str(caught.value).lower()


async def test_every_method_says_when_the_database_does_not_answer(tmp_path: Path) -> None:
    """A file that is no database is MetadataUnavailable, whatever is asked."""
    ruin(tmp_path / "metadata.sqlite")
    store = SqlMetadata(open_sqlite(tmp_path / "metadata.sqlite"))
    for call in (
        store.vaults(),
        store.add_vault("acme", Path("/v")),
        store.members("acme"),
        store.set_members("acme", "team", Members()),
        store.open_session(session("s1"), MARKS),
        store.last_acknowledged("acme", "ana", "p"),
        store.acknowledge("acme", "ana", "s1"),
        store.ping(),
    ):
        with pytest.raises(MetadataUnavailable):
            await call
    await store.close()
