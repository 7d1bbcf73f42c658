"""How much room a campaign takes in the store, measured: so many people in, bytes per delivery and rows per GiB out.

    .venv/bin/python tools/capacity.py                     100,000 people, in a PostgreSQL of its own
    .venv/bin/python tools/capacity.py --people 1000000    takes some minutes

The rows are written by the store's own functions, as an import and workers with an HTTP provider write them: each
delivery is imported, becomes `sending`, then `sent`. Nothing is handed to anybody. What the write-ahead log took is
told as well: archives and replicas get that much.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sendonce_cli.embedded import EmbeddedPostgres
from sendonce_store import campaigns, imports, queue
from sendonce_store.connection import Connection, connect
from sendonce_store.import_rows import Plan
from sendonce_store.migrate import migrate
from sendonce_store.recipients import Address, Recipient
from sendonce_store.rows import Batch, Holder, Repeats, Result, Terms, Turn
from sendonce_store.spec import NotificationCampaign, NotificationProvider

CHUNK = 5_000
GROUP = 50
GIB = 2**30
LEASE = 600.0
TERMS = Terms(Repeats(key_window=86_400, patience=32, resend=False, max_attempts=5), [])
PROVIDER = {"type": "HTTP", "http": {"url": "http://127.0.0.1:9/"}}
MESSAGE = {
    "channel": "Email",
    "providerRef": {"name": "capacity"},
    "template": {"from": "news@example.com", "subject": "Hello {{ name }}", "text": "Hello {{ name }}"},
}
CAMPAIGN = {"category": "Marketing", "recipients": {"inline": [{"email": "x@example.com"}]}, "messages": [MESSAGE]}
_SIZES = """
SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
 WHERE relnamespace = 'sendonce'::regnamespace AND relkind = 'r' AND pg_total_relation_size(oid) > 1000000
 ORDER BY 2 DESC
"""
_WAL = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS bytes"


@dataclass(frozen=True, slots=True)
class Measured:
    """Bytes of each large table with its indexes after VACUUM, and of the write-ahead log."""

    people: int
    tables: dict[str, int]
    log: int

    def report(self) -> str:
        """A table for people."""
        rows = [f"{name:<20} {size / self.people:>8.0f} bytes per delivery" for name, size in self.tables.items()]
        each = sum(self.tables.values()) / self.people
        rows.append(f"{'together':<20} {each:>8.0f} bytes per delivery: {GIB / each:,.0f} deliveries per GiB")
        rows.append(f"{'write-ahead log':<20} {self.log / self.people:>8.0f} bytes per delivery")
        return "\n".join(rows)


async def measure(conn: Connection, people: int) -> Measured:
    """Import and `send` to so many people in an empty store."""
    before = await _number(conn, _WAL)
    holder = await _campaign(conn)
    await _import(conn, holder, people)
    while batch := await queue.claim(conn, holder, uuid.uuid4(), LEASE, {"Email": TERMS.repeats}):
        await _send(conn, holder, batch)
    log = await _number(conn, _WAL) - before
    await conn.execute("VACUUM ANALYZE")
    cursor = await conn.execute(_SIZES)
    return Measured(people, {row["name"]: row["bytes"] for row in await cursor.fetchall()}, log)


async def _number(conn: Connection, statement: str) -> int:
    cursor = await conn.execute(statement.encode())
    row: dict[str, Any] = await cursor.fetchone() or {}
    return int(row["bytes"])


async def _campaign(conn: Connection) -> Holder:
    named = {"metadata": {"name": "capacity"}}
    await campaigns.sync_provider(conn, NotificationProvider.from_wire({**named, "spec": PROVIDER}))
    document = NotificationCampaign.from_wire({**named, "spec": CAMPAIGN})
    adoption = await campaigns.adopt(conn, document, document.spec)
    return Holder("capacity-0123456789abcdef", "default", adoption.campaign_id)


async def _import(conn: Connection, holder: Holder, people: int) -> None:
    batch = await queue.claim(conn, holder, uuid.uuid4(), LEASE, {})
    if batch is None or batch.kind != "import":
        raise SystemExit("the store is not empty: name a fresh database")
    plan: Plan = await imports.prepare(conn, holder.campaign_id)
    for chunk in _people(people):
        await imports.commit_chunk(conn, batch, holder, plan.chunk(chunk, (), {"line": chunk[-1].line}), LEASE)
    await imports.finish(conn, batch, holder)


def _people(count: int) -> Iterator[list[Recipient]]:
    for start in range(0, count, CHUNK):
        yield [_person(line) for line in range(start + 1, min(start + CHUNK, count) + 1)]


def _person(line: int) -> Recipient:
    address = f"reader.number{line}@example.com"
    known = {"name": f"Reader {line}", "code": f"{line:08x}"}
    return Recipient(line, f"c-{line:08}", {"Email": Address(address, address)}, "Asia/Tokyo", None, known)


async def _send(conn: Connection, holder: Holder, batch: Batch) -> None:
    """In groups, each result written with the next group, as a worker does."""
    rows = await queue.due_rows(conn, batch)
    results: list[Result] = []
    for start in range(0, len(rows), GROUP):
        group = [(row.no, bytes(32)) for row in rows[start : start + GROUP]]
        done = await queue.take_turn(conn, batch, holder, Turn(results=results, group=group), TERMS)
        results = [Result(one.no, one.attempt_seq, "sent", message_id=str(uuid.uuid4())) for one in done.started]
    await queue.take_turn(conn, batch, holder, Turn(results=results), TERMS)
    await queue.release(conn, batch)


async def _measured(dsn: str, people: int) -> Measured:
    await migrate(dsn)
    conn = await connect(dsn, application_name="capacity")
    try:
        return await measure(conn, people)
    finally:
        await conn.close()


async def _with_own_server(folder: Path, people: int) -> Measured:
    async with EmbeddedPostgres(folder) as server:
        return await _measured(server.dsn(), people)


def run(database: str | None, people: int) -> Measured:
    """Measure in a database, or with a server that is gone afterwards."""
    if database is not None:
        return asyncio.run(_measured(database, people))
    with tempfile.TemporaryDirectory(prefix="sendonce-capacity-") as folder:
        # the server may be another user, who must get in
        Path(folder).chmod(0o711)
        return asyncio.run(_with_own_server(Path(folder) / "postgres", people))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--database", metavar="DSN", help="an empty database to do it in; default: a server of its own")
    options = parser.parse_args()
    if options.people < CHUNK:
        parser.error(f"--people: {options.people} is too few to tell anything: at least {CHUNK}")
    print(run(options.database, options.people).report())


if __name__ == "__main__":
    main()
