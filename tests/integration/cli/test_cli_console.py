"""`sendonce console`: the console on the loopback interface, for whoever has its address."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import psutil

if TYPE_CHECKING:
    from tests.integration.cli.conftest import Sow


@asynccontextmanager
async def running(*arguments: str) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """Start the program; yields the address that it prints."""
    command = [sys.executable, "-m", "sendonce_cli", "console", "--port", "0", *arguments]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            line = (await process.stdout.readline()).decode()
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)
        assert found is not None, line
        yield found[0], process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_whoever_has_the_address_sees_everything_and_nobody_else_anything(
    sow: Sow, person: object, dsn: str
) -> None:
    await sow([person(2, "Mia", Email="mia@example.com")])  # type: ignore[operator]
    jar = aiohttp.CookieJar(unsafe=True)
    async with running("--database", dsn) as (url, process), aiohttp.ClientSession(cookie_jar=jar) as browser:
        base = url.partition("?")[0]
        async with browser.get(base) as refused:
            assert refused.status == 401
            assert "Open the whole address" in await refused.text()
        async with browser.get(url) as shown:
            assert shown.status == 200
            assert "token=" not in str(shown.url), "the token does not stay in the address"
            assert "spring" in await shown.text()
        async with browser.get(base + "ns/default/campaigns/spring/recipients") as people:
            assert "mia@example.com" in await people.text()
        elsewhere = {"Host": "example.com"}
        async with browser.get(base, headers=elsewhere) as rebound:
            assert rebound.status == 421, "a name of somebody else's that leads to this machine"
        listened = [one for one in psutil.Process(process.pid).net_connections("inet") if one.status == "LISTEN"]
        assert len(listened) == 1, "no port for operators, who are not there"
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(30):
            assert await process.wait() == 0


async def test_a_port_that_is_taken_and_a_store_that_is_not_there_are_said_so(dsn: str, tmp_path: Path) -> None:
    async with running("--database", dsn) as (url, _):
        port = re.search(r":(\d+)/", url)
        assert port is not None
        code, complaint = await ended("--port", port[1], "--database", dsn)
        assert code == 2
        assert f"--port: {port[1]} can't be used" in complaint
    code, complaint = await ended("--data", str(tmp_path / "none"))
    assert code == 4
    assert "there is no store" in complaint


async def ended(*arguments: str) -> tuple[int | None, str]:
    """Run the program to its end, which comes by itself; its exit code and complaint."""
    pipe = asyncio.subprocess.PIPE
    command = [sys.executable, "-m", "sendonce_cli", "console", *arguments]
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    _, complaint = await process.communicate()
    return process.returncode, complaint.decode()
