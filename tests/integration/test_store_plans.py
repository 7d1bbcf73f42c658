"""The plans that docs/store.md promises: what each hot statement reads, asked of a PostgreSQL with history in it."""

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import LiteralString

import pytest
import pytest_asyncio
from psycopg.conninfo import make_conninfo

from sendonce_store import imports, queue, tenancy
from sendonce_store.connection import Connection, connect
from sendonce_store.rows import Holder, Repeats, Result, Started, Terms, Turn

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


@pytest_asyncio.fixture(params=["owner", "tenant"])
async def conn(dsn: str, request: pytest.FixtureRequest) -> AsyncIterator[Connection]:
    """Yield a connection to a store with 40,000 finished batches and 20,000 open rows."""
    connection = await connect(dsn)
    for statement in _HISTORY:
        await connection.execute(statement)
    if request.param == "tenant":
        login = await tenancy.add(connection, "n")
        await connection.close()
        connection = await connect(make_conninfo(dsn, user=login.role, password=login.password))
    yield connection
    await connection.close()


_KINDS = ("seq_scan", "idx_scan", "idx_tup_fetch")


async def _plan(
    conn: Connection, name: str, sql: Mapping[str, LiteralString] = queue.SQL, /, **parameters: object
) -> str:
    async with conn.transaction(force_rollback=True):
        cursor = await conn.execute("EXPLAIN (COSTS OFF) " + sql[name], parameters)
        return "\n".join(str(row["QUERY PLAN"]) for row in await cursor.fetchall())


@pytest.mark.slow
async def test_hot_statements_read_what_they_need_through_their_index(conn: Connection) -> None:
    cursor = await conn.execute("SELECT min(id) AS batch FROM sendonce.batches WHERE state = 'pending'")
    row = await cursor.fetchone()
    assert row is not None
    batch = row["batch"]

    claim = await _plan(conn, "claim", token=uuid.uuid4(), worker="w", lease=10.0, campaign=1)
    assert "Index Scan using batches_to_claim" in claim
    assert "Sort" not in claim
    assert "batches_of_campaign" not in claim

    due = await _plan(conn, "due_rows", batch=batch)
    assert "deliveries_pkey" in due
    assert "Seq Scan on deliveries" not in due

    next_due = await _plan(conn, "next_due", campaign=1)
    assert "batches_to_claim" in next_due
    addresses = [f"user{number}@example.com" for number in range(5000)]
    known = await _plan(conn, imports.look_name(conn), imports.SQL, campaign=1, channel="Email", addresses=addresses)
    assert "deliveries_campaign_id_channel_address_key" in known  # and the rows, where row-level security asks for more
    assert "Seq Scan on deliveries" not in known
    assert not [line for line in known.splitlines() if "Filter" in line and "address" in line]
    print(claim, due, sep="\n\n")  # noqa: T201 - `pytest -s` shows the plans of docs/store.md


async def test_turns_read_what_they_need_through_their_index(conn: Connection) -> None:
    terms = Terms(Repeats(key_window=86400.0, patience=5.0, resend=False, max_attempts=5))
    holder = Holder("w", "n", 1)
    batch = await queue.claim(conn, holder, uuid.uuid4(), 60.0, {"Email": terms.repeats})
    assert batch is not None
    # in one transaction, since what it has read so far can be asked for; more turns than plans are tried out for
    async with conn.transaction():
        before = await _reads(conn)
        started: Sequence[Started] = ()
        for first in range(1, 500, 50):
            turn = Turn(
                results=[Result(row.no, row.attempt_seq, "sent") for row in started],
                group=[(no, b"d") for no in range(first, first + 50)],
            )
            outcome = await queue.take_turn(conn, batch, holder, turn, terms)
            started = outcome.started
            assert len(started) == len(turn.group)
            assert not outcome.unwritten
        after = await _reads(conn)
    for table in ("deliveries", "suppressions", "opt_outs"):
        reads = {kind: after[table][kind] - before.get(table, {}).get(kind, 0) for kind in _KINDS}
        assert reads["seq_scan"] == 0, table
        assert reads["idx_scan"] > 0, table
        assert reads["idx_tup_fetch"] <= 3 * 500, f"{table}: more rows than are concerned"


async def _reads(conn: Connection) -> dict[str, dict[str, int]]:
    cursor = await conn.execute(
        "SELECT relname, seq_scan, idx_scan, idx_tup_fetch FROM pg_stat_xact_user_tables WHERE schemaname = 'sendonce'"
    )
    return {row["relname"]: row for row in await cursor.fetchall()}
