"""What may be claimed, by whom, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

import pytest

from sendonce_store import actions, campaigns, conduct, imports, pace, queue

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

    from sendonce_store.rows import Batch


async def _three(world: World) -> Campaign:
    """Three batches of one row each, due one after the other."""
    campaign = await world.campaign(None)
    await campaign.imports([world.person(line) for line in (1, 2, 3)], chunk=1)
    await campaign.query(
        "UPDATE sendonce.batches SET claimable_at = now() - make_interval(secs => 100 - id) WHERE kind = 'send'"
    )
    return campaign


async def test_the_batch_that_has_been_due_for_longest_comes_first(world: World) -> None:
    campaign = await _three(world)
    ids = [batch["id"] for batch in await campaign.batches()]
    await campaign.query(
        "UPDATE sendonce.batches SET claimable_at = now() - interval '1 h' WHERE id = %(batch)s", batch=ids[2]
    )
    assert [(await campaign.claim()).id for _ in ids] == [ids[2], ids[0], ids[1]]
    assert await campaign.try_claim() is None


async def test_a_batch_that_somebody_is_claiming_is_skipped_and_not_waited_for(world: World) -> None:
    campaign = await _three(world)
    other = await world.connect()
    async with other.transaction():
        first = await campaign.claim("worker-1", conn=other)
        second = await campaign.claim("worker-2")
        assert first.id != second.id
    assert (await campaign.claim("worker-3")).id not in {first.id, second.id}


async def test_a_batch_that_is_not_due_is_left_alone(world: World) -> None:
    campaign = await world.campaign(1)
    await campaign.query("UPDATE sendonce.batches SET claimable_at = now() + interval '1 h' WHERE kind = 'send'")
    assert await campaign.try_claim() is None
    due = await queue.next_due(world.conn, campaign.id)
    assert due is not None
    assert 3590 < due <= 3600


async def test_with_nothing_waiting_there_is_no_next_time(world: World) -> None:
    campaign = await world.campaign(0)
    assert await queue.next_due(world.conn, campaign.id) is None


EXCLUDED: dict[str, LiteralString] = {
    "suspended": "UPDATE sendonce.campaigns SET suspended = true",
    "halted": "UPDATE sendonce.campaigns SET halt_reason = 'x', halt_message = 'y'",
    "cancelled": "UPDATE sendonce.campaigns SET cancelled_at = now()",
    "before startAt": "UPDATE sendonce.campaigns SET start_at = now() + interval '1 h'",
    "ended": "UPDATE sendonce.campaigns SET ended = 'complete', completed_at = now()",
    "provider suspended": "UPDATE sendonce.providers SET suspended = true",
    "provider paused": "UPDATE sendonce.providers SET paused_until = now() + interval '1 h'",
}


@pytest.mark.parametrize("statement", EXCLUDED.values(), ids=EXCLUDED.keys())
async def test_nothing_is_claimed_of_what_stands_still(world: World, statement: LiteralString) -> None:
    campaign = await world.campaign(1)
    await campaign.query(statement)
    assert await campaign.try_claim() is None


@pytest.mark.parametrize("name", ["suspended", "halted", "cancelled", "before startAt", "provider paused"])
async def test_a_group_is_not_begun_of_what_has_come_to_stand_still(world: World, name: str) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim()
    await campaign.query(EXCLUDED[name])
    outcome = await campaign.turn(batch, group=[(1, b"x" * 32)])
    if name == "before startAt":  # was claimed in time: an edit does not reach back
        return
    assert outcome.started == []
    assert outcome.stopped or outcome.paused
    assert await campaign.states() == {"pending": 1}


async def test_the_import_begins_before_start_at_and_goes_on_after_a_cancel(world: World) -> None:
    campaign = await world.campaign(None)
    await campaign.query(EXCLUDED["before startAt"])
    batch = await campaign.claim()
    assert batch.kind == "import"
    await campaign.lapse()
    await actions.cancel(world.conn, campaign.id)
    assert (await campaign.claim()).kind == "import"


async def test_a_pause_that_is_over_no_longer_holds(world: World) -> None:
    campaign = await world.campaign(1)
    (provider,) = await campaign.query("SELECT provider_id FROM sendonce.channels")
    await pace.pause(world.conn, provider["provider_id"], 60.0, "429", "slow down")
    assert await campaign.try_claim() is None
    await campaign.query("UPDATE sendonce.providers SET paused_until = now()")
    assert await campaign.try_claim() is not None


async def _import_beside_due_batches(world: World) -> tuple[Campaign, Batch]:
    """An import that somebody holds, and two batches that it has brought: due for longer than any lease."""
    campaign = await world.campaign(None)
    held = await campaign.claim("importer")
    plan = await imports.prepare(world.hands, campaign.id)
    for line in (1, 2):
        chunk = plan.chunk([world.person(line)], (), {"line": line})
        await imports.commit_chunk(world.hands, held, campaign.holder("importer"), chunk, 60)
    await campaign.query(
        "UPDATE sendonce.batches SET claimable_at = now() - interval '1 h' WHERE campaign_id = %(id)s AND kind = 'send'"
    )
    return campaign, held


async def test_an_import_whose_holder_died_is_taken_over_before_every_batch_that_is_due(world: World) -> None:
    campaign, held = await _import_beside_due_batches(world)
    assert (await campaign.claim()).kind == "send"  # it is alive
    await campaign.conduct()
    assert await campaign.query("SELECT FROM sendonce.batches WHERE kind = 'import' AND claimable_at > now()")
    await campaign.query("UPDATE sendonce.batches SET claimable_at = now() WHERE kind = 'import'")
    await campaign.conduct()
    taken = await campaign.claim("worker-2")
    assert (taken.id, taken.kind, taken.cursor, taken.crashes) == (held.id, "import", {"line": 2}, 1)
    assert (await campaign.claim("worker-2")).kind == "send"


async def test_an_import_that_was_put_off_goes_first_when_it_is_due_again(world: World) -> None:
    campaign, held = await _import_beside_due_batches(world)
    await imports.postpone(world.hands, held, campaign.holder("importer"), 60, "the source is away")
    assert (await campaign.claim()).kind == "send"
    await campaign.age(60)
    await campaign.conduct()
    assert (await campaign.claim()).kind == "import"


async def test_a_holder_that_comes_back_keeps_its_import(world: World) -> None:
    campaign, held = await _import_beside_due_batches(world)
    await campaign.query("UPDATE sendonce.batches SET claimable_at = now() WHERE kind = 'import'")
    async with world.hands.transaction():  # it commits a chunk, later than its lease
        await world.hands.execute("SELECT sendonce.hold_lease(%s, %s)", [held.id, held.token])
        await conduct.conduct(world.conn, campaign.id, campaigns.policy_of(campaign.stored.spec))
    await campaign.conduct()
    await queue.renew(world.hands, held, 60)
    assert (await campaign.claim()).kind == "send"
