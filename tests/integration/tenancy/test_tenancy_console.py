"""The console's login reads the namespaces that it sets for a transaction, and can do nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, LiteralString

import psycopg
import pytest
import pytest_asyncio
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.integration.conftest import create_database, drop_database

from sendonce_store import console_login, console_scope, program_dsn
from sendonce_store.connection import Connection, connect
from sendonce_store.migrate import migrate, require_current

if TYPE_CHECKING:
    from tests.integration.tenancy.conftest import Estate

_READ = (
    "campaigns", "channels", "recipients", "batches", "deliveries", "attempts", "import_rejects", "workers",
    "suppressions", "opt_outs", "actions", "providers", "pace_limits",
)  # fmt: skip
_TRIES: tuple[LiteralString, ...] = (
    "UPDATE sendonce.campaigns SET suspended = true",
    "UPDATE sendonce.deliveries SET state = 'sent'",
    "DELETE FROM sendonce.attempts",
    "INSERT INTO sendonce.suppressions VALUES ('shop', 'Email', 'x', 'blocked')",
    "SELECT * FROM sendonce.import_spool",
    "SELECT * FROM sendonce.tenants",
    "SELECT * FROM sendonce.consoles",
    "SELECT sendonce.lease_slots(1, 1::smallint, 1, 1)",
    "SELECT sendonce.pause_provider(1, 1, 1, 1, 'x', 'x')",
    "SELECT sendonce.make_login('bank', 'x')",
    "SELECT sendonce.make_console_login('x')",
    "SELECT nextval('sendonce.batches_id_seq')",
    "SET row_security = off; SELECT * FROM sendonce.campaigns",
)


@pytest_asyncio.fixture
async def console(estate: Estate) -> AsyncIterator[Connection]:
    login = await console_login.make(estate.owner)
    conn = await connect(make_conninfo(estate.dsn, user=login.role, password=login.password))
    yield conn
    await conn.close()


async def seen(conn: Connection, table: str, *namespaces: str) -> set[str]:
    """The namespaces of the rows that a transaction reads."""
    await console_scope.begin(conn, namespaces, 5_000)
    query = sql.SQL("SELECT DISTINCT namespace FROM {}").format(sql.Identifier("sendonce", table))
    cursor = await conn.execute(query)
    found = {row["namespace"] for row in await cursor.fetchall()}
    await conn.execute("ROLLBACK")
    return found


async def test_it_sees_what_it_set_and_nothing_when_it_set_nothing(console: Connection) -> None:
    for table in _READ:
        shared = {""} if table in {"providers", "pace_limits"} else set()
        assert await seen(console, table) == set(), table
        assert await seen(console, table, "shop") == {"shop"} | shared, table
        assert await seen(console, table, "shop", "bank") == {"shop", "bank"} | shared, table
        cursor = await console.execute(sql.SQL("SELECT FROM {}").format(sql.Identifier("sendonce", table)))
        assert cursor.rowcount == 0, "what was set is over with the transaction"


async def test_a_cluster_provider_is_seen_where_a_campaign_uses_it(console: Connection, estate: Estate) -> None:
    await console_scope.begin(console, ["shop"], 5_000)
    cursor = await console.execute("SELECT id FROM sendonce.providers WHERE namespace = ''")
    assert [row["id"] for row in await cursor.fetchall()] == [estate.shared]
    await console.execute("ROLLBACK")


async def test_what_is_not_looking_is_refused(console: Connection) -> None:
    for statement in _TRIES:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await console.execute(statement)


async def test_names_of_namespaces_are_all_that_it_knows_unasked(console: Connection, estate: Estate) -> None:
    assert await console_scope.namespaces(console) == ["bank", "shop"]
    assert await console_scope.namespaces(estate.owner) == ["bank", "shop"]
    await require_current(console)


async def test_a_tenant_is_not_let_in_by_the_consoles_setting(estate: Estate, console: Connection) -> None:
    del console
    await estate.shop.execute("SET sendonce.viewed = 'bank'")
    cursor = await estate.shop.execute("SELECT DISTINCT namespace FROM sendonce.campaigns")
    assert await cursor.fetchall() == [{"namespace": "shop"}]


async def test_asked_again_it_has_another_password_and_migrate_gives_the_rights_anew(estate: Estate) -> None:
    first = await console_login.make(estate.owner)
    kept = "SELECT rolpassword FROM pg_authid WHERE rolname = %(role)s"
    before = await estate.all(kept, role=first.role)
    second = await console_login.make(estate.owner)
    assert first.role == second.role
    after = await estate.all(kept, role=first.role)
    assert before != after
    assert after[0]["rolpassword"].startswith("SCRAM-SHA-256$")
    await estate.owner.execute(sql.SQL("REVOKE ALL ON sendonce.campaigns FROM {}").format(sql.Identifier(first.role)))
    assert await migrate(estate.dsn) == 0
    conn = await connect(make_conninfo(estate.dsn, user=second.role, password=second.password))
    assert await seen(conn, "campaigns", "shop") == {"shop"}
    await conn.close()


async def test_a_copy_of_the_database_has_a_console_of_its_own(estate: Estate, admin_dsn: str) -> None:
    await console_login.make(estate.owner)
    for conn in (estate.owner, estate.shop, estate.bank):
        await conn.close()
    copy = await create_database(admin_dsn, str(conninfo_to_dict(estate.dsn)["dbname"]))
    try:
        async with await connect(copy) as owner:
            login = await console_login.make(owner)
        async with await connect(make_conninfo(copy, user=login.role, password=login.password)) as conn:
            assert await seen(conn, "campaigns", "shop") == {"shop"}
    finally:
        await drop_database(admin_dsn, copy)


async def test_the_address_with_its_login_is_known_from_the_databases_name(estate: Estate) -> None:
    login = await console_login.make(estate.owner)
    found = program_dsn.address_with_login("console", estate.dsn, "p" * 40)
    assert f"user={login.role}" in found
