"""A campaign's object is to go: what it still had to send is ended, then its finalizer may be taken away.

Only the object that acts for the row ends it: one that was refused has nothing to end. With the operator gone, a person
takes the finalizer away by hand; the row then stays as it is, and the next object of the send key goes on with it.
"""

from __future__ import annotations

import logging

from sendonce_operator.objects import Campaign
from sendonce_operator.paths import Key
from sendonce_operator.runtime import Runtime
from sendonce_store import deletion, operating
from sendonce_store.connection import Connection

logger = logging.getLogger(__name__)
SHORTEST, LONGEST = 0.5, 10.0


async def delete(runtime: Runtime, key: Key) -> float | None:
    """End the campaign; returns the seconds to wait before it is called again, None once the object may go.

    Raises one of the store's errors while the store is away.
    """
    campaign = runtime.watched.campaigns.get(key)
    if campaign is None:
        return None
    async with runtime.track(campaign).lock, runtime.slow_ledger.use() as conn:
        return await _end(conn, campaign)


async def _end(conn: Connection, campaign: Campaign) -> float | None:
    key, uid = campaign.key, campaign.subject.uid
    known = await operating.find(conn, key.namespace, campaign.send_key)
    if known is None or known.owner_uid != uid:
        return None
    wait = await deletion.delete(conn, known.id)
    if wait is not None:
        return min(LONGEST, max(SHORTEST, wait))
    await operating.release(conn, known.id, uid)
    return None
