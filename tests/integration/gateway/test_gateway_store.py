"""The gateway and its store: what its login may do, and what is said when the store is away."""

from __future__ import annotations

import asyncio
import json
import logging
from io import StringIO
from typing import TYPE_CHECKING, LiteralString

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from sendonce_store import tenancy
from sendonce_store.connection import Connection, connect
from sendonce_store.logs import configure_logging, without_words
from sendonce_store.migrate import migrate, newest
from sendonce_store.tenancy import Login

if TYPE_CHECKING:
    from tests.integration.gateway.conftest import Gate, Opening

# whoever has the login can do this and no more; each is a function that runs with the owner's rights
_ALLOWED = {
    "gateway_schema",
    "gateway_link_key",
    "gateway_opt_out",
    "gateway_opt_in",
    "gateway_topics",
    "gateway_enqueue",
    "gateway_receipt",
}
_REFUSED: tuple[LiteralString, ...] = (
    "SELECT * FROM sendonce.opt_outs",
    "SELECT * FROM sendonce.link_keys",
    "SELECT * FROM sendonce.gateway_tokens",
    "SELECT * FROM sendonce.schema_migrations",
    "DELETE FROM sendonce.opt_outs",
    "SELECT sendonce.own_namespace()",
    "SELECT sendonce.campaign_links(1, '')",
    "SELECT sendonce.current_link_key('shop')",
    "SELECT sendonce.make_gateway_login('x')",
    "CREATE TABLE sendonce.mine (a int)",
    "CREATE ROLE somebody",
)


async def test_the_login_may_call_its_functions_and_nothing_else(dsn: str, owner: Connection, login: Login) -> None:
    conn = await connect(make_conninfo(dsn, user=login.role, password=login.password))
    for statement in _REFUSED:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await conn.execute(statement)
    await conn.close()
    cursor = await owner.execute(
        "SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'sendonce'::regnamespace"
        " AND has_function_privilege(%(role)s, p.oid, 'EXECUTE')",
        {"role": login.role},
    )
    assert {row["proname"] for row in await cursor.fetchall()} <= _ALLOWED
    cursor = await owner.execute(
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'sendonce'::regnamespace AND c.relkind IN ('r', 'S')"
        " AND (CASE c.relkind WHEN 'r' THEN has_any_column_privilege(%(role)s, c.oid, 'SELECT, INSERT, UPDATE')"
        "      ELSE has_sequence_privilege(%(role)s, c.oid, 'USAGE') END)",
        {"role": login.role},
    )
    assert await cursor.fetchall() == []


async def test_every_function_of_the_gateway_means_what_it_says_whatever_the_search_path(owner: Connection) -> None:
    cursor = await owner.execute(
        "SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'sendonce'::regnamespace AND p.prosecdef"
        " AND NOT coalesce(p.proconfig @> ARRAY['search_path=pg_catalog, pg_temp'], false)"
    )
    assert await cursor.fetchall() == []


async def test_rights_are_given_anew_by_each_migration(dsn: str, owner: Connection, login: Login) -> None:
    role = sql.Identifier(login.role)
    await owner.execute(sql.SQL("REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sendonce FROM {}").format(role))
    await owner.execute(sql.SQL("GRANT SELECT ON sendonce.opt_outs TO {}").format(role))
    await migrate(dsn)
    conn = await connect(make_conninfo(dsn, user=login.role, password=login.password))
    cursor = await conn.execute("SELECT sendonce.gateway_schema() AS version")
    assert await cursor.fetchone() == {"version": newest()}
    # not by reading: the policies refuse as well
    cursor = await conn.execute("SELECT has_table_privilege('sendonce.opt_outs', 'SELECT') AS may")
    assert await cursor.fetchone() == {"may": False}
    await conn.close()


async def test_the_login_is_made_once_and_then_gets_another_password(owner: Connection, login: Login) -> None:
    again = await tenancy.gateway_login(owner)
    assert again.role == login.role
    assert again.password != login.password


async def test_without_a_store_people_are_asked_to_come_back_and_the_pod_is_not_ready(open_gate: Opening) -> None:
    nowhere = "host=127.0.0.1 port=9 dbname=x connect_timeout=1"
    gate = await open_gate(dsn=nowhere, store_wait=0.2, grace=0.2)
    link = await (await open_gate()).link()
    for answer in (await gate.get(link), await gate.post(link, {"List-Unsubscribe": "One-Click"})):
        assert (answer.status, answer.title) == (503, "Not at the moment")
        assert answer.headers["Retry-After"] == "10"
        assert "127.0.0.1" not in answer.text
    async with gate.client.get(f"{gate.ops}/readyz") as response:
        assert response.status == 503
    async with gate.client.get(f"{gate.ops}/healthz") as response:
        assert response.status == 200
    assert "sendonce_gateway_store_up 0.0" in await gate.metrics()


async def test_with_a_store_it_is_ready(open_gate: Opening) -> None:
    gate = await open_gate()
    async with gate.client.get(f"{gate.ops}/readyz") as response:
        assert (response.status, await response.text()) == (200, "the store answers\n")
    async with asyncio.timeout(30):
        await _until_exposed(gate, "sendonce_gateway_store_up 1.0")


async def _until_exposed(gate: Gate, line: str) -> None:
    while True:
        if line in await gate.metrics():
            return
        await asyncio.sleep(0.05)


async def test_probes_and_metrics_are_not_for_the_public(open_gate: Opening) -> None:
    gate = await open_gate()
    for path in ("/healthz", "/readyz", "/metrics"):
        assert (await gate.get(path)).status == 404


async def test_more_requests_than_connections_wait_for_their_turn(open_gate: Opening) -> None:
    gate = await open_gate(store_connections=2)
    paths = [await gate.link(address=f"user{no}@example.com") for no in range(40)]
    answers = await asyncio.gather(*(gate.post(path, {"List-Unsubscribe": "One-Click"}) for path in paths))
    assert {answer.status for answer in answers} == {200}
    assert len(await gate.opt_outs()) == 40


async def test_a_bug_says_nothing_to_the_outside_and_nobody_is_in_the_log(
    open_gate: Opening, owner: Connection
) -> None:
    gate = await open_gate()
    path = await gate.link()
    await owner.execute("ALTER TABLE sendonce.opt_outs ADD CHECK (address <> 'ada@example.com')")
    stream, root = StringIO(), logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        configure_logging("DEBUG", "json", filters=(without_words,), stream=stream)
        answer = await gate.post(path, {"List-Unsubscribe": "One-Click"})
    finally:
        root.handlers[:], root.level = before, level
    assert (answer.status, answer.title) == (500, "Something went wrong")
    assert "Traceback" not in answer.text
    logged = stream.getvalue()
    records = [json.loads(line) for line in logged.splitlines()]
    (record,) = [record for record in records if record["level"] == "ERROR"]
    assert record["route"] == "/u/{token}"
    assert "CheckViolation" in record["exception"]
    assert "ada@" not in logged
    assert path[3:] not in logged
