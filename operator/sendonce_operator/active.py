"""The operator's one loop: every second, all active campaigns in one query; what differs goes to the cluster.

retry      campaigns that were refused, whose time has come or whose surroundings changed, are reconciled
look       one query for all campaigns that are active, or whose objects don't yet say how they ended, or what was
           reported of them since
size       each one's Deployment
conduct    campaigns without a worker are moved by the operator: a deadline passes while nobody sends
show       each one's status, where it differs
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping

from sendonce_operator import showing
from sendonce_operator.cluster import ClusterError
from sendonce_operator.conducting import conduct_too
from sendonce_operator.decisions.progress import follow
from sendonce_operator.decisions.size import replicas
from sendonce_operator.deployments import current_replicas, deploy
from sendonce_operator.ledger import STORE_ERRORS
from sendonce_operator.objects import Campaign
from sendonce_operator.paths import Key
from sendonce_operator.providing import facts_of
from sendonce_operator.reconcile import reconcile
from sendonce_operator.runtime import Runtime, Tracked
from sendonce_operator.watched import providers_named
from sendonce_store import ledger, operating, receipts
from sendonce_store.connection import Connection
from sendonce_store.standing import Overview

logger = logging.getLogger(__name__)
# for so long a finished campaign is looked at after a report of a provider; longer than the time of it is moved on
REPORTED_SECONDS = 30.0
# campaigns that are worked on at a time
SIDE_BY_SIDE = 12
# seconds that a look waits for what is being reconciled
PATIENCE = 2.0


def in_turn(runtime: Runtime) -> list[Key]:
    """All campaigns; whose status was written longest ago comes first, for there may not be time for all."""
    keys = [key for key in runtime.watched.campaigns if key in runtime.tracked]
    return sorted(keys, key=lambda key: runtime.tracked[key].patched_at)


class ActiveLoop:
    """Looks after all campaigns."""

    def __init__(self, runtime: Runtime) -> None:
        """Nothing runs before `run`."""
        self._runtime = runtime
        self._slots = asyncio.Semaphore(SIDE_BY_SIDE)
        self._reconciling: dict[Key, asyncio.Task[None]] = {}
        self._reconcile_slots = asyncio.Semaphore(SIDE_BY_SIDE)
        self._asked: set[int] = set()  # rows that the last look was for
        self._seen_at = float("-inf")
        self.looked_at = time.monotonic()

    async def run(self, stop: asyncio.Event) -> None:
        """Look again and again."""
        while not stop.is_set():
            began = time.monotonic()
            try:
                await self.tick()
            except Exception:
                self._failed("Internal")
                logger.exception("a look at the active campaigns failed; it is repeated")
            self._note_look(began)
            tick = self._runtime.settings.tick
            await self._pause(stop, max(tick / 10, tick - (self.looked_at - began)))

    def _failed(self, why: str) -> None:
        self._runtime.metrics.failures.labels(why).inc()

    def _note_look(self, began: float) -> None:
        self.looked_at = time.monotonic()
        metrics = self._runtime.metrics
        metrics.tick.observe(self.looked_at - began)
        metrics.looked.now()
        metrics.canary_age.set(self._runtime.canary.age(self.looked_at))

    async def _pause(self, stop: asyncio.Event, seconds: float) -> None:
        """Wait for the next tick; a fifth of that when something happened."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), seconds / 5)
        waits = [asyncio.ensure_future(one.wait()) for one in (stop, self._runtime.wake)]
        await asyncio.wait(waits, timeout=seconds * 4 / 5, return_when=asyncio.FIRST_COMPLETED)
        self._runtime.wake.clear()
        for wait in waits:
            wait.cancel()

    async def tick(self) -> None:
        """Look once."""
        runtime = self._runtime
        self._forget_gone()
        await self._retry()
        try:
            overviews = await self._look()
        except STORE_ERRORS as error:
            runtime.store_down = str(error)
            runtime.metrics.store_up.set(0)
            overviews = {}
        else:
            runtime.store_down = None
            runtime.metrics.store_up.set(1)
        await asyncio.gather(*(self._one(key, overviews) for key in in_turn(runtime)))

    def _forget_gone(self) -> None:
        runtime = self._runtime
        for key in [key for key in runtime.tracked if key not in runtime.watched.campaigns]:
            del runtime.tracked[key]

    # --- retry -------------------------------------------------------------------------------------------------------
    async def _retry(self) -> None:
        """One that takes long goes on by itself: the others are looked after meanwhile."""
        touched, self._runtime.touched = self._runtime.touched, set()
        due = [key for key, campaign in self._runtime.watched.campaigns.items() if self._is_due(campaign, touched)]
        tasks = {key: asyncio.ensure_future(self._reconcile(key)) for key in due}
        self._reconciling |= tasks
        if tasks:
            await asyncio.wait(tasks.values(), timeout=PATIENCE)

    def _is_due(self, campaign: Campaign, touched: set[Key]) -> bool:
        tracked = self._runtime.track(campaign)
        if campaign.subject.deleting or campaign.key in self._reconciling or tracked.lock.locked():
            return False
        if tracked.reconciled != campaign.subject.generation and tracked.retry_at is None:
            return True
        if tracked.retry_at is None:
            return False
        if asyncio.get_running_loop().time() >= tracked.retry_at:
            return True
        return campaign.key in touched or any(key in touched for key in providers_named(campaign))

    async def _reconcile(self, key: Key) -> None:
        try:
            async with self._reconcile_slots:
                await reconcile(self._runtime, key)
        finally:
            del self._reconciling[key]

    # --- look --------------------------------------------------------------------------------------------------------
    async def _look(self) -> Mapping[int, Overview]:
        runtime = self._runtime
        mine = {one.campaign_id: one for one in runtime.tracked.values() if one.campaign_id is not None}
        async with runtime.look_ledger.use() as conn:
            active = await operating.active(conn)
            told = await receipts.reported(conn, REPORTED_SECONDS)
            wanted = [each for each, one in mine.items() if each in active or each in told or not one.settled]
            found = await ledger.overviews_of(conn, wanted) if wanted else []
            self._asked = set(wanted)
            await self._note_owners(conn, {each: mine[each].uid for each in wanted if each in active})
            states = await operating.provider_states(conn)
        self._note_taken(mine, active)
        runtime.read_at = asyncio.get_running_loop().time()
        runtime.pauses = {Key(state.kind, state.namespace, state.name): state for state in states}
        return {overview.id: overview for overview in found}

    @staticmethod
    def _note_taken(mine: Mapping[int, Tracked], active: Mapping[int, str | None]) -> None:
        """Somebody else acts for a row by now, another cluster after a long silence, say: ask anew whose it is."""
        for each, owner in active.items():
            tracked = mine.get(each)
            if tracked is not None and owner != tracked.uid and tracked.refusal is None and tracked.retry_at is None:
                tracked.retry_at = asyncio.get_running_loop().time()

    async def _note_owners(self, conn: Connection, owners: Mapping[int, str]) -> None:
        if time.monotonic() - self._seen_at >= self._runtime.settings.owner_beat and owners:
            await operating.seen(conn, owners)
            self._seen_at = time.monotonic()

    # --- one campaign ------------------------------------------------------------------------------------------------
    async def _one(self, key: Key, overviews: Mapping[int, Overview]) -> None:
        campaign, tracked = self._runtime.watched.campaigns.get(key), self._runtime.tracked.get(key)
        if campaign is None or tracked is None or tracked.uid != campaign.subject.uid:
            return
        overview = overviews.get(tracked.campaign_id) if tracked.campaign_id is not None else None
        if overview is None and (tracked.settled or self._begins(key, tracked)):
            return
        if overview is None and tracked.campaign_id is not None and self._runtime.store_down is None:
            self._row_is_gone(tracked)
        async with self._slots:
            try:
                await self._look_after(campaign, tracked, overview)
            except ClusterError as error:
                self._failed("ApiServer")
                logger.warning("%s: %s", key.name, error)
            except STORE_ERRORS as error:
                self._failed("StoreUnavailable")
                logger.warning("%s: store: %s", key.name, error)
            except Exception:
                self._failed("Internal")
                # one campaign that breaks something is no reason to leave the others alone
                logger.exception("%s could not be looked after", key.name)
            self.looked_at = time.monotonic()

    def _begins(self, key: Key, tracked: Tracked) -> bool:
        """Whether it is being reconciled, or was since the look: how it stands is known in a moment.

        A write would only get in the way of its start.
        """
        if tracked.campaign_id is not None:
            begins = tracked.campaign_id not in self._asked
        else:
            begins = key in self._reconciling or tracked.lock.locked()
        return begins and self._runtime.store_down is None

    @staticmethod
    def _row_is_gone(tracked: Tracked) -> None:
        """The store was replaced by one that does not know the campaign: ask anew whose it is."""
        tracked.campaign_id, tracked.overview, tracked.progress = None, None, None
        tracked.retry_at = asyncio.get_running_loop().time()

    async def _look_after(self, campaign: Campaign, tracked: Tracked, overview: Overview | None) -> None:
        runtime = self._runtime
        if overview is not None:
            tracked.settled = tracked.settled and overview.ended is not None
            tracked.progress = follow(tracked.progress, overview)
            tracked.overview = overview
            conduct_too(runtime, tracked, overview)
            await self._size(campaign, tracked, overview)
        await showing.show(runtime, campaign.key, tracked, overview)

    async def _size(self, campaign: Campaign, tracked: Tracked, overview: Overview) -> None:
        """Workers for a campaign whose content is frozen; what is refused gets none."""
        runtime, status = self._runtime, campaign.subject.status
        if campaign.spec is None or campaign.subject.deleting:
            return
        wanted = 0
        started = status is not None and status.start_time is not None
        # what passes by itself is no reason to send workers home
        if started and (tracked.refusal is None or not tracked.refusal.stalled):
            facts = facts_of(runtime, campaign)
            current = current_replicas(runtime, campaign)
            wanted = replicas(overview, campaign.spec, facts, runtime.settings.defaults, current)
        await deploy(runtime, campaign, wanted)
