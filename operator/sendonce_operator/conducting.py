"""Campaigns move without a worker too: a deadline passes, a cancelled one ends. Overview in, steps done."""

from __future__ import annotations

import asyncio

from sendonce_operator.runtime import Runtime, Tracked
from sendonce_store import campaigns
from sendonce_store.conduct import conduct
from sendonce_store.standing import Overview

SECONDS = 3.0


def may_move(c: Overview) -> bool:
    """Whether there may be a step to do though nobody sends: `sendonce_store.decisions` then says which.

    Everything else that moves a campaign follows from what a worker does.
    """
    if c.cancelled or c.import_state == "failed":
        return True
    if c.deadline is not None and c.deadline <= c.now:
        return True
    if not c.imported:
        return False
    everything_ended = c.counts.pending + c.counts.sending == 0
    return everything_ended or c.held or c.rollout_stage in {"importing", "canary", "observing"}


async def conduct_too(runtime: Runtime, tracked: Tracked, overview: Overview) -> None:
    """Conduct the campaign now and then, whether or not a worker does. Raises the store's errors.

    One that was killed counts as alive for a minute, and the last one may have been sent home before the last step.
    """
    now = asyncio.get_running_loop().time()
    if overview.ended is not None or not may_move(overview):
        return
    if now - tracked.conducted_at < SECONDS:
        return
    tracked.conducted_at = now
    async with runtime.ledger.use() as conn:
        stored = await campaigns.read(conn, overview.namespace, overview.send_key)
        if stored is not None:
            await conduct(conn, stored.id, campaigns.policy_of(stored.spec))
