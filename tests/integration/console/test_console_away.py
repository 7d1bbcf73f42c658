"""What the pages stand on goes away while somebody looks: a clear page, and everything is back when it is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from sendonce_store import console_scope
from sendonce_store.connection import Connection, connect

if TYPE_CHECKING:
    from tests.integration.console.conftest import Served


async def test_a_database_that_restarts_is_a_clear_page_and_then_the_page_again(
    console: Served, admin_dsn: str
) -> None:
    """As after a restart: every connection is ended, and no new one is taken until the server is up."""
    name = sql.Identifier(str(conninfo_to_dict(console.dsn)["dbname"]))
    path = "/ns/shop/campaigns/spring"
    assert (await console.get(path, "viewer")).status == 200
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND application_name = %s"
    async with await connect(admin_dsn) as admin:
        await admin.execute(ended, [name.as_string().strip('"'), "sendonce console"])
        assert (await console.get(path, "viewer")).status == 200, "connections that were ended are replaced"
        await admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
        try:
            ended = (
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND application_name = %s"
            )
            await admin.execute(ended, [name.as_string().strip('"'), "sendonce console"])
            for _ in range(2):
                away = await console.get(path, "viewer")
                assert away.status == 503
                assert away.headers["Retry-After"] == "5"
                assert "The database can" in away.text
                assert "Traceback" not in away.text
                assert '<nav class="menu"' in away.text, "who is known keeps the menu"
                assert '<a class="button button-main" href="">Try again</a>' in away.text
            assert (await console.get("/healthz", "viewer")).status == 200
            assert (await console.get("/preview", "viewer")).status == 200, "it reads nothing"
            given = await console.post("/preview", {"text": "kind: NotificationCampaign"}, "viewer", page="/preview")
            assert given.status == 422, "nor does what it says of a file"
        finally:
            await admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))
    assert (await console.get(path, "viewer")).status == 200


async def test_a_connection_that_breaks_once_all_is_read_spoils_no_answer(console: Served) -> None:
    """As while an order waits for the API server: the server ends who does nothing in a transaction."""
    async with console.parts.reader.read(("shop",)) as conn:
        await console.conn.execute("SELECT pg_terminate_backend(%s, 10000)", [conn.info.backend_pid])
    assert (await console.get("/ns/shop/campaigns/spring", "viewer")).status == 200


async def test_whoever_gives_up_while_a_transaction_begins_leaves_no_connection_behind(
    console: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Connection] = []

    async def stuck(conn: Connection, *_: object) -> None:
        begun.append(conn)
        await asyncio.Event().wait()

    reader = console.parts.reader
    async with reader.read(("shop",)):
        pass  # one is kept
    monkeypatch.setattr(console_scope, "begin", stuck)
    for _ in range(2):  # the one that was kept, and a new one
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5), reader.read(("shop",)):
                pass
    assert [conn.closed for conn in begun] == [True, True]


async def test_a_statement_that_takes_too_long_is_ended_and_said_so(console: Served) -> None:
    """A page waits for a lock of somebody's: the server ends it, and the connection is good again."""
    async with console.conn.transaction():
        await console.conn.execute("LOCK TABLE sendonce.workers IN ACCESS EXCLUSIVE MODE")
        answer = await console.get("/ns/shop/campaigns/spring", "viewer")
        assert answer.status == 503
        assert "took too long" in answer.text
    assert (await console.get("/ns/shop/campaigns/spring", "viewer")).status == 200


async def test_a_fault_of_the_console_has_a_number_and_no_trace(console: Served) -> None:
    await console.conn.execute("UPDATE sendonce.campaigns SET spec = '{}' WHERE name = 'spring'")
    answer = await console.get("/ns/shop/campaigns/spring", "viewer")
    assert answer.status == 500
    assert "noted in its log under" in answer.text
    for inside in ("Traceback", "pydantic", "sendonce_console", ".py"):
        assert inside not in answer.text
    problem = await console.json("/api/v1/namespaces/shop/campaigns/spring", "viewer")
    assert problem["status"] == 500
