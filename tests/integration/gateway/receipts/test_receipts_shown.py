"""Where people see reports: the campaign's object, also long after its end, and what is read through indexes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, LiteralString

from prometheus_client import CollectorRegistry
from tests.integration.gateway.receipts.conftest import HERE
from tests.unit.operator_io.conftest import CAMPAIGN_BODY, Recorder

from sendonce_operator.active import ActiveLoop
from sendonce_operator.decisions.facts import Defaults
from sendonce_operator.metrics import OperatorMetrics
from sendonce_operator.objects import CAMPAIGN
from sendonce_operator.runtime import Runtime
from sendonce_operator.settings import OperatorSettings
from sendonce_store import receipts
from sendonce_store.receipts import Kind, Receipt

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World
    from tests.integration.gateway.receipts.conftest import Reports


async def _ended(world: World) -> Campaign:
    campaign = await world.campaign(2)
    batch = await campaign.claim()
    await campaign.begin(batch, [1, 2])
    for no in (1, 2):
        await campaign.end(batch, no, "sent")
    await campaign.release(batch)
    await campaign.conduct()
    return campaign


def _operator(world: World, campaign: Campaign) -> tuple[Runtime, Recorder]:
    """An operator that has shown the end, and has nothing more to look at."""
    recorder: Any = Recorder()
    settings = OperatorSettings(world.dsn, "operator", Defaults("worker:1"), tick=0.1)
    runtime = Runtime(settings, recorder, OperatorMetrics(CollectorRegistry()))
    when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    recorder.status = {"observedGeneration": 1, "startTime": when, "completionTime": when}
    metadata = {**CAMPAIGN_BODY["metadata"], "namespace": "default"}
    watched = runtime.watched.note(CAMPAIGN, {**CAMPAIGN_BODY, "metadata": metadata, "status": recorder.status})
    assert watched is not None
    tracked = runtime.track(watched)
    tracked.campaign_id, tracked.reconciled, tracked.settled = campaign.id, 1, True
    return runtime, recorder


async def test_a_report_after_the_end_is_shown_by_the_object(world: World, reports: Reports) -> None:
    campaign = await _ended(world)
    runtime, recorder = _operator(world, campaign)
    stop, active = asyncio.Event(), ActiveLoop(runtime)
    began = active.looked_at
    loop = asyncio.create_task(active.run(stop))
    try:
        await world.eventually(lambda: active.looked_at > began)
        assert recorder.writes == []  # settled: nobody looks at it
        for row, kind in zip(await campaign.rows(), (Kind.DELIVERED, Kind.BOUNCED), strict=True):
            await reports.about(row, kind)
        await world.eventually(lambda: recorder.status.get("receipts") == {"delivered": 1, "bounced": 1})
        assert recorder.status["deliveries"]["sent"] == 2
    finally:
        stop.set()
        await loop
        await runtime.close()


_MANY: tuple[LiteralString, ...] = (
    """INSERT INTO sendonce.campaigns (namespace, send_key, name, content_hash, spec, category, import_state)
       SELECT 'default', 'k' || g, 'c', 'h', '{}', 'Marketing', 'done' FROM generate_series(1, 50) g""",
    """INSERT INTO sendonce.channels (campaign_id, channel, namespace, no, provider_id)
       SELECT c.id, 'Email', 'default', 0, p.id FROM sendonce.campaigns c, sendonce.providers p""",
    """INSERT INTO sendonce.batches (namespace, campaign_id, kind, channel, provider_id, state, claimable_at)
       SELECT 'default', ch.campaign_id, 'send', 'Email', ch.provider_id, 'done', now() FROM sendonce.channels ch""",
    """INSERT INTO sendonce.deliveries
              (batch_id, no, campaign_id, recipient_no, key, namespace, channel, address, state, finished_at,
               attempt_seq, last_attempt_at, worker, message_id)
       SELECT b.id, g, b.campaign_id, g, gen_random_uuid(), 'default', 'Email', g || '@example.com', 'sent', now(),
              1, now(), 'w', b.id || '-' || g
         FROM sendonce.batches b, generate_series(1, 100) g""",
    "VACUUM ANALYZE",
)


async def _reads(world: World) -> dict[str, dict[str, int]]:
    cursor = await world.conn.execute(
        "SELECT relname, seq_scan, idx_tup_fetch FROM pg_stat_xact_user_tables WHERE schemaname = 'sendonce'"
    )
    return {row["relname"]: row for row in await cursor.fetchall()}


async def test_a_report_reads_what_it_is_about_and_no_more(world: World) -> None:
    await world.provider()
    for statement in _MANY:
        await world.conn.execute(statement)
    rows = await (
        await world.conn.execute(
            "SELECT batch_id || '-' || no || '-' || left(key::text, 8) AS place, address, message_id"
            " FROM sendonce.deliveries WHERE no <= 2 ORDER BY batch_id, no"
        )
    ).fetchall()
    by_place = [Receipt(Kind.DELIVERED, f"p{n}", delivery_id=row["place"]) for n, row in enumerate(rows[::2])]
    by_message = [
        Receipt(Kind.DELIVERED, f"m{n}", message_id=row["message_id"], address=row["address"])
        for n, row in enumerate(rows[1::2])
    ]
    for asked, most in ((by_place, 10), (by_message, 10 + 50)):
        async with world.conn.transaction():
            before = await _reads(world)
            done = await receipts.record(world.conn, HERE, asked)
            after = await _reads(world)
        assert {result for _, result in done} == {"marked"}
        now, earlier = after["deliveries"], before.get("deliveries", {"seq_scan": 0, "idx_tup_fetch": 0})
        assert now["seq_scan"] == earlier["seq_scan"]
        assert now["idx_tup_fetch"] - earlier["idx_tup_fetch"] <= most * len(asked)
