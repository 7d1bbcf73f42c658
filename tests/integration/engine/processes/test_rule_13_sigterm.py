"""Rule 13: SIGTERM stops the claiming, lets what is in flight end, gives the rest back, and exits 0 in time."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from sendonce_cli.simulate import Chances, Simulator

if TYPE_CHECKING:
    from tests.integration.engine.conftest import World
    from tests.integration.engine.processes.conftest import Crew

IN_FLIGHT = 4
# for longer than one wait, at two in a second
PEOPLE = 200


def _provider(far_end: Simulator, *, keyed: bool = True, **spec: Any) -> dict[str, Any]:
    http: dict[str, Any] = {"url": f"http://127.0.0.1:{far_end.http_port}/send"}
    if keyed:
        http |= {"idempotencyKeyHeader": "Idempotency-Key", "keyWindowSeconds": 86_400}
    return {"http": http, "timeoutSeconds": 20, **spec}


async def test_a_worker_that_is_asked_to_go_finishes_what_is_in_flight_and_gives_the_rest_back(
    world: World, crew: Crew, simulate: Any
) -> None:
    async with simulate(latency=2.0) as far_end:
        campaign = await world.campaign(PEOPLE, provider=_provider(far_end))
        worker = await crew.start()

        async def some_sent() -> bool:
            return (await campaign.states()).get("sent", 0) >= IN_FLIGHT

        await world.eventually(some_sent)
        assert ((await worker.get("/healthz")).status_code, (await worker.get("/readyz")).status_code) == (200, 200)
        metrics = (await worker.get("/metrics")).text
        assert 'sendonce_deliveries_total{campaign="spring",channel="Email",namespace="default"' in metrics
        worker.signal(signal.SIGTERM)
        ready = await worker.get("/readyz")
        assert (ready.status_code, "draining" in ready.text) == (503, True)
        assert await worker.exit_code() == 0
        accepted = far_end.ledger().accepted()
    states = await campaign.states()
    assert set(states) == {"sent", "pending"}  # nothing hangs in between
    assert states["sent"] == len(accepted) < 100
    assert set(accepted.values()) == {1}
    tries = {row["tries"] for row in await campaign.rows() if row["state"] == "pending"}
    assert tries == {0}  # who was given back has used up nothing
    (batch,) = await campaign.batches()
    assert (batch["state"], batch["lease_token"]) == ("pending", None)
    assert (await campaign.query("SELECT stopped_at IS NOT NULL AS said FROM sendonce.workers"))[0]["said"]
    assert await campaign.try_claim("worker-2") is not None


async def test_a_second_sigterm_stops_at_once_and_the_next_worker_settles_what_was_in_flight(
    world: World, crew: Crew, simulate: Any
) -> None:
    async with simulate(chances=Chances(stall=1.0), hang_seconds=60.0) as far_end:
        campaign = await world.campaign(20, provider=_provider(far_end, keyed=False))
        worker = await crew.start()

        async def in_flight() -> bool:
            return bool(far_end.deciding == IN_FLIGHT)

        await world.eventually(in_flight)
        worker.signal(signal.SIGTERM)

        async def draining() -> bool:
            return (await worker.get("/readyz")).status_code == 503

        await world.eventually(draining)
        worker.signal(signal.SIGTERM)
        assert await worker.exit_code() == 143
        assert "stopped at once" in worker.words
        assert (await campaign.states())["sending"] == IN_FLIGHT
        await far_end.control({"chances": {"stall": 0}})
        await campaign.lapse()
        assert await (await crew.start(SENDONCE_EXIT_WHEN_DONE="1")).exit_code() == 0
        accepted = far_end.ledger().accepted()
    assert await campaign.states() == {"uncertain": IN_FLIGHT, "sent": 20 - IN_FLIGHT}
    assert len(accepted) == 20 - IN_FLIGHT
    assert set(accepted.values()) == {1}


async def test_the_end_of_the_grace_period_stops_at_once(world: World, crew: Crew, simulate: Any) -> None:
    async with simulate(chances=Chances(stall=1.0), hang_seconds=60.0) as far_end:
        campaign = await world.campaign(5, provider=_provider(far_end))
        worker = await crew.start(SENDONCE_GRACE_SECONDS="1.5")

        async def in_flight() -> bool:
            return bool(far_end.deciding)

        await world.eventually(in_flight)
        worker.signal(signal.SIGTERM)
        assert await worker.exit_code() == 143
    assert (await campaign.states()).get("sent", 0) == 0
