"""The worker's second task: what concerns the campaign as a whole, about once a second.

It conducts (any worker may, the store lets one at a time), looks for changed providers and Secrets, counts what was
waited for, beats for the health checks, and stops the worker when there is nothing left to wait for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from sendonce_store import campaigns
from sendonce_store.conduct import conduct, read_facts
from sendonce_store.connection import Connection
from sendonce_store.decisions import Facts, Step
from sendonce_store.queries import load
from sendonce_worker.campaign import Campaign, NotReadyError
from sendonce_worker.health import HealthState
from sendonce_worker.link import STORE_ERRORS, Link
from sendonce_worker.metrics import WorkerMetrics
from sendonce_worker.sending.clock import boot_clock
from sendonce_worker.settings import WorkerSettings

logger = logging.getLogger(__name__)
SQL = load("campaigns")
CONDUCT_SECONDS = 1.0
REFRESH_SECONDS = 5.0


class Conductor:
    """One worker's look at the whole."""

    def __init__(self, settings: WorkerSettings, control: Link, metrics: WorkerMetrics, health: HealthState) -> None:
        """Nothing is read before `run`."""
        self._settings = settings
        self._control = control
        self._metrics = metrics
        self._health = health
        self._refresh_at = 0.0
        self._problem: str | None = None
        self.ended = False
        self.halted: str | None = None

    async def run(
        self, campaign: Campaign, stop: asyncio.Event, stirred: asyncio.Event, drain: Callable[[], None]
    ) -> None:
        """Look again and again until `stop`; `stirred` is set when batches may have become claimable."""
        while not stop.is_set():
            self._health.beat()
            try:
                async with self._control.use() as conn:
                    await self._look_after(conn, campaign, stirred)
            except STORE_ERRORS as error:
                logger.warning("conductor: %s", error)
            if self._settings.exit_when_done and (self.ended or self.halted):
                drain()
            await _wait(stop, min(CONDUCT_SECONDS, self._settings.heartbeat))

    async def finish(self, conn: Connection, campaign: Campaign) -> None:
        """See how far the campaign is, and end it where its last delivery has just ended; nothing that takes long."""
        facts = await self._look(conn, campaign)
        if facts is not None and facts.ended is None and not facts.pending and not facts.sending:
            await self._conduct(conn, campaign)
            await self._look(conn, campaign)

    async def _look(self, conn: Connection, campaign: Campaign) -> Facts | None:
        """See how far the campaign is."""
        facts = await read_facts(conn, campaign.stored.id)
        if facts is not None:
            self._take(campaign, facts)
        return facts

    async def _conduct(self, conn: Connection, campaign: Campaign) -> list[Step]:
        return await conduct(conn, campaign.stored.id, campaigns.policy_of(campaign.stored.spec))

    async def _look_after(self, conn: Connection, campaign: Campaign, stirred: asyncio.Event) -> None:
        if await self._conduct(conn, campaign):
            stirred.set()
        await self._look(conn, campaign)
        if boot_clock() >= self._refresh_at:
            self._refresh_at = boot_clock() + REFRESH_SECONDS
            await self._refresh(conn, campaign)

    def _take(self, campaign: Campaign, facts: Facts) -> None:
        self.ended, self.halted = facts.ended is not None, facts.halt_reason
        if self.ended:
            self._metrics.forget_campaign(campaign.stored.namespace, campaign.stored.name)

    async def _refresh(self, conn: Connection, campaign: Campaign) -> None:
        try:
            await campaign.refresh(conn)
            self._problem = None
        except NotReadyError as error:
            # what was built before goes on: a Secret that is being replaced may be away for a moment
            self._problem = str(error)
            logger.warning("%s", error)
        identity = {"worker": self._settings.identity, "problem": self._problem}
        await conn.execute(SQL["worker_beat"], identity)
        self._count_waits(campaign)

    def _count_waits(self, campaign: Campaign) -> None:
        for plan in campaign.plans.values():
            waited, plan.pacer.waited = plan.pacer.waited, 0.0
            self._metrics.rate_limit_waited(plan.provider_series, waited)


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return
