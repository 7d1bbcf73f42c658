"""The gateway as a process of its own: it begins, serves, and ends in order."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, LiteralString

import aiohttp
import psycopg
from psycopg.conninfo import make_conninfo

if TYPE_CHECKING:
    from tests.integration.gateway.conftest import Gate

    from sendonce_store.tenancy import Login

ONE_CLICK = {"List-Unsubscribe": "One-Click"}


@asynccontextmanager
async def program(**variables: str) -> AsyncIterator[Process]:
    given = {name: value for name, value in os.environ.items() if not name.startswith("SENDONCE_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "sendonce_gateway", env={**given, **variables}, stdout=DEVNULL, stderr=PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_it_serves_until_it_is_told_to_stop_and_finishes_what_is_under_way(
    gate: Gate, dsn: str, login: Login
) -> None:
    path = await gate.link()
    own = make_conninfo(dsn, user=login.role, password=login.password)
    where = {"SENDONCE_GATEWAY_URL": "http://localhost:8080", "SENDONCE_GATEWAY_PORT": "0", "SENDONCE_OPS_PORT": ""}
    async with program(SENDONCE_DSN=own, **where) as process, asyncio.timeout(60):
        assert process.stderr is not None
        first = json.loads(await process.stderr.readline())
        url = f"http://127.0.0.1:{first['message'].rpartition(' ')[2]}"
        # somebody holds the row that a request has to write, while the gateway is told to stop
        async with await psycopg.AsyncConnection.connect(dsn) as holder:
            await holder.execute("LOCK TABLE sendonce.opt_outs IN ACCESS EXCLUSIVE MODE")
            async with aiohttp.ClientSession() as client:
                asked = asyncio.create_task(client.post(url + path, data=ONE_CLICK))
                await _waits_for_the_lock(gate)
                process.send_signal(signal.SIGTERM)
                assert "gateway ends" in (await process.stderr.readline()).decode()
                await holder.rollback()
                async with await asked as response:
                    assert response.status == 200
        assert await process.wait() == 0
    assert len(await gate.opt_outs()) == 1


async def _waits_for_the_lock(gate: Gate) -> None:
    waiting: LiteralString = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    while True:
        if await gate.rows(waiting):
            return
        await asyncio.sleep(0.02)


async def test_settings_that_are_wrong_end_it_at_once_with_their_name() -> None:
    async with program(SENDONCE_DSN="host=nowhere") as process, asyncio.timeout(60):
        _, err = await process.communicate()
    assert (process.returncode, err.decode()) == (2, "error: SENDONCE_GATEWAY_URL is not set\n")
