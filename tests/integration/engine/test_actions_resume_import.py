"""A source that could not be read, mended by a person: Resume goes on with the import where it stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sendonce_store import actions, imports
from sendonce_store.actions import ActionError, Order, Target

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World


async def _failed(world: World) -> Campaign:
    """A campaign whose import broke off behind its first two lines, and which has ended for that."""
    campaign = await world.campaign(None)
    batch = await campaign.claim()
    plan = await imports.prepare(world.conn, campaign.id)
    chunk = plan.chunk([world.person(1), world.person(2)], (), {"line": 2})
    await imports.commit_chunk(world.conn, batch, campaign.holder(), chunk, 60)
    await imports.finish(world.conn, batch, campaign.holder(), failure="spec.recipients.http: 404")
    await campaign.conduct()
    return campaign


async def test_a_failed_import_goes_on_at_its_cursor_and_its_people_are_sent_to_after_all(world: World) -> None:
    campaign = await _failed(world)
    assert (await campaign.record())["ended_reason"] == "SourceUnreadable"
    assert await campaign.states() == {"cancelled": 2}

    applied = await actions.apply(world.conn, Target(campaign.id, "default"), Order("mended", "Resume"))
    assert "goes on" in applied.message
    assert await campaign.states() == {"pending": 2}
    record = await campaign.record()
    assert (record["ended"], record["import_state"], record["total"]) == (None, "running", 2)

    claimed = [await campaign.claim(f"worker-{number}") for number in range(2)]
    (batch,) = [one for one in claimed if one.kind == "import"]
    assert batch.cursor == {"line": 2}
    plan = await imports.prepare(world.conn, campaign.id)
    chunk = plan.chunk([world.person(3)], (), {"line": 3})
    await imports.commit_chunk(world.conn, batch, campaign.holder(), chunk, 60)
    await imports.finish(world.conn, batch, campaign.holder())
    assert await campaign.states() == {"pending": 3}


async def test_a_campaign_that_runs_has_nothing_to_resume(world: World) -> None:
    campaign = await world.campaign(2)
    applied = await actions.apply(world.conn, Target(campaign.id, "default"), Order("again", "Resume"))
    assert applied.message == "nothing to resume: the campaign is not stopped"
    assert await campaign.states() == {"pending": 2}


async def test_nothing_is_ordered_where_the_data_is_gone(world: World) -> None:
    campaign = await _failed(world)
    await world.conn.execute("UPDATE sendonce.campaigns SET data_deleted_at = now()")
    with pytest.raises(ActionError, match="was deleted at"):
        await actions.apply(world.conn, Target(campaign.id, "default"), Order("late", "Retry"))
    assert await campaign.query("SELECT FROM sendonce.actions") == []
