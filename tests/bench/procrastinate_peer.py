"""Procrastinate doing the same work: one job per recipient, one worker process, jobs that POST with aiohttp.

In: `defer` or `work`, a DSN, a port, a number of jobs. Out: with `work`, one JSON line when all are done.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time

import aiohttp
import procrastinate
from procrastinate import PsycopgConnector
from procrastinate.types import JSONValue
from tests.bench.baselines import IN_FLIGHT, body

_IN_ONE_GO = 500


def make_app(dsn: str, port: int, session: aiohttp.ClientSession | None) -> procrastinate.App:
    """The app with its one task."""
    app = procrastinate.App(connector=PsycopgConnector(conninfo=dsn, max_size=IN_FLIGHT // 5))

    @app.task(name="send")
    async def send(key: str) -> None:
        if session is None:
            return
        url = f"http://127.0.0.1:{port}/send"
        async with session.post(url, json=body(key), headers={"Idempotency-Key": key}) as answer:
            await answer.json()

    return app


async def defer(dsn: str, count: int) -> None:
    """Make the schema and put the jobs into the queue."""
    app = make_app(dsn, 0, None)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for start in range(0, count, _IN_ONE_GO):
            jobs: list[dict[str, JSONValue]] = [
                {"key": f"{no:036d}"} for no in range(start, min(start + _IN_ONE_GO, count))
            ]
            await app.configure_task("send").batch_defer_async(*jobs)


async def work(dsn: str, port: int) -> None:
    """Do all jobs and end."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=IN_FLIGHT)) as session:
        app = make_app(dsn, port, session)
        async with app.open_async():
            await app.run_worker_async(concurrency=IN_FLIGHT, wait=False, install_signal_handlers=False)


def main() -> None:
    """`procrastinate_peer defer DSN COUNT` or `procrastinate_peer work DSN PORT`."""
    command, dsn, number = sys.argv[1:]
    # procrastinate frowns on an app of the main module
    peer = importlib.import_module("tests.bench.procrastinate_peer")
    asyncio.run(peer.defer(dsn, int(number)) if command == "defer" else peer.work(dsn, int(number)))
    print(json.dumps({"cpu": time.process_time()}))


if __name__ == "__main__":
    main()
