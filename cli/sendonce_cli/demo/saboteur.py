"""Kills workers in the middle of a run: SIGKILL at chosen shares of the way, to processes that are busy sending."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from sendonce_store import ledger
from sendonce_store.connection import Connection, StoreUnavailableError, connect
from sendonce_store.migrate import SchemaVersionError, require_current

LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Kill:
    """One worker that was killed: its process, and how many of all deliveries had ended by then."""

    pid: int
    final: int
    total: int


async def sabotage(dsn: str, namespace: str, send_key: str, parent: int, shares: Sequence[float]) -> list[Kill]:
    """Kill one child of `parent` at each share of final deliveries; returns when all shares have been passed."""
    kills: list[Kill] = []
    for share in shares:
        final, total = await _reached(dsn, namespace, send_key, share)
        victim = children(parent)[len(kills) % 2]
        os.kill(victim, signal.SIGKILL)
        kills.append(Kill(victim, final, total))
    return kills


async def _reached(dsn: str, namespace: str, send_key: str, share: float) -> tuple[int, int]:
    """Wait until that share of the deliveries has ended."""
    while True:
        try:
            conn = await connect(dsn, application_name="sendonce demo")
        except StoreUnavailableError:
            await asyncio.sleep(LOOK_SECONDS)
            continue
        try:
            return await _watch(conn, namespace, send_key, share)
        except (psycopg.Error, SchemaVersionError):
            await asyncio.sleep(LOOK_SECONDS)
        finally:
            await conn.close()


async def _watch(conn: Connection, namespace: str, send_key: str, share: float) -> tuple[int, int]:
    await require_current(conn)
    while True:
        campaign_id = await ledger.find_send_key(conn, namespace, send_key)
        seen = await ledger.overview(conn, namespace, campaign_id) if campaign_id else None
        if seen and seen.imported and seen.counts.total and seen.counts.final >= share * seen.counts.total:
            return seen.counts.final, seen.counts.total
        await asyncio.sleep(LOOK_SECONDS)


def children(pid: int) -> list[int]:
    """The child processes of a process, oldest first (proc(5), /proc/PID/task/TID/children)."""
    found = [int(text) for task in Path(f"/proc/{pid}/task").iterdir() for text in _read(task / "children").split()]
    return sorted(child for child in found if "sendonce_worker" in _read(Path(f"/proc/{child}/cmdline")))


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
