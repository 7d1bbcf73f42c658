"""A Parquet list becomes the campaign's people; one that can't be read says so in the campaign's record."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.sources.parquet_files import integers, parquet, people

from sendonce_worker.importing.mounted import Files
from sendonce_worker.importing.run import ImportJob, run_import

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

SOURCE = {"configMapKeyRef": {"name": "people", "key": "people.parquet"}, "format": "Parquet"}


async def imported(world: World, files: Path, body: bytes) -> Campaign:
    """A campaign whose list a worker has tried to import."""
    folder = files / "configmaps" / "people"
    folder.mkdir(parents=True)
    (folder / "people.parquet").write_bytes(body)
    campaign = await world.campaign(None, recipients=SOURCE)
    job = ImportJob(await campaign.claim(), campaign.holder(), campaign.stored, Files(files), lease=60, heartbeat=20)
    conn, renewals = await world.connect(world.worker_dsn), await world.connect(world.worker_dsn)
    await run_import(conn, renewals, job, asyncio.Event())
    await campaign.conduct()
    return campaign


async def test_a_list_is_imported(world: World, tmp_path: Path) -> None:
    record = await (await imported(world, tmp_path, people(12_000))).record()
    assert (record["import_state"], record["import_message"], record["total"]) == ("done", None, 12_000)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (people(10)[:-30], "does not end as a Parquet file does: it is not complete; write or upload it anew"),
        (parquet({"email": integers([7])}), "its column email holds Int64 values, where email is text: write the"),
        (parquet({"name": ["Ann"]}), "has no column email, which the campaign's channels need; found: name"),
    ],
)
async def test_a_file_that_cannot_be_read_ends_the_campaign_with_the_reason(
    world: World, tmp_path: Path, body: bytes, words: str
) -> None:
    record = await (await imported(world, tmp_path, body)).record()
    assert (record["ended"], record["ended_reason"]) == ("failed", "SourceUnreadable")
    assert record["ended_message"].startswith(f"spec.recipients.configMapKeyRef: {words}")
