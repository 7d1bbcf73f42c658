"""The worker's third task, for campaigns whose recipients come as a stream: what applications enqueue is taken in.

The inbox is asked ten times a second, a look at an index that holds only those who wait. Asking, not being told:
PostgreSQL sends the notices of NOTIFY one commit after the other, and that would be the applications' commits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from sendonce_store import imports, stream
from sendonce_store.campaigns import StoredCampaign
from sendonce_store.recipients import Recipient, Rejected
from sendonce_store.stream import Enqueued, Inbox
from sendonce_worker.importing import normalise_numbered
from sendonce_worker.link import STORE_ERRORS, Link, wait_before_reconnect

logger = logging.getLogger(__name__)
# how long a recipient waits at most before somebody looks
POLL_SECONDS = 0.1


class Streaming:
    """Takes in what waits, until `stop`; `stirred` is set when there is something to send."""

    def __init__(self, campaign: StoredCampaign, link: Link, stirred: asyncio.Event) -> None:
        """Nothing is read before `run`. The link is used by nobody else."""
        self._campaign = campaign
        self._link = link
        self._stirred = stirred
        self._inbox: Inbox | None = None
        self._channels = [message.channel.value for message in campaign.spec.messages]

    async def run(self, stop: asyncio.Event) -> None:
        """Look again and again."""
        failures = 0
        while not stop.is_set():
            try:
                taken = await self._look()
            except STORE_ERRORS as error:
                logger.warning("stream: %s", error)
                await wait_before_reconnect(failures)
                failures += 1
                continue
            failures = 0
            if taken:
                self._stirred.set()
            if taken < stream.MOST:
                await _wait(stop)

    async def _look(self) -> int:
        async with self._link.use() as conn:
            if self._inbox is None:
                await stream.begin(conn, self._campaign.id)
                self._inbox = Inbox(await imports.prepare(conn, self._campaign.id))
            if not await stream.is_waiting(conn, self._campaign.id):
                return 0
            return await stream.take_in(conn, self._inbox, self._normalise)

    def _normalise(self, waiting: Sequence[Enqueued]) -> tuple[Sequence[Recipient], Sequence[Rejected]]:
        outcome = normalise_numbered(((one.no, one.record) for one in waiting), self._channels)
        return outcome.recipients, outcome.rejected


async def _wait(stop: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(stop.wait(), POLL_SECONDS)
    except TimeoutError:
        return
