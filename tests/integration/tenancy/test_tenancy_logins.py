"""Logins come and go: made, rotated, retired, removed; with real passwords, and an owner who is no superuser."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import pytest_asyncio
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sendonce_cli.embedded import EmbeddedPostgres
from sendonce_store import tenancy
from sendonce_store.connection import Connection, StoreUnavailableError, connect
from sendonce_store.migrate import migrate
from sendonce_store.tenancy import Login, TenancyError

_CAMPAIGN = (
    "INSERT INTO sendonce.campaigns (namespace, send_key, name, content_hash, spec, category)"
    " VALUES (%(namespace)s, %(key)s, %(key)s, 'h', '{}', 'Marketing')"
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def strict(postgres_binaries: Path | None) -> AsyncIterator[EmbeddedPostgres]:
    """Yield a server that asks for passwords on TCP."""
    root = Path(tempfile.gettempdir()) / f"sendonce-test-{uuid.uuid4().hex}"
    embedded = EmbeddedPostgres(root, tcp=True, binaries=postgres_binaries)
    try:
        await embedded.start()
        (root / "data" / "pg_hba.conf").write_text("local all all trust\nhost all all all scram-sha-256\n")
        await embedded.restart()
        yield embedded
    finally:
        await embedded.stop(remove=True)


@pytest_asyncio.fixture
async def store(strict: EmbeddedPostgres) -> AsyncIterator[Connection]:
    """Yield the connection of an owner who may make roles, as on a managed PostgreSQL."""
    name = f"store_{uuid.uuid4().hex[:12]}"
    async with await psycopg.AsyncConnection.connect(strict.dsn(), autocommit=True) as admin:
        await admin.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEROLE").format(sql.Identifier(name)))
        await admin.execute(sql.SQL("CREATE DATABASE {0} OWNER {0}").format(sql.Identifier(name)))
    dsn = make_conninfo(strict.dsn(name), user=name)
    await migrate(dsn)
    conn = await connect(dsn)
    yield conn
    await conn.close()


def _dsn(strict: EmbeddedPostgres, login: Login, store: Connection) -> str:
    return login.dsn(strict.dsn(store.info.dbname, tcp=True))


async def _roles(store: Connection) -> list[str]:
    cursor = await store.execute("SELECT rolname FROM pg_roles WHERE rolname ~ '^sendonce_ns_' ORDER BY rolname")
    names = [row["rolname"] for row in await cursor.fetchall()]
    known = {row["role"] for row in await (await store.execute("SELECT role FROM sendonce.tenants")).fetchall()}
    return [name for name in names if name in known]


async def _sees(conn: Connection) -> set[str]:
    cursor = await conn.execute("SELECT DISTINCT namespace FROM sendonce.campaigns")
    return {row["namespace"] for row in await cursor.fetchall()}


async def test_a_login_gets_in_with_its_password_alone(strict: EmbeddedPostgres, store: Connection) -> None:
    await store.execute(_CAMPAIGN, {"namespace": "shop", "key": "spring"})
    await store.execute(_CAMPAIGN, {"namespace": "bank", "key": "spring"})
    login = await tenancy.add(store, "shop")
    conn = await connect(_dsn(strict, login, store))
    assert await _sees(conn) == {"shop"}
    await conn.close()
    with pytest.raises(StoreUnavailableError, match="password authentication failed"):
        await connect(make_conninfo(_dsn(strict, login, store), password="guessed"))


async def test_a_second_login_is_made_by_a_rotation_only(store: Connection) -> None:
    with pytest.raises(TenancyError, match="namespace shop has no login: add one first"):
        await tenancy.rotate(store, "shop")
    await tenancy.add(store, "shop")
    with pytest.raises(TenancyError, match=r"has a login already .* rotate it"):
        await tenancy.add(store, "shop")


async def test_both_logins_are_good_until_the_old_one_is_retired(strict: EmbeddedPostgres, store: Connection) -> None:
    await store.execute(_CAMPAIGN, {"namespace": "shop", "key": "spring"})
    old = await tenancy.add(store, "shop")
    before = await connect(_dsn(strict, old, store))
    await before.execute("CREATE TEMP TABLE mine ()")  # as an import does: the role can't be dropped while it is there
    new = await tenancy.rotate(store, "shop")
    for login in (old, new):
        conn = await connect(_dsn(strict, login, store))
        assert await _sees(conn) == {"shop"}
        await conn.close()
    assert await tenancy.retire(store, "shop") == [tenancy.Removed(old.role, None)]
    with pytest.raises(psycopg.Error):
        await before.execute("SELECT 1")
    with pytest.raises(StoreUnavailableError):
        await connect(_dsn(strict, old, store))
    conn = await connect(_dsn(strict, new, store))
    assert await _sees(conn) == {"shop"}
    await conn.close()
    assert await _roles(store) == [new.role]
    assert (await tenancy.rotate(store, "shop")).role not in {old.role, new.role}
    await before.close()


async def test_an_open_session_of_a_retired_login_sees_nothing_at_its_next_statement(
    strict: EmbeddedPostgres, store: Connection
) -> None:
    await store.execute(_CAMPAIGN, {"namespace": "shop", "key": "spring"})
    login = await tenancy.add(store, "shop")
    conn = await connect(_dsn(strict, login, store))
    assert await _sees(conn) == {"shop"}
    await store.execute(tenancy.SQL["retire_login"], {"role": login.role})
    assert await _sees(conn) == set()
    with pytest.raises(StoreUnavailableError, match="not permitted to log in"):
        await connect(_dsn(strict, login, store))
    await conn.close()


async def test_a_namespace_with_unfinished_campaigns_is_not_removed(store: Connection) -> None:
    login = await tenancy.add(store, "shop")
    for number in range(7):
        await store.execute(_CAMPAIGN, {"namespace": "shop", "key": f"key-{number}"})
    with pytest.raises(TenancyError, match=r"7 campaigns that are not finished \(key-0, .*key-4, …\): cancel, or wait"):
        await tenancy.remove(store, "shop")
    assert await _roles(store) == [login.role]
    await store.execute(
        "UPDATE sendonce.campaigns SET ended = 'complete', completed_at = now() WHERE send_key <> 'key-3'"
    )
    with pytest.raises(TenancyError, match=r"has a campaign that is not finished \(key-3\)"):
        await tenancy.remove(store, "shop")


async def test_what_is_removed_keeps_its_rows_and_may_come_back(strict: EmbeddedPostgres, store: Connection) -> None:
    first = await tenancy.add(store, "shop")
    await store.execute(_CAMPAIGN, {"namespace": "shop", "key": "spring"})
    await store.execute("UPDATE sendonce.campaigns SET ended = 'complete', completed_at = now()")
    assert await tenancy.remove(store, "shop") == [tenancy.Removed(first.role, None)]
    assert (await _roles(store), await tenancy.tenants(store)) == ([], [])
    with pytest.raises(TenancyError, match="namespace shop has no login"):
        await tenancy.remove(store, "shop")
    again = await tenancy.add(store, "shop")
    conn = await connect(_dsn(strict, again, store))
    assert await _sees(conn) == {"shop"}
    await conn.close()
    with pytest.raises(StoreUnavailableError):
        await connect(_dsn(strict, first, store))


async def test_a_role_that_owns_something_is_locked_out_and_says_why_it_is_still_there(
    strict: EmbeddedPostgres, store: Connection
) -> None:
    login = await tenancy.add(store, "shop")
    async with await psycopg.AsyncConnection.connect(strict.dsn(store.info.dbname), autocommit=True) as admin:
        await admin.execute("CREATE TABLE public.kept ()")
        await admin.execute(sql.SQL("ALTER TABLE public.kept OWNER TO {}").format(sql.Identifier(login.role)))
        (removed,) = await tenancy.remove(store, "shop")
        assert "depend on it" in (removed.left or "")
        (tenant,) = await tenancy.tenants(store)
        assert (tenant.logins, tenant.retired) == ([], 1)
        with pytest.raises(StoreUnavailableError, match="not permitted to log in"):
            await connect(_dsn(strict, login, store))
        await admin.execute("DROP TABLE public.kept")
    assert await tenancy.remove(store, "shop") == [tenancy.Removed(login.role, None)]


async def test_a_role_of_somebody_elses_is_left_alone(strict: EmbeddedPostgres, store: Connection) -> None:
    cursor = await store.execute("SELECT sendonce.login_name('shop', 1) AS name")
    name = str((await cursor.fetchone() or {})["name"])
    async with await psycopg.AsyncConnection.connect(strict.dsn(), autocommit=True) as admin:
        await admin.execute(sql.SQL("CREATE ROLE {} SUPERUSER").format(sql.Identifier(name)))
        with pytest.raises(TenancyError, match="is there already and was not made for namespace shop"):
            await tenancy.add(store, "shop")
        # one that a database of this name left behind is made anew
        words = f"Sendonce, database {store.info.dbname}: namespace shop"
        await admin.execute(
            sql.SQL("ALTER ROLE {0} NOSUPERUSER; COMMENT ON ROLE {0} IS {1}").format(sql.Identifier(name), words)
        )
        await admin.execute(
            sql.SQL("GRANT {} TO {} WITH ADMIN OPTION").format(sql.Identifier(name), sql.Identifier(store.info.user))
        )
    assert (await tenancy.add(store, "shop")).role == name


@pytest.mark.parametrize("namespace", ["a" * 63, "a" * 62 + "b", "default"])
async def test_names_fit_and_are_not_alike(store: Connection, namespace: str) -> None:
    login = await tenancy.add(store, namespace)
    assert len(login.role) <= 63
    assert (await tenancy.tenants(store))[0].logins == [login.role]
    other = await tenancy.add(store, "a" * 61)
    assert other.role != login.role


@pytest.mark.parametrize("namespace", ["", "Shop", "shop_1", "a" * 64, "shop'; DROP ROLE x", "-shop"])
async def test_what_is_no_namespace_gets_no_login(store: Connection, namespace: str) -> None:
    with pytest.raises(TenancyError, match="is not the name of a namespace"):
        await tenancy.add(store, namespace)


async def test_who_may_not_make_logins_is_told(strict: EmbeddedPostgres, store: Connection) -> None:
    login = await tenancy.add(store, "shop")
    tenant = await connect(_dsn(strict, login, store))
    with pytest.raises(TenancyError, match="does not own the schema sendonce: connect as the role that ran"):
        await tenancy.add(tenant, "bank")
    await tenant.close()
    async with await psycopg.AsyncConnection.connect(strict.dsn(), autocommit=True) as admin:
        await admin.execute(sql.SQL("ALTER ROLE {} NOCREATEROLE").format(sql.Identifier(store.info.user)))
    with pytest.raises(TenancyError, match=r"may not make roles: ALTER ROLE store_.* CREATEROLE"):
        await tenancy.add(store, "bank")


async def test_the_password_is_in_no_statement_that_the_server_sees(
    strict: EmbeddedPostgres, store: Connection
) -> None:
    await store.execute("SELECT 1")
    async with await psycopg.AsyncConnection.connect(strict.dsn(), autocommit=True) as admin:
        await admin.execute("ALTER SYSTEM SET log_statement = 'all'")
        await admin.execute("SELECT pg_reload_conf()")
        login = await tenancy.add(store, "shop")
        await admin.execute("ALTER SYSTEM RESET log_statement")
        await admin.execute("SELECT pg_reload_conf()")
    log = strict.log_file.read_text()
    assert "make_login" in log
    assert login.password not in log


def test_a_dsn_keeps_what_is_true_for_a_pod_and_nothing_of_the_one_who_asks() -> None:
    login = Login("shop", "role", "pass'word")
    asked = "postgresql://admin:secret@db:6432/store?sslmode=require&sslkey=/home/me/key&application_name=psql"
    assert conninfo_to_dict(login.dsn(asked)) == {
        "host": "db",
        "port": "6432",
        "dbname": "store",
        "sslmode": "require",
        "user": "role",
        "password": "pass'word",
    }
    for wrong in ("postgresql://[", "postgresql://db"):
        with pytest.raises(TenancyError, match="address of the database"):
            login.dsn(wrong)


def test_the_secret_is_what_workers_mount() -> None:
    made: dict[str, Any] = tenancy.secret(Login("shop", "role", "word"), "host=db")
    assert made["metadata"]["name"] == "sendonce-store"
    assert made["metadata"]["namespace"] == "shop"
    assert made["stringData"] == {"dsn": "host=db"}
