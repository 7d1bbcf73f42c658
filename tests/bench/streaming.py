"""How long an application's recipient waits while a large campaign is being sent beside it, over the same provider.

In: a server and a sink. Out: one row, the 99th percentile from the call of `sendonce.enqueue` (before its commit) to
the recorded answer of the far end, so a little more than from commit to hand-off. Both times are the database's.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.bench import campaigns
from tests.bench.campaigns import FarEnd
from tests.bench.figures import Row
from tests.bench.server import Server
from tests.bench.sinks import Sink

from sendonce_store import campaigns as store
from sendonce_store import enqueue
from sendonce_store.connection import Connection
from sendonce_store.spec import CampaignSpec, NotificationCampaign, load_documents

PER_SECOND = 20
_SEND_KEY = "orders"
_DOCUMENT = """
apiVersion: sendonce.dev/v1alpha1
kind: NotificationCampaign
metadata: {name: orders}
spec:
  category: Transactional
  priority: High
  recipients: {stream: {}}
  messages:
  - channel: Email
    providerRef: {name: far-end}
    template: {from: a@example.com, subject: "Order {{ order }}", text: "Thank you for order {{ order }}."}
"""
_LEFT = "SELECT sum(pending) FROM sendonce.batches WHERE campaign_id = %s"
_DONE = """
SELECT sum(pending + sending) = 0 AND NOT EXISTS (
         SELECT FROM sendonce.inbox WHERE campaign_id = %s AND recipient IS NOT NULL)
  FROM sendonce.batches WHERE campaign_id = %s
"""
_LATENCY = """
SELECT count(*), coalesce(percentile_cont(0.99) WITHIN GROUP (
         ORDER BY extract(epoch FROM d.finished_at - i.enqueued_at)), 'infinity')::float8
  FROM sendonce.inbox i LEFT JOIN sendonce.deliveries d ON d.campaign_id = i.campaign_id AND d.occasion = i.key
 WHERE i.campaign_id = %s AND d.state = 'sent'
"""


async def measure(server: Server, sink: Sink, folder: Path, people: int, seconds: float) -> list[Row]:
    """Import the large one, send both, enqueue for a while."""
    files = folder / "beside"
    campaigns.write_people(files, people)
    async with server.database("bench_stream") as dsn, campaigns.connection(dsn) as conn:
        large = await campaigns.adopt(conn, FarEnd(campaigns.HTTP, sink.port))
        env = campaigns.environment(dsn, files)
        await campaigns.imported(conn, env)
        stream = await _adopt_stream(conn)
        async with campaigns.workers(1, env), campaigns.workers(1, env | {"SENDONCE_SEND_KEY": _SEND_KEY}):
            await campaigns.until(conn, "SELECT count(*) = 2 FROM sendonce.workers WHERE stopped_at IS NULL")
            await campaigns.begin(conn)
            await campaigns.until(conn, "SELECT sum(sent) > 0 FROM sendonce.batches WHERE campaign_id = %s", large)
            await _enqueue(conn, round(PER_SECOND * seconds))
            (beside,) = await campaigns.one(conn, _LEFT, large)
            await campaigns.until(conn, _DONE, stream, stream)
        sent, latency = await campaigns.one(conn, _LATENCY, stream)
    print(f"  {sent} of the stream sent; {beside:,} of the large campaign were still to be sent at the end", flush=True)
    return [Row("stream_latency", latency, "s")]


async def _adopt_stream(conn: Connection) -> int:
    (document,) = load_documents(_DOCUMENT, "stream.yaml")
    campaign = document.resource
    if not isinstance(campaign, NotificationCampaign) or not isinstance(campaign.spec, CampaignSpec):
        raise TypeError("the document is a campaign")
    return (await store.adopt(conn, campaign, campaign.spec)).campaign_id


async def _enqueue(conn: Connection, count: int) -> None:
    """An order each twentieth of a second."""
    for no in range(count):
        order = {"email": f"customer{no}@example.com", "order": no}
        await enqueue.enqueue(conn, "default", _SEND_KEY, f"order-{no}", order)
        await asyncio.sleep(1 / PER_SECOND)
