"""New databases on the session's PostgreSQL server, each for one test."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import asyncpg
from sqlalchemy import make_url

_made: set[str] = set()


@asynccontextmanager
async def new_database(
    server: str, template: str = "", fill: Callable[[str], Awaitable[None]] | None = None
) -> AsyncIterator[str]:
    """Give the address of a new database, and remove it in the end.

    With a ``template`` it is a copy of one that ``fill`` made, once for all tests: copying is
    quicker than migrating.
    """
    name = f"test_{secrets.token_hex(8)}"
    if template and f"{server} {template}" not in _made:
        assert fill is not None
        await on_server(server, f'DROP DATABASE IF EXISTS "{template}" WITH (FORCE)')
        await on_server(server, f'CREATE DATABASE "{template}"')
        await fill(address_of(server, template))
        _made.add(f"{server} {template}")
    await on_server(server, f'CREATE DATABASE "{name}" TEMPLATE "{template or "template0"}"')
    try:
        yield address_of(server, name)
    finally:
        await on_server(server, f'DROP DATABASE "{name}" WITH (FORCE)')


def address_of(server: str, database: str) -> str:
    """The address of another database of the server."""
    return make_url(server).set(database=database).render_as_string(hide_password=False)


async def on_server(server: str, statement: str) -> None:
    """Run a statement outside of every test's database."""
    async with asyncio.timeout(30):
        connection = await asyncpg.connect(server)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()
