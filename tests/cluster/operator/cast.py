"""What stands in for Pods where none run, and the operator as a process.

In: a kubeconfig, a database. Out: an operator that a test starts, kills and starts again; worker processes for every
Deployment of a namespace, with the environment that its Pods would have, so many as it has replicas.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from sendonce_operator.cluster import Cluster, ClusterError

LOOK_SECONDS = 0.1
PROGRAM = ("-m", "sendonce_operator")


def _is_a_campaigns(deployment: Mapping[str, Any]) -> bool:
    return "sendonce.dev/campaign" in deployment["metadata"].get("labels", {})


async def _end(process: Process, number: signal.Signals) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.send_signal(number)
    await process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class OperatorProcess:
    """One operator; `log` is what it prints."""

    kubeconfig: Path
    dsn: str
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    health_port: int = field(default_factory=free_port)
    program: Sequence[str] = PROGRAM
    process: Process | None = None

    async def start(self) -> None:
        settings = {
            "KUBECONFIG": str(self.kubeconfig),
            "SENDONCE_DSN": self.dsn,
            "SENDONCE_WORKER_IMAGE": "example.invalid/worker:1",
            "SENDONCE_TICK_SECONDS": "0.2",
            "SENDONCE_STATUS_SECONDS": "0.2",
            "SENDONCE_RESYNC_SECONDS": "5",
            "SENDONCE_OWNER_SECONDS": "5",
            "SENDONCE_HEALTH_PORT": str(self.health_port),
            "SENDONCE_METRICS_PORT": "",
            "PYTHONWARNINGS": "default",
        }
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                *self.program,
                env={**os.environ, **settings, **self.environment},
                stdin=DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def words(self) -> str:
        return self.log.read_text("utf-8") if self.log.exists() else ""

    async def health(self) -> int:
        """What the liveness probe is answered: HTTP's status, 0 without an answer."""
        async with httpx.AsyncClient(trust_env=False) as client:
            try:
                return (await client.get(f"http://127.0.0.1:{self.health_port}/healthz")).status_code
            except httpx.TransportError:
                return 0

    async def is_well(self) -> bool:
        return await self.health() == 200

    async def kill(self) -> None:
        if self.process is not None:
            await _end(self.process, signal.SIGKILL)

    async def stop(self) -> int:
        """Ask it to end, and return its exit code."""
        assert self.process is not None
        await _end(self.process, signal.SIGTERM)
        assert self.process.returncode is not None
        return self.process.returncode


class Pods:
    """Worker processes in the place of a namespace's Pods."""

    def __init__(self, api: Cluster, namespace: str, dsn: str, files: Path, log: Path) -> None:
        self._api = api
        self._namespace = namespace
        self.dsn = dsn
        self.files = files
        self._log = log
        self._running: dict[str, list[Process]] = {}
        self._ending: list[Process] = []
        self._most: dict[str, int] = {}
        self._task = asyncio.create_task(self._follow())
        self.open = asyncio.Event()
        self.open.set()

    def most(self, deployment: str) -> int:
        """How many there have been at a time at most."""
        return self._most.get(deployment, 0)

    def health_port(self) -> str:
        """The port of the next worker's health and metrics; empty: it has none."""
        return ""

    def signal(self, deployment: str, number: signal.Signals) -> int:
        """Send a signal to a Deployment's workers; returns how many there are."""
        processes = [one for one in self._running.get(deployment, []) if one.returncode is None]
        for process in processes:
            process.send_signal(number)
        return len(processes)

    def kill(self) -> int:
        """Kill all workers, as a lost node would; returns how many. Others take their place."""
        processes = [process for group in self._running.values() for process in group if process.returncode is None]
        for process in processes:
            process.kill()
        return len(processes)

    async def _follow(self) -> None:
        path = f"/apis/apps/v1/namespaces/{self._namespace}/deployments"
        while True:
            await self.open.wait()
            try:
                found = (await self._api.get(path))["items"]
            except ClusterError:
                await asyncio.sleep(LOOK_SECONDS)
                continue
            await self._match({one["metadata"]["name"]: one for one in found if _is_a_campaigns(one)})
            await asyncio.sleep(LOOK_SECONDS)

    async def _match(self, deployments: Mapping[str, Any]) -> None:
        for name in {*deployments, *self._running}:
            group = [one for one in self._running.get(name, []) if one.returncode is None]
            wanted = deployments[name]["spec"]["replicas"] if name in deployments else 0
            while len(group) > wanted:
                gone = group.pop()
                gone.terminate()
                self._ending.append(gone)
            while len(group) < wanted:
                group.append(await self._start(deployments[name]))
            self._running[name] = group
            self._most[name] = max(self._most.get(name, 0), wanted)

    async def _start(self, deployment: Mapping[str, Any]) -> Process:
        container = deployment["spec"]["template"]["spec"]["containers"][0]
        given = {one["name"]: one["value"] for one in container["env"] if "value" in one}
        given.pop("SENDONCE_DSN_FILE", None)
        own = {
            "SENDONCE_DSN": self.dsn,
            "SENDONCE_FILES": str(self.files),
            "SENDONCE_HEALTH_PORT": self.health_port(),
            "SENDONCE_HEARTBEAT_SECONDS": "0.5",
        }
        with self._log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "sendonce_worker",
                env={**os.environ, **given, **own},
                stdout=log,
                stderr=log,
            )

    async def aclose(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        for process in [*self._ending, *(one for group in self._running.values() for one in group)]:
            await _end(process, signal.SIGKILL)
