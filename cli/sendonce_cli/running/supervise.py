"""A run from its first worker to its end: look at the ledger, look after the processes, stop when there is a reason.

look      read the campaign's overview; the database may go away for a while
reap      who is gone is marked as stopped in the store, so that an ordered Resend knows
decide    `next_move`: go on, or stop because it has ended, waits for a person, or was interrupted
start     replace the workers that are missing, later and later while they keep dying
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum

import psycopg

from sendonce_cli.exits import CliError, Exit
from sendonce_cli.running.crew import Crew, Departed
from sendonce_cli.running.progress import Progress
from sendonce_store import ledger
from sendonce_store.connection import Connection, StoreUnavailableError, connect
from sendonce_store.queries import load
from sendonce_store.standing import Overview

__all__ = ["Ended", "Run", "Stop", "next_move", "supervise"]

CAMPAIGN_SQL = load("campaigns")
LOOK_SECONDS = 0.25
# for how long the database may be away
PATIENCE_SECONDS = 120.0
# workers that die so soon after their start, so often in a row, will not do better the next time
SOON_SECONDS = 10.0
MOST_DEATHS = 6
CONFIGURATION, STORE = 2, 3


class Ended(Enum):
    """Why a run stopped."""

    OVER = "over"  # the campaign has ended
    WAITS = "waits"  # a person must promote, resume or mend
    INTERRUPTED = "interrupted"


@dataclass(slots=True)
class Stop:
    """How often a person has said stop."""

    asked: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """What is to be run. `wait`: go on waiting where a person is needed."""

    dsn: str
    namespace: str
    campaign_id: int
    workers: int
    wait: bool


@dataclass(slots=True)
class _Deaths:
    """Workers that ended on their own, in a row, soon after their start; and when to start the next."""

    in_a_row: int = 0
    next_start: float = 0.0
    last: Departed | None = field(default=None)

    def note(self, gone: Departed, now: float) -> None:
        """Take one death in."""
        self.last = gone
        self.in_a_row = self.in_a_row + 1 if gone.seconds < SOON_SECONDS else 1
        self.next_start = now + min(5.0, 0.1 * 2**self.in_a_row)


def next_move(campaign: Overview, *, interrupted: bool, wait: bool) -> Ended | None:
    """Why to stop now; None to go on."""
    if campaign.ended is not None:
        return Ended.OVER
    if interrupted:
        return Ended.INTERRUPTED
    halted = campaign.halt_reason is not None or campaign.suspended or campaign.rollout_stage == "awaiting"
    return Ended.WAITS if halted and not wait and not campaign.cancelled else None


def wanted_workers(campaign: Overview, workers: int) -> int:
    """How many processes there should be: none while everything waits for a person."""
    return 0 if campaign.halt_reason is not None and not campaign.cancelled else workers


async def supervise(run: Run, crew: Crew, progress: Progress, stop: Stop) -> tuple[Ended, Overview]:
    """Run until there is a reason to stop; all processes are gone then. Raises CliError when workers keep dying."""
    watch = _Watch(run)
    try:
        campaign = await watch.look()
        ended = next_move(campaign, interrupted=False, wait=run.wait)
        while ended is None:
            await _look_after(watch, crew, progress, campaign)
            await asyncio.sleep(LOOK_SECONDS)
            campaign = await watch.look()
            progress.show(campaign, crew.size)
            ended = next_move(campaign, interrupted=stop.asked > 0, wait=run.wait)
        if ended is Ended.INTERRUPTED:
            progress.say("stopping: what is in flight is finished first; once more to stop at once")
        campaign = await _disband(watch, crew, progress, stop)
        return (Ended.OVER if campaign.ended else ended), campaign
    finally:
        crew.kill()
        await watch.mark_all(crew)
        await watch.close()


async def _look_after(watch: _Watch, crew: Crew, progress: Progress, campaign: Overview) -> None:
    now = time.monotonic()
    for gone in crew.reap():
        await watch.mark_stopped(gone)
        if gone.code == 0:
            continue
        watch.deaths.note(gone, now)
        _give_up_if_hopeless(watch.deaths, gone)
        progress.say(f"{gone.story}; another takes its place")
    while crew.size < wanted_workers(campaign, watch.run.workers) and now >= watch.deaths.next_start:
        crew.start()


def _give_up_if_hopeless(deaths: _Deaths, gone: Departed) -> None:
    if gone.code == CONFIGURATION:
        raise CliError(gone.words or gone.story, Exit.BAD_INPUT)
    if deaths.in_a_row >= MOST_DEATHS:
        code = Exit.STORE if gone.code == STORE else Exit.BUG
        raise CliError(f"{gone.story}, as did {deaths.in_a_row - 1} before it, right after their start", code)


async def _disband(watch: _Watch, crew: Crew, progress: Progress, stop: Stop) -> Overview:
    """Let the workers finish what is in flight; a second interruption kills them."""
    asked = max(1, stop.asked)
    crew.drain()
    killed = False
    while crew.size:
        if stop.asked > asked and not killed:
            killed = True
            crew.kill()
        await asyncio.sleep(LOOK_SECONDS / 5)
        for gone in crew.reap():
            await watch.mark_stopped(gone)
    campaign = await watch.look()
    progress.show(campaign, crew.size)
    return campaign


class _Watch:
    """The supervisor's own connection, which comes back after the database was away."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.deaths = _Deaths()
        self._conn: Connection | None = None
        self._unmarked: list[str] = []

    async def look(self) -> Overview:
        """Read the campaign. Raises StoreUnavailableError when the database is away for too long."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                conn = await self._connected()
                await self._mark(conn)
                found = await ledger.overview(conn, self.run.namespace, self.run.campaign_id)
            except (psycopg.Error, StoreUnavailableError) as error:
                await self.close()
                if time.monotonic() > until:
                    raise CliError(f"the database is gone: {error}", Exit.STORE) from error
                await asyncio.sleep(LOOK_SECONDS)
            else:
                if found is None:
                    raise CliError("the campaign's row is gone from the store", Exit.NOT_FOUND)
                return found

    async def mark_stopped(self, gone: Departed) -> None:
        """Note in the store, now or when the database is back, that a process is gone for certain."""
        self._unmarked.append(gone.identity)
        with suppress(psycopg.Error, StoreUnavailableError):
            await self._mark(await self._connected())

    async def mark_all(self, crew: Crew) -> None:
        """Before leaving: note those that are gone, if the database lets us."""
        while crew.size:
            for gone in crew.reap():
                await self.mark_stopped(gone)
            await asyncio.sleep(0.01)

    async def _mark(self, conn: Connection) -> None:
        while self._unmarked:
            await conn.execute(CAMPAIGN_SQL["worker_stopped"], {"worker": self._unmarked[-1]})
            self._unmarked.pop()

    async def _connected(self) -> Connection:
        if self._conn is None or self._conn.broken or self._conn.closed:
            self._conn = await connect(self.run.dsn, application_name="sendonce run")
        return self._conn

    async def close(self) -> None:
        """Close the connection."""
        conn, self._conn = self._conn, None
        if conn is not None:
            await conn.close()
