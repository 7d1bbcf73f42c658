"""One campaign, from what its object says to what the store has: idempotent, and called whenever anything may differ.

    bind     find or make the row of the send key (identity)
    let in   the namespace gets its login of the store, where that is the operator's to do (tenants)
    start    annotation, then startTime with the resourceVersion as precondition: the content is frozen on both sides
    cancel   if that is wished

What goes wrong becomes a refusal, which the object's status shows, and a time to try again. Workers come later: the
loop of active campaigns makes the Deployment of a campaign that has been started.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time

import psycopg

from sendonce_operator import starting
from sendonce_operator.cluster import ClusterError
from sendonce_operator.decisions import refusal
from sendonce_operator.decisions.facts import Refusal
from sendonce_operator.identity import Bound, Claim, bind
from sendonce_operator.ledger import STORE_ERRORS
from sendonce_operator.objects import CAMPAIGN, Campaign, key_of
from sendonce_operator.paths import Key
from sendonce_operator.runtime import Runtime, Tracked
from sendonce_operator.signals import BusyError, GoneError, RefusedError
from sendonce_store import actions
from sendonce_store.connection import Connection
from sendonce_store.spec import CampaignSpec

logger = logging.getLogger(__name__)
BUSY_SECONDS = 0.5
SHORTEST_WAIT, LONGEST_WAIT = 2.0, 15.0


async def reconcile(runtime: Runtime, key: Key) -> None:
    """Bring one campaign's row to what its object says. Never raises for what may pass: it is tried again."""
    campaign = runtime.watched.campaigns.get(key)
    if campaign is None or campaign.subject.deleting:
        return
    tracked = runtime.track(campaign)
    async with tracked.lock:
        began = time.monotonic()
        await _guarded(runtime, key, tracked)
        runtime.metrics.reconcile.labels(CAMPAIGN).observe(time.monotonic() - began)
    runtime.wake.set()


async def _guarded(runtime: Runtime, key: Key, tracked: Tracked) -> None:
    """Reconcile, and turn what goes wrong into a refusal and a time to try again."""
    campaign = runtime.watched.campaigns.get(key)
    if campaign is None or campaign.subject.uid != tracked.uid:
        return
    try:
        await _reconcile(runtime, campaign, tracked)
    except RefusedError as refused:
        _later(runtime, tracked, refused.refusal.reason, refused.refusal)
    except BusyError as busy:
        logger.info("%s: %s", key.name, busy)
        await _look_again(runtime, key)
        _later(runtime, tracked, "Busy", None)
    except GoneError:
        tracked.retry_at = None
    except STORE_ERRORS as error:
        _later(runtime, tracked, "StoreUnavailable", refusal.store_unavailable(str(error)))
    except ClusterError as error:
        logger.warning("%s: %s", key.name, error)
        _later(runtime, tracked, "ApiServer", tracked.refusal)
    except psycopg.DataError as error:
        _later(runtime, tracked, "InvalidSpec", refusal.unstorable(str(error)))
    except Exception as error:
        # one campaign that breaks something is no reason to leave the others alone
        logger.exception("%s could not be reconciled", key.name)
        _later(runtime, tracked, "Internal", tracked.refusal or refusal.broken(error))
    else:
        tracked.refusal, tracked.retry_at, tracked.failures = None, None, 0
        tracked.reconciled = campaign.subject.generation


async def _reconcile(runtime: Runtime, campaign: Campaign, tracked: Tracked) -> None:
    if campaign.spec is None:
        if campaign.invalid is None:
            return
        raise RefusedError(refusal.invalid_spec(campaign.invalid, CampaignSpec))
    async with runtime.ledger.use() as conn:
        bound = await bind(Claim(runtime, conn, campaign, campaign.spec))
        if not bound.ended:
            await runtime.tenants.let_in(conn, campaign.key.namespace)
            await starting.start(runtime, conn, campaign)
        tracked.campaign_id, tracked.adoption, tracked.settled = bound.campaign_id, bound.adoption, False
        await _cancel(conn, campaign.spec, bound)


async def _cancel(conn: Connection, spec: CampaignSpec, bound: Bound) -> None:
    if spec.cancel and not bound.ended and not bound.cancelled:
        await actions.order_cancel(conn, bound.campaign_id)


def _later(runtime: Runtime, tracked: Tracked, why: str, refused: Refusal | None) -> None:
    """Try again after a while: at once where something only got in the way, later and later otherwise."""
    tracked.refusal = refused
    tracked.failures += 1
    wait = min(LONGEST_WAIT, SHORTEST_WAIT * 1.5 ** min(tracked.failures, 10))
    wait = BUSY_SECONDS if why == "Busy" else wait * random.uniform(0.75, 1.25)  # noqa: S311 - jitter, not a secret
    tracked.retry_at = asyncio.get_running_loop().time() + wait
    runtime.metrics.failures.labels(why).inc()


async def _look_again(runtime: Runtime, key: Key) -> None:
    """Read the object anew: what the watch has shown is behind."""
    try:
        body = await runtime.cluster.find(key.path)
    except ClusterError as error:
        logger.warning("%s: %s", key.name, error)
        return
    if body is not None and key_of(CAMPAIGN, body) == key:
        runtime.watched.note(CAMPAIGN, body)
