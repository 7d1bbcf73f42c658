"""A worker that is sent home: what it sees of its campaign, and does for it, before it goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry

from sendonce_worker.campaign import Campaign
from sendonce_worker.conductor import Conductor
from sendonce_worker.health import HealthState
from sendonce_worker.metrics import WorkerMetrics
from sendonce_worker.redaction import Redactor
from sendonce_worker.settings import WorkerSettings

if TYPE_CHECKING:
    from tests.integration.engine.conftest import World


@pytest.mark.parametrize(("sent", "ended"), [(2, False), (3, True)])
async def test_the_last_one_ends_a_campaign_with_nothing_left_and_knows_it(
    world: World, *, sent: int, ended: bool
) -> None:
    campaign = await world.campaign(3)
    await campaign.conduct()
    batch = await campaign.claim()
    await campaign.begin(batch, range(1, sent + 1))
    for no in range(1, sent + 1):
        await campaign.end(batch, no, "sent")
    await campaign.release(batch)
    settings = WorkerSettings(world.worker_dsn, "default", campaign.stored.send_key, "w", Path("/nowhere"))
    link, metrics = world.link(world.worker_dsn), WorkerMetrics(CollectorRegistry())
    conductor = Conductor(settings, link, metrics, HealthState(max_silence=30))
    async with link.use() as conn:
        await conductor.finish(conn, Campaign(campaign.stored, settings, link, Redactor()))
    assert conductor.ended == ended
    assert ((await campaign.record())["ended"] is not None) == ended
