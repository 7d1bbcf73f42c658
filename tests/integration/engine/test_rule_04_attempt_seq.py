"""Rule 4: `attempt_seq` grows with each `sending` commit, is never reset, and guards every result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sendonce_store import actions
from sendonce_store.actions import Order, Target
from sendonce_store.rows import Result

if TYPE_CHECKING:
    from tests.integration.engine.conftest import World


async def test_a_result_of_an_earlier_attempt_changes_nothing_when_it_comes_late(world: World) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.end(batch, 1, "pending", seq=1, outcome="temporary", used=1)
    await campaign.begin(batch)
    before = await campaign.row()
    outcome = await campaign.end(batch, 1, "failed", seq=1, reason="permanent", used=1)
    assert outcome.unwritten == {1}
    assert await campaign.row() == before
    assert before["attempt_seq"] == 2


async def test_a_result_ends_its_attempt_only_once(world: World) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim()
    await campaign.begin(batch)
    assert (await campaign.end(batch, 1, "sent")).unwritten == frozenset()
    assert (await campaign.end(batch, 1, "failed", reason="permanent")).unwritten == {1}
    assert (await campaign.row())["state"] == "sent"


async def test_a_group_that_hung_and_comes_late_hands_off_nothing_twice(world: World) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim()
    assert [row.state for row in await campaign.begin(batch)] == ["sending"]
    assert await campaign.begin(batch) == []  # the same statement again
    assert (await campaign.row())["attempt_seq"] == 1


async def test_a_persons_retry_does_not_set_the_attempt_number_back(world: World) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.end(batch, 1, "failed", reason="permanent", used=1)
    await actions.apply(world.conn, Target(campaign.id, "default"), Order("again", "Retry"))
    assert [row.attempt_seq for row in await campaign.begin(batch)] == [2]
    # the answer of the first attempt is still under way: it must not end the second
    late = await campaign.turn(batch, results=[Result(1, 1, "failed", reason="permanent")])
    assert late.unwritten == {1}
    assert (await campaign.row())["state"] == "sending"
