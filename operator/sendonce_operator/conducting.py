"""Campaigns move without a worker too: a deadline passes, a cancelled one ends. Overview in, steps done."""

from __future__ import annotations

import asyncio
import logging

from sendonce_operator.ledger import STORE_ERRORS
from sendonce_operator.runtime import Runtime, Tracked
from sendonce_store import campaigns
from sendonce_store.conduct import conduct
from sendonce_store.standing import Overview

logger = logging.getLogger(__name__)
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


def conduct_too(runtime: Runtime, tracked: Tracked, overview: Overview) -> None:
    """Begin to conduct the campaign now and then, whether or not a worker does.

    One that was killed counts as alive for a minute, and the last one may have been sent home before the last step.
    Nobody waits for it: to end a million deliveries takes a minute, and what came of it is seen at the next look.
    """
    now = asyncio.get_running_loop().time()
    if overview.ended is not None or not may_move(overview) or tracked.conducting is not None:
        return
    if now - tracked.conducted_at < SECONDS:
        return
    tracked.conducted_at = now
    tracked.conducting = asyncio.ensure_future(_conduct(runtime, tracked, overview))


async def _conduct(runtime: Runtime, tracked: Tracked, overview: Overview) -> None:
    try:
        async with runtime.slow_ledger.use() as conn:
            stored = await campaigns.read(conn, overview.namespace, overview.send_key)
            if stored is not None:
                await conduct(conn, stored.id, campaigns.policy_of(stored.spec))
    except STORE_ERRORS as error:
        runtime.metrics.failures.labels("StoreUnavailable").inc()
        logger.warning("%s: store: %s", overview.send_key, error)
    except Exception:
        runtime.metrics.failures.labels("Internal").inc()
        logger.exception("%s could not be conducted", overview.send_key)
    finally:
        tracked.conducting = None
