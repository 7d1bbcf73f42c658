"""One worker process and a long list: how fast it imports, how much memory that takes, and whether sending adds to it.

In: a server, an HTTP far end, how many people. Out: rows. The same process imports and then sends, and its memory is
sampled all the while.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from tests.bench import campaigns
from tests.bench.campaigns import FarEnd
from tests.bench.figures import Row
from tests.bench.processes import cpu_seconds, resident_bytes
from tests.bench.server import Server
from tests.bench.sinks import Sink

from sendonce_store.connection import Connection

MIB = 1024 * 1024
_SAMPLE_SECONDS = 0.1
_DATABASE = "bench_million"


@dataclass(slots=True)
class Samples:
    """A process's resident memory over time, in bytes."""

    bytes: list[int] = field(default_factory=list)

    def peak(self, first: float = 0.0, last: float = 1.0) -> float:
        """The highest of a part of the time, in MiB."""
        part = self.bytes[int(first * len(self.bytes)) : max(1, round(last * len(self.bytes)))]
        return max(part) / MIB


@asynccontextmanager
async def sampled(pid: int) -> AsyncIterator[Samples]:
    """Sample a process for the time of a block."""
    samples = Samples([resident_bytes(pid)])

    async def watch() -> None:
        while psutil.pid_exists(pid):
            samples.bytes.append(resident_bytes(pid))
            await asyncio.sleep(_SAMPLE_SECONDS)

    task = asyncio.create_task(watch())
    try:
        yield samples
    finally:
        task.cancel()


async def measure(server: Server, sink: Sink, folder: Path, people: int, *, send: bool) -> list[Row]:
    """Import, and send if asked to."""
    files = folder / "people"
    campaigns.write_people(files, people)
    async with server.database(_DATABASE) as dsn, campaigns.connection(dsn) as conn:
        await campaigns.adopt(conn, FarEnd(campaigns.HTTP, sink.port))
        async with campaigns.workers(1, campaigns.environment(dsn, files)) as [worker]:
            rows = await _import(server, conn, worker.pid, people)
            return rows + (await _send(conn, worker.pid, people) if send else [])


async def _import(server: Server, conn: Connection, pid: int, people: int) -> list[Row]:
    await campaigns.until(conn, "SELECT count(*) = 1 FROM sendonce.workers")
    postgres, worker = server.cpu(), cpu_seconds(pid)
    async with sampled(pid) as samples:
        await campaigns.until(conn, "SELECT import_state = 'done' FROM sendonce.campaigns")
    [seconds] = await campaigns.one(conn, _IMPORT_SECONDS)
    thousands = people / 1000
    print(f"  import: {people / seconds:,.0f} rows/s, memory at most {samples.peak():.0f} MiB", flush=True)
    return [
        Row("import_rows_per_second", people / seconds, "rows/s"),
        Row("import_memory_peak", samples.peak(), "MiB"),
        Row(
            "import_memory_growth",
            samples.peak(0.75),
            "MiB in the last quarter",
            samples.peak(0.75) / samples.peak(0.0, 0.25),
            "highest of the first quarter",
        ),
        Row("import_cpu_worker", (cpu_seconds(pid) - worker) / thousands, "CPU s per 1,000"),
        Row("import_cpu_postgres", (server.cpu() - postgres) / thousands, "CPU s per 1,000"),
    ]


async def _send(conn: Connection, pid: int, people: int) -> list[Row]:
    await conn.execute("VACUUM ANALYZE sendonce.deliveries")
    await campaigns.begin(conn)
    await campaigns.until(conn, "SELECT sum(sent) >= %s FROM sendonce.batches", people // 10)
    early = resident_bytes(pid) / MIB
    await campaigns.until(conn, "SELECT sum(pending + sending) = 0 FROM sendonce.batches")
    late = resident_bytes(pid) / MIB
    sent, seconds = await campaigns.one(conn, campaigns.SPAN)
    print(f"  sending: {sent / seconds:,.0f}/s, memory {early:.0f} → {late:.0f} MiB", flush=True)
    return [
        Row("memory_growth", late, "MiB at the end", late / early, f"{early:.0f} MiB at 10 %"),
        Row("long_run", sent / seconds, "deliveries/s"),
    ]


# from the claim of the import batch to the commit of its end
_IMPORT_SECONDS = """
SELECT extract(epoch FROM clock_timestamp() - leased_at)::float8 FROM sendonce.batches WHERE kind = 'import'
"""
