"""The plans that docs/store.md promises: what each hot statement reads, asked of a PostgreSQL with history in it."""

import uuid
from collections.abc import AsyncIterator
from typing import LiteralString

import pytest
import pytest_asyncio

from sendonce_store import queue
from sendonce_store.connection import Connection, connect

_HISTORY: tuple[LiteralString, ...] = (
    """INSERT INTO sendonce.providers (namespace, kind, name, spec) VALUES ('n', 'NotificationProvider', 'p', '{}')""",
    """INSERT INTO sendonce.campaigns (namespace, send_key, name, content_hash, spec, category, import_state)
       SELECT 'n', 'k' || g, 'c', 'h', '{}', 'Marketing', 'done' FROM generate_series(1, 50) g""",
    """INSERT INTO sendonce.batches (namespace, campaign_id, kind, channel, provider_id, state, claimable_at, sent)
       SELECT 'n', 1 + g % 50, 'send', 'Email', 1, 'done', now(), 500 FROM generate_series(1, 40000) g""",
    """INSERT INTO sendonce.batches (namespace, campaign_id, kind, channel, provider_id, claimable_at)
       SELECT 'n', 1, 'send', 'Email', 1, now() FROM generate_series(1, 40) g""",
    """INSERT INTO sendonce.deliveries
              (batch_id, no, campaign_id, recipient_no, key, namespace, channel, address, next_attempt_at)
       SELECT b.id, g, 1, b.id * 1000 + g, gen_random_uuid(), 'n', 'Email', b.id || '-' || g, now()
         FROM sendonce.batches b, generate_series(1, 500) g WHERE b.state = 'pending'""",
    """INSERT INTO sendonce.recipients
       SELECT 1, recipient_no, 'n', NULL, '{}', NULL, NULL, '{}' FROM sendonce.deliveries""",
    "INSERT INTO sendonce.suppressions SELECT 'n', 'Email', 's' || g, 'bounced' FROM generate_series(1, 20000) g",
    "INSERT INTO sendonce.opt_outs SELECT 'n', 'Email', 'o' || g, 'Marketing', '' FROM generate_series(1, 20000) g",
    "VACUUM ANALYZE",
)


@pytest_asyncio.fixture
async def conn(dsn: str) -> AsyncIterator[Connection]:
    """Yield a connection to a store with 40,000 finished batches and 20,000 open rows."""
    connection = await connect(dsn)
    for statement in _HISTORY:
        await connection.execute(statement)
    yield connection
    await connection.close()


async def _plan(conn: Connection, name: str, **parameters: object) -> str:
    async with conn.transaction(force_rollback=True):
        cursor = await conn.execute("EXPLAIN (COSTS OFF) " + queue.SQL[name], parameters)
        return "\n".join(str(row["QUERY PLAN"]) for row in await cursor.fetchall())


@pytest.mark.slow
async def test_hot_statements_read_what_they_need_through_their_index(conn: Connection) -> None:
    cursor = await conn.execute("SELECT min(id) AS batch FROM sendonce.batches WHERE state = 'pending'")
    row = await cursor.fetchone()
    assert row is not None
    batch, nos = row["batch"], list(range(1, 51))

    claim = await _plan(conn, "claim", token=uuid.uuid4(), worker="w", lease=10.0, campaign=1)
    assert "Index Scan using batches_to_claim" in claim
    assert "Sort" not in claim
    assert "batches_of_campaign" not in claim

    due = await _plan(conn, "due_rows", batch=batch)
    assert "deliveries_pkey" in due
    assert "Seq Scan on deliveries" not in due

    repeats = {"key_window": 86400.0, "patience": 5.0, "resend": False, "max_attempts": 5}
    begin = await _plan(conn, "begin_sending", batch=batch, nos=nos, digests=[b"d"] * 50, worker="w", **repeats)
    for index in ("deliveries_pkey", "suppressions_pkey", "opt_outs_pkey"):
        assert index in begin
    assert "Seq Scan on deliveries" not in begin

    columns = {"states": ["sent"] * 50, "unknowns": [False] * 50, "used": [0] * 50, "seqs": [1] * 50}
    nothing = dict.fromkeys(("reasons", "codes", "errors", "message_ids", "delays"), [None] * 50)
    write = await _plan(conn, "write_results", batch=batch, nos=nos, **columns, **nothing)
    assert "Index Scan using deliveries_pkey" in write
    assert "Seq Scan on deliveries" not in write

    next_due = await _plan(conn, "next_due", campaign=1)
    assert "batches_to_claim" in next_due
    print(claim, begin, sep="\n\n")  # noqa: T201 - `pytest -s` shows the plans of docs/store.md
