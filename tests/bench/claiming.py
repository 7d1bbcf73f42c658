"""Claim, read, release: with millions of finished rows in the same campaign, and with none.

In: a server and how many finished rows. Out: one row. Both databases are measured in turn, cycle by cycle.
"""

from __future__ import annotations

import time
import uuid
from pathlib import Path

import psycopg
from tests.bench import campaigns
from tests.bench.campaigns import FarEnd
from tests.bench.figures import Row, middle
from tests.bench.server import Server

from sendonce_store import queue
from sendonce_store.connection import Connection
from sendonce_store.rows import Holder, Repeats

PENDING = 100_000
CYCLES = 300
WARM_UP = 30
_CHUNK = 1_000_000
_BATCH = 500
_LEASE = 30.0


async def measure(server: Server, folder: Path, history: int) -> list[Row]:
    """Compare the medians of both."""
    files = folder / "pending"
    campaigns.write_people(files, PENDING)
    async with server.database("bench_none") as dsn:
        async with campaigns.connection(dsn) as conn:
            await campaigns.adopt(conn, FarEnd(campaigns.HTTP, 9))
            await campaigns.imported(conn, campaigns.environment(dsn, files))
            await campaigns.begin(conn)
        async with server.database("bench_history", template="bench_none") as other:
            await _finish_rows(other, history)
            async with campaigns.connection(dsn) as none, campaigns.connection(other) as full:
                for conn in (none, full):
                    await conn.execute("VACUUM ANALYZE")
                return await _compare(none, full, history)


async def _compare(none: Connection, full: Connection, history: int) -> list[Row]:
    times: dict[str, list[float]] = {"none": [], "full": []}
    for no in range(WARM_UP + CYCLES):
        for name, conn in (("none", none), ("full", full)):
            took = await _cycle(conn)
            if no >= WARM_UP:
                times[name].append(took)
    without, with_history = middle(times["none"]) * 1000, middle(times["full"]) * 1000
    print(f"  {without:.2f} ms with no finished rows, {with_history:.2f} ms with {history:,}", flush=True)
    return [
        Row("claim_with_history", with_history, "ms", with_history / without, "no finished rows"),
        Row("claim_without_history", without, "ms"),
    ]


async def _cycle(conn: Connection) -> float:
    """Claim one batch, read its rows, release it; seconds."""
    holder = Holder("bench", "default", 1)
    repeats = {"Email": Repeats(key_window=86_400, patience=32, resend=False, max_attempts=5)}
    began = time.perf_counter()
    batch = await queue.claim(conn, holder, uuid.uuid4(), _LEASE, repeats)
    if batch is None:
        raise RuntimeError("nothing could be claimed")
    rows = await queue.due_rows(conn, batch)
    await queue.release(conn, batch)
    took = time.perf_counter() - began
    if len(rows) != _BATCH:
        raise RuntimeError(f"a batch of {len(rows)} rows was claimed, not of {_BATCH}")
    return took


async def _finish_rows(dsn: str, history: int) -> None:
    """Add finished batches to the campaign, as they are after a hand-off; loading them needs no durability."""
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn:
        await conn.execute("SET synchronous_commit = off")
        await conn.execute("ALTER TABLE sendonce.deliveries DISABLE TRIGGER USER")
        for start in range(0, history, _CHUNK):
            span = {"first": start, "last": min(start + _CHUNK, history) - 1, "size": _BATCH}
            await conn.execute(_BATCHES, span)
            await conn.execute(_DELIVERIES, span)
            print(f"  {span['last'] + 1:,} finished rows", end="\r", flush=True)
        await conn.execute("ALTER TABLE sendonce.deliveries ENABLE TRIGGER USER")


# ids far above those of the pending batches
_BATCHES = """
INSERT INTO sendonce.batches (id, namespace, campaign_id, kind, channel, provider_id, state, claimable_at, sent)
SELECT 1000000 + n / %(size)s, 'default', c.id, 'send', 'Email', p.id, 'done', now(), %(size)s
  FROM generate_series(%(first)s::bigint, %(last)s::bigint, %(size)s) n, sendonce.campaigns c, sendonce.providers p
"""
_DELIVERIES = """
INSERT INTO sendonce.deliveries (batch_id, no, campaign_id, recipient_no, key, key_first_used_at, first_attempt_at,
       last_attempt_at, finished_at, attempt_seq, namespace, channel, address, state, message_id, worker, digest)
SELECT 1000000 + n / %(size)s, n %% %(size)s, c.id, 1000000 + n, gen_random_uuid(), now(), now(), now(), now(), 1,
       'default', 'Email', 'past' || n || '@example.com', 'sent', 'x', 'bench-worker', decode(md5(n::text), 'hex')
  FROM generate_series(%(first)s::bigint, %(last)s::bigint) n, sendonce.campaigns c
"""
