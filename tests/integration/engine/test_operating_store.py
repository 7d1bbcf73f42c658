"""The operator's side of the store: who acts for a send key, and what may still be replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.integration.engine.stream_cases import enqueue

from sendonce_store import operating
from sendonce_store.operating import KnownKey, Owner
from sendonce_store.spec import CampaignSpec, NotificationCampaign

if TYPE_CHECKING:
    from tests.integration.engine.conftest import World


async def known(world: World) -> KnownKey:
    found = await operating.find(world.conn, "default", "spring")
    assert found is not None
    return found


def document(row: KnownKey, **changes: object) -> tuple[NotificationCampaign, CampaignSpec]:
    spec = CampaignSpec.from_wire({**row.spec, **changes})
    given = {"metadata": {"name": row.name, "namespace": row.namespace}, "spec": spec.to_wire()}
    return NotificationCampaign.from_wire(given), spec


async def own(world: World, owner: Owner, **changes: object) -> bool:
    row = await known(world)
    return await operating.own(world.conn, row, *document(row, **changes), owner)


async def test_a_row_is_taken_only_from_whom_one_believes_to_have_it(world: World) -> None:
    await world.campaign()
    assert await own(world, Owner("a", 1, None))
    assert not await own(world, Owner("b", 1, None))
    assert not await own(world, Owner("b", 1, "c"))
    assert await own(world, Owner("b", 1, "a"))
    assert (await known(world)).owner_uid == "b"


async def test_another_owner_comes_at_a_time_that_can_be_compared_with_the_end(world: World) -> None:
    await world.campaign()
    assert (await known(world)).owned_at is None, "whoever made it"
    await own(world, Owner("a", 1, None))
    taken = (await known(world)).owned_at
    await own(world, Owner("a", 2, "a"))
    assert (await known(world)).owned_at == taken
    await world.conn.execute(
        "UPDATE sendonce.campaigns SET ended = 'complete', ended_reason = 'AllSent', completed_at = now()"
    )
    await own(world, Owner("b", 1, "a"))
    row = await known(world)
    assert taken is not None
    assert row.owned_at is not None
    assert row.completed_at is not None
    assert taken < row.completed_at < row.owned_at


async def test_an_older_generation_changes_nothing(world: World) -> None:
    await world.campaign()
    assert await own(world, Owner("a", 5, None), suspend=True)
    assert not await own(world, Owner("a", 4, "a"), suspend=False)
    row = await known(world)
    assert (row.generation, row.spec["suspend"]) == (5, True)
    assert await own(world, Owner("a", 5, "a"), suspend=True), "the same again is no harm"


async def test_only_the_owner_gives_the_key_back(world: World) -> None:
    await world.campaign()
    await own(world, Owner("a", 1, None))
    row = await known(world)
    await operating.release(world.conn, row.id, "b")
    assert (await known(world)).owner_uid == "a"
    await operating.release(world.conn, row.id, "a")
    assert (await known(world)).owner_uid is None


async def test_an_owner_is_silent_since_somebody_looked_after_it(world: World) -> None:
    await world.campaign()
    assert (await known(world)).owner_silent is None
    await own(world, Owner("a", 1, None))
    row = await known(world)
    await world.conn.execute("UPDATE sendonce.campaigns SET owner_seen_at = now() - interval '1 hour'")
    await operating.seen(world.conn, {row.id: "b"})
    silent = (await known(world)).owner_silent
    assert silent is not None
    assert silent > 3000, "another owner's operator says nothing of this one"
    await operating.seen(world.conn, {row.id: "a"})
    silent = (await known(world)).owner_silent
    assert silent is not None
    assert silent < 60


async def test_content_that_nothing_has_used_is_replaced_with_its_channels_and_its_import(world: World) -> None:
    await world.campaign(None)
    await own(world, Owner("a", 1, None))
    row = await known(world)
    assert row.untouched
    sms = {"channel": "SMS", "providerRef": {"name": "far-end"}, "template": {"text": "Hello"}}
    wanted, spec = document(row, messages=[sms], category="Transactional")
    assert await operating.refreeze(world.conn, row, wanted, spec, Owner("a", 2, "a"))
    after = await known(world)
    assert after.content_hash != row.content_hash
    cursor = await world.conn.execute("SELECT channel FROM sendonce.channels")
    assert [one["channel"] for one in await cursor.fetchall()] == ["SMS"]
    cursor = await world.conn.execute("SELECT kind, state FROM sendonce.batches")
    assert await cursor.fetchall() == [{"kind": "import", "state": "pending"}]


async def test_content_that_a_worker_has_begun_to_import_stays(world: World) -> None:
    campaign = await world.campaign(None)
    await own(world, Owner("a", 1, None))
    row = await known(world)
    await campaign.claim()
    assert not (await known(world)).untouched
    wanted, spec = document(row, category="Transactional")
    assert not await operating.refreeze(world.conn, row, wanted, spec, Owner("a", 2, "a"))
    after = await known(world)
    assert (after.content_hash, after.generation) == (row.content_hash, 1)


async def test_an_edit_may_make_a_stream_of_a_list_until_somebody_is_in_it(world: World) -> None:
    await world.campaign(None)
    await own(world, Owner("a", 1, None))
    row = await known(world)
    wanted, spec = document(row, recipients={"stream": {}})
    assert await operating.refreeze(world.conn, row, wanted, spec, Owner("a", 2, "a"))
    cursor = await world.conn.execute("SELECT FROM sendonce.batches")
    assert await cursor.fetchall() == []
    await enqueue(world.conn, "order-1")
    row = await known(world)
    assert not row.untouched
    assert await own(world, Owner("a", 3, "a"), recipients={"stream": {}}, close=True)
    with pytest.raises(psycopg.Error, match="campaign spring is closed"):
        await enqueue(world.conn, "order-2")


async def test_ended_campaigns_are_not_active_and_keep_their_spec(world: World) -> None:
    campaign = await world.campaign()
    await own(world, Owner("a", 1, None))
    assert await operating.active(world.conn) == {campaign.id: "a"}
    await world.conn.execute(
        """UPDATE sendonce.campaigns
              SET ended = 'complete', ended_reason = 'AllSent', ended_message = '', completed_at = now()"""
    )
    assert await operating.active(world.conn) == {}
    assert await own(world, Owner("b", 1, "a"), suspend=True, dataRetentionDays=7)
    spec = (await known(world)).spec
    assert (spec["suspend"], spec["dataRetentionDays"]) == (False, 7)
