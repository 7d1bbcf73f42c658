"""What moves a campaign as a whole, done on its rows: holds, canary, breaker, deadline, cancel, the end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sendonce_store import actions, conduct, imports
from sendonce_store.decisions import Kind
from sendonce_store.rows import Batch

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

CANARY = {"percent": 10, "minRecipients": 3, "observeSeconds": 60, "maxFailedPercent": 20}


async def _end_all(campaign: Campaign, batch: Batch, *, failed: int = 0) -> None:
    """End every row of a batch, the first ones as failed."""
    nos = [row["no"] for row in await campaign.rows() if row["batch_id"] == batch.id]
    await campaign.begin(batch, nos)
    for place, no in enumerate(nos):
        state, reason = ("failed", "permanent") if place < failed else ("sent", None)
        await campaign.end(batch, no, state, reason=reason)
    await campaign.release(batch)


async def test_nobody_is_handed_off_before_the_count_is_known_to_be_right(world: World) -> None:
    campaign = await world.campaign(None, recipients={
        "configMapKeyRef": {"name": "people", "key": "people.csv"}, "format": "CSV", "expected": {"min": 2, "max": 5},
    })  # fmt: skip
    batch = await campaign.claim()
    plan = await imports.prepare(world.conn, campaign.id)
    chunk = plan.chunk([world.person(line) for line in (1, 2, 3)], (), {"line": 3})
    await imports.commit_chunk(world.conn, batch, campaign.holder(), chunk, 60)
    assert await campaign.conduct() == []
    assert await campaign.try_claim() is None
    await imports.finish(world.conn, batch, campaign.holder())
    assert [step.kind for step in await campaign.conduct()] == [Kind.RELEASE]
    assert await campaign.try_claim() is not None


async def test_with_the_wrong_count_nobody_is_handed_off_and_the_campaign_ends_with_its_reason(world: World) -> None:
    campaign = await world.campaign(6, recipients={
        "configMapKeyRef": {"name": "people", "key": "people.csv"}, "format": "CSV", "expected": {"min": 2, "max": 5},
    })  # fmt: skip
    await campaign.conduct()
    record = await campaign.record()
    assert (record["ended"], record["ended_reason"]) == ("failed", "UnexpectedCount")
    assert "at most 5 expected" in record["ended_message"]
    assert await campaign.states() == {"cancelled": 6}
    assert {row["reason"] for row in await campaign.rows()} == {"unexpected_count"}


async def _with_canary(world: World, people: int = 40) -> Campaign:
    campaign = await world.campaign(people, rollout={"canary": CANARY | {"promotion": "Automatic"}})
    steps = await campaign.conduct()
    assert steps[0].kind is Kind.START_CANARY
    return campaign


async def test_the_canary_is_an_exact_number_of_people_chosen_by_their_keys(world: World) -> None:
    campaign = await _with_canary(world)
    canary = next(batch for batch in await campaign.batches() if batch["stage"] == "canary")
    rows = await campaign.rows()
    chosen = {str(row["key"]) for row in rows if row["batch_id"] == canary["id"]}
    assert chosen == set(sorted(str(row["key"]) for row in rows)[:4])  # 10 % of 40, and the same ones in any store
    assert (await campaign.claim()).id == canary["id"]
    assert await campaign.try_claim() is None  # the rest waits


async def test_whoever_is_in_the_canary_is_in_it_with_all_channels(world: World) -> None:
    people = [
        world.person(line, {"Email": f"user{line}@example.com", "SMS": f"+1500555{line:04}"}) for line in range(1, 41)
    ]
    await world.provider()
    campaign = await world.campaign(people, channels=["Email", "SMS"], rollout={"canary": CANARY})
    await campaign.conduct()
    stages = await campaign.query(
        "SELECT d.recipient_no, array_agg(DISTINCT b.stage) AS stages, count(*) AS channels FROM sendonce.deliveries d"
        " JOIN sendonce.batches b ON b.id = d.batch_id WHERE d.campaign_id = %(id)s GROUP BY d.recipient_no"
    )
    assert {(tuple(row["stages"]), row["channels"]) for row in stages} == {(("canary",), 2), (("main",), 2)}
    assert sum(row["stages"] == ["canary"] for row in stages) == 4


async def test_a_good_canary_is_observed_and_then_promoted(world: World) -> None:
    campaign = await _with_canary(world)
    await _end_all(campaign, await campaign.claim())
    assert [(step.kind, step.detail) for step in await campaign.conduct()] == [(Kind.STAGE, "observing")]
    assert await campaign.try_claim() is None
    await campaign.query("UPDATE sendonce.campaigns SET rollout_since = now() - interval '60 s'")
    assert [step.kind for step in await campaign.conduct()] == [Kind.PROMOTE]
    rest = await campaign.claim()
    assert len([row for row in await campaign.rows() if row["batch_id"] == rest.id]) == 36


async def test_a_bad_canary_stops_the_campaign_and_the_rest_stays_where_it_is(world: World) -> None:
    campaign = await _with_canary(world)
    await _end_all(campaign, await campaign.claim(), failed=1)
    assert [(step.kind, step.reason) for step in await campaign.conduct()] == [(Kind.HALT, "CanaryFailed")]
    assert await campaign.try_claim() is None
    assert (await campaign.states())["pending"] == 36


async def test_the_breaker_stops_the_campaign(world: World) -> None:
    campaign = await world.campaign(10, failurePolicy={"maxFailedPercent": 50, "minDeliveries": 5, "action": "Suspend"})
    batch = await campaign.claim()
    await campaign.begin(batch, range(1, 6))
    for no in range(1, 6):
        await campaign.end(batch, no, "failed" if no <= 3 else "sent", reason="permanent" if no <= 3 else None)
    assert [step.reason for step in await campaign.conduct()] == ["FailureThreshold"]
    outcome = await campaign.turn(batch, group=[(6, b"x" * 32)])
    assert (outcome.started, outcome.stopped) == ([], True)


async def test_after_the_deadline_the_rest_expires_and_the_campaign_completes(world: World) -> None:
    campaign = await world.campaign(3)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.query("UPDATE sendonce.campaigns SET deadline = now() - interval '1 s'")
    await campaign.conduct()
    assert await campaign.states() == {"sending": 1, "expired": 2}
    assert (await campaign.record())["ended"] is None  # one is still under way
    await campaign.end(batch, 1, "sent")
    await campaign.release(batch)
    assert [step.kind for step in await campaign.conduct()] == [Kind.END]
    record = await campaign.record()
    assert (record["ended"], record["ended_reason"]) == ("complete", "SomeUndelivered")


async def test_a_deadline_before_the_import_ended_is_a_failure(world: World) -> None:
    campaign = await world.campaign(None)
    await campaign.query("UPDATE sendonce.campaigns SET deadline = now() - interval '1 s'")
    await campaign.conduct()
    assert (await campaign.record())["ended_reason"] == "DeadlineBeforeImport"
    assert await campaign.try_claim() is None


async def test_a_cancel_waits_for_the_import_so_that_the_totals_are_true(world: World) -> None:
    campaign = await world.campaign(None)
    batch = await campaign.claim()
    plan = await imports.prepare(world.conn, campaign.id)
    await actions.cancel(world.conn, campaign.id)
    assert await campaign.conduct() == []
    chunk = plan.chunk([world.person(1)], (), {"line": 1})
    await imports.commit_chunk(world.conn, batch, campaign.holder(), chunk, 60)
    await imports.finish(world.conn, batch, campaign.holder())
    await campaign.conduct()
    record = await campaign.record()
    assert (record["ended_reason"], record["total"]) == ("Cancelled", 1)
    assert await campaign.states() == {"cancelled": 1}


async def test_complete_is_told_from_the_rows_and_not_from_the_counters(world: World) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.end(batch, 1, "sent")
    await campaign.release(batch)
    await campaign.query("ALTER TABLE sendonce.deliveries DISABLE TRIGGER USER")
    await campaign.query(
        "UPDATE sendonce.deliveries SET state = 'pending', next_attempt_at = now(), finished_at = NULL"
    )
    assert (await campaign.facts()).pending == 0  # counters that lie
    assert await campaign.conduct() == []
    assert (await campaign.record())["ended"] is None


async def test_no_recipients_at_all_is_an_honest_end(world: World) -> None:
    campaign = await world.campaign(0)
    await campaign.conduct()
    record = await campaign.record()
    assert record["ended"] == "complete"
    assert record["ended_message"].startswith("nothing to send: the source had 0 rows")


async def test_only_one_conductor_is_at_it_at_a_time(world: World) -> None:
    campaign = await world.campaign(0)
    other = await world.connect()
    async with other.transaction():
        await other.execute("SELECT FROM sendonce.campaigns WHERE id = %s FOR UPDATE", [campaign.id])
        async with asyncio.timeout(5):  # it does not wait for the other one
            assert await campaign.conduct() == []
    assert [step.kind for step in await campaign.conduct()] == [Kind.END]


async def test_settling_waits_for_the_holders_turn_and_leaves_what_it_began(world: World) -> None:
    campaign = await world.campaign(3)
    batch = await campaign.claim()
    person = await world.connect()
    async with asyncio.TaskGroup() as tasks:
        async with world.conn.transaction():
            await world.conn.execute("SELECT sendonce.hold_lease(%s, %s)", [batch.id, batch.token])
            settling = tasks.create_task(conduct.settle(person, campaign.id, "expired", "deadline"))
            await world.blocked()
            await world.conn.execute(
                "UPDATE sendonce.deliveries SET state = 'sending', attempt_seq = 1, last_attempt_at = now(),"
                " worker = 'w', next_attempt_at = NULL WHERE no = 1"
            )
        assert await settling == 2
    assert await campaign.states() == {"sending": 1, "expired": 2}
