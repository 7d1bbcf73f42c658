"""The processes of a run: workers that are replaced when they die, and the far end.

In: a scenario and the addresses. Out: live processes, signals to them, and their logs in the run's folder. Only
processes that were started here are ever signalled, each by its own handle.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos.scenario import BATCHES_PER_WORKER, HEARTBEAT, Scenario
from tests.chaos.story import Story

_END_SECONDS = 20.0
_READY_SECONDS = 30.0


@dataclass(slots=True)
class Member:
    """One worker process. `frozen`: since when it stands still."""

    name: str
    process: asyncio.subprocess.Process
    frozen: float | None = None
    done: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """Whether it runs, or stands still."""
        return self.process.returncode is None


class Crew:
    """The workers of one run."""

    def __init__(self, scenario: Scenario, folder: Path, env: Mapping[str, str], story: Story) -> None:
        """`env`: what every worker gets, its identity aside."""
        self._scenario = scenario
        self._folder = folder
        self._env = dict(os.environ) | dict(env)
        self._story = story
        self._members: list[Member] = []
        self._started = 0
        self._closing = False
        self.ends: list[tuple[str, int]] = []

    async def start(self) -> None:
        """Start the first workers."""
        for slot in range(self._scenario.workers):
            self._members.append(await self._spawn(slot))

    @property
    def gone(self) -> list[str]:
        """The names of those that have ended."""
        return [name for name, _ in self.ends]

    def member(self, slot: int) -> Member:
        """Who is in that place now."""
        return self._members[slot % len(self._members)]

    async def _spawn(self, slot: int) -> Member:
        self._started += 1
        name = f"w{slot}-{self._started}"
        with (self._folder / f"worker-{name}.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "sendonce_worker",
                env=self._env | _worker_env(self._scenario, name), stdout=log, stderr=log,
            )  # fmt: skip
        member = Member(name, process)
        member.done = asyncio.create_task(self._watch(slot, member))
        self._story.say(f"worker {name} started, pid {process.pid}")
        return member

    async def _watch(self, slot: int, member: Member) -> None:
        code = await member.process.wait()
        self._story.say(f"worker {member.name} ended with {code}")
        self.ends.append((member.name, code))
        if self._closing:
            return
        await asyncio.sleep(0.2)
        if not self._closing:
            self._members[slot] = await self._spawn(slot)

    def signal(self, member: Member, number: signal.Signals) -> None:
        """Send a signal, unless the process is gone."""
        if member.alive:
            self._story.say(f"{number.name} to worker {member.name}")
            # not the process object's own way: it would take the exit code away from asyncio
            with suppress(ProcessLookupError):
                os.kill(member.process.pid, number)

    def freeze(self, member: Member) -> None:
        """Make it stand still."""
        self.signal(member, signal.SIGSTOP)
        member.frozen = time.time()

    def thaw(self, member: Member) -> None:
        """Let it go on."""
        if member.frozen is not None:
            self.signal(member, signal.SIGCONT)
            self._story.mark("freeze", member.frozen)
            member.frozen = None

    async def replace_all(self) -> None:
        """End everybody, politely, and wait until others have taken their places."""
        old = [member for member in self._members if member.alive]
        for member in old:
            self.thaw(member)
            self.signal(member, signal.SIGTERM)
        await asyncio.gather(*[member.done for member in old if member.done is not None])

    async def stop(self) -> None:
        """End everybody, politely first; nobody is replaced any more."""
        self._closing = True
        for member in self._members:
            self.thaw(member)
            self.signal(member, signal.SIGTERM)
        watching = [member.done for member in self._members if member.done is not None]
        if watching:
            _, late = await asyncio.wait(watching, timeout=_END_SECONDS)
            if late:
                self._story.say(f"{len(late)} workers did not end within {_END_SECONDS} s of SIGTERM")
        for member in self._members:
            if member.alive:
                self.signal(member, signal.SIGKILL)
        await asyncio.gather(*watching)


def _worker_env(scenario: Scenario, name: str) -> dict[str, str]:
    return {
        "SENDONCE_WORKER_ID": name,
        "SENDONCE_HEARTBEAT_SECONDS": str(HEARTBEAT),
        "SENDONCE_CONCURRENCY": str(scenario.concurrency),
        "SENDONCE_BATCHES": str(BATCHES_PER_WORKER),
        "SENDONCE_GRACE_SECONDS": "5",
        "SENDONCE_HEALTH_PORT": "",
        "SENDONCE_LOG_FORMAT": "console",
    }


class FarEndProcess:
    """The simulated far end of one run."""

    def __init__(self, scenario: Scenario, folder: Path, story: Story) -> None:
        """Nothing runs before `start`."""
        self._scenario = scenario
        self._story = story
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self.ledger = folder / "ledger.ndjson"
        self.ports: dict[str, int] = {}

    async def start(self) -> None:
        """Start it and read its ports."""
        with (self._folder / "far-end.log").open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "sendonce_cli.simulate", *self._options(),
                stdout=asyncio.subprocess.PIPE, stderr=log,
            )  # fmt: skip
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), _READY_SECONDS)
        self.ports = {name: port for name, port in json.loads(line).items() if isinstance(port, int)}

    def _options(self) -> list[str]:
        options = ["--ledger", str(self.ledger), "--drain-seconds", "12"]
        options += ["--key-window", str(self._scenario.key_window or 0)]
        for name, value in self._scenario.far_end.items():
            options += [f"--{name}", str(value)]
        for name, value in self._scenario.chances.items():
            options += ["--chance", f"{name}={value}"]
        return options

    async def order(self, body: Mapping[str, Any]) -> None:
        """Change how it behaves."""
        self._story.say(f"far end: {dict(body)}")
        text = json.dumps(dict(body)).encode()
        head = f"POST /control HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", self.ports["control"])
        writer.write(head.encode() + text)
        answer = await reader.read()
        writer.close()
        if b" 200 " not in answer.split(b"\r\n", 1)[0]:
            raise RuntimeError(f"the far end does not obey {body}: {answer.decode()}")

    async def stop(self) -> None:
        """End it once everything that it was deciding is in its ledger."""
        if self._process is None or self._process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), _END_SECONDS)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    def hand_offs(self) -> int:
        """How many hand-offs its ledger has now."""
        return self.ledger.read_bytes().count(b"\n") if self.ledger.exists() else 0
