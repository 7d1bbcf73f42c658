"""Whoever changes the schema gets all of its tables or none, and fails nobody who is at work in another order.

Each would wait for the other for ever; PostgreSQL would fail one of them after a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio
from tests.integration.engine.older import OLDER, make_older

from sendonce_store import console_login
from sendonce_store.connection import Connection, connect
from sendonce_store.locking import SchemaBusyError, lock_tables
from sendonce_store.migrate import migrate, newest, schema_version

AT_WORK = b"SELECT count(*) FROM sendonce.campaigns"
# one table that is locked before that, and one that is after it
MEANWHILE = b"SELECT count(*) FROM sendonce.deliveries, sendonce.providers"
MEETS = b"""
SELECT EXISTS (SELECT FROM pg_locks w JOIN pg_locks h ON h.pid = w.pid AND h.granted AND NOT w.granted
                WHERE w.relation = 'sendonce.campaigns'::regclass AND h.mode = 'AccessExclusiveLock') AS so
"""


@pytest_asyncio.fixture
async def old_dsn(empty_dsn: str) -> str:
    """Return the DSN of a store of an older version."""
    conn = await connect(empty_dsn)
    await make_older(conn)
    await conn.close()
    return empty_dsn


@pytest_asyncio.fixture
async def watch(empty_dsn: str) -> AsyncIterator[Connection]:
    """Yield a connection to look on with."""
    conn = await connect(empty_dsn)
    yield conn
    await conn.close()


async def make_console(dsn: str) -> str:
    conn = await connect(dsn)
    login = await console_login.make(conn)
    await conn.close()
    return login.role


async def until_it_meets(watch: Connection) -> None:
    while (await (await watch.execute(MEETS)).fetchone()) != {"so": True}:  # noqa: ASYNC110 - other sessions come to it
        await asyncio.sleep(0.01)


async def work_meanwhile(dsn: str, watch: Connection, change: Callable[[str], Awaitable[object]]) -> object:
    """Change the schema while a transaction has one table, and comes to need others."""
    worker = await connect(dsn)
    async with worker.transaction():
        await worker.execute(AT_WORK)
        changing = asyncio.ensure_future(change(dsn))
        await until_it_meets(watch)
        await worker.execute(MEANWHILE)
    await worker.close()
    return await changing


async def test_a_migration_lets_through_who_is_at_work_and_goes_on(old_dsn: str, watch: Connection) -> None:
    assert await work_meanwhile(old_dsn, watch, migrate) == newest() - OLDER


async def test_the_consoles_login_lets_through_who_is_at_work(empty_dsn: str, watch: Connection) -> None:
    await migrate(empty_dsn)
    role = await work_meanwhile(empty_dsn, watch, make_console)
    question = "SELECT count(*) AS policies FROM pg_policies WHERE roles = ARRAY[%s::name]"
    row = await (await watch.execute(question, [role])).fetchone()
    assert row is not None
    assert row["policies"] > 0


async def test_a_new_password_of_the_console_waits_for_nobody(empty_dsn: str, watch: Connection) -> None:
    await migrate(empty_dsn)
    role = await make_console(empty_dsn)
    async with watch.transaction():
        await watch.execute(AT_WORK)
        assert await make_console(empty_dsn) == role


async def test_a_table_that_is_held_for_good_is_told_and_nothing_is_locked(old_dsn: str, watch: Connection) -> None:
    async with watch.transaction():
        await watch.execute(AT_WORK)
        waiting = await connect(old_dsn)
        async with waiting.transaction():
            with pytest.raises(SchemaBusyError, match="end it"):
                await lock_tables(waiting, patience=0)
            await watch.execute(MEANWHILE)
        await waiting.close()
    assert await schema_version(watch) == OLDER
