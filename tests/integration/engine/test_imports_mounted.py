"""A list that is not mounted yet is waited for, and named meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sendonce_worker.importing.mounted import Files
from sendonce_worker.importing.run import MOUNT_TRIES, ImportJob, run_import

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

QUERY = {"postgres": {"dsnSecretKeyRef": {"name": "crm", "key": "dsn"}, "query": "SELECT id, email FROM people"}}
MISSING = [
    ({}, "spec.recipients.configMapKeyRef: ConfigMap people with key people.csv is not there"),
    (
        {"recipients": QUERY},
        "SecretNotFound: spec.recipients.postgres.dsnSecretKeyRef: Secret crm with key dsn is not there",
    ),
]


async def try_import(world: World, campaign: Campaign, files: Path) -> None:
    """One try of a worker."""
    batch = await campaign.claim()
    job = ImportJob(batch, campaign.holder(), campaign.stored, Files(files), lease=60, heartbeat=20)
    conn, renewals = await world.connect(world.worker_dsn), await world.connect(world.worker_dsn)
    await run_import(conn, renewals, job, asyncio.Event())


async def make_due(campaign: Campaign) -> None:
    """The wait is over."""
    await campaign.query("UPDATE sendonce.batches SET claimable_at = now() WHERE kind = 'import'")


@pytest.mark.parametrize(("wishes", "words"), MISSING)
async def test_what_is_not_mounted_is_named_and_waited_for(
    world: World, tmp_path: Path, wishes: dict[str, Any], words: str
) -> None:
    campaign = await world.campaign(None, **wishes)
    await try_import(world, campaign, tmp_path)
    record = await campaign.record()
    assert record["import_state"] != "failed"
    assert record["import_message"].startswith(words)
    (waits,) = await campaign.query(
        "SELECT extract(epoch FROM claimable_at - now())::float8 AS seconds, state FROM sendonce.batches"
    )
    assert waits["state"] == "pending"
    assert 0 < waits["seconds"] <= 10


async def test_a_list_that_is_mounted_late_is_imported_as_if_nothing_had_been(world: World, tmp_path: Path) -> None:
    campaign = await world.campaign(None)
    await try_import(world, campaign, tmp_path)
    folder = tmp_path / "configmaps" / "people"
    folder.mkdir(parents=True)
    (folder / "people.csv").write_text("id,email\n1,ann@example.com\n")
    await make_due(campaign)
    await try_import(world, campaign, tmp_path)
    record = await campaign.record()
    assert (record["import_state"], record["import_message"], record["total"]) == ("done", None, 1)


@pytest.mark.parametrize(("wishes", "words"), MISSING)
async def test_after_three_minutes_the_campaign_ends_and_says_what_was_missing(
    world: World, tmp_path: Path, wishes: dict[str, Any], words: str
) -> None:
    campaign = await world.campaign(None, **wishes)
    await campaign.query("UPDATE sendonce.batches SET claims = %(n)s WHERE kind = 'import'", n=MOUNT_TRIES - 1)
    await try_import(world, campaign, tmp_path)
    await campaign.conduct()
    record = await campaign.record()
    assert (record["ended"], record["ended_reason"]) == ("failed", "SourceUnreadable")
    assert record["ended_message"].startswith(words)
