"""Rule 2: nothing is handed off that is not committed as `sending`, and only what came back as such."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sendonce_store.consent import Suppression, suppress
from sendonce_store.rows import Result
from sendonce_worker.providers.base import Accepted, Message

if TYPE_CHECKING:
    from tests.integration.engine.conftest import FarEnd, World


async def test_a_row_is_committed_as_sending_before_its_first_byte(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(3)
    seen: dict[str, tuple[str, int, str]] = {}

    async def look(message: Message) -> None:
        # another connection: what it sees has been committed
        conn = await world.connect()
        cursor = await conn.execute(
            "SELECT state, attempt_seq, worker FROM sendonce.deliveries WHERE address = %s", [message.to]
        )
        row = await cursor.fetchone()
        assert row is not None
        seen[message.to] = (row["state"], row["attempt_seq"], row["worker"])

    far_end.before = look
    await (await campaign.session(await campaign.claim(), far_end)).run()
    assert seen == {f"user{no}@example.com": ("sending", 1, "worker-1") for no in (1, 2, 3)}


async def test_what_did_not_come_back_as_sending_is_not_handed_off(world: World, far_end: FarEnd) -> None:
    campaign = await world.campaign(3)
    session = await campaign.session(await campaign.claim(), far_end, capacity=1, ahead=0)

    async def suppress_the_second(message: Message) -> Accepted:
        await suppress(world.conn, "default", [Suppression("Email", "user2@example.com", "complained")])
        return Accepted(None, "200")

    far_end.answer = suppress_the_second
    await session.run()
    assert dict(far_end.people) == {"user1@example.com": 1, "user3@example.com": 1}
    assert (await campaign.row(2))["reason"] == "suppression_list"
    assert await campaign.states() == {"sent": 2, "suppressed": 1}


async def test_a_turn_that_has_more_to_do_commits_its_group_too(world: World) -> None:
    campaign = await world.campaign(2)
    batch = await campaign.claim()
    await campaign.begin(batch, [1])
    refused = Result(1, 1, "failed", outcome="permanent", reason="permanent", used=1)
    outcome = await campaign.turn(batch, results=[refused], group=[(2, b"d" * 32)])
    assert [(row.no, row.state) for row in outcome.started] == [(2, "sending")]
    # the worker's own connection made them: another one sees what has been committed
    conn = await world.connect()
    cursor = await conn.execute("SELECT no, state FROM sendonce.deliveries ORDER BY no")
    assert [(row["no"], row["state"]) for row in await cursor.fetchall()] == [(1, "failed"), (2, "sending")]
