"""What the pages stand on goes away while somebody looks: a clear page, and everything is back when it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from sendonce_store.connection import connect

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
            assert (await console.get("/healthz", "viewer")).status == 200
        finally:
            await admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))
    assert (await console.get(path, "viewer")).status == 200


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
