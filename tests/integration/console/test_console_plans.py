"""What the console's questions read, of a ledger with 60,000 rows: nothing is scanned, whatever is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, LiteralString

import pytest
import pytest_asyncio
from psycopg.conninfo import make_conninfo
from tests.integration.conftest import create_database, drop_database

from sendonce_store import console_deadletters, console_login, console_people, console_scope
from sendonce_store.connection import Connection, connect
from sendonce_store.ledger import Filter

pytestmark = pytest.mark.asyncio(loop_scope="session")
_LEDGER: tuple[LiteralString, ...] = (
    "INSERT INTO sendonce.providers (namespace, kind, name, spec) VALUES ('n', 'NotificationProvider', 'p', '{}')",
    """INSERT INTO sendonce.campaigns (namespace, send_key, name, content_hash, spec, category, import_state)
       SELECT 'n', 'k' || g, 'c', 'h', '{}', 'Marketing', 'done' FROM generate_series(1, 6) g""",
    """INSERT INTO sendonce.channels (campaign_id, channel, namespace, no, provider_id)
       SELECT g, 'Email', 'n', 0, 1 FROM generate_series(1, 6) g""",
    """INSERT INTO sendonce.recipients
       SELECT 1 + g % 6, g, 'n', 'ref' || g, jsonb_build_object('Email', jsonb_build_array('u' || g, 'u' || g)),
              NULL, NULL, '{}'
         FROM generate_series(1, 60000) g""",
    "ALTER TABLE sendonce.deliveries DISABLE TRIGGER ALL",
    """INSERT INTO sendonce.batches
              (id, namespace, campaign_id, kind, channel, provider_id, state, claimable_at, sent, failed)
       SELECT g, 'n', 1 + g % 6, 'send', 'Email', 1, 'done', now(), 450, 50 FROM generate_series(1, 120) g""",
    """INSERT INTO sendonce.deliveries
              (batch_id, no, campaign_id, recipient_no, key, namespace, channel, address,
               state, reason, code, finished_at, attempt_seq, message_id)
       SELECT b.id, g, b.campaign_id, b.id * 1000 + g, gen_random_uuid(), 'n', 'Email', 'u' || b.id * 1000 + g,
              CASE WHEN g <= 50 THEN 'failed' ELSE 'sent' END, CASE WHEN g <= 50 THEN 'permanent' END,
              '550', now(), 1, 'm' || g
         FROM sendonce.batches b, generate_series(1, 500) g""",
    "VACUUM ANALYZE",
)  # fmt: skip


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def reader(admin_dsn: str, template: str) -> AsyncIterator[Connection]:
    """Yield the console's own login in a large ledger."""
    dsn = await create_database(admin_dsn, template)
    owner = await connect(dsn)
    for statement in _LEDGER:
        await owner.execute(statement)
    login = await console_login.make(owner)
    connection = await connect(make_conninfo(dsn, user=login.role, password=login.password))
    await console_scope.begin(connection, ["n"], 60_000)
    yield connection
    await connection.close()
    await owner.close()
    await drop_database(admin_dsn, dsn)


ONE = {"channels": ["Email", "Line"], "addresses": ["u5007", "u5007"]}
SOME = {"namespaces": ["n"], "campaigns": 5000, "limit": 200}
PLACE = {"campaign": 1, "namespace": "n", "after_batch": 0, "after_no": 0}
WHO = {"states": ["failed"], "reasons": None, "codes": ["550"], "channels": None}
PEOPLE: list[tuple[str, dict[str, Any]]] = [
    ("by_address", SOME | ONE),
    ("by_prefix", SOME | {"channels": ["Email"], "prefixes": ["u50"], "ends": ["u50\U0010ffff"], "each": 20}),
    ("by_ref", SOME | {"ref": "ref5007"}),
    ("by_message_id", {"namespaces": ["n"], "batches": list(range(1, 21)), "message_id": "m7"}),
    ("by_delivery_id", {"namespaces": ["n"], "batch": 5, "no": 7, "key": None}),
    ("recipients", PLACE | WHO | {"batches": list(range(6, 60, 6)), "limit": 100}),
]
DEAD: list[tuple[str, dict[str, Any]]] = [
    ("would_change_for", PLACE | WHO | {"named_channels": ["Email"], "named_addresses": ["u5007"]}),
]


@pytest.mark.parametrize(
    ("sql", "name", "asked"),
    [(console_people.SQL, *case) for case in PEOPLE] + [(console_deadletters.SQL, *case) for case in DEAD],
    ids=[name for name, _ in PEOPLE + DEAD],
)
async def test_no_question_about_people_reads_a_whole_table(
    reader: Connection, sql: Mapping[str, LiteralString], name: str, asked: dict[str, Any]
) -> None:
    rows = await (await reader.execute("EXPLAIN (COSTS OFF) " + sql[name], asked)).fetchall()
    plan = "\n".join(str(row["QUERY PLAN"]) for row in rows)
    for table in ("deliveries", "recipients"):
        assert f"Seq Scan on {table}" not in plan, plan


async def test_a_page_reads_a_bounded_part_of_a_campaign(reader: Connection) -> None:
    groups = await console_deadletters.groups(reader, ("n", 1), ["failed"])
    assert (groups.counted, groups.total, groups.partial) == (1000, 1000, False)
    page = await console_people.recipients(reader, ("n", 1), Filter(codes=["none"]))
    assert (page.items, page.next) == ([], None)
