"""One worker process: connect, look at the campaign, send until there is nothing left or somebody says stop.

    runners (several)   claim a batch → import it or send it → release → again
    streaming           takes in what applications enqueue, where recipients come as a stream
    conductor           moves the campaign as a whole, looks for changed providers and Secrets, counts, beats

SIGTERM lets every runner finish what is in flight and give its batch back. Whatever stops a worker harder than that,
the next claim by any worker settles.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import uuid
from enum import Enum

import psycopg

from sendonce_store import campaigns, queue
from sendonce_store.connection import StoreUnavailableError
from sendonce_store.migrate import require_current
from sendonce_store.queries import load
from sendonce_store.queue import LeaseLostError
from sendonce_store.rows import Batch, Holder
from sendonce_worker.alarms import StoreAlarms
from sendonce_worker.campaign import Campaign
from sendonce_worker.conductor import Conductor
from sendonce_worker.health import HealthState
from sendonce_worker.importing.mounted import Files
from sendonce_worker.importing.run import ImportJob, run_import
from sendonce_worker.link import STORE_ERRORS, Link, wait_before_reconnect
from sendonce_worker.metrics import WorkerMetrics
from sendonce_worker.redaction import Redactor
from sendonce_worker.sending.clock import Lease, Moment
from sendonce_worker.sending.flying import Flying
from sendonce_worker.sending.session import Session
from sendonce_worker.sending.surroundings import Surroundings
from sendonce_worker.settings import WorkerSettings
from sendonce_worker.streaming import Streaming

logger = logging.getLogger(__name__)
SQL = load("campaigns")
# how long a runner that found nothing waits at most before it looks again, in seconds
LONGEST_IDLE = 1.0
# a batch that has rows left after this time is slow: another is claimed beside it, which may be of another channel
SLOW_SECONDS = 1.0
# an import's lease, in heartbeats
IMPORT_HEARTBEATS = 3


class Ended(Enum):
    """Why a worker stopped by itself."""

    DRAINED = "drained"
    FINISHED = "the campaign has ended"
    HALTED = "the campaign waits for a person"


class CampaignNotFoundError(Exception):
    """The store has no campaign of that send key."""


class Worker:
    """One process's work on one campaign."""

    def __init__(
        self, settings: WorkerSettings, metrics: WorkerMetrics, health: HealthState, redactor: Redactor
    ) -> None:
        """Nothing is opened before `run`."""
        self._redactor = redactor
        self._settings = settings
        self._metrics = metrics
        self._health = health
        self._stop = asyncio.Event()
        self._stirred = asyncio.Event()
        self._sessions: set[Session] = set()
        self._tail = asyncio.Event()
        self._flying = Flying(0)  # until the campaign says how many
        self._control = Link(settings.dsn, f"sendonce-worker control {settings.identity}"[:63])
        self._stream = Link(settings.dsn, f"sendonce-worker stream {settings.identity}"[:63])
        self._links = [
            Link(settings.dsn, f"sendonce-worker {no} {settings.identity}"[:63]) for no in range(settings.batches)
        ]
        self._conductor = Conductor(settings, self._control, metrics, health)
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret

    def drain(self) -> None:
        """Stop claiming, finish what is in flight, give the batches back."""
        self._stop.set()
        self._stirred.set()
        self._health.draining = True
        for session in self._sessions:
            session.drain()

    async def run(self) -> Ended:
        """Work until the campaign is over (if so asked) or `drain`.

        Raises CampaignNotFoundError, NotReadyError, SchemaVersionError, StoreUnavailableError at the start; later
        the store may come and go.
        """
        try:
            try:
                campaign = await self._begin()
            except psycopg.Error as error:
                message = f"the store went away at the start: {error}"
                raise StoreUnavailableError(message) from error
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._conductor.run(campaign, self._stop, self._stirred, self.drain))
                self._flying = Flying(campaign.concurrency)
                if campaign.stored.spec.recipients.stream is not None:
                    streaming = Streaming(campaign.stored, self._stream, self._stirred)
                    tasks.create_task(streaming.run(self._stop))
                for link in self._links:
                    tasks.create_task(self._runner(link, campaign))
            await self._say_goodbye(campaign)
            await campaign.aclose()
        finally:
            for link in (self._control, self._stream, *self._links):
                await link.close()
        return self._why()

    def _why(self) -> Ended:
        if self._conductor.ended:
            return Ended.FINISHED
        return Ended.HALTED if self._conductor.halted else Ended.DRAINED

    async def _begin(self) -> Campaign:
        settings = self._settings
        async with self._control.use() as conn:
            await require_current(conn)
            stored = await campaigns.read(conn, settings.namespace, settings.send_key)
            if stored is None:
                message = (
                    f"there is no campaign with send key {settings.send_key!r} in namespace {settings.namespace!r}"
                )
                raise CampaignNotFoundError(message)
            campaign = Campaign(stored, settings, self._control, self._redactor)
            await conn.execute(
                SQL["register_worker"],
                {"worker": settings.identity, "namespace": settings.namespace, "campaign": stored.id},
            )
            await campaign.refresh(conn)
        self._health.store_connected = self._health.claiming = True
        return campaign

    async def _say_goodbye(self, campaign: Campaign) -> None:
        """Tell the store that this process is gone for certain: an ordered Resend need not wait for it.

        The campaign may have nothing left since the last look, and that be why it was told to stop.
        """
        try:
            async with self._control.use() as conn:
                await conn.execute(SQL["worker_stopped"], {"worker": self._settings.identity})
                await self._conductor.finish(conn, campaign)
        except STORE_ERRORS as error:
            logger.warning("could not say goodbye: %s", error)

    # --- runners -----------------------------------------------------------------------------------------------------

    async def _runner(self, link: Link, campaign: Campaign) -> None:
        failures = 0
        while not self._stop.is_set():
            await self._let_others_finish()
            try:
                if not await self._one_batch(link, campaign):
                    await self._idle(link, campaign)
            except STORE_ERRORS as error:
                self._health.store_connected = False
                logger.warning("store: %s", error)
                await wait_before_reconnect(failures)
                failures += 1
            else:
                self._health.store_connected = True
                failures = 0

    async def _let_others_finish(self) -> None:
        """One batch at a time makes the largest groups: the next is claimed in its tail, or when it is slow."""
        if any(session.has_more for session in self._sessions):
            self._tail.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._tail.wait(), SLOW_SECONDS)

    async def _one_batch(self, link: Link, campaign: Campaign) -> bool:
        asked_at = Moment.now()
        token = uuid.uuid4()
        async with link.use() as conn:
            batch = await queue.claim(conn, self._holder(campaign), token, campaign.longest_lease, campaign.repeats)
        if batch is None:
            return False
        if batch.kind == "import":
            await self._import(link, campaign, batch)
        else:
            await self._send(link, campaign, batch, asked_at)
        return True

    def _holder(self, campaign: Campaign) -> Holder:
        return Holder(self._settings.identity, campaign.stored.namespace, campaign.stored.id)

    async def _send(self, link: Link, campaign: Campaign, batch: Batch, asked_at: Moment) -> None:
        plan = campaign.plans[batch.channel or ""]
        lease = Lease(plan.lease, plan.rules.repeats.patience, asked_at)
        alarms = StoreAlarms(self._control, campaign.stored.id)
        around = Surroundings(
            link,
            self._holder(campaign),
            self._metrics,
            alarms,
            self._settings.heartbeat,
            self._rng,
            self._flying,
            self._tail,
        )
        session = Session(around, batch, plan, lease)
        self._sessions.add(session)
        if self._stop.is_set():
            session.drain()
        try:
            await session.run()
        finally:
            self._sessions.discard(session)

    async def _import(self, link: Link, campaign: Campaign, batch: Batch) -> None:
        lease = IMPORT_HEARTBEATS * self._settings.heartbeat
        files = Files(self._settings.files)
        job = ImportJob(batch, self._holder(campaign), campaign.stored, files, lease, self._settings.heartbeat)
        renewals = Link(self._settings.dsn, f"sendonce-worker import {self._settings.identity}"[:63])
        try:
            async with link.use() as conn, renewals.use() as second:
                await run_import(conn, second, job, self._stop)
        except LeaseLostError as error:
            self._metrics.lease_lost()
            logger.warning("import: %s", error)
        finally:
            await renewals.close()
        self._stirred.set()

    async def _idle(self, link: Link, campaign: Campaign) -> None:
        """Wait until a batch comes due, at most a second: others may reopen one."""
        async with link.use() as conn:
            due = await queue.next_due(conn, campaign.stored.id)
        wait = LONGEST_IDLE if due is None or due <= 0 else min(LONGEST_IDLE, due)
        self._stirred.clear()
        if self._stop.is_set():
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stirred.wait(), max(0.01, wait))
