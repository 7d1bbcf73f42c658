"""Rule 5: an answer that comes after the lease was lost is kept without it; an acceptance settles its row."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from sendonce_store import actions, queue
from sendonce_store.actions import Order, Selection, Target
from sendonce_store.rows import Batch, Result
from sendonce_worker.providers.base import Accepted, Message
from sendonce_worker.providers.errors import PermanentSendError

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, FarEnd, World

ACCEPTED = Result(1, 1, "sent", outcome="accepted", message_id="m-1")
REFUSED = Result(1, 1, "failed", outcome="permanent", reason="permanent", code="550", error="no such user", used=1)


async def _taken_over(campaign: Campaign, key_window: float | None) -> tuple[Batch, Batch]:
    """One row in the hands of a worker whose batch was claimed by another: the old claim and the new one."""
    campaign.repeats = replace(campaign.repeats, key_window=key_window)
    old = await campaign.claim("worker-1")
    await campaign.begin(old)
    await campaign.lapse()
    return old, await campaign.claim("worker-2")


async def _late(campaign: Campaign, batch: Batch, result: Result) -> int:
    return await queue.record_evidence(campaign.world.conn, batch, campaign.holder("worker-1"), [result])


async def test_a_late_acceptance_settles_an_uncertain_row(world: World) -> None:
    campaign = await world.campaign(1)
    old, new = await _taken_over(campaign, key_window=None)
    assert await campaign.release(new) == "done"
    assert (await campaign.row())["state"] == "uncertain"
    assert await _late(campaign, old, ACCEPTED) == 1
    row = await campaign.row()
    assert (row["state"], row["reason"], row["message_id"]) == ("sent", None, "m-1")


async def test_a_late_acceptance_settles_a_row_that_waits_for_its_repeat(world: World) -> None:
    campaign = await world.campaign(1)
    old, new = await _taken_over(campaign, key_window=86_400)
    assert await campaign.release(new) == "pending"
    await _late(campaign, old, ACCEPTED)
    assert (await campaign.row())["state"] == "sent"
    assert [batch["state"] for batch in await campaign.batches()] == ["done"]  # nobody has to come by for that


async def test_a_late_acceptance_settles_a_row_that_somebody_holds_and_has_not_begun(world: World) -> None:
    campaign = await world.campaign(1)
    old, new = await _taken_over(campaign, key_window=86_400)
    await _late(campaign, old, ACCEPTED)
    assert await campaign.begin(new) == []
    assert await campaign.release(new) == "done"


@pytest.mark.parametrize(
    ("state", "result"),
    [
        ("failed", {"reason": "permanent", "outcome": "permanent"}),
        ("pending", {"outcome": "temporary", "delay": 60.0}),
        ("uncertain", {"unknown": True, "reason": "unknown_outcome"}),
    ],
)
async def test_a_late_acceptance_outranks_what_becomes_of_the_repeat_under_way(
    world: World, state: str, result: dict[str, object]
) -> None:
    campaign = await world.campaign(1)
    old, new = await _taken_over(campaign, key_window=86_400)
    assert [row.attempt_seq for row in await campaign.begin(new, worker="worker-2")] == [2]
    await _late(campaign, old, ACCEPTED)
    assert (await campaign.row())["state"] == "sending"  # the second attempt is in the hands of worker 2
    await campaign.end(new, 1, state, seq=2, **result)
    assert (await campaign.row())["state"] == "sent"


async def test_a_late_acceptance_settles_a_row_whose_repeat_was_left_in_sending(world: World) -> None:
    campaign = await world.campaign(1)
    old, new = await _taken_over(campaign, key_window=86_400)
    await campaign.begin(new, worker="worker-2")
    await _late(campaign, old, ACCEPTED)
    await campaign.lapse()
    await campaign.claim("worker-3")
    assert (await campaign.row())["state"] == "sent"


async def test_a_late_acceptance_corrects_what_a_person_had_resolved_as_failed(world: World) -> None:
    campaign = await world.campaign(1)
    old, new = await _taken_over(campaign, key_window=None)
    await campaign.release(new)
    order = Order("not there", "Resolve", Selection(states=("uncertain",)), resolve_as="failed")
    await actions.apply(world.conn, Target(campaign.id, "default"), order)
    assert (await campaign.row())["state"] == "failed"
    await _late(campaign, old, ACCEPTED)
    assert (await campaign.row())["state"] == "sent"


async def test_a_late_refusal_is_kept_and_settles_nothing(world: World) -> None:
    campaign = await world.campaign(1)
    old, new = await _taken_over(campaign, key_window=None)
    await campaign.release(new)
    assert await _late(campaign, old, REFUSED) == 0
    assert (await campaign.row())["state"] == "uncertain"
    noted = (await campaign.attempts())[-1]
    assert (noted["outcome"], noted["late"], noted["code"], noted["message"]) == (
        "permanent",
        True,
        "550",
        "no such user",
    )


async def test_a_late_answer_to_a_newer_attempt_than_the_row_knows_is_not_believed(world: World) -> None:
    campaign = await world.campaign(1)
    old, new = await _taken_over(campaign, key_window=None)
    await campaign.release(new)
    await _late(campaign, old, replace(ACCEPTED, seq=2))
    assert (await campaign.row())["state"] == "uncertain"


async def test_a_session_that_lost_its_lease_keeps_the_answers_that_still_come(world: World, far_end: FarEnd) -> None:
    far_end.key_window = None
    campaign = await world.campaign(2)
    campaign.repeats = replace(campaign.repeats, key_window=None)
    go_on = asyncio.Event()

    async def slow(message: Message) -> Accepted:
        await go_on.wait()
        if message.to == "user2@example.com":
            raise PermanentSendError("550", "no such user")
        return Accepted("m-1", "200")

    far_end.answer = slow
    batch = await campaign.claim("worker-1")
    sending = asyncio.create_task((await campaign.session(batch, far_end)).run())
    await far_end.has_received(2)
    await campaign.lapse()
    other = await campaign.claim("worker-2")
    assert await campaign.states() == {"uncertain": 2}
    assert await campaign.release(other) == "done"
    go_on.set()
    await sending
    assert [row["state"] for row in await campaign.rows()] == ["sent", "uncertain"]
    late = {row["no"]: row["outcome"] for row in await campaign.attempts() if row["late"]}
    assert late == {1: "accepted", 2: "permanent"}


async def test_an_answer_to_a_row_that_a_person_has_settled_meanwhile_is_kept(world: World, far_end: FarEnd) -> None:
    """The lease still holds, but the row is no longer `sending`: the acceptance is not to be lost."""
    campaign = await world.campaign(1)
    go_on = asyncio.Event()

    async def slow(message: Message) -> Accepted:
        await go_on.wait()
        return Accepted("m-1", "200")

    far_end.answer = slow
    sending = asyncio.create_task((await campaign.session(await campaign.claim(), far_end)).run())
    await far_end.has_received(1)
    await campaign.query(
        "UPDATE sendonce.deliveries SET state = 'uncertain', maybe_accepted = true, finished_at = now()"
        " WHERE campaign_id = %(id)s"
    )
    go_on.set()
    await sending
    assert (await campaign.row())["state"] == "sent"


async def test_an_answer_that_a_turn_could_not_write_is_noted_once(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(2)
    go_on = asyncio.Event()

    async def slow(message: Message) -> Accepted:
        await go_on.wait()
        if message.to == "user2@example.com":
            raise PermanentSendError("550", "no such user")
        return Accepted("m-1", "200")

    far_end.answer = slow
    sending = asyncio.create_task((await campaign.session(await campaign.claim(), far_end)).run())
    await far_end.has_received(2)
    await campaign.query(
        "UPDATE sendonce.deliveries SET state = 'uncertain', maybe_accepted = true, finished_at = now()"
        " WHERE campaign_id = %(id)s"
    )
    go_on.set()
    await sending
    assert [(one["no"], one["outcome"]) for one in await campaign.attempts()] == [(2, "permanent"), (1, "accepted")]


@pytest.mark.parametrize("result", [ACCEPTED, REFUSED], ids=["accepted", "refused"])
async def test_evidence_that_is_written_again_is_noted_once(world: World, result: Result) -> None:
    """The commit's own answer was lost, and the worker insists."""
    campaign = await world.campaign(1)
    old, new = await _taken_over(campaign, key_window=None)
    await campaign.release(new)
    for _ in range(2):
        await _late(campaign, old, result)
    assert [one["outcome"] for one in await campaign.attempts() if one["late"]] == [result.outcome]


@pytest.mark.parametrize("outcome", ["accepted", None])
async def test_a_result_whose_commit_was_only_unclear_is_not_noted_again(world: World, outcome: str | None) -> None:
    """It held after all, and the lease was lost before the worker could find out."""
    campaign = await world.campaign(1)
    old = await campaign.claim()
    await campaign.begin(old)
    result = replace(ACCEPTED, outcome=outcome)
    await campaign.turn(old, results=[result])
    await _late(campaign, old, result)
    assert len(await campaign.attempts()) == (1 if outcome else 0)


async def test_an_acceptance_of_what_a_person_has_resolved_as_sent_is_noted(world: World) -> None:
    campaign = await world.campaign(1)
    old, new = await _taken_over(campaign, key_window=None)
    await campaign.release(new)
    order = Order("there", "Resolve", Selection(states=("uncertain",)), resolve_as="sent")
    await actions.apply(world.conn, Target(campaign.id, "default"), order)
    await _late(campaign, old, ACCEPTED)
    assert [one["outcome"] for one in await campaign.attempts() if one["late"]] == ["accepted"]
