"""Worker processes, as Kubernetes starts and ends them, and a simulated far end for them.

In: the environment of a worker. Out: a process with its exit code, its words and its health port.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import pytest_asyncio

from sendonce_cli.simulate import Behaviour, Chances, Simulator, SimulatorSettings, Style, serve

PATIENCE = 60.0


class WorkerProcess:
    """One worker. Its standard error is what a person would see of it."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._words = asyncio.create_task(self._read())
        self._said: list[str] = []

    async def _read(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self._said.append(line.decode())

    @property
    def words(self) -> str:
        return "".join(self._said)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def exit_code(self) -> int:
        """Wait for its end."""
        async with asyncio.timeout(PATIENCE):
            code = await self._process.wait()
            await self._words
        return code

    async def kill(self) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
        await self.exit_code()

    async def get(self, path: str) -> httpx.Response:
        """Ask its health port."""
        ports = [
            connection.laddr.port
            for connection in psutil.Process(self._process.pid).net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        ]
        assert len(ports) == 1
        async with httpx.AsyncClient(trust_env=False) as client:
            return await client.get(f"http://127.0.0.1:{ports[0]}{path}")


class Crew:
    """Starts workers; those that are left in the end are killed."""

    def __init__(self, dsn: str, files: Path) -> None:
        self.dsn = dsn
        self.files = files
        self._workers: list[WorkerProcess] = []

    async def start(self, **env: str) -> WorkerProcess:
        """Start one; its settings are short, so that a test is."""
        settings = {
            "SENDONCE_DSN": self.dsn,
            "SENDONCE_NAMESPACE": "default",
            "SENDONCE_SEND_KEY": "spring",
            "SENDONCE_FILES": str(self.files),
            "SENDONCE_HEARTBEAT_SECONDS": "0.5",
            "SENDONCE_HEALTH_PORT": "0",
            "SENDONCE_BATCHES": "1",
            "SENDONCE_CONCURRENCY": "4",
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "sendonce_worker", env={**os.environ, **settings, **env}, stderr=PIPE
        )
        worker = WorkerProcess(process)
        self._workers.append(worker)
        return worker

    async def aclose(self) -> None:
        for worker in self._workers:
            await worker.kill()


@pytest_asyncio.fixture
async def crew(worker_dsn: str, tmp_path: Path) -> AsyncIterator[Crew]:
    """Yield what starts workers on the database of `world`, with the login of its namespace."""
    crew = Crew(worker_dsn, tmp_path)
    yield crew
    await crew.aclose()


@pytest.fixture
def simulate(tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[Simulator]]:
    """Return what runs a far end for the time of a block."""

    def run(
        *, token: str | None = None, chances: Chances | None = None, style: Style = Style.PLAIN, **behaviour: Any
    ) -> Any:
        shown = Behaviour(chances=chances or Chances(), **behaviour)
        ledger, fields = tmp_path / "ledger.ndjson", ("to", "To")
        return serve(SimulatorSettings(ledger=ledger, behaviour=shown, token=token, style=style, to_fields=fields))

    return run
