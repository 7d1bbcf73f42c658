"""Rule 10: an expired lease is anybody's, and what its holder left in `sending` is settled by the claim."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from sendonce_store import actions, imports, queue
from sendonce_store.parking import MAX_CRASHES
from sendonce_store.rows import Repeats
from sendonce_worker.settings import read_settings

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

KEYED = Repeats(key_window=86_400, patience=32, resend=False, max_attempts=5)
UNKEYED = replace(KEYED, key_window=None)


async def test_a_lease_that_has_ended_is_claimable_by_any_worker_and_one_that_has_not_by_none(world: World) -> None:
    campaign = await world.campaign(1)
    first = await campaign.claim("worker-1")
    assert await campaign.try_claim("worker-2") is None
    await campaign.lapse()
    second = await campaign.claim("worker-2")
    assert second.id == first.id
    assert second.token != first.token


async def test_stuck_is_judged_by_the_last_heartbeat_and_not_by_the_start(world: World) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim("worker-1", lease=15)
    # claimed an hour ago, and a moment ago the worker still beat
    await campaign.query(
        "UPDATE sendonce.batches SET leased_at = now() - interval '1 h', heartbeat_at = now() - interval '1 h'"
    )
    await campaign.lapse()
    await queue.renew(world.conn, batch, 15)
    assert await campaign.try_claim("worker-2") is None


@pytest.mark.parametrize(
    ("repeats", "tries", "state", "waits"),
    [
        (KEYED, 0, "pending", False),
        (UNKEYED, 0, "uncertain", False),
        (replace(UNKEYED, resend=True), 0, "pending", True),
        (replace(KEYED, key_window=10), 0, "uncertain", False),
        (replace(KEYED, key_window=10, resend=True), 0, "pending", False),
        (KEYED, 4, "uncertain", False),
        (replace(UNKEYED, resend=True), 4, "uncertain", False),
    ],
    ids=["keyed", "Hold", "Resend", "window over, Hold", "window over, Resend", "last attempt", "last attempt, Resend"],
)
async def test_what_was_left_in_sending_is_repeated_where_that_is_safe(
    world: World, repeats: Repeats, tries: int, state: str, waits: bool
) -> None:
    campaign = await world.campaign(1)
    campaign.repeats = repeats
    await campaign.begin(await campaign.claim("worker-1"))
    await campaign.query("UPDATE sendonce.deliveries SET tries = %(tries)s", tries=tries)
    await campaign.lapse()
    await campaign.claim("worker-2")
    row = await campaign.row()
    assert (row["state"], row["maybe_accepted"]) == (state, True)
    if state == "pending":
        # an unkeyed far end may still be busy with the lost attempt: its patience is waited for
        due = (
            await campaign.query("SELECT next_attempt_at > now() + interval '30 s' AS later FROM sendonce.deliveries")
        )[0]
        assert due["later"] is waits
    else:
        assert row["reason"] == "recovered"


async def test_a_recovery_counts_as_an_attempt_and_is_noted_with_who_was_gone(world: World) -> None:
    campaign = await world.campaign(1)
    await campaign.begin(await campaign.claim("worker-1"), worker="worker-1")
    await campaign.lapse()
    await campaign.claim("worker-2")
    assert (await campaign.row())["tries"] == 1
    (noted,) = await campaign.attempts()
    assert (noted["outcome"], noted["worker"], noted["seq"]) == ("recovered", "worker-1", 1)


async def _die(campaign: Campaign, times: int) -> None:
    for no in range(times):
        assert await campaign.try_claim(f"worker-{no}") is not None
        await campaign.lapse()


async def test_a_batch_that_ends_one_worker_after_the_other_is_parked_with_every_row_final(world: World) -> None:
    campaign = await world.campaign(3)
    batch = await campaign.claim()
    await campaign.begin(batch, (1, 2))
    await campaign.end(batch, 1, "sent")
    await campaign.lapse()
    await _die(campaign, MAX_CRASHES - 1)
    assert await campaign.try_claim() is None
    rows = [(row["state"], row["reason"]) for row in await campaign.rows()]
    assert rows == [("sent", None), ("uncertain", "poison"), ("failed", "poison")]
    assert [batch["state"] for batch in await campaign.batches()] == ["done"]


async def test_an_attempt_that_ended_shows_that_the_batch_does_not_kill_its_workers(world: World) -> None:
    campaign = await world.campaign(2)
    await _die(campaign, MAX_CRASHES - 1)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.end(batch, 1, "sent")
    await campaign.lapse()
    await _die(campaign, 2)
    assert await campaign.states() == {"sent": 1, "pending": 1}


async def test_a_worker_that_releases_its_batch_did_not_die_of_it(world: World) -> None:
    campaign = await world.campaign(1)
    await _die(campaign, MAX_CRASHES - 1)
    await campaign.release(await campaign.claim())
    await _die(campaign, MAX_CRASHES - 1)
    assert await campaign.states() == {"pending": 1}


async def test_a_parked_batch_goes_on_over_the_fallback(world: World) -> None:
    both = {"Email": "mia@example.com", "SMS": "+15005550006"}
    campaign = await world.campaign([world.person(1, both)], channels=["Email", "Email>SMS"])
    await _die(campaign, MAX_CRASHES)
    assert await campaign.try_claim() is None
    assert await campaign.states("SMS") == {"pending": 1}


async def test_an_import_that_ends_one_worker_after_the_other_is_one_that_cannot_be_done(world: World) -> None:
    campaign = await world.campaign(None)
    await _die(campaign, MAX_CRASHES)
    assert await campaign.try_claim() is None
    await campaign.conduct()
    record = await campaign.record()
    assert (record["ended"], record["ended_reason"]) == ("failed", "SourceUnreadable")
    assert "workers died on the import 5 times in a row" in record["ended_message"]


async def test_a_block_that_was_imported_shows_that_the_import_does_not_kill_its_workers(world: World) -> None:
    campaign = await world.campaign(None)
    await campaign.query("UPDATE sendonce.campaigns SET held = true")
    await _die(campaign, MAX_CRASHES - 1)
    batch = await campaign.claim()
    plan = await imports.prepare(world.conn, campaign.id)
    chunk = plan.chunk([world.person(1)], (), {"line": 1})
    await imports.commit_chunk(world.conn, batch, campaign.holder(), chunk, 60)
    await campaign.lapse()
    await _die(campaign, MAX_CRASHES - 1)
    assert (await campaign.record())["import_state"] == "running"


async def _suspend(campaign: Campaign) -> None:
    await actions.suspend(campaign.world.conn, campaign.id, suspended=True)


async def _halt(campaign: Campaign) -> None:
    await campaign.query("UPDATE sendonce.campaigns SET halt_reason = 'x', halt_message = 'y' WHERE id = %(id)s")


async def _cancel(campaign: Campaign) -> None:
    await actions.cancel(campaign.world.conn, campaign.id)


async def _stop_provider(campaign: Campaign) -> None:
    await campaign.world.provider(suspend=True)


@pytest.mark.parametrize("stand_still", [_suspend, _halt, _cancel, _stop_provider])
async def test_whatever_stands_still_what_a_dead_worker_left_is_settled(world: World, stand_still: object) -> None:
    campaign = await world.campaign(2)
    await campaign.begin(await campaign.claim("worker-1"))
    await stand_still(campaign)  # type: ignore[operator]
    await campaign.lapse()
    batch = await campaign.claim("worker-2")
    assert (await campaign.facts()).sending == 0
    await campaign.release(batch)
    assert await campaign.try_claim("worker-2") is None  # and that was all there was to do


def test_a_process_has_an_identity_of_its_own_whatever_its_pod_is_called() -> None:
    env = {"SENDONCE_DSN": "postgresql:///x", "SENDONCE_NAMESPACE": "default", "SENDONCE_SEND_KEY": "spring"}
    assert read_settings(env).identity != read_settings(env).identity
