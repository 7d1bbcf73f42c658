"""A worker of a standing campaign sends what applications enqueue, and goes on until it is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.integration.engine.stream_cases import enqueue

from sendonce_store import actions

if TYPE_CHECKING:
    from tests.integration.engine.conftest import World
    from tests.integration.engine.processes.conftest import Crew


async def test_a_worker_sends_what_is_enqueued_and_ends_when_the_stream_is_closed(
    world: World, crew: Crew, simulate: Any
) -> None:
    async with simulate() as far_end:
        http = {
            "url": f"http://127.0.0.1:{far_end.http_port}/send",
            "idempotencyKeyHeader": "Idempotency-Key",
            "keyWindowSeconds": 86_400,
        }
        campaign = await world.campaign(None, provider={"http": http}, recipients={"stream": {}})
        worker = await crew.start(SENDONCE_EXIT_WHEN_DONE="1", SENDONCE_BATCHES="2")

        async def as_many_are_sent() -> bool:
            return (await campaign.states()).get("sent", 0) == no

        for no in (1, 2):  # the second one comes into a campaign that has nothing left to do
            await enqueue(world.conn, f"order-{no}", {"email": "ada@example.com", "name": "Ada"})
            await world.eventually(as_many_are_sent)
        assert (await campaign.record())["ended"] is None
        await enqueue(world.conn, "order-3", {"email": "not an address"})
        await actions.close(world.conn, campaign.id)
        assert await worker.exit_code() == 0
        assert list(far_end.ledger().accepted().values()) == [2]  # one person, two orders
    record = await campaign.record()
    assert (record["ended_reason"], record["total"], record["rejected"]) == ("AllSent", 2, 1)
