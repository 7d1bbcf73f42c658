"""Child processes: started and ended by their own handle, and what each of them cost.

In: commands. Out: their JSON answer, or the process itself; CPU seconds and memory read from the kernel.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 20.0


async def spawn(*command: str, env: Mapping[str, str] | None = None, output: int | None = None) -> Process:
    """Start a program; `output` as subprocess takes it for standard output."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    surroundings = {**os.environ, "PYTHONPATH": path, **(env or {})}
    return await asyncio.create_subprocess_exec(*command, env=surroundings, stdout=output)


def module(name: str, *arguments: str) -> list[str]:
    """The command that runs a module of ours with this Python."""
    return [sys.executable, "-m", name, *arguments]


async def ask(name: str, *arguments: str) -> dict[str, Any]:
    """Run a module to its end; its last line of output is its answer. Raises RuntimeError."""
    process = await spawn(*module(name, *arguments), output=PIPE)
    try:
        out, _ = await process.communicate()
    finally:
        await end(process)
    if process.returncode:
        raise RuntimeError(f"{name} {' '.join(arguments)} ended with status {process.returncode}")
    answer: dict[str, Any] = json.loads(out.splitlines()[-1])
    return answer


async def end(process: Process) -> None:
    """Ask it to go, then make it go."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(sign)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), PATIENCE)


@asynccontextmanager
async def running(*command: str, env: Mapping[str, str] | None = None) -> AsyncIterator[Process]:
    """A program for the time of a block."""
    process = await spawn(*command, env=env)
    try:
        yield process
    finally:
        await end(process)


def cpu_seconds(pid: int) -> float:
    """CPU time of a process, of its children, and of those that it has outlived."""
    parent = psutil.Process(pid)
    total = sum(parent.cpu_times()[:4])
    for child in parent.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            total += sum(child.cpu_times()[:2])
    return float(total)


def resident_bytes(pid: int) -> int:
    """Memory of a process that is in RAM now."""
    return int(psutil.Process(pid).memory_info().rss)
